"""CappedLDACV: CappedLDA with its cap and directions chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from cappedlda._data.array import ArrayRows
from cappedlda._data.threads import ordered_map, single_threaded_blas
from cappedlda._fit import Objective, fit_capped
from cappedlda._model.folds import Fold
from cappedlda._typing import ArrayLike
from cappedlda._validation import check_count, check_real, check_seed, check_sequence
from cappedlda.capped import CappedLDA

DIGITS = 12  # mean scores that agree to this number of digits are ties


class CappedLDACV(CappedLDA):
    """Robust linear discriminant analysis, its cap chosen by cross-validation.

    Candidates are multiples of the automatic cap of `CappedLDA` and numbers of directions. The
    best one is then fitted to all rows. The default candidate, with the multiplier nearest to 1
    and the most directions, is left only for one whose mean score is better by more than one
    standard error of the difference over the folds.

    Held-out rows may be wrong too. The score is the (weighted) accuracy on those that a default fit
    to the training rows of the fold would not leave out, and at least on the nearer half of every
    class. All candidates are scored on the same rows, so none gains by leaving out rare but
    harmless rows or by fitting harmful ones. A genuine group of rows that harms the rest is not
    scored; if you expect one, compare with ``epsilon=inf``.

    Parameters
    ----------
    n_components : int, sequence of int, "all" or None, default=None
        Numbers of directions to choose from. "all" tries 1 to min(n_classes - 1, n_features),
        None only the largest of these. `predict` uses only the chosen directions, as the score
        does.
    multipliers : sequence of float, default=(0.5, 0.7, 1.0, 1.4, 2.0, inf)
        Multiples of the automatic cap; inf leaves out nothing, which is plain LDA. However small
        the cap, the nearer half of every class stays inside.
    cv : int, splitter or iterable of (train, test) indices, default=5
        A number stands for stratified folds of the rows in their order.
    leave_out : {"harmful", "flagged"}, default="harmful"
        See `CappedLDA` for this and the following parameters.
    shrinkage : "few_rows", "auto", "agreement", float or None, default="few_rows"
    priors : "uniform" or array-like of shape (n_classes,), default=None
    cells : {"capped", "all"}, default="capped"
    missing : {"error", "ignore"}, default="error"
    n_jobs : int, default=None
        Number of threads, over folds.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        As in `CappedLDA`, of the last fit.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray of shape (n_candidates,)
        `param_multiplier`, `param_n_components`, `split0_test_score` and so on,
        `mean_test_score`, `std_test_score`, `rank_test_score`, and `n_converged`, the
        number of folds in which the fit converged.
    best_index_ : int
        Index of the chosen candidate in `cv_results_`.
    best_multiplier_, best_score_ : float
    best_n_components_, n_splits_ : int
    best_epsilon_ : float
        The cap of the fit to all rows; the same as `epsilon_`.
    classes_, outliers_, left_out_, ...
        All attributes of `CappedLDA`, of the fit to all rows.

    See Also
    --------
    CappedLDA : One fit. Its default is the default candidate here.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDACV
    >>> X, y = load_wine(return_X_y=True)
    >>> X[::20] *= -5.0  # spoil every twentieth row
    >>> lda = CappedLDACV(n_components="all", multipliers=(1.0, 2.0)).fit(X, y)
    >>> lda.best_multiplier_, lda.best_n_components_
    (1.0, 2)
    >>> int(lda.outliers_.sum())
    9
    """

    cv_results_: dict[str, np.ndarray]
    best_index_: int
    best_multiplier_: float
    best_epsilon_: float
    best_n_components_: int
    best_score_: float
    n_splits_: int

    def __init__(
        self,
        n_components: int | Sequence[int] | Literal["all"] | None = None,
        *,
        multipliers: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0, np.inf),
        cv: Any = 5,
        leave_out: Literal["harmful", "flagged"] = "harmful",
        shrinkage: float | Literal["few_rows", "auto", "agreement"] | None = "few_rows",
        priors: ArrayLike | Literal["uniform"] | None = None,
        cells: Literal["capped", "all"] = "capped",
        missing: Literal["error", "ignore"] = "error",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components  # type: ignore[assignment]  # several to choose from
        self.multipliers = multipliers
        self.cv = cv
        self.leave_out = leave_out
        self.shrinkage = shrinkage
        self.priors = priors
        self.cells = cells
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # missing="ignore" is for new rows only
        return tags

    def _fit_rows(self, rows, classes, priors, features):
        seed = check_seed(self.random_state).randint(2**31 - 1)
        n_directions = min(len(classes) - 1, rows.shape[1])
        counts = self._check_counts(n_directions, rows.shape[1])
        labels = classes[rows.codes]
        splits = check_cv(self.cv, labels, classifier=True).split(rows.X, labels)
        fixed = None if self.priors is None else priors
        folds = [Fold(rows, train, test, fixed) for train, test in splits]
        default = Objective()
        grid = [default.multiplied(float(m)) for m in self.multipliers]
        # The default comes first, for the score; the others follow one of their neighbours.
        path = sorted(dict.fromkeys([default, *grid]), key=default.distance)
        candidates = [(objective, count) for objective in grid for count in counts]
        silent = replace(self._options(rows, priors, n_directions), drop_cells=False, report=None)

        def evaluate(fold):
            return fold.evaluate(path, counts, replace(silent, random_state=check_seed(seed)))

        with single_threaded_blas():
            found = zip(*ordered_map(evaluate, folds, rows.n_jobs), strict=True)
            steps = [path.index(objective) for objective in grid]
            scores, converged = (np.array(x)[:, steps].reshape(len(folds), -1) for x in found)
            best = choose(candidates, scores, default)
            objective, n_components = candidates[best]
            options = self._options(rows, priors, n_components)
            solution = fit_capped(rows, objective, options)
        n_supervised = min(n_components, n_directions)
        fitted = rows, classes, features, solution, n_components, n_supervised
        self._keep(*fitted, used=n_components)
        self.n_splits_ = len(folds)
        self.cv_results_ = tabulate(candidates, scores, converged)
        self.best_index_ = best
        self.best_multiplier_ = objective.multiplier
        self.best_epsilon_ = float(solution.epsilon)
        self.best_n_components_ = n_components
        self.best_score_ = float(scores[:, best].mean())
        return self

    def _check_data(self, X, y, sample_weight):
        rows, classes, priors = super()._check_data(X, y, sample_weight)
        if not isinstance(rows, ArrayRows):
            raise TypeError(
                f"X is a {type(X).__name__}, which CappedLDACV cannot cut into folds; give it a "
                "part of the rows as an array, and its best parameters to CappedLDA for all."
            )
        rows.check_finite()
        return rows, classes, priors

    def _check_takes_chunks(self):
        raise TypeError(
            "CappedLDACV cannot cut chunks into folds; give it a part of the rows as an array, "
            "and its best parameters to CappedLDA(...).fit_chunks for all."
        )

    def _check_parameters(self):
        self._check_common_parameters()
        advice = "use positive numbers or inf"
        for value in check_sequence("multipliers", self.multipliers, advice):
            check_real("multipliers", value, 0.0, np.inf, advice)
        if self.leave_out == "flagged" and all(value == np.inf for value in self.multipliers):
            raise ValueError(
                f"leave_out='flagged' has no effect with multipliers={self.multipliers!r}, which "
                'leave out nothing; add a finite multiplier, or use leave_out="harmful".'
            )

    def _check_counts(self, n_directions, n_features):
        """Return the numbers of directions to choose from."""
        wanted, name = self.n_components, "n_components"
        if wanted is None:
            return [n_directions]
        if isinstance(wanted, str) and wanted == "all":
            return list(range(1, n_directions + 1))
        advice = f'use None, "all", or integers from 1 to n_features={n_features}'
        counts = check_sequence(name, np.atleast_1d(wanted).tolist(), advice)
        for count in counts:
            check_count(name, count, 1, n_features, advice)
        return [int(count) for count in counts]


def tabulate(candidates, scores, converged):
    """Return `cv_results_` for scores and successes of shape (n_splits, n_candidates)."""
    objectives, counts = zip(*candidates, strict=True)
    return {
        "param_multiplier": np.array([objective.multiplier for objective in objectives]),
        "param_n_components": np.array(counts),
        **{f"split{i}_test_score": split for i, split in enumerate(scores)},
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
        "rank_test_score": ranks(scores),
        "n_converged": converged.sum(axis=0),
    }


def ranks(scores):
    """Return the rank of each candidate by its mean score, from 1; equals share the best."""
    return rankdata(-scores.mean(axis=0).round(DIGITS), method="min").astype(int)


def choose(candidates, scores, default):
    """Return the index of the best candidate; ties and near ones go to the default."""

    def distance(i):
        objective, count = candidates[i]
        return (*objective.distance(default), -count)

    order = sorted(range(len(candidates)), key=distance)
    best, nearest = order[np.argmin(ranks(scores)[order])], order[0]
    gain = scores[:, best] - scores[:, nearest]
    # A gain in one fold alone is as large as its standard error, up to rounding: it is none.
    error = gain.std() / np.sqrt(max(len(gain) - 1, 1)) + 10.0**-DIGITS
    return nearest if gain.mean() <= error else best
