"""Learning the recipe: which columns of a table are numbers, which are categories, and of what."""

import shlex
from collections import Counter

import numpy as np

from cappedlda._cli.dialects import is_number_elsewhere, kind_of_value
from cappedlda._cli.tables import ColumnError, NotANumberError
from cappedlda._model_file.recipe import Category, Log, Recipe, texts

LEAST_ROWS = 10  # of a category with a feature of its own
MOST_CATEGORIES = 100  # with features of their own, in a column
MOST_VALUES = 10_000  # different ones in a column of categories
SAMPLE_NUMBERS = 20_000_000  # of which medians are taken
QUARTILES = 1.349  # distance of the quartiles of a normal distribution, in deviations
LOG_RANGE = 2.5  # robust deviations of its logarithms that an amount usually is within


def sort_columns(table, columns, declared, encode):
    """Tell columns of numbers from declared and encoded ones, by the first block of rows."""
    categories, dates = list(declared), []
    first = table.first_rows(columns)
    for j in columns if encode and first is not None else ():
        error = None if j in declared else first_text(table, first[j])
        kind = error and kind_of_value(error.value)
        if kind == "date":
            dates.append(j)
        elif kind == "text":
            refuse_strays(table, j, first[j], error)
            categories.append(j)
    if dates:
        raise ColumnError(f"{table.label}: {table.remedy('date', dates)}.", table)
    numbers = [j for j in columns if j not in categories]
    return numbers, [j for j in columns if j in categories]


def first_text(table, column):
    try:
        table.numbers(column)
    except NotANumberError as error:
        return error
    return None


def different_texts(column):
    return texts(column.to_frame())[column.name].dropna().unique().tolist()


def refuse_strays(table, column, values, error):
    """Refuse a column in which some text stands among numbers."""
    different = different_texts(values)
    if 2 * sum(map(is_number_elsewhere, different)) <= len(different):
        return
    value = str(error.value)
    raise ValueError(
        f"{table.place(column, error.index)}{value!r} is not a number, but most values of the "
        f"column are; correct it, declare it a missing value with --na {shlex.quote(value)}, or "
        f"encode the column as categories with {table.option('--categories', [column])}."
    )


def learn_recipe(table, numbers, categories, logs, blocks, impute):
    """Return the recipe that the training rows with a label teach."""
    from pandas import notna

    counts = {j: Counter() for j in categories}
    sample = RowSample(len(numbers))
    n_rows = 0
    for block in blocks:
        known = notna(block.labels)
        X, shown = block.X[known], texts(block.others[known][categories])
        n_rows += len(X)
        sample.add(X if impute or logs else X[:0])
        for j in categories:
            counts[j].update(shown[j].value_counts().to_dict())
            if len(counts[j]) > MOST_VALUES:
                raise no_categories(table, j, f"more than {MOST_VALUES:,} different values")
    found = [category_of(table, j, counts[j], n_rows) for j in categories]
    medians = medians_of(table, numbers, sample.rows) if impute and n_rows else None
    # A column of one category tells nothing.
    found = [category for category in found if category.feature_names()]
    ranges = [log_of(table, j, sample.rows[:, numbers.index(j)]) for j in logs]
    return Recipe(numbers, found, medians, ranges)


def log_of(table, column, amounts):
    known = amounts[np.isfinite(amounts)]
    positive = known[known > 0.0]
    if 2 * len(positive) <= len(known):
        raise no_amounts(table, column, "at least half of the values are 0 or negative")
    low, middle, high = np.quantile(np.log(positive), [0.25, 0.5, 0.75])
    if low == high:
        raise no_amounts(table, column, "at least half of the values are equal")
    reach = LOG_RANGE * (high - low) / QUARTILES
    return Log(column, float(np.exp(middle - reach)), float(np.exp(middle + reach)))


def no_amounts(table, column, problem):
    remedy = f"leave {table.option('--log', [column])} out"
    return ValueError(f"{table.place(column)}{problem}, so no logarithm is taken; {remedy}.")


def category_of(table, column, counts, n_rows):
    least = min(LEAST_ROWS, max(2, n_rows // 50))
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    if not ordered:
        raise no_values(table, column)
    if len(ordered) > max(2, n_rows / 2):
        found = f"{len(ordered):,} different values in {n_rows:,} rows"
        raise no_categories(table, column, found)
    levels = sorted(text for text in ordered[1:] if counts[text] >= least)
    if len(levels) > MOST_CATEGORIES:
        raise no_categories(table, column, f"{len(ordered):,} categories")
    rare = sorted(text for text in ordered[1:] if counts[text] < least)
    has_other = sum(counts[text] for text in rare) >= least
    return Category(column, [ordered[0], *levels], rare, has_other)


def no_categories(table, column, problem):
    drop, keep = (table.option(name, [column]) for name in ("--drop", "--keep"))
    remedy = f"Ignore the column with {drop}, or, if it identifies the rows, copy it to the results"
    text = f"{table.place(column)}{problem} are too many for categories. {remedy} with {keep}."
    return ColumnError(text, table)


def no_values(table, column):
    remedy = f"ignore the column with {table.option('--drop', [column])}"
    return ValueError(f"{table.place(column)}all values are missing; {remedy}.")


class RowSample:
    """Rows drawn at random; all of them, while they are few."""

    def __init__(self, n_columns, most_numbers=SAMPLE_NUMBERS):
        self._most = max(1000, most_numbers // max(1, n_columns))
        self._rng = np.random.default_rng(0)
        self._keys = np.empty(0)
        self.rows = np.empty((0, n_columns))

    def add(self, X):
        """Draw from more rows: those with the smallest random numbers are kept."""
        self._keys = np.append(self._keys, self._rng.random(len(X)))
        self.rows = np.concatenate([self.rows, X])
        if len(self.rows) > self._most:
            kept = np.argpartition(self._keys, self._most)[: self._most]
            self._keys, self.rows = self._keys[kept], self.rows[kept]


def medians_of(table, columns, rows):
    finite = np.where(np.isfinite(rows), rows, np.nan)
    for j, empty in zip(columns, np.isnan(finite).all(axis=0), strict=True):
        if empty:
            raise no_values(table, j)
    return np.nanmedian(finite, axis=0).tolist() if columns else []


def advice(table, columns, given):
    """Return the options that would make features of columns, besides those given already."""
    first = table.first_rows(columns)
    kinds = {} if first is None else {j: column_kind(table, first[j]) for j in columns}
    of_kind = {kind: [j for j in kinds if kinds[j] == kind] for kind in kinds.values()}
    options = ["--encode"] if "categories" in of_kind else []
    features = of_kind.get("numbers", []) + of_kind.get("categories", [])
    if features and first[features].isna().any(axis=None):
        options.append("--impute median")
    options = [option for option in options if option.split()[0] not in given]
    for option, kind in (("--keep", "ids"), ("--drop", "dates"), ("--drop", "text")):
        if kind in of_kind:
            options.append(table.option(option, of_kind[kind]))
    return " ".join(options)


def column_kind(table, column):
    """Return what a column holds: numbers, dates, ids, text or categories."""
    error = first_text(table, column)
    kind = "notation" if error is None else kind_of_value(error.value)
    if kind != "text":
        return "dates" if kind == "date" else "numbers"
    different = different_texts(column)
    if 2 * len(different) <= max(4, len(column)):
        return "categories"
    return "ids" if len(different) == len(column) else "text"
