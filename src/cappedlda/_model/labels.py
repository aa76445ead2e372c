"""Wrong labels: what a fit keeps of them, and what it tells about labels of other rows."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._data.array import ArrayRows
from cappedlda._data.blocks import OF_LABELS
from cappedlda._data.factory import rows_of
from cappedlda._model import cells
from cappedlda._model.distances import codes_of, outlyingness_and_codes, per_sample

# What is known if wrong labels were looked for.
FOUND = ("label_noise_", "label_status_", "label_gain_", "_label_rule")


def store(model, rows, solution):
    """Set what is found about labels, and forget what an earlier fit has found.

    Labels of kept rows are judged by these as they were fitted. Rows that are left out count as
    new ones.
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
        quality, (out,) = labels.quality, np.nonzero(solution.samples.left_out)
        others = rows.take(out)
        if len(out):
            others = others.with_features(cells.as_predicted(model, others.X))
            quality[out] = model._label_rule(others.X, others.codes)
        model.label_quality_ = quality
        model.mislabelled_, codes = suspects(model, solution.fitted, quality, others, out)
        model.suggested_labels_ = model.classes_.take(codes)


def suspects(model, rows, quality, others, out):
    """Return which labels of rows look wrong, and the most likely ones, as codes.

    Those that are left out, with the numbers `out`, are taken from `others`.
    """
    rule, suggested = model._label_rule, rows.codes.copy()
    wrong = np.zeros(len(suggested), bool)
    if model.label_status_ == "found":
        wrong = quality < 0.5
        wrong[out] = False
        (doubted,) = np.nonzero(wrong)
        suggested[doubted] = rule.second_best(rows.take(doubted))
    if len(out) and model.label_status_ != "too_few_rows":
        likely = rule.where_they_fit(others, model._flag_rule)
        wrong[out] = (likely != others.codes) & (quality[out] < 0.5)
        suggested[out] = np.where(wrong[out], likely, others.codes)
    return wrong, suggested


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
    found, (out,) = model._label_rule(rows.X, codes), np.nonzero(samples.left_out)
    wrong, suggested = suspects(model, rows, found, rows.take(out), out)
    return {
        "flagged": samples.outliers,
        "left_out": samples.left_out,
        "mislabelled": wrong,
        "suggested": model.classes_[suggested],
        "unusual_as_suggested": outlyingness_and_codes(model, X, suggested)[0] > 1.0,
        "quality": found,
    }
