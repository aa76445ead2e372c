"""What chunks, dask and Spark have in common: rows in blocks, whose labels are counted first."""

import copy
from functools import partial

import numpy as np
from sklearn.utils import check_array

from cappedlda._data.array import ArrayRows
from cappedlda._data.base import Rows, first_not_finite
from cappedlda._data.fingerprint import WHAT
from cappedlda._data.kinds import check_shape
from cappedlda._validation import (
    FLOATS,
    check_class_weights,
    check_classes,
    check_enough_rows,
    known_codes,
    listed,
    not_finite,
    weight_unit,
)

# Attributes with an entry for each training row: of every fit to an array, and if wrong labels were
# looked for.
PER_ROW = ("distances_", "weights_", "outliers_", "left_out_")
OF_LABELS = ("label_quality_", "mislabelled_", "suggested_labels_")


def count_labels(labels, codes, weight):
    """Return for each label of a block: rows, those with a weight above 0, and their weight.

    They are in a list of one: lists of several blocks add up.
    """
    rows = drawable = weights = np.bincount(codes, minlength=len(labels))
    if weight is not None:
        drawable = np.bincount(codes[weight > 0.0], minlength=len(labels))
        weights = np.bincount(codes, weight, len(labels))
    counts = rows, drawable, weights
    counts = zip(*(count.tolist() for count in counts), strict=True)
    return [dict(zip(labels.tolist(), counts, strict=True))]


def classes_of(counts, dtype):
    """Return the sorted labels in the type of y; integers among objects are integers."""
    labels = list({label for block in counts for label in block})
    if dtype.kind == "O" and all(type(label) is int for label in labels):
        dtype = None
    elif dtype.kind in "SU":
        dtype = dtype.kind  # as long as the longest
    return np.unique(np.array(labels, dtype))


def rows_of_block(
    X, y, weight, where="row {} of a block", start=0, *, classes, dtype, check, regime, unit, names
):
    """Return a block as rows in memory; errors say `where` a row is, counted from the start."""
    X = np.ascontiguousarray(X, dtype)
    bad = first_not_finite(X) if check else None
    if bad is not None:
        raise not_finite(X[bad], where.format(start + bad), names)
    codes = known_codes(y, classes)
    if weight is not None:
        weight = unit * np.ascontiguousarray(weight, np.float64)
    return ArrayRows(X, codes, len(classes), weight, regime=regime)


class BlockRows(Rows):
    """Rows in blocks; threads, processes and machines are those of whoever holds them."""

    n_jobs = 1
    # Lines of the fingerprints that labels and weights tell before a pass reads X.
    _known_lines = 1

    def __init__(self, counts, n_features, dtype, label_type):
        self.classes = classes_of(counts, label_type)
        check_classes(self.classes)
        labels = self.classes.tolist()
        self.n_classes = len(labels)
        table = np.array([[block.get(k, (0, 0, 0)) for k in labels] for block in counts], float)
        n_rows, drawable = (table[:, :, k].astype(int) for k in (0, 1))  # (blocks, c)
        self._lengths, self._counts = n_rows.sum(axis=1), drawable
        self.class_counts, self.class_weights = drawable.sum(axis=0), table[:, :, 2].sum(axis=0)
        check_class_weights(self.class_weights, self.classes)
        self._weight_unit = weight_unit(self.class_weights.sum(), self.class_counts.sum())
        self.class_weights = self._weight_unit * self.class_weights
        check_enough_rows(self.class_weights)
        self.shape = (int(n_rows.sum()), n_features)
        self.dtype = dtype
        check_shape(self.shape)
        self._is_checked = False  # whether all numbers are known to be finite

    def _maker(self):
        """Return what makes rows of a block, where it is."""
        return partial(
            rows_of_block,
            classes=self.classes,
            dtype=self.dtype,
            check=not self._is_checked,
            regime=self.regime,
            unit=self._weight_unit,
            names=self.feature_names,
        )

    def _recognise(self, found, source, remedy):
        """Check that a pass has read the rows that were counted, as the first pass found them."""
        if not self._is_checked:
            self._seen[self._known_lines :] = found[self._known_lines :]
            self._is_checked = True
        if not np.array_equal(found, self._seen):
            line, i = np.argwhere(found != self._seen)[0]
            raise ValueError(
                f"{source} gives other rows than in the first pass: the {WHAT[line]} of those of "
                f"class {self.classes[i]} is {found[line, i]}, and was {self._seen[line, i]}; "
                f"{remedy}."
            )


def check_columns(frame, names):
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"X has the columns {list(frame.columns)}, but not {missing}.")


def check_numbers(odd):
    """Refuse columns of a frame that are not numbers, given with their types."""
    if odd:
        raise ValueError(
            f"X has other things than numbers in the columns {listed(list(odd))} (type "
            f"{next(iter(odd.values()))}); encode these columns as numbers, or drop them."
        )


def check_features_of(model, n_features):
    n = model.n_features_in_
    if n_features != n:
        raise ValueError(f"X has {n_features} features, but the model was fitted with {n}.")


def checked_block(model, X):
    X = check_array(X, dtype=FLOATS, ensure_all_finite=False)
    model._check_finite(X, None)
    return X


def without_samples(model):
    """Return a fitted model without what has the size of the training data."""
    bare = copy.copy(model)
    for name in (*PER_ROW, *OF_LABELS, "_wrong_cells"):
        vars(bare).pop(name, None)
    return bare
