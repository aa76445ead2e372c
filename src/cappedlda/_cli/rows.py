"""The rows of a table, ready for a model: features checked, labels numbered."""

import sys
from collections import Counter
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from cappedlda._cli.arguments import UsageError
from cappedlda._cli.formats import arrays_in, open_table, read_array, suffix_of
from cappedlda._cli.labels import MISSING, UNKNOWN
from cappedlda._cli.recipe import Recipe, advice, learn_recipe, sort_columns
from cappedlda._cli.tables import Block, ColumnError, Notation, is_missing, needs, refuse_repeated

# Columns that transform, predict and outliers write under fixed names.
RESULT_NAMES = frozenset(
    ["row", "prediction", "class", "predicted", "flagged", "left_out", "beyond", "outlyingness"]
)


class Rows(NamedTuple):
    """Some rows: their numbers in the file, their features, classes and further columns."""

    numbers: np.ndarray
    X: np.ndarray
    codes: np.ndarray | None
    kept: list

    def only(self, which):
        """Return some of the rows."""
        codes = None if self.codes is None else self.codes[which]
        kept = [column[which] for column in self.kept]
        return Rows(self.numbers[which], self.X[which], codes, kept)


def labels_of(table, block, target):
    """Return the labels of a block: its last column, or a part of all labels."""
    if isinstance(target, int):
        return block.columns[-1]
    end = block.start + len(block.X)
    if len(target) < end:
        raise other_length(table, f"at least {end}", target)
    return target[block.start : end]


def other_length(table, n_rows, labels):
    """Return the error for labels that are not as many as the rows."""
    return ValueError(
        f"{table.label} has {n_rows} rows, but there are {len(labels)} labels; give one label per "
        "row."
    )


class RowReader:
    """Reads rows as features, and refuses or skips those with a value missing.

    Parameters
    ----------
    table : Table
    recipe : Recipe
        How columns become features.
    target : int, ndarray of shape (n_rows,) or None
        The column of the labels, or the labels.
    labels : Labels or None
        Numbers the labels.
    keep : list of int
        Columns to hand through.
    skip_missing : bool

    Attributes
    ----------
    n_rows, n_skipped : int
        Rows of the table, and those with a value missing, as far as they have been read.
    filled, unknown : Counter
        By the position of a column, values that were filled in, and unknown categories.
    """

    def __init__(self, table, recipe, target=None, labels=None, keep=(), skip_missing=False):
        self.table = table
        self.recipe = recipe
        self.target = target
        self.labels = labels
        self.keep = list(keep)
        self.skip_missing = skip_missing
        self.n_rows = self.n_skipped = 0
        self.filled, self.unknown = Counter(), Counter()

    def __iter__(self):
        """Yield `Rows`, and count."""
        self.n_rows = self.n_skipped = 0
        self.filled, self.unknown = Counter(), Counter()
        for block in self._blocks():
            end = block.start + len(block.X)
            codes, whole = None, np.isfinite(block.X).all(axis=1)
            if self.target is not None:
                codes = self._codes(block, whole)
                whole &= codes != MISSING
            self.n_rows = end
            kept = block.columns[: len(self.keep)]
            rows = Rows(np.arange(block.start, end), block.X, codes, kept)
            if not whole.all():
                if not self.skip_missing:
                    raise self._first_problem(block, codes, int(np.argmin(whole)))
                self.n_skipped += int(np.sum(~whole))
                rows = rows.only(whole)
            if len(rows.numbers):
                yield rows
        if isinstance(self.target, np.ndarray) and len(self.target) != self.n_rows:
            raise other_length(self.table, self.n_rows, self.target)
        if self.n_rows == self.n_skipped:
            missing = " without a missing value" if self.n_skipped else ""
            raise ValueError(f"{self.table.label} has no rows{missing}.")

    def _blocks(self):
        """Yield blocks of features, with the kept columns, and the labels if they are a column."""
        categories = [category.column for category in self.recipe.categories]
        others = [*categories, *self.keep, *([self.target] if self._in_column else [])]
        width = len(self.recipe.sources()) + len(others)
        for block in self.table.blocks(self.recipe.numeric, others, width):
            applied = self.recipe.apply(block.X, block.columns[: len(categories)])
            self.filled += applied.filled
            self.unknown += applied.unknown
            yield Block(block.start, applied.X, block.columns[len(categories) :])

    @property
    def _in_column(self):
        return isinstance(self.target, int)

    def _codes(self, block, whole):
        """Return the numbers of the labels; MISSING in rows that are not whole."""
        values = labels_of(self.table, block, self.target)
        codes = np.full(len(block.X), MISSING)
        # A class that only rows with missing values have is none.
        codes[whole] = self.labels.encode(values[whole])
        self._check_known(values, codes, block.start)
        return codes

    def kept_at(self, numbers):
        """Return the kept columns of some rows, given by their numbers, as text."""
        found = {self.table.column_name(j): [""] * len(numbers) for j in self.keep}
        order = np.argsort(numbers)
        for block in self.table.blocks([], self.keep) if self.keep else ():
            ends = np.searchsorted(numbers[order], [block.start, block.start + len(block.X)])
            for i in order[slice(*ends)].tolist():
                for texts, column in zip(found.values(), block.columns, strict=True):
                    texts[i] = str(column[numbers[i] - block.start])
        return found

    def column_facts(self):
        """Return what was done to columns, by their names; only what there is to say."""
        name = self.table.column_name
        facts = {
            "encoded": {
                name(category.column): category.feature_names(name(category.column))
                for category in self.recipe.categories
            },
            "imputed": {name(j): n for j, n in self.filled.items()},
            "unknown": {
                name(category.column): {"values": n, "taken_as": category.fallback}
                for category in self.recipe.categories
                if (n := self.unknown[category.column])
            },
            "kept": [name(j) for j in self.keep],
        }
        return {key: value for key, value in facts.items() if value}

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
        remedy = "fill it in, or ignore such rows with --skip-missing."
        finite = np.isfinite(block.X[i])
        if finite.all():
            return self._error_at_label(block.start + i, f"the label is missing; {remedy}")
        j = int(np.argmin(finite))
        problem = f"the value is infinite; {remedy}"
        if np.isnan(block.X[i, j]):
            problem = f"the value is missing; {self._gap_remedy()}"
        column = self.recipe.sources()[j]
        return ColumnError(self.table.place(column, block.start + i) + problem, self.table)

    def _gap_remedy(self):
        if self.table.may_drop:
            return "fill gaps with --impute median, or ignore such rows with --skip-missing."
        return (
            "ignore such rows with --skip-missing, or fit a model with --impute median, which "
            "fills gaps."
        )


def column_lines(facts):
    """Return lines about what was done to columns."""
    lines = []
    if encoded := facts.get("encoded"):
        counts = ", ".join(f"{name} ({len(features)})" for name, features in encoded.items())
        lines.append(f"Encoded columns, with their numbers of features: {counts}")
    if imputed := facts.get("imputed"):
        counts = ", ".join(f"{n} in {name}" for name, n in imputed.items())
        lines.append(f"Gaps filled in: {counts}")
    if unknown := facts.get("unknown"):
        counts = ", ".join(
            f"{item['values']} in {name}, taken as {item['taken_as']!r}"
            for name, item in unknown.items()
        )
        lines.append(f"Categories unknown to the model: {counts}")
    return lines


def table_of(args, notes=MappingProxyType({})):
    """Return the table that the arguments of a command name, written as notes expect it."""
    text = text_options(args)
    text["na"] = [*args.na, *notes.get("na", [])]
    if "notation" in notes:
        text["notation"] = Notation(*notes["notation"])
    return open_table(args.data, key=args.key, sheet=args.sheet, **text)


def text_options(args):
    """Return how the arguments say that text is to be read."""
    return {
        "delimiter": args.delimiter,
        "header": not args.no_header,
        "encoding": args.encoding,
        "decimal": args.decimal,
        "thousands": args.thousands,
        "na": args.na,
    }


def training_reader(args, labels, progress):
    """Return the reader of the rows that a model is to be fitted to, and notes about it."""
    table = table_of(args)
    keep = table.positions(args.keep, "--keep")
    refuse_result_names(table.column_name(j) for j in keep)
    target, name = find_target(args, table)
    if args.thousands is None and table.notation.thousands is not None:
        progress.say(f"Numbers in {table.label} are read with {table.notation}")
    columns = feature_columns(args, table, target)
    if not columns:
        raise ValueError(f"{table.label} has no column left for features.")
    recipe = training_recipe(args, table, columns, target, progress)
    notes = {
        "target": name,
        "n_columns": table.n_columns,
        "keep": [table.column_name(j) for j in keep],
        "na": args.na,
        "notation": list(table.notation),
        **recipe.notes(table),
    }
    if isinstance(target, int):
        notes["target_position"] = target
    return RowReader(table, recipe, target, labels, keep, args.skip_missing), notes


def refuse_result_names(kept):
    """Refuse columns to keep that would clash with the columns of results, in all commands."""
    if clash := RESULT_NAMES.intersection(kept):
        raise UsageError(
            f"--keep {min(clash)}: results have a column of that name; rename it in the table."
        )


def feature_columns(args, table, target):
    """Return the columns that are features: neither dropped, nor kept, nor the target."""
    unused = [*table.positions(args.drop, "--drop"), *table.positions(args.keep, "--keep")]
    if isinstance(target, int):
        unused.append(target)
    return [j for j in range(table.n_columns) if j not in unused]


def with_advice(error, args):
    """Return an error about columns, with the options that would mend it."""
    table = error.table
    columns = feature_columns(args, table, find_target(args, table)[0])
    given = {f"--{name}" for name in ("encode", "impute") if getattr(args, name)}
    options = advice(table, columns, given)
    return ValueError(f"{error} Try adding: {options}" if options else str(error))


def training_recipe(args, table, columns, target, progress):
    """Return how columns become features, learnt from all rows if anything has to be learnt."""
    declared = table.positions(args.categories, "--categories")
    if other := [j for j in declared if j not in columns]:
        raise UsageError(f"{table.option('--categories', other)}: this is not a feature")
    if not (declared or args.encode or args.impute):
        return Recipe(columns)
    needs("pandas", "--encode and --impute")
    found = sort_columns(table, columns, declared, args.encode)
    table.encoded = args.encode
    blocks = labelled_blocks(table, found, target)
    blocks = progress.count(blocks, "Learning categories and medians", lambda b: len(b[0]))
    recipe = learn_recipe(table, found, blocks, args.impute is not None)
    if not recipe.sources():
        raise ValueError(f"{table.label} has no column left for features that varies.")
    refuse_repeated(f"With --encode, {table.label}", recipe.feature_names(table))
    return recipe


def labelled_blocks(table, columns, target):
    """Yield the numbers and categories of the rows that have a label."""
    n_categories = len(columns.categories)
    others = [*columns.categories, *([target] if isinstance(target, int) else [])]
    for block in table.blocks(columns.numeric, others):
        labels = labels_of(table, block, target).tolist()
        known = np.array([not is_missing(value) for value in labels], dtype=bool)
        yield block.X[known], [column[known] for column in block.columns[:n_categories]]


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


def applied_reader(args, model, names, notes, labels=None, keep=None):
    """Return the reader of rows for a fitted model.

    Columns go by their names if file and model have them, else by their places. The column of the
    labels is left out where it is known. Without `keep` those columns are kept that the fit was
    told to keep.
    """
    table = table_of(args, notes)
    table.may_drop = False
    if keep:
        kept = table.positions(keep, "--keep")
    else:  # an array takes values only
        kept = [] if suffix_of(args.out or "") == ".npy" else noted_keep(table, notes)
    recipe = Recipe.noted(notes, model.n_features_in_)
    if names is not None and table.names is not None:
        places = named_columns(table, recipe, names, notes)
    else:
        places = placed_columns(args, table, recipe, notes)
    target = None if labels is None else known_target(args, table, notes)
    return RowReader(table, recipe.moved(places), target, labels, kept, args.skip_missing)


def noted_keep(table, notes):
    """Return the columns that the fit was told to keep; say which ones a table lacks."""
    known = table.names
    if known is None:
        alike = table.n_columns == notes.get("n_columns")
        known = [str(j) for j in range(table.n_columns)] if alike else []
    wanted = notes.get("keep", [])
    for name in wanted:
        if name not in known:
            print(
                f"{table.label} has no column {name!r}, which the fit was told to keep.",
                file=sys.stderr,
            )
    return [known.index(name) for name in wanted if name in known]


def named_columns(table, recipe, names, notes):
    """Return the place of each column of a recipe in a table with names."""
    wanted = [*names[: len(recipe.numeric)], *notes.get("category_names", [])]
    if missing := [name for name in wanted if name not in table.names]:
        more = f" (and lacks {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(
            f"{table.label} has no column {missing[0]!r}, which the model was fitted to{more}; "
            "rename the columns, or fit a model to this file."
        )
    return dict(zip(recipe.columns, map(table.names.index, wanted), strict=True))


def placed_columns(args, table, recipe, notes):
    """Return the place of each column of a recipe where names do not tell."""
    dropped = set(table.positions(args.drop, "--drop"))
    wanted = sorted(recipe.columns)
    if not dropped and table.n_columns == notes.get("n_columns"):
        return dict(zip(wanted, wanted, strict=True))
    columns = [j for j in range(table.n_columns) if j not in dropped]
    if len(columns) != len(wanted):
        raise ValueError(
            f"{table.label} has {len(columns)} columns, but the model was fitted to "
            f"{len(wanted)}; leave others out with --drop."
        )
    return dict(zip(wanted, columns, strict=True))


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
