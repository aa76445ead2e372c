"""Hints for those who come from scikit-learn's LinearDiscriminantAnalysis."""

import inspect

# Its parameters that there are not here, and what to do instead.
NOT_NEEDED = {
    "store_covariance": "covariance_ is there after every fit with the defaults",
    "covariance_estimator": "the covariance is robust already, and can be shrunk by shrinkage",
}


class SwitchingHints:
    """An estimator that says what to do instead of some parameters that it does not have."""

    def __init_subclass__(cls, **settings):
        super().__init_subclass__(**settings)
        # That of `__init__`, for `help` and the checks of scikit-learn, and not that of `__new__`.
        _, *others = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(others)

    def __new__(cls, *_, **keywords):
        """Return a new estimator, or raise an error with a hint."""
        for name in NOT_NEEDED.keys() & keywords.keys():
            raise TypeError(
                f"{cls.__name__}() has no parameter {name!r}; leave it out: {NOT_NEEDED[name]}."
            )
        return super().__new__(cls)
