"""Exact leave-one-out distances against fits without the row."""

import numpy as np
import pytest
import reference
from common import make_classes

from cappedlda._data.array import ArrayRows
from cappedlda._data.moments import Moments
from cappedlda._initial.dense import Pieces
from cappedlda._loo.distances import PlainLDA, plane_axes


def deviations(X, y, centres, weights=None):
    return Pieces(ArrayRows(X - centres[y], y.astype(np.int32), len(centres), weights))


def moments_of(X, y, weights, centres):
    return Moments(*deviations(X, y, centres, weights).sums(np.ones(len(y), bool)))


@pytest.mark.parametrize("sizes", [[20, 15], [12, 9, 2]], ids=["two classes", "a class of two"])
@pytest.mark.parametrize("weighted", [False, True])
def test_distances_are_those_of_fits_without_the_row(rng, sizes, weighted):
    X, y = make_classes(rng, sizes, 4)
    weights = rng.integers(2, 4, len(y)) * 1.0 if weighted else np.ones(len(y))
    centres = rng.normal(size=(len(sizes), 4))  # any: the moments are moved to the means
    discriminant = PlainLDA(moments_of(X, y, weights, centres), centres)
    found = discriminant.distances(deviations(X, y, centres), np.minimum(weights, 1.0))
    np.testing.assert_allclose(found, reference.left_out_distances(X, y, weights), rtol=1e-9)
    found = discriminant.distances_off_plane(X - centres[y], y, np.minimum(weights, 1.0))
    expected = reference.left_out_distances_off_plane(X, y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_rows_that_were_not_in_the_fit_are_not_left_out(rng):
    X, y = make_classes(rng, [20, 15], 4)
    centres = np.zeros((2, 4))
    inside = np.arange(35) % 3 > 0
    moments = moments_of(X[inside], y[inside], np.ones(inside.sum()), centres)
    outside = deviations(X[~inside], y[~inside], centres)
    found = PlainLDA(moments, centres).distances(outside, np.zeros((~inside).sum()))
    means = np.stack([X[inside & (y == k)].mean(axis=0) for k in (0, 1)])
    H = X[inside] - means[y[inside]]
    inverse = np.linalg.inv(H.T @ H / (inside.sum() - 2))
    D = X[~inside][:, None] - means
    np.testing.assert_allclose(found, np.einsum("ijk,kl,ijl->ij", D, inverse, D), rtol=1e-9)


def test_the_plane_and_what_is_off_it_make_the_whole_distance(rng):
    X, y = make_classes(rng, [20, 15, 10], 5)
    centres = np.zeros((3, 5))
    discriminant = PlainLDA(moments_of(X, y, np.ones(45), centres), centres)
    nobody = np.zeros(45)
    off = discriminant.distances_off_plane(X, y, nobody)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    axes = plane_axes(means @ discriminant.whitener)
    assert axes.shape == (5, 2)
    steps = (X[:, None] - means) @ discriminant.whitener @ axes
    found = np.sum(steps**2, axis=2) + off[:, None]
    expected = discriminant.distances(deviations(X, y, centres), nobody)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_moments_add_up(rng):
    X, y = make_classes(rng, [20, 15], 4)
    weights, centres = rng.random(35), np.zeros((2, 4))
    whole = moments_of(X, y, weights, centres)
    first, second = slice(0, 11), slice(11, None)
    total = moments_of(X[first], y[first], weights[first], centres)
    total += moments_of(X[second], y[second], weights[second], centres)
    for name in ("weights", "sums", "scatter"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 4, 70])
def test_moments_are_centred_in_units(rng, n):
    X, y = make_classes(rng, [40, 30, 20], n)
    weights, unit = rng.random(90) * (y < 2), rng.uniform(0.5, 2.0, n)
    moments = moments_of(X, y, weights, np.ones((3, n)))
    means, scatter = moments.centred(unit)
    expected = [np.average(X[y == k], axis=0, weights=weights[y == k]) - 1.0 for k in (0, 1)]
    np.testing.assert_allclose(means, [*expected, np.zeros(n)], rtol=1e-12)
    H = (X - 1.0 - means[y]) / unit
    np.testing.assert_allclose(scatter, (H.T * weights) @ H, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments.centred()[1], scatter * unit * unit[:, None], rtol=1e-12)


def test_flat_directions_have_no_influence(rng):
    X, y = make_classes(rng, [20, 15], 3)
    flat = np.column_stack([X, y == 1])
    centres = np.zeros((2, 4))
    found = PlainLDA(moments_of(flat, y, np.ones(35), centres), centres).distances(
        deviations(flat, y, centres), np.ones(35)
    )
    centres = centres[:, :3]
    expected = PlainLDA(moments_of(X, y, np.ones(35), centres), centres).distances(
        deviations(X, y, centres), np.ones(35)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
