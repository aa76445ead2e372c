"""One small function per check. Each error names the argument, its value and the remedy."""

import warnings
from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
from sklearn import config_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_random_state,
    check_X_y,
)

FLOATS = (np.float64, np.float32)
NAMES = "biuSU"  # kinds of labels that name classes in any case
MOST_NAMED = 8  # columns that an error lists
# Begins of the names of types, in pandas, polars and Arrow, that are times, not numbers.
DATES = ("date", "time", "duration", "period", "interval")
TEXT = ("object", "str", "large_str", "categor", "dictionary", "enum")
DATES_REMEDY = "turn them into numbers, such as days since a date, or drop them"
# Squares of larger numbers, or of smaller ones than its inverse, are not numbers any more.
LARGEST = 1e150
# Of all rows together: sums of weighted squares have to stay finite.
LARGEST_WEIGHT = 1e300
LEAST_WEIGHT = 1e-290  # their number over it is finite too
PRIORS_TOLERANCE = 1e-5  # by how much the sum of priors may differ from 1 without a warning
# Units of features between which numbers over their units are finite.
UNITS = {np.dtype(np.float64): (1e-304, 1e304), np.dtype(np.float32): (1e-36, 1e37)}
# Centres that differ by this little, relative to their size, differ by rounding only.
SAME_CENTRES = 16.0 * np.finfo(np.float64).eps


def check_choice(name, value, choices):
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is unknown; use one of {known}.")


def check_real(name, value, low, high, advice):
    """Check that a parameter is a number with low < value <= high."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be a number; {advice}.")
    # Python's floats and integers compare without overflow, NumPy's do not.
    number = value.item() if isinstance(value, np.generic) else value
    if not low < number <= high or LARGEST < number < np.inf:
        raise ValueError(f"{name}={value!r} is out of range; {advice}.")


def check_count(name, value, low, high, advice):
    """Check that a parameter is an integer with low <= value <= high."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be an integer; {advice}.")
    if not low <= value <= high:
        raise ValueError(f"{name}={value!r} is out of range; {advice}.")


def check_flag(name, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be True or False.")


def check_sequence(name, values, advice):
    """Return a parameter as a list that is not empty."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name}={values!r} must be a sequence; {advice}.")
    values = list(values)
    if not values:
        raise ValueError(f"{name}={values!r} is empty; {advice}.")
    return values


def check_word_or_real(name, value, words, low, high, advice):
    """Check that a parameter is one of some words or None, or a number with low < value <= high."""
    known = (value is None or isinstance(value, str)) and value in words
    if isinstance(value, str) and not known:
        raise ValueError(f"{name}={value!r} is unknown; {advice}.")
    if not known:
        check_real(name, value, low, high, advice)


def check_epsilon(epsilon):
    advice = 'use "auto", a positive number or inf'
    check_word_or_real("epsilon", epsilon, ("auto",), 1.0 / LARGEST, np.inf, advice)


def check_array_of(name, values, shape, needed, advice):
    """Return a parameter as an array of real numbers, of the shape that is `needed`."""
    if np.asarray(values).dtype.kind not in "fiu":
        raise TypeError(f"{name}={values!r} is no array of real numbers; {advice}.")
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}, but {needed}; {advice}.")
    return values


def check_start(start, shape, words=("robust", "lda", "identity")):
    """Return the parameter start: a word, or a finite array of the given shape."""
    if isinstance(start, str):
        check_choice("start", start, words)
        return start
    needed = f"this problem needs (n_features, directions) = {shape}"
    advice = f"use such an array, or one of {', '.join(map(repr, words))}"
    start = check_array_of("start", start, shape, needed, advice)
    if not np.isfinite(start).all():
        raise ValueError("start contains NaN or infinity; give finite numbers.")
    if np.linalg.matrix_rank(start) < start.shape[1]:
        raise ValueError("start has linearly dependent columns; give independent ones.")
    return start


def check_priors(priors, n_classes):
    """Return the priors as an array that sums to one, or None."""
    if priors is None:
        return None
    if isinstance(priors, str):
        check_choice("priors", priors, ("uniform",))
        return np.full(n_classes, 1.0 / n_classes)
    needed = f"there are {n_classes} classes"
    advice = 'give a positive number for each class, "uniform" or None'
    priors = check_array_of("priors", priors, (n_classes,), needed, advice)
    if not (np.all(priors > 0) and np.isfinite(priors).all()):
        raise ValueError(f"priors={priors!r} must be positive; remove classes without weight.")
    largest = priors.max()
    total = np.sum(priors / largest) * largest
    if abs(total - 1.0) > PRIORS_TOLERANCE:
        # In the words of scikit-learn's LinearDiscriminantAnalysis.
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
    priors = priors / largest
    return priors / priors.sum()


def encode(y):
    """Return the sorted classes and the class code (int32) of each row."""
    classes = sorted_labels(y)
    return classes, known_codes(y, classes)


def sorted_labels(y):
    if y.dtype.kind in "iu" and np.can_cast(y.dtype, np.int64):
        lowest, highest = int(y.min()), int(y.max())
        if highest - lowest < len(y):  # by counting, which needs no sort
            (present,) = np.bincount(y.astype(np.int64) - lowest).nonzero()
            return (present + lowest).astype(y.dtype)
    if y.dtype == object:
        labels = distinct(y)
        if all(isinstance(label, str) for label in labels):  # hashed faster than sorted
            return np.array(sorted(labels), object)
    return np.unique(y)


def distinct(y):
    """Return the labels of an array of objects, each once if they can be hashed."""
    labels = y.tolist()
    try:
        return set(labels)
    except TypeError:
        return labels


def check_training_data(estimator, X, y, accept_sparse=False, finite=True):
    """Return X, perhaps checked to be finite, the class codes (int32) and the sorted classes."""
    if finite or not is_plain(X, y):
        check_order(X, y)
        check_text(X)
        check_missing_labels(y)
        # Arrays of other libraries, which scikit-learn may keep as they are, become NumPy's.
        with config_context(array_api_dispatch=False):
            settings = {"dtype": FLOATS, "ensure_min_samples": 2, "ensure_all_finite": finite}
            X, y = check_X_y(X, y, accept_sparse, estimator=estimator, **settings)
    return X, *codes_and_classes(y)


def check_order(X, y):
    """Check that X and y are not swapped: rows with columns come first, then labels."""
    (X_dims, X_width), (y_dims, y_width) = map(dimensions, (X, y))
    if y_dims == 2 and y_width > 1 and (X_dims == 1 or X_width == 1):
        raise ValueError(
            f"y has {y_width} columns and X has {X_width}: they seem to be swapped; use fit(X, y), "
            "first the rows and then their labels."
        )


def dimensions(values):
    """Return the number of dimensions of an array or of nested lists, and the columns."""
    is_list = isinstance(values, (list, tuple))
    shape = np.shape(values[:1]) if is_list else getattr(values, "shape", ())
    return len(shape), shape[1] if len(shape) > 1 else 1


def check_readable(values, name):
    """Check that all values can be read: neither a query nor a masked array."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(
            f"{name} is a LazyFrame, a query that has not run; give {name}.collect(), or read it "
            "in batches with fit_chunks."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(values)} masked entries; "
            f"fill them ({name}.filled(...)), or remove their rows."
        )


def check_missing_labels(y):
    """Check that no label is masked, None, NaN among words, or another sign of a missing one."""
    check_readable(y, "y")
    # NumPy would make a word of a NaN among words.
    y = np.array(y, object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if y.ndim == 1 and y.dtype == object:
        refuse_missing_labels(y, "y")


def refuse_missing_labels(y, name):
    """Raise an error if a label is NaN, infinite, None, or another sign of a missing one."""
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype.kind == "O" and any(map(_is_missing, distinct(y))):
        missing = np.array([_is_missing(label) for label in y], bool)
    else:
        return
    if missing.any():
        first = int(np.argmax(missing))
        raise ValueError(
            f"{name} has missing labels, the first in its row {first} ({y[first]}); remove such "
            "rows."
        )


def _is_missing(label):
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def columns_of(X):
    """Return the names of the columns of a frame and their types, nothing for other input."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # a table of pyarrow
        return list(zip(X.column_names, X.schema.types, strict=True))
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return list(zip(X.columns, X.dtypes, strict=True))
    return []


def check_text(X):
    """Check that X holds neither text nor dates, and name the columns of a frame that do."""
    if getattr(getattr(X, "dtype", None), "kind", "f") in ("m", "M"):
        raise ValueError(f"X has dates or times, {X.dtype}; {DATES_REMEDY}.")
    types = [(name, str(dtype).lower()) for name, dtype in columns_of(X)]
    if names := [name for name, dtype in types if dtype.startswith(DATES)]:
        raise ValueError(f"X has dates or times in the columns {listed(names)}; {DATES_REMEDY}.")
    if names := [name for name, dtype in types if dtype.startswith(TEXT) and is_text(X[name])]:
        raise ValueError(
            f"X has text in the columns {listed(names)}, but needs numbers; encode these columns, "
            "for example with a OneHotEncoder in a pipeline, or drop them. The command "
            "cappedlda fit --encode, and a pipeline that load_model returns, take such tables."
        )


def listed(names):
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return shown + more


def is_text(column):
    """Return whether some values of a column are not numbers."""
    try:
        np.asarray(column, dtype=np.float64)
    except ValueError:
        return True
    except TypeError:  # pandas.NA, which is a gap: it is found elsewhere
        pass
    return False


def is_plain(X, y):
    """Return whether X and y are arrays that `check_X_y` would return as they are."""
    return (
        type(X) is type(y) is np.ndarray
        and (X.ndim, y.ndim) == (2, 1)
        and len(X) == len(y) > 1
        and X.shape[1] > 0
        and X.dtype in FLOATS
        and y.dtype.kind in NAMES
    )


def check_labels(estimator, y, X):
    """Return the class codes (int32) of the rows of X, and the sorted classes."""
    check_missing_labels(y)
    y = _check_y(y, estimator=estimator)
    check_consistent_length(X, y)
    return codes_and_classes(y)


def codes_and_classes(y):
    """Return the class codes (int32) and the sorted classes of labels of shape (N,)."""
    if y.dtype.kind not in NAMES:
        check_classification_targets(y)
    classes, codes = encode(y)
    check_classes(classes)
    return codes, classes


def check_classes(classes, name="y"):
    if len(classes) < 2:
        only = f"only one class ({classes.tolist()[0]!r})" if len(classes) else "no class"
        raise ValueError(f"{name} has {only}; give rows of two or more classes.")


def check_centres(centres):
    """Check that the centres of the classes, of shape (c, n), differ by more than rounding."""
    for feature in centres.T:  # the first one usually decides
        low, high = min(feature.tolist()), max(feature.tolist())
        if not high - low <= SAME_CENTRES * max(abs(low), abs(high)):
            return
    raise ValueError("The class means coincide in X: no direction separates the classes.")


def check_units(scale, dtype):
    """Check that the features, of which `scale` are the units, can be divided by them."""
    least, most = UNITS[np.dtype(dtype)]
    if least <= scale.min() and scale.max() <= most:
        return
    odd = np.flatnonzero(~((scale >= least) & (scale <= most)))
    if len(odd):
        j = int(odd[0])
        raise ValueError(
            f"X varies by about {scale[j]:.3g} in feature {j} (counted from 0), too "
            f"{'little' if scale[j] < least else 'much'} for numbers of type {np.dtype(dtype)}; "
            "scale this feature, or leave it out."
        )


def check_structure(X):
    """Check the indices of a sparse matrix: SciPy would follow them beyond its arrays."""
    try:
        if X.format in ("csr", "csc"):
            type(X)((X.data, X.indices, X.indptr), X.shape).check_format()
        elif X.format == "coo":
            type(X)((X.data, (X.row, X.col)), X.shape)
    except ValueError as error:
        raise ValueError(f"X is a damaged sparse matrix: {error}.") from None


def known_codes(y, classes, name="y"):
    """Return the codes (int32) of labels, all of which must be among the sorted classes."""
    codes = _codes_by_hash(y, classes) if y.dtype == object else _codes_by_table(y, classes)
    if codes is None:
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.int32)
        codes[classes.take(codes) != y] = -1
    if codes.min(initial=0) < 0:
        unknown = sorted(set(y[codes < 0].tolist()), key=repr)  # perhaps of several types
        raise ValueError(
            f"{name} has unknown labels {unknown}; the known classes are {classes.tolist()}."
        )
    return codes


def _codes_by_hash(y, classes):
    """Return the codes of labels, -1 for unknown ones, or None if they cannot be hashed."""
    try:
        codes = {label: code for code, label in enumerate(classes.tolist())}
        return np.array([codes.get(label, -1) for label in y.tolist()], np.int32)
    except TypeError:
        return None


def _codes_by_table(y, classes):
    """Return the codes of integer labels, -1 for unknown ones, or None if a search is better."""
    if len(y) == 0 or not all(np.can_cast(labels.dtype, np.int64) for labels in (y, classes)):
        return None
    lowest, width = int(classes[0]), int(classes[-1]) - int(classes[0]) + 1
    if width > max(len(y), len(classes)) or y.min() < lowest or y.max() > classes[-1]:
        return None
    offsets = np.subtract(y, lowest, dtype=np.int64)
    if width == len(classes):
        return offsets.astype(np.int32)
    table = np.full(width, -1, np.int32)
    table[classes.astype(np.int64) - lowest] = np.arange(len(classes))
    return table.take(offsets)


def check_seed(random_state):
    """Return a RandomState; None is a fixed one, so that the same data give the same result."""
    return check_random_state(0 if random_state is None else random_state)


def check_weights(sample_weight, X, codes, classes):
    """Return sample weights in the unit of rows, or None."""
    if sample_weight is None:
        return None
    check_readable(sample_weight, "sample_weight")
    with config_context(array_api_dispatch=False):
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    check_class_weights(np.bincount(codes, weights, minlength=len(classes)), classes)
    return np.ascontiguousarray(weights * weight_unit(weights.sum(), np.count_nonzero(weights)))


def weight_unit(total, count):
    """Return the factor of weights that sum up to `total` over `count` rows.

    A weight of k is k rows, but weights with a smaller sum than rows are scaled to a mean of 1.
    """
    return count / total if total < count * (1.0 - 1e-9) else 1.0


def check_class_weights(per_class, classes):
    total = per_class.sum()
    if not (total == 0.0 or LEAST_WEIGHT <= total <= LARGEST_WEIGHT):
        remedy = "multiply" if total < 1.0 else "divide"
        raise ValueError(f"sample_weight adds up to {total:g}; {remedy} it by a large number.")
    if not per_class.all():
        names = classes[per_class == 0].tolist()
        raise ValueError(
            f"sample_weight is zero for every row of the classes {names}; remove these rows, or "
            "give some a positive weight."
        )


def check_enough_rows(class_weights):
    """Check that there are more rows, as weights count them, than classes."""
    n_rows, n_classes = class_weights.sum(), len(class_weights)
    if n_rows <= n_classes * (1.0 + 1e-9):
        # It begins as the error of scikit-learn's LinearDiscriminantAnalysis.
        raise ValueError(
            "The number of samples must be more than the number of classes, but y has "
            f"{n_classes} classes in {n_rows:g} rows; give several rows of a class. If y numbers "
            "or names the rows, give the column of their classes instead."
        )


def not_finite(values, where, names=None, what="X", remedy="remove or impute such rows"):
    """Return the error for a row of X that has a number which is not finite."""
    column = int(np.argmin(np.isfinite(values)))
    found = "NaN" if np.isnan(values[column]) else "infinity"
    name = column_name(column, names)
    return ValueError(f"{what} contains {found}, first in {where}, column {name}; {remedy}.")


def column_name(column, names):
    return f"{column} (counted from 0)" if names is None else repr(names[column])
