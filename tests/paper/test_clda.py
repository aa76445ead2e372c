"""Algorithm 1 as published: the iterates, and its failures with their remedies."""

import subprocess
import sys

import numpy as np
import pytest
import reference
from common import angle, make_classes, rows_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda._rules.fences import REACH
from cappedlda.paper import CLDA
from cappedlda.paper._iteration import PaperIteration

FLOOR = 1e-3


# On the random labels of these checks the projection grows up to 1e22, and rounding with it. Below,
# where it converges, weights are repetitions.
GROWS = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "the published iteration need not converge",
)


@parametrize_with_checks([CLDA(epsilon=np.inf)], expected_failed_checks=lambda _: GROWS)
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def problem(rng):
    return make_classes(rng, [30, 40, 25], 5, spread=2.0)


def published(X, y, W, epsilon, tol=1e-12):
    rows = rows_of(X, y)
    return rows, PaperIteration(rows, W, epsilon, tol)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("epsilon", [25.0, 1e3, np.inf])
def test_iterates_and_ratios_match_the_reference(problem, d, epsilon):
    X, y = problem
    rows, method = published(X, y, np.eye(5, d), epsilon)
    start = reference.projected_norms(X, y, np.eye(5, d), rows.class_means())
    assert method.frame.floor == pytest.approx(FLOOR * np.median(start), rel=0.1)
    iterates, ratios = reference.algorithm_1(X, y, np.eye(5, d), epsilon, method.frame.floor, 8)
    for t in range(8):
        assert angle(method.W, iterates[t]) < 1e-6
        # Not only the space: the length of the columns decides what the cap does next.
        np.testing.assert_allclose(np.abs(method.W), np.abs(iterates[t]), atol=1e-7)
        assert method.step(rows.run(method.query())) is None
        assert method.objective_path[t] == pytest.approx(ratios[t], rel=1e-6)


def test_a_binding_epsilon_caps_rows_in_the_reference_too(problem):
    # The test above would mean little if its epsilon capped nothing.
    X, y = problem
    H_b = reference.class_factors(X, y)[1]
    s = np.linalg.norm(np.eye(5, 2).T @ H_b, axis=0)
    epsilon = np.sort(s)[1] * 1.01  # between the class means: one of three is beyond it
    X[0] += 100.0 * np.array([1.0, 1.0, 0.0, 0.0, 0.0])  # and so is a row
    rows, method = published(X, y, np.eye(5, 2), epsilon)
    norms = reference.projected_norms(X, y, np.eye(5, 2), rows.class_means())
    assert 0 < np.sum(norms > epsilon) < len(y)
    iterates, ratios = reference.algorithm_1(X, y, np.eye(5, 2), epsilon, method.frame.floor, 1)
    assert method.step(rows.run(method.query())) is None
    assert method.objective_path[0] == pytest.approx(ratios[0], rel=1e-6)
    assert angle(method.W, iterates[1]) < 1e-6


def test_the_fit_is_the_limit_of_the_iteration(problem):
    X, y = problem
    model = CLDA(epsilon=np.inf, tol=1e-8).fit(X, y)
    assert model.status_ == "converged"
    iterates, ratios = reference.algorithm_1(
        X, y, np.eye(5, 2), np.inf, FLOOR * 1.0, model.n_iter_ + 20
    )
    assert angle(model.scalings_, iterates[-1]) < 1e-3
    assert model.objective_path_[-1] == pytest.approx(ratios[-1], rel=1e-3)
    np.testing.assert_allclose(model.means_, [X[y == i].mean(axis=0) for i in range(3)])
    assert not model.outliers_.any()
    assert model.score(X, y) > 0.9


def test_a_start_array_is_used(rng, problem):
    X, y = problem
    W = rng.normal(size=(5, 2))
    model = CLDA(epsilon=np.inf, start=W).fit(X, y)
    H_w, H_b = reference.class_factors(X, y)
    assert model.objective_path_[0] == pytest.approx(
        reference.paper_ratio(W, H_w, H_b, np.inf), rel=1e-4
    )
    assert model.objective_path_[0] != pytest.approx(
        reference.paper_ratio(np.eye(5, 2), H_w, H_b, np.inf), rel=1e-4
    )


def test_a_large_epsilon_is_vacuous(problem):
    X, y = problem
    fits = [CLDA(epsilon=e).fit(X, y) for e in (1e3, 1e5, np.inf)]
    for other in fits[1:]:
        np.testing.assert_allclose(other.scalings_, fits[0].scalings_, rtol=1e-9)
        np.testing.assert_allclose(other.objective_path_, fits[0].objective_path_, rtol=1e-9)
    assert not any(fit.outliers_.any() for fit in fits)


def check_failed(model, X, d):
    """Check that a failed fit is still a finite projection of the asked width."""
    assert model.scalings_.shape == (X.shape[1], d)
    for name in ("scalings_", "coef_", "intercept_", "distances_", "objective_path_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_saturated(problem, share):
    # Every class mean is beyond epsilon: no between-class term is left.
    X, y = problem
    H_b = reference.class_factors(X, y)[1]
    epsilon = share * np.min(np.linalg.norm(H_b[:2], axis=0))
    match = f"saturated: epsilon={epsilon:.3g} .*class mean.*increase epsilon.*use CappedLDA"
    with pytest.warns(ConvergenceWarning, match=match):
        model = CLDA(epsilon=epsilon).fit(X, y)
    assert model.status_ == "saturated"
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.scalings_, np.eye(5, 2))
    check_failed(model, X, 2)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4])
def test_all_capped(problem, epsilon):
    X, y = problem
    match = f"all_capped: epsilon={epsilon:.3g} .*every row.*increase epsilon"
    with pytest.warns(ConvergenceWarning, match=match):
        model = CLDA(epsilon=epsilon).fit(X, y)
    assert model.status_ == "all_capped"
    assert model.outliers_.all()
    np.testing.assert_array_equal(model.weights_, 0.0)
    check_failed(model, X, 2)


def test_rank_deficient(problem):
    # Three classes have two directions with a finite eigenvalue.
    X, y = problem
    with pytest.warns(
        ConvergenceWarning, match="rank_deficient: Only 2 of 4 directions .*decrease n_components"
    ):
        model = CLDA(4, epsilon=np.inf).fit(X, y)
    assert model.status_ == "rank_deficient"
    check_failed(model, X, 4)


def test_max_iter(problem):
    X, y = problem
    with pytest.warns(
        ConvergenceWarning, match=r"\(tol=1.0e-06\) after 2 passes; increase max_iter or tol"
    ):
        model = CLDA(epsilon=np.inf, max_iter=2).fit(X, y)
    assert model.status_ == "max_iter"
    assert model.n_iter_ == 2
    check_failed(model, X, 2)


def test_the_automatic_epsilon_is_the_fence_of_the_start(problem):
    X, y = problem
    norms = reference.projected_norms(X, y, np.eye(5, 2), rows_of(X, y).class_means())
    model, epsilon = CLDA().fit(X, y), np.median(norms)
    for _ in range(50):  # it grows from the nearer half
        half, most = np.quantile(norms[norms <= 1.05 * epsilon], [0.5, 0.9])
        epsilon = most + REACH * (most - half)
    assert model.epsilon_ == pytest.approx(epsilon, rel=0.1)


def test_sample_weights_are_repetitions(rng, problem):
    X, y = problem
    weight = rng.integers(1, 4, size=len(y))
    weighted = CLDA(epsilon=np.inf).fit(X, y, sample_weight=weight)
    repeated = CLDA(epsilon=np.inf).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.scalings_, repeated.scalings_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.objective_path_, repeated.objective_path_, rtol=1e-9)


def test_more_features_than_rows(rng, dtype):
    X, y = make_classes(rng, [8, 7, 6], 40, dtype=dtype)
    model = CLDA(epsilon=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_the_scale_of_the_data_does_not_matter(problem, scale):
    X, y = problem
    model = CLDA(epsilon=np.inf).fit(X, y)
    other = CLDA(epsilon=np.inf).fit(scale * X, y)
    assert angle(other.scalings_ * scale, model.scalings_) < 1e-6
    np.testing.assert_array_equal(other.predict(scale * X), model.predict(X))


@pytest.mark.parametrize("epsilon", ["auto", 1.0, np.inf])
@pytest.mark.parametrize(
    ("scale", "kind"), [(1e30, "f4"), (1e-30, "f4"), (1e200, "f8"), (1e300, "f8"), (1e-200, "f8")]
)
def test_units_beyond_the_squares_of_numbers_are_refused(problem, scale, kind, epsilon):
    X, y = problem
    with pytest.raises(ValueError, match=r"leave the range of float.*scale X, or use CappedLDA"):
        CLDA(epsilon=epsilon).fit((scale * X).astype(kind), y)


@pytest.mark.parametrize(("n_others", "epsilon"), [(0, "auto"), (0, np.inf), (5, np.inf)])
def test_start_that_sees_most_rows_on_their_class_means(rng, n_others, epsilon):
    X, y = make_classes(rng, [30, 40], 4, spread=3.0)
    X[:, 0] = 0.0
    X[:n_others, 0] = 1.0
    model = CLDA(1, epsilon=epsilon).fit(X, y)
    assert model.status_ == "converged"
    assert np.isfinite(model.scalings_).all()


def test_sparse_rows_are_those_of_an_array(clean):
    X, y = clean
    model = CLDA(epsilon=np.inf).fit(sparse.csr_array(X), y)
    dense = CLDA(epsilon=np.inf).fit(X, y)
    assert angle(model.scalings_, dense.scalings_) < 1e-6


def test_many_sparse_features_are_refused():
    X, y = sparse.eye_array(40, 1200, format="csr"), np.arange(40) % 2
    with pytest.raises(ValueError, match="n_features=1200, more than 1000, .*use CappedLDA"):
        CLDA().fit(X, y)


@pytest.mark.parametrize("start", ["robust", "lda"])
def test_other_starts_are_refused(clean, start):
    with pytest.raises(ValueError, match=f"start='{start}' is unknown; use one of 'identity'"):
        CLDA(start=start).fit(*clean)


def test_the_paper_is_imported_when_it_is_used():
    program = (
        "import sys, cappedlda; assert 'cappedlda.paper' not in sys.modules; "
        "cappedlda.paper.CLDA; assert 'cappedlda.paper' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)
