"""The recipe: how columns of a raw table become features, as lists that a model file can hold."""

import re
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from cappedlda._validation import listed

OTHER = "(other)"  # the feature that rare categories share
DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?")
EXACT = 2.0**53  # larger integers are not told apart as floating-point numbers
DIGITS = 14  # of an amount that survive its logarithm


class Category(NamedTuple):
    """A column of categories."""

    column: str | int
    levels: list  # the most frequent one first: all features of its rows are 0
    rare: list  # known, but without a feature of their own
    has_other: bool  # whether there is a feature for rare and unknown ones

    @property
    def fallback(self):
        return OTHER if self.has_other else self.levels[0]

    def feature_names(self):
        return [f"{self.column}={level}" for level in self.levels[1:] + [OTHER] * self.has_other]

    def unknown(self, values):
        return values.notna() & ~values.isin(self.levels + self.rare)

    def features(self, values, gap):
        """Return 0/1 features of a column of text; those of a missing category are `gap`."""
        from pandas import Index

        places = Index(self.levels).get_indexer(values)
        places[places < 0] = len(self.levels) if self.has_other else 0
        found = np.eye(len(self.levels) + self.has_other)[places, 1:]
        found[values.isna()] = gap
        return found


class Log(NamedTuple):
    """A column of amounts: the logarithm is taken in its usual range, from `low` to `high`.

    Beyond the range the tangent goes on, so that an error stays as far off as it is on the raw
    scale, and 0 and negative amounts have a value too.
    """

    column: str | int
    low: float
    high: float

    def take(self, amounts):
        inner = np.clip(amounts, self.low, self.high)
        return np.log(inner) + (amounts - inner) / inner

    def undo(self, feature):
        """Return the amounts that a feature stands for, as they were in the table."""
        inner = np.clip(feature, np.log(self.low), np.log(self.high))
        amounts = np.exp(inner) * (1.0 + feature - inner)
        size = np.maximum(np.abs(amounts), self.low)
        scale = 10.0 ** np.clip(DIGITS - np.ceil(np.log10(size)), 0.0, 300.0)
        return np.rint(amounts * scale) / scale


class Recipe(NamedTuple):
    """Which columns become features, and how; columns go by name, or by number without names."""

    numbers: list
    categories: list | tuple = ()
    medians: list | None = None  # of the numbers; None if gaps are not filled
    logs: list | tuple = ()
    keep_gaps: bool = False  # whether a gap in a column is one in its features

    @property
    def takes_gaps(self):
        return self.keep_gaps or self.medians is not None

    @property
    def plain(self):
        return not self.categories and self.medians is None and not self.logs

    @property
    def columns(self):
        return [*self.numbers, *(category.column for category in self.categories)]

    def feature_names(self):
        return [*map(str, self.numbers), *sum((c.feature_names() for c in self.categories), [])]

    def renamed(self, names):
        """Return the recipe for a table that calls its columns otherwise."""
        categories, logs = (
            [part._replace(column=names[part.column]) for part in parts]
            for parts in (self.categories, self.logs)
        )
        numbers = [names[j] for j in self.numbers]
        return self._replace(numbers=numbers, categories=categories, logs=logs)

    def features(self, X, shown):
        """Return the features of rows, by their numbers and a data frame of their categories."""
        if self.plain:
            return X
        if self.medians is not None:
            X = np.where(np.isnan(X), np.asarray(self.medians, X.dtype), X)
        gap = np.nan if self.keep_gaps else 0.0
        encoded = [c.features(shown[c.column], gap) for c in self.categories]
        return np.column_stack([self._on_amounts(X, Log.take), *encoded])

    def raw(self, X):
        """Return rows of features with amounts instead of their logarithms."""
        return self._on_amounts(X, Log.undo)

    def _on_amounts(self, X, function):
        if not self.logs:
            return X
        found = np.array(X, dtype=np.float64)
        for log in self.logs:
            j = self.numbers.index(log.column)
            found[:, j] = function(log, found[:, j])
        return found


class RawTable(TransformerMixin, BaseEstimator):
    """The first step of a pipeline that takes raw tables.

    Where the columns of the recipe go by number, a table has to have all `n_columns` of them.
    """

    def __init__(self, recipe, n_columns=None):
        self.recipe = recipe
        self.n_columns = n_columns

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def get_feature_names_out(self, input_features=None):
        return np.array(self.recipe.feature_names(), dtype=object)

    @property
    def _named(self):
        return all(isinstance(column, str) for column in self.recipe.columns)

    @property
    def feature_names_in_(self):
        if not self._named:
            raise AttributeError("The columns of this table go by number.")
        return np.array(self.recipe.columns, dtype=object)

    @property
    def n_features_in_(self):
        return len(self.recipe.columns) if self._named else self.n_columns

    def transform(self, X):
        from pandas import DataFrame

        recipe, frame = self.recipe, self._frame(X)
        numbers = numbers_of(frame[recipe.numbers])
        shown = texts(frame[[category.column for category in recipe.categories]])
        self._check(shown)
        found = recipe.features(numbers, shown)
        if not self._named:
            return found
        return DataFrame(found, index=frame.index, columns=recipe.feature_names())

    def _frame(self, X):
        """Return X as a data frame that has the columns of the recipe, each once."""
        from pandas import DataFrame

        frame, columns = (
            X.to_pandas() if hasattr(X, "to_pandas") else DataFrame(X),
            self.recipe.columns,
        )
        if not self._named:
            if frame.shape[1] != self.n_columns:
                raise ValueError(
                    f"X has {frame.shape[1]} columns, but the model was fitted to a table of "
                    f"{self.n_columns}; give all columns of such a table, also those not used."
                )
            return frame.set_axis(range(self.n_columns), axis=1)
        if missing := [column for column in columns if column not in frame.columns]:
            raise ValueError(
                f"X lacks the columns {listed(missing)}; give a table whose columns have the "
                f"names of the training table: {listed(columns)}."
            )
        twice = set(frame.columns[frame.columns.duplicated()]).intersection(columns)
        if twice:
            raise ValueError(
                f"X has more than one column {listed(sorted(twice))}; rename or drop all but one."
            )
        return frame

    def _check(self, shown):
        for category in self.recipe.categories:
            values = shown[category.column]
            if values.hasnans and not self.recipe.takes_gaps:
                row = int(np.argmax(values.isna()))
                raise ValueError(
                    f"Column {category.column!r}, row {row} (counted from 0): the value is "
                    "missing, and the model takes no gaps; fill it in, leave such rows out, or "
                    "fit with --missing ignore."
                )
            unknown = values[category.unknown(values)]
            if len(unknown):
                warnings.warn(
                    f"Found unknown categories in column {category.column!r}, such as "
                    f"{unknown.iloc[0]!r}, taken as {category.fallback!r}.",
                    stacklevel=4,
                )


def numbers_of(frame):
    """Return a table of numbers as an array."""
    import pandas as pd

    for name, column in frame.items():
        if column.dtype.kind in "mM":
            raise ValueError(
                f"X has dates or times in the column {name!r}, but the model takes numbers there; "
                "give what the column of the training table had."
            )
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    wrong = numbers.isna() & frame.notna()
    if wrong.to_numpy().any():
        row, column = np.argwhere(wrong.to_numpy())[0]
        raise ValueError(
            f"X has text in the column {frame.columns[column]!r}, row {row} (counted from 0): "
            f"{frame.iat[row, column]!r} is not a number; correct it, or give NaN if it is missing."
        )
    narrow = (frame.dtypes == np.float32).all()
    return numbers.to_numpy(np.float32 if narrow else np.float64, na_value=np.nan)


def texts(frame):
    """Return a table of categories as text, NaN where they are missing."""
    import pandas as pd

    columns = {}
    for name, column in frame.items():
        codes, different = pd.factorize(column)
        shown = [as_text(value).strip() for value in different.tolist()]
        columns[name] = np.array([*shown, np.nan], dtype=object)[codes]
    return pd.DataFrame(columns, index=frame.index, dtype=object)


def as_text(value):
    """Return a value as a reader sees it: 1.0 is 1, and so is its text."""
    number = float(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else value
    if isinstance(number, float) and number.is_integer() and abs(number) < EXACT:
        return str(int(number))
    return str(value)
