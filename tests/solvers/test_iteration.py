"""What loops tell of themselves."""

import numpy as np

from cappedlda._solvers.base import Trace


def test_a_loop_goes_on_where_another_ended():
    trace = Trace("converged", n_iter=2, n_passes=5, change=0.1, objective_path=[3.0, 2.0])
    other = Trace("max_iter", n_iter=1, n_passes=2, change=0.2, objective_path=[1.5])
    trace.extend(other)
    assert trace == Trace("max_iter", 3, 7, 0.2, objective_path=[3.0, 2.0, 1.5])
    assert other.objective_path == [1.5]


def test_traces_do_not_share_a_path():
    Trace().extend(Trace(objective_path=[1.0]))
    assert Trace().objective_path == []
    assert Trace().change == np.inf
