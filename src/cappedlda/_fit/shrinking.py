"""The rule by which the scatter of a support is shrunk, as the user asks for it."""

from cappedlda._metrics.shrinkage import AgreementShrinkage, ClassShrinkage, FixedShrinkage


def shrinkage_rule(shrinkage, sample, support, totals):
    """Return the rule for a value of the parameter `shrinkage`.

    Parameters
    ----------
    shrinkage : "few_rows", "auto", "agreement", float or None
    sample, support, totals
        See `ClassShrinkage`.
    """
    if shrinkage == "agreement":
        return AgreementShrinkage(totals)
    if isinstance(shrinkage, str):
        return ClassShrinkage(sample, support, totals, few_rows=shrinkage == "few_rows")
    return FixedShrinkage(0.0 if shrinkage is None else float(shrinkage))
