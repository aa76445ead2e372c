"""Hints for those who pass a parameter of another estimator, ours or scikit-learn's."""

import inspect

# What to do instead, for an estimator that does not have the parameter.
ELSEWHERE = {
    **dict.fromkeys(
        ("q", "centres", "start", "ridge", "max_iter", "tol"),
        "{name} is a parameter of CappedNormLDA, the minimiser of the capped norm",
    ),
    **dict.fromkeys(("leave_out", "shrinkage"), "{name} is a parameter of CappedLDA"),
    "centers": "it is centres, a parameter of CappedNormLDA",
    "polish": "polish=False is CappedNormLDA, polish=True is CappedLDA",
    "qs": "q is a parameter of CappedNormLDA; give it to a GridSearchCV",
    "solver": "solver='paper' is cappedlda.paper.CLDA; leave out any other: one solver handles all "
    "shapes, with any shrinkage, and transform always works",
    "store_covariance": "leave it out: CappedLDA has covariance_ after every fit",
    "covariance_estimator": "leave it out: the covariance of CappedLDA is robust already, and can "
    "be shrunk by shrinkage",
}


class SwitchingHints:
    """An estimator that says where to find some parameters that it does not have."""

    def __init_subclass__(cls, **settings):
        super().__init_subclass__(**settings)
        # That of `__init__`, for `help` and the checks of scikit-learn, and not that of `__new__`.
        _, *others = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(others)

    def __new__(cls, *_, **keywords):
        """Return a new estimator, or raise an error with a hint."""
        for name in keywords.keys() & ELSEWHERE.keys() - cls.__signature__.parameters.keys():
            hint = ELSEWHERE[name].format(name=name)
            raise TypeError(f"{cls.__name__}() has no parameter {name!r}: {hint}.")
        return super().__new__(cls)
