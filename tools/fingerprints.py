"""Print SHA-256 fingerprints of fits and of raw records, to see whether results have changed.

Save the output before the change and compare it afterwards, once for each build of the kernels:

    CAPPEDLDA_KERNELS=avx2 python tools/fingerprints.py > before.txt
    ...
    CAPPEDLDA_KERNELS=avx2 python tools/fingerprints.py | diff before.txt -

Each line names the data, the number type, the method, the fitted attribute and its fingerprint.
The same machine and the same NumPy and SciPy give the same lines each time; others need not.
"""

import hashlib
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda._data.jobs import PassJob, norm_histograms
from cappedlda._rules.rule import Query
from cappedlda.paper import CLDA, compared

METHODS = {
    "capped": CappedLDA(),
    "norm q=1": CappedNormLDA(),
    "norm q=2": CappedNormLDA(q=2.0),
    "paper": CLDA(),
}
VARIANTS = {
    "flagged": CappedLDA(leave_out="flagged"),
    "inf": CappedLDA(epsilon=np.inf),
    "epsilon": CappedLDA(epsilon=3.0),
    "extra": CappedLDA(4),
    "norm lda": CappedNormLDA(start="lda"),
    "norm identity": CappedNormLDA(start="identity"),
    "norm mean": CappedNormLDA(centres="mean"),
    "norm inf": CappedNormLDA(epsilon=np.inf),
    "norm extra": CappedNormLDA(4),
}
RECORDS = [(1, 1, 2), (7, 3, 2), (100, 13, 3), (1000, 24, 2), (500, 50, 7), (300, 130, 4)]


def fingerprint(value):
    """Return the SHA-256 of a value, and of its type and shape if it is an array."""
    if hasattr(value, "compute"):
        value = value.compute()
    if isinstance(value, dict):
        value = {key: fingerprint(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        told = f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    else:
        told = repr(value).encode()
    return hashlib.sha256(told).hexdigest()


def spoiled(X, every=20):
    """Return a copy of which every twentieth row is far off, and every 33rd a little."""
    X = X.copy()
    X[::every] *= -5.0
    X[5::33, 0] += 4.0 * X[:, 0].std()
    return X


def generated(n_rows, n, n_classes=3, seed=0):
    """Return rows of classes that overlap, some of them spoiled."""
    X, y = make_classification(
        n_rows,
        n,
        n_informative=min(n, 8),
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=seed,
    )
    return spoiled(X), y


def sparse_rows(n_rows, n, dtype):
    """Return a sparse matrix of counts whose classes prefer features of their own."""
    random = np.random.default_rng(1)
    y = random.integers(4, size=n_rows)
    rates = np.where(np.arange(n) % 4 == y[:, None], 0.08, 0.03)
    return sparse.csr_array(random.poisson(rates).astype(dtype)), y


def of_array(X, y, weight=None):
    """Return a function that fits an estimator to rows."""
    return lambda estimator: estimator.fit(X, y, weight)


def data(dtype, folder):
    """Yield the name of each input, and a function that fits an estimator to it."""
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        yield name, of_array(X.astype(dtype), y)
        yield f"{name} spoiled", of_array(spoiled(X).astype(dtype), y)
    X, y = generated(60_000, 20)
    X = X.astype(dtype)
    yield "60000x20", of_array(X, y)
    wide, labels = generated(120, 300)
    yield "wide", of_array(wide.astype(dtype), labels)
    many, labels = generated(900, 260)
    yield "many features", of_array(many.astype(dtype), labels)
    yield "sparse", of_array(*sparse_rows(600, 1500, dtype))
    yield "sparse, few features", of_array(*sparse_rows(600, 200, dtype))
    weight = np.random.default_rng(2).integers(4, size=len(y)) * 0.5
    yield "weights", of_array(X[:9000], y[:9000], weight[:9000])
    yield "weights, sampled", of_array(X, y, weight)
    np.save(folder / "X.npy", X)
    yield "memmap", of_array(np.load(folder / "X.npy", mmap_mode="r"), y)

    def chunks():
        for start in range(0, len(X), 7001):
            part = slice(start, start + 7001)
            yield X[part], y[part], weight[part]

    yield "chunks", lambda estimator: estimator.fit_chunks(chunks)
    import dask.array as da

    yield "dask", of_array(da.from_array(X, chunks=(9000, -1)), da.from_array(y, chunks=9000))


def told(name, estimator, fit):
    """Print the fingerprints of all fitted attributes, or the error."""
    try:
        fit(estimator)
    except ValueError as error:
        print(f"{name} | {type(error).__name__} | {fingerprint(str(error))}")
        return
    for attribute in sorted(vars(estimator)):
        if attribute.endswith("_"):
            print(f"{name} | {attribute} | {fingerprint(getattr(estimator, attribute))}")


def told_predictions(name, estimator, X, y):
    """Print the fingerprints of what a fitted estimator says about rows."""
    for method in ("transform", "decision_function", "predict_proba", "outlyingness"):
        print(f"{name} | {method} | {fingerprint(getattr(estimator, method)(X))}")
    print(f"{name} | outlyingness of y | {fingerprint(estimator.outlyingness(X, y))}")


def told_records(dtype):
    """Print the fingerprints of raw records over shapes."""
    for n_rows, n, c in RECORDS:
        random = np.random.default_rng(3)
        X = random.standard_normal((n_rows, n)).astype(dtype)
        codes = random.integers(c, size=n_rows).astype(np.int32)
        W, centres = random.standard_normal((n, c - 1)), random.standard_normal((c, n))
        scale, weight = random.uniform(0.5, 2.0, n), random.uniform(0.0, 2.0, n_rows)
        for q in (1.0, 2.0):
            query = Query(W, centres, scale, np.full(c, 2.0 * np.sqrt(n)), q, 0.1)
            record = PassJob(query)(X, codes, weight)
            for part, value in vars(record).items():
                if part == "border":
                    continue
                name = f"record {n_rows}x{n}, {c} classes | {X.dtype} | q={q:g}"
                print(f"{name} | {part} | {fingerprint(value)}")
        norms = norm_histograms(X, codes, weight, centres=centres, scale=scale)
        print(f"norms {n_rows}x{n}, {c} classes | {X.dtype} | {fingerprint(norms)}")


def main():
    """Print all fingerprints."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for dtype in (np.float64, np.float32):
            kind = np.dtype(dtype).name
            told_records(dtype)
            for name, fit in data(dtype, Path(folder)):
                for method, estimator in METHODS.items():
                    told(f"{name} | {kind} | {method}", clone(estimator), fit)
            X, y = load_wine(return_X_y=True)
            X = spoiled(X).astype(dtype)
            told_predictions(f"wine spoiled | {kind}", CappedLDA().fit(X, y), X, y)
            for variant, estimator in VARIANTS.items():
                told(f"wine spoiled | {kind} | {variant}", clone(estimator), of_array(X, y))
            told(f"wine spoiled | {kind} | cv", CappedLDACV("all"), of_array(X, y))
        X, y = load_iris(return_X_y=True)
        for name in compared.__all__:
            told(f"iris | {name}", getattr(compared, name)(), lambda estimator: estimator.fit(X, y))


if __name__ == "__main__":
    main()
