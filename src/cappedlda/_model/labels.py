"""Wrong labels: what a fit keeps of them, and what it tells about labels of other rows."""

from functools import partial

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import slices_of
from cappedlda._data.blocks import OF_LABELS
from cappedlda._data.kinds import rows_of
from cappedlda._loo.labels import NEARER
from cappedlda._model import cells
from cappedlda._model.distances import codes_of, judged, outlyingness_and_codes, per_sample

# What is known if wrong labels were looked for.
FOUND = ("label_noise_", "label_status_", "label_gain_", "_label_rule", "_judge_rows")


def store(model, rows, solution):
    """Set what is found about labels, and forget what an earlier fit has found.

    Rows that are left out, or have missing or wrong cells, are judged as new ones: what was drawn
    for these cells by the label would speak for it.
    """
    for name in FOUND + OF_LABELS:
        vars(model).pop(name, None)
    labels = solution.labels
    if labels is None:
        return
    model.label_noise_ = labels.rate if labels.status == "found" else 0.0
    model.label_status_ = labels.status
    model.label_gain_ = labels.gain
    model._label_rule = labels.rule
    if isinstance(rows, ArrayRows):
        left_out = solution.samples.left_out
        (new,) = np.nonzero(left_out | completed_rows(rows, solution.fitted))
        told, others = (rows.codes, labels.quality, labels.likely), (new, rows.take(new))
        # Which cells are wrong is not chosen before it is asked for: these results wait for it.
        model._judge_rows = partial(per_row, as_it_is(model), *told, *others, left_out[new])


def as_it_is(model):
    """Return a model that stays as it is now, whatever becomes of parameters."""
    same = object.__new__(type(model))
    vars(same).update(vars(model))
    return same


def per_row(model, codes, quality, likely, new, rows, left_out):
    """Return the attributes with an entry for each training row; `new` ones are judged now."""
    if len(new):
        quality[new], likely[new] = judged(model, rows.X, rows.codes)
    wrong = suspects(model, quality, likely, new[left_out], rows.take(left_out))
    suggested = model.classes_.take(np.where(wrong, likely, codes))
    return dict(zip(OF_LABELS, (quality, wrong, suggested), strict=True))


def completed_rows(rows, fitted):
    """Return which rows (N,) were fitted with other cells than they have."""
    n_rows, n = rows.shape
    changed = np.zeros(n_rows, bool)
    if fitted.X is not rows.X and not issparse(rows.X):
        for some in slices_of(n_rows, rows.regime.slab_rows(n)):
            changed[some] = (fitted.X[some] != rows.X[some]).any(axis=1)
    return changed


def suspects(model, quality, likely, out, rows):
    """Return which labels look wrong, (N,).

    The `rows` with the numbers `out` are left out. They count if they fit another class.
    """
    wrong = (quality < 0.5) & (model.label_status_ == "found")
    if len(out) and model.label_status_ != "too_few_rows":
        wrong[out] = (quality[out] < 0.5) & fits_as(model, rows, likely[out])
    return wrong


def fits_as(model, rows, codes):
    """Return which rows fit other classes, given as codes, better than those of their labels."""
    rows = rows.with_features(cells.as_predicted(model, rows.X))
    there, own = (model._flag_rule.ratios(some) for some in (rows.labelled(codes), rows))
    return (there <= 1.0) & (own >= NEARER * there)


def check(model):
    if "label_noise" not in model.get_params(deep=False):
        name = type(model).__name__
        raise ValueError(f'{name} does not judge labels; use CappedLDA(label_noise="auto").')
    check_is_fitted(model)
    if not hasattr(model, "label_status_"):
        raise ValueError(
            'The model was fitted with label_noise=None; fit it with label_noise="auto" to judge '
            "labels."
        )


def quality(model, X, y):
    return judged(model, X, codes_of(model, y, X.shape[0]))[0]


def doubts(model, X, y):
    """Return the columns of a table of checked rows on their labels, by name."""
    codes = codes_of(model, y, X.shape[0])
    samples, (found, likely) = per_sample(model, X, codes), judged(model, X, codes)
    (out,) = np.nonzero(samples.left_out)
    rows = rows_of(X, codes, len(model.classes_)).take(out)
    wrong = suspects(model, found, likely, out, rows)
    suggested = np.where(wrong, likely, codes)
    return {
        "flagged": samples.outliers,
        "left_out": samples.left_out,
        "mislabelled": wrong,
        "suggested": model.classes_[suggested],
        "unusual_as_suggested": outlyingness_and_codes(model, X, suggested)[0] > 1.0,
        "quality": found,
    }
