"""Are false alarms as rare as stated, and is a class found that the training rows did not have?

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
from cappedlda._tables import markdown_table

CENTRES = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
SHAPES = ((300, 10), (2000, 10), (2000, 40), (20_000, 40))  # rows and features
OFF = 4.0  # deviations of the unknown class
NEW = 4000


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
        "is_outlier": lambda new: lda.is_outlier(new, alpha=alpha),
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
                "is_outlier": lambda new, lda=lda: lda.is_outlier(new, alpha=alpha),
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
    text = "\n".join(markdown_table(header, rows)) + "\n"
    print(text)
    if args.out is not None:
        (args.out / "unknown.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
