"""Time and memory of a fit to sparse text, beside TruncatedSVD and LDA.

    python benchmarks/text.py [--documents 20000] [--words 50000] [--classes 10]

Prints processor time, also over that of one product X.T @ (X @ W), and the peak of the memory
that is allocated beside X, over the size of X. The peak comes from a second, slower run.
"""

import argparse
import time
import tracemalloc

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from cappedlda import CappedLDA
from cappedlda.paper.datasets import make_zipf_text


def seconds(job):
    """Return the processor time of a job."""
    start = time.process_time()
    job()
    return time.process_time() - start


def peak(job):
    """Return the largest number of bytes allocated during a job."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main():
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--skip-memory", action="store_true")
    options = parser.parse_args()
    shape = (options.documents, options.words, options.classes)
    n_test = options.documents // 4
    data = make_zipf_text(shape[0] + n_test, *shape[1:], outlier_share=0.05, random_state=0)
    test = np.flatnonzero(~data.outliers[:n_test])
    X_test, y_test = data.X[test].log1p(), data.y[test]
    X, y, outliers = data.X[n_test:].log1p(), data.y[n_test:], data.outliers[n_test:]
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"X: {X.shape}, {X.nnz} entries, {size / 1e6:.1f} MB")
    capped = CappedLDA(n_jobs=1)
    svd = make_pipeline(TruncatedSVD(100, random_state=0), LinearDiscriminantAnalysis())
    for name, model in (("CappedLDA", capped), ("TruncatedSVD(100) + LDA", svd)):
        used = seconds(lambda model=model: model.fit(X, y))
        unit = min(seconds(lambda: X.T @ (X @ capped.scalings_)) for _ in range(5))
        accuracy = model.score(X_test, y_test)
        line = f"{name}: {used:.1f} s, {used / unit:.0f} products, accuracy {accuracy:.3f}"
        if not options.skip_memory:
            line += f", peak {peak(lambda model=model: model.fit(X, y)) / size:.1f} X"
        print(line, flush=True)
    recall, false = capped.outliers_[outliers].mean(), capped.outliers_[~outliers].mean()
    print(f"CappedLDA: recall {recall:.3f}, false flags {false:.3f}, status {capped.status_}")


if __name__ == "__main__":
    main()
