"""Measure false alarms of `is_rejected`, and how much of an unknown class it finds.

    python benchmarks/unknown.py --out docs/robustness

Gaussian classes that differ in two features; new rows are clean ones, and rows of an unknown class
some deviations off, in a feature that separates the classes or in one that does not. Compared
at the same stated rate: one Mahalanobis distance by the pooled covariance with a chi-square cut-off
(as scikit-learn's EllipticEnvelope, not robust), and the flags of `outlyingness(X) > 1`, which have
no rate. Seeds are fixed; it takes about a minute. Written: unknown.md.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import chi2
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda._util.tables import markdown_table

CENTRES = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
SHAPES = ((300, 10), (2000, 10), (2000, 40), (20_000, 40))  # rows and features
OFF = 4.0  # deviations of the unknown class
NEW = 4000
PAGE = """# Decisions on new rows

Written by `python benchmarks/unknown.py --out docs/robustness`. All methods are fitted to clean
rows of three Gaussian classes that differ in two features, and asked for {alpha:.0%} false alarms;
means over {repeats} data sets. *False alarms* is the share of clean new rows taken for outliers.
The unknown class lies {off:g} deviations off all others: in a feature that does not separate the
classes (*off the plane* of their centres), or in the plane. *chi-square* is one Mahalanobis
distance from the nearest class with the cut-off of Gaussian rows; `outlyingness(X) > 1` flags as
`fit` flags training rows, without a stated rate. In the last rows the data are scikit-learn's
digits, and each digit in turn is unknown.

{table}

`is_rejected` keeps the stated rate. It shares it between two spaces: off the plane it finds fewer
rows than a single distance that has all of the rate, in the plane many more. A class that differs
a little in one of many features is hard to see for all of them.
"""


def draw(rng, n_rows, n_features):
    """Return rows of three classes."""
    y = rng.integers(0, len(CENTRES), n_rows)
    X = rng.normal(size=(n_rows, n_features))
    X[:, :2] += CENTRES[y]
    return X, y


def unknown(rng, n_rows, n_features, feature):
    """Return rows of a class that is some deviations off all others in one feature."""
    X, _ = draw(rng, n_rows, n_features)
    if feature < 2:
        X[:, :2] = rng.normal(size=(n_rows, 2)) + [-OFF / np.sqrt(2.0), -OFF / np.sqrt(2.0)]
    else:
        X[:, feature] += OFF
    return X


def by_chi_square(X, y, alpha):
    """Return the detector by one Mahalanobis distance from the nearest class."""
    means = np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])
    H = X - means[y]
    inverse, cut = np.linalg.inv(H.T @ H / (len(X) - len(means))), chi2.ppf(1 - alpha, X.shape[1])

    def detect(new):
        steps = new[:, None] - means
        return np.einsum("ijk,kl,ijl->ij", steps, inverse, steps).min(axis=1) > cut

    return detect


def detectors(X, y, alpha):
    """Return the detectors by their names."""
    lda = CappedLDA().fit(X, y)
    return {
        "is_rejected": lambda new: lda.is_rejected(new, alpha=alpha),
        "chi-square": by_chi_square(X, y, alpha),
        "outlyingness > 1": lambda new: lda.outlyingness(new) > 1.0,
    }


def simulated(alpha, repeats):
    """Return the rows of the table: alarms on clean rows, and shares of unknown ones found."""
    for n_rows, n_features in SHAPES:
        found = {}
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            methods = detectors(*draw(rng, n_rows, n_features), alpha)
            cases = [draw(rng, NEW, n_features)[0]]
            cases += [unknown(rng, NEW, n_features, feature) for feature in (n_features - 1, 0)]
            for name, detect in methods.items():
                found.setdefault(name, []).append([detect(new).mean() for new in cases])
        for name, shares in found.items():
            means = np.mean(shares, axis=0)
            yield [f"{n_rows} x {n_features}", name, *(f"{100 * x:.1f} %" for x in means)]


def digits(alpha, repeats):
    """Return the rows of the table for real data: each digit in turn is the unknown class."""
    X, y = load_digits(return_X_y=True)
    found = {}
    for split in range(repeats):
        for digit in range(10):
            known = y != digit
            X_train, X_test, y_train, _ = train_test_split(
                X[known], y[known], stratify=y[known], random_state=split
            )
            lda = CappedLDA().fit(X_train, y_train)
            for name, detect in {
                "is_rejected": lambda new, lda=lda: lda.is_rejected(new, alpha=alpha),
                "outlyingness > 1": lambda new, lda=lda: lda.outlyingness(new) > 1.0,
            }.items():
                found.setdefault(name, []).append([detect(X_test).mean(), detect(X[~known]).mean()])
    for name, shares in found.items():
        alarms, power = np.mean(shares, axis=0)
        yield ["digits, one left out", name, f"{100 * alarms:.1f} %", f"{100 * power:.1f} %", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="folder for unknown.md")
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    header = ["rows x features", "method", "false alarms", "unknown, off the plane", "in the plane"]
    rows = [*simulated(args.alpha, args.repeats), *digits(args.alpha, max(args.repeats // 5, 1))]
    text = PAGE.format(
        alpha=args.alpha,
        repeats=args.repeats,
        off=OFF,
        table="\n".join(markdown_table(header, rows)),
    )
    print(text)
    if args.out is not None:
        (args.out / "unknown.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
