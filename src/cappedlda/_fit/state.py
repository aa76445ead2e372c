"""What is handed from step to step of a fit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import Rows
from cappedlda._metrics.frame import Frame
from cappedlda._metrics.row_space import RowSpace
from cappedlda._rules.gate import Gate


@dataclass(frozen=True)
class Options:
    """Parameters of a fit beside its objective, validated."""

    priors: np.ndarray  # (c,)
    start: str | np.ndarray = "robust"
    n_components: int = 1
    leave_out: str = "harmful"  # what is left out: "harmful" or "flagged" rows
    label_noise: str | float | None = None  # whether wrong labels are looked for; their rate
    given_priors: bool = False  # whether the priors are none of the data
    renew_priors: bool = False  # whether they are the shares of the kept rows
    fill_gaps: bool = False  # whether rows may have missing cells
    drop_cells: bool = False  # whether wrong cells of a row may be dropped instead of the row
    ridge: float = 0.0  # of the answer in any case, relative to the mean variance of the features
    # How the scatter of the support is shrunk; see `shrinkage_rule`.
    shrinkage: str | float | None = "few_rows"
    renew_centres: bool = True  # whether centres are the means of the kept rows
    tol: float = 1e-4
    max_iter: int = 100
    random_state: np.random.RandomState | int | None = None
    report: Callable | None = None  # told about each pass


@dataclass(frozen=True)
class Prepared:
    """What is found before the loop, the same for every q and multiple of epsilon."""

    rows: Rows  # rows that count, in coordinates if there is a space
    sample: ArrayRows  # the part of them to fit first, or all
    all_rows: Rows  # also those outside the gate
    all_sample: ArrayRows
    # Some of the rows that count and are not in the sample, if its directions fit it too well.
    others: ArrayRows | None
    frame: Frame  # to begin with
    gate: Gate | None  # there is one if the start is robust
    space: RowSpace | None
    n_sampled: int  # rows of the sample before the gate, 0 if all rows are used

    @property
    def knows_distances(self):
        """Whether rows are measured in all directions: not if a scatter is only multiplied."""
        return not self.all_rows.implicit_scatter

    @property
    def by_features(self):
        """Whether the coordinates are the features, and rows are measured in all of them."""
        return self.space is None and self.knows_distances

    def lifted(self, solution, n_components):
        """Return a solution in raw features."""
        if self.space is not None:
            solution = self.space.lift_solution(solution, n_components)
        solution.n_sampled = self.n_sampled
        return solution

    @cached_property
    def weight(self):
        """Weight of all rows, also of those that the gate leaves out."""
        return self.all_rows.class_weights.sum()
