"""What a model file holds: one line for each fitted attribute, with its kind and shape."""

from typing import NamedTuple

import numpy as np

NUMBERS, LABELS, TEXT, MARKS = "f", "biufU", "U", "b"  # kinds of NumPy types
INTEGER, REAL, WORD = (int,), (int, float), (str,)


class Field(NamedTuple):
    """A fitted attribute.

    `shape` has a letter for each axis of an array: classes c, features n, directions d, scores r
    (1 for two classes), directions in which distances are measured m and k, whitened directions
    w, rows of the calibration v, counts h, iterations t. None is a value of the header.
    """

    name: str
    shape: str | None
    kind: str | tuple[type, ...]
    optional: bool = False
    finite: bool = True

    def problem(self, value, sizes):
        """Return what is wrong with a value, or None; note the sizes of arrays by their letters."""
        if self.shape is None:
            of_kind = isinstance(value, self.kind) and not isinstance(value, bool)
            return None if of_kind else f"{self.name} is {value!r}"
        if value.dtype.kind not in self.kind:
            return f"{self.name} has the type {value.dtype}"
        if value.ndim != len(self.shape) or any(
            sizes.setdefault(letter, size) != size
            for letter, size in zip(self.shape, value.shape, strict=True)
        ):
            return f"{self.name} has the shape {value.shape}"
        if self.finite and self.kind is NUMBERS and not np.isfinite(value).all():
            return f"{self.name} is not finite"
        return None


FIELDS = (
    Field("classes_", "c", LABELS),
    Field("priors_", "c", NUMBERS),
    Field("means_", "cn", NUMBERS),
    Field("xbar_", "n", NUMBERS),
    Field("scalings_", "nd", NUMBERS),
    Field("explained_variance_ratio_", "d", NUMBERS),
    Field("coef_", "rn", NUMBERS),
    Field("intercept_", "r", NUMBERS),
    Field("caps_", "c", NUMBERS, finite=False),
    Field("objective_path_", "t", NUMBERS),
    Field("_covariance", "nn", NUMBERS, optional=True),
    Field("_cell_cuts", "n", NUMBERS, optional=True, finite=False),
    Field("_wrong_shares", "n", NUMBERS, optional=True),
    Field("_class_counts", "ch", NUMBERS, finite=False),
    Field("feature_names_in_", "n", TEXT, optional=True),
    Field("epsilon_", None, REAL),
    Field("_temperature", None, REAL),
    Field("leave_out_level_", None, REAL),
    Field("shrinkage_", None, REAL, optional=True),
    Field("n_sampled_", None, INTEGER),
    Field("n_iter_", None, INTEGER),
    Field("n_passes_", None, INTEGER),
    Field("status_", None, WORD),
    Field("label_noise_", None, REAL, optional=True),
    Field("label_status_", None, WORD, optional=True),
    Field("label_gain_", None, REAL, optional=True),
    Field("_norm", None, (tuple,), optional=True),
)
# Rows outside of these rules are flagged, and left out. The first has `caps_`, and the gate of the
# second only other caps.
RULES = (
    Field("flag_W", "nm", NUMBERS),
    Field("flag_centres", "cn", NUMBERS),
    Field("leave_out_W", "nk", NUMBERS),
    Field("leave_out_centres", "cn", NUMBERS),
    Field("leave_out_caps", "c", NUMBERS, finite=False),
    Field("leave_out_gate", "c", NUMBERS, optional=True, finite=False),
)
GATE = (
    Field("gate_centres", "cn", NUMBERS),
    Field("gate_scale", "n", NUMBERS),
    Field("gate_caps", "c", NUMBERS, finite=False),
)
CALIBRATION = (
    Field("calibration_whitener", "nw", NUMBERS),
    Field("calibration_weights", "v", NUMBERS),
    Field("calibration_own", "v", NUMBERS),
    Field("calibration_nearest", "v", NUMBERS),
    Field("calibration_off_plane", "v", NUMBERS),
    Field("calibration_flat", "n", MARKS),
)
LABEL_RULE = (
    Field("label_coef", "nc", NUMBERS),
    Field("label_intercept", "c", NUMBERS),
    Field("label_odds", "", NUMBERS),
    Field("label_judged", "c", MARKS),
)
GROUPS = (GATE, CALIBRATION, LABEL_RULE)  # a model has all of one or nothing
CV_FIELDS = (
    Field("n_splits_", None, INTEGER),
    Field("best_index_", None, INTEGER),
    Field("best_multiplier_", None, REAL),
    Field("best_epsilon_", None, REAL),
    Field("best_n_components_", None, INTEGER),
    Field("best_score_", None, REAL),
    Field("cv_results_", None, (dict,)),
)
