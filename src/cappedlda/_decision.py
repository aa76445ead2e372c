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
from cappedlda._model import cells as cell_rules
from cappedlda._solvers.leave_one_out import plane_axes
from cappedlda._typing import ArrayLike, Bools, Floats, Labels, MatrixLike
from cappedlda._validation import check_real

# What a feature that is constant within the classes may differ by, relative to its size and to its
# unit: rounding, even that of float32. The mean of a feature that is 0 in all kept rows is rounding
# too, where other rows were in the mean before.
SAME_CONSTANT = 1e-6


class DecidingDiscriminant(MeasuringDiscriminant):
    """A discriminant that decides on new rows at a stated rate of false alarms."""

    # Parameters of the estimators that know a covariance of all features.
    cells: str = "all"
    missing: str = "error"
    # Factor of the scores of the linear rule: as sure as training rows that are left out say.
    _temperature: float
    # What makes the calibration is replaced by its arrays when it is first asked for.
    _calibration: dict[str, Floats] | Calibrator | None
    # Training rows by which the cut-off of cells is chosen, and the metric once it was asked for.
    _cell_cache: dict[str, Any]
    # The cut-offs of a model that was stored.
    _cell_cuts: Floats | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _check_finite(self, X, first=0):
        if self.missing == "error" or issparse(X):
            remedy = "remove or impute such rows"
            if not issparse(X) and self._calibration is not None:
                remedy += ', or predict without such cells by set_params(missing="ignore")'
            super()._check_finite(X, first, remedy)
        elif self._cell_metric() is None:
            remedy = (
                'impute these cells: missing="ignore" needs the covariance of all features, which '
                "this model does not know (see CappedLDA)"
            )
            super()._check_finite(X, first, remedy)
        elif self.cells == "all":
            infinite = np.isinf(X).any(axis=1)
            if infinite.any():
                remedy = 'mark missing cells by NaN, or use cells="capped"'
                given = np.where(np.isnan(X), 0, X)
                raise self._not_finite(given, int(infinite.argmax()), first, remedy)

    def _amend_scores(self, X, scores):
        cell_rules.amend_scores(self, X, scores)

    def _amend_projections(self, X, projected):
        cell_rules.amend_projections(self, X, projected)

    def wrong_cells(self, X: MatrixLike, y: ArrayLike | None = None) -> Bools:
        """Tell which cells do not fit the other cells of their row.

        These are the cells that the class of a row ignores with ``cells="capped"``: each is more
        than five standard deviations from what the other cells let expect in that class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. Without it, the predicted one.

        Returns
        -------
        wrong : ndarray of shape (n_samples, n_features), bool
            Missing cells are not wrong. All are right for a model that uses all cells: with
            ``cells="all"``, sparse X, or no covariance of all features.

        See Also
        --------
        expected_cells : What the other cells let expect.
        cappedlda.plotting.CellMapDisplay : A picture of both.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = CappedLDA().fit(X, y)
        >>> new = X[[10, 60, 110]]
        >>> new[1, 2] *= 10.0  # the decimal point is missing
        >>> np.argwhere(lda.wrong_cells(new))
        array([[1, 2]])
        >>> lda.predict(new)
        array([0, 1, 2])
        """
        return self._by_rows("_wrong_cells", X, y)

    def _wrong_cells(self, X, y=None):
        return cell_rules.wrong_cells(self, X, self._codes_or_predicted(X, y), y is not None)

    def expected_cells(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        """Return what the other cells of its row let expect for each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. Without it, the predicted one.

        Returns
        -------
        expected : ndarray of shape (n_samples, n_features)
            The mean of the cell in that class, given the other cells of the row that are neither
            wrong nor missing.

        See Also
        --------
        wrong_cells : Which cells do not fit.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = CappedLDA(missing="ignore").fit(X, y)
        >>> new = X[[10, 60, 110]]
        >>> new[1, 2] = np.nan
        >>> float(lda.expected_cells(new)[1, 2].round(1)), float(X[60, 2])
        (3.6, 3.5)
        """
        self._check_cells()
        return self._by_rows("_expected_cells", X, y)

    def cell_deviations(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        """Return how far each cell is from what the other cells of its row let expect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known. Without it, the predicted one.

        Returns
        -------
        deviations : ndarray of shape (n_samples, n_features)
            In standard deviations of the cell given the others, positive above
            `expected_cells`. NaN for missing cells, and 0 for features that are constant within
            the classes.

        See Also
        --------
        wrong_cells : The cells of which this is too far off.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = CappedLDA().fit(X, y)
        >>> new = X[[60]]
        >>> new[0, 2] *= 10.0
        >>> bool(lda.cell_deviations(new)[0, 2] > 100)
        True
        """
        self._check_cells()
        return self._by_rows("_cell_deviations", X, y)

    def _expected_cells(self, X, y=None):
        return self._judged_cells(X, y)[0]

    def _cell_deviations(self, X, y=None):
        return self._judged_cells(X, y)[1]

    def _judged_cells(self, X, y):
        codes = self._codes_or_predicted(X, y)
        return cell_rules.expected_cells(self, X.toarray() if issparse(X) else X, codes)

    def _check_cells(self):
        check_is_fitted(self)
        if self._cell_metric() is None:
            raise ValueError(
                "This model knows no covariance of all features, from which other cells are "
                "expected: it has more features than rows, or more than 1000 sparse ones, or no "
                "class of two rows, or is no CappedLDA."
            )

    def _codes_or_predicted(self, X, y):
        return class_codes(self._decide(X)) if y is None else self._codes(y, X.shape[0])

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

        With ``cells="capped"``, if at most a tenth of the cells of a row are wrong, each counts
        like one at the limit, however large it is, which need not make the row an outlier. With
        more of them the row is judged by all its cells. Missing cells do not count. A row of
        which no cell is left is an outlier.

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
        constants = self._has_constants(cell_rules.filled(self, X, codes), codes, calibration.flat)
        X, cost = cell_rules.completed(self, X, codes)
        distances = self._two_distances(X, codes, calibration.whitener)
        # Wrong cells count like cells at the cut-off: off the plane, if there is anything off it.
        priced = distances[int(calibration.off_plane.any())]
        priced[...] = np.sqrt(np.square(priced) + cost)
        projected, off_plane = distances
        usual = calibration.nearest if y is None else calibration.own
        cuts = cut_offs((usual, calibration.off_plane), calibration.weights, alpha)
        near = (projected <= cuts[0]) & (off_plane <= cuts[1])  # NaN is too far
        return ~(near & constants)

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
        found, (flat,) = np.ones(X.shape[0], bool), np.nonzero(flat)
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

    def _cell_metric(self):
        """Return how single cells are measured, or None if no covariance is known."""
        cache = vars(self).setdefault("_cell_cache", {})
        if "metric" not in cache:
            cache["metric"] = self._made_cell_metric(cache.get("trial"))
        return cache["metric"]

    def _made_cell_metric(self, trial):
        found = self._calibration  # read once: another thread may be replacing it
        if found is None:
            return None
        whitener = found.whitener() if isinstance(found, Calibrator) else found["whitener"]
        rule = self.means_, self.xbar_, self.coef_, self.priors_, self._temperature
        metric = cell_rules.make_metric(whitener, *rule)
        if metric is None:
            return None
        cuts = self._cell_cuts if trial is None else cell_rules.choose_cuts(metric, *trial)
        return metric if cuts is None else metric.with_cuts(cuts)

    @property
    def cell_cuts_(self) -> Floats:
        """Standard deviations beyond which single cells of new rows are ignored."""
        check_is_fitted(self)
        metric = self._cell_metric()
        return np.full(self.n_features_in_, np.inf) if metric is None else metric.cuts

    def __getstate__(self):
        cuts = self.cell_cuts_ if hasattr(self, "classes_") else None
        self._calibrated()  # no training row is stored
        state = super().__getstate__()
        if cuts is not None:
            state["_cell_cuts"] = cuts
        state.pop("_cell_cache", None)  # made from the rest
        return state


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
