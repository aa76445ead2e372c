"""What do wrong and missing cells in new rows cost? Accuracy against the size of the error.

    python benchmarks/cells.py --data FOLDER... --out docs/cells

Training rows (60 % of a set) stay as they are. In every test row one cell or three, chosen at
random, are moved by some standard deviations of their feature, up or down; or 10 % of all cells
are missing. Taken are the sets with at least 8 rows in each class and 5 training rows per feature,
for three wrong cells those with 7 features or more. Written: cells.md, cells.json and cells.png.
Seeds are fixed.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from robust_data import long_sets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler

from cappedlda import CappedLDA

# Wrong cells in each row, and by how many deviations they are off.
ERRORS = [(0, 0), (1, 4), (1, 8), (1, 50), (3, 4), (3, 8), (3, 50)]
MISSING = 0.1
CLEAN, GAPS = "clean", f"{MISSING:.0%} missing"
OURS = "CappedLDA"
# Robust deviations at which scaled features are cut off.
CLIP = 3.0
STYLES = {
    "LDA": ("#d55e00", "s"),
    "RobustScaler + clip + LDA": ("#009e73", "D"),
    'CappedLDA(cells="all")': ("#0072b2", "o"),
    OURS: ("black", "^"),
}


def methods():
    """The methods by name; those that do not take gaps have the medians instead."""
    impute = SimpleImputer(strategy="median")
    clip = FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP})
    return {
        "LDA": make_pipeline(impute, LinearDiscriminantAnalysis()),
        "RobustScaler + clip + LDA": make_pipeline(
            impute, RobustScaler(), clip, LinearDiscriminantAnalysis()
        ),
        'CappedLDA(cells="all")': CappedLDA(cells="all", missing="ignore"),
        OURS: CappedLDA(missing="ignore"),
    }


def scenario(wrong, size):
    """Return the name of what was done to the test rows."""
    if not wrong:
        return CLEAN
    return f"{wrong} cell{'s' * (wrong > 1)} off by {size}"


def spoiled(X, deviations, wrong, size, rng):
    """Rows in which some cells are off by `size` deviations."""
    X = X.copy()
    for row in X:
        cells = rng.choice(len(row), min(wrong, len(row)), replace=False)
        row[cells] += size * deviations[cells] * rng.choice([-1.0, 1.0], len(cells))
    return X


def with_gaps(X, rng):
    """Rows with missing cells."""
    return np.where(rng.random(X.shape) < MISSING, np.nan, X)


def records_of(name, X, y, splits):
    """Yield the accuracy of each method on each kind of test rows, in percent."""
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=split
        )
        deviations = X_train.std(axis=0)
        deviations[deviations == 0.0] = 1.0
        rng = np.random.default_rng(split)
        rows = {
            scenario(*error): spoiled(X_test, deviations, *error, rng)
            for error in ERRORS
            if 2 * error[0] < X.shape[1]  # most cells of a row are right
        }
        rows[GAPS] = with_gaps(X_test, rng)
        for method, model in methods().items():
            model.fit(X_train, y_train)
            for kind, spoiled_rows in rows.items():
                accuracy = 100.0 * model.score(spoiled_rows, y_test)
                yield {
                    "data": name,
                    "split": split,
                    "test rows": len(y_test),
                    "method": method,
                    "rows": kind,
                    "accuracy": round(accuracy, 3),
                }


def means_of(frame):
    """Mean accuracy over the sets: a line for each kind of test rows, a column for each method."""
    by_set = frame.groupby(["data", "rows", "method"]).accuracy.mean()
    table = by_set.groupby(["rows", "method"]).mean().unstack()
    order = [scenario(*error) for error in ERRORS] + [GAPS]
    return table.loc[order, list(STYLES)]


def by_set(frame):
    """Mean accuracy by set, kind of test rows and method, for the file."""
    found = {}
    means = frame.groupby(["data", "rows", "method"]).accuracy.mean().round(2)
    for (name, rows, method), accuracy in means.items():
        found.setdefault(name, {}).setdefault(rows, {})[method] = accuracy
    return found


def clean_losses(frame):
    """What capping costs clean rows of each set, in points, and how many were tested."""
    clean = frame[frame.rows == CLEAN].pivot_table(
        index=["data", "test rows"], columns="method", values="accuracy"
    )
    return (clean[OURS] - clean['CappedLDA(cells="all")']).rename("points").reset_index()


def markdown(frame, command):
    """Return the report."""
    means, losses = means_of(frame), clean_losses(frame)
    large = losses[losses["test rows"] >= 300]
    ours = frame[frame.method == OURS].pivot_table(index="data", columns="rows", values="accuracy")
    lost = -ours.sub(ours[CLEAN], axis=0).mean()
    worst = losses.loc[losses.points.idxmin()]
    means = means.assign(**{"lost by CappedLDA": lost})
    return f"""# Wrong and missing cells in new rows

Written by `{command}`,
with {frame.data.nunique()} real data sets, {frame.split.nunique()} splits each. Training
rows are as they are. In every test row one cell or three are off by some standard deviations of
their feature (three only with 7 features or more), or {MISSING:.0%} of all cells are missing; LDA
and the clipped one get the median there. What is lost is against clean rows of the same sets.

Mean accuracy in percent:

{means.round(1).to_markdown()}

Capping cells costs clean rows {-losses.points.mean():.3f} points on average; the worst set loses
{-worst.points:.2f} ({worst["data"]}, {worst["test rows"]} test rows), the worst of the
{len(large)} with 300 test rows or more {-large.points.min():.2f}.

![Accuracy against the size of the error](cells.png)
"""


def picture(frame, path):
    """Draw the accuracy against the size of the error, for one wrong cell and for three."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    means = means_of(frame)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
    for axis, wrong in zip(axes, (1, 3), strict=True):
        sizes = [size for count, size in ERRORS if count == wrong]
        names = [CLEAN] + [scenario(wrong, size) for size in sizes]
        for method, (colour, marker) in STYLES.items():
            found = means.loc[names, method]
            axis.plot(range(len(names)), found, color=colour, marker=marker, ms=5, label=method)
        axis.set_xticks(range(len(names)), [0, *sizes])
        title = f"{wrong} wrong cell{'s' * (wrong > 1)} in every new row"
        axis.set(title=title, xlabel="size of the error (standard deviations)")
    axes[0].set_ylabel("accuracy (%)")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main(argv=None):
    """Run and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help="folders of .npz files with X, y")
    parser.add_argument("--out", default="cells", help="folder for the results")
    parser.add_argument("--splits", type=int, default=2, help="number of random splits")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    records = []
    for folder in given.data:
        for name, (X, y) in long_sets(folder).items():
            records += records_of(name, X, y, given.splits)
            print(name, flush=True)
    frame, out = pd.DataFrame(records), Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "cells.json").write_text(json.dumps(by_set(frame), indent=1) + "\n")
    command = "python benchmarks/cells.py --data FOLDER... --out docs/cells"
    (out / "cells.md").write_text(markdown(frame, command))
    picture(frame, out / "cells.png")
    print((out / "cells.md").read_text())


if __name__ == "__main__":
    main()
