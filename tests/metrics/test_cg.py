"""Systems that are known by products only, against Cholesky."""

import numpy as np
import pytest
from common import make_classes, rows_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cappedlda._data.sparse import SparseRows
from cappedlda._metrics import cg, linalg
from cappedlda._metrics.plain import MatrixSystem
from cappedlda._rules.rule import Query


def sparse_problem(rng, sizes, n, q=1.0, density=0.2):
    """A dense and a product scatter of the same pass, its weight, and B (n, c)."""
    X, codes = make_classes(rng, sizes, n)
    X *= rng.random(X.shape) < density
    codes = codes.astype(np.int32)
    centres = np.stack([X[codes == i].mean(axis=0) for i in range(len(sizes))])
    W = rng.normal(size=(n, 2)) / np.sqrt(n)
    query = Query(W, centres, rng.uniform(0.5, 2.0, n), np.full(len(sizes), 4.0), q, 0.1)
    dense = rows_of(X, codes).run(query)
    product = SparseRows(sparse.csr_array(X), codes, len(sizes)).run(query)
    priors = np.bincount(codes) / len(codes)
    return (
        dense.scatter,
        product.scatter,
        len(X),
        linalg.between_factor(centres, priors, np.ones(n)),
    )


@pytest.fixture(params=[([60, 50, 40], 40), ([20, 15, 12], 90)], ids=["rows", "features"])
def problem(request, rng):
    """More rows than features, and more features than rows."""
    return sparse_problem(rng, *request.param)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2])
def test_solution_is_that_of_cholesky(problem, ridge):
    dense, product, weight, B = problem
    expected = MatrixSystem(dense, weight, ridge).solve(B)
    found = cg.ImplicitSystem(product, weight, ridge, tol=1e-9).solve(B)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_product_is_that_of_the_matrix(problem, rng):
    dense, product, weight, B = problem
    V = rng.normal(size=(len(B), 3))
    expected = MatrixSystem(dense, weight, 0.1) @ V
    np.testing.assert_allclose(cg.ImplicitSystem(product, weight, 0.1) @ V, expected, rtol=1e-10)
    np.testing.assert_allclose(product.diagonal(), np.diag(dense), rtol=1e-10)
    assert product.trace() == pytest.approx(np.trace(dense))


def test_error_is_below_the_tolerance(problem):
    dense, product, weight, B = problem
    A = MatrixSystem(dense, weight, 1e-3)
    exact = A.solve(B)
    size = np.sum(exact * (A @ exact))
    errors = []
    for tol in (1e-1, 1e-3, 1e-5):
        wrong = cg.ImplicitSystem(product, weight, 1e-3, tol).solve(B) - exact
        errors.append(np.sqrt(np.sum(wrong * (A @ wrong)) / size))
        assert errors[-1] <= tol
    assert errors[2] < errors[0]  # it stops when it may, not at the end


def test_a_good_guess_saves_products(problem, spy):
    _, product, weight, B = problem
    answer = cg.ImplicitSystem(product, weight, 1e-3, 1e-10).solve(B)
    mixed = answer @ np.array([[1.0, 2.0], [0.0, 1.0], [1.0, -1.0]])  # any basis of its span
    sums = spy(type(product), "sums")

    def products_with(guess):
        sums.clear()
        cg.ImplicitSystem(product, weight, 1e-3, 1e-6, guess).solve(B)
        return len(sums)

    cold, warm = products_with(None), products_with(mixed)
    assert warm <= cg.WINDOW + 1 < cold


def test_dependent_columns_and_none(problem):
    dense, product, weight, B = problem
    A = cg.ImplicitSystem(product, weight, 1e-2, 1e-9)
    np.testing.assert_array_equal(A.solve(np.zeros_like(B)), np.zeros_like(B))
    twice = np.hstack([B, 2 * B])
    expected = MatrixSystem(dense, weight, 1e-2).solve(twice)
    np.testing.assert_allclose(A.solve(twice), expected, atol=1e-6 * np.abs(expected).max())


def test_too_many_steps_warn(problem):
    _, product, weight, B = problem
    with pytest.warns(ConvergenceWarning, match="CappedNormLDA with a larger ridge"):
        cg.ImplicitSystem(product, weight, 1e-9, 1e-12, max_steps=2).solve(B)
