"""The frame: its least variances, its caps."""

from types import SimpleNamespace

import numpy as np
import pytest

from cappedlda._metrics.frame import Frame, Objective
from cappedlda._metrics.plain import MatrixSystem
from cappedlda._rules.fences import FLAG_LEVEL

SCALE = np.array([1.0, 2.0, 0.5])


@pytest.fixture
def system(rng):
    rows = rng.normal(size=(50, 3)) * [1.0, 0.01, 0.2]
    return MatrixSystem(rows.T @ rows, 50.0, 0.0)


def frame_with(least):
    return Frame.of(np.zeros((2, 3)), SCALE, np.full(2, 0.5), 3, least)


def test_variances_below_the_least_are_raised_to_it(system):
    before = system.matrix.copy()
    frame_with(np.sqrt(0.1) * SCALE).raise_variances(system)
    variances = before.diagonal()
    assert 0 < np.sum(variances < 0.1) < 3
    np.testing.assert_allclose(system.matrix.diagonal(), np.maximum(variances, 0.1), rtol=1e-12)
    others = ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(system.matrix[others], before[others])


def test_without_least_variances_nothing_is_raised(system):
    before = system.matrix.copy()
    frame_with(None).raise_variances(system)
    np.testing.assert_array_equal(system.matrix, before)


def test_an_implicit_system_has_no_variances_to_raise():
    frame_with(np.ones(3)).raise_variances(SimpleNamespace(matrix=None))


def test_the_least_variances_stay_with_the_frame():
    frame = frame_with(np.ones(3))
    moved = frame.recentred(np.ones((2, 3))).with_cap(2.0, 0.1)
    assert moved.least is frame.least


def test_rows_are_flagged_beyond_a_multiple_of_automatic_caps_but_at_a_given_one():
    assert Objective().flag_level == FLAG_LEVEL == 1.5
    assert Objective(epsilon=3.0).flag_level == 1.0
    assert Objective(epsilon=np.inf).flag_level == np.inf


def test_no_multiple_at_all_is_no_cap():
    objective = Objective(q=2.0).multiplied(3.0)
    assert (objective.epsilon, objective.multiplier) == ("auto", 3.0)
    assert objective.multiplied(np.inf).epsilon == np.inf
