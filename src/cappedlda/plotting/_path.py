"""EpsilonPathDisplay: accuracy over the cap."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda.plotting._common import BLUE, Display, last_step


class EpsilonPathDisplay(Display):
    """Accuracy in the cross-validation of `CappedLDACV` over the cap.

    The cap is drawn as a multiple of the automatic one. The candidate without a cap stands apart
    on the right. Bars are one standard error over the folds.

    Parameters
    ----------
    multipliers : array-like of shape (n_candidates,)
        Multiples of the automatic cap; inf is no cap.
    scores : array-like of shape (n_folds, n_candidates)
    chosen : int, default=None
        The candidate to mark.

    Attributes
    ----------
    ax_, figure_, line_, uncapped_, chosen_, legend_
        Axes, figure, the finite caps, the candidate without a cap, the ring around the chosen one
        and its legend; the last three may be None.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDACV
    >>> from cappedlda.plotting import EpsilonPathDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = CappedLDACV(multipliers=(0.5, 1.0, 2.0), cv=3).fit(X, y)
    >>> display = EpsilonPathDisplay.from_estimator(lda)
    >>> display.scores.shape
    (3, 3)
    """

    def __init__(
        self, multipliers: ArrayLike, scores: ArrayLike, *, chosen: int | None = None
    ) -> None:
        self.multipliers = np.asarray(multipliers, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, **plot_args: Any) -> Self:
        """Draw the candidates that have the chosen number of directions.

        Parameters
        ----------
        estimator : fitted CappedLDACV, or a pipeline that ends with one
        **plot_args : dict
            Passed to `plot`, such as `ax`.

        Returns
        -------
        display : EpsilonPathDisplay
        """
        model, _ = last_step(estimator)
        if not hasattr(model, "cv_results_"):
            raise TypeError(
                f"A {type(model).__name__} has not compared caps; give a fitted CappedLDACV."
            )
        results = model.cv_results_
        shown = results["param_n_components"] == model.best_n_components_
        splits = [results[f"split{i}_test_score"][shown] for i in range(model.n_splits_)]
        chosen = int(np.count_nonzero(shown[: model.best_index_]))
        display = cls(results["param_multiplier"][shown], splits, chosen=chosen)
        return display.plot(**plot_args)

    def _draw(self, ax):
        mean = self.scores.mean(axis=0)
        error = self.scores.std(axis=0) / np.sqrt(max(len(self.scores) - 1, 1))
        finite = np.isfinite(self.multipliers)
        no_cap = 1.6 * self.multipliers[finite].max(initial=0.625)
        places = np.where(finite, self.multipliers, no_cap)
        style = {"color": BLUE, "marker": "o", "ms": 4.0, "capsize": 2.0, "elinewidth": 0.8}
        capped = np.flatnonzero(finite)[np.argsort(places[finite])]
        self.line_ = ax.errorbar(places[capped], mean[capped], error[capped], lw=1.2, **style)
        self.uncapped_ = self.chosen_ = self.legend_ = None
        ticks = {cap: f"{cap:g}" for cap in self.multipliers[capped].tolist()}
        if not finite.all():
            apart = places[~finite], mean[~finite], error[~finite]
            self.uncapped_ = ax.errorbar(*apart, ls="", **style)
            ticks[no_cap] = "no cap"
        if self.chosen is not None:
            point = places[self.chosen], mean[self.chosen]
            ring = {"s": 120.0, "facecolors": "none", "edgecolors": "black", "zorder": 3}
            self.chosen_ = ax.scatter(*point, **ring, label="chosen")
            self.legend_ = ax.legend(frameon=False)
        ax.set_xscale("log")
        ax.set_xticks(list(ticks), list(ticks.values()))
        ax.set_xticks([], minor=True)
        ax.set_xlabel("cap, as a multiple of the automatic one")
        ax.set_ylabel("accuracy in cross-validation")
