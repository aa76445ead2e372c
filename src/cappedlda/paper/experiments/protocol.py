"""The protocol of the paper, done soundly: no test row has a say in anything but the result.

A trial is a training and a test part. Gaps are filled with medians and features brought to
[0, 1] by the training part; noise goes to the training part; parameters and dimension are
chosen by cross-validation inside the training part. The score is the share of test rows whose
nearest training row, after projection, has their class, or that the model predicts rightly.
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import gen_batches
from threadpoolctl import threadpool_limits

# Parameters are chosen on at most this many training rows, for every method alike.
MOST_ROWS_OF_CHOICE = 2000
# Test rows whose distances are held at a time.
BLOCK = 1024


class Trial(NamedTuple):
    """A training and a test part."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int = 0  # of the noise and of the inner folds
    scale: bool = True  # whether features are brought to [0, 1]
    noise: Callable | None = None  # ``noise(X, y, random_state=...)`` returns the spoilt X first
    # The feature along which the ideal direction lies, if known; then one direction is tried.
    ideal_axis: int | None = None


class Outcome(NamedTuple):
    """What a trial gave."""

    accuracy: float | None  # share of test rows that are right; None after an error
    params: dict  # what was chosen, the dimension as "n_components"
    rule: str  # one of RULES
    status: str  # how the fit ended, or the error
    by_dimension: dict  # accuracy on the test rows by dimension, for pictures only
    # Degrees between the first direction of a projection and the ideal one, where it is known.
    angle: float | None
    cpu_seconds: float  # time of the processor, so that other work on the machine hardly counts


def run_trial(method, trial, inner_folds, grid_step=1):
    """Choose parameters on the training part, fit, and score the test part."""
    begin = time.process_time()
    # One thread, so that no digit depends on the number of cores.
    with warnings.catch_warnings(), threadpool_limits(1, "blas"):
        # What they say is in `status`, or follows from tiny classes.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        (X, X_test), y = prepared(trial), trial.y_train
        dimensions = method.dimensions(len(np.unique(y)), X.shape[1])
        if trial.ideal_axis is not None:
            dimensions = dimensions[:1]
        grid = method.grid[::grid_step] if method.tune is None else [method.tune(X, y)]
        params, rule, dimension = choose(method, grid, dimensions, X, y, inner_folds, trial.seed)
        try:
            model = method.fit(X, y, dimensions[-1], **params)
            scores = RULES[rule](model, X, y, X_test, trial.y_test, dimensions)
            by_dimension = dict(zip(dimensions, scores, strict=True))
            status = getattr(model, "status_", "converged")
            angle = None if rule == "predict" else angle_to_axis(model, trial.ideal_axis)
        except (ValueError, np.linalg.LinAlgError) as error:
            by_dimension, status, angle = {}, f"error: {error}", None
    return Outcome(
        by_dimension.get(dimension),
        {**params, "n_components": dimension},
        rule,
        status,
        by_dimension,
        angle,
        time.process_time() - begin,
    )


def prepared(trial):
    """Return training and test features, filled, scaled and spoilt, all by the training part."""
    steps = [SimpleImputer(strategy="median", keep_empty_features=True)]
    if trial.scale:
        steps.append(MinMaxScaler())
    preparation = make_pipeline(*steps).fit(trial.X_train)
    X, X_test = preparation.transform(trial.X_train), preparation.transform(trial.X_test)
    if trial.noise is not None:
        X = trial.noise(X, trial.y_train, random_state=np.random.default_rng(trial.seed))[0]
    return X, X_test


def choose(method, grid, dimensions, X, y, n_folds, seed):
    """Return the parameters, the rule and the dimension that do best in cross-validation.

    Among equals the first of the grid, the first rule and the lowest dimension win.
    """
    if len(grid) == len(method.rules) == len(dimensions) == 1:
        return grid[0], method.rules[0], dimensions[0]
    X, y = thinned(X, y, MOST_ROWS_OF_CHOICE, seed)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))
    scores = np.stack([validated(method, params, dimensions, X, y, folds) for params in grid])
    best, rule, column = np.unravel_index(np.argmax(scores), scores.shape)
    return grid[best], method.rules[rule], dimensions[column]


def validated(method, params, dimensions, X, y, folds):
    """Return mean accuracies by rule and dimension; a fit that fails has none right."""
    scores = np.zeros((len(folds), len(method.rules), len(dimensions)))
    for fold, (seen, unseen) in zip(scores, folds, strict=True):
        try:
            model = method.fit(X[seen], y[seen], dimensions[-1], **params)
        except (ValueError, np.linalg.LinAlgError):
            continue
        for row, rule in zip(fold, method.rules, strict=True):
            row[:] = RULES[rule](model, X[seen], y[seen], X[unseen], y[unseen], dimensions)
    return scores.mean(axis=0)


def thinned(X, y, most, seed):
    """Return `most` rows at random, or all, with the shares of the classes nearly kept."""
    if len(y) <= most:
        return X, y
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    rows = np.sort(order[np.linspace(0, len(y) - 1, most).astype(int)])
    return X[rows], y[rows]


def nearest(model, X, y, X_test, y_test, dimensions):
    """Return the accuracy of the nearest neighbour for each number of leading directions."""
    return nearest_accuracies(model.transform(X), y, model.transform(X_test), y_test, dimensions)


def nearest_unflagged(model, X, y, *test):
    """Return the same with the training rows that the model does not flag."""
    return nearest(model, X[~model.outliers_], y[~model.outliers_], *test)


def predicted(model, X, y, X_test, y_test, dimensions):
    """Return the accuracy of the model's own rule, which has one dimension."""
    return [float(np.mean(model.predict(X_test) == y_test))]


RULES = {"nearest": nearest, "nearest unflagged": nearest_unflagged, "predict": predicted}


def nearest_accuracies(Z, y, Z_test, y_test, dimensions):
    """Return the share of rows whose nearest neighbour has their class, by dimension."""
    centre = Z.mean(axis=0)
    Z, Z_test = Z - centre, Z_test - centre
    hits = sum(
        _hits(Z, y, Z_test[rows], y_test[rows], dimensions)
        for rows in gen_batches(len(Z_test), BLOCK)
    )
    return (hits / len(y_test)).tolist()


def _hits(Z, y, Z_test, y_test, dimensions):
    # Squared distances less the squared norm of the test row, grown column by column.
    distances = np.zeros((len(Z_test), len(Z)))
    hits, begin = [], 0
    for end in dimensions:
        new, new_test = Z[:, begin:end], Z_test[:, begin:end]
        distances += np.sum(new**2, axis=1) - 2.0 * new_test @ new.T
        hits.append(np.sum(y[distances.argmin(axis=1)] == y_test))
        begin = end
    return np.array(hits)


def angle_to_axis(model, axis):
    """Return the angle of the first direction to an axis in degrees, or None."""
    if axis is None or not hasattr(model, "scalings_"):
        return None
    w = model.scalings_[:, 0]
    return float(np.degrees(np.arccos(np.clip(abs(w[axis]) / np.linalg.norm(w), 0.0, 1.0))))
