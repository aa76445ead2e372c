"""Wrong labels: what a fit keeps of them, and what it tells about labels of other rows."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.array import ArrayRows
from cappedlda._data.blocks import OF_LABELS
from cappedlda._data.sparse import rows_of
from cappedlda._model import cells
from cappedlda._model.distances import codes_of

# What is known if wrong labels were looked for.
FOUND = ("label_noise_", "label_status_", "label_gain_", "_label_rule")


def store(model, rows, solution):
    """Set what is found about labels, and forget what an earlier fit has found."""
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
        model.label_quality_ = labels.quality
        left_out = solution.samples.left_out
        model.mislabelled_, codes = suspects(model, rows, labels.quality, left_out)
        model.suggested_labels_ = model.classes_[codes]


def suspects(model, rows, quality, left_out):
    """Return which labels of rows look wrong, and the most likely ones, as codes."""
    if model.label_status_ == "too_few_rows":
        return np.zeros(rows.shape[0], bool), rows.codes
    found = model.label_status_ == "found"
    return model._label_rule.suspects(rows, model._flag_rule, quality, left_out, found)


def check(model):
    """Check that a fitted model has looked for wrong labels."""
    check_is_fitted(model)
    if not hasattr(model, "label_status_"):
        raise ValueError(
            'The model was fitted with label_noise=None; fit it with label_noise="auto" to judge '
            "labels."
        )


def quality(model, X, y):
    """Return the probability that labels of checked rows are right."""
    return model._label_rule(*filled(model, X, y))


def filled(model, X, y):
    """Return rows without gaps, and the codes of their labels."""
    codes = codes_of(model, y, X.shape[0])
    return cells.filled(model, X, codes), codes


def doubts(model, X, y):
    """Return what a table of checked rows says about labels: its columns by name."""
    X, codes = filled(model, X, y)
    rows, found = rows_of(X, codes, len(model.classes_)), model._label_rule(X, codes)
    left_out = ~model._leave_out_rule.contains(rows)
    wrong, suggested = suspects(model, rows, found, left_out)
    return {
        "flagged": ~model._flag_rule.contains(rows),
        "left_out": left_out,
        "mislabelled": wrong,
        "suggested": model.classes_[suggested],
        "quality": found,
    }
