"""Wrong and missing cells: each is judged by the others, class by class, and then ignored."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import make_classes
from scipy.special import softmax
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from cappedlda import (
    CappedLDA,
    CappedLDACV,
    CappedNormLDA,
    OutlierRemover,
    load_model,
    noise,
    save_model,
)
from cappedlda._data.array import ArrayRows
from cappedlda._fit import cells as fit_cells
from cappedlda._kernels import cells as cell_kernels
from cappedlda._loo.cells import left_out_distances
from cappedlda._metrics.cells import metric_of_plane
from cappedlda._model import cells
from cappedlda._model.cells import metric_of
from cappedlda.paper import CLDA

CUT = 4.5


def correlated(rng, sizes, n_features, spread=1.0):
    """Rows of classes whose features depend on each other, and have units of their own."""
    X, y = make_classes(rng, sizes, n_features, spread=spread)
    mixed = X @ (np.eye(n_features) + 0.5 * ortho_group.rvs(n_features, random_state=3))
    return mixed * 10.0 ** rng.integers(-2, 3, n_features) + 7.0, y


@pytest.fixture
def fitted(rng):
    X, y = correlated(rng, [300, 200, 100], 6)
    return CappedLDA(missing="ignore").fit(X, y), X, y


def precision(model):
    """The inverse covariance of the linear rule, in units of the features, and the means."""
    metric = metric_of(model)
    P = metric.R * np.outer(metric.root, metric.root)
    return P, metric.centre + metric.means / metric.root


def reference_drop(P, r, cut=CUT):
    """The rule as it is written: the cell of the largest t_j goes while t_j is above the cut.

    Then cells come back that fit those that are left. If more than half of the cells are
    gone in the end, only the first ones go. Three more than half are too many at once.
    """

    def cost(dropped):
        return marginal_distance(P, r, dropped) + cut**2 * len(dropped)

    def drop_more(dropped, most):
        while len(dropped) < most:
            others = [j for j in range(len(r)) if j not in dropped]
            best = min(others, key=lambda j: cost([*dropped, j]))
            if cost([*dropped, best]) >= cost(dropped):
                break
            dropped = [*dropped, best]
        return dropped

    most = max(1, len(r) // 2)
    limit = most + 3
    dropped = drop_more([], limit)
    while dropped and len(dropped) < limit:
        without = [[i for i in dropped if i != j] for j in dropped]
        best = min(range(len(dropped)), key=lambda i: cost(without[i]))
        if best == len(dropped) - 1 or cost(without[best]) >= cost(dropped):
            break
        dropped = drop_more(without[best], limit)
    dropped = dropped[:most]
    return cost(dropped), dropped


def marginal_distance(P, r, dropped):
    """Squared distance by the covariance without the rows and columns of dropped cells."""
    left = np.setdiff1d(np.arange(len(r)), dropped)
    S = np.linalg.inv(P)[np.ix_(left, left)]
    return r[left] @ np.linalg.solve(S, r[left]) if len(left) else 0.0


def spoilt(rng, X, count=1, size=30.0):
    X, deviations = X.copy(), X.std(axis=0)
    for row in X:
        chosen = rng.choice(len(row), count, replace=False)
        row[chosen] += size * deviations[chosen] * rng.choice([-1, 1], count)
    return X


def all_scores(model, X):
    scores = model.decision_function(X)
    return np.column_stack([0.0 * scores, scores]) if scores.ndim == 1 else scores


def test_the_metric_is_that_of_the_linear_rule(fitted):
    model, X, _ = fitted
    P, means = precision(model)
    linear = clone(model).set_params(cells="all").fit(*fitted[1:])
    np.testing.assert_allclose(means, model.means_, rtol=1e-9)
    r = X[:, None] - means
    squares = np.einsum("ikj,jl,ikl->ik", r, P, r)
    expected = softmax(np.log(model.priors_) - 0.5 * squares, axis=1)
    np.testing.assert_allclose(linear.predict_proba(X), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("n_features", "count", "size"), [(6, 1, 20), (6, 2, 20), (6, 3, 20), (14, 5, 6), (14, 14, 20)]
)
def test_distances_are_those_of_the_rule_as_it_is_written(rng, n_features, count, size):
    X, y = correlated(rng, [300, 200, 100], n_features)
    model = CappedLDA().fit(X, y)
    P, means = precision(model)
    new = spoilt(rng, X[:60], count, size)
    metric = metric_of(model)
    dropped, _ = metric.drop(new)
    found = metric.distances(new, dropped)
    for i, k in itertools.product(range(60), range(3)):
        expected, which = reference_drop(P, new[i] - means[k])
        assert set(np.flatnonzero(dropped[i, k])) == set(which)
        np.testing.assert_allclose(found[i, k], expected, rtol=1e-7)


def test_without_cells_it_is_lda_without_these_features(rng, fitted):
    model, X, _ = fitted
    P, means = precision(model)
    for gaps in ([0], [1, 4], [0, 2, 3, 5], list(range(6))):
        new = X[:40].copy()
        new[:, gaps] = np.nan
        squares = np.array([[marginal_distance(P, x - m, gaps) for m in means] for x in X[:40]])
        expected = softmax(np.log(model.priors_) - 0.5 * squares, axis=1)
        linear = model.set_params(cells="all")
        np.testing.assert_allclose(linear.predict_proba(new), expected, atol=1e-8)


def test_scores_continue_those_of_the_linear_rule(rng):
    for sizes in ([200, 100], [200, 150, 100]):
        X, y = correlated(rng, sizes, 5)
        model = CappedLDA().fit(X, y)
        metric = metric_of(model).with_cuts(np.inf)
        found = metric.scores(X, metric.drop(X)[0])
        expected = all_scores(CappedLDA(cells="all").fit(X, y), X)
        if len(sizes) == 2:
            found = found - found[:, :1]
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_rows_without_a_capped_cell_get_the_linear_rule_bit_for_bit(rng, fitted):
    model, X, y = fitted
    new = X.copy()
    new[::3] = spoilt(rng, X[::3])
    linear = clone(model).set_params(cells="all").fit(X, y)
    capped = metric_of(model).drop(new)[1]
    assert capped[::3].all()
    assert 0 < capped.sum() < len(new)
    for method in ("decision_function", "predict_proba", "predict_log_proba", "transform"):
        found, expected = getattr(model, method)(new), getattr(linear, method)(new)
        np.testing.assert_array_equal(found[~capped], expected[~capped])
    changed = model.decision_function(new) != linear.decision_function(new)
    np.testing.assert_array_equal(changed.any(axis=1), capped)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_screen_finds_every_row_that_drops_a_cell(rng, fitted, dtype):
    model, X, _ = fitted
    new = spoilt(rng, np.repeat(X, 5, axis=0), size=1.0)
    new = new + X.std(axis=0) * rng.normal(size=new.shape) * rng.choice([0, 1, 2], new.shape)
    new = new.astype(dtype)
    metric = metric_of(model)
    for reach in (cells.REACH, np.inf):
        capped = np.flatnonzero(metric.drop(new.astype(float), reach)[1])
        found = metric.may_drop(new, reach)
        assert np.isin(capped, found).all()
        assert 0 < len(capped) <= len(found) < 1.1 * len(capped) + 5


def test_a_class_out_of_reach_is_not_asked(fitted):
    model, X, _ = fitted
    metric = metric_of(model)
    dropped, capped = metric.drop(X)
    scores = (X - metric.centre) * metric.root @ metric.images.T + metric.intercepts
    within = scores >= scores.max(axis=1, keepdims=True) - cells.REACH
    np.testing.assert_array_equal(capped, (dropped.any(axis=2) & within).any(axis=1))


@pytest.mark.parametrize("value", [1e6, -1e12, 1e300, -np.inf, np.inf])
def test_the_value_of_a_dropped_cell_does_not_matter(fitted, value):
    model, X, _ = fitted
    some, other = X[:30].copy(), X[:30].copy()
    some[:, 2], other[:, 2] = value, 1e7
    other[:, 2] *= X[:, 2].std()
    assert model.wrong_cells(some)[:, 2].all()
    for method in ("decision_function", "predict_proba", "transform", "predict", "is_rejected"):
        np.testing.assert_array_equal(getattr(model, method)(some), getattr(model, method)(other))


def test_capped_distances_are_never_above_others_and_continuous(rng, fitted):
    model, X, _ = fitted
    metric = metric_of(model)
    P, means = precision(model)
    new = spoilt(rng, X[:50], size=8.0)
    capped = metric.distances(new, metric.drop(new)[0])
    r = new[:, None] - means
    assert np.all(capped <= np.einsum("ikj,jl,ikl->ik", r, P, r) * (1 + 1e-9))
    # Along one cell of a row at a centre, through the cut-off: no step.
    steps = np.linspace(4.5, 5.5, 2001)
    line = np.repeat(means[:1], len(steps), axis=0)
    line[:, 1] += steps / np.sqrt(P[1, 1])
    along = metric.distances(line, metric.drop(line)[0])[:, 0]
    np.testing.assert_allclose(along, np.minimum(steps, CUT) ** 2, rtol=1e-6)


def test_greedy_is_nearly_always_the_best_of_all_sets(rng):
    # With one cell to three that are off: 97 of 100 cases at least.
    n, same, cases = 6, 0, 0
    for _ in range(150):
        A = rng.normal(size=(n, 3 * n))
        P = np.linalg.inv(A @ A.T / (3 * n))
        r = np.linalg.solve(np.linalg.cholesky(P).T, rng.normal(size=n))
        wrong = rng.choice(n, rng.integers(1, 4), replace=False)
        r[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(5, 50, len(wrong))
        sets = itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(4))
        best = min(marginal_distance(P, r, list(b)) + CUT**2 * len(b) for b in sets)
        found = reference_drop(P, r)[0]
        assert found >= best * (1 - 1e-9)
        same += found <= best * (1 + 1e-9)
        cases += 1
    assert same >= 0.97 * cases


def test_order_and_units_of_features_do_not_matter(rng, fitted):
    model, X, y = fitted
    new = spoilt(rng, X[:80])
    order = rng.permutation(6)
    units = 10.0 ** rng.integers(-6, 7, 6)
    other = CappedLDA(missing="ignore").fit(X[:, order] * units, y)
    np.testing.assert_array_equal(
        other.wrong_cells(new[:, order] * units), model.wrong_cells(new)[:, order]
    )
    np.testing.assert_allclose(
        other.predict_proba(new[:, order] * units), model.predict_proba(new), atol=1e-7
    )


def test_single_precision(rng, fitted):
    model, X, y = fitted
    new = spoilt(rng, X[:80])
    single = clone(model).fit(X.astype(np.float32), y)
    found = single.decision_function(new.astype(np.float32))
    assert found.dtype == np.float32
    same = single.predict(new.astype(np.float32)) == model.predict(new)
    assert same.mean() > 0.97
    assert single.transform(new.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_without_any_cell_there_are_only_the_priors(fitted, value):
    model, X, _ = fitted
    new = np.full((3, 6), value)
    for temperature in (1.0, 0.4):
        model._temperature = temperature
        vars(model).pop("_cell_cache", None)
        np.testing.assert_allclose(model.predict_proba(new), np.tile(model.priors_, (3, 1)))
    assert model.is_rejected(new).all()
    assert not model.is_rejected(X[:100]).all()
    assert (model.predict_or_reject(new) == -1).all()
    assert np.isfinite(model.transform(new)).all()
    assert not np.isnan(model.outlyingness(new)).any()


def test_a_missing_cell_is_completed_by_its_conditional_mean(fitted):
    model, X, _ = fitted
    P, means = precision(model)
    new = X[:20].copy()
    new[:, [1, 3]] = np.nan
    g, b = [0, 2, 4, 5], [1, 3]
    expected = new.copy()
    expected[:, b] = 0.0
    probabilities = model.predict_proba(new)
    for k, mean in enumerate(means):
        part = mean[b] - (X[:20][:, g] - mean[g]) @ P[np.ix_(g, b)] @ np.linalg.inv(P[np.ix_(b, b)])
        expected[:, b] += probabilities[:, k : k + 1] * part
        in_class = model.expected_cells(new, np.full(20, model.classes_[k]))
        np.testing.assert_allclose(in_class[:, b], part, rtol=1e-7)
    np.testing.assert_allclose(
        model.transform(new), (expected - model.xbar_) @ model.scalings_, rtol=1e-6, atol=1e-8
    )


def test_what_is_expected_and_how_far_a_cell_is_from_it(rng, fitted):
    model, X, y = fitted
    P, means = precision(model)
    residuals = (X - means[y]) @ P / P.diagonal()
    right = ~model.wrong_cells(X, y).any(axis=1)
    expected, deviations = model.expected_cells(X, y), model.cell_deviations(X, y)
    np.testing.assert_allclose(expected[right], (X - residuals)[right], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        deviations[right], (residuals * np.sqrt(P.diagonal()))[right], atol=1e-7
    )
    # A wrong cell has no part in what is expected, and its spread is that without it.
    new = X[right][:5].copy()
    new[:, 0] += 1e3 * X[:, 0].std()
    labels = y[right][:5]
    found = model.cell_deviations(new, labels)
    spread = np.sqrt(1.0 / P[0, 0])
    np.testing.assert_allclose(model.expected_cells(new, labels)[:, 0], expected[right][:5, 0])
    np.testing.assert_allclose(found[:, 0], (new[:, 0] - expected[right][:5, 0]) / spread)


def test_the_spread_of_two_dropped_cells_is_their_conditional_one(fitted):
    model, X, y = fitted
    P, _ = precision(model)
    new = X[:4].copy()
    new[:, [1, 4]] = [1e5 * X[:, 1].std(), -1e5 * X[:, 4].std()]
    assert model.wrong_cells(new, y[:4])[:, [1, 4]].all()
    inverse = np.linalg.inv(P[np.ix_([1, 4], [1, 4])])
    expected = (new - model.expected_cells(new, y[:4]))[:, [1, 4]] / np.sqrt(inverse.diagonal())
    np.testing.assert_allclose(model.cell_deviations(new, y[:4])[:, [1, 4]], expected, rtol=1e-6)


def test_one_wrong_cell_costs_little(rng):
    X, y = correlated(rng, [400, 400, 400], 8)
    train, test = slice(None, None, 2), slice(1, None, 2)
    model = CappedLDA().fit(X[train], y[train])
    linear = CappedLDA(cells="all").fit(X[train], y[train])
    clean = model.score(X[test], y[test])
    for count, size, most in ((1, 8, 0.03), (1, 50, 0.03), (3, 50, 0.08)):
        new = spoilt(rng, X[test], count, size)
        assert model.score(new, y[test]) > clean - most
        assert linear.score(new, y[test]) < clean - 0.2


def test_long_tails_that_tell_classes_apart_are_not_cut_off(rng):
    n = 1500
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += y
    X[:, 1] = np.exp(rng.normal(size=n) + 1.5 * (y + 1) * (rng.random(n) < 0.3))
    model = CappedLDA().fit(X, y)
    linear = CappedLDA(cells="all").fit(X, y)
    metric = metric_of(model).with_cuts(CUT)
    dropped, capped = metric.drop(X)
    cut = np.where(capped, metric.scores(X, dropped).argmax(axis=1), linear.predict(X))
    assert linear.score(X, y) > np.mean(cut == y) + 0.01
    assert model.cell_cuts_[1] > CUT
    assert model.score(X, y) > linear.score(X, y) - 0.01


def test_typos_in_training_rows_do_not_raise_the_limits(rng):
    X, y = correlated(rng, [400, 400], 5)
    typos = rng.random(len(y)) < 0.03
    X[typos, 2] *= 100.0
    model = CappedLDA().fit(X, y)
    np.testing.assert_array_equal(model.cell_cuts_, CUT)
    assert model.wrong_cells(X)[typos, 2].mean() > 0.95


def test_collinear_and_constant_features(rng):
    X, y = correlated(rng, [200, 200], 4)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(y), 3.0), 2.0 * X[:, 2]])
    model = CappedLDA(missing="ignore").fit(X, y)
    new = X[:50].copy()
    new[:, 3] = np.nan
    new[::2, 0] = 1e9
    for method in ("predict_proba", "transform", "cell_deviations", "expected_cells"):
        found = getattr(model, method)(new)
        finite = np.isfinite(found) if method != "cell_deviations" else ~np.isnan(found[:, :3])
        assert finite.all()
    assert model.score(new, y[:50]) > 0.75
    new[:5, 5] = [3.0, 3.0 + 1e-9, 3.1, -1e12, np.nan]
    np.testing.assert_array_equal(
        model.cell_deviations(new)[:6, 5], [0.0, 0.0, np.inf, -np.inf, np.nan, 0.0]
    )
    new[:, 5] = np.nan  # it has no influence
    np.testing.assert_allclose(model.expected_cells(new)[:, 5], 3.0)
    lonely = np.full((1, 7), np.nan)
    lonely[0, 5] = 3.0
    np.testing.assert_allclose(model.predict_proba(lonely), [model.priors_])
    assert model.is_rejected(lonely).all()


def test_fewer_directions_than_there_are(rng):
    X, y = correlated(rng, [150, 150, 150, 150], 5)
    model = CappedLDACV(1, multipliers=(1.0,), cv=2).fit(X, y)
    metric = metric_of(model).with_cuts(np.inf)
    linear = clone(model).set_params(cells="all").fit(X, y)
    found = metric.scores(X, metric.drop(X)[0])
    np.testing.assert_allclose(found, linear.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("cells_", ["capped", "all"])
def test_the_error_for_a_gap_names_row_and_column(fitted, cells_):
    pd = pytest.importorskip("pandas")
    _, X, y = fitted
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = CappedLDA(cells=cells_).fit(frame, y)
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        new = frame.copy()
        new.iloc[17, 3] = value
        for method in ("predict", "transform", "outlyingness", "is_rejected", "wrong_cells"):
            with pytest.raises(ValueError, match=f"{word}, first in row 17, column 'd'"):
                getattr(model, method)(new)
        plain = CappedLDA(cells=cells_).fit(X, y)
        with pytest.raises(ValueError, match=r"first in row 17, .*; .*missing=\"ignore\""):
            plain.predict(new.to_numpy())


def test_an_infinite_cell_is_an_error_where_all_cells_count(fitted):
    model, X, _ = fitted
    new = X[:9].copy()
    new[2, 0], new[5, 1] = np.nan, -np.inf
    model.set_params(cells="all")
    with pytest.raises(ValueError, match="infinity, first in row 5, column 1 .*; .*capped"):
        model.predict(new)
    assert len(model.predict(new[:5])) == 5


def test_rows_of_dask_are_counted_in_their_block(fitted):
    da = pytest.importorskip("dask.array")
    model, X, _ = fitted
    new = X.copy()
    new[77, 2] = np.nan
    lazy = model.set_params(missing="error").predict(da.from_array(new, chunks=(50, 6)))
    with pytest.raises(ValueError, match="first in row 27 of its block"):
        lazy.compute()


def test_a_model_of_sparse_rows_judges_the_cells_of_others(rng):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = correlated(rng, [300, 300], 6)
    model = CappedLDA().fit(sparse.csr_matrix(X), y)
    new = spoilt(rng, X[:50])
    assert model.wrong_cells(new).any(axis=1).mean() > 0.9


def test_rows_read_by_slices_are_counted_from_the_first(fitted, tmp_path):
    h5py = pytest.importorskip("h5py")
    model, X, _ = fitted
    many = np.tile(X, (9, 1))
    many[5000, 1] = np.nan
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        rows = file.create_dataset("X", data=many)
        np.testing.assert_array_equal(model.predict(rows), model.predict(many))
        model.set_params(missing="error")
        model._regime = type(model._regime)(slab_elements=1, least_slab_rows=512)
        with pytest.raises(ValueError, match="first in row 5000"):
            model.predict(rows)


def test_where_no_covariance_is_known_all_cells_count(rng):
    X, y = correlated(rng, [30, 30], 6)
    X = np.hstack([X, rng.normal(size=(60, 100))])
    model = CappedLDA(missing="ignore").fit(X, y)
    new = X[:5].copy()
    new[0, 0] = 1e5
    linear = clone(model).set_params(cells="all").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), linear.decision_function(new))
    assert not model.wrong_cells(new).any()
    assert np.all(model.cell_cuts_ == np.inf)
    with pytest.raises(ValueError, match="no covariance"):
        model.expected_cells(new)
    new[1, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 1, column 1 .*; impute"):
        model.predict(new)


@pytest.mark.parametrize("estimator", [CappedNormLDA(), CLDA(epsilon=np.inf)])
def test_other_estimators_keep_the_linear_rule(rng, estimator):
    X, y = correlated(rng, [30, 30], 6)
    model = estimator.fit(X, y)
    assert not {"cells", "missing"} & model.get_params().keys()
    new = X[:5].copy()
    new[0, 0] = 1e5
    scores = new @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(new), scores)
    assert not model.wrong_cells(new).any()
    with pytest.raises(ValueError, match="is not a CappedLDA"):
        model.expected_cells(new)
    new[1, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 1, .*; remove or impute such rows.$"):
        model.predict(new)


def test_sparse_rows_are_predicted_by_all_cells(rng, fitted):
    sparse = pytest.importorskip("scipy.sparse")
    model, X, y = fitted
    new = spoilt(rng, X[:20])
    linear = clone(model).set_params(cells="all").fit(X, y)
    rows = sparse.csr_matrix(new)
    np.testing.assert_allclose(model.predict_proba(rows), linear.predict_proba(new), atol=1e-12)
    assert not model.wrong_cells(rows).any()
    gap = rows.copy()
    gap.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(gap)


def test_frames_chunks_of_rows_dask_and_files_agree(rng, fitted, tmp_path):
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    model, X, y = fitted
    new = spoilt(rng, X[:100])
    new[rng.random(new.shape) < 0.1] = np.nan
    frame = pd.DataFrame(new)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    methods = ("predict", "predict_proba", "decision_function", "transform", "outlyingness")
    for method in (*methods, "is_rejected", "wrong_cells", "expected_cells", "cell_deviations"):
        expected = getattr(model, method)(new)
        np.testing.assert_array_equal(getattr(model, method)(frame), expected)
        np.testing.assert_array_equal(getattr(loaded, method)(new), expected)
        np.testing.assert_array_equal(getattr(model, method)(np.asfortranarray(new)), expected)
        lazy = getattr(model, method)(da.from_array(new, chunks=(30, 6)))
        np.testing.assert_array_equal(lazy.compute(), expected)
        parts = [getattr(model, method)(new[i : i + 7]) for i in range(0, 100, 7)]
        np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-9, atol=1e-9)
    labels = y[:100]
    lazy = model.wrong_cells(da.from_array(new, chunks=(30, 6)), labels)
    np.testing.assert_array_equal(lazy.compute(), model.wrong_cells(new, labels))


def test_outlyingness_counts_wrong_cells_and_not_missing_ones(fitted):
    model, X, y = fitted
    new = X[:30].copy()
    new[:, 0] = np.nan
    new[5, 1] = 1e3 * X[:, 1].std()
    new[6, 1] = np.inf
    found = model.outlyingness(new, y[:30])
    assert found[5] > 10
    assert found[6] == np.inf
    usual = np.delete(np.arange(30), [5, 6])
    assert np.median(found[usual] / model.outlyingness(X[:30], y[:30])[usual]) < 1.05


def test_one_typo_in_many_features_does_not_reject_a_row(rng):
    X, y = correlated(rng, [500, 500], 40)
    model = CappedLDA().fit(X[::2], y[::2])
    new, wrong = X[1::2], spoilt(rng, X[1::2])
    linear = CappedLDA(cells="all").fit(X[::2], y[::2])
    assert model.is_rejected(wrong, alpha=0.01).mean() < 0.7
    assert linear.is_rejected(wrong, alpha=0.01).all()
    assert model.is_rejected(spoilt(rng, new, 12)).all()
    assert model.is_rejected(new).mean() < 0.05


def test_an_explanation_names_wrong_cells_and_what_was_expected():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(as_frame=True, return_X_y=True)
    lda = CappedLDA().fit(X, y)
    X.loc[7, "petal length (cm)"] = 15.0
    table = lda.explain(X, y)
    line = table[table.row == 7].iloc[0]
    assert line.wrong_cells.startswith("petal length (cm) 15, expected about 1.")
    right = lda.explain(X, y, rows=[3])
    assert right.wrong_cells.tolist() == [""]
    assert isinstance(table, pd.DataFrame)
    lda.set_params(missing="ignore")
    X.loc[7, "sepal width (cm)"] = np.nan
    line = lda.explain(X, y, rows=[7]).iloc[0]
    assert line.outlyingness > 1
    assert "petal length (cm) 15" in line.wrong_cells


def test_parameters_are_checked():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="cells='some' is unknown"):
        CappedLDA(cells="some").fit(X, y)
    with pytest.raises(ValueError, match="missing='drop' is unknown"):
        CappedLDA(missing="drop").fit(X, y)


@pytest.mark.parametrize("wrap", [lambda model: model, OutlierRemover], ids=["alone", "remover"])
@pytest.mark.parametrize(
    ("model", "allowed"),
    [
        (CappedLDA(), False),
        (CappedLDA(missing="ignore"), True),
        (CappedLDACV(missing="ignore", cv=2), False),
        (CappedNormLDA(), False),
    ],
    ids=str,
)
def test_the_tag_says_whether_a_fit_takes_nan(model, allowed, wrap):
    X, y = load_iris(return_X_y=True)
    X[::10, 1] = np.nan
    estimator = wrap(model)
    assert get_tags(estimator).input_tags.allow_nan == allowed
    if allowed:
        estimator.fit(X, y)
    else:
        with pytest.raises(ValueError, match="NaN"):
            estimator.fit(X, y)


def test_scikit_learn_finds_nothing_if_missing_cells_are_ignored():
    check_estimator(CappedLDA(missing="ignore"), on_skip=None, on_fail="raise")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_training_rows_may_have_gaps(rng, dtype):
    X, y = correlated(rng, [600, 400, 200], 6)
    X, new, y, labels = X[::2].astype(dtype), X[1::2], y[::2], y[1::2]
    gaps = np.where(rng.random(X.shape) < 0.15, np.nan, X)
    whole, model = CappedLDA().fit(X, y), CappedLDA(missing="ignore").fit(gaps, y)
    assert model.score(new, labels) > whole.score(new, labels) - 0.02
    assert model.left_out_.mean() < 0.05
    # Cells that are drawn have the covariance of those that were there, up to sampling.
    scale = np.sqrt(np.diag(whole.covariance_))
    difference = (model.covariance_ - whole.covariance_) / np.outer(scale, scale)
    np.testing.assert_allclose(difference, 0.0, atol=0.2)
    same = CappedLDA(missing="ignore").fit(X, y)
    np.testing.assert_array_equal(same.coef_, whole.coef_)


def test_gaps_that_cannot_be_filled_are_errors(rng):
    X, y = correlated(rng, [60, 60], 4)
    gap = X.copy()
    gap[1, 2] = np.nan
    where = "NaN, first in row 1, column 2"
    with pytest.raises(ValueError, match=where):
        CappedLDA().fit(gap, y)
    with pytest.raises(ValueError, match=where):
        CappedLDACV(missing="ignore", cv=2).fit(gap, y)
    empty, infinite = gap.copy(), gap.copy()
    empty[:, 3], infinite[5, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match="no value in column 3"):
        CappedLDA(missing="ignore").fit(empty, y)
    with pytest.raises(ValueError, match="infinity, first in row 5, column 0"):
        CappedLDA(missing="ignore").fit(infinite, y)
    wide = np.hstack([gap, rng.normal(size=(120, 200))])
    with pytest.raises(ValueError, match="needs a covariance of all features"):
        CappedLDA(missing="ignore").fit(wide, y)


def test_a_class_without_a_value_of_a_feature_is_an_error(rng):
    X, y = correlated(rng, [60, 60, 60], 4)
    X[y == 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"no value in column 2 .* class 1; remove"):
        CappedLDA(missing="ignore").fit(X, y)
    frame, words = pd.DataFrame(X, columns=list("abcd")), np.array(["one", "two", "three"])[y]
    with pytest.raises(ValueError, match="no value in column 'c' for the class two; remove"):
        CappedLDA(missing="ignore").fit(frame, words)
    weights = np.ones(180)
    X[60, 2], weights[60] = 1.0, 0.0  # a row that does not count
    with pytest.raises(ValueError, match="no value in column 2"):
        CappedLDA(missing="ignore").fit(X, y, weights)


@pytest.mark.parametrize("kind", ["wrong", "missing"])
def test_cells_that_are_drawn_depend_on_no_order_or_unit_and_repeated_rows_are_weights(rng, kind):
    X, y = correlated(rng, [200, 150, 100], 6)
    hit = rng.random(X.shape) < 0.15
    X = np.where(hit, np.nan, X) if kind == "missing" else X + hit * 30.0 * X.std(axis=0)

    def fitted(X, y, weights=None):
        model = CappedLDA(missing="ignore").fit(X, y, weights)
        assert kind == "missing" or model.wrong_cells_.sum() > 100
        return model

    model = fitted(X, y)
    rows, columns = rng.permutation(len(y)), rng.permutation(6)
    units = np.array([1.0, 1e3, 1e-3, 7.0, 0.1, 1.0])
    double, none = np.ones(len(y)), np.ones(len(y))
    double[::3], none[::4] = 2.0, 0.0
    twice = np.repeat(np.arange(len(y)), double.astype(int))
    left = none > 0.0
    spoilt = np.where(left[:, None], X, 50.0 * X)
    # Products of the same rows in another order are rounded otherwise.
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(fitted(X[rows], y[rows]).coef_, model.coef_, **close)
    np.testing.assert_allclose(fitted(X[:, columns], y).coef_, model.coef_[:, columns], **close)
    np.testing.assert_allclose(fitted(X * units, y).coef_ * units, model.coef_, **close)
    np.testing.assert_allclose(
        fitted(X, y, double).coef_, fitted(X[twice], y[twice]).coef_, **close
    )
    np.testing.assert_allclose(
        fitted(spoilt, y, none).coef_, fitted(X[left], y[left]).coef_, **close
    )


def test_shap_still_sums_up_for_rows_without_capped_cells(fitted):
    # What a linear explainer does: coefficients times deviations from the mean, and the intercept.
    model, X, _ = fitted
    right = ~metric_of(model).drop(X)[1]
    parts = (X[right] - X.mean(axis=0))[:, None] * model.coef_
    base = X.mean(axis=0) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(parts.sum(axis=2) + base, model.decision_function(X[right]))


def test_rows_of_kernels_may_be_none(fitted):
    metric = metric_of(fitted[0])
    dropped, capped = metric.drop(np.empty((0, 6)))
    assert dropped.shape == (0, 3, 6)
    assert len(capped) == 0
    assert len(metric.may_drop(np.empty((0, 6)))) == 0
    assert cell_kernels.__doc__


def test_right_cells_of_training_rows_take_part_in_the_fit(rng, tmp_path):
    X, y = correlated(rng, [600, 400, 200], 8)
    X, new, y, labels = X[::2], X[1::2], y[::2], y[1::2]
    wrong = rng.random(X.shape) < 0.2
    dirty = X + wrong * 20.0 * X.std(axis=0) * rng.choice([-1.0, 1.0], X.shape)
    plain, model = CappedLDA(cells="all").fit(dirty, y), CappedLDA().fit(dirty, y)
    found = model.wrong_cells_.toarray()
    few = wrong.sum(axis=1) <= 2  # with more the row stays as it is
    assert np.mean(found[few][wrong[few]]) > 0.95
    assert np.mean(found[~wrong]) < 0.01
    best = CappedLDA().fit(X, y).score(new, labels)
    assert model.score(new, labels) > best - 0.03
    assert plain.score(new, labels) < best - 0.1
    assert plain.wrong_cells_.sum() == 0
    assert model.outliers_[wrong.any(axis=1)].mean() > 0.9  # a row with a typo is unusual
    np.testing.assert_array_equal(
        model.explain(dirty, y, rows="all").set_index("row").sort_index()["left_out"][few],
        model.left_out_[few],
    )
    save_model(model, tmp_path / "model.npz")
    line = f"x0: {found[:, 0].mean():.1%} of the cells look wrong"
    for fitted in (model, load_model(tmp_path / "model.npz")):
        assert line in str(fitted.summary())
    assert "look wrong" not in str(plain.summary())


def test_wrong_cells_of_many_classes_are_found_in_any_order(rng):
    X, y = correlated(rng, [60] * 40, 8, spread=0.5)
    wrong = rng.random(X.shape) < 0.06
    dirty = X + wrong * 20.0 * X.std(axis=0) * rng.choice([-1.0, 1.0], X.shape)
    order = rng.permutation(len(y))
    model, other = CappedLDA().fit(dirty, y), CappedLDA().fit(dirty[order], y[order])
    assert model.wrong_cells_.toarray()[wrong].mean() > 0.7
    np.testing.assert_array_equal(model.wrong_cells_.toarray()[order], other.wrong_cells_.toarray())


def test_a_row_that_overflows_does_not_choose_the_cuts(rng):
    X, y = correlated(rng, [200, 200], 5)
    X = 1e-3 * (X - X.mean(axis=0)) / X.std(axis=0)
    X[::20, 0] *= 40.0  # a long tail
    X[7] = 1e306
    model = CappedLDA().fit(X, y)
    model.predict(X[:5])
    assert not np.isnan(model.cell_cuts_).any()


def test_without_wrong_cells_nothing_is_completed(rng):
    X, y = correlated(rng, [300, 200, 100], 6)
    X[::40] *= 50.0  # rows that are wrong as a whole
    model = CappedLDA().fit(X, y)
    assert model.wrong_cells_.sum() == 0
    np.testing.assert_array_equal(model.coef_, CappedLDA(cells="all").fit(X, y).coef_)


def test_leave_one_out_distances_are_those_of_fits_without_the_row(rng):
    X, y = correlated(rng, [20, 15, 12], 4)
    X[3, 1] += 30.0 * X[:, 1].std()  # a cell that every class drops, and the fit has replaced
    fitted = X.copy()
    fitted[3, 1] = X[y == y[3], 1].mean()
    fitted[7, 2] += 0.5 * X[:, 2].std()  # one that the fit has replaced, but no class drops
    n_rows, freedom, priors = len(y), 44.0, np.array([0.4, 0.3, 0.3])

    def lda(kept):
        means = np.array([fitted[kept & (y == k)].mean(axis=0) for k in range(3)])
        steps = (fitted - means[y])[kept]
        P = np.linalg.inv(steps.T @ steps / freedom)
        return means, P

    means, P = lda(np.ones(n_rows, bool))
    metric = metric_of_plane(np.linalg.cholesky(P), means, priors)
    weights = np.bincount(y).astype(float)
    rows, in_fit = (ArrayRows(part, y.astype(np.int32), 3) for part in (X, fitted))
    within = SimpleNamespace(weights=weights, freedom=freedom)
    found = left_out_distances(metric, within, rows, in_fit, np.ones(n_rows))
    marks, _ = metric.drop(X, np.inf)
    assert marks[3, :, 1].all()
    assert not marks[7].any()
    for i in range(n_rows):
        means, P = lda(np.arange(n_rows) != i)
        dropped = [list(np.flatnonzero(cells_)) for cells_ in marks[i]]
        expected = [
            marginal_distance(P, X[i] - m, b) + CUT**2 * len(b)
            for m, b in zip(means, dropped, strict=True)
        ]
        np.testing.assert_allclose(found[i], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["far rows", "leverage"])
def test_foreign_rows_are_not_made_good_ones(rng, kind):
    X, y = correlated(rng, [300, 200, 100], 6)
    if kind == "leverage":
        X, y, touched = noise.leverage(X, y, share=0.3, random_state=0)
    else:
        touched = rng.random(len(y)) < 0.2
        X[touched] += 20.0 * X.std(axis=0) * rng.choice([-1.0, 1.0], (touched.sum(), 6))
    model = CappedLDA().fit(X, y)
    assert model.left_out_[touched].all()
    np.testing.assert_array_equal(model.coef_, CappedLDA(cells="all").fit(X, y).coef_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_completed_rows_have_the_covariance_of_whole_ones(rng, dtype):
    # The E-step: cells drawn anew have the mean and the covariance given the others.
    X, y = correlated(rng, [2000, 2000], 4)
    means = np.array([X[y == k].mean(axis=0) for k in range(2)])
    P = np.linalg.inv(np.cov((X - means[y]).T))
    metric = metric_of_plane(np.linalg.cholesky(P), means, np.full(2, 0.5))
    wrong = np.zeros(X.shape, bool)
    wrong[::2, :2] = True
    spoilt_rows = X + 100.0 * wrong * X.std(axis=0)
    rows = ArrayRows(spoilt_rows.astype(dtype), y.astype(np.int32), 2)
    # Of four cells two are too many to be dropped without doubt; nearly all rows tell which.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_cells, "MOST_WRONG", 0.5)
        completed, found = fit_cells.drawn_anew(rows, metric, fit_cells.wrong_of_few)
    assert completed.X.dtype == dtype
    assert np.mean(found == wrong) > 0.99
    scale = (X - means[y]).std(axis=0)
    expected, given = ((part - means[y]) / scale for part in (X, completed.X))
    # Standard errors of 4000 rows are about 0.02.
    np.testing.assert_allclose(np.cov(given.T), np.cov(expected.T), atol=0.08)
    np.testing.assert_allclose(given.mean(axis=0), 0.0, atol=0.08)


def test_wrong_cells_of_training_rows_that_are_not_kept(clean, tmp_path):
    with pytest.raises(NotFittedError):
        CappedLDA().wrong_cells_  # noqa: B018
    model = CappedLDA().fit_chunks(lambda: [clean])
    save_model(model, tmp_path / "model.npz")
    for other in (model, load_model(tmp_path / "model.npz")):
        with pytest.raises(AttributeError, match=r"no wrong_cells_: .* Use wrong_cells\(X, y\)"):
            other.wrong_cells_  # noqa: B018
    again = model.fit(*clean)  # of another kind
    assert again.wrong_cells_.shape == clean[0].shape


def test_cross_validation_completes_the_last_fit(rng):
    X, y = correlated(rng, [300, 200, 100], 8)
    dirty = X + (rng.random(X.shape) < 0.15) * 20.0 * X.std(axis=0)
    found = CappedLDACV(multipliers=(1.0,), cv=2).fit(dirty, y)
    expected = CappedLDA().fit(dirty, y)
    assert expected.wrong_cells_.sum() > 0
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.wrong_cells_.toarray(), expected.wrong_cells_.toarray())


def test_the_temperature_of_the_linear_rule_is_that_of_capped_scores(rng):
    X, y = make_classes(rng, [60, 60, 60], 12, spread=0.3)
    X[rng.random(len(y)) < 0.2] *= 4.0  # so that some rows are left out
    model = CappedLDA(missing="ignore").fit(X, y)
    assert model._temperature < 1.0
    new = X[:20].copy()
    new[:, [1, 5]] = np.nan
    P, means = precision(model)
    squares = np.array([[marginal_distance(P, x - m, [1, 5]) for m in means] for x in X[:20]])
    scores = model._temperature * (np.log(model.priors_) - 0.5 * squares)
    linear = model.set_params(cells="all")
    np.testing.assert_allclose(linear.predict_proba(new), softmax(scores, axis=1), atol=1e-8)
