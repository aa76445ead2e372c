"""How robust is CappedLDA, told nothing? Data sets x contamination x share x method.

    python benchmarks/robustness.py --quick --out /tmp/robustness
    python benchmarks/robustness.py --data ../shared/data --out docs/robustness

Training parts are contaminated with `cappedlda.noise`, test parts stay clean. The oracle is LDA
fitted without the planted rows; methods marked "told" are given the true share. Written:
robustness.md (tables), robustness.json (one record per fit) and robustness.png. Seeds are fixed.
"""

import argparse
import importlib.util
import json
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.covariance import EllipticEnvelope, MinCovDet
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from cappedlda import noise

# ---------------------------------------------------------------------------------------------
# Methods: name -> f(X, y, share, touched) -> (fitted classifier, flagged rows or None)
# ---------------------------------------------------------------------------------------------


def load_estimator(path=None):
    """Import CappedLDA; no other place knows from where (``path``: a file with a prototype)."""
    if path is None:
        from cappedlda import CappedLDA

        return CappedLDA
    spec = importlib.util.spec_from_file_location("prototype", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CappedLDA


def capped(estimator, **parameters):
    """Make the method "CappedLDA with the given parameters"."""

    def fit(X, y, share, touched):
        model = estimator(**parameters).fit(X, y)
        return model, model.outliers_

    return fit


def plain(factory):
    """Make a method of a scikit-learn classifier that flags nothing."""
    return lambda X, y, share, touched: (factory().fit(X, y), None)


def oracle(X, y, share, touched):
    """LDA without the planted rows (with all rows of a class that would vanish)."""
    keep = never_lose_a_class(~touched, y)
    return LDA().fit(X[keep], y[keep]), touched


def cleaned(detector, told):
    """Make the method "an outlier detector in each class, then LDA on what it leaves".

    With more than MOST_CLASSES classes it would take minutes per fit and is plain LDA.
    """

    def fit(X, y, share, touched):
        rate = min(max(share, 1e-3), 0.5) if told else None
        keep = np.ones(len(y), dtype=bool)
        labels = np.unique(y)
        for label in labels if len(labels) <= MOST_CLASSES else ():
            rows = y == label
            keep[rows] = detect(detector, rate, X[rows])
        keep = never_lose_a_class(keep, y)
        return LDA().fit(X[keep], y[keep]), ~keep

    return fit


def detect(detector, rate, X):
    """Rows that a detector calls good; all of them where it cannot work (too few rows)."""
    if detector is EllipticEnvelope and len(X) <= 2 * X.shape[1]:
        return np.ones(len(X), dtype=bool)
    parameters = {} if rate is None else {"contamination": rate}
    try:
        return detector(random_state=0, **parameters).fit_predict(X) > 0
    except ValueError:
        return np.ones(len(X), dtype=bool)


def min_cov_det(X, y, share, touched):
    """LDA with a MinCovDet covariance; plain LDA where a class is too small for it."""
    if np.unique(y, return_counts=True)[1].min() <= 2 * X.shape[1]:
        return LDA().fit(X, y), None
    return LDA(solver="lsqr", covariance_estimator=MinCovDet(random_state=0)).fit(X, y), None


def never_lose_a_class(keep, y):
    """Keep the whole class where fewer than two of its rows are kept."""
    keep = keep.copy()
    for label in np.unique(y):
        if keep[y == label].sum() < 2:
            keep[y == label] = True
    return keep


MOST_CLASSES = 10
PEERS = {
    "LDA": plain(LDA),
    "LDA shrinkage": plain(lambda: LDA(solver="lsqr", shrinkage="auto")),
    "RobustScaler + LDA": plain(lambda: make_pipeline(RobustScaler(), LDA())),
    "LDA + MinCovDet": min_cov_det,
    "EllipticEnvelope + LDA": cleaned(EllipticEnvelope, told=False),
    "IsolationForest + LDA": cleaned(IsolationForest, told=False),
    "EllipticEnvelope + LDA, told": cleaned(EllipticEnvelope, told=True),
    "IsolationForest + LDA, told": cleaned(IsolationForest, told=True),
    "oracle LDA": oracle,
}
OURS = {
    "CappedLDA": {},
    "CappedLDA q=1.5": {"q": 1.5},
    "CappedLDA q=2": {"q": 2.0},
    "CappedLDA paper": {"solver": "paper"},
}


def all_methods(estimator):
    """Every method by name."""
    return PEERS | {name: capped(estimator, **given) for name, given in OURS.items()}


# ---------------------------------------------------------------------------------------------
# Contamination: name -> f(X, y, share=..., random_state=...)
# ---------------------------------------------------------------------------------------------

MODELS = {
    "scatter": noise.scatter,
    "leverage": noise.leverage,
    "cluster": noise.cluster,
    "dirty class": noise.dirty_class,
    "heavy tails": noise.heavy_tails,
    "swapped labels": noise.swap_labels,
    "feature noise": noise.feature_noise,
}
GROSS = ("scatter", "leverage", "cluster", "dirty class")
SHARES = (0.1, 0.2, 0.4)
QUICK_SETS = ("gauss 2 features", "gauss 20 features", "iris", "wine", "breast_cancer")
QUICK_MODELS = ("scatter", "leverage")


def contaminate(model, X, y, share, seed):
    """Dirty copy of (X, y), and which rows are dirty."""
    if model == "clean":
        return X, y, np.zeros(len(y), dtype=bool)
    X, y, touched = MODELS[model](X, y, share=share, random_state=seed)
    return X, y, touched if touched.ndim == 1 else touched.any(axis=1)


# ---------------------------------------------------------------------------------------------
# Data sets: name -> (X, y)
# ---------------------------------------------------------------------------------------------


def gaussian(seed, counts, n, distance=3.0, smooth=0.0, spreads=None, groups=1):
    """Gaussian classes; smooth > 0 correlates neighbouring features (a spectrum)."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(smooth ** abs(np.subtract.outer(np.arange(n), np.arange(n))))
    spreads = np.ones(len(counts)) if spreads is None else spreads
    X, y = [], []
    for label, (count, spread) in enumerate(zip(counts, spreads, strict=True)):
        steps = rng.normal(size=(groups, n)) * distance / np.sqrt(2 * min(n, 2 * len(counts)))
        means = np.where(np.arange(n) < 2 * len(counts), steps, 0)
        rows = means[rng.integers(groups, size=count)] + spread * rng.normal(size=(count, n))
        X.append(rows @ factor.T)
        y.append(np.full(count, label))
    return np.concatenate(X), np.concatenate(y)


def simulated():
    """Gaussian sets: small, wide, correlated, grouped, unbalanced, unequal, many classes."""
    return {
        "gauss 2 features": gaussian(0, [40, 40], 2),
        "gauss 20 features": gaussian(1, [150] * 3, 20),
        "gauss wide": gaussian(2, [80] * 3, 100, distance=5),
        "gauss spectra": gaussian(3, [200] * 3, 200, smooth=0.98),
        "gauss 1000 features": gaussian(4, [150] * 2, 1000, distance=8, smooth=0.9),
        "gauss grouped": gaussian(5, [200] * 3, 10, distance=6, groups=2),
        "gauss unbalanced": gaussian(6, [360, 40], 5),
        "gauss unequal": gaussian(7, [150] * 3, 5, distance=5, spreads=[1, 2, 3]),
        "gauss 50 classes": gaussian(8, [40] * 50, 30, distance=12),
    }


def toy():
    """Load the data sets that come with scikit-learn."""
    loaders = ("iris", "wine", "breast_cancer", "digits")
    return {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in loaders}


def from_folder(folder, most_rows=3000):
    """Load the .npz files (X, y) of a folder; gaps filled with medians, long sets cut."""
    found = {}
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"]
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        if len(X) > most_rows:
            X, _, y, _ = train_test_split(X, y, train_size=most_rows, stratify=y, random_state=0)
        found[path.stem] = X, y
    return found


# ---------------------------------------------------------------------------------------------
# The experiment
# ---------------------------------------------------------------------------------------------


def one_fit(method, train, test, share, touched):
    """Accuracy on clean test rows, recall of planted rows, false flags, seconds."""
    start = time.perf_counter()
    model, flagged = method(*train, share, touched)
    record = {"seconds": time.perf_counter() - start}
    record["accuracy"] = float(np.mean(model.predict(test[0]) == test[1]))
    if flagged is not None:
        record["recall"] = float(flagged[touched].mean()) if touched.any() else None
        record["false"] = float(flagged[~touched].mean()) if not touched.all() else None
    return record


def seed_of(*key):
    """Make a seed that depends on the names only, not on the order of the runs."""
    return zlib.crc32(repr(key).encode())


def run_split(name, X, y, split, methods, cells):
    """Fit everything on one split; who fails gets accuracy 0 and the text of the error."""
    warnings.simplefilter("ignore")
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=split
    )
    records = []
    for model, share in cells:
        seed = seed_of(name, split, model, share)
        *train, touched = contaminate(model, X_train, y_train, share, seed)
        key = {"data": name, "model": model, "share": share, "split": split}
        for method, fit in methods.items():
            try:
                result = one_fit(fit, train, (X_test, y_test), share, touched)
            except Exception as error:
                result = {"accuracy": 0.0, "error": repr(error)}
            records.append(key | {"method": method} | result)
    print(f"{name}, split {split} done", flush=True)
    return records


def run(sets, methods, cells, splits):
    """Return the records of every fit, one data set and split after the other."""
    tasks = [(name, X, y, split) for name, (X, y) in sets.items() for split in range(splits)]
    return [record for task in tasks for record in run_split(*task, methods, cells)]


# ---------------------------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------------------------


def mean_and_error(frame, column, by):
    """Mean over data sets, and its standard error due to the splits (sets are fixed)."""
    cells = frame.groupby([*by, "data"], sort=False)[column]
    mean = cells.mean().groupby(level=by, sort=False).mean()
    square = (cells.var(ddof=1) / cells.count()).groupby(level=by, sort=False)
    return mean, np.sqrt(square.sum()) / square.count()


def table(frame, column, by=("model", "share"), factor=100, errors=True):
    """Markdown table: rows = methods, columns = contamination and share."""
    mean, error = mean_and_error(frame, column, ["method", *by])
    columns = list(dict.fromkeys(key[1:] for key in mean.index))
    heads = [" ".join(f"{p:.0%}" if isinstance(p, float) else p for p in c) for c in columns]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for method in dict.fromkeys(key[0] for key in mean.index):
        values = [mean.get((method, *c), np.nan) * factor for c in columns]
        around = [error.get((method, *c), np.nan) * factor for c in columns]
        if np.isnan(values).all():
            continue
        pairs = zip(values, around, strict=True)
        texts = [f"{v:.1f} ± {e:.1f}" if errors else f"{v:.1f}" for v, e in pairs]
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return "\n".join(lines).replace("nan ± nan", "-").replace("nan", "-")


def report(frame, sets):
    """Write the Markdown text."""
    dirty = frame[frame.share > 0]
    named = ", ".join(f"{k} ({len(y)} x {X.shape[1]} x {len(np.unique(y))})" for k, (X, y) in sets)
    parts = [
        "# Robustness table",
        f"Written by benchmarks/robustness.py. Splits: {frame.split.nunique()}. Data: {named}.",
        "## Accuracy on clean test rows (%), mean over data sets ± standard error (splits)",
        table(frame, "accuracy"),
        "## Recall of planted rows (%)",
        table(dirty.dropna(subset="recall"), "recall"),
        "## False flags: clean rows flagged (%)",
        table(frame.dropna(subset="false"), "false"),
        "## Accuracy by data set (%), mean over all dirty cells",
        table(dirty, "accuracy", by=["data"], errors=False),
        "## Accuracy by data set (%), clean",
        table(frame[frame.share == 0], "accuracy", by=["data"], errors=False),
        "## Seconds per fit",
        table(frame, "seconds", factor=1, errors=False).replace("| method", "| seconds"),
    ]
    failed = frame[frame["error"].notna()] if "error" in frame else frame[:0]
    if len(failed):
        parts.append("## Failures\n" + failed.groupby(["method", "error"]).size().to_string())
    return "\n\n".join(parts) + "\n"


def picture(frame, path):
    """Accuracy lost against the oracle, by contamination and share, one line per method."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mean, _ = mean_and_error(frame, "accuracy", ["method", "model", "share"])
    models = [m for m in dict.fromkeys(frame.model) if m != "clean"]
    methods = [m for m in dict.fromkeys(frame.method) if m != "oracle LDA"]
    figure, axes = plt.subplots(
        1, len(models), figsize=(max(9, 2.6 * len(models)), 4), sharey=True, squeeze=False
    )
    for axis, model in zip(axes[0], models, strict=True):
        for i, method in enumerate(methods):
            loss = mean["oracle LDA"][model] - mean[method][model]
            style = {"lw": 2.5, "color": "black"} if method == "CappedLDA" else {"lw": 1}
            axis.plot(loss.index * 100, loss.values * 100, f"{'os^vDP*X'[i % 8]}-", ms=3, **style)
        axis.set(title=model, xlabel="touched rows (%)")
        axis.axhline(0, color="grey", lw=0.5)
    axes[0, 0].set(ylabel="points of accuracy below the oracle", yscale="symlog")
    axes[0, 0].invert_yaxis()
    figure.legend(
        axes[0, 0].lines[: len(methods)], methods, loc="lower center", ncols=5, fontsize=7
    )
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=150)


def parse(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few sets, splits and shares")
    parser.add_argument("--data", help="folder of .npz files with X and y")
    parser.add_argument("--only", nargs="+", help="names of the data sets to use")
    parser.add_argument("--skip", nargs="+", default=[], help="names of data sets to leave out")
    parser.add_argument("--methods", nargs="+", help="names of the methods to use")
    parser.add_argument("--splits", type=int, help="number of random splits (default 3)")
    parser.add_argument("--out", default="robustness", help="folder for the results")
    parser.add_argument("--prototype", help="file that defines CappedLDA, instead of the library")
    return parser.parse_args(argv)


def choose(options, names):
    """Return the named part of a dict, all of it for None."""
    return options if names is None else {name: options[name] for name in names}


def main(argv=None):
    """Run and write the report."""
    given = parse(argv)
    warnings.simplefilter("ignore")
    sets = simulated() | toy() | (from_folder(given.data) if given.data else {})
    sets = choose(sets, given.only or (QUICK_SETS if given.quick else None))
    sets = {name: data for name, data in sets.items() if name not in given.skip}
    methods = choose(all_methods(load_estimator(given.prototype)), given.methods)
    models, shares = (QUICK_MODELS, (0.1, 0.4)) if given.quick else (MODELS, SHARES)
    cells = [("clean", 0.0)] + [(model, share) for model in models for share in shares]
    records = run(sets, methods, cells, given.splits or (2 if given.quick else 3))
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(records)
    (out / "robustness.json").write_text(json.dumps(records))
    (out / "robustness.md").write_text(report(frame, sets.items()))
    if "oracle LDA" in methods:
        picture(frame, out / "robustness.png")
    print((out / "robustness.md").read_text())


if __name__ == "__main__":
    main()
