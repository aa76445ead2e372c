"""The iteration: a pass over the data, a small problem, a better projection."""

from dataclasses import dataclass, field

import numpy as np

from cappedlda._data.record import check_overflow


@dataclass
class Trace:
    """What the loop did: its status, the tolerance that decided, and one entry per pass."""

    status: str = "max_iter"
    n_iter: int = 0
    n_passes: int = 0
    change: float = np.inf
    tol: float = 0.0
    objective_path: list = field(default_factory=list)

    def extend(self, other):
        """Add what another loop did after this one."""
        self.status, self.change = other.status, other.change
        self.n_iter += other.n_iter
        self.n_passes += other.n_passes
        self.objective_path += other.objective_path


def iterate(rows, method, max_iter, report=None):
    """Run up to `max_iter` passes, until the method returns how it ended."""
    trace = Trace()
    while trace.n_iter < max_iter:
        record = rows.run(method.query())
        check_overflow(record)
        trace.n_iter += 1
        status = method.step(record)
        if report is not None:
            report(trace.n_iter, method, record.kept_weight)
        if status is not None:
            trace.status = status
            break
    else:
        method.rollback()
    trace.n_passes = trace.n_iter
    trace.change = method.change
    trace.tol = method.tol
    return trace


class Iteration:
    """What `iterate` runs: `query()` tells the next pass, and `step(record)` moves on.

    A step returns a status once it is the last one. `MMSolver` and `PaperIteration` end with a
    fitted projection: these also have a frame, W of shape (n, r), A (the last weighted scatter, or
    None), and what `evaluate` in `_fit/result.py` asks for.
    """

    change = np.inf  # size of the last step
    tol = 0.0  # a step this small ends the iteration

    def rollback(self):
        """After `max_iter` passes, step back from a projection that no pass has confirmed."""
