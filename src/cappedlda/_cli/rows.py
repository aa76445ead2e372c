"""The rows of a table, ready for a model: features checked, labels numbered."""

from typing import NamedTuple

import numpy as np

from cappedlda._cli.arguments import UsageError
from cappedlda._cli.labels import MISSING, UNKNOWN
from cappedlda._cli.tables import arrays_in, open_table, read_array, suffix_of


class Rows(NamedTuple):
    """Some rows: their numbers in the file, their features, classes and further columns."""

    numbers: np.ndarray
    X: np.ndarray
    codes: np.ndarray | None
    kept: list


class RowReader:
    """Reads rows of chosen columns, and refuses or skips those with a value missing.

    Parameters
    ----------
    table : Table
    features : list of int
    target : int, ndarray of shape (n_rows,) or None
        The column of the labels, or the labels.
    labels : Labels or None
        Numbers the labels.
    keep : list of int
        Columns to hand through.
    skip_missing : bool
    """

    def __init__(self, table, features, target=None, labels=None, keep=(), skip_missing=False):
        self.table = table
        self.features = features
        self.target = target
        self.labels = labels
        self.keep = list(keep)
        self.skip_missing = skip_missing
        self.n_rows = self.n_skipped = 0

    def __iter__(self):
        """Yield `Rows`, and count."""
        self.n_rows = self.n_skipped = 0
        in_column = isinstance(self.target, int)
        others = [*self.keep, self.target] if in_column else self.keep
        for block in self.table.blocks(self.features, others):
            n_rows = len(block.X)
            end = block.start + n_rows
            kept = block.columns[: len(self.keep)]
            codes, whole = None, np.isfinite(block.X).all(axis=1)
            if self.target is not None:
                values = block.columns[-1] if in_column else self.target[block.start : end]
                self._check_length(end)
                codes = np.full(n_rows, MISSING)
                # A class that only rows with missing values have is none.
                codes[whole] = self.labels.encode(values[whole])
                self._check_known(values, codes, block.start)
                whole &= codes != MISSING
            index = np.arange(block.start, end)
            if not whole.all():
                if not self.skip_missing:
                    raise self._first_problem(block, codes, int(np.argmin(whole)))
                self.n_skipped += int(np.sum(~whole))
                codes = None if codes is None else codes[whole]
                kept = [column[whole] for column in kept]
                block, index = block._replace(X=block.X[whole]), index[whole]
            self.n_rows = end
            if len(index):
                yield Rows(index, block.X, codes, kept)
        if isinstance(self.target, np.ndarray) and len(self.target) != self.n_rows:
            raise self._other_length(self.n_rows)
        if self.n_rows == self.n_skipped:
            missing = " without a missing value" if self.n_skipped else ""
            raise ValueError(f"{self.table.label} has no rows{missing}.")

    def _check_length(self, end):
        if isinstance(self.target, np.ndarray) and len(self.target) < end:
            raise self._other_length(f"at least {end}")

    def _other_length(self, n_rows):
        return ValueError(
            f"{self.table.label} has {n_rows} rows, but there are {len(self.target)} labels; "
            "give one label per row."
        )

    def _check_known(self, values, codes, start):
        if (codes == UNKNOWN).any():
            i = int(np.argmax(codes == UNKNOWN))
            known = ", ".join(map(repr, self.labels.names()[:10]))
            problem = f"the label {values.tolist()[i]!r} is not a class of the model ({known})."
            raise self._error_at_label(start + i, problem)

    def label_error(self, problem):
        """Return an error about the labels of all rows."""
        place = f"labels of {self.table.label}"
        if isinstance(self.target, int):
            place = f"{self.table.label}, column {self.table.column_name(self.target)!r}"
        return ValueError(f"{place}: {problem}")

    def _error_at_label(self, row, problem):
        if isinstance(self.target, int):
            return self.table.error_at(self.target, row, problem)
        return ValueError(f"labels of {self.table.label}, row {row} (counted from 0): {problem}")

    def _first_problem(self, block, codes, i):
        remedy = "fill it in, or leave such rows out with --skip-missing."
        finite = np.isfinite(block.X[i])
        if finite.all():
            return self._error_at_label(block.start + i, f"the label is missing; {remedy}")
        j = int(np.argmin(finite))
        problem = "the value is missing" if np.isnan(block.X[i, j]) else "the value is infinite"
        return self.table.error_at(self.features[j], block.start + i, f"{problem}; {remedy}")


def table_of(args):
    """Return the table that the arguments of a command name."""
    return open_table(args.data, key=args.key, **text_options(args))


def text_options(args):
    """Return how the arguments say that text is to be read."""
    return {
        "delimiter": args.delimiter,
        "header": not args.no_header,
        "encoding": args.encoding,
        "decimal": args.decimal,
        "thousands": args.thousands,
    }


def training_reader(args, labels):
    """Return the reader of the rows that a model is to be fitted to, and notes about it."""
    table = table_of(args)
    dropped = set(table.positions(args.drop, "--drop"))
    target, name = find_target(args, table)
    if isinstance(target, int):
        dropped.add(target)
    features = [j for j in range(table.n_columns) if j not in dropped]
    if not features:
        raise ValueError(f"{table.label} has no column left for features.")
    notes = {"target": name, "features": features, "n_columns": table.n_columns}
    if isinstance(target, int):
        notes["target_position"] = target
    return RowReader(table, features, target, labels, (), args.skip_missing), notes


def find_target(args, table):
    """Return the column of the labels, or the labels themselves, and their name."""
    if args.labels is not None:
        return read_labels(args), args.target
    name = "y" if args.target is None else args.target
    arrays = arrays_in(args.data)
    if name in arrays:
        return one_dimensional(args.data, read_array(args.data, name)), name
    if args.target is None:
        raise UsageError("give the column of the classes: --target COLUMN")
    if arrays and not is_integer(name):
        raise ValueError(
            f"{args.data} has no array {name!r} for --target; it has "
            f"{', '.join(map(repr, arrays))}."
        )
    position = table.position(args.target, "--target")
    return position, table.column_name(position)


def is_integer(text):
    """Tell whether a name is the number of a column."""
    return text.removeprefix("-").isdecimal()


def read_labels(args):
    """Return the labels in the file of `--labels`: one per row, or a column of a table."""
    if suffix_of(args.labels) in (".npy", ".npz"):
        values = read_array(args.labels, args.target or "y")
        return one_dimensional(args.labels, values)
    table = open_table(args.labels, **text_options(args))
    if args.target is not None:
        column = table.position(args.target, "--target")
    elif table.n_columns == 1:
        column = 0
    else:
        raise UsageError(f"{args.labels} has {table.n_columns} columns: choose one with --target")
    blocks = [block.columns[0] for block in table.blocks([], [column])]
    return np.concatenate(blocks) if blocks else np.empty(0)


def one_dimensional(path, values):
    """Return labels as they are if there is one per row."""
    if values.ndim != 1:
        raise ValueError(f"{path} has labels of shape {values.shape}; give one label per row.")
    return values


def applied_reader(args, model, names, notes, labels=None, keep=()):
    """Return the reader of rows for a fitted model.

    Columns go by their names if file and model have them, else by their places. The column of the
    labels is left out where it is known.
    """
    table = table_of(args)
    table.may_drop = False
    keep = table.positions(keep, "--keep")
    if names is not None and table.names is not None:
        features = [named_feature(table, name, names) for name in names]
    else:
        features = placed_features(args, table, model.n_features_in_, notes)
    target = None if labels is None else known_target(args, table, notes)
    return RowReader(table, features, target, labels, keep, args.skip_missing)


def named_feature(table, name, names):
    """Return the place of a feature of the model in a table."""
    if name in table.names:
        return table.names.index(name)
    n_missing = sum(other not in table.names for other in names)
    more = f" (and lacks {n_missing - 1} more)" if n_missing > 1 else ""
    raise ValueError(
        f"{table.label} has no column {name!r}, which the model was fitted to{more}; "
        "rename the columns, or fit a model to this file."
    )


def placed_features(args, table, n_features, notes):
    """Return the places of the features where names do not tell."""
    dropped = set(table.positions(args.drop, "--drop"))
    if not dropped and table.n_columns == notes.get("n_columns"):
        return notes["features"]
    features = [j for j in range(table.n_columns) if j not in dropped]
    if len(features) != n_features:
        raise ValueError(
            f"{table.label} has {len(features)} columns, but the model was fitted to "
            f"{n_features} features; leave others out with --drop."
        )
    return features


def known_target(args, table, notes):
    """Return the labels for a fitted model: as asked for, or where they were in training."""
    if args.labels is not None or args.target is not None:
        return find_target(args, table)[0]
    name = notes.get("target")
    if name is not None and name in arrays_in(args.data):
        return one_dimensional(args.data, read_array(args.data, name))
    if table.names is not None:
        return table.names.index(name) if name in table.names else None
    return notes.get("target_position") if table.n_columns == notes.get("n_columns") else None
