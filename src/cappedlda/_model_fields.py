"""What a model file holds: one line for each fitted attribute, and what it has to be like.

A new fitted attribute is a new line in `FIELDS`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

NUMBERS, LABELS, TEXT, MARKS = "fiu", "biufU", "U", "b"
# Relative error of sums that are checked; rounding is a thousand times smaller.
TOLERANCE = 1e-6


class Rule(NamedTuple):
    """What values have to be: in words, and as a function that tells whether they are."""

    words: str
    holds: Callable


class Field(NamedTuple):
    """A fitted attribute.

    Attributes
    ----------
    name : str
    shape : str or None
        A letter for each axis of an array: classes c, features n, directions d, scores r (1 for two
        classes), directions in which distances are measured m, whitened directions w, rows of
        the calibration v, counts h. None is a value of the header.
    kind : str or tuple of type
        Kinds of NumPy types for an array, else the types of the value.
    rule : Rule
    optional : bool
        Whether there are models without it.
    """

    name: str
    shape: str | None
    kind: str | tuple[type, ...]
    rule: Rule
    optional: bool = False

    def problem(self, value, sizes):
        """Return what is wrong with a value, or None; note the sizes of arrays by their letters."""
        if self.shape is not None:
            if value.dtype.kind not in self.kind or (
                self.kind is NUMBERS and not np.can_cast(value.dtype, np.float64)
            ):
                return f"{self.name} has the type {value.dtype}"
            if value.ndim != len(self.shape) or any(
                sizes.setdefault(letter, size) != size
                for letter, size in zip(self.shape, value.shape, strict=True)
            ):
                return f"{self.name} has the shape {value.shape}"
        elif not isinstance(value, self.kind) or isinstance(value, bool):
            return f"{self.name} is {value!r}"
        try:
            good = self.rule.holds(value)
        except (OverflowError, TypeError):  # an integer beyond all floats
            good = False
        return None if good else f"{self.name} has to be {self.rule.words}"


def is_norm(value):
    """Return whether a value is an exponent and a floor, as distances are measured with."""
    return (
        len(value) == 2
        and all(isinstance(number, float) for number in value)
        and 0.0 < value[0] <= 2.0
        and 0.0 <= value[1] < np.inf
    )


def is_covariance(value):
    """Return whether a matrix is finite and symmetric, with a diagonal that is not negative."""
    with np.errstate(all="ignore"):
        units = np.sqrt(np.maximum(np.diagonal(value), 0.0))
        return (
            FINITE.holds(value)
            and bool(np.all(np.diagonal(value) >= 0.0))
            and close(value, value.T, np.outer(units, units))
        )


ANY = Rule("anything", lambda value: True)
FINITE = Rule("finite", lambda value: bool(np.isfinite(value).all()))
POSITIVE = Rule("above 0", lambda value: bool(np.all(np.greater(value, 0.0))))
SCALE = Rule("above 0 and finite", lambda value: POSITIVE.holds(value) and FINITE.holds(value))
DISTANCES = Rule(
    "0 or more and finite", lambda value: FINITE.holds(value) and bool(np.all(value >= 0.0))
)
COUNT = Rule("0 or more", lambda value: value >= 0)
RATIO = Rule("from 0 to 1", lambda value: bool(np.all((value >= 0.0) & (value <= 1.0 + TOLERANCE))))
SHARES = Rule(
    "above 0 with the sum 1",
    lambda value: POSITIVE.holds(value) and abs(value.sum() - 1.0) <= TOLERANCE,
)
INCREASING = Rule("different and in order", lambda value: bool(np.all(value[:-1] < value[1:])))
DIFFERENT = Rule("different", lambda value: len(set(value.tolist())) == len(value))
COVARIANCE = Rule("a covariance", is_covariance)
CLASS_COUNTS = Rule(
    "three numbers of 0 or more for each class, or not known",
    lambda value: value.shape[1] == 3 and not np.any((value < 0.0) | np.isinf(value)),
)
NORM = Rule("an exponent of up to 2 and a floor", is_norm)

INTEGER, REAL, WORD = (int,), (int, float), (str,)
FIELDS = (
    Field("classes_", "c", LABELS, INCREASING),
    Field("priors_", "c", NUMBERS, SHARES),
    Field("means_", "cn", NUMBERS, FINITE),
    Field("xbar_", "n", NUMBERS, FINITE),
    Field("scalings_", "nd", NUMBERS, FINITE),
    Field("explained_variance_ratio_", "d", NUMBERS, RATIO),
    Field("coef_", "rn", NUMBERS, FINITE),
    Field("intercept_", "r", NUMBERS, FINITE),
    Field("caps_", "c", NUMBERS, POSITIVE),
    Field("objective_path_", "t", NUMBERS, FINITE),
    Field("_metric", "nm", NUMBERS, FINITE),
    Field("_metric_centres", "cn", NUMBERS, FINITE),
    Field("_support_metric", "nk", NUMBERS, FINITE),
    Field("_support_centres", "cn", NUMBERS, FINITE),
    Field("_support_caps", "c", NUMBERS, POSITIVE),
    Field("_support_gate", "c", NUMBERS, POSITIVE, optional=True),
    Field("_covariance", "nn", NUMBERS, COVARIANCE, optional=True),
    Field("_class_counts", "ch", NUMBERS, CLASS_COUNTS),
    Field("feature_names_in_", "n", TEXT, DIFFERENT, optional=True),
    Field("epsilon_", None, REAL, POSITIVE),
    Field("q_", None, REAL, POSITIVE, optional=True),
    Field("leave_out_level_", None, REAL, POSITIVE),
    Field("shrinkage_", None, REAL, RATIO, optional=True),
    Field("n_sampled_", None, INTEGER, COUNT),
    Field("n_iter_", None, INTEGER, COUNT),
    Field("n_passes_", None, INTEGER, COUNT),
    Field("status_", None, WORD, ANY),
    Field("n_features_in_", None, INTEGER, COUNT),
    Field("_norm", None, (list, tuple), NORM, optional=True),
)
GATE = (
    Field("gate_centres", "cn", NUMBERS, FINITE),
    Field("gate_scale", "n", NUMBERS, SCALE),
    Field("gate_caps", "c", NUMBERS, POSITIVE),
)
CALIBRATION = (
    Field("calibration_whitener", "nw", NUMBERS, FINITE),
    Field("calibration_weights", "v", NUMBERS, SCALE),
    Field("calibration_own", "v", NUMBERS, DISTANCES),
    Field("calibration_nearest", "v", NUMBERS, DISTANCES),
    Field("calibration_off_plane", "v", NUMBERS, DISTANCES),
    Field("calibration_flat", "n", MARKS, ANY),
)
CV_FIELDS = (
    Field("n_splits_", None, INTEGER, COUNT),
    Field("best_index_", None, INTEGER, COUNT),
    Field("best_multiplier_", None, REAL, POSITIVE),
    Field("best_epsilon_", None, REAL, POSITIVE),
    Field("best_n_components_", None, INTEGER, COUNT),
    Field("best_score_", None, REAL, FINITE),
)


def is_position(value):
    """Return whether a value is an integer of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def are_words(value):
    """Return whether a value is a list of strings."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_category(value):
    """Return whether a value says how a column of categories becomes features."""
    kinds = {
        "column": is_position,
        "usual": lambda item: isinstance(item, str),
        "levels": are_words,
        "rare": are_words,
        "has_other": lambda item: isinstance(item, bool),
    }
    return (
        isinstance(value, dict)
        and value.keys() == kinds.keys()
        and all(holds(value[name]) for name, holds in kinds.items())
    )


POSITIONS = Rule("integers of 0 or more", lambda value: all(map(is_position, value)))
WORDS = Rule("strings", are_words)
FINITE_LIST = Rule(
    "finite numbers",
    lambda value: all(isinstance(item, float) and np.isfinite(item) for item in value),
)
NOTATION = Rule(
    "a decimal mark and a separator of thousands",
    lambda value: (
        len(value) == 2
        and value[0] in (".", ",")
        and value[1] in (None, ".", ",", " ", "'")
        and value[0] != value[1]
    ),
)
CATEGORIES = Rule("columns of categories", lambda value: all(map(is_category, value)))
# Notes of the command line: where columns are, and how they become features.
NOTES = (
    Field("target", None, (str, type(None)), ANY, optional=True),
    Field("target_position", None, INTEGER, COUNT, optional=True),
    Field("n_columns", None, INTEGER, COUNT),
    Field("features", None, (list,), POSITIONS),
    Field("keep", None, (list,), WORDS, optional=True),
    Field("na", None, (list,), WORDS, optional=True),
    Field("notation", None, (list,), NOTATION, optional=True),
    Field("medians", None, (list,), FINITE_LIST, optional=True),
    Field("categories", None, (list,), CATEGORIES, optional=True),
    Field("category_names", None, (list,), WORDS, optional=True),
)


def are_notes(notes, n_features):
    """Return whether notes are right one by one, and do not contradict each other.

    Parameters
    ----------
    notes : dict
        Of a model file.
    n_features : int
        Features of the model.
    """
    for field in NOTES:
        if field.name not in notes:
            if not field.optional:
                return False
        elif field.problem(notes[field.name], {}):
            return False
    categories, target = notes.get("categories", []), notes.get("target_position")
    columns = notes["features"] + [item["column"] for item in categories]
    encoded = sum(len(item["levels"]) + item["has_other"] for item in categories)
    return (
        len(notes["features"]) + encoded == n_features
        and all(j < notes["n_columns"] for j in [*columns, target or 0])
        and len(set(columns)) == len(columns)
        and len(notes.get("category_names", [])) == len(categories)
        and len(notes.get("medians", notes["features"])) == len(notes["features"])
    )


def contradiction(values, sizes):
    """Return what contradicts itself among values that are right one by one, or None.

    Parameters
    ----------
    values : dict
        All of `FIELDS` that are not optional.
    sizes : dict of str to int
        By the letters of the shapes.
    """
    n_classes = sizes["c"]
    if n_classes < 2:
        return "it has fewer than two classes"
    if sizes["n"] < 1 or sizes["d"] < 1:
        return "it has no features or no directions"
    if sizes.get("v") == 0 or sizes.get("w") == 0:
        return "its calibration is empty"
    if values["n_features_in_"] != sizes["n"]:
        return "n_features_in_ is not the number of features"
    if sizes["r"] != (1 if n_classes == 2 else n_classes):
        return "coef_ does not fit the number of classes"
    with np.errstate(all="ignore"):
        return broken_relation(values)


def broken_relation(values):
    """Return which of the relations between the arrays of a fit does not hold, or None."""
    means, xbar, coef = values["means_"], values["xbar_"], values["coef_"]
    n_classes = len(means)
    if not close(values["priors_"] @ means, xbar, np.abs(means).max(axis=0)):
        return "xbar_ is not the mean of means_"
    # The rule of LDA: between two classes it decides in the middle of their means.
    middle = 0.5 * (means.sum(axis=0) if n_classes == 2 else means + xbar)
    odds = np.log(values["priors_"])
    odds = odds[1:] - odds[:1] if n_classes == 2 else odds
    products = middle * coef
    size = 1.0 + np.abs(odds) + np.abs(products).sum(axis=1)
    if not close(values["intercept_"], odds - products.sum(axis=1), size):
        return "intercept_ does not fit coef_ and means_"
    supervised = values["scalings_"][:, values["explained_variance_ratio_"] > 0.0]
    # Of all directions, or of the first ones only.
    if not (spans(coef.T, supervised) or spans(supervised, coef.T)):
        return "coef_ does not fit scalings_"
    return None


def close(found, expected, size):
    """Return whether numbers are equal, up to an error relative to some size."""
    return bool(np.all(np.abs(found - expected) <= TOLERANCE * size))


def spans(basis, vectors):
    """Return whether the columns of a matrix are in the span of those of another, in any units."""
    both = np.concatenate([basis, vectors], axis=1)
    units = np.abs(both).max(axis=1, initial=0.0, keepdims=True)
    both = both / np.where(units > 0.0, units, 1.0)
    lengths = np.linalg.norm(both, axis=0)
    both = both / np.where(lengths > 0.0, lengths, 1.0)
    basis, vectors = both[:, : basis.shape[1]], both[:, basis.shape[1] :]
    frame = np.linalg.svd(basis, full_matrices=False)[0]
    return bool(np.all(np.abs(vectors - frame @ (frame.T @ vectors)) <= TOLERANCE))
