"""Are the probabilities of CappedLDA as good as those of LDA? Log loss and reliability curve.

    python benchmarks/calibration.py --out docs/robustness

On clean data it is compared with LDA, on data with 20 % planted outliers with the oracle, LDA
without them; on clean test rows in both cases. Written: calibration.md, calibration.json and
calibration.png. Seeds are fixed; it takes about a minute.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from robust_data import contaminate, seed_of, simulated, toy
from robust_methods import METHODS, ORACLE, OURS, Problem
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from cappedlda._util.tables import markdown_table

SETS = (
    "gauss 2 features",
    "gauss 20 features",
    "gauss unbalanced",
    "gauss unequal",
    "gauss grouped",
)
SHARE = 0.2
CELLS = {"clean": 0.0, "scatter": SHARE, "leverage": SHARE, "heavy tails": SHARE}
SHOWN = ("LDA", ORACLE, OURS)
BINS = np.linspace(0.0, 1.0, 11)


def probabilities(name, X, y, model, splits):
    """Yield (method, log loss, probability of each class of each test row, whether it is right)."""
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=split
        )
        share, seed = CELLS[model], seed_of(name, split, model, "calibration")
        *train, touched = contaminate(model, X_train, y_train, share, seed)
        for method in SHOWN:
            fitted, _ = METHODS[method](Problem(*train, share, touched))
            found = fitted.predict_proba(X_test)
            right = y_test[:, None] == fitted.classes_
            yield (
                method,
                log_loss(y_test, found, labels=fitted.classes_),
                found.ravel(),
                right.ravel(),
            )


def reliability(probability, right):
    """Return the number of probabilities in each bin, their mean and the share that was right."""
    which = np.clip(np.digitize(probability, BINS) - 1, 0, len(BINS) - 2)
    count = np.bincount(which, minlength=len(BINS) - 1)
    mean = np.bincount(which, probability, len(BINS) - 1) / np.maximum(count, 1)
    return count, mean, np.bincount(which, right, len(BINS) - 1) / np.maximum(count, 1)


def run(sets, splits):
    """Return one row for each set and contamination, and the pooled curves."""
    rows, pooled = [], {}
    for name, (X, y) in sets.items():
        for model in CELLS:
            losses = {method: [] for method in SHOWN}
            for method, loss, probability, right in probabilities(name, X, y, model, splits):
                losses[method].append(loss)
                pooled.setdefault((model, method), []).append((probability, right))
            means = {method: float(np.mean(found)) for method, found in losses.items()}
            rows.append({"data": name, "model": model, "log loss": means})
            print(
                name, model, {method: round(loss, 3) for method, loss in means.items()}, flush=True
            )
    curves = {}
    for (model, method), parts in pooled.items():
        probability, right = (np.concatenate(part) for part in zip(*parts, strict=True))
        count, mean, share = reliability(probability, right)
        error = float(np.sum(count * np.abs(mean - share)) / count.sum())
        curves[f"{model}, {method}"] = {
            "count": count.tolist(),
            "predicted": mean.round(4).tolist(),
            "right": share.round(4).tolist(),
            "mean gap": error,
        }
    return rows, curves


def markdown(rows, curves, splits):
    """Return the tables."""
    lines = [
        "# Calibration",
        "",
        f"Written by `python benchmarks/calibration.py --out docs/robustness`; {splits} splits, "
        f"{SHARE:.0%} of the training rows planted, test rows clean. LDA has seen the planted "
        "rows, the oracle has not.",
        "",
        "## Log loss on clean test rows (nats; less is better)",
        "",
    ]
    losses = [
        [row["data"], row["model"], *(f"{row['log loss'][method]:.3f}" for method in SHOWN)]
        for row in rows
    ]
    for model in CELLS:
        part = [row["log loss"] for row in rows if row["model"] == model]
        means = (f"{np.mean([loss[m] for loss in part]):.3f}" for m in SHOWN)
        losses.append(["**mean**", model, *means])
    lines += [
        *markdown_table(["data", "training rows", *SHOWN], losses),
        "",
        "## Mean gap between predicted probability and frequency (ten bins, all sets)",
        "",
    ]
    gaps = [
        [model, *(f"{curves[f'{model}, {m}']['mean gap']:.4f}" for m in SHOWN)] for model in CELLS
    ]
    lines += markdown_table(["training rows", *SHOWN], gaps)
    return "\n".join(lines) + "\n\n![Reliability curves](calibration.png)\n"


def picture(curves, path):
    """Draw the reliability curves."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(CELLS), figsize=(3 * len(CELLS), 3.4), sharey=True, layout="constrained"
    )
    styles = {"LDA": ("#d55e00", "s"), ORACLE: ("#0072b2", "o"), OURS: ("black", "^")}
    for axis, model in zip(axes, CELLS, strict=True):
        axis.plot([0, 1], [0, 1], color="grey", lw=0.7)
        for method in SHOWN:
            curve = curves[f"{model}, {method}"]
            filled = np.array(curve["count"]) >= 20
            colour, marker = styles[method]
            predicted, right = np.array(curve["predicted"]), np.array(curve["right"])
            axis.plot(
                predicted[filled],
                right[filled],
                marker=marker,
                ms=4,
                lw=1,
                color=colour,
                label=method,
            )
        axis.set(title=model, xlabel="predicted probability", aspect="equal")
    axes[0].set_ylabel("share that was right")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main(argv=None):
    """Run and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="robustness", help="folder for the results")
    parser.add_argument("--splits", type=int, default=5, help="number of random splits")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    made = simulated()
    sets = {name: made[name] for name in SETS} | toy()
    rows, curves = run(sets, given.splits)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"rows": rows, "curves": curves}, indent=1)
    (out / "calibration.json").write_text(text + "\n")
    (out / "calibration.md").write_text(markdown(rows, curves, given.splits))
    picture(curves, out / "calibration.png")
    print((out / "calibration.md").read_text())


if __name__ == "__main__":
    main()
