"""Decisions on new rows: whether to reject them, which of their cells are wrong."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.base import slices_of
from cappedlda._loo.calibration import MOST_NOTED, Calibration, Calibrator
from cappedlda._loo.distances import plane_axes
from cappedlda._model import cells
from cappedlda._model.discriminant import class_codes, decisions, probabilities
from cappedlda._model.distances import codes_of, spread
from cappedlda._validation import check_real


def wrong_cells(model, X, y=None):
    return cells.wrong_cells(model, X, codes_or_predicted(model, X, y), y is not None)


def expected_cells(model, X, y=None):
    return judged_cells(model, X, y)[0]


def cell_deviations(model, X, y=None):
    return judged_cells(model, X, y)[1]


def judged_cells(model, X, y):
    """Return what the other cells predict, and how far cells are from it."""
    codes = codes_or_predicted(model, X, y)
    return cells.expected_cells(model, X.toarray() if issparse(X) else X, codes)


def check_cells(model):
    check_is_fitted(model)
    if cells.metric_of(model) is None:
        raise ValueError(
            "This model has no covariance of all features, which predicts cells from others: it "
            "has more features than rows, more than 1000 sparse features, no class with two "
            "rows, or is not a CappedLDA."
        )


def codes_or_predicted(model, X, y):
    return class_codes(decisions(model, X)) if y is None else codes_of(model, y, X.shape[0])


def predict_or_reject(model, X, _=None, *, alpha, min_proba, reject_label):
    rejected = is_rejected(model, X, None, alpha)
    if min_proba is None:
        codes = class_codes(decisions(model, X))
    else:
        probability = probabilities(model, X)
        codes = probability.argmax(axis=1)
        rejected |= probability.max(axis=1) < min_proba
    return labels_with(model, reject_label)[np.where(rejected, len(model.classes_), codes)]


def labels_with(model, reject_label):
    """Return the classes, and the label of rejected rows after them."""
    classes = model.classes_
    words = isinstance(classes.tolist()[0], (str, bytes))
    default = "rejected" if words else -1
    label = default if reject_label is None else reject_label
    if np.ndim(label) or isinstance(label, (str, bytes)) != words:
        kind = "strings" if words else "numbers"
        raise TypeError(
            f"reject_label={label!r} does not fit classes that are {kind}; use None or a label "
            f"such as {default!r}."
        )
    if label in classes:
        raise ValueError(
            f"reject_label={label!r} is a class; use a label other than {classes.tolist()}."
        )
    return np.append(classes, label)


def is_rejected(model, X, y, alpha):
    """Return which checked rows are too far off to come from a class, or from the given one."""
    calibration = calibration_of(model)
    codes = None if y is None else codes_of(model, y, X.shape[0])
    constants = has_constants(model, cells.filled(model, X, codes), codes, calibration.flat)
    X, cost = cells.completed(model, X, codes)
    distances = two_distances(model, X, codes, calibration.whitener)
    # Wrong cells count like cells at the cut-off: off the plane, if there is anything off it.
    priced = distances[int(calibration.off_plane.any())]
    priced[...] = np.sqrt(np.square(priced) + cost)
    projected, off_plane = distances
    usual = calibration.nearest if y is None else calibration.own
    cuts = cut_offs((usual, calibration.off_plane), calibration.weights, alpha)
    near = (projected <= cuts[0]) & (off_plane <= cuts[1])  # NaN is too far
    return ~(near & constants)


def two_distances(model, X, codes, whitener):
    """Return the distances of rows in the discriminant space, and off it, shape (N,)."""
    means = (model.means_ - model.xbar_) @ whitener
    axes = plane_axes(means)
    centres = means @ axes
    found = np.empty((2, X.shape[0]))
    for rows in slices_of(X.shape[0], model._regime.slab_rows(X.shape[1])):
        block = X[rows].toarray() if issparse(X) else X[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (block - model.xbar_) @ whitener
            images = Z @ axes
            found[0, rows] = from_centres(images, centres, None if codes is None else codes[rows])
            if axes.shape[1] < axes.shape[0]:
                found[1, rows] = np.linalg.norm(Z - images @ axes.T, axis=1)
            else:
                found[1, rows] = 0.0
    return found


def has_constants(model, X, codes, flat):
    """Return which rows have, in the flat features, the values of their class or of any."""
    found, (flat,) = np.ones(X.shape[0], bool), np.nonzero(flat)
    if len(flat) == 0:
        return found
    constants, unit = model.means_[:, flat], spread(model)[flat]
    for rows in slices_of(X.shape[0], model._regime.slab_rows(X.shape[1])):
        block = X[rows][:, flat].toarray() if issparse(X) else X[rows, flat]
        own = None if codes is None else codes[rows]
        found[rows] = are_constants(block, constants, unit, own)
    return found


def check_alpha(model, alpha):
    """Check that the model can reject a share of new rows."""
    check_is_fitted(model)
    check_real("alpha", alpha, 0.0, 0.5, "use a small share, such as 0.01")
    calibration = calibration_of(model)
    if calibration is None:
        raise ValueError(
            "This model has no covariance of all features, which decisions on new rows "
            "need: it has more features than rows, or more than 1000 sparse ones, or no class "
            "with two rows, or is not a CappedLDA. Use outlyingness(X) > 1 instead."
        )
    n_rows = calibration.weights.sum()
    if alpha * (n_rows + 1.0) < 1.0:
        least = 1.05 / (n_rows + 1.0)  # not below the limit when it is rounded to two digits
        raise ValueError(
            f"alpha={alpha!r} is too small for this model, which knows the distances of "
            f"{n_rows:.0f} training rows (at most {MOST_NOTED}); use {least:.2g} or more."
        )


def calibration_of(model):
    """Return the calibration, made now if it was not asked for before, or None."""
    found = getattr(model, "_calibration", None)  # read once: another thread may be replacing it
    if isinstance(found, Calibrator):
        found = model._calibration = found()._asdict()
    return None if found is None else Calibration(**found)


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
    tolerance = cells.rounding_of_constants(constants, unit)
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
