"""The covariance of rows about the means of their classes."""

import numpy as np
import pytest

from cappedlda._metrics.within import WithinCovariance


@pytest.mark.parametrize("seed", range(5))
def test_a_lifted_covariance_is_one(seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(40, 6)))[0]
    root = rng.normal(size=(6, 2))  # of rank two: rounding would make some variances negative
    within = WithinCovariance(root @ root.T, np.ones(6), np.full(3, 4.0))
    scale = rng.uniform(1e-3, 1e3, 40)
    full = within.lifted(basis, scale).full()
    np.testing.assert_array_equal(full, full.T)
    assert full.diagonal().min() >= 0.0
    expected = (basis @ (root @ root.T) @ basis.T) * scale * scale[:, None]
    np.testing.assert_allclose(full, expected, atol=1e-12 * np.abs(expected).max())
