"""ConvergenceDisplay: the objective over the iterations."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import BLUE, GREY, VERMILLION, Display, last_step

# Smaller rises, relative to the objective, are the rounding of float32 rows.
ROUNDING = 1e-6


class ConvergenceDisplay(Display):
    """The objective over the iterations.

    Parameters
    ----------
    objective_path : array-like of shape (n_evaluations,)
    status : str, default=None
        How the iteration ended.

    Attributes
    ----------
    ax_, figure_, line_, rises_
        Axes, figure, the objective, and its rises by more than rounding.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ConvergenceDisplay
    >>> lda = CappedLDA().fit(*load_wine(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(lda)
    >>> display.status
    'converged'
    """

    def __init__(self, objective_path: ArrayLike, *, status: str | None = None) -> None:
        self.objective_path = objective_path
        self.status = status

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, **plot_args: Any) -> Self:
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        model, _ = last_step(estimator)
        return cls(model.objective_path_, status=model.status_).plot(**plot_args)

    def _draw(self, ax):
        from matplotlib.ticker import MaxNLocator

        path = np.asarray(self.objective_path)
        steps = np.arange(1, len(path) + 1)
        (self.line_,) = ax.plot(steps, path, color=BLUE, marker="o", ms=4.0, lw=1.2)
        rises = np.flatnonzero(np.diff(path) > ROUNDING * np.abs(path[:-1])) + 1
        self.rises_ = ax.scatter(
            steps[rises], path[rises], s=36.0, color=VERMILLION, zorder=3, label="rises"
        )
        if len(rises):
            ax.legend(frameon=False)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlim(0.5, len(path) + 0.5)
        ax.set(xlabel="evaluation", ylabel="objective")
        notes = [] if self.status is None else [self.status]
        if len(path) < 2:
            notes.append("one evaluation: nothing to compare it with")
        ax.set_title(", ".join(notes), loc="right", fontsize="medium", color=GREY)
