"""Why a row was flagged: the features that put it beyond a cap or the gate, as a table."""

import importlib.util

import numpy as np
from sklearn.utils.validation import _get_feature_names

from cappedlda._data.kinds import blocks_of, index_of, is_polars, kind_of, rows_of
from cappedlda._model import cells
from cappedlda._model.discriminant import check_new, predictions
from cappedlda._model.distances import codes_of, outlyingness_and_codes, spread
from cappedlda._validation import check_count, known_codes

BEYOND = np.array(["", "cap", "gate", "both"])  # what a row is beyond
# How rows of a lazy input are selected.
SELECT = {
    "dask": "outlyingness(X, y) > 1, compute() them",
    "spark": "transform_frame(X, y).where('flagged'), take their features by toPandas()",
}


def explain(model, X, y=None, n_features=3, rows=None, names=None, raw=np.asarray, groups=None):
    """Return the table of `CappedLDA.explain`, of values as `raw` returns them of rows."""
    kind = kind_of(X)
    if kind in SELECT:
        raise TypeError(
            f"X is a {kind} {type(X).__name__}, but explain is not lazy; select rows by "
            f"{SELECT[kind]}, and explain the result."
        )
    if spread(model) is None:
        raise ValueError(
            "explain needs the robust spread of the features, which this model does not have: it "
            "was fitted without a robust start. Fit CappedLDA, or CappedNormLDA with "
            "start='robust'."
        )
    check_count("n_features", n_features, 1, np.inf, "use a positive integer")
    names, index = names_of(model, X) if names is None else np.array(names, object), index_of(X)
    groups = None if groups is None else checked_groups(groups, model.n_features_in_)
    wanted = wanted_rows(rows, X.shape[0] if hasattr(X, "shape") else len(X))
    parts, start = [], 0
    for block, labels in blocks_of(X, y) if kind == "sliced" else [(X, y)]:
        block = check_new(model, block, first=start)
        stop = start + block.shape[0]
        asked = None if wanted is None else wanted[start:stop]
        found = explain_rows(model, block, labels, n_features, names, raw, groups, asked)
        parts.append({**found, "row": start + found["row"]})
        start = stop
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(-columns["outlyingness"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    if index is not None:
        columns["row"] = np.asarray(index)[columns["row"]]
    return as_table(columns, is_polars(X))


def explain_rows(model, X, y, n_features, names, raw, groups, wanted=None):
    n_rows = X.shape[0]
    codes = None if y is None else codes_of(model, y, n_rows)
    ratio, from_codes = ratios(model, X, codes)
    marks = {"flagged": ratio > 1.0}
    if codes is not None:
        rows = rows_of(cells.as_fitted(model, X, codes), codes, len(model.classes_))
        marks["left_out"] = ~model._leave_out_rule.contains(rows)
    if wanted is None:
        wanted = np.logical_or.reduce(list(marks.values()))
    (chosen,) = np.nonzero(wanted)
    codes = from_codes[chosen]
    X = np.ascontiguousarray(cells.dense(X[chosen]))
    cap_ratio, gate_ratio = (ratios(model, X, codes, space)[0] for space in ("projected", "full"))
    labels = model.classes_[codes]
    predicted = predictions(model, X) if len(X) else labels
    by_gate, shown = gate_ratio >= cap_ratio, (n_features, names, raw)
    own = known_codes(predicted, model.classes_) if y is None else codes
    return {
        "row": chosen,
        "class": labels,
        "predicted": predicted,
        **{name: which[chosen] for name, which in marks.items()},
        "beyond": BEYOND[(cap_ratio > 1.0) + 2 * (gate_ratio > 1.0)],
        "outlyingness": ratio[chosen],
        **leading_features(model, X, codes, by_gate, *shown, groups),
        "wrong_cells": wrong_cells_of(model, X, own, y is not None, *shown),
    }


def ratios(model, X, codes, space="both"):
    """Return the outlyingness of checked rows, and the codes of the given or nearest classes."""
    if X.shape[0] == 0:
        return np.empty(0), np.empty(0, np.int32)
    with np.errstate(over="ignore"):  # what is too far to be measured is infinitely far
        return outlyingness_and_codes(model, X, codes, space)


def leading_features(model, X, codes, by_gate, n_features, names, raw, groups):
    """Return the columns on the features and group that contribute most to a distance."""
    usual, z, parts = deviations(model, X, codes, by_gate)
    order = np.argsort(-parts, axis=1, kind="stable")[:, :n_features]
    X, usual = raw(X), raw(usual)
    columns = {}
    for k, features in enumerate(order.T, start=1):
        at = np.arange(len(X)), features
        columns |= {
            f"feature_{k}": names[features],
            f"value_{k}": X[at],
            f"usual_{k}": usual[at],
            f"z_{k}": z[at],
        }
    return columns if groups is None else columns | leading_groups(parts, groups)


def leading_groups(parts, groups):
    known = np.unique(groups)
    sums = np.stack([parts[:, groups == name].sum(axis=1) for name in known], axis=1)
    largest = np.argmax(sums, axis=1)
    with np.errstate(invalid="ignore"):  # what is infinitely far has no shares
        share = sums[np.arange(len(sums)), largest] / parts.sum(axis=1)
    return {"group": known[largest], "group_share": share}


def checked_groups(groups, n_features):
    groups = np.asarray(groups)
    if groups.shape != (n_features,):
        raise ValueError(
            f"groups has the shape {groups.shape}; give the group of each of the {n_features} "
            "features."
        )
    return groups


def deviations(model, X, codes, by_gate):
    """Return the usual values of rows, their deviations, and what these add to the distance."""
    W = model._flag_rule.W
    usual = model._flag_rule.centres[codes]  # not `means_`: flagged rows may be in these
    with np.errstate(over="ignore", invalid="ignore"):
        steps = cells.filled(model, X, codes).astype(np.float64) - usual
        z = steps / spread(model)
        return usual, z, np.where(by_gate[:, None], z**2, steps * (steps @ W @ W.T))


def contributions(model, X, y):
    """Return what each feature adds to the larger of the two squared distances, shape (N, n)."""
    X = cells.dense(X)
    codes = None if y is None else codes_of(model, y, X.shape[0])
    codes = ratios(model, X, codes)[1]
    cap_ratio, gate_ratio = (ratios(model, X, codes, space)[0] for space in ("projected", "full"))
    return deviations(model, X, codes, gate_ratio >= cap_ratio)[2]


def wrong_cells_of(model, X, codes, labelled, most, names, raw):
    """Return in words at most `most` wrong cells of rows, the farthest first."""
    words = np.full(X.shape[0], "", object)
    wrong = cells.wrong_cells(model, X, codes, labelled)
    (rows,) = np.nonzero(wrong.any(axis=1))
    if len(rows):
        expected, deviations = cells.expected_cells(model, X[rows], codes[rows])
        sizes = np.where(wrong[rows], np.abs(deviations), -1.0)
        X, expected = raw(X), raw(expected)
        names = [name if isinstance(name, str) else f"feature {name}" for name in names]
        for i, row in enumerate(rows):
            features = np.argsort(-sizes[i], kind="stable")[: np.count_nonzero(wrong[row])]
            parts = [
                f"{names[j]} {short(X[row, j])}, expected about {short(expected[i, j])}"
                for j in features[:most]
            ]
            more = len(features) - most
            words[row] = "; ".join(parts + ([f"and {more} more"] if more > 0 else []))
    return words


def short(number):
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e9 else f"{number:.3g}"


def names_of(model, X):
    names = getattr(model, "feature_names_in_", None)
    names = _get_feature_names(X) if names is None else names
    return np.arange(model.n_features_in_) if names is None else names


def wanted_rows(rows, n_rows):
    """Return a mask of the rows that the argument `rows` asks for, or None for the unusual ones."""
    advice = 'use None, "all", numbers of rows, or a mask with an entry for each row'
    if rows is None:
        return None
    if isinstance(rows, str):
        if rows != "all":
            raise ValueError(f"rows={rows!r} is unknown; {advice}.")
        return np.ones(n_rows, bool)
    rows, wanted = np.atleast_1d(np.asarray(rows)), np.zeros(n_rows, bool)
    if rows.size == 0:
        return wanted
    if rows.dtype.kind not in "biu":
        raise TypeError(f"rows={rows!r} must be integers or booleans; {advice}.")
    try:
        wanted[rows] = True
    except IndexError:
        raise ValueError(f"rows={rows!r} does not fit the {n_rows} rows of X; {advice}.") from None
    return wanted


def as_table(columns, in_polars=False):
    """Return columns as a data frame, as a structured array where pandas is not installed."""
    if in_polars:
        import polars as pl

        words = {
            name: column.tolist() for name, column in columns.items() if column.dtype == object
        }
        return pl.DataFrame({**columns, **words}, schema_overrides={"wrong_cells": pl.String})
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(columns)
    types = [(name, column.dtype) for name, column in columns.items()]
    return np.array(list(zip(*columns.values(), strict=True)), types)
