"""What does each part of the default earn? Parts and constants are switched, one at a time.

    OPENBLAS_NUM_THREADS=1 python benchmarks/ablation.py --data DIR... --out docs/develop/ablation

Training parts (60 %) are left clean or spoiled as in harm.py, test parts stay clean. Points are
differences of accuracy to LDA fitted without the planted rows. There are three tables: sets with
five training rows per feature, sets with fewer, and large sets with five seeds of the sample.
Written: ablation.md and ablation.json. Finished parts are kept in records.jsonl of the folder: an
interrupted run goes on. Delete that file after a change of the library.
"""

import argparse
import json
import warnings
from pathlib import Path

import ablation_parts as parts  # as a module: processes must change their own
import numpy as np
import pandas as pd
from harm import CELLS
from joblib import Parallel, delayed
from robust_data import CLEAN, DEVELOPMENT, LEAST_PER_FEATURE, contaminate, read_folder
from robust_report import as_table, code_state
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA

# Larger sets take longer than the rest together; fewer rows in a class cannot be split.
MOST_CELLS, MOST_CELLS_OF_FEW, LEAST_IN_CLASS = 150_000, 1_000_000, 3
SPLITS = 2
# Training rows from which a small sample would be drawn, seeds of it, and kinds of dirt.
LARGE, SEEDS = 7_500, 5
SEED_CELLS = [CLEAN, ("far scatter", 0.3), ("far leverage", 0.1), ("Cauchy tails", 0.2)]
# A category is lost if more than this share of its rows, at least this many in all, is left out.
LOST, LEAST_IN_CATEGORY = 0.9, 20
WORSE_LOSS = 0.02  # log-loss above LDA's that is notable


def collections(folders):
    """Return (kind, folder, name, X, y) of all sets; kinds are "enough", "few" and "large"."""
    found = []
    for folder in map(Path, folders):
        for name, X, y in read_folder(folder):
            whole = np.isfinite(X).all(axis=1)
            X, y = X[whole], np.unique(y[whole], return_inverse=True)[1]
            if np.bincount(y).min() < LEAST_IN_CLASS:
                continue
            few = 0.6 * len(X) < LEAST_PER_FEATURE * X.shape[1]
            if X.size <= (MOST_CELLS_OF_FEW if few else MOST_CELLS):
                found.append(("few" if few else "enough", folder.name, name, X, y))
            if 0.6 * len(X) >= LARGE and not few:
                found.append(("large", folder.name, name, X, y))
    return sorted(found, key=lambda part: part[3].size)


def lost_categories(X, left_out):
    """Number of values of two-valued features, of few rows, that are left out."""
    lost = 0
    for column in X.T:
        values = np.unique(column)
        if len(values) == 2:
            for rows in (column == value for value in values):
                size = rows.sum()
                few = LEAST_IN_CATEGORY <= size < 0.5 * len(rows)
                lost += bool(few and left_out[rows].mean() > LOST)
    return lost


def loss_of(model, X, y):
    return log_loss(y, np.clip(model.predict_proba(X), 1e-15, 1.0), labels=model.classes_)


def one_fit(variant, train, test, touched, oracle, clean, seed=0):
    """What one variant does on one training set; a fit that fails counts as accuracy 0."""
    record = {"points": -100 * oracle.score(*test)}
    with parts.switched(variant):
        try:
            model = CappedLDA(n_jobs=1, random_state=seed, **variant.parameters).fit(*train)
        except (ValueError, np.linalg.LinAlgError) as error:
            return record | {"error": str(error)[:200]}
        record["points"] += 100 * model.score(*test)
        record["flagged"] = 100 * model.outliers_[~touched].mean()
        record["left out"] = 100 * model.left_out_[~touched].mean()
        record["lost"] = lost_categories(train[0][~touched], model.left_out_[~touched])
        if clean:
            record["loss"] = loss_of(model, *test) - loss_of(oracle, *test)
            try:
                record["alarms"] = 100 * model.is_rejected(test[0], alpha=0.01).mean()
            except (ValueError, RuntimeError):  # no covariance in all features
                record["alarms"] = None
    return record


def run_set(kind, folder, name, X, y, split, done, only):
    """Records of all cells and variants that are not done."""
    warnings.simplefilter("ignore")
    found, large, variants = [], kind == "large", parts.VARIANTS[kind]
    if only:
        variants = {v: variants[v] for v in (parts.DEFAULT, *only) if v in variants}
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=split
    )
    for model, share in SEED_CELLS if large else CELLS:
        key = {"kind": kind, "folder": folder, "data": name, "split": split}
        key |= {"dirt": model, "share": share}
        left = [v for v in variants if (*key.values(), v) not in done]
        if not left:
            continue
        *train, touched = contaminate(model, X_train, y_train, share, 77 + split)
        oracle = LDA().fit(train[0][~touched], train[1][~touched])
        given = train, (X_test, y_test), touched, oracle, model == "clean"
        for variant in left:
            for seed in range(SEEDS if large else 1):
                record = one_fit(variants[variant], *given, seed)
                found.append(key | {"variant": variant, "seed": seed} | record)
    return found


def run(sets, file, n_jobs, only=None):
    """Return the records, those in the file and new ones, which are added to it."""
    records = [json.loads(line) for line in file.open()] if file.exists() else []
    key = ("kind", "folder", "data", "split", "dirt", "share", "variant")
    done = {tuple(record[name] for name in key) for record in records}
    tasks = (
        delayed(run_set)(*part, split, done, only)
        for part in sets
        for split in range(1 if part[0] == "large" else SPLITS)
    )
    with file.open("a") as out:
        for found in Parallel(n_jobs, return_as="generator_unordered", batch_size=1)(tasks):
            out.writelines(json.dumps(record, default=float) + "\n" for record in found)
            out.flush()
            records += found
    return records


def summary(frame):
    """One line of numbers for each variant, means over sets, and the difference to the default."""
    cells = frame.groupby(["variant", "dirt", "share", "data"]).points.mean()
    by_set = cells.groupby(["variant", "data"]).mean().unstack("variant")
    clean = frame[frame.dirt == "clean"]
    lines = {}
    for variant in dict.fromkeys(frame.variant):
        own, points = clean[clean.variant == variant].groupby("data"), cells[variant]
        gain = by_set[variant] - by_set[parts.DEFAULT]
        lines[variant] = {
            **{f"{d} {s:g}": points[d, s].mean() for d, s in CELLS},
            "mean": float(by_set[variant].mean()),
            "gain": float(gain.mean()),
            "error": float(gain.sem()),
            "changed": float(100 * is_changed(frame, variant).mean()),
            "below -1": int((points < -1).sum()),
            "below -3": int((points < -3).sum()),
            "flagged": float(own.flagged.mean().mean()),
            "left out": float(own["left out"].mean().mean()),
            "worse loss": float(100 * (own.loss.mean() > WORSE_LOSS).mean()),
            "alarms": float(own.alarms.mean().mean()),
            "lost": int((frame[frame.variant == variant].lost > 0).sum()),
            "errors": int(frame[frame.variant == variant].error.notna().sum()),
        }
    return lines


def is_changed(frame, variant):
    """Which fits flag or leave out other rows than the default, or classify differently."""
    key, seen = ["data", "split", "dirt", "share"], ["points", "flagged", "left out", "loss"]
    ours, default = (
        frame[frame.variant == name].set_index(key)[seen].fillna(0.0)
        for name in (variant, parts.DEFAULT)
    )
    return (ours != default.loc[ours.index]).any(axis=1)


def seed_summary(frame):
    """How much the accuracies of several seeds differ."""
    seeds = frame.groupby(["variant", "data", "dirt", "share"], sort=False).points
    spread, mean, lines = seeds.max() - seeds.min(), seeds.mean(), {}
    for variant in dict.fromkeys(frame.variant):
        lines[variant] = {
            "problems": len(spread[variant]),
            "differ by a point": float(100 * (spread[variant] > 1).mean()),
            "most": float(spread[variant].max()),
            "mean": float(mean[variant].mean()),
        }
    return lines


def table(lines):
    """Markdown of a `summary`."""
    names = [f"{d} {100 * s:.0f} %" if s else d for d, s in CELLS]
    head = [
        "switched", *names, "mean of 8", "gain ± error", "fits changed %", "cells below -1 / -3",
        "flagged / left out %", "worse log-loss %", "alarms %", "lost", "errors",
    ]  # fmt: skip
    rows = [head]
    for variant, line in lines.items():
        gain = "" if variant == parts.DEFAULT else f"{line['gain']:+.2f} ± {line['error']:.2f}"
        rows.append(
            [
                variant,
                *(f"{line[f'{d} {s:g}']:+.2f}" for d, s in CELLS),
                f"{line['mean']:+.2f}",
                gain,
                f"{line['changed']:.0f}",
                f"{line['below -1']} / {line['below -3']}",
                f"{line['flagged']:.1f} / {line['left out']:.1f}",
                f"{line['worse loss']:.0f}",
                "-" if np.isnan(line["alarms"]) else f"{line['alarms']:.2f}",
                line["lost"],
                line["errors"],
            ]
        )
    return as_table(rows)


def seed_table(lines):
    head = ["variant", "problems", "differ by more than a point %", "most", "mean points"]
    return as_table(
        [
            head,
            *(
                [v, *(f"{n:+.2f}" if k == "mean" else f"{n:.3g}" for k, n in line.items())]
                for v, line in lines.items()
            ),
        ]
    )


def decided(folder):
    return "decided about the default" if folder in DEVELOPMENT else "looked at once per decision"


def page(frame, summaries, seeds, command):
    """Return ablation.md."""
    text = [
        "# Ablation: what each part earns",
        "One part or constant of the default is switched at a time; the rest stays. The cells are "
        "points of accuracy on clean test rows against LDA without the planted rows: clean "
        "training rows and seven kinds of dirt ([what they are](../../robustness/harm.md#the-"
        "kinds-of-dirt)). *Gain*: the mean of the eight cells less that of the default, with its "
        "standard error over the sets: a gain within two errors is noise. *Changed*: fits that are "
        "not what the default gives. *Cells below*: cells of "
        "a set that lose more than 1 and 3 points. On clean data: rows flagged and left out, "
        f"share of sets whose log-loss is above LDA's by more than {WORSE_LOSS}, and false alarms "
        "of `is_rejected(alpha=0.01)`, which should be 1 %. *Lost*: fits that leave out more than "
        f"{100 * LOST:.0f} % of the rows of a category of {LEAST_IN_CATEGORY} rows or more. "
        "What the constants are for is in [Constants](../constants.md).",
        f"Measured with the library's code at commit {code_state()}: `{command}`. {SPLITS} splits "
        f"of each set.",
        "## Sets with five rows per feature",
    ]
    for (kind, folder), lines in summaries.items():
        if kind == "enough":
            sets = frame[(frame.kind == kind) & (frame.folder == folder)].data.nunique()
            text += [f"### {folder}: {sets} sets ({decided(folder)})", table(lines)]
    text += [
        "## Sets with fewer rows per feature",
        f"All collections, {frame[frame.kind == 'few'].data.nunique()} sets. LDA has no shrinkage.",
        table(summaries["few", "all"]),
        "## Seeds of the sample",
        f"Sets with at least {LARGE:,} training rows, {SEEDS} seeds, clean and three kinds of "
        "dirt: how often the accuracies differ by more than a point, and by how many at most. The "
        "default draws a sample from 30,000 rows on only.",
        seed_table(seeds),
    ]
    return "\n\n".join(text) + "\n"


def rounded(values):
    """Numbers to three digits after the point, in dictionaries of any depth."""
    if isinstance(values, dict):
        return {key: rounded(value) for key, value in values.items()}
    return round(values, 3)


def parse(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help="folders of .npz files (X, y)")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", nargs="+", help="what to switch, beside the default")
    parser.add_argument("--out", default="ablation", help="folder for the results")
    return parser.parse_args(argv)


def main(argv=None):
    """Run and write the tables."""
    given = parse(argv)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    sets = collections(given.data)
    frame = pd.DataFrame(run(sets, out / "records.jsonl", given.n_jobs, given.only))
    for column in ("error", "alarms", "loss", "lost"):
        if column not in frame:
            frame[column] = np.nan
    frame["alarms"] = frame.alarms.astype(float)
    order = list(parts.VARIANTS["enough"] | parts.VARIANTS["few"] | parts.VARIANTS["large"])
    frame = frame.sort_values("variant", key=lambda names: names.map(order.index), kind="stable")
    some = frame[frame.kind == "enough"]
    summaries = {("enough", folder): summary(part) for folder, part in some.groupby("folder")}
    summaries["few", "all"] = summary(frame[frame.kind == "few"])
    seeds = seed_summary(frame[frame.kind == "large"])
    names = " ".join(Path(folder).name for folder in given.data)
    command = f"python benchmarks/ablation.py --data {names} --out {given.out}"
    (out / "ablation.md").write_text(page(frame, summaries, seeds, command))
    whole = {f"{kind} {folder}": lines for (kind, folder), lines in summaries.items()}
    text = json.dumps(rounded(whole | {"seeds": seeds}))
    (out / "ablation.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
