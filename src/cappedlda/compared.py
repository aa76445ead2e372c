"""The methods that the paper compares with: LDA, RDA, RLDA, LDA-L1, L2BLDA and L1BLDA.

They follow the published objectives. Where a published algorithm fails, a sound one for
the same objective stands beside it, and the docstring says which is which.

Symbols: h_j = x_j - m_i for row j of class i, m_i and N_i mean and size of class i, m the
overall mean, H_w the matrix of all h_j, S_w = H_w H_w' / N.
"""

import warnings
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy import linalg
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from cappedlda import _linalg
from cappedlda._base import LinearDiscriminant, linear_rule
from cappedlda._epsilon import quantiles
from cappedlda._passes import ArrayRows, Query
from cappedlda._solver import Iteration, iterate, kept_covariance
from cappedlda._span import Span
from cappedlda._start import FirstLook
from cappedlda._threads import effective_n_jobs, single_threaded_blas
from cappedlda._validation import check_choice, check_count, check_real, check_training_data

__all__ = ["LDA", "RDA", "RLDA", "LDAL1", "L2BLDA", "L1BLDA"]

# Class means nearer to each other than this share of the spread of the data are the same.
SAME_MEANS = 1e-10
# Ridge of the methods that have none of their own, relative to the mean within variance.
RIDGE = 1e-6
# Floor of the absolute values, relative to the median of the initial ones; and least such
# median, relative to the spread of the data.
FLOOR = 1e-3
# Up to so many classes RLDA tries every sign vector.
MAX_ENUMERATED_CLASSES = 15
# The rule of classification needs an invertible covariance, if only just.
RULE_RIDGE = 1e-10

_LARGEST = np.finfo(float).max
_POSITIVE = "use a positive number"
_REMEDIES = {
    "max_iter": "the iteration had not settled after max_iter={max_iter}; increase max_iter or "
    "tol, or use another solver",
    "rank_deficient": "only {found} of {wanted} directions separate the classes; decrease "
    "n_components",
}


@dataclass
class _Problem:
    """The training data of a fit, and their first and second moments.

    Attributes
    ----------
    rows : ArrayRows
    means : ndarray of shape (c, n)
    sizes : ndarray of shape (c,)
    """

    rows: ArrayRows
    means: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, rows):
        """Return the problem of some rows."""
        return cls(rows, rows.class_means(), rows.class_weights)

    @property
    def priors(self):
        """Share of each class, shape (c,)."""
        return self.sizes / self.sizes.sum()

    @property
    def deviations(self):
        """Differences m_i - m in columns, shape (n, c)."""
        return (self.means - self.priors @ self.means).T

    @property
    def between_factor(self):
        """B with B B' = S_b, shape (n, c)."""
        return self.deviations * np.sqrt(self.priors)

    def query(self, W, q, floor=0.0, scatter=True):
        """Return the query of a pass without cap about the class means."""
        n_classes, n = self.means.shape
        caps = np.full(n_classes, np.inf)
        return Query(W, self.means, np.ones(n), caps, q, floor, scatter, sums=False)

    def within_scatter(self):
        """Return H_w H_w', shape (n, n)."""
        nothing = np.zeros((self.means.shape[1], 1))
        return self.rows.run(self.query(nothing, q=2.0)).scatter / 2.0

    def median_distance(self, W):
        """Return the median of ||W'h_j||, whatever the units of the data."""
        record = self.rows.run(self.query(W, q=2.0, scatter=False))
        unit = np.sqrt(np.trace(record.image_scatter) / record.weight)
        if unit == 0.0:
            return 0.0
        histograms = self.rows.run(self.query(W / unit, 2.0, scatter=False)).histograms
        return unit * quantiles(histograms, (0.5,))[0][-1, 0]

    def project(self, basis):
        """Return the problem in the coordinates basis'x."""
        X = self.rows.X @ basis.astype(self.rows.X.dtype, copy=False)
        rows = ArrayRows(X, self.rows.codes, self.rows.n_classes, n_jobs=self.rows.n_jobs)
        return _Problem(rows, self.means @ basis, self.sizes)


@dataclass
class _Directions:
    """What a method found: columns W (n, d), and how."""

    W: np.ndarray
    status: str = "converged"
    n_iter: int = 1
    objective_path: list | np.ndarray | None = None


class _Compared(LinearDiscriminant):
    """The common fit: check, find directions, set the rule of LDA in their image.

    A method has `_check_parameters`, `_max_components` and `_solve`.
    """

    # Whether every solution lies in the span of the data, so that n > N needs N coordinates.
    _lies_in_span = False

    def fit(self, X, y):
        """Find the discriminant directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : estimator
        """
        self._check_parameters()
        original = X
        X, codes, classes = check_training_data(self, X, y)
        n_components = self._check_n_components(len(classes), X.shape[1])
        with single_threaded_blas():
            rows = ArrayRows(X, codes, len(classes), n_jobs=effective_n_jobs(None))
            problem = _Problem.of(rows)
            _check_means(problem)
            directions = self._solve_in_span(problem, n_components)
            self._store(original, classes, problem, directions)
        self._warn(n_components)
        return self

    def _check_parameters(self):
        pass

    def _max_components(self, n_classes, n_features):
        return n_features, f"n_features={n_features}"

    def _check_n_components(self, n_classes, n_features):
        most, name = self._max_components(n_classes, n_features)
        if self.n_components is None:
            return min(n_classes - 1, n_features)
        check_count(
            "n_components", self.n_components, 1, most, f"use None or an integer from 1 to {name}"
        )
        return self.n_components

    def _solve_in_span(self, problem, n_components):
        n_rows, n = problem.rows.shape
        if n_rows >= n or not self._lies_in_span:
            return self._solve(problem, n_components)
        span = Span(problem.rows.X, FirstLook(problem.means, np.ones(n), None))
        inner = _Problem.of(span.rows(problem.rows))
        directions = self._solve(inner, min(n_components, n_rows))
        directions.W = span.lift(directions.W)
        return directions

    def _store(self, X, classes, problem, directions):
        W = _linalg.fix_signs(directions.W)
        record = problem.rows.run(problem.query(W, q=2.0, scatter=False))
        covariance = kept_covariance(record, unbiased=True)
        between = W.T @ problem.between_factor
        ridge = RULE_RIDGE * (np.trace(covariance) + np.sum(between**2))
        covariance[np.diag_indices_from(covariance)] += ridge
        rule = linear_rule(W, covariance, problem.means, problem.priors)
        self._remember_features(X)
        self.classes_ = classes
        self.priors_ = problem.priors
        self.means_ = problem.means
        self.xbar_ = self.priors_ @ self.means_
        self.scalings_ = W
        self.coef_, self.intercept_ = rule
        self.n_iter_ = directions.n_iter
        self.status_ = directions.status
        if directions.objective_path is not None:
            self.objective_path_ = directions.objective_path

    def _warn(self, wanted):
        found = self.scalings_.shape[1]
        if found < wanted:
            self.status_ = "rank_deficient"
        if self.status_ != "converged":
            remedy = _REMEDIES[self.status_].format(
                found=found, wanted=wanted, max_iter=getattr(self, "max_iter", None)
            )
            warnings.warn(f"{self.status_}: {remedy}.", ConvergenceWarning, stacklevel=3)


class _FisherMethod(_Compared):
    """A method of rank n_classes - 1 at most."""

    def _max_components(self, n_classes, n_features):
        return min(n_classes - 1, n_features), (
            f"min(n_classes - 1, n_features)={min(n_classes - 1, n_features)}"
        )


class LDA(_FisherMethod):
    """Linear discriminant analysis.

    Maximises ``tr((W'S_w W)^{-1} W'S_b W)``. The within-class scatter is whitened by a
    singular value decomposition of the centred rows and never formed. Where it is singular
    its pseudo-inverse is used, which discards directions without within-class scatter.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None takes min(n_classes - 1, n_features), the most there are.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Directions, best first, with ``W'S_w W = I``.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : int
    status_ : {"converged", "rank_deficient"}

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Same subspace, more options.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.compared import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA(n_components=1).fit(X, y).transform(X).shape
    (150, 1)
    """

    def __init__(self, n_components=None):
        self.n_components = n_components

    def _solve(self, problem, n_components):
        rows = problem.rows
        H = rows.X - problem.means[rows.codes]
        scale = np.sqrt(np.mean(H**2, axis=0))
        scale[scale == 0.0] = 1.0
        H /= scale * np.sqrt(len(H))
        _, values, vectors = linalg.svd(
            H, full_matrices=False, overwrite_a=True, check_finite=False
        )
        kept = values > _linalg.RANK_CUTOFF * values[0]
        if not kept.any():
            raise ValueError(
                "No row differs from the mean of its class, so that there is no within-class "
                "scatter to compare with; use RDA."
            )
        whitening = (vectors[kept] / values[kept, None]).T / scale[:, None]
        left, values, _ = linalg.svd(
            whitening.T @ problem.between_factor, full_matrices=False, check_finite=False
        )
        rank = np.sum(values > _linalg.RANK_CUTOFF * values[0])
        return _Directions(whitening @ left[:, : min(n_components, rank)])


class RDA(_FisherMethod):
    """Regularised linear discriminant analysis: LDA with a ridge.

    Takes the leading directions of ``S_b w = mu (S_w + gamma I) w``. The paper cites
    Friedman's regularised discriminant analysis, which is a classifier with two
    parameters; what it uses has one parameter on the grid 1e-5, ..., 10, which is read as
    this ridge.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None takes min(n_classes - 1, n_features), the most there are.
    gamma : float, default=1e-2
        The ridge, in squared units of the features; the paper scales them to [0, 1].
    relative : bool, default=False
        Whether gamma counts in mean within-class variances, ``tr(S_w) / n_features``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Directions, best first, with ``W'(S_w + gamma I) W = I``.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : int
    status_ : {"converged", "rank_deficient"}

    References
    ----------
    .. [1] J. H. Friedman, "Regularized discriminant analysis", Journal of the American
       Statistical Association 84, 1989.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.compared import RDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RDA(gamma=0.1).fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(self, n_components=None, *, gamma=1e-2, relative=False):
        self.n_components = n_components
        self.gamma = gamma
        self.relative = relative

    def _check_parameters(self):
        check_real("gamma", self.gamma, 0.0, _LARGEST, _POSITIVE)
        if not isinstance(self.relative, (bool, np.bool_)):
            raise TypeError(f"relative={self.relative!r} must be True or False.")

    def _solve(self, problem, n_components):
        A = problem.within_scatter() / problem.sizes.sum()
        unit = np.trace(A) / len(A) if self.relative else 1.0
        A[np.diag_indices_from(A)] += self.gamma * (unit or 1.0)
        try:
            W = _linalg.leading_directions(A, problem.between_factor)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"gamma={self.gamma!r} is too small for the units of these data, whose scatter "
                f"is singular; increase gamma or scale the features."
            ) from error
        return _Directions(W[:, :n_components])


class RLDA(_Compared):
    """Robust linear discriminant analysis with an L1 between-class term.

    One direction minimises ``-sum_i N_i |w'(m_i - m)| + lam w'S_w w`` [1]_; the next does
    so in the orthogonal complement. The within-class term is squared, so that it is not
    robust against far rows. With two classes the direction is that of LDA.

    The minimum is ``S_w^{-1} X_0 s / (2 lam)`` for the best sign vector s, where X_0 has
    the columns ``N_i (m_i - m)``. So lam only scales the direction, which is then
    normalised. S_w gets a ridge of 1e-6 of the mean variance: where it is singular, as it
    is after any deflation of fewer rows than features, the objective has no minimum.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    method : {"dca", "admm"}, default="dca"
        "dca" finds the best sign vector: all are tried for up to 15 classes, above that
        monotone steps start from every class mean and from LDA. "admm" is the published
        algorithm, with an exact proximal step and deflation by a unit vector (the published
        one uses w as it is, which does not project). It need not converge; what it then
        returns depends on rho and the random start.
    lam : float, default=1.0
        Weight of the within-class term. Not used by "dca".
    rho : float, default=1.0
        Penalty of "admm".
    max_iter : int, default=1000
        Largest number of iterations per direction.
    tol : float, default=1e-3
        "admm" ends when its primal and dual residuals are below this.
    random_state : int, RandomState instance or None, default=None
        Start of "admm".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions in the order in which they were found.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    objective_path_ : list of ndarray
        Objective of each direction by iteration; "dca" never increases it.
    n_iter_ : int
        Iterations for all directions.
    status_ : {"converged", "max_iter", "rank_deficient"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, W. Yin, M.-Z. Liu, "Robust and sparse linear discriminant
       analysis via an alternating direction method of multipliers", IEEE Transactions on
       Neural Networks and Learning Systems 31, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.compared import RLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> RLDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(
        self,
        n_components=None,
        *,
        method="dca",
        lam=1.0,
        rho=1.0,
        max_iter=1000,
        tol=1e-3,
        random_state=None,
    ):
        self.n_components = n_components
        self.method = method
        self.lam = lam
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self):
        check_choice("method", self.method, ("dca", "admm"))
        check_real("lam", self.lam, 0.0, _LARGEST, _POSITIVE)
        check_real("rho", self.rho, 0.0, _LARGEST, _POSITIVE)
        _check_iteration(self)

    def _solve(self, problem, n_components):
        S = _ridged(problem)
        X0 = problem.deviations * problem.sizes
        B = problem.between_factor
        random = check_random_state(self.random_state)

        def solve_one(basis):
            inner, pulls = basis.T @ S @ basis, basis.T @ X0
            if self.method == "admm":
                return _signed_admm(
                    inner, pulls, self.lam, self.rho, self.tol, self.max_iter, random
                )
            signs = _sign_starts(inner, pulls, basis.T @ B)
            return _signed_minimum(inner, pulls, signs, self.lam, self.max_iter)

        return _one_by_one(problem, n_components, solve_one)


class LDAL1(_Compared):
    """Linear discriminant analysis with L1 norms.

    One direction maximises ``sum_i N_i |w'(m_i - m)| / sum_j |w'h_j|`` over unit vectors
    [1]_ [2]_; the next does so in the orthogonal complement. Absolute values of the rows are
    smoothed, ``sqrt((w'h_j)^2 + floor^2)`` with a floor of 1e-3 of their initial median.
    The ratio has many local optima: it is climbed from the LDA direction and from the best
    class mean, and the better end is kept.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    solver : {"ascent", "mm"}, default="ascent"
        "ascent" is the published gradient ascent with a fixed step, of which the best iterate
        is kept; it is not monotone. "mm" needs no step size and never makes the ratio worse:
        each step minimises a quadratic majorant on the unit sphere.
    learning_rate : float, default=0.1
        Step size of "ascent"; the paper tunes it between 1e-6 and 1e2.
    max_iter : int, default=100
        Largest number of passes over the rows per direction and start.
    tol : float, default=1e-6
        The iteration ends when the ratio or the direction changes by less than this
        (the ratio: relatively).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions in the order in which they were found.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    objective_path_ : list of ndarray
        Within-class over between-class sum of each direction by iteration, the reciprocal
        of the ratio above; "mm" never increases it.
    n_iter_ : int
        Iterations for all directions.
    status_ : {"converged", "max_iter", "rank_deficient"}

    References
    ----------
    .. [1] F. Zhong, J. Zhang, "Linear discriminant analysis based on L1-norm maximization",
       IEEE Transactions on Image Processing 22, 2013.
    .. [2] H. Wang, X. Lu, Z. Hu, W. Zheng, "Fisher discriminant analysis with L1-norm", IEEE
       Transactions on Cybernetics 44, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda.compared import LDAL1
    >>> X, y = load_iris(return_X_y=True)
    >>> LDAL1(solver="mm").fit(X, y).transform(X).shape
    (150, 2)
    """

    _lies_in_span = True

    def __init__(
        self, n_components=None, *, solver="ascent", learning_rate=0.1, max_iter=100, tol=1e-6
    ):
        self.n_components = n_components
        self.solver = solver
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self):
        check_choice("solver", self.solver, ("ascent", "mm"))
        check_real("learning_rate", self.learning_rate, 0.0, _LARGEST, _POSITIVE)
        _check_iteration(self)

    def _solve(self, problem, n_components):
        S = _ridged(problem)

        def solve_one(basis):
            inner = problem.project(basis)
            starts = _starts(basis.T @ S @ basis, inner.between_factor)
            floor = _floor(inner, starts[0])
            return min(
                (self._climb(inner, start, floor) for start in starts),
                key=lambda found: min(found.objective_path),
            )

        return _one_by_one(problem, n_components, solve_one)

    def _climb(self, problem, start, floor):
        if self.solver == "ascent":
            ratio = _RatioAscent(problem, start, floor, self.tol, self.learning_rate)
        else:
            ratio = _RatioMajorizer(problem, start, floor, self.tol)
        trace = iterate(problem.rows, ratio, self.max_iter)
        return _Directions(ratio.best, trace.status, trace.n_iter, np.array(ratio.objective_path))


class L2BLDA(_Compared):
    """Discriminant analysis by the L2 Bhattacharyya bound.

    Minimises over orthonormal W [1]_::

        delta sum_j ||W'h_j||^2 - sum_{i<k} t_ik ||W'(m_i - m_k)||^2,
        t_ik = sqrt(N_i N_k) / N,   delta = sum_{i<k} t_ik ||m_i - m_k||^2 / 4

    by one eigendecomposition. It has no parameter, but the answer depends on the units of
    the data: the first term is of fourth order in them, the second of second order. In
    large units the directions of least variance win, in small ones the differences of the
    means. It also depends on the number of rows. Scale features to [0, 1] as the paper does.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions, best first.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : int
    status_ : {"converged"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, Z. Wang, N.-Y. Deng, "Robust Bhattacharyya bound linear
       discriminant analysis through adaptive algorithm", arXiv:1811.02384, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from cappedlda.compared import L2BLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> L2BLDA(n_components=3).fit_transform(minmax_scale(X), y).shape
    (150, 3)
    """

    def __init__(self, n_components=None):
        self.n_components = n_components

    def _solve(self, problem, n_components):
        return _Directions(_l2_bound(problem, n_components))


class L1BLDA(_Compared):
    """Discriminant analysis by the L1 Bhattacharyya bound.

    Minimises over orthonormal W [1]_::

        delta sum_j ||W'h_j||_1 - sum_{i<k} t_ik ||W'(m_i - m_k)||_1,   t_ik = sqrt(N_i N_k) / N

    with sums of absolute entries, so that not only the subspace but W itself matters. It
    depends on the units of the data as `L2BLDA` does.

    Parts of this method are a reconstruction, as the full text was not at hand: the constant
    ``delta = sum_{i<k} t_ik ||m_i - m_k||_1 / 4`` is taken by analogy to L2BLDA. The published
    algorithm, an alternating direction method without guarantee, is replaced by a monotone
    one for the same objective: each sweep minimises, column by column and then by plane
    rotations, a quadratic majorant that touches the objective at W. Absolute values of the
    rows are smoothed as in `LDAL1`. It starts from L2BLDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, up to n_features; None takes min(n_classes - 1, n_features).
    max_iter : int, default=200
        Largest number of sweeps. A sweep passes over the rows once per column.
    tol : float, default=1e-5
        The iteration ends when the objective changes by less than this share of its terms.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    xbar_ : ndarray of shape (n_features,)
    scalings_ : ndarray of shape (n_features, n_components)
        Orthonormal directions.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
    intercept_ : ndarray of shape (n_classes,) or (1,)
    objective_path_ : ndarray of shape (n_sweeps,)
        Objective by sweep; it never rises.
    n_iter_ : int
        Sweeps.
    status_ : {"converged", "max_iter"}

    References
    ----------
    .. [1] C.-N. Li, Y.-H. Shao, Z. Wang, N.-Y. Deng, "Robust Bhattacharyya bound linear
       discriminant analysis through adaptive algorithm", arXiv:1811.02384, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import minmax_scale
    >>> from cappedlda.compared import L1BLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> L1BLDA().fit_transform(minmax_scale(X), y).shape
    (150, 2)
    """

    def __init__(self, n_components=None, *, max_iter=200, tol=1e-5):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self):
        _check_iteration(self)

    def _solve(self, problem, n_components):
        W = _l2_bound(problem, n_components)
        floor = _floor(problem, W) / np.sqrt(n_components)
        bound = _BoundMajorizer(problem, W, floor, self.tol)
        trace = iterate(problem.rows, bound, self.max_iter * n_components)
        path = np.array(bound.objective_path)
        return _Directions(bound.W, trace.status, len(path), path)


def _check_iteration(estimator):
    check_count("max_iter", estimator.max_iter, 1, np.inf, "use a positive integer")
    check_real("tol", estimator.tol, 0.0, _LARGEST, "use a small positive number")


def _check_means(problem):
    spread = np.abs(problem.rows.X - problem.means[0]).max()
    if np.abs(problem.deviations).max() <= SAME_MEANS * spread:
        raise ValueError(
            "The means of all classes are the same, so that no direction separates them; a "
            "method that compares means cannot be fitted to these data."
        )


def _ridged(problem):
    """Return S_w with its ridge."""
    S = problem.within_scatter() / problem.sizes.sum()
    mean_variance = np.trace(S) / len(S)
    # Without any within-class scatter the between-class one gives the unit.
    unit = mean_variance or np.sum(problem.between_factor**2) / len(S)
    S[np.diag_indices_from(S)] += RIDGE * unit
    return S


def _one_by_one(problem, n_components, solve_one):
    """Find directions one after the other, each in the complement of those before.

    `solve_one(basis)` returns the direction in the coordinates of a basis of the complement,
    as `_Directions`. It ends early where the class means no longer differ.
    """
    deviations = problem.deviations
    basis = np.eye(len(deviations))
    columns, found = [], []
    while len(columns) < n_components:
        left = linalg.norm(basis.T @ deviations)
        if left <= SAME_MEANS * linalg.norm(deviations):
            break
        direction = solve_one(basis)
        w = direction.W / linalg.norm(direction.W)
        columns.append(basis @ w)
        basis = basis @ _complement(w[:, None])
        found.append(direction)
    return _Directions(
        np.stack(columns, axis=1),
        "converged" if all(one.status == "converged" for one in found) else "max_iter",
        sum(one.n_iter for one in found),
        [one.objective_path for one in found],
    )


def _complement(W):
    """Return an orthonormal basis of the vectors orthogonal to the columns of W (n, d)."""
    return linalg.qr(W, check_finite=False)[0][:, W.shape[1] :]


def _signs(values):
    """Return the signs, with +1 for zero."""
    return np.where(values < 0.0, -1.0, 1.0)


def _sign_starts(S, X0, B):
    """Return sign vectors of length c in rows: all, or those of the class means and of LDA."""
    n_classes = X0.shape[1]
    if n_classes <= MAX_ENUMERATED_CLASSES:
        # The last sign may be fixed, as s and -s are the same direction.
        return 1.0 - 2.0 * (np.arange(2 ** (n_classes - 1))[:, None] >> np.arange(n_classes) & 1)
    lda = _linalg.leading_directions(S, B)[:, :1]
    return _signs(np.hstack([B, lda]).T @ X0)


def _signed_minimum(S, X0, signs, lam, max_iter):
    """Minimise -||X0'w||_1 + lam w'Sw, whose minima are w = S^{-1} X0 s / (2 lam), s = +-1.

    The steps s <- sign(X0'w) never increase it. All rows of `signs` are starts; the best
    end is returned.
    """
    Y = _linalg.solve_spd(S, X0)
    G = X0.T @ Y
    tolerance = np.finfo(float).eps * np.abs(G).sum() / lam
    paths, status = [], "max_iter"
    for _ in range(max_iter):
        images = signs @ G
        values = (np.sum(signs * images, axis=1) / 4.0 - np.sum(np.abs(images), axis=1) / 2.0) / lam
        if paths and np.all(values >= paths[-1] - tolerance):
            status = "converged"
            break
        paths.append(values)
        before, signs = signs, _signs(images)
    best = np.argmin(paths[-1])
    path = np.array(paths)[:, best]
    return _Directions(Y @ before[best] / (2.0 * lam), status, len(path), path)


def _signed_admm(S, X0, lam, rho, tol, max_iter, random):
    """Minimise -||X0'w||_1 + lam w'Sw by the published splitting y = X0'z, w = z."""
    n, n_classes = X0.shape
    factor = linalg.cho_factor(X0 @ X0.T + np.eye(n) + (2.0 * lam / rho) * S)
    w, u2 = random.standard_normal((2, n))
    y, u1 = random.standard_normal((2, n_classes))
    path, status = [], "max_iter"
    for _ in range(max_iter):
        z = linalg.cho_solve(factor, X0 @ (y - u1) + w + u2)
        image = X0.T @ z
        before, v = y, image + u1
        y = v + _signs(v) / rho
        w = z - u2
        u1 = u1 + image - y
        u2 = u2 + w - z
        path.append(lam * z @ S @ z - np.abs(image).sum())
        residuals = linalg.norm(image - y), linalg.norm(w - z), rho * linalg.norm(X0 @ (y - before))
        if max(residuals) <= tol:
            status = "converged"
            break
    return _Directions(w, status, len(path), np.array(path))


def _starts(S, B):
    """Return unit vectors to start from: the LDA direction and the best class mean."""
    lda = _linalg.leading_directions(S, B)[:, :1]
    squares = np.sum(B**2, axis=0)
    within = np.sum(B * (S @ B), axis=0)
    ratios = np.divide(squares**2, within, out=np.zeros_like(within), where=within > 0.0)
    best = np.argmax(ratios)
    return [lda / linalg.norm(lda), B[:, [best]] / np.sqrt(squares[best])]


def _floor(problem, W):
    """Return the floor of the absolute values, from their median at the start."""
    # Where that start sees no scatter at all, as with few rows, the spread of the data counts.
    spread = np.sqrt(np.mean(np.var(problem.rows.X, axis=0)))
    return FLOOR * max(problem.median_distance(W), FLOOR * spread)


@dataclass
class _L1Ratio(Iteration):
    """Minimise sum_j |w'h_j| / sum_i N_i |w'(m_i - m)| over unit vectors w; a base.

    A pass at w gives the smoothed numerator and A = sum_j h_j h_j' / |w'h_j|, so that
    A w = sum_j sign(w'h_j) h_j.
    """

    problem: _Problem
    w: np.ndarray
    floor: float
    tol: float
    best: np.ndarray | None = field(default=None, init=False)
    change: float = field(default=np.inf, init=False)
    objective_path: list = field(default_factory=list, init=False)

    def query(self):
        """Return what the next pass should evaluate."""
        return self.problem.query(self.w, q=1.0, floor=self.floor)

    def advance(self, record):
        """Move to the next direction; return a status once it is the last one."""
        path, w = self.objective_path, self.w[:, 0]
        pulls = self.problem.deviations * self.problem.sizes
        p = pulls @ _signs(w @ pulls)
        # Where w is orthogonal to all means this makes a step towards them.
        between = max(w @ p, np.finfo(float).eps * linalg.norm(p))
        ratio = record.objective / between
        if not path or ratio < min(path):
            self.best = w
        path.append(ratio)
        following = self._step(w, record.scatter, p / between, record.objective)
        following /= linalg.norm(following)
        self.w = following[:, None]
        self.change = linalg.norm(following - w)
        if len(path) > 1:
            self.change = min(self.change, abs(1.0 - ratio / path[-2]))
        return "converged" if self.change <= self.tol else None


@dataclass
class _RatioAscent(_L1Ratio):
    """Gradient ascent of the logarithm of the ratio, with a fixed step: as published."""

    learning_rate: float

    def _step(self, w, A, p, within):
        q = A @ w
        return w + self.learning_rate * (p - q / max(w @ q, np.finfo(float).tiny))


class _RatioMajorizer(_L1Ratio):
    """Monotone steps.

    With f and g the two sums, f(v) <= (v'Av + f(w)) / 2 and g(v) >= g(w) p'v, with equality
    at v = w. So the minimum of v'Av / 2 - f(w) p'v on the sphere has f - (f(w) / g(w)) g <= 0.
    """

    def _step(self, w, A, p, within):
        return _sphere_minimiser(A, within * p)


class _BoundMajorizer(Iteration):
    """Minimise delta sum_j ||W'h_j||_1 - sum_{i<k} t_ik ||W'(m_i - m_k)||_1 over W'W = I.

    A pass looks at one column w and gives A = sum_j h_j h_j' / |w'h_j|. When all columns have
    been seen, w'Aw / 2 and the tangent of the second sum make a majorant, which one round of
    exact minimisations decreases: over each column in the complement of the others, and over
    the rotations of each pair.

    Parameters
    ----------
    problem : _Problem
    W : ndarray of shape (n, d)
        Orthonormal start.
    floor : float
    tol : float
        On the change of the objective relative to the sizes of its terms.
    """

    def __init__(self, problem, W, floor, tol):
        self.W = W
        self.change = np.inf
        self.objective_path = []
        self._problem = problem
        self._floor = floor
        self._tol = tol
        self._pulls = _pairwise_pulls(problem)
        self._delta = np.abs(self._pulls).sum() / 4.0
        self._scatters = []
        self._within = 0.0

    def query(self):
        """Return what the next pass should evaluate."""
        column = len(self._scatters)
        return self._problem.query(self.W[:, [column]], q=1.0, floor=self._floor)

    def advance(self, record):
        """Note a column; after the last one move to the next W, or return a status."""
        self._scatters.append(self._delta * record.scatter)
        self._within += self._delta * record.objective
        if len(self._scatters) < self.W.shape[1]:
            return None
        between = np.abs(self.W.T @ self._pulls).sum()
        objective = self._within - between
        if self.objective_path:
            self.change = abs(self.objective_path[-1] - objective) / (self._within + between)
        self.objective_path.append(objective)
        if self.change <= self._tol:
            return "converged"
        self.W = self._improved()
        self._scatters, self._within = [], 0.0
        return None

    def _improved(self):
        W, scatters = self.W.copy(), self._scatters
        tangents = self._pulls @ _signs(self._pulls.T @ W)
        columns = range(W.shape[1])
        for k in columns:
            basis = _complement(np.delete(W, k, axis=1))
            W[:, k] = basis @ _sphere_minimiser(
                basis.T @ scatters[k] @ basis, basis.T @ tangents[:, k]
            )
        for k, other in combinations(columns, 2):
            plane = W[:, [k, other]]
            turned = plane @ np.array([[0.0, -1.0], [1.0, 0.0]])
            A = plane.T @ scatters[k] @ plane + turned.T @ scatters[other] @ turned
            x = _sphere_minimiser(A, plane.T @ tangents[:, k] + turned.T @ tangents[:, other])
            W[:, k], W[:, other] = plane @ x, turned @ x
        return W


def _pair_weights(problem):
    """Return t_ik = sqrt(N_i N_k) / N, shape (c, c)."""
    roots = np.sqrt(problem.priors)
    return np.outer(roots, roots)


def _pairwise_pulls(problem):
    """Return t_ik (m_i - m_k) for i < k in columns."""
    first, second = np.triu_indices(len(problem.means), 1)
    weights = _pair_weights(problem)[first, second]
    return ((problem.means[first] - problem.means[second]) * weights[:, None]).T


def _l2_bound(problem, n_components):
    """Return the minimiser of the L2 bound, shape (n, d)."""
    weights, M = _pair_weights(problem), problem.deviations
    # sum_{i<k} t_ik (m_i - m_k)(m_i - m_k)', by the Laplacian of the weights
    between = (M * weights.sum(axis=1)) @ M.T - M @ weights @ M.T
    delta = np.trace(between) / 4.0
    bound = delta * problem.within_scatter() - between
    return linalg.eigh(bound, subset_by_index=[0, n_components - 1], check_finite=False)[1]


def _sphere_minimiser(A, b):
    """Return the unit vector that minimises v'Av / 2 - b'v.

    It is (A + s I)^{-1} b for the s >= -lambda_min that makes it a unit vector.
    """
    values, vectors = linalg.eigh(A, check_finite=False)
    gaps, beta = values - values[0], vectors.T @ b
    limits = np.finfo(float)
    shortest = max(abs(beta[0]), limits.eps * max(linalg.norm(beta), gaps[-1]), limits.tiny)

    def shortfall(shift):
        return 1.0 / linalg.norm(beta / (gaps + shift)) - 1.0

    if not beta.any() or shortfall(shortest) >= 0.0:
        # Even the smallest shift gives too short a vector: fill up along the lowest direction.
        v = beta / (gaps + shortest)
        v[0] = np.copysign(np.sqrt(max(1.0 - v[1:] @ v[1:], 0.0)), beta[0])
    else:
        longest = 2.0 * linalg.norm(beta)
        shift = brentq(
            shortfall, shortest, longest, xtol=limits.eps * shortest, rtol=4.0 * limits.eps
        )
        v = beta / (gaps + shift)
    v = vectors @ v
    return v / linalg.norm(v)
