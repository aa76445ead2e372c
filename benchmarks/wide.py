"""Measure dense rows with many features: a matrix of n x n, or products only.

    python benchmarks/wide.py [--shapes 2000x8000,20000x3000] [--classes 5]

Fits the same rows twice, in one thread: as an array, for which the scatter (or, with fewer rows
than features, a QR factorisation of the rows) is made, and as a CSR matrix that stores every
number, for which there are products only. Prints the processor time of both, the number of
products, and the largest angle between the directions found.
"""

import argparse
import time

from scipy import linalg, sparse
from suite.common import contaminated

from cappedlda import CappedLDA
from cappedlda._data.sparse import ImplicitScatter


def fitted(X, y):
    """Return a fitted model, its processor time, and how many products it took."""
    images, count = ImplicitScatter.images, []
    ImplicitScatter.images = lambda scatter, V: count.append(1) or images(scatter, V)
    begin = time.process_time()
    try:
        model = CappedLDA(n_jobs=1).fit(X, y)
    finally:
        ImplicitScatter.images = images
    return model, time.process_time() - begin, len(count)


def main():
    """Fit every shape both ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="1000x4000,2000x8000")
    parser.add_argument("--classes", type=int, default=5)
    options = parser.parse_args()
    for shape in options.shapes.split(","):
        n_rows, n = map(int, shape.split("x"))
        X, y, _ = contaminated(n_rows, n, options.classes)
        by_matrix, time_of_matrix, _ = fitted(X, y)
        by_products, time_of_products, products = fitted(sparse.csr_array(X), y)
        angle = linalg.subspace_angles(by_matrix.scalings_, by_products.scalings_).max()
        print(
            f"{shape}: matrix {time_of_matrix:.1f} s, products {time_of_products:.1f} s "
            f"({products} of them), angle {angle:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
