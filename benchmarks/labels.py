"""What do wrong training labels cost, and which are found? Accuracy and calls, against cleanlab.

    python benchmarks/labels.py --data FOLDER... --confirm FOLDER... --out docs/labels

Training rows (60 % of at most 700) get wrong labels: some share flipped to any other class, 30 % of
the largest class labelled as the second largest, those nearest to a boundary flipped across it, or
a tenth flipped and a tenth of the rows thrown far off. Test rows are as they are. Classes of fewer
than 8 rows are left out, and so are sets of more than 300 features. Sets of `--confirm` are those
on which no rule was tried; they are reported apart. cleanlab (`pip install "cappedlda[peers]"`)
cleans the labels by 5-fold cross-validation around a classifier, which is then fitted to the rest.
What `label_noise="auto"` costs is measured on Gaussian classes: the ratio of the processor time of
a fit with it to that of a fit without, one after the other, on one thread.
Written: labels.md, labels.json and labels.png. Seeds are fixed.
"""

import argparse
import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from robust_data import read_folder
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda.noise import scatter

MOST_ROWS, MOST_FEATURES, LEAST_ROWS = 700, 300, 8
FLIPS = [0.05, 0.1, 0.2, 0.3, 0.4]
CLEAN, MOVED, OUTLIERS = "clean", "30% of one class", "10% and outliers"
BORDERS = {"10% near boundary": 0.1, "20% near boundary": 0.2}
KINDS = [CLEAN, *(f"{share:.0%}" for share in FLIPS), MOVED, *BORDERS, OUTLIERS]
# cleanlab takes five fits and more: it is shown these only.
SHORT = [CLEAN, "10%", "20%", "40%", MOVED]
# Rows, features, classes; share of wrong labels, and distance of the classes from their middle.
COSTS = [
    (*shape, share, apart)
    for shape in [(300, 5, 3), (3000, 20, 5), (200_000, 20, 3), (50_000, 100, 10)]
    for share, apart in [(0.0, 3.0), (0.1, 3.0), (0.1, 6.0)]
]
DEFAULT, OURS = "CappedLDA", 'CappedLDA, agreement, "auto"'
# What is best possible by naming rows: the rows with a wrong label are dropped.
DROPPED = ", wrong dropped"
METHODS = {
    "LDA": LinearDiscriminantAnalysis,
    DEFAULT: lambda: CappedLDA(cells="all"),
    "CappedLDA, agreement": lambda: CappedLDA(cells="all", shrinkage="agreement"),
    'CappedLDA, "auto"': lambda: CappedLDA(cells="all", label_noise="auto"),
    OURS: lambda: CappedLDA(cells="all", shrinkage="agreement", label_noise="auto"),
    DEFAULT + DROPPED: lambda: CappedLDA(cells="all"),
    "CappedLDA, agreement" + DROPPED: lambda: CappedLDA(cells="all", shrinkage="agreement"),
    "cleanlab, LDA": lambda: cleaned(LinearDiscriminantAnalysis()),
    "cleanlab, CappedLDA": lambda: cleaned(CappedLDA(cells="all")),
}
COLOURS = dict(
    zip(
        METHODS,
        ["#d55e00", "black", "#009e73", "#56b4e9", "#0072b2", "#bbbbbb", "#777777"]
        + ["#cc79a7", "#e69f00"],
        strict=True,
    )
)


def cleaned(classifier):
    """Return cleanlab around a classifier."""
    from cleanlab.classification import CleanLearning

    return CleanLearning(classifier, cv_n_folds=5, seed=0, verbose=False)


def sets_of(folders):
    """Yield name, X and codes of the sets of folders."""
    for folder in folders:
        for name, X, y in read_folder(folder):
            whole = np.isfinite(X).all(axis=1)
            X, y = X[whole], y[whole]
            if X.shape[1] > MOST_FEATURES:
                continue
            chosen = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
            labels, codes, counts = np.unique(y[chosen], return_inverse=True, return_counts=True)
            large = counts[codes] >= LEAST_ROWS
            codes = np.unique(codes[large], return_inverse=True)[1]
            if len(codes) >= 60 and codes.max() > 0:
                yield name, X[chosen][large], codes


def with_wrong_labels(X, y, kind, rng):
    """Return rows and labels, some of them wrong."""
    z = y.copy()
    if kind == MOVED:
        first, second = np.argsort(-np.bincount(y), kind="stable")[:2]
        (own,) = np.nonzero(y == first)
        z[rng.permutation(own)[: round(0.3 * len(own))]] = second
    elif kind in BORDERS:
        scores = LinearDiscriminantAnalysis().fit(X, y).predict_log_proba(X)
        order = np.argsort(scores, axis=1)
        margin = np.diff(np.take_along_axis(scores, order[:, -2:], axis=1), axis=1)[:, 0]
        near = np.argsort(margin, kind="stable")[: round(BORDERS[kind] * len(y))]
        other = np.where(order[:, -1] == y, order[:, -2], order[:, -1])
        z[near] = other[near]
    elif kind != CLEAN:
        z = flipped(y, 0.1 if kind == OUTLIERS else float(kind.rstrip("%")) / 100.0, rng)
    if kind == OUTLIERS:
        X, z, _ = scatter(X, z, share=0.1, random_state=0)
    return X, z


def fitted(name, X, z, wrong):
    """Return a fitted method, the quality of the labels, and which it calls wrong."""
    if name.endswith(DROPPED):
        X, z = X[~wrong], z[~wrong]
    model = METHODS[name]().fit(X, z)
    if name.startswith("cleanlab"):
        issues = model.get_label_issues()
        return model, issues["label_quality"].to_numpy(), issues["is_label_issue"].to_numpy()
    if "auto" in name:
        return model, model.label_quality_, model.mislabelled_
    return model, None, None


def records_of(name, X, y, splits):
    """Yield what each method makes of each kind of wrong labels."""
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=split
        )
        for kind in KINDS:
            rng = np.random.default_rng(split)
            rows, z = with_wrong_labels(X_train, y_train, kind, rng)
            if len(np.unique(z)) < len(np.unique(y)):
                continue
            wrong = z != y_train
            for method in METHODS:
                if method.startswith("cleanlab") and kind not in SHORT:
                    continue
                try:
                    model, quality, called = fitted(method, rows, z, wrong)
                    accuracy = 100.0 * np.mean(model.predict(X_test) == y_test)
                except ValueError:  # cleanlab has folds without a class, or a class is dropped
                    continue
                record = {"data": name, "split": split, "kind": kind, "method": method}
                record |= {"classes": int(y.max()) + 1, "accuracy": round(accuracy, 3)}
                if quality is not None:
                    record |= {
                        "called": int(called.sum()),
                        "right": int(wrong[called].sum()),
                        "wrong": int(wrong.sum()),
                        "rows": len(z),
                        "found": getattr(model, "label_status_", "found") == "found",
                    }
                    if wrong.any():
                        record["auc"] = round(float(roc_auc_score(wrong, -quality)), 4)
                yield record


def flipped(y, share, rng):
    """Return labels of which a share is any other one."""
    z, wrong = y.copy(), rng.permutation(len(y))[: round(share * len(y))]
    z[wrong] = (y[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
    return z


def costs(repeats):
    """Return what looking for wrong labels costs, as a table."""
    table = []
    for n_rows, n, c, share, apart in COSTS:
        rng = np.random.default_rng(0)
        y, middles = rng.integers(0, c, n_rows), rng.normal(size=(c, n))
        middles *= apart / np.linalg.norm(middles, axis=1, keepdims=True)
        X, z = middles[y] + rng.normal(size=(n_rows, n)), flipped(y, share, rng)
        ratios = []
        for _ in range(repeats):
            seconds = []
            for label_noise in (None, "auto"):
                start = process_time()
                model = CappedLDA(label_noise=label_noise, n_jobs=1).fit(X, z)
                seconds.append(process_time() - start)
            ratios.append(seconds[1] / seconds[0])
        shape = f"{n_rows} x {n} x {c}"
        known = {"rows x features x classes": shape, "wrong": f"{share:.0%}", "distance": apart}
        known |= {"status": model.label_status_, "left out": f"{model.left_out_.mean():.1%}"}
        table.append({**known, "ratio": round(float(np.median(ratios)), 2)})
    return pd.DataFrame(table)


def points(frame):
    """Mean points against the default, and its standard error over the sets."""
    table = frame.pivot_table(index=["data", "kind"], columns="method", values="accuracy")
    table = table.sub(table[DEFAULT], axis=0).drop(columns=DEFAULT)
    mean, error = (getattr(table.groupby("kind"), name)() for name in ("mean", "sem"))
    kinds = [kind for kind in KINDS if kind in mean.index]
    shown = mean.map("{:+.2f}".format) + " ± " + error.map("{:.2f}".format)
    shown = shown.where(mean.notna(), "")
    return shown.loc[kinds, [name for name in METHODS if name in shown]], mean


def calls(frame):
    """Precision, recall, share of clean rows called and AUC, over all rows of all sets."""
    sums = frame.dropna(subset=["called"]).groupby(["method", "kind"])
    total = sums[["called", "right", "wrong", "rows"]].sum()
    table = pd.DataFrame(
        {
            "precision": total.right / total.called,
            "recall": total.right / total.wrong,
            "right labels called wrong": (total.called - total.right) / (total.rows - total.wrong),
            "AUC": sums.auc.mean(),
            "found": sums.found.mean(),
        }
    )
    order = [(m, k) for m in METHODS for k in KINDS if (m, k) in table.index]
    return table.loc[order]


def markdown(groups, cost, command):
    """Return the report."""
    parts = []
    for title, frame in groups.items():
        found = calls(frame).reset_index()
        shares = ["precision", "recall", "right labels called wrong", "found"]
        found[shares] = (100.0 * found[shares].astype(float)).round(1)
        two = points(frame[frame.classes == 2])[1][OURS]
        more = points(frame[frame.classes > 2])[1][OURS]
        by_classes = pd.DataFrame({"two classes": two, "three and more": more}).round(2)
        by_classes = by_classes.loc[[kind for kind in KINDS if kind in by_classes.index]]
        parts.append(f"""## {title}: {frame.data.nunique()} sets, splits: {frame.split.nunique()}

Points of accuracy against `CappedLDA()`, mean ± standard error over the sets:

{points(frame)[0].to_markdown()}

`{OURS}` against the same, by the number of classes:

{by_classes.to_markdown()}

Calls, over all training rows of all sets, in percent; the AUC of the quality of labels is a mean
over the sets:

{found.round(3).to_markdown(index=False)}
""")
    body = "\n".join(parts)
    return f"""# Wrong labels in training rows

Written by `{command}`.
Agreement is `shrinkage="agreement"`, "auto" is `label_noise="auto"`; "wrong dropped" is a fit
without the rows whose label is wrong, which no method knows. All of ours predict with
`cells="all"`. [The guide](../guide/labels.md) says when it helps.

{body}
## Cost

How many times as long a fit takes with `label_noise="auto"`, in processor time on one thread, on
Gaussian classes; the distance is that of the classes from their middle, in deviations.

{cost.to_markdown(index=False)}

![Points against the default, and precision and recall](labels.png)
"""


def picture(groups, path):
    """Draw points against the default, and recall against precision."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    kinds = [CLEAN, *(f"{share:.0%}" for share in FLIPS)]
    figure, axes = plt.subplots(
        len(groups), 2, figsize=(9, 3.4 * len(groups)), layout="constrained", squeeze=False
    )
    for line, (title, frame) in zip(axes, groups.items(), strict=True):
        mean, found = points(frame)[1], calls(frame)
        for method in mean.columns.drop("LDA"):
            values = mean[method].reindex(kinds).dropna()
            places = [kinds.index(kind) for kind in values.index]
            line[0].plot(places, values, "o-", ms=4, color=COLOURS[method], label=method)
        for method in found.index.unique("method"):
            some = found.loc[method].reindex(kinds[1:]).dropna()
            line[1].plot(
                some.recall, some.precision, "o-", ms=4, color=COLOURS[method], label=method
            )
        line[0].axhline(0.0, color="grey", lw=0.8)
        line[0].set_xticks(range(len(kinds)), kinds)
        line[0].set(title=title, xlabel="wrong labels", ylabel="points against CappedLDA()")
        line[1].set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1))
        line[0].legend(fontsize=7)
    figure.savefig(path, dpi=110)


def main(argv=None):
    """Run and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help="folders of .npz files with X, y")
    parser.add_argument("--confirm", nargs="+", default=[], help="folders to report apart")
    parser.add_argument("--out", default="labels", help="folder for the results")
    parser.add_argument("--splits", type=int, default=1, help="number of random splits")
    parser.add_argument("--repeats", type=int, default=15, help="of fits whose time is measured")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    groups = {}
    for title, folders in (("Development", given.data), ("Confirmation", given.confirm)):
        records = []
        for name, X, y in sets_of(folders):
            records += records_of(name, X, y, given.splits)
            print(name, flush=True)
        if records:
            groups[title] = pd.DataFrame(records)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    write(groups, costs(given.repeats), out)
    print((out / "labels.md").read_text())


def write(groups, cost, out):
    """Write the three files."""
    stored = {
        title: {
            "points": points(frame)[1].round(3).to_dict("index"),
            "calls": [
                json.loads(row.to_json())
                for _, row in calls(frame).reset_index().round(4).iterrows()
            ],
        }
        for title, frame in groups.items()
    }
    stored["cost"] = cost.to_dict("records")
    (out / "labels.json").write_text(json.dumps(stored, indent=1) + "\n")
    command = "python benchmarks/labels.py --data FOLDER... --confirm FOLDER... --out docs/labels"
    (out / "labels.md").write_text(markdown(groups, cost, command))
    picture(groups, out / "labels.png")


if __name__ == "__main__":
    main()
