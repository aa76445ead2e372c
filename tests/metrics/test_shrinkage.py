"""How much a scatter is shrunk: what scikit-learn advises for each class, and on average."""

import numpy as np
import pytest
from common import make_classes, rows_of
from sklearn.covariance import ledoit_wolf_shrinkage

from cappedlda import CappedLDA
from cappedlda._metrics.frame import Frame
from cappedlda._metrics.shrinkage import (
    MOST_SHRUNK,
    agreements,
    class_shrinkage,
    ledoit_wolf,
    shrinkage_ridge,
)
from cappedlda._regime import REGIME


def centred(rng, count, n):
    X = rng.normal(size=(count, n)) * np.geomspace(0.5, 2.0, n)
    return X - X.mean(axis=0)


@pytest.mark.parametrize(("count", "n"), [(30, 40), (60, 40), (500, 8), (3, 2)])
def test_ledoit_wolf_is_that_of_scikit_learn(rng, count, n):
    X = centred(rng, count, n)
    expected = ledoit_wolf_shrinkage(X, assume_centered=True)
    assert ledoit_wolf(X, np.ones(count), float(count), n) == pytest.approx(expected, rel=1e-10)


def test_a_row_of_weight_k_is_k_rows(rng):
    X, weights = centred(rng, 40, 12), rng.integers(1, 4, 40)
    repeated = np.repeat(X, weights, axis=0)
    found = ledoit_wolf(X, weights.astype(float), float(weights.sum()), 12)
    expected = ledoit_wolf_shrinkage(repeated, assume_centered=True)
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_rotation_of_more_features_has_their_shrinkage(rng):
    X = centred(rng, 20, 50)
    rotation = np.linalg.svd(X, full_matrices=False)[2].T
    found = ledoit_wolf(X @ rotation, np.ones(20), 20.0, 50)
    assert found == pytest.approx(ledoit_wolf_shrinkage(X, assume_centered=True), rel=1e-10)


def test_a_sample_advises_what_all_rows_would(rng):
    X = centred(rng, 20_000, 10)
    expected = ledoit_wolf_shrinkage(X, assume_centered=True)
    found = ledoit_wolf(X[:4000], np.ones(4000), 20_000.0, 10)
    assert found == pytest.approx(expected, rel=0.1)
    assert ledoit_wolf(X[:4000], np.ones(4000), 4000.0, 10) == pytest.approx(5.0 * found)


@pytest.mark.parametrize("rows", [np.zeros((4, 3)), np.eye(3), np.ones((5, 1))])
def test_what_has_no_shape_is_shrunk_to_the_end(rows):
    assert ledoit_wolf(rows, np.ones(len(rows)), float(len(rows)), rows.shape[1]) == 1.0


class Problem:
    """Classes, the support, and the scatter that is shrunk."""

    def __init__(self, rng, sizes, n, weighted=False):
        self.X, self.y = make_classes(rng, sizes, n)
        self.weights = rng.integers(1, 4 if weighted else 2, len(self.y)).astype(float)
        self.support = rng.random(len(self.y)) < 0.8
        inside, classes = self.weights * self.support, range(len(sizes))
        self.totals = np.bincount(self.y, inside, len(sizes))
        centres = [np.average(self.X, axis=0, weights=inside * (self.y == k)) for k in classes]
        priors, scale = self.totals / inside.sum(), np.geomspace(0.5, 3.0, n)
        self.frame = Frame.of(np.array(centres), scale, priors, n)
        self.H = (self.X - self.frame.centres[self.y]) / scale
        self.scatter = 2.0 * (self.H.T * inside) @ self.H
        self.freedom = inside.sum() - len(sizes)

    def advised(self):
        """Mean of the shrinkages of scikit-learn, by the weights of the classes."""
        rows = np.repeat(np.arange(len(self.y)), (self.weights * self.support).astype(int))
        each = [
            ledoit_wolf_shrinkage(self.H[rows[self.y[rows] == k]], assume_centered=True)
            for k in range(len(self.totals))
        ]
        return np.average(each, weights=self.totals)

    def shrunk(self, few_rows, freedom=None):
        rows = rows_of(self.X, self.y, self.weights)
        given = rows, lambda: self.support, self.totals, few_rows
        freedom = self.freedom if freedom is None else freedom
        return class_shrinkage(self.scatter, self.frame, freedom, REGIME, *given)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [[30, 50], [10, 200, 40]])
def test_the_shrinkage_is_the_mean_of_the_classes(rng, sizes, weighted):
    problem = Problem(rng, sizes, 6, weighted)
    assert problem.shrunk(few_rows=False) == pytest.approx(problem.advised(), rel=1e-10)


@pytest.mark.parametrize(
    ("rows_per_feature", "share"),
    [(0.0, 1.0), (1.0, 1.0), (2.5, 1.0), (4.0, 0.25), (5.0, 0.0), (50.0, 0.0)],
)
def test_with_more_rows_per_feature_the_shrinkage_tapers_off(rng, rows_per_feature, share):
    problem = Problem(rng, [30, 20], 10)
    found = problem.shrunk(few_rows=True, freedom=10.0 * rows_per_feature)
    assert found == pytest.approx(share * problem.advised(), rel=1e-10)
    if share == 0.0:
        assert found == 0.0
    always = problem.shrunk(few_rows=False, freedom=10.0 * rows_per_feature)
    assert always == pytest.approx(problem.advised(), rel=1e-10)


def test_a_class_without_rows_in_the_sample_advises_nothing(rng):
    problem = Problem(rng, [30, 20], 6)
    problem.support[problem.y == 1] = False
    first = problem.H[problem.support & (problem.y == 0)]
    expected = ledoit_wolf_shrinkage(first, assume_centered=True)
    assert problem.shrunk(few_rows=False) == pytest.approx(expected, rel=1e-10)


def test_one_feature_and_no_scatter_are_not_shrunk(rng):
    assert Problem(rng, [5, 5], 1).shrunk(few_rows=False) == 0.0
    problem = Problem(rng, [5, 5], 3)
    problem.scatter = np.zeros((3, 3))
    assert problem.shrunk(few_rows=False) == 0.0


def test_something_is_left_of_a_scatter_that_is_shrunk_to_the_end():
    X, y = np.vstack([np.eye(3), np.eye(3)]), np.repeat([0, 1], 3)
    frame = Frame.of(np.zeros((2, 3)), np.ones(3), np.full(2, 0.5), 3)
    given = rows_of(X, y), lambda: np.ones(6, bool), np.full(2, 3.0), True
    amount = class_shrinkage(2.0 * X.T @ X, frame, 4.0, REGIME, *given)
    assert amount == MOST_SHRUNK < 1.0


def test_the_ridge_of_a_shrinkage_has_the_same_directions(rng):
    problem = Problem(rng, [30, 20], 4)
    trace = np.trace(problem.scatter)
    whole = 0.7 * problem.scatter + 0.3 * trace / 4 * np.eye(4)
    ridge = shrinkage_ridge(0.3, trace, 4)
    np.testing.assert_allclose(whole, 0.7 * (problem.scatter + ridge * np.eye(4)), rtol=1e-12)


def test_agreement_from_sums_is_that_from_rows(rng):
    X, y = make_classes(rng, [30, 20, 25], 6)
    weights, Y = np.bincount(y) * 1.0, np.eye(3)[y] - np.bincount(y) / 75.0
    Z = X - X.mean(axis=0)
    means = np.stack([Z[y == k].mean(axis=0) for k in range(3)])
    ridges, found = agreements(Z.T @ Z, weights, means, 6)
    for ridge, agreement in zip(ridges, found, strict=True):
        hat = Z @ np.linalg.solve(Z.T @ Z + ridge * np.eye(6), Z.T)
        h = (1.0 + hat.trace()) / 75.0
        scores = hat @ Y - h * Y
        expected = np.vdot(Y, scores) / np.linalg.norm(scores)
        assert agreement == pytest.approx(expected, rel=1e-9)


def test_the_amount_by_agreement_vanishes_with_many_rows(rng):
    X, y = make_classes(rng, [3000, 3000], 3, spread=2.0)
    assert 0.0 <= CappedLDA(shrinkage="agreement").fit(X, y).shrinkage_ < 0.05
    for n in (40, 4000):  # with far more features than rows it does not vanish
        X, y = make_classes(rng, [30, 30], n, spread=0.3)
        assert 0.0 < CappedLDA(shrinkage="agreement").fit(X, y).shrinkage_ < 1.0
