"""Decisions on new rows: whether to reject them, which of their cells are wrong."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.base import slices_of
from cappedlda._loo.calibration import MOST_NOTED
from cappedlda._loo.distances import plane_axes
from cappedlda._model import cells
from cappedlda._model.discriminant import class_codes, decisions, probabilities
from cappedlda._model.distances import codes_of, spread
from cappedlda._validation import check_real


def wrong_cells(model, X, y=None):
    return cells.wrong_cells(model, X, codes_or_predicted(model, X, y), y is not None)


def judged_cells(model, X, y, part):
    """Return what the other cells predict, the part 0, or how far cells are from it, 1."""
    codes = codes_or_predicted(model, X, y)
    return cells.expected_cells(model, cells.dense(X), codes)[part]


def check_cells(model):
    check_is_fitted(model)
    if cells.metric_of(model) is None:
        raise no_covariance("predict cells from others")


def no_covariance(use, remedy=""):
    return ValueError(
        f"This model has no covariance of all features, which is needed to {use}: it has more "
        "features than rows, more than 1000 sparse features or no class with two rows, or is not "
        "a CappedLDA." + remedy
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
    calibration = model._calibration
    codes = None if y is None else codes_of(model, y, X.shape[0])
    whole, (completed, cost) = cells.filled(model, X, codes), cells.completed(model, X, codes)
    usual = calibration.nearest if y is None else calibration.own
    cuts = cut_offs((usual, calibration.off_plane), calibration.weights, alpha)
    means = (model.means_ - model.xbar_) @ calibration.whitener
    axes = plane_axes(means)
    centres = means @ axes
    (flat,) = np.nonzero(calibration.flat)
    constants = model.means_[:, flat]
    rounding = cells.rounding_of_constants(constants, spread(model)[flat]) if len(flat) else 0.0
    rejected = np.empty(X.shape[0], bool)
    for rows in slices_of(X.shape[0], model._regime.slab_rows(X.shape[1])):
        classes = range(len(means)) if codes is None else [codes[rows]]
        distances = np.zeros((2, rows.stop - rows.start))  # in the discriminant space, and off it
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (cells.dense(completed[rows]) - model.xbar_) @ calibration.whitener
            images = Z @ axes
            distances[0] = np.inf
            for k in classes:
                from_class = np.linalg.norm(images - centres[k], axis=1)
                np.minimum(distances[0], from_class, out=distances[0])
            if axes.shape[1] < axes.shape[0]:
                distances[1] = np.linalg.norm(Z - images @ axes.T, axis=1)
            # Wrong cells count like cells at the cut-off: off the plane, if anything is off it.
            priced = distances[int(calibration.off_plane.any())]
            priced[...] = np.sqrt(np.square(priced) + cost[rows])
            values, constant = cells.dense(whole[rows][:, flat]), np.zeros(len(Z), bool)
            for k in classes:  # mostly the constants are the same for all, and one will do
                constant |= np.all(np.abs(values - constants[k]) <= rounding, axis=1)
                if constant.all():
                    break
        near = (distances[0] <= cuts[0]) & (distances[1] <= cuts[1])  # NaN is too far
        rejected[rows] = ~(near & constant)
    return rejected


def check_alpha(model, alpha):
    check_is_fitted(model)
    check_real("alpha", alpha, 0.0, 0.5, "use a small share, such as 0.01")
    calibration = model._calibration
    if calibration is None:
        raise no_covariance("judge new rows", " Use outlyingness(X) > 1 instead.")
    n_rows = calibration.weights.sum()
    if alpha * (n_rows + 1.0) < 1.0:
        least = 1.05 / (n_rows + 1.0)  # not below the limit when it is rounded to two digits
        raise ValueError(
            f"alpha={alpha!r} is too small for this model, which knows the distances of "
            f"{n_rows:.0f} training rows (at most {MOST_NOTED}); use {least:.2g} or more."
        )


def cut_offs(distances, weights, alpha):
    """Return cut-offs in several spaces that a share `alpha` of new rows exceeds in any of them.

    They are the same quantile in all spaces: the largest share of the rows for which those on or
    beyond any cut-off are no more than `alpha` of the rows and a new one.
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
