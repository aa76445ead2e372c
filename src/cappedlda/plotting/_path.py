"""EpsilonPathDisplay: accuracy over the cap."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cappedlda.cv import CappedLDACV
from cappedlda.plotting._common import BLUE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EpsilonPathDisplay(Display):
    """Accuracy in cross-validation over the cap.

    The cap is drawn as a multiple of the automatic one. The candidate without a cap stands apart
    on the right. Bars are one standard error over the folds.

    Parameters
    ----------
    multipliers : array-like of shape (n_candidates,)
        Multiples of the automatic cap; inf is no cap.
    scores : ndarray of shape (n_folds, n_candidates)
    chosen : int, default=None
        The candidate to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : ErrorbarContainer
        The finite caps.
    uncapped_ : ErrorbarContainer or None
        The candidate without a cap.
    chosen_ : PathCollection or None
        The ring around the chosen candidate.
    legend_ : Legend or None
        Of that ring.

    See Also
    --------
    cappedlda.CappedLDACV : Chooses among the candidates.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDACV
    >>> from cappedlda.plotting import EpsilonPathDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = CappedLDACV(multipliers=(0.5, 1.0, 2.0), cv=3).fit(X, y)
    >>> display = EpsilonPathDisplay.from_estimator(lda)
    >>> display.scores.shape
    (3, 3)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        multipliers: ArrayLike,
        scores: ArrayLike,
        *,
        chosen: int | None = None,
    ) -> None:
        self.multipliers = np.asarray(multipliers, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        multipliers: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0, np.inf),
        cv: object = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the path of a fitted `CappedLDACV`, or compute it for a `CappedLDA`.

        Parameters
        ----------
        estimator : CappedLDACV or CappedLDA, or a pipeline that ends with one
            A fitted `CappedLDACV` has the path already: the candidates with the chosen
            number of directions are drawn. For a `CappedLDA`, fitted or not,
            `CappedLDACV` is run with the estimator's parameters; the earlier steps of a
            pipeline are fitted once, to all rows.
        X : array-like of shape (n_samples, n_features), default=None
            Needed for a `CappedLDA` only.
        y : array-like of shape (n_samples,), default=None
        multipliers : sequence of float, default=(0.5, 0.7, 1.0, 1.4, 2.0, inf)
            Multiples of the automatic cap, for a `CappedLDA`.
        cv : int, splitter or iterable of (train, test) indices, default=5
            For a `CappedLDA`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : EpsilonPathDisplay
        """
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not isinstance(model, CappedLDACV):
            if X is None or y is None:
                raise ValueError("A CappedLDA has no path yet; give X and y, or a CappedLDACV.")
            if model is not estimator and len(estimator) > 1:
                X = clone(estimator[:-1]).fit_transform(X, y)
            model = _searching(model, multipliers, cv).fit(X, y)
        check_is_fitted(model)
        results = model.cv_results_
        shown = results["param_n_components"] == model.best_n_components_
        splits = [results[f"split{i}_test_score"][shown] for i in range(model.n_splits_)]
        chosen = int(np.count_nonzero(shown[: model.best_index_]))
        return cls(results["param_multiplier"][shown], splits, chosen=chosen).plot(ax)

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
        if not finite.all():
            self.uncapped_ = ax.errorbar(
                places[~finite], mean[~finite], error[~finite], ls="", **style
            )
        if self.chosen is not None:
            self.chosen_ = ax.scatter(
                places[[self.chosen]],
                mean[[self.chosen]],
                s=120.0,
                facecolors="none",
                edgecolors="black",
                zorder=3,
                label="chosen",
            )
            self.legend_ = ax.legend(frameon=False)
        self._label_caps(ax, finite, no_cap)
        ax.set(
            xlabel="cap, as a multiple of the automatic one", ylabel="accuracy in cross-validation"
        )

    def _label_caps(self, ax, finite, no_cap):
        caps = np.unique(self.multipliers[finite]).tolist()
        ticks, names = caps, [f"{cap:g}" for cap in caps]
        if not finite.all():
            ticks, names = [*caps, no_cap], [*names, "no cap"]
        ax.set_xscale("log")
        ax.set_xticks(ticks, names)
        ax.set_xticks([], minor=True)


def _searching(estimator, multipliers, cv):
    """Return a `CappedLDACV` with the parameters of a `CappedLDA`."""
    known = set(signature(CappedLDACV).parameters)
    shared = {name: value for name, value in estimator.get_params().items() if name in known}
    return CappedLDACV(multipliers=multipliers, cv=cv, **shared)
