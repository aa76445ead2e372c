"""Wrong labels: what a fit keeps of them, and what it tells about labels of other rows."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.array import ArrayRows
from cappedlda._data.blocks import OF_LABELS
from cappedlda._data.kinds import rows_of
from cappedlda._loo.labels import NEARER
from cappedlda._model import cells
from cappedlda._model.distances import (
    codes_of,
    label_quality,
    outlyingness_and_codes,
    per_sample,
)

# What is known if wrong labels were looked for.
FOUND = ("label_noise_", "label_status_", "label_gain_", "_label_rule")


def store(model, rows, solution):
    """Set what is found about labels, and forget what an earlier fit has found.

    Labels of kept rows are judged by these as they were fitted. Rows that are left out count as
    new ones, and so do those with missing or wrong cells: what was drawn for these by the label
    would speak for it.
    """
    for name in FOUND + OF_LABELS:
        vars(model).pop(name, None)
    labels = solution.labels
    if labels is None:
        return
    model.label_noise_ = labels.rate if labels.found else 0.0
    model.label_status_ = labels.status
    model.label_gain_ = labels.gain
    model._label_rule = labels.rule
    if isinstance(rows, ArrayRows):
        quality, left_out = labels.quality, solution.samples.left_out
        (new,) = np.nonzero(left_out | completed_rows(rows, solution.fitted))
        if len(new):
            quality[new] = label_quality(model, rows.X[new], rows.codes[new])
        model.label_quality_ = quality
        model.mislabelled_, codes = suspects(model, rows, quality, left_out)
        model.suggested_labels_ = model.classes_.take(codes)


def completed_rows(rows, fitted):
    """Return which rows (N,) were fitted with other cells than they have."""
    if fitted.X is rows.X or issparse(rows.X):
        return np.zeros(rows.shape[0], bool)
    return (fitted.X != rows.X).any(axis=1)


def suspects(model, rows, quality, left_out):
    """Return which labels of rows look wrong, and the most likely ones, as codes.

    A row that is left out must fit another class. If no wrong labels were found, no others count.
    """
    wrong = (quality < 0.5) & (left_out | (model.label_status_ == "found"))
    wrong &= model.label_status_ != "too_few_rows"
    (doubted,) = np.nonzero(wrong)
    some, suggested = rows.take(doubted), rows.codes.copy()
    if len(doubted):
        scores = cells.label_scores(model, some.X)
        scores[np.arange(len(doubted)), some.codes] = -np.inf
        likely = scores.argmax(axis=1).astype(some.codes.dtype)
        wrong[doubted] = ~left_out[doubted] | fits_as(model, some, likely)
        suggested[doubted] = np.where(wrong[doubted], likely, some.codes)
    return wrong, suggested


def fits_as(model, rows, codes):
    """Return which rows fit other classes, given as codes, better than those of their labels."""
    rows = rows.with_features(cells.as_predicted(model, rows.X))
    there, own = (model._flag_rule.ratios(some) for some in (rows.labelled(codes), rows))
    return (there <= 1.0) & (own >= NEARER * there)


def check(model):
    """Check that a fitted model has looked for wrong labels."""
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
    """Return the probability that labels of checked rows are right."""
    return label_quality(model, X, codes_of(model, y, X.shape[0]))


def doubts(model, X, y):
    """Return what a table of checked rows says about labels: its columns by name."""
    codes = codes_of(model, y, X.shape[0])
    samples, found = per_sample(model, X, codes), label_quality(model, X, codes)
    rows = rows_of(X, codes, len(model.classes_))
    wrong, suggested = suspects(model, rows, found, samples.left_out)
    return {
        "flagged": samples.outliers,
        "left_out": samples.left_out,
        "mislabelled": wrong,
        "suggested": model.classes_[suggested],
        "unusual_as_suggested": outlyingness_and_codes(model, X, suggested)[0] > 1.0,
        "quality": found,
    }
