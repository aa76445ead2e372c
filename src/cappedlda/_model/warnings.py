"""What a fit has to warn of, in words that say what to do."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

# A share of a class that is worth a warning if it is left out.
MUCH_LEFT_OUT = 0.3
FEW_ROWS = 5

_REMEDIES = {
    "max_iter": "The projection still changed by {change:.1e} (tol={tol:.1e}) after {n_iter} "
    "passes; {more}.",
    "saturated": "epsilon={epsilon:.3g} is below the distance of every class mean, so no "
    "between-class term is left; increase epsilon, or use CappedLDA.",
    "all_capped": "epsilon={epsilon:.3g} is below the distance of every row, so no row is left; "
    "increase epsilon.",
    "rank_deficient": "Only {rank} of {wanted} directions separate the classes; decrease "
    "n_components.",
}
# Why wrong labels were not found.
_NOT_JUDGED = {
    "too_few_rows": "Judging labels needs 20 rows per class on average that are neither left out "
    "nor unlike all others",
    "class_lost": "Nearly all labels of a class would be wrong",
}


def status_of(solution, n_supervised):
    """Return how a fit ended that wanted a number of supervised directions."""
    status = solution.trace.status
    lacking = status == "converged" and solution.W.shape[1] < n_supervised
    return "rank_deficient" if lacking else status


def warn_of(solution, model, n_supervised, stacklevel):
    if model.status_ != "converged":
        can_go_on = hasattr(model, "max_iter")
        message = _REMEDIES[model.status_].format(
            change=solution.trace.change,
            tol=solution.trace.tol,
            n_iter=model.n_iter_,
            epsilon=model.epsilon_,
            rank=solution.W.shape[1],
            wanted=n_supervised,
            more="increase max_iter or tol" if can_go_on else "the result is usable",
        )
        warnings.warn(f"{model.status_}: {message}", ConvergenceWarning, stacklevel=stacklevel)
    for message in warnings_of(solution, model):
        warnings.warn(message, UserWarning, stacklevel=stacklevel)


def warnings_of(solution, model):
    """Yield what else there is to warn of."""
    if solution.labels is not None and (status := solution.labels.status) in _NOT_JUDGED:
        yield f"{status}: {_NOT_JUDGED[status]}; the fit is the same as with label_noise=None."
    if model._warns_of_losses:
        lost = 1.0 - solution.kept_shares
        much = (lost > MUCH_LEFT_OUT) & (lost * solution.class_weights >= FEW_ROWS)
        if much.any():
            names = zip(model.classes_[much].tolist(), lost[much].tolist(), strict=True)
            parts = ", ".join(f"{name!r} {share:.0%}" for name, share in names)
            yield (
                f"The fit leaves out a large part of some classes: {parts}. Look at these rows "
                "(left_out_); if they are right, use epsilon=inf, which leaves out nothing."
            )
        if len(solution.emptied):
            names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
            yield (
                f"The features {names[solution.emptied].tolist()} are constant within each class "
                "among the rows that are not left out, so they have no influence."
            )
    if solution.uncapped.any():
        names = model.classes_[solution.uncapped].tolist()
        yield f"The cap would have removed the classes {names}; all their rows were kept."
