"""The table recipe: how the columns of a table become features.

Columns of numbers are features as they are, with gaps filled by their medians if that is asked
for. A column of categories becomes one feature of 0 and 1 for each category except the most
frequent one. What has to be known for that is learnt from the training rows by `learn_recipe`,
stored in the model file, and applied to any other table.
"""

import shlex
from collections import Counter
from typing import NamedTuple

import numpy as np

from cappedlda._cli.labels import as_text
from cappedlda._cli.tables import (
    ColumnError,
    NotANumberError,
    is_date,
    is_missing,
    is_number_elsewhere,
)

LEAST_ROWS = 10  # of a category with a feature of its own
MOST_CATEGORIES = 100  # with features of their own, in a column
MOST_VALUES = 10_000  # different ones in a column of categories
OTHER = "(other)"  # what rare categories are called together
SAMPLE_NUMBERS = 20_000_000  # of which medians are taken


class Category(NamedTuple):
    """A column of categories.

    Attributes
    ----------
    column : int
        Its position.
    usual : str
        The most frequent category, in whose rows all features are 0.
    levels : tuple of str
        Categories with a feature of their own.
    rare : tuple of str
        Categories that share one feature, or count as the usual one.
    has_other : bool
        Whether there is a feature for rare categories; it also serves unknown ones.
    """

    column: int
    usual: str
    levels: tuple
    rare: tuple
    has_other: bool

    @property
    def fallback(self):
        """What an unknown category is taken for."""
        return OTHER if self.has_other else self.usual

    def feature_names(self, name):
        """Return the names of the features, for a column of some name."""
        names = [f"{name}={level}" for level in self.levels]
        return [*names, f"{name}={OTHER}"] if self.has_other else names

    def encode(self, values):
        """Return the features, and which values are missing, and which unknown."""
        codes, texts = factorized(values)
        usual = len(self.levels) + self.has_other  # a column beyond the last feature
        known = {level: k for k, level in enumerate(self.levels)}
        known |= dict.fromkeys(self.rare, len(self.levels)) | {self.usual: usual}
        # Unknown ones are as rare ones. The last entry is for values that are missing.
        places = np.array([*(known.get(text, len(self.levels)) for text in texts), usual])
        new = np.array([*(text not in known for text in texts), False])
        features = np.zeros((len(codes), usual + 1))
        features[np.arange(len(codes)), places[codes]] = 1.0
        return features[:, :usual], codes < 0, new[codes]


def factorized(values):
    """Return the number of each value among the different ones, -1 if missing, and their texts."""
    import pandas as pd

    codes, different = pd.factorize(values)
    return codes, [as_text(value).strip() for value in different.tolist()]


class Applied(NamedTuple):
    """Features, and how many values of each column were filled in, or are unknown categories."""

    X: np.ndarray
    filled: Counter
    unknown: Counter


class Recipe(NamedTuple):
    """Which columns become features, and how.

    Attributes
    ----------
    numeric : list of int
        Positions of the columns of numbers.
    categories : list of Category
    medians : list of float or None
        With what gaps in the columns of numbers are filled; gaps in categories are then filled
        with the most frequent one. None leaves gaps as they are.
    """

    numeric: list
    categories: list = []  # noqa: RUF012 (never changed)
    medians: list | None = None

    @property
    def plain(self):
        """Whether columns of numbers are taken as they are."""
        return not self.categories and self.medians is None

    @property
    def columns(self):
        """Positions of all columns that are used."""
        return [*self.numeric, *(category.column for category in self.categories)]

    def sources(self):
        """Return the position of the column that each feature comes from."""
        widths = [len(category.feature_names("")) for category in self.categories]
        others = self.columns[len(self.numeric) :]
        return [*self.numeric, *np.repeat(others, widths).astype(int).tolist()]

    def feature_names(self, table):
        """Return the names of the features."""
        names = [table.column_name(j) for j in self.numeric]
        for category in self.categories:
            names += category.feature_names(table.column_name(category.column))
        return names

    def notes(self, table):
        """Return the recipe as a model file holds it."""
        notes = {"features": self.numeric}
        if self.categories:
            notes["categories"] = [category._asdict() for category in self.categories]
            notes["category_names"] = [table.column_name(c.column) for c in self.categories]
        if self.medians is not None:
            notes["medians"] = self.medians
        return notes

    @classmethod
    def noted(cls, notes, n_features):
        """Return the recipe in the notes of a model file; without notes, columns as they are."""
        if not notes:
            return cls(list(range(n_features)))
        categories = [Category(**category) for category in notes.get("categories", [])]
        return cls(notes["features"], categories, notes.get("medians"))

    def moved(self, places):
        """Return the recipe for a table in which columns stand in other places."""
        return self._replace(
            numeric=[places[j] for j in self.numeric],
            categories=[c._replace(column=places[c.column]) for c in self.categories],
        )

    def apply(self, X, columns):
        """Return what becomes of rows, given their numbers and their columns of categories."""
        filled, unknown = Counter(), Counter()
        if self.plain:
            return Applied(X, filled, unknown)
        parts = [X]
        if self.medians is not None:
            gaps = np.isnan(X)
            filled.update(dict(zip(self.numeric, gaps.sum(axis=0).tolist(), strict=True)))
            parts = [np.where(gaps, np.asarray(self.medians, dtype=X.dtype), X)]
        for category, values in zip(self.categories, columns, strict=True):
            features, missing, new = category.encode(values)
            unknown[category.column] += int(new.sum())
            if self.medians is None:
                features[missing] = np.nan
            else:
                filled[category.column] += int(missing.sum())
            parts.append(features)
        return Applied(np.concatenate(parts, axis=1), +filled, +unknown)


class Columns(NamedTuple):
    """Positions of columns of numbers and of categories."""

    numeric: list
    categories: list


def sort_columns(table, columns, declared, encode):
    """Tell columns of numbers from columns of categories, by the first block of rows.

    Parameters
    ----------
    table : Table
    columns : list of int
    declared : list of int
        Columns of categories, whatever they look like.
    encode : bool
        Whether columns of text are categories; else they count as numbers, and reading them
        will say what is wrong.
    """
    found, dates = Columns([], []), []
    first = table.first_columns(columns)
    for j in columns:
        error = None if j in declared or j not in first else first_text(table, first[j])
        if j in declared:
            found.categories.append(j)
        elif error is None or not encode:
            found.numeric.append(j)
        elif is_date(error.value):
            dates.append(j)
        elif is_number_elsewhere(error.value):
            found.numeric.append(j)  # reading it will say what is wrong
        else:
            refuse_strays(table, j, first[j], error)
            found.categories.append(j)
    if dates:
        raise table.date_error(dates)
    return found


def first_text(table, values):
    """Return the error about the first value of a column that is not a number, or None."""
    try:
        table.numbers(values)
    except NotANumberError as error:
        return error
    return None


def refuse_strays(table, column, values, error):
    """Refuse a column in which some text stands among numbers."""
    _, texts = factorized(values)
    if 2 * sum(map(is_number_elsewhere, texts)) <= len(texts):
        return
    value = shlex.quote(str(error.value))
    raise table.error_at(
        column,
        error.index,
        f"{str(error.value)!r} is not a number, but most values of the column are; correct it, "
        f"declare it a missing value with --na {value}, or the column one of categories with "
        f"{table.option('--categories', [column])}.",
    )


def learn_recipe(table, columns, blocks, impute):
    """Return the recipe that training rows teach.

    Parameters
    ----------
    table : Table
    columns : Columns
    blocks : iterable
        Of pairs: the numbers of some rows, and their columns of categories.
    impute : bool
        Whether gaps are to be filled.
    """
    counts = {j: Counter() for j in columns.categories}
    sample = RowSample(len(columns.numeric))
    n_rows = 0
    for X, values in blocks:
        n_rows += len(X)
        sample.add(X if impute else X[:0])
        for j, column in zip(columns.categories, values, strict=True):
            codes, texts = factorized(column)
            for text, n in zip(texts, np.bincount(codes[codes >= 0]).tolist(), strict=True):
                counts[j][text] += n
            if len(counts[j]) > MOST_VALUES:
                raise no_categories(table, j, f"more than {MOST_VALUES:,} different values")
    categories = [category_of(table, j, counts[j], n_rows) for j in columns.categories]
    medians = medians_of(table, columns.numeric, sample.rows) if impute and n_rows else None
    # A column of one category tells nothing.
    categories = [category for category in categories if category.feature_names("")]
    return Recipe(columns.numeric, categories, medians)


def category_of(table, column, counts, n_rows):
    """Return what is to be known of a column of categories, from how often each occurs."""
    least = min(LEAST_ROWS, max(2, n_rows // 50))
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    if not ordered:
        raise no_values(table, column)
    if len(ordered) > max(2, n_rows / 2):
        raise no_categories(table, column, f"{len(ordered):,} different values in {n_rows:,} rows")
    usual = ordered[0]
    levels = tuple(sorted(text for text in ordered[1:] if counts[text] >= least))
    if len(levels) > MOST_CATEGORIES:
        raise no_categories(table, column, f"{len(ordered):,} categories")
    rare = tuple(sorted(text for text in ordered[1:] if counts[text] < least))
    return Category(column, usual, levels, rare, sum(counts[text] for text in rare) >= least)


def no_categories(table, column, problem):
    """Return the error for a column of text with too many values."""
    return ColumnError(
        f"{table.label}, column {table.column_name(column)!r}: {problem} are too many for "
        f"categories. Ignore the column with {table.option('--drop', [column])}, or, if it "
        f"identifies the rows, carry it to the results with {table.option('--keep', [column])}.",
        table,
    )


def no_values(table, column):
    """Return the error for a column that is empty."""
    return ValueError(
        f"{table.label}, column {table.column_name(column)!r}: all values are missing; ignore the "
        f"column with {table.option('--drop', [column])}."
    )


class RowSample:
    """Rows drawn at random; all of them, while they are few."""

    def __init__(self, n_columns):
        self._most = max(1000, SAMPLE_NUMBERS // max(1, n_columns))
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
    """Return the median of each column, of the values that are there and finite."""
    finite = np.where(np.isfinite(rows), rows, np.nan)
    for j, empty in zip(columns, np.isnan(finite).all(axis=0), strict=True):
        if empty:
            raise no_values(table, j)
    return np.nanmedian(finite, axis=0).tolist() if columns else []


def advice(table, columns, given):
    """Return the options that would make features of columns, by the first block of rows.

    Parameters
    ----------
    table : Table
    columns : list of int
        Columns that are to be features.
    given : set of str
        Options that are given already.
    """
    first = table.first_columns(columns)
    kinds = {j: column_kind(table, first[j]) for j in columns if j in first}
    of_kind = {kind: [j for j in kinds if kinds[j] == kind] for kind in set(kinds.values())}
    options = ["--encode"] if "categories" in of_kind else []
    features = of_kind.get("numbers", []) + of_kind.get("categories", [])
    if any(is_missing(value) for j in features for value in first[j].tolist()):
        options.append("--impute median")
    options = [option for option in options if option.split()[0] not in given]
    for option, kind in (("--keep", "ids"), ("--drop", "dates"), ("--drop", "text")):
        if kind in of_kind:
            options.append(table.option(option, of_kind[kind]))
    return " ".join(options)


def column_kind(table, values):
    """Return what a column holds: numbers, dates, ids, text or categories."""
    error = first_text(table, values)
    if error is None or is_number_elsewhere(error.value):
        return "numbers"
    if is_date(error.value):
        return "dates"
    codes, texts = factorized(values)
    if 2 * len(texts) <= max(4, len(codes)):
        return "categories"
    return "ids" if len(texts) == len(codes) else "text"
