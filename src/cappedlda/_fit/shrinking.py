"""The rule by which the scatter of a support is shrunk, as the user asks for it."""

from functools import partial

from cappedlda._metrics.shrinkage import agreement_shrinkage, class_shrinkage


def shrinkage_rule(shrinkage, sample, support, totals):
    """Return the rule for a value of the parameter `shrinkage`.

    It is "few_rows", "auto", "agreement", a number or None; for the others see `class_shrinkage`.
    """
    if shrinkage == "agreement":
        return partial(agreement_shrinkage, totals=totals)
    if isinstance(shrinkage, str):
        rows = {"sample": sample, "support": support, "totals": totals}
        return partial(class_shrinkage, **rows, few_rows=shrinkage == "few_rows")
    amount = 0.0 if shrinkage is None else float(shrinkage)
    return lambda *_: amount
