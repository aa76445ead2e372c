"""What ablation.py switches: parts of the default, and constants that steer it.

A variant is a list of changes of module attributes, `(owner, name, value)`, and parameters of
CappedLDA. `switched(variant)` makes them for as long as a block lasts.
"""

import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import signature
from typing import NamedTuple
from unittest import mock

import numpy as np

import cappedlda._fit as fit
from cappedlda import CappedLDA
from cappedlda._fit import hidden_cloud, reweighting
from cappedlda._initial import dense, standardize
from cappedlda._kernels import loo
from cappedlda._loo import leave_out
from cappedlda._metrics.frame import Frame, Objective
from cappedlda._regime import REGIME
from cappedlda._rules import fences


class Variant(NamedTuple):
    changes: list = []
    parameters: dict = {}


@contextmanager
def switched(variant):
    """Make the changes of a variant."""
    with ExitStack() as stack:
        for change in variant.changes:
            stack.enter_context(mock.patch.object(*change))
        yield


def constant(name, value):
    """Another value of a constant, in every module that has it."""
    modules = [module for key, module in sys.modules.items() if key.startswith("cappedlda.")]
    return Variant([(module, name, value) for module in modules if name in vars(module)])


def regime(**values):
    """Other thresholds on rows and features."""
    return Variant([(CappedLDA, "_regime", replace(REGIME, **values))])


def reach(value):
    """Another reach of caps, gate and growth, which is the default of several arguments."""
    users = (
        fences.update_caps, fences.fixed_point_caps, dense.grow_support,
        reweighting.with_caps_by_distances, Objective.__new__,
    )  # fmt: skip
    return Variant([(user, "__defaults__", defaults_with(user, reach=value)) for user in users])


def defaults_with(function, **given):
    """The defaults of a function, some of them changed."""
    arguments = signature(function).parameters.values()
    return tuple(given.get(a.name, a.default) for a in arguments if a.default is not a.empty)


def levels(*values):
    """Other levels among which the one to leave out is chosen."""
    return Variant([(leave_out, "LEVELS", np.array(values))])


def costs_more_as_it_is(scores, core, *prices):
    """Whether the core loses more than each price, with the distances as they are."""
    loss, least = (loo.log_loss(*given._core, 1.0)[0] for given in (scores, core))
    return [not loss <= least + price * scores._core_weight for price in prices]


def only(*change):
    return Variant([change])


DEFAULT = "default"
PARTS = {
    DEFAULT: Variant(),
    "no cloud search": only(fit, "core_without_cloud", lambda *given: None),
    "no class means in the search": only(hidden_cloud, "with_class_means", lambda frame: frame.W),
    "no C-steps, no growth": regime(covariance_rows_per_feature=np.inf),
    "no growth": Variant([(dense, "GROWTH_STEPS", 0)]),
    "no gate": only(fit, "gate_caps", lambda histograms, *given: np.full(len(histograms), 1e9)),
    "no wider units": constant("WIDER_LEVEL", 0.5),
    "units: single values count": only(
        standardize, "are_shared", lambda values, counts: np.zeros(len(values), bool)
    ),
    "no least variances": only(Frame, "raise_variances", lambda frame, A: None),
    "all outside the core left out": only(fit, "harmless_level", lambda *given: (1.0, 1.0)),
    "sharpness 1": only(leave_out.Scores, "costs_more", costs_more_as_it_is),
    "temperature 1": only(leave_out.Scores, "temperature", 1.0),
}
CONSTANTS = {
    "price 0.05": constant("MOST_COST", 0.05),
    "price 0.2": constant("MOST_COST", 0.2),
    "reach 1.5": reach(1.5),
    "reach 2.5": reach(2.5),
    "strict reach 0.8": constant("STRICT_REACH", 0.8),
    "levels 1, 1.5, 5, inf": levels(1.0, 1.5, 5.0, np.inf),
    "levels 1, 1.5, inf": levels(1.0, 1.5, np.inf),
    "flag level 1": constant("FLAG_LEVEL", 1.0),
    "flag level 2": constant("FLAG_LEVEL", 2.0),
    "MIN_GAP 0": constant("MIN_GAP", 0.0),
    "MIN_GAP 0.2": constant("MIN_GAP", 0.2),
    "LEAST_LEVEL 0": constant("LEAST_LEVEL", 0.0),
    "LEAST_LEVEL 0.999": constant("LEAST_LEVEL", 0.999),
    "GROWTH_STEPS 5": constant("GROWTH_STEPS", 5),
    "GROWTH_STEPS 100": constant("GROWTH_STEPS", 100),
    "SETTLED 0": constant("SETTLED", 0.0),
    "SETTLED 0.02": constant("SETTLED", 0.02),
    "MIN_SHRINKAGE 0.01": constant("MIN_SHRINKAGE", 0.01),
    "VARIANCE_FLOOR 0.01": constant("VARIANCE_FLOOR", 0.01),
    "VARIANCE_FLOOR 0.3": constant("VARIANCE_FLOOR", 0.3),
    "SPARSE_VARIANCE_FLOOR 0.1": constant("SPARSE_VARIANCE_FLOOR", 0.1),
    "WIDER_LEVEL 0.8": constant("WIDER_LEVEL", 0.8),
    "WIDEST_TAIL 2": constant("WIDEST_TAIL", 2.0),
    "MOST_RAISED inf": constant("MOST_RAISED", 1e9),
    "FARTHEST_USUAL inf": constant("FARTHEST_USUAL", 1e9),
    "FARTHEST_USUAL 1": constant("FARTHEST_USUAL", 1.0),
    "MAX_REWEIGHTINGS 1": constant("MAX_REWEIGHTINGS", 1),
    "MAX_REWEIGHTINGS 20": constant("MAX_REWEIGHTINGS", 20),
    "SEARCH_STEPS 1": constant("SEARCH_STEPS", 1),
    "SEARCH_STEPS 8": constant("SEARCH_STEPS", 8),
    "LEAST_CLOUD 0": constant("LEAST_CLOUD", 0.0),
    "LEAST_CLOUD 0.1": constant("LEAST_CLOUD", 0.1),
    "SURE 0": constant("SURE", 0.0),
    "CUT 5": constant("CUT", 5.0),
    "MOST_LOST 0": constant("MOST_LOST", 0.0),
    "JUDGED_PER_CLASS 0": constant("JUDGED_PER_CLASS", 0),
    "a loss of rows does not count": only(leave_out.Scores, "loses", lambda *given: False),
    "iteration ridge 1e-6": only(
        Objective.__new__, "__defaults__", defaults_with(Objective.__new__, ridge=1e-6)
    ),
    "least_class_weight 0": regime(least_class_weight=0.0),
    "least_class_weight 50": regime(least_class_weight=50.0),
    "MIN_KEPT 0": constant("MIN_KEPT", 0.0),
    "leave_out=flagged": Variant(parameters={"leave_out": "flagged"}),
    "shrinkage=auto": Variant(parameters={"shrinkage": "auto"}),
}
FEW_ROWS = {
    DEFAULT: Variant(),
    "no deviations as units": only(
        dense.InitialEstimate, "in_deviations", lambda initial, rows: initial
    ),
    "MOST_LEVEL_OF_FEW inf": constant("MOST_LEVEL_OF_FEW", np.inf),
    "MOST_LEVEL_OF_FEW 1.5": constant("MOST_LEVEL_OF_FEW", 1.5),
    "shrinkage=auto": Variant(parameters={"shrinkage": "auto"}),
    "shrinkage=None": Variant(parameters={"shrinkage": None}),
    "C-steps from 2 rows per feature": regime(covariance_rows_per_feature=2),
    "price 0.05": constant("MOST_COST", 0.05),
    "all outside the core left out": PARTS["all outside the core left out"],
    "leave_out=flagged": Variant(parameters={"leave_out": "flagged"}),
}
SAMPLES = {
    DEFAULT: Variant(),
    "sample of 5,000": regime(least_sample_rows=5_000),
    "sample of 2,500": regime(least_sample_rows=2_500),
}
VARIANTS = {"enough": PARTS | CONSTANTS, "few": FEW_ROWS, "large": SAMPLES}
