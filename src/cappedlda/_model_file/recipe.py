"""The recipe: how the columns of a raw table become the features of a model.

A recipe is plain lists, as a model file holds them. `transformer` turns it into scikit-learn's
SimpleImputer, OneHotEncoder and FunctionTransformer in a ColumnTransformer, fitted.
"""

import re
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

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
        """What an unknown category is taken for."""
        return OTHER if self.has_other else self.levels[0]

    def example(self):
        """Return values that teach scikit-learn the categories: frequent ones occur twice."""
        return [*self.levels, *self.levels, *self.rare]

    def feature_names(self):
        return [f"{self.column}={level}" for level in self.levels[1:] + [OTHER] * self.has_other]


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
        """Whether columns of numbers are taken as they are."""
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

    def raw(self, X):
        """Return rows of features with amounts instead of their logarithms."""
        return on_columns(X, {j: log.undo for j, log in self._placed_logs().items()})

    def _placed_logs(self):
        return {self.numbers.index(log.column): log for log in self.logs}

    def transformer(self, n_columns=None):
        """Return the fitted ColumnTransformer of the recipe.

        Where columns go by number, a table has to have all `n_columns` of them.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise ImportError('Raw tables need pandas; pip install "cappedlda[cli]".') from None
        steps = [("numbers", self._number_step(), self.numbers)]
        steps += [(f"categories {c.column}", self._steps(c), [c.column]) for c in self.categories]
        made = ColumnTransformer(steps, sparse_threshold=0.0, verbose_feature_names_out=False)
        if self._named:
            made.set_output(transform="pandas")
        return made.fit(DataFrame(self._example(n_columns)))

    @property
    def _named(self):
        return all(isinstance(column, str) for column in self.columns)

    def _number_step(self):
        fill = "passthrough" if self.medians is None else SimpleImputer(strategy="median")
        if not self.logs:
            return fill
        logs = {j: log.take for j, log in self._placed_logs().items()}
        options = {"kw_args": {"functions": logs}, "feature_names_out": "one-to-one"}
        return make_pipeline(fill, FunctionTransformer(on_columns, **options))

    def _steps(self, category):
        usual, merged = category.levels[0], [] if category.has_other else category.rare
        shown = FunctionTransformer(
            texts,
            kw_args={"gaps": self.takes_gaps, "same": dict.fromkeys(merged, usual)},
            feature_names_out="one-to-one",
        )
        encoder = OneHotEncoder(
            categories=[category.levels + category.rare * category.has_other],
            drop=[usual],
            min_frequency=2 if category.has_other else None,
            handle_unknown="infrequent_if_exist" if category.has_other else "ignore",
            feature_name_combiner=feature_name,
            sparse_output=False,
        )
        encoding = make_pipeline(SimpleImputer(strategy="constant", fill_value=usual), encoder)
        if not self.keep_gaps:
            return make_pipeline(shown, encoding)
        known = {"encoding": encoding, "category": category}
        return make_pipeline(
            shown, FunctionTransformer(with_gaps, kw_args=known, feature_names_out=names_given)
        )

    def _example(self, n_columns):
        """Return columns that teach scikit-learn the recipe."""
        columns = {} if self._named else {j: [0.0] for j in range(n_columns)}
        medians = self.medians or [0.0] * len(self.numbers)
        columns |= {j: [median] for j, median in zip(self.numbers, medians, strict=True)}
        columns |= {c.column: c.example() for c in self.categories}
        n_rows = max(map(len, columns.values())) | 1  # odd, so that a median is one of the values
        return {j: values + values[:1] * (n_rows - len(values)) for j, values in columns.items()}


def on_columns(X, functions):
    """Return rows with functions applied to some columns, given by position."""
    if not functions:
        return X
    found = np.array(X, dtype=np.float64)
    for j, function in functions.items():
        found[:, j] = function(found[:, j])
    return found


def with_gaps(frame, encoding, category):
    """Return the features of a column of categories, NaN where the category is missing."""
    from pandas import DataFrame

    # Fitted here, because scikit-learn clones the arguments of a function.
    fitted = clone(encoding).fit(np.array(category.example(), dtype=object)[:, None])
    found = fitted.transform(frame.to_numpy())
    found[frame.isna().any(axis=1)] = np.nan
    return DataFrame(found, index=frame.index, columns=category.feature_names())


def names_given(transformer, _):
    """Return the names of the features of `with_gaps`."""
    return np.array(transformer.kw_args["category"].feature_names(), dtype=object)


def feature_name(column, level):
    return f"{column}={OTHER if level == 'infrequent_sklearn' else level}"


def texts(frame, gaps=True, same=MappingProxyType({})):
    """Return a table of categories as text, with some that are the same as others replaced.

    Missing values are NaN, or an error without gaps.
    """
    import pandas as pd

    columns = {}
    for name, column in pd.DataFrame(frame).items():
        codes, different = pd.factorize(column)
        if not gaps and (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise ValueError(
                f"Column {name!r}, row {row} (counted from 0): the value is missing, and the model "
                "takes no gaps; fill it in, leave such rows out, or fit with --missing ignore."
            )
        shown = [as_text(value).strip() for value in different.tolist()]
        shown = [same.get(text, text) for text in shown]
        columns[name] = np.array([*shown, np.nan], dtype=object)[codes]
    return pd.DataFrame(columns, index=getattr(frame, "index", None), dtype=object)


def as_text(value):
    """Return a value as a reader sees it: 1.0 is 1, and so is its text."""
    number = float(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else value
    if isinstance(number, float) and number.is_integer() and abs(number) < EXACT:
        return str(int(number))
    return str(value)
