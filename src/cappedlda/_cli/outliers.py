"""`cappedlda outliers`: the unusual rows of a table, and what is unusual about them."""

import numpy as np

from cappedlda._cli.apply import out_file, read, write
from cappedlda._cli.arguments import APPLIED, LABELS, Command, UsageError, argument, positive
from cappedlda._cli.readers import applied_reader
from cappedlda._cli.rows import Labels
from cappedlda._cli.writing import SUFFIXES
from cappedlda._model.explain import explain
from cappedlda._model.labels import doubts

FEATURES = 3  # that explain a row, unless another number is asked for
TABLES = tuple(suffix for suffix in SUFFIXES if suffix != ".npy")  # an array has one type
SORTS = ("outlyingness", "row", "class", "quality")
DIGITS = 4  # of what is computed; values of the table stay as they are


def outliers(args):
    """List unusual rows, the most unusual first, with the features that make them so."""
    if args.unlabelled and (args.target is not None or args.labels is not None):
        raise UsageError("--unlabelled ignores the classes; leave --target and --labels out")
    model, *fitted = read(args.model)
    labels = None if args.unlabelled else Labels(model.classes_)
    reader = applied_reader(args, *fitted, labels, args.keep)
    labelled = reader.target is not None
    judged = labelled and hasattr(model, "label_status_")
    if args.sort == "quality" and not judged:
        raise UsageError(
            "--sort quality needs the quality of labels: fit the model with --label-noise auto, "
            "and give a table with the classes"
        )
    other = "left_out" if labelled else "nearest_not_predicted"
    counts = {"flagged": 0, other: 0, "labelled": labelled, "others_with_wrong_cells": 0}
    counts |= {"mislabelled": 0} if judged else {}

    def results(rows):
        y = None if rows.codes is None else model.classes_[rows.codes]
        wanted = "all" if args.all else None
        labels = doubts(model, rows.X, y) if judged else None
        if judged and not args.all:
            wanted = labels["flagged"] | labels["left_out"] | labels["mislabelled"]
        found = explained(model, reader, rows.X, y, args.features, wanted)
        if judged:
            counts["mislabelled"] += int(labels["mislabelled"].sum())
            labels = {name: values[found["row"]] for name, values in labels.items()}
            told = {name: labels[name] for name in ("suggested", "quality")}
            found = found.assign(kind=kinds(labels), **told)
        others = n_others_with_wrong_cells(model, rows.X, y, found["row"])
        counts["others_with_wrong_cells"] += others
        for name in counts.keys() & {"flagged", "left_out"}:
            counts[name] += int(found[name].sum())
        if not labelled:
            differs = found["flagged"] & (found["class"] != found["predicted"])
            counts["nearest_not_predicted"] += int(differs.sum())
        found = found.sort_values("row")
        return readable(found.drop(columns="row")), found["row"]

    write(args, reader, results, counts, None if args.sort == "row" else args.sort)


def explained(model, reader, X, y, n_features=FEATURES, rows=None):
    """Return `CappedLDA.explain` as a data frame, with names and values as in the table."""
    from pandas import DataFrame

    names, raw = reader.feature_names(), reader.recipe.raw
    return DataFrame(explain(model, X, y, n_features, rows, names, raw))


def n_others_with_wrong_cells(model, X, y, listed):
    """Return how many rows that are not listed have a wrong cell."""
    others = np.ones(len(X), bool)
    others[listed] = False
    if not others.any():
        return 0
    wrong = model.wrong_cells(X[others], None if y is None else y[others])
    return int(np.count_nonzero(wrong.any(axis=1)))


def kinds(labels):
    outlier, wrong = labels["flagged"] | labels["left_out"], labels["mislabelled"]
    both = outlier & wrong & labels["unusual_as_suggested"]
    return np.select([both, wrong, outlier], ["both", "label", "outlier"], "")


def readable(found):
    """Return the columns of an explanation with few computed digits."""
    columns = {name: column.to_numpy() for name, column in found.items()}
    for name, values in columns.items():
        if name.startswith(("outlyingness", "quality", "usual_", "z_")):
            columns[name] = [float(f"{value:.{DIGITS}g}") for value in values]
    return columns


SORT = "order of the rows: by outlyingness (default), row, class, or quality of the labels"
EXPLAIN = "number of features that explain each row (default: %(default)s)"
ARGUMENTS = (
    argument("--unlabelled", "ignore the classes; measure each row from the nearest class"),
    argument("--all", "list all rows, not only unusual ones"),
    argument("--sort ORDER", SORT, choices=SORTS, default=SORTS[0]),
    argument("--features K", EXPLAIN, type=positive, default=FEATURES),
    out_file(TABLES),
)
COMMAND = Command(outliers, (*APPLIED, *LABELS, *ARGUMENTS), {"out": TABLES})
