"""What do wrong and missing cells cost? Accuracy with such cells in new rows, and in training.

    python benchmarks/cells.py --data FOLDER... --confirm FOLDER... --out docs/cells

New rows: training rows (60 % of a set) stay as they are. In every test row one cell or three,
chosen at random, are moved by some standard deviations of their feature, up or down; or 10 % of
all cells are missing. Training: a share of all training cells is moved by 10 deviations, and test
rows stay as they are. Taken are the sets with at least 8 rows in each class and 5 training rows per
feature, for three wrong cells those with 7 features or more. The sets to confirm were kept aside:
they come first, and the pictures are theirs. Written: cells.md, cells.json, new_rows.png and
training.png. Seeds are fixed.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from robust_data import long_sets
from robust_report import code_state
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler

from cappedlda import CappedLDA

# Wrong cells in each new row, and by how many deviations they are off.
ERRORS = [(0, 0), (1, 4), (1, 8), (1, 50), (3, 4), (3, 8), (3, 50)]
# Shares of wrong training cells, and by how many deviations they are off.
SHARES, SIZE = (0.01, 0.02, 0.05, 0.1, 0.2), 10.0
MISSING = 0.1
CLEAN, GAPS = "clean", f"{MISSING:.0%} missing"
OURS, ALL = "CappedLDA", 'CappedLDA(cells="all")'
# Robust deviations at which scaled features are cut off.
CLIP = 3.0
STYLES = {
    "LDA": ("#d55e00", "s"),
    "RobustScaler + clip + LDA": ("#009e73", "D"),
    ALL: ("#0072b2", "o"),
    OURS: ("black", "^"),
}
# Sets with more numbers take longer than all others together.
MOST_NUMBERS = 1e5


def methods():
    """The methods by name; those that do not take gaps have the medians instead."""
    impute = SimpleImputer(strategy="median")
    clip = FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP})
    return {
        "LDA": make_pipeline(impute, LinearDiscriminantAnalysis()),
        "RobustScaler + clip + LDA": make_pipeline(
            impute, RobustScaler(), clip, LinearDiscriminantAnalysis()
        ),
        ALL: CappedLDA(cells="all", missing="ignore"),
        OURS: CappedLDA(missing="ignore"),
    }


def scenario(wrong, size):
    """Return the name of what was done to the test rows."""
    if not wrong:
        return CLEAN
    return f"{wrong} cell{'s' * (wrong > 1)} off by {size}"


def in_training(share):
    """Return the name of what was done to the training rows."""
    return f"{share:.0%} of training cells"


def spoiled(X, deviations, wrong, size, rng):
    """Rows in which some cells are off by `size` deviations."""
    X = X.copy()
    for row in X:
        cells = rng.choice(len(row), min(wrong, len(row)), replace=False)
        row[cells] += size * deviations[cells] * rng.choice([-1.0, 1.0], len(cells))
    return X


def with_wrong_cells(X, deviations, share, rng):
    """Rows of which a share of all cells is off."""
    wrong = rng.random(X.shape) < share
    return X + wrong * SIZE * deviations * rng.choice([-1.0, 1.0], X.shape)


def with_gaps(X, rng):
    """Rows with missing cells."""
    return np.where(rng.random(X.shape) < MISSING, np.nan, X)


def records_of(name, X, y, splits):
    """Yield the accuracy of each method on each kind of rows, in percent."""
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=split
        )
        deviations = X_train.std(axis=0)
        deviations[deviations == 0.0] = 1.0
        rng = np.random.default_rng(split)
        new = {
            scenario(*error): spoiled(X_test, deviations, *error, rng)
            for error in ERRORS
            if 2 * error[0] < X.shape[1]  # most cells of a row are right
        }
        new[GAPS] = with_gaps(X_test, rng)
        training = {
            in_training(share): with_wrong_cells(X_train, deviations, share, rng)
            for share in SHARES
        }
        about = {"data": name, "split": split, "test rows": len(y_test)}
        for method, model in methods().items():
            model.fit(X_train, y_train)
            scores = {kind: model.score(rows, y_test) for kind, rows in new.items()}
            for kind, rows in training.items():
                scores[kind] = model.fit(rows, y_train).score(X_test, y_test)
            for kind, score in scores.items():
                accuracy = round(100.0 * score, 3)
                yield {**about, "method": method, "rows": kind, "accuracy": accuracy}


def means_of(frame, kinds):
    """Mean accuracy over the sets: a line for each kind of rows, a column for each method."""
    by_set = frame.groupby(["data", "rows", "method"]).accuracy.mean()
    return by_set.groupby(["rows", "method"]).mean().unstack().loc[kinds, list(STYLES)]


def by_set(frame):
    """Mean accuracy by set, kind of rows and method, for the file."""
    found = {}
    means = frame.groupby(["data", "rows", "method"]).accuracy.mean().round(2)
    for (name, rows, method), accuracy in means.items():
        found.setdefault(name, {}).setdefault(rows, {})[method] = accuracy
    return found


def clean_losses(frame):
    """What the treatment of cells costs clean rows of each set, and how many were tested."""
    clean = frame[frame.rows == CLEAN].pivot_table(
        index=["data", "test rows"], columns="method", values="accuracy"
    )
    return (clean[OURS] - clean[ALL]).rename("points").reset_index()


def lost(frame):
    """What CappedLDA loses against clean rows of the same sets, by kind of rows, in points."""
    ours = frame[frame.method == OURS].pivot_table(index="data", columns="rows", values="accuracy")
    return -ours.sub(ours[CLEAN], axis=0).mean()


PAGE = """# Wrong and missing cells

Written by `python benchmarks/cells.py --data FOLDER... --confirm FOLDER... --out docs/cells`, with
the library's code at commit {state}; {splits} splits of each set. Mean accuracy in percent. What is
lost is against clean rows of the same sets. LDA and the clipped one get the median where a cell is
missing. The package cellWise of R was not run. The sets kept aside led to two rules:
pendigits to `MOST_LOST`, plant_texture, too large for this page, to `JUDGED_PER_CLASS`.

*New rows*: training rows are as they are. In every test row one cell or three are off by some
standard deviations of their feature (three only with 7 features or more), or {missing:.0%} of all
cells are missing. *Training rows*: a share of all training cells is off by {size:g} standard
deviations; test rows are as they are.

{parts}
"""
PICTURES = """
![Accuracy against the size of the error](new_rows.png)

![Accuracy against the share of wrong training cells](training.png)
"""


def markdown(frame, title, pictures=""):
    """Return the part of the report on some sets."""
    losses = clean_losses(frame)
    large = losses[losses["test rows"] >= 300]
    worst = losses.loc[losses.points.idxmin()]
    column = {"lost by CappedLDA": lost(frame)}
    new = means_of(frame, [scenario(*error) for error in ERRORS] + [GAPS]).assign(**column)
    training = means_of(frame, [CLEAN, *map(in_training, SHARES)]).assign(**column)
    of_large = (
        f", the worst of the {len(large)} with 300 test rows or more {-large.points.min():.2f}"
    )
    return f"""## {title}: {frame.data.nunique()} sets

New rows:

{(new.round(1) + 0.0).to_markdown()}

Clean rows lose {-losses.points.mean():.3f} points on average against `cells="all"`; the worst set
loses {-worst.points:.2f} ({worst["data"]}, {worst["test rows"]} test rows){of_large}.

Training rows:

{(training.round(1) + 0.0).to_markdown()}
{pictures}"""


def draw(axis, means, ticks, **labels):
    """Draw the accuracy of each method."""
    for method, (colour, marker) in STYLES.items():
        axis.plot(range(len(means)), means[method], color=colour, marker=marker, ms=5, label=method)
    axis.set_xticks(range(len(means)), ticks)
    axis.set(**labels)


def pictures(frame, out):
    """Draw the accuracy against the size of the error, and against the share of wrong cells."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
    for axis, wrong in zip(axes, (1, 3), strict=True):
        sizes = [size for count, size in ERRORS if count == wrong]
        some = frame[frame.data.isin(frame[frame.rows == scenario(wrong, sizes[0])].data)]
        means = means_of(some, [CLEAN] + [scenario(wrong, size) for size in sizes])
        title = f"{wrong} wrong cell{'s' * (wrong > 1)} in every new row"
        draw(axis, means, [0, *sizes], title=title, xlabel="size of the error (deviations)")
    axes[0].set_ylabel("accuracy (%)")
    axes[0].legend(fontsize=8)
    figure.savefig(out / "new_rows.png", dpi=120)
    figure, axis = plt.subplots(figsize=(5, 3.6), layout="constrained")
    means = means_of(frame, [CLEAN, *map(in_training, SHARES)])
    ticks = [f"{share:.0%}" for share in (0.0, *SHARES)]
    labels = {"xlabel": "wrong training cells", "ylabel": "accuracy on clean rows (%)"}
    draw(axis, means, ticks, **labels)
    axis.legend(fontsize=8)
    figure.savefig(out / "training.png", dpi=120)


def frame_of(folders, splits):
    """Return the records of all sets of folders."""
    records = []
    for folder in folders:
        for name, (X, y) in long_sets(folder).items():
            if X.size <= MOST_NUMBERS:
                records += records_of(name, X, y, splits)
                print(name, flush=True)
    return pd.DataFrame(records)


def main(argv=None):
    """Run and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folders = "folders of .npz files with X, y"
    parser.add_argument("--data", nargs="+", required=True, help=f"{folders} that decided")
    parser.add_argument("--confirm", nargs="+", required=True, help=f"{folders} that did not")
    parser.add_argument("--out", default="cells", help="folder for the results")
    parser.add_argument("--splits", type=int, default=2, help="number of random splits")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    confirming, development = (frame_of(part, given.splits) for part in (given.confirm, given.data))
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    pictures(confirming, out)
    found = by_set(confirming) | by_set(development)
    (out / "cells.json").write_text(json.dumps(found, indent=1) + "\n")
    parts = (
        markdown(confirming, "Sets kept aside", PICTURES),
        markdown(development, "Sets of the development"),
    )
    text = PAGE.format(
        state=code_state(),
        splits=given.splits,
        missing=MISSING,
        size=SIZE,
        parts="\n".join(parts).rstrip(),
    )
    (out / "cells.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
