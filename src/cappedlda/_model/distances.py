"""How far rows lie from the classes of a fitted model."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d, validate_data

from cappedlda._data.base import measured
from cappedlda._data.chunk_reader import ChunkReader
from cappedlda._data.kinds import rows_of
from cappedlda._model import cells
from cappedlda._model.discriminant import predictions, probabilities
from cappedlda._validation import FLOATS, check_readable, known_codes


def of_chunks(model, make_chunks):
    reader, first = ChunkReader(make_chunks), 0
    for number, chunk in enumerate(reader):
        if number == 0:  # the reader sees to it that the others have the same features
            validate_data(model, reader.example, reset=False, skip_check_array=True)
        named = {"input_name": f"X of {chunk.name}"}
        X = check_array(np.asarray(chunk.X), dtype=FLOATS, ensure_all_finite=False, **named)
        model._check_finite(X, first)
        first += len(X)
        codes = known_codes(chunk.y, model.classes_, f"y of {chunk.name}")
        yield per_sample(model, X, codes)


def per_sample(model, X, codes):
    """Return `PerSample` of checked rows, as a fit finds it of its own rows.

    Rows are measured with wrong cells, but left out and weighed as they are fitted.
    """
    whole, fitted = cells.filled(model, X, codes), cells.as_fitted(model, X, codes)
    rows, fitted = (rows_of(part, codes, len(model.classes_)) for part in (whole, fitted))
    labels = getattr(model, "_label_rule", None)
    weigh = None if labels is None or not labels.weighs else labels.weights
    return measured(rows, model._flag_rule, model._leave_out_rule, model._norm, weigh, fitted)


def spread(model):
    """Return the robust unit of each feature within the classes, shape (n,), or None."""
    if model._flag_rule.gate is not None:
        return model._flag_rule.gate.scale
    if model._covariance is None:
        return None
    variances = np.diagonal(model._covariance)  # not robust, as the fit was not
    return np.sqrt(np.where(variances > 0.0, variances, np.finfo(float).tiny))


def outlyingness(model, X, y, space):
    codes = None if y is None else codes_of(model, y, X.shape[0])
    return outlyingness_and_codes(model, X, codes, space)[0]


def outlyingness_and_codes(model, X, codes, space="both"):
    """Return the outlyingness of rows, and from which classes: the given or nearest ones."""
    X = cells.filled(model, X, codes)
    rows = rows_of(X, np.zeros(X.shape[0], np.int32), len(model.classes_))
    if codes is None:
        return model._flag_rule.nearest(rows, space)
    return model._flag_rule.ratios(rows.labelled(codes), space), codes


def columns_of(model, X, y):
    found = {
        "prediction": predictions(model, X),
        "probability": probabilities(model, X),
        "outlyingness": outlyingness(model, X, y, "both"),
    }
    if y is None:
        return {**found, "flagged": found["outlyingness"] > 1.0}
    codes = codes_of(model, y, len(X))
    samples = per_sample(model, np.ascontiguousarray(X), codes)
    if getattr(model, "_label_rule", None) is not None:
        found["label_quality"] = judged(model, X, codes)[0]
    return {**found, "flagged": samples.outliers, "left_out": samples.left_out}


def judged(model, X, codes):
    """Return what is told of labels by the cells that count; see `LabelRule.judge`."""
    return model._label_rule.judge(cells.label_scores(model, X), codes)


def codes_of(model, y, n_rows):
    check_readable(y, "y")
    y = column_or_1d(np.asarray(y))
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {len(y)}; give one label per row.")
    return known_codes(y, model.classes_)
