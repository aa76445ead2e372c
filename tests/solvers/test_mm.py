"""The mm solver: what is proved of it holds for what is computed."""

import warnings
from collections import deque

import numpy as np
import pytest
import reference
from common import angle, in_regime, make_classes, rows_of, spoil
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._fit.reweighting import lda_on_support
from cappedlda._initial import initial_estimate
from cappedlda._metrics.frame import Objective
from cappedlda._metrics.row_space import RowSpace
from cappedlda._rules.rule import Query
from cappedlda._solvers.mm import MMSolver, extrapolated
from cappedlda.paper import capped_norm

QS = [0.5, 1.0, 1.5, 2.0]


def majorizer(X, codes, objective, tol=1e-6, sample_weight=None, **renewed):
    rows = rows_of(X, codes, sample_weight)
    priors, initial = rows.class_weights / len(X), initial_estimate(rows, robust=True)
    frame, *_ = lda_on_support(rows, initial, priors, X.shape[1])
    return rows, MMSolver(frame, objective, tol, **renewed)


def lda_subspace(X, y):
    H_w, H_b = reference.class_factors(X, y)
    values, vectors = linalg.eigh(H_b @ H_b.T, H_w @ H_w.T)
    rank = min(len(np.unique(y)) - 1, X.shape[1])
    return vectors[:, ::-1][:, :rank]


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("epsilon", ["auto", 2.0, np.inf])
def test_each_plain_step_is_the_closed_form_of_the_methods(dirty, q, epsilon):
    X, y, _ = dirty
    rows, method = majorizer(X, y, Objective(q, epsilon), memory=1)  # no acceleration
    n_compared = 0
    for _ in range(20):
        W, frame = method.W, method.frame
        status = method.step(rows.run(method.query()))
        B = reference.between_factor(method.frame.centres, method.frame.priors, method.frame.scale)
        np.testing.assert_allclose(method.W.T @ B, method.frame.K, atol=1e-10)
        if method.frame is frame:  # a step, not a renewal
            n_compared += 1
            np.testing.assert_allclose(method.W, reference.mm_step(X, y, W, frame, q), atol=1e-9)
            assert method.objective_path[-1] == pytest.approx(
                reference.mm_objective(X, y, W, frame, q), rel=1e-12
            )
        if status is not None:
            break
    assert n_compared >= (1 if q == 2.0 else 3)


def test_weighted_steps_are_the_closed_form_too(rng, dirty):
    X, y, _ = dirty
    weight = rng.uniform(0.2, 3.0, size=len(y))
    rows, method = majorizer(X, y, Objective(1.0, "auto"), sample_weight=weight, memory=1)
    status, n_compared = None, 0
    while status is None:
        W, frame = method.W, method.frame
        status = method.step(rows.run(method.query()))
        if method.frame is frame:
            n_compared += 1
            expected = reference.mm_step(X, y, W, frame, 1.0, weight)
            np.testing.assert_allclose(method.W, expected, atol=1e-9)
            objective = reference.mm_objective(X, y, W, frame, 1.0, weight)
            assert method.objective_path[-1] == pytest.approx(objective, rel=1e-12)
    assert n_compared >= 3


@pytest.mark.parametrize("q", QS)
def test_accelerated_steps_keep_the_constraint(dirty, q):
    X, y, _ = dirty
    rows, method = majorizer(X, y, Objective(q, "auto"), tol=1e-9)
    for _ in range(25):
        if method.step(rows.run(method.query())) is not None:
            break
        frame = method.frame
        B = reference.between_factor(frame.centres, frame.priors, frame.scale)
        np.testing.assert_allclose(method.W.T @ B, frame.K, atol=1e-9)


problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "dtype": st.sampled_from([np.float32, np.float64]),
        "share": st.sampled_from([0.0, 0.2, 0.4]),
    }
)
rules = st.fixed_dictionaries(
    {
        "q": st.sampled_from([0.3, 0.5, 1.0, 1.5, 2.0]),
        "epsilon": st.sampled_from(["auto", 0.5, 2.0, 5.0, np.inf]),
        "centres": st.sampled_from(["kept", "mean"]),
    }
).filter(lambda rule: rule["centres"] == "kept" or rule["epsilon"] != np.inf)


def check_descent(seed, dtype, share, **options):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 40, size=rng.integers(2, 6))
    X, y = make_classes(rng, sizes, int(rng.integers(1, 9)), dtype=dtype)
    X = spoil(rng, X, rng.uniform(size=len(y)) < share, size=rng.uniform(1, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes kept whole, max_iter reached
        model = CappedNormLDA(tol=1e-7, **options).fit(X, y)
    path = model.objective_path_
    assert len(path) >= 1
    assert np.isfinite(path).all()
    # The last entry comes from a pass of its own and may differ by rounding.
    rounding = 1e-6 if dtype == np.float32 else 1e-12
    assert np.all(np.diff(path) <= rounding * path[:-1])


@given(problem=problems, rule=rules)
def test_the_objective_never_rises(problem, rule):
    check_descent(**problem, **rule, max_iter=200)


@given(problem=problems, rule=rules, max_iter=st.integers(3, 12))
def test_the_objective_never_rises_when_stopped_early(problem, rule, max_iter):
    check_descent(**problem, **rule, max_iter=max_iter)


def test_the_path_ends_with_the_objective_of_the_answer(clean):
    X, y = clean
    model = CappedNormLDA(epsilon=3.0, tol=1e-7).fit(X, y)
    assert len(model.objective_path_) >= 3
    floor_free = np.minimum(model.distances_, model.epsilon_).mean()
    # The floor (1 % of the median) and the ridge (1e-4) are part of the objective.
    assert model.objective_path_[-1] == pytest.approx(floor_free, rel=2e-2)
    assert model.objective_path_[-1] >= floor_free
    assert model.objective_path_[-1] < model.objective_path_[0]


@pytest.mark.parametrize("start", ["robust", "lda"])
def test_without_cap_and_with_squares_it_is_lda(clean, start):
    X, y = clean
    model = CappedNormLDA(q=2, epsilon=np.inf, ridge=1e-12, start=start).fit(X, y)
    assert angle(model.scalings_, lda_subspace(X, y)) < 1e-9
    assert not model.outliers_.any()
    np.testing.assert_allclose(model.means_, [X[y == i].mean(axis=0) for i in range(3)])


@pytest.mark.parametrize("q", [1.0, 1.5])
def test_without_cap_every_start_ends_at_the_same_subspace(rng, dirty, q):
    X, y, _ = dirty
    starts = ["robust", "lda", "identity", rng.normal(size=(6, 2)), rng.normal(size=(6, 2))]
    found = [
        CappedNormLDA(q=q, epsilon=np.inf, start=start, tol=1e-8, max_iter=500).fit(X, y).scalings_
        for start in starts
    ]
    for other in found[1:]:
        assert angle(found[0], other) < 1e-5
    # and it is another one than LDA's
    assert angle(found[0], lda_subspace(X, y)) > 1e-2


def test_components_are_nested(rng):
    X, y = make_classes(rng, [30] * 5, 7)
    full = CappedLDA().fit(X, y)
    assert full.scalings_.shape == (7, 4)
    for k in range(1, 5):
        part = CappedLDA(k).fit(X, y)
        np.testing.assert_array_equal(part.scalings_, full.scalings_[:, :k])
        np.testing.assert_array_equal(
            part.explained_variance_ratio_, full.explained_variance_ratio_[:k]
        )
    ratio = full.explained_variance_ratio_
    assert np.all(np.diff(ratio) <= 0)
    assert ratio.sum() == pytest.approx(1.0)


def test_columns_are_uncorrelated_with_unit_variance_within_kept_rows(dirty):
    X, y, _ = dirty
    model = CappedLDA().fit(X, y)
    kept = ~model.outliers_
    Z = (X - model.means_[y])[kept] @ model.scalings_
    Z -= np.stack([Z[y[kept] == i].mean(axis=0) for i in range(3)])[y[kept]]
    covariance = Z.T @ Z / (kept.sum() - 3)
    np.testing.assert_allclose(covariance, np.eye(2), atol=2e-3)  # but for the ridge of 1e-4


def test_extra_components_do_not_see_the_classes(clean):
    X, y = clean
    model, supervised = CappedLDA(6).fit(X, y), CappedLDA().fit(X, y)
    np.testing.assert_array_equal(model.scalings_[:, :2], supervised.scalings_)
    extra = model.scalings_[:, 2:]
    assert extra.shape == (6, 4)
    np.testing.assert_allclose((model.means_ - model.xbar_) @ extra, 0.0, atol=1e-10)
    assert np.linalg.matrix_rank(model.scalings_) == 6
    np.testing.assert_array_equal(model.explained_variance_ratio_[2:], 0.0)
    # What they add says nothing about the class: the rule is the same.
    np.testing.assert_allclose(model.coef_, supervised.coef_)


def test_anderson_keeps_affine_constraints_and_solves_linear_maps(rng):
    history = deque(maxlen=4)
    mixing = 0.9 * linalg.orth(rng.normal(size=(3, 3)))
    offset = rng.normal(size=(3, 1))
    limit = np.linalg.solve(np.eye(3) - mixing, offset)
    x = rng.normal(size=(3, 1))
    for _ in range(6):
        image = mixing @ x + offset
        history.append((image, (image - x).ravel()))
        x = extrapolated(history)
    np.testing.assert_allclose(x, limit, atol=1e-6)

    B = rng.normal(size=(5, 2))
    W = rng.normal(size=(5, 3))
    free = linalg.null_space(B.T)
    history.clear()
    for _ in range(6):
        image = W + free @ rng.normal(size=(3, 3))
        history.append((image, (image - W).ravel()))
        new = extrapolated(history)
        np.testing.assert_allclose(new.T @ B, W.T @ B, atol=1e-10)


@given(seed=st.integers(0, 10**6), k=st.floats(1e-3, 1e3), epsilon=st.floats(0.1, 50.0))
def test_epsilon_means_nothing_in_the_ratio_of_the_paper(seed, k, epsilon):
    rng = np.random.default_rng(seed)
    X, y = make_classes(rng, [12, 20, 9], 4)
    H_w, H_b = reference.class_factors(X, y)
    means = np.stack([X[y == i].mean(axis=0) for i in range(3)])
    W = rng.normal(size=(4, 2))

    def ratio(W, epsilon):
        query = Query(W, means, np.ones(4), np.full(3, epsilon), 1.0, 0.0)
        return rows_of(X, y).run(query).objective / capped_norm(W.T @ H_b, epsilon)

    assert ratio(k * W, k * epsilon) == pytest.approx(ratio(W, epsilon), rel=1e-10)
    assert ratio(W, epsilon) == pytest.approx(reference.paper_ratio(W, H_w, H_b, epsilon))


def test_span_preserves_lengths_and_projections(rng):
    X, y = make_classes(rng, [6, 5], 30)
    rows = rows_of(X, y)
    initial = initial_estimate(rows, robust=False)
    span = RowSpace(X, initial.centres, initial.scale)
    inside = span.rows(rows)
    assert inside.shape == (11, 11)
    scaled = (X - initial.centres.mean(axis=0)) / initial.scale
    np.testing.assert_allclose(inside.X @ inside.X.T, scaled @ scaled.T, atol=1e-10)
    centres = span.initial(initial).centres
    np.testing.assert_allclose(
        centres, [inside.X[y == i].mean(axis=0) for i in range(2)], atol=1e-10
    )
    W = rng.normal(size=(11, 2))
    np.testing.assert_allclose(span.project(span.lift(W)), W, atol=1e-12)
    differences = (X - X[0]) @ span.lift(W)
    np.testing.assert_allclose(differences, (inside.X - inside.X[0]) @ W, atol=1e-10)


@pytest.mark.parametrize(("q", "epsilon"), [(1.5, np.inf), (2.0, np.inf), (2.0, "auto")])
@pytest.mark.parametrize("start", ["robust", "lda", "identity", "array"])
def test_more_features_than_rows_is_the_same_problem_in_the_span(rng, q, epsilon, start):
    # Repeating the rows makes N > n, which is solved without the span.
    X, y = make_classes(rng, [9, 8, 9], 40)
    start = rng.normal(size=(40, 2)) if start == "array" else start
    options = {"q": q, "start": start, "tol": 1e-7, "epsilon": epsilon, "max_iter": 1000}
    inside = CappedNormLDA(**options).fit(X, y, sample_weight=np.full(26, 3.0))
    outside = CappedNormLDA(**options).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    np.testing.assert_allclose(inside.means_, outside.means_, atol=1e-8)
    assert angle(inside.scalings_, outside.scalings_) < 1e-5
    np.testing.assert_array_equal(inside.outliers_, outside.outliers_[::3])
    np.testing.assert_allclose(inside.coef_, outside.coef_, atol=1e-4 * np.abs(inside.coef_).max())


SAMPLED = {
    "twenty features": (36_000, 20, 5),
    "many features": (30_000, 150, 4),
    "two classes": (31_000, 10, 2),
}


@pytest.mark.parametrize("shape", SAMPLED.values(), ids=SAMPLED)
def test_a_sample_does_not_change_the_result(rng, shape):
    n_rows, n_features, n_classes = shape
    X, y = make_classes(rng, [n_rows // n_classes] * n_classes, n_features, spread=0.7)
    X = spoil(rng, X, np.arange(n_rows) % 10 == 0)
    sampled = CappedLDA().fit(X, y)
    whole = in_regime(CappedLDA(), sample_worthwhile=np.inf).fit(X, y)
    assert sampled.n_sampled_ > 0
    assert whole.n_sampled_ == 0
    # A tenth of what other rows would change.
    assert angle(sampled.scalings_, whole.scalings_) < 0.1 * np.sqrt(n_features / n_rows)
    assert np.mean(sampled.outliers_ != whole.outliers_) <= 1e-4
