import numpy as np
import pytest
import reference_compared as reference
from common import COMPARED, angle, make_classes
from scipy.linalg import expm
from scipy.stats import ortho_group
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda._data.array import ArrayRows
from cappedlda.paper.compared import L1BLDA, L2BLDA, LDA, LDAL1, RDA, RLDA, _ldal1, _rlda
from cappedlda.paper.compared._directions import ridged_scatter
from cappedlda.paper.compared._l1blda import sphere_minimiser
from cappedlda.paper.compared._method import Problem

ORTHONORMAL = [RLDA(), LDAL1(tol=1e-2), L2BLDA(), L1BLDA(tol=1e-2)]


@pytest.fixture
def scaled(clean):
    """Clean classes with features in [0, 1], as the paper has them."""
    X, y = clean
    return minmax_scale(X), y


# One of each base; one that computes in the span of the rows, one that does not.
@parametrize_with_checks([LDA(), RLDA(), L2BLDA()])
def test_estimator_checks(estimator, check):
    # No claim is made about array API input, whose check would only skip itself.
    if check.func.__name__ != "check_array_api_input":
        check(estimator)


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_fitted_attributes(estimator, clean, dtype):
    X, y = clean
    names = np.array(["a", "b", "c"])[y]
    fitted = estimator.fit(X.astype(dtype), names)
    assert list(fitted.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(fitted.priors_, np.bincount(y) / len(y))
    np.testing.assert_allclose(fitted.means_, [X[y == k].mean(axis=0) for k in range(3)], rtol=1e-5)
    np.testing.assert_allclose(fitted.xbar_, X.mean(axis=0), rtol=1e-5)
    assert fitted.scalings_.shape == (6, 2)
    assert fitted.coef_.shape == (3, 6)
    assert fitted.intercept_.shape == (3,)
    assert fitted.n_iter_ >= 1
    assert fitted.status_ == "converged"
    assert fitted.transform(X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_rule_is_lda_in_the_image(estimator, scaled):
    X, y = scaled
    fitted = estimator.fit(X, y)
    Z = fitted.transform(X)
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(Z, y).predict_proba(Z)
    # scikit-learn divides the covariance by N, we by N - c: the log-odds differ by that factor.
    shrunk = (
        LinearDiscriminantAnalysis(solver="lsqr", priors=fitted.priors_)
        .fit(Z, y)
        .decision_function(Z)
    )
    scores = fitted.decision_function(X)
    constant = np.log(fitted.priors_)
    factor = (len(y) - 3) / len(y)
    np.testing.assert_allclose(
        np.diff(scores - constant), factor * np.diff(shrunk - constant), atol=1e-6
    )
    assert np.mean(fitted.predict(X) == expected.argmax(axis=1)) > 0.95


@pytest.mark.parametrize("estimator", ORTHONORMAL, ids=repr)
@pytest.mark.parametrize("n_components", [1, 4, 6])
def test_orthonormal_columns(estimator, n_components, scaled):
    X, y = scaled
    W = estimator.set_params(n_components=n_components).fit(X, y).scalings_
    estimator.set_params(n_components=None)
    np.testing.assert_allclose(W.T @ W, np.eye(n_components), atol=1e-12)


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_more_features_than_rows(estimator, rng):
    X, y = make_classes(rng, [8, 7, 9], 40)
    fitted = estimator.fit(X, y)
    assert fitted.scalings_.shape == (40, 2)
    assert np.isfinite(fitted.predict_log_proba(X)).all()
    assert fitted.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_shift_and_uniform_scale(estimator, clean):
    # The bounds depend on units (see below), but no method on the origin.
    X, y = clean
    base = estimator.fit(X, y).scalings_
    assert angle(estimator.fit(X + 100.0, y).scalings_, base) < 1e-4
    if isinstance(estimator, (LDA, RLDA, LDAL1)):
        assert angle(estimator.fit(1e-3 * X, y).scalings_, base) < 1e-6


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_equal_means_are_refused(estimator):
    X = np.array([[0.0, 1.0], [0.0, -1.0], [2.0, 0.0], [-2.0, 0.0]])
    with pytest.raises(ValueError, match="means of all classes are the same"):
        estimator.fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize(
    "estimator",
    [RDA(), RLDA(), LDAL1(tol=1e-2), L2BLDA(), L1BLDA(tol=1e-2)],
    ids=repr,
)
def test_classes_without_scatter(estimator):
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 0.0], [5.0, 3.0], [5.0, 3.0]])
    y = np.repeat([0, 1, 2], 2)
    assert estimator.fit(X, y).score(X, y) == 1.0


def test_lda_refuses_classes_without_scatter():
    with pytest.raises(ValueError, match="use RDA"):
        LDA().fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_constant_feature(estimator, scaled):
    X, y = scaled
    X = np.hstack([X, np.full((len(X), 1), 7.0)])
    fitted = estimator.fit(X, y)
    assert np.isfinite(fitted.coef_).all()


def test_collinear_means_leave_fewer_directions(rng):
    y = np.repeat([0, 1, 2], 20)
    X = rng.integers(-3, 4, size=(60, 3)).astype(float)
    X[:, 1:] -= np.array([X[y == k, 1:].mean(axis=0) for k in range(3)])[y]
    X[:, 0] += 10.0 * y
    with pytest.warns(ConvergenceWarning, match="only 1 of 2 directions"):
        fitted = LDA().fit(X, y)
    assert fitted.status_ == "rank_deficient"
    assert fitted.scalings_.shape == (3, 1)


# LDA and RDA


@pytest.mark.parametrize("sizes", [[50, 40], [50, 40, 60], [20] * 5])
def test_lda_is_that_of_scikit_learn(rng, sizes):
    X, y = make_classes(rng, sizes, 6)
    theirs = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
    ours = LDA().fit(X, y)
    assert angle(ours.scalings_, theirs.scalings_) < 1e-10
    # The covariance of its rule is divided by N or N - c, depending on the version.
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


def test_lda_of_few_rows_is_that_of_scikit_learn(rng):
    X, y = make_classes(rng, [8, 7, 9], 40)
    theirs = LinearDiscriminantAnalysis(solver="svd", tol=1e-10).fit(X, y)
    assert angle(LDA().fit(X, y).scalings_, theirs.scalings_[:, :2]) < 1e-8


def test_lda_does_not_square_the_condition(rng):
    X, y = make_classes(rng, [50, 40, 60], 4)
    mixing = rng.normal(size=(4, 4)) @ np.diag([1.0, 1.0, 1.0, 1e-7]) @ rng.normal(size=(4, 4))
    assert angle(LDA().fit_transform(X @ mixing, y), LDA().fit_transform(X, y)) < 1e-5


@pytest.mark.parametrize("gamma", [1e-5, 1e-2, 10.0])
def test_rda_against_reference(scaled, gamma):
    X, y = scaled
    fitted = RDA(gamma=gamma).fit(X, y)
    expected = reference.ridge_lda(X, y, gamma, 2)
    for ours, theirs in zip(fitted.scalings_.T, expected.T, strict=True):
        assert angle(ours[:, None], theirs[:, None]) < 1e-8


def test_rda_tends_to_lda(scaled):
    X, y = scaled
    lda = LDA().fit(X, y).scalings_
    angles = [angle(RDA(gamma=gamma).fit(X, y).scalings_, lda) for gamma in (1e-2, 1e-4, 1e-10)]
    assert angles[0] > angles[1] > angles[2]
    assert angles[2] < 1e-6


def test_rda_of_few_rows_lies_in_their_span(rng):
    X, y = make_classes(rng, [8, 7, 9], 40)
    assert angle(RDA().fit(X, y).scalings_, reference.ridge_lda(X, y, 1e-2, 2)) < 1e-8


def test_rda_says_that_gamma_is_too_small(rng):
    X = rng.normal(size=(50, 2))
    X = 1e8 * np.hstack([X, X])
    X[:25] += 1e8
    with pytest.raises(ValueError, match="gamma=1e-10 is too small"):
        RDA(gamma=1e-10).fit(X, np.repeat([0, 1], 25))


# RLDA


def test_rlda_of_two_classes_is_lda(rng):
    X, y = make_classes(rng, [50, 40], 6)
    assert angle(RLDA().fit(X, y).scalings_, LDA().fit(X, y).scalings_) < 1e-5


@pytest.mark.parametrize("n_components", [1, 3, 6])
def test_rlda_against_reference(clean, n_components):
    X, y = clean
    ours = RLDA(n_components).fit(X, y).scalings_
    expected = reference.rlda(X, y, n_components)
    np.testing.assert_allclose(np.abs(np.sum(ours * expected, axis=0)), 1.0, atol=1e-6)


def test_rlda_objective_is_the_one_stated(clean):
    X, y = clean
    fitted = RLDA(1).fit(X, y)
    S = reference.moments(X, y).Sw
    gamma = 1e-6 * np.trace(S) / 6
    w = fitted.scalings_[:, 0]
    # The best multiple of the unit vector: -t p + t^2 s has its minimum -p^2 / (4 s).
    between = -reference.rlda_objective(X, y, w, 0.0, 0.0)
    least = -(between**2) / (4 * w @ (S + gamma * np.eye(6)) @ w)
    np.testing.assert_allclose(fitted.objective_path_[0][-1], least, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 15, 20])
def test_rlda_never_rises(rng, n_classes):
    X, y = make_classes(rng, [12] * n_classes, 8)
    fitted = RLDA(5).fit(X, y)
    assert len(fitted.objective_path_) == 5
    for path in fitted.objective_path_:
        assert np.all(np.diff(path) <= 1e-12 * np.abs(path[0]))


def test_rlda_starts_suffice_with_many_classes(rng):
    X, y = make_classes(rng, [12] * 10, 8)
    problem = Problem.of(ArrayRows(X, y.astype(np.int32), 10))
    S, X0 = ridged_scatter(problem), problem.deviations * problem.sizes
    every, some = (
        _rlda.signed_minimum(S, X0, _rlda.sign_starts(S, X0, problem.between_factor, most), 1000)
        for most in (15, 2)
    )
    assert some.objective_path[-1] <= 0.95 * every.objective_path[-1]


# LDA-L1


def test_ldal1_ascent_against_reference(scaled):
    X, y = scaled
    start = LDA(1).fit(X, y).scalings_[:, 0]
    problem = Problem.of(ArrayRows(X, y.astype(np.int32), 3))
    start /= np.linalg.norm(start)
    floor = 1e-2
    found = _ldal1.ascend(_ldal1.l1_ratio(problem, floor), start, 1e-12, 0.05, 20)
    expected = reference.l1_ascent(X, y, start, floor, 0.05, 20)
    np.testing.assert_allclose(found.objective_path, expected, rtol=1e-9)
    np.testing.assert_allclose(reference.l1_ratio(X, y, found.W, floor), expected.min())


def test_ldal1_keeps_the_best_iterate(scaled):
    X, y = scaled
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fitted = LDAL1(1, learning_rate=2.0, max_iter=30).fit(X, y)
    path = fitted.objective_path_[0]
    assert path[-1] > path.min()
    ratio = reference.l1_ratio(X, y, fitted.scalings_[:, 0])
    np.testing.assert_allclose(ratio, path.min(), rtol=1e-3)


# The bounds


@pytest.mark.parametrize("n_components", [1, 3])
def test_l2blda_against_reference(scaled, rng, n_components):
    X, y = scaled
    W = L2BLDA(n_components).fit(X, y).scalings_
    least = reference.l2_bound_objective(X, y, W)
    # The objective is a quadratic form: its value at the unit vectors gives the matrix.
    form = np.empty((6, 6))
    value = {}
    for i in range(6):
        for k in range(6):
            e = np.eye(6)[i] + np.eye(6)[k]
            value[i, k] = reference.l2_bound_objective(X, y, e[:, None])
    for i in range(6):
        for k in range(6):
            form[i, k] = 0.5 * (value[i, k] - 0.25 * value[i, i] - 0.25 * value[k, k])
    np.testing.assert_allclose(
        least, np.linalg.eigvalsh(form)[:n_components].sum(), rtol=1e-8, atol=1e-10
    )


def test_l2blda_depends_on_units(clean):
    X, y = clean
    means = reference.moments(X, y).D
    least_variance = np.linalg.eigh(reference.moments(X, y).Sw)[1][:, :2]
    small = L2BLDA(2).fit(1e-4 * X, y).scalings_
    large = L2BLDA(2).fit(1e4 * X, y).scalings_
    assert angle(small, np.linalg.svd(means)[0][:, :2]) < 1e-3
    assert angle(large, least_variance) < 1e-2
    assert angle(small, large) > 0.5


@pytest.mark.parametrize("n_components", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_l1blda_never_rises(seed, n_components):
    rng = np.random.default_rng(seed)
    X, y = make_classes(rng, [20, 15, 25], 4)
    fitted = L1BLDA(n_components, tol=1e-9, max_iter=2000).fit(0.01 * X, y)
    path = fitted.objective_path_
    assert len(path) == fitted.n_iter_
    assert np.all(np.diff(path) <= 1e-12 * np.abs(path[0]))
    assert path[-1] < path[0]


def test_l1blda_objective_and_local_minimum(rng):
    X, y = make_classes(rng, [20, 15, 25], 4)
    X = 0.01 * X
    fitted = L1BLDA(2, tol=1e-10, max_iter=5000).fit(X, y)
    W = fitted.scalings_
    here = reference.l1_bound_objective(X, y, W)
    np.testing.assert_allclose(here, fitted.objective_path_[-1], rtol=1e-2)
    for _ in range(200):
        turn = rng.normal(size=(4, 4))
        nearby = expm(0.02 * (turn - turn.T)) @ W
        assert reference.l1_bound_objective(X, y, nearby) >= here - 2e-3 * abs(here)


def test_l1blda_rotates_even_the_whole_space(rng):
    X, y = make_classes(rng, [20, 15, 25], 3)
    X = 0.01 * X
    fitted = L1BLDA(3, tol=1e-9, max_iter=2000).fit(X, y)
    others = [
        reference.l1_bound_objective(X, y, ortho_group.rvs(3, random_state=seed))
        for seed in range(100)
    ]
    assert reference.l1_bound_objective(X, y, fitted.scalings_) <= np.quantile(others, 0.1)


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e-3, 1.0, 1e3])
def test_sphere_minimiser(rng, scale):
    A = rng.normal(size=(2, 2))
    A, b = A + A.T, scale * rng.normal(size=2)
    turns = np.linspace(0.0, 2.0 * np.pi, 100001)
    V = np.array([np.cos(turns), np.sin(turns)])
    least = np.min(0.5 * np.sum(V * (A @ V), axis=0) - b @ V)
    v = sphere_minimiser(A, b)
    np.testing.assert_allclose(v @ v, 1.0)
    assert 0.5 * v @ A @ v - b @ v <= least + 1e-8 * max(scale, 1.0)


def test_sphere_minimiser_in_the_hard_case():
    # b is orthogonal to the lowest direction and too short to reach the sphere.
    v = sphere_minimiser(np.diag([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(np.abs(v), [np.sqrt(0.75), 0.5, 0.0], atol=1e-12)


def test_sphere_minimiser_of_nothing():
    v = sphere_minimiser(np.zeros((3, 3)), np.zeros(3))
    np.testing.assert_allclose(v @ v, 1.0)


# Bad parameters


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (LDA(3), ValueError, r"n_components=3 .* from 1 to min\(n_classes - 1, n_features\)=2"),
        (RDA(0), ValueError, "n_components=0"),
        (RLDA(7), ValueError, "n_components=7 .* n_features=6"),
        (L2BLDA(1.5), TypeError, "n_components=1.5 must be an integer"),
        (RDA(gamma=0.0), ValueError, "gamma=0.0"),
        (RDA(gamma="big"), TypeError, "gamma='big'"),
        (RLDA(max_iter=0), ValueError, "max_iter=0"),
        (LDAL1(learning_rate=0.0), ValueError, "learning_rate=0.0"),
        (LDAL1(tol=-1.0), ValueError, "tol=-1.0"),
        (L1BLDA(max_iter=1.5), TypeError, "max_iter=1.5"),
        (L1BLDA(tol=np.nan), ValueError, "tol=nan"),
    ],
    ids=repr,
)
def test_bad_parameters(estimator, error, message, clean):
    with pytest.raises(error, match=message):
        estimator.fit(*clean)


@pytest.mark.parametrize("estimator", COMPARED, ids=repr)
def test_one_class_is_refused(estimator, clean):
    X, _ = clean
    with pytest.raises(ValueError, match="only one class"):
        estimator.fit(X, np.zeros(len(X)))
