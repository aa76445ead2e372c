"""Decisions on new rows: whether to reject them, and whether to trust a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.base import slices_of
from cappedlda._discriminant import class_codes
from cappedlda._fit.calibration import MOST_NOTED, Calibration, Calibrator
from cappedlda._measuring import MeasuringDiscriminant
from cappedlda._solvers.leave_one_out import plane_axes
from cappedlda._typing import ArrayLike, Bools, Floats, Labels, MatrixLike
from cappedlda._validation import check_real

# What a feature that is constant within the classes may differ by, relative to its size and to its
# unit: rounding, even that of float32. The mean of a feature that is 0 in all kept rows is rounding
# too, where other rows were in the mean before.
SAME_CONSTANT = 1e-6


class DecidingDiscriminant(MeasuringDiscriminant):
    """A discriminant that decides on new rows at a stated rate of false alarms."""

    # What makes the calibration is replaced by its arrays when it is first asked for.
    _calibration: dict[str, Floats] | Calibrator | None

    def is_rejected(self, X: MatrixLike, y: ArrayLike | None = None, alpha: float = 0.01) -> Bools:
        """Decide which new rows do not come from any class, at a stated rate of false alarms.

        A row is rejected if it is too far from the nearest class in the discriminant space, or
        too far off that space in all features together. Both distances are Mahalanobis
        distances by the covariance of the rows that the fit has kept. The cut-offs are
        quantiles of the same distances of kept training rows, each left out of the covariance and
        of the mean of its class: the same quantile in both spaces, chosen so that a share
        `alpha` of these rows is beyond one cut-off or the other.

        A feature that is constant within the classes has no distance: there a row is rejected
        if it has another value than every class, or than its own class if `y` is given.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. A row is then judged by its distance from that class.
        alpha : float, default=0.01
            Share of good rows that may be rejected. It cannot be less than
            1 / (1 + noted rows): the distances of up to 4096 kept rows are noted, none of them
            alone in its class. With fewer than about 2 / `alpha` rows the share may be up to
            twice as large.

        Returns
        -------
        rejected : ndarray of shape (n_samples,), bool

        See Also
        --------
        outlyingness : How far a row is, on a scale where training rows are flagged above 1.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from cappedlda import CappedLDA
        >>> X, y = load_digits(return_X_y=True)
        >>> lda = CappedLDA().fit(X[:1200], y[:1200])
        >>> bool(lda.is_rejected(X[1200:]).mean() < 0.05)
        True
        >>> shuffled = np.random.default_rng(0).permuted(X[1200:], axis=1)
        >>> bool(lda.is_rejected(shuffled).mean() > 0.99)
        True
        """
        self._check_calibration(alpha)
        return self._by_rows("_is_rejected", X, y, alpha=alpha)

    def predict_or_reject(
        self,
        X: MatrixLike,
        alpha: float = 0.01,
        *,
        min_proba: float | None = None,
        reject_label: Any = None,
    ) -> Labels:
        """Predict the class of each row, or reject a row whose prediction cannot be trusted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        alpha : float, default=0.01
            Share of good rows that may be rejected as strange; see `is_rejected`.
        min_proba : float, default=None
            Reject also rows whose most probable class has a smaller probability. None rejects
            strange rows only.
        reject_label : int, float or str, default=None
            What is returned for rejected rows. It must not be a class, and is a string if the
            classes are. None is -1 for classes that are numbers and "rejected" for others.

        Returns
        -------
        y : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from cappedlda import CappedLDA
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> lda = CappedLDA().fit(X, y)
        >>> strange = X[:3].copy()
        >>> strange[0] = strange[0, ::-1]  # the columns are in the wrong order
        >>> lda.predict_or_reject(strange)
        array([-1,  0,  0])
        """
        self._check_calibration(alpha)
        if min_proba is not None:
            check_real("min_proba", min_proba, 0.0, 1.0, "use None or a probability")
        self._labels_with(reject_label)
        settings = {"alpha": alpha, "min_proba": min_proba, "reject_label": reject_label}
        return self._by_rows("_predict_or_reject", X, **settings)

    def _predict_or_reject(self, X, _=None, *, alpha, min_proba, reject_label):
        rejected = self._is_rejected(X, None, alpha)
        if min_proba is None:
            codes = class_codes(self._decide(X))
        else:
            probabilities = self._probabilities(X)
            codes = probabilities.argmax(axis=1)
            rejected |= probabilities.max(axis=1) < min_proba
        return self._labels_with(reject_label)[np.where(rejected, len(self.classes_), codes)]

    def _labels_with(self, reject_label):
        """Return the classes, and the label of rejected rows after them."""
        classes = self.classes_
        words = isinstance(classes.tolist()[0], (str, bytes))
        default = "rejected" if words else -1
        label = default if reject_label is None else reject_label
        if np.ndim(label) or isinstance(label, (str, bytes)) != words:
            kind = "strings" if words else "numbers"
            raise TypeError(
                f"reject_label={label!r} does not fit classes that are {kind}; use None, or one of "
                f"them such as {default!r}."
            )
        if label in classes:
            raise ValueError(
                f"reject_label={label!r} is a class; use a label that is none of "
                f"{classes.tolist()}."
            )
        return np.append(classes, label)

    def _is_rejected(self, X, y, alpha):
        calibration = self._calibrated()
        codes = None if y is None else self._codes(y, X.shape[0])
        projected, off_plane = self._two_distances(X, codes, calibration.whitener)
        usual = calibration.nearest if y is None else calibration.own
        cuts = cut_offs((usual, calibration.off_plane), calibration.weights, alpha)
        near = (projected <= cuts[0]) & (off_plane <= cuts[1])  # NaN is too far
        return ~(near & self._has_constants(X, codes, np.flatnonzero(calibration.flat)))

    def _two_distances(self, X, codes, whitener):
        """Return the distances of rows in the discriminant space, and off it, shape (N,)."""
        means = (self.means_ - self.xbar_) @ whitener
        axes = plane_axes(means)
        centres = means @ axes
        found = np.empty((2, X.shape[0]))
        for rows in slices_of(X.shape[0], self._regime.slab_rows(X.shape[1])):
            block = X[rows].toarray() if issparse(X) else X[rows]
            with np.errstate(over="ignore", invalid="ignore"):
                Z = (block - self.xbar_) @ whitener
                images = Z @ axes
                found[0, rows] = from_centres(
                    images, centres, None if codes is None else codes[rows]
                )
                if axes.shape[1] < axes.shape[0]:
                    found[1, rows] = np.linalg.norm(Z - images @ axes.T, axis=1)
                else:
                    found[1, rows] = 0.0
        return found

    def _has_constants(self, X, codes, flat):
        """Return which rows have, in the flat features, the values of their class or of any."""
        found = np.ones(X.shape[0], bool)
        if len(flat) == 0:
            return found
        constants, unit = self.means_[:, flat], self._spread[flat]
        for rows in slices_of(X.shape[0], self._regime.slab_rows(X.shape[1])):
            block = X[rows][:, flat].toarray() if issparse(X) else X[rows, flat]
            own = None if codes is None else codes[rows]
            found[rows] = are_constants(block, constants, unit, own)
        return found

    def _check_calibration(self, alpha):
        check_is_fitted(self)
        check_real("alpha", alpha, 0.0, 0.5, "use a small share, such as 0.01")
        calibration = self._calibrated()
        if calibration is None:
            raise ValueError(
                "This model knows no covariance of all features, which decisions on new rows "
                "need: it has more features than rows, or more than 1000 sparse ones, or no class "
                "of two rows, or is no CappedLDA. Use outlyingness(X) > 1 instead."
            )
        n_rows = calibration.weights.sum()
        if alpha * (n_rows + 1.0) < 1.0:
            raise ValueError(
                f"alpha={alpha!r} is a share that the {n_rows:g} rows noted (at most {MOST_NOTED}) "
                f"cannot show; use alpha of {1.0 / (n_rows + 1.0):.2g} or more."
            )

    def _calibrated(self):
        """Return the calibration, made now if it was not asked for before, or None."""
        found = getattr(self, "_calibration", None)  # read once: another thread may be replacing it
        if isinstance(found, Calibrator):
            found = self._calibration = found()._asdict()
        return None if found is None else Calibration(**found)

    def __getstate__(self):
        self._calibrated()  # no training row is stored
        return super().__getstate__()


def from_centres(images, centres, codes):
    """Return the distances from the nearest centre, or from that of the class of each row."""
    if codes is not None:
        return np.linalg.norm(images - centres[codes], axis=1)
    nearest = np.full(len(images), np.inf)
    for centre in centres:
        np.minimum(nearest, np.linalg.norm(images - centre, axis=1), out=nearest)
    return nearest


def are_constants(values, constants, unit, codes):
    """Return which rows of shape (N, f) are one of the constants (c, f), or that of their class.

    The units of the features are of shape (f,).
    """
    tolerance = SAME_CONSTANT * np.maximum(np.abs(constants).max(axis=0), unit)
    if codes is not None:
        return np.all(np.abs(values - constants[codes]) <= tolerance, axis=1)
    found, left = np.zeros(len(values), bool), np.arange(len(values))
    for constant in constants:  # mostly they are the same for all classes, and one will do
        same = np.all(np.abs(values[left] - constant) <= tolerance, axis=1)
        found[left[same]] = True
        left = left[~same]
        if len(left) == 0:
            break
    return found


def cut_offs(distances, weights, alpha):
    """Return cut-offs in several spaces that a share `alpha` of new rows exceeds in any of them.

    In all spaces it is the same quantile: the largest share of the rows for which those
    beyond any cut-off are no more than `alpha` of the rows and a new one. A row on the cut-off
    counts as beyond it, as the new one might be in its place.

    Parameters
    ----------
    distances : sequence of ndarray of shape (k,)
    weights : ndarray of shape (k,)
    alpha : float
    """
    tails = [tail_weights(values, weights) for values in distances]
    least = np.minimum.reduce(tails)
    order = np.argsort(least, kind="stable")
    beyond = np.cumsum(weights[order])[np.searchsorted(least[order], least[order], "right") - 1]
    allowed = least[order][beyond <= alpha * (weights.sum() + 1.0)]
    level = allowed[-1] if len(allowed) else least.min()
    return [
        values[tail <= level].min(initial=values.max())
        for values, tail in zip(distances, tails, strict=True)
    ]


def tail_weights(values, weights):
    """Return for each value the weight of all that are at least as large."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    above = np.cumsum(weights[order][::-1])[::-1]
    tail = np.empty(len(values))
    tail[order] = above[np.searchsorted(ordered, ordered, "left")]
    return tail
