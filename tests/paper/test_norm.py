"""`capped_norm`, equation (2) of the paper."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cappedlda.paper import capped_norm

entries = st.floats(-1e3, 1e3)
matrices = arrays(np.float64, (3, 4), elements=entries)
caps = st.one_of(st.floats(1e-2, 1e3), st.just(np.inf))
exponents = st.floats(1.0, 4.0)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3.5, np.inf])
@pytest.mark.parametrize("q", [0.5, 1, 1.5, 2, 4])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, np.inf])
def test_matches_the_definition(rng, p, q, epsilon):
    M = rng.normal(size=(5, 7))
    expected = reference.capped_norm(M, epsilon, p, q)
    assert capped_norm(M, epsilon, p=p, q=q) == pytest.approx(expected, rel=1e-13)


def test_default_is_the_capped_l21_norm_of_the_columns():
    M = [[3, 0, 30], [4, 1, 40]]
    assert capped_norm(M, 10) == pytest.approx(5 + 1 + 10)
    assert capped_norm(M, np.inf) == pytest.approx(5 + 1 + 50)


def test_without_cap_it_is_the_frobenius_norm_for_p_q_2(rng):
    M = rng.normal(size=(4, 6))
    assert capped_norm(M, np.inf, p=2, q=2) == pytest.approx(np.linalg.norm(M))


def test_far_away_every_column_counts_epsilon():
    assert capped_norm(np.full((3, 5), 1e9), 0.25) == pytest.approx(5 * 0.25)


@given(M=matrices, low=st.floats(1e-3, 1e3), factor=st.floats(1.0, 100.0), q=exponents)
def test_is_monotone_in_epsilon_and_bounded_by_the_norm(M, low, factor, q):
    values = [capped_norm(M, e, q=q) for e in (low, low * factor, np.inf)]
    assert values[0] <= values[1] * (1 + 1e-12)
    assert values[1] <= values[2] * (1 + 1e-12)
    assert values[0] <= (4 * low) ** (1 / q) * (1 + 1e-12)


@given(A=matrices, B=matrices, epsilon=caps, p=exponents, q=exponents)
def test_triangle_inequality(A, B, epsilon, p, q):
    together = capped_norm(A + B, epsilon, p=p, q=q)
    apart = capped_norm(A, epsilon, p=p, q=q) + capped_norm(B, epsilon, p=p, q=q)
    assert together <= apart * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("p", [2, 3, np.inf])
def test_huge_and_tiny_entries_neither_overflow_nor_vanish(rng, size, p):
    M = rng.normal(size=(3, 4))
    expected = size * reference.capped_norm(M, np.inf, p, 1)
    assert capped_norm(size * M, np.inf, p=p) == pytest.approx(expected, rel=1e-12, abs=0)
    expected = size * reference.capped_norm(M, np.inf, p, 2)
    assert capped_norm(size * M, np.inf, p=p, q=2) == pytest.approx(expected, rel=1e-12, abs=0)
    assert capped_norm(1e250 * M, 3.0, p=p, q=2) == pytest.approx(np.sqrt(4 * 3.0))


def test_zero_and_empty_matrices_have_norm_zero():
    assert capped_norm(np.zeros((3, 2)), 1.0) == 0.0
    assert capped_norm(np.empty((3, 0)), 1.0) == 0.0
    assert capped_norm(np.empty((0, 3)), 1.0) == 0.0


def test_an_infinite_entry_counts_as_the_cap_and_nan_is_not_hidden():
    assert capped_norm([[1.0, np.inf], [0.0, 2.0]], 3.0) == 4.0
    assert capped_norm([[1.0, np.inf]], np.inf) == np.inf
    assert np.isnan(capped_norm([[1.0, np.nan]], 1.0))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"epsilon": 0}, ValueError, "epsilon=0 .*positive"),
        ({"epsilon": -1.0}, ValueError, "epsilon=-1.0 .*positive"),
        ({"epsilon": np.nan}, ValueError, "epsilon=nan .*positive"),
        ({"epsilon": "auto"}, TypeError, "epsilon='auto' .*number"),
        ({"p": 0}, ValueError, "p=0 .*positive"),
        ({"p": np.nan}, ValueError, "p=nan .*positive"),
        ({"q": 0.0}, ValueError, "q=0.0 .*positive"),
        ({"q": np.inf}, ValueError, "q=inf .*positive"),
        ({"q": None}, TypeError, "q=None .*number"),
        ({"M": [1.0, 2.0]}, ValueError, "M has 1 dimensions.*matrix"),
        ({"M": np.ones((2, 2, 2))}, ValueError, "M has 3 dimensions.*matrix"),
        ({"M": [[1j]]}, TypeError, "M .*real"),
    ],
)
def test_bad_arguments_are_named(arguments, error, match):
    with pytest.raises(error, match=match):
        capped_norm(**({"M": [[1.0]], "epsilon": 1.0} | arguments))
