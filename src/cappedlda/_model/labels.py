"""Wrong labels: what a fit keeps of them, and what it tells about labels of other rows."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.array import ArrayRows
from cappedlda._data.blocks import OF_LABELS
from cappedlda._data.factory import rows_of
from cappedlda._model import cells
from cappedlda._model.distances import codes_of, per_sample

# What is known if wrong labels were looked for.
FOUND = ("label_noise_", "label_status_", "label_gain_", "_label_rule")


def store(model, rows, solution):
    """Set what is found about labels, and forget what an earlier fit has found.

    Labels are judged by the rows that were fitted, which may have completed cells.
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
        model.label_quality_ = labels.quality
        left_out = solution.samples.left_out
        model.mislabelled_, codes = suspects(model, solution.fitted, labels.quality, left_out)
        model.suggested_labels_ = model.classes_[codes]


def suspects(model, rows, quality, left_out):
    """Return which labels of rows look wrong, and the most likely ones, as codes."""
    if model.label_status_ == "too_few_rows":
        return np.zeros(rows.shape[0], bool), rows.codes
    found = model.label_status_ == "found"
    return model._label_rule.suspects(rows, model._flag_rule, quality, left_out, found)


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
    codes = codes_of(model, y, X.shape[0])
    return model._label_rule(cells.as_predicted(model, X), codes)


def doubts(model, X, y):
    """Return what a table of checked rows says about labels: its columns by name."""
    codes = codes_of(model, y, X.shape[0])
    samples = per_sample(model, X, codes)
    rows = rows_of(cells.as_predicted(model, X), codes, len(model.classes_))
    found = model._label_rule(rows.X, codes)
    wrong, suggested = suspects(model, rows, found, samples.left_out)
    return {
        "flagged": samples.outliers,
        "left_out": samples.left_out,
        "mislabelled": wrong,
        "suggested": model.classes_[suggested],
        "quality": found,
    }
