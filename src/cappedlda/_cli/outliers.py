"""`cappedlda outliers`: the unusual rows of a table, and what is unusual about them."""

import numpy as np

from cappedlda._cli.apply import MODEL, OUT, READS, out_file, read, write
from cappedlda._cli.arguments import LABELS, Command, UsageError, argument, positive
from cappedlda._cli.labels import Labels
from cappedlda._cli.rows import applied_reader
from cappedlda._cli.writing import SUFFIXES

FEATURES = 3  # that explain a row, unless another number is asked for
TABLES = tuple(suffix for suffix in SUFFIXES if suffix != ".npy")  # an array has one type
SORTS = ("outlyingness", "row", "class")
TRUST = "trust"  # what a row is beyond that is left out, but not flagged
DIGITS = 4  # of what is computed; values of the table stay as they are


def outliers(args):
    """List unusual rows, the most unusual first, with the features that make them so."""
    if args.unlabelled and (args.target is not None or args.labels is not None):
        raise UsageError("--unlabelled leaves the classes out; leave --target and --labels out")
    model, names, notes = read(args.model)
    labels = None if args.unlabelled else Labels(model.classes_)
    reader = applied_reader(args, model, names, notes, labels, args.keep)
    labelled = reader.target is not None
    counts = {"flagged": 0, **({"left_out": 0} if labelled else {}), "labelled": labelled}
    feature_names = np.array(reader.recipe.feature_names(reader.table))

    def columns(rows):
        y = None if rows.codes is None else model.classes_[rows.codes]
        found = explained(model, rows.X, y, args.features, "all" if args.all else None)
        for name in ("flagged", "left_out"):
            if name in found:
                counts[name] += int(found[name].sum())
        which = found.pop("row")
        order = np.argsort(which)
        found = {name: column[order] for name, column in readable(found, feature_names).items()}
        return which[order], found

    return write(args, reader, columns, counts, None if args.sort == "row" else sorter(args.sort))


def explained(model, X, y, n_features=FEATURES, rows=None):
    """Return the columns of `CappedLDA.explain`, with features by number.

    `beyond` is "trust" for rows that are left out without being flagged: they lie inside the
    fence of flagged rows, but outside the narrower one of the rows that the fit trusts.

    Parameters
    ----------
    model : CappedLDA or CappedLDACV
        A fitted one, without the names of its features.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or None
        The classes.
    n_features : int
        How many features are to explain a row, at most.
    rows : "all" or None
        None are the rows that are flagged or left out.
    """
    table = model.explain(X, y, n_features, rows)
    names = table.dtype.names if isinstance(table, np.ndarray) else table.columns
    found = {name: np.asarray(table[name]) for name in names if name != "wrong_cells"}
    if "left_out" in found:
        found["beyond"] = np.where(only_left_out(found), TRUST, found["beyond"])
    return found


def only_left_out(found):
    """Return which rows of an explanation are left out without being flagged."""
    return found["left_out"] & ~found["flagged"]


def readable(found, feature_names):
    """Return an explanation with names of features, and few digits of what was computed."""

    def converted(name, column):
        if name.startswith("feature_"):
            return feature_names[column.astype(np.intp)]
        return rounded(column) if name.startswith(("outlyingness", "usual_", "z_")) else column

    return {name: converted(name, column) for name, column in found.items()}


def rounded(values):
    """Return numbers with few digits."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])


def sorter(name):
    """Return a function that gives the order of rows: by class, and the most outlying first."""

    def order(columns):
        by_outlyingness = np.argsort(-columns["outlyingness"], kind="stable")
        if name == "outlyingness":
            return by_outlyingness
        classes = columns["class"][by_outlyingness]
        return by_outlyingness[np.argsort(classes, kind="stable")]

    return order


COMMAND = Command(
    outliers,
    (
        *MODEL,
        *LABELS,
        argument(
            "--unlabelled",
            action="store_true",
            help="ignore the classes, and measure each row from the class where it fits best",
        ),
        argument("--all", action="store_true", help="list all rows, not only unusual ones"),
        argument(
            "--sort",
            choices=SORTS,
            default=SORTS[0],
            help="order of the rows: the most outlying first (outlyingness, the default), as in "
            "the table (row), or class by class (class)",
        ),
        argument(
            "--features",
            type=positive,
            default=FEATURES,
            metavar="K",
            help="number of features that explain each row (default: %(default)s)",
        ),
        out_file(TABLES),
        *OUT,
    ),
    (*READS, "labels"),
    {"out": TABLES},
)
