"""The rows of a table, ready for a model: features made, labels numbered."""

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from cappedlda._cli.tables import ColumnError, columns_of
from cappedlda._model_file.recipe import as_text, texts

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
MISSING, UNKNOWN = -1, -2
GAP_IN_TRAINING = (
    "fill gaps with --impute median, use the other cells of such rows with --missing ignore, or "
    "ignore such rows with --skip-missing."
)
GAP = (
    "ignore such rows with --skip-missing, or fit a model that takes gaps, with --missing ignore "
    "or --impute median."
)


class Rows(NamedTuple):
    """Some rows, ready for a model."""

    X: np.ndarray
    codes: np.ndarray | None  # of the classes
    kept: Any  # a DataFrame of columns to keep, by the number of the row in the file


class Labels:
    """Numbers labels from 0, in the order in which they come, or by the classes of a model.

    A label is the text that a reader sees: files write the same one as 1, "1", 1.0, "1.000e+00".
    """

    def __init__(self, classes=None):
        self._classes = classes  # None: every label is welcome
        known = [] if classes is None else np.asarray(classes).tolist()
        self._codes = {as_text(value): code for code, value in enumerate(known)}

    def encode(self, values):
        """Return the number of each label, MISSING or UNKNOWN where there is none."""
        from pandas import factorize

        codes, different = factorize(np.asarray(values, dtype=object))
        names = [as_text(value) for value in different]
        for name in names if self._classes is None else ():
            self._codes.setdefault(name, len(self._codes))
        known = [self._codes.get(name, UNKNOWN) for name in names]
        return np.array([*known, MISSING], dtype=np.int64)[codes]

    def names(self):
        return list(self._codes)

    def values(self):
        """Return the labels in the order of their numbers, as a model has or is to have them."""
        if self._classes is not None:
            return np.asarray(self._classes)
        names = self.names()
        integers = all(INTEGER.fullmatch(name) for name in names)
        return np.array(names, dtype=np.int64 if integers and names else np.str_)


class RowReader:
    """Reads rows as features, and refuses or skips those with a value missing.

    The `target` is that of `Table.blocks`; `labels` numbers them. While rows are read, they are
    counted, and so are the missing values and unknown categories of each column.
    """

    def __init__(self, table, recipe, target=None, labels=None, keep=(), skip_missing=False):
        self.table = table
        self.recipe = recipe
        self.target = target
        self.labels = labels
        self.keep = list(dict.fromkeys(keep))
        self.skip_missing = skip_missing
        self._categories = [category.column for category in recipe.categories]

    def __iter__(self):
        self.n_rows = self.n_skipped = 0
        self.gaps, self.unknown = Counter(), Counter()
        others = [*self._categories, *self.keep]
        n_columns = len(others) + len(columns_of(self.target))
        width = len(self.recipe.feature_names()) + n_columns
        for block in self.table.blocks(self.recipe.numbers, others, self.target, width):
            shown = texts(block.others[self._categories])
            codes, whole = None, self._without_gaps(block.X, shown)
            if block.labels is not None:
                codes = self._codes(block.labels, whole)
                whole &= codes != MISSING
            self.n_rows += len(block.X)
            if not whole.all():
                if not self.skip_missing:
                    raise self._first_problem(block.X, shown, int(np.argmin(whole)))
                self.n_skipped += int(np.sum(~whole))
            if whole.any():
                X = self._features(block.X[whole], shown[whole])
                kept = block.others.loc[whole, self.keep]
                yield Rows(X, None if codes is None else codes[whole], kept)
        if self.n_rows == self.n_skipped:
            missing = " without a missing value" if self.n_skipped else ""
            raise ValueError(f"{self.table.label} has no rows{missing}.")

    def _without_gaps(self, X, shown):
        """Return which rows are whole, or will be."""
        if self.recipe.takes_gaps:
            return ~np.isinf(X).any(axis=1)
        return np.isfinite(X).all(axis=1) & shown.notna().all(axis=1).to_numpy()

    def _features(self, X, shown):
        if self.recipe.takes_gaps:
            gaps = [*np.isnan(X).sum(axis=0).tolist(), *shown.isna().sum().tolist()]
            self.gaps.update(dict(zip(self.recipe.columns, gaps, strict=True)))
        for category in self.recipe.categories:
            self.unknown[category.column] += int(category.unknown(shown[category.column]).sum())
        return self.recipe.features(X, shown)

    def _codes(self, values, whole):
        codes = np.full(len(values), MISSING)
        # Only whole rows make a class.
        codes[whole] = self.labels.encode(values[whole])
        if (codes == UNKNOWN).any():
            i = int(np.argmax(codes == UNKNOWN))
            known = ", ".join(map(repr, self.labels.names()[:10]))
            problem = f"the label {values.tolist()[i]!r} is not a class of the model ({known})."
            raise self.label_error(problem, self.n_rows + i)
        return codes

    def kept_at(self, numbers):
        """Return the kept columns as text, by the numbers of rows."""
        from pandas import DataFrame, concat

        if not self.keep:
            return DataFrame(index=numbers)
        blocks = self.table.blocks([], self.keep)
        found = concat([b.others[b.others.index.isin(numbers)] for b in blocks])[self.keep]
        shown = found.astype(object).where(found.notna(), "").astype(str)
        return shown.rename(columns=str)

    def feature_names(self):
        return self.recipe.feature_names()

    def column_facts(self):
        categories = {category.column: category for category in self.recipe.categories}
        gaps = "gaps_ignored" if self.recipe.keep_gaps else "imputed"
        facts = {
            "logarithms": [str(log.column) for log in self.recipe.logs],
            "encoded": {str(c): category.feature_names() for c, category in categories.items()},
            gaps: {str(c): n for c, n in (+self.gaps).items()},
            "unknown": {
                str(column): {"values": n, "taken_as": categories[column].fallback}
                for column, n in (+self.unknown).items()
            },
            "kept": list(map(str, self.keep)),
        }
        return {key: value for key, value in facts.items() if value}

    def label_error(self, problem, row=None):
        return ValueError(self.table.place(self.target, row) + problem)

    def _first_problem(self, X, shown, i):
        skip = "fill it in, or ignore such rows with --skip-missing."
        row = shown.index[i]
        cells = [*X[i], *np.where(shown.iloc[i].isna(), np.nan, 0.0)]
        wrong = np.isinf(cells) if self.recipe.takes_gaps else ~np.isfinite(cells)
        if not wrong.any():
            return self.label_error(f"the label is missing; {skip}", row)
        j = int(np.argmax(wrong))
        gap = GAP_IN_TRAINING if self.table.may_drop else GAP
        problem = f"infinite; {skip}" if np.isinf(cells[j]) else f"missing; {gap}"
        place = self.table.place(self.recipe.columns[j], row)
        return ColumnError(f"{place}the value is {problem}", self.table)


def column_lines(facts):
    lines = []
    if encoded := facts.get("encoded"):
        counts = ", ".join(f"{name} ({len(features)})" for name, features in encoded.items())
        lines.append(f"Encoded columns (number of features): {counts}")
    if logarithms := facts.get("logarithms"):
        lines.append(f"Logarithms taken: {', '.join(logarithms)}")
    for key, done in (("imputed", "filled in"), ("gaps_ignored", "ignored")):
        if gaps := facts.get(key):
            counts = ", ".join(f"{n} in {name}" for name, n in gaps.items())
            lines.append(f"Gaps {done}: {counts}")
    if unknown := facts.get("unknown"):
        taken = "{values} in {name}, taken as {taken_as!r}"
        counts = ", ".join(taken.format(name=name, **item) for name, item in unknown.items())
        lines.append(f"Categories unknown to the model: {counts}")
    return lines
