"""One small function per check. Each error names the argument, its value and the remedy."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_random_state, check_X_y

FLOATS = (np.float64, np.float32)


def check_choice(name, value, choices):
    """Check that a parameter is one of some words."""
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is unknown; use one of {known}.")


def check_real(name, value, low, high, advice):
    """Check that a parameter is a number with low < value <= high."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be a number; {advice}.")
    if not low < value <= high:
        raise ValueError(f"{name}={value!r} is out of range; {advice}.")


def check_count(name, value, low, high, advice):
    """Check that a parameter is an integer with low <= value <= high."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be an integer; {advice}.")
    if not low <= value <= high:
        raise ValueError(f"{name}={value!r} is out of range; {advice}.")


def check_epsilon(epsilon):
    """Check the parameter epsilon."""
    advice = 'use "auto", a positive number or inf'
    if isinstance(epsilon, str):
        if epsilon != "auto":
            raise ValueError(f"epsilon={epsilon!r} is unknown; {advice}.")
        return
    check_real("epsilon", epsilon, 0.0, np.inf, advice)


def check_start(start, shape):
    """Return the parameter start: a word, or a finite array of the given shape."""
    if isinstance(start, str):
        check_choice("start", start, ("robust", "lda", "identity"))
        return start
    start = np.asarray(start, dtype=np.float64)
    if start.shape != shape:
        raise ValueError(
            f"start has shape {start.shape}, but this problem needs (n_features, directions) = "
            f'{shape}; use such an array, "robust", "lda" or "identity".'
        )
    if not np.isfinite(start).all():
        raise ValueError("start contains NaN or infinity; give finite numbers.")
    return start


def check_priors(priors, n_classes):
    """Return the priors as an array that sums to one, or None."""
    if priors is None:
        return None
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != (n_classes,):
        raise ValueError(
            f"priors has shape {priors.shape}, but there are {n_classes} classes; give one each."
        )
    if not (np.all(priors > 0) and np.isfinite(priors).all()):
        raise ValueError(f"priors={priors!r} must be positive; leave out classes of no weight.")
    return priors / priors.sum()


def check_training_data(estimator, X, y):
    """Return X, the class codes (int32) and the sorted classes; the estimator stays as it is."""
    X, y = check_X_y(X, y, dtype=FLOATS, ensure_min_samples=2, estimator=estimator)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}); discriminant analysis needs two or more."
        )
    return X, codes.astype(np.int32), classes


def check_seed(random_state):
    """Return a RandomState; None is a fixed one, so that the same data give the same result."""
    return check_random_state(0 if random_state is None else random_state)


def check_weights(sample_weight, X, codes, classes):
    """Return the sample weights in float64, or None for all ones."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    per_class = np.bincount(codes, weights, minlength=len(classes))
    if not per_class.any():
        raise ValueError("sample_weight is zero for every row; give some rows a positive weight.")
    if not per_class.all():
        names = list(classes[per_class == 0])
        raise ValueError(
            f"sample_weight is zero for every row of the classes {names}; remove these rows."
        )
    return np.ascontiguousarray(weights)
