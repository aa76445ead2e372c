"""The space that few rows span: covariances in it are those of the features."""

import numpy as np
import pytest

from cappedlda._data.moments import Moments
from cappedlda._metrics.row_space import RowSpace


@pytest.mark.parametrize("seed", range(5))
def test_a_lifted_covariance_is_one(seed):
    rng = np.random.default_rng(seed)
    scale = rng.uniform(1e-3, 1e3, 40)
    X = rng.normal(size=(6, 40)) * scale
    space = RowSpace(X, np.zeros((2, 40)), scale)
    root = rng.normal(size=(6, 2))  # of rank two: rounding would make some variances negative
    moments = Moments(np.full(3, 4.0), np.zeros((3, 6)), 12.0 * root @ root.T, scale=np.ones(6))
    full = space.lift_covariance(moments)
    np.testing.assert_array_equal(full, full.T)
    assert full.diagonal().min() >= 0.0
    lifted = space.lift_points(root.T)
    expected = lifted.T @ lifted
    np.testing.assert_allclose(full, expected, atol=1e-12 * np.abs(expected).max())
