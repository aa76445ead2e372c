"""LabelsDisplay: rows whose labels are worth checking, in the discriminant plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda._validation import check_count
from cappedlda.plotting._common import last_step
from cappedlda.plotting._projection import ProjectionDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 100  # more cannot be read


class LabelsDisplay(ProjectionDisplay):
    """Rows whose labels are most worth checking, in two discriminant directions.

    A `ProjectionDisplay` that rings and names the rows with the lowest label quality. A ringed
    row in the region of another class may have a wrong label, but this is not proof.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 1) or (n_samples, 2)
        Projected rows.
    y : ndarray of shape (n_samples,)
        Their labels.
    flagged : ndarray of shape (n_samples,), bool
        Rows to ring and to name.
    classes : ndarray of shape (n_classes,)
        All labels.
    predict : callable, default=None
        As in `ProjectionDisplay`, and so are the following.
    left_out : ndarray of shape (n_samples,), bool, default=None
        Rows to cross.
    components : tuple of one or two int, default=None
        Numbers of the directions that Z shows.
    outlyingness : ndarray of shape (n_samples,), default=None
        How unusual each row is; the view need not show rows above 1.
    names : sequence of length n_samples, default=None
        What rows are called; None numbers them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    scatter_, flagged_, left_out_, beyond_, ellipses_, labels_, regions_, legend_
        As in `ProjectionDisplay`.

    See Also
    --------
    cappedlda.CappedLDA.label_quality : The probability that a label is right.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import LabelsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> y[[10, 100]] = [1, 2]  # two wrong labels
    >>> lda = CappedLDA(label_noise="auto").fit(X, y)
    >>> display = LabelsDisplay.from_estimator(lda, X, y, n_rows=2)
    >>> np.flatnonzero(display.flagged)
    array([ 10, 100])
    >>> plt.close(display.figure_)
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_rows: int = 20,
        components: Sequence[int] | None = None,
        regions: bool = True,
        ax: Axes | None = None,
        **plot_args: Any,
    ) -> Self:
        """Project rows with a fitted estimator and ring those with the lowest label quality.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
            Fitted with a `label_noise` other than None.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        n_rows : int, default=20
            Number of rows to ring and name, 100 at most; fewer if the quality of fewer is below 1.
        components, regions, ax
            As in `ProjectionDisplay.from_estimator`.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : LabelsDisplay
        """
        check_count("n_rows", n_rows, 1, MOST_NAMES, f"use 1 to {MOST_NAMES}")
        model, rows = last_step(estimator, X)
        quality = model.label_quality(rows, y)
        doubtful = np.zeros(len(quality), bool)
        doubtful[np.argsort(quality, kind="stable")[:n_rows]] = True
        doubtful &= quality < 1.0
        return super().from_estimator(
            estimator,
            X,
            y,
            components=components,
            flagged=doubtful,
            left_out=None,
            regions=regions,
            ax=ax,
            **{"flag_name": "worth checking", **plot_args},
        )

    def _most_unusual(self, n_labels):
        return np.flatnonzero(self.flagged)

    @property
    def _out_of_view(self):
        return np.zeros(len(self.Z), bool) if self.outlyingness is None else self.outlyingness > 1.0
