"""Does the default do harm on real data? Loss per kind of dirt, set by set.

    python benchmarks/harm.py --data DIR DIR2 --out docs/robustness
    python benchmarks/harm.py --fast --data r_sets --out docs/robustness/r_sets

(r_sets.py makes the second collection, of sets not used during development.)

Training parts (60 %) are left clean or spoiled, test parts stay clean. Points are differences of
accuracy to LDA fitted without the planted rows (on clean data: to LDA on the same rows). Taken are
the sets with at least 8 rows in each class and 5 training rows per feature. Written: harm.md,
harm.json and harm.png. Finished parts are kept in harm/records.jsonl of the folder, as by
robustness.py, whose loop this is; delete the parts that are not of slow methods after a change of
the library.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from robust_data import CLEAN, DEVELOPMENT, long_sets
from robust_methods import ORACLE, OURS, PEERS, SLOW
from robust_report import PERCENT, as_table, code_state, compact, with_losses
from robustness import run

CELLS = [
    CLEAN,
    ("far scatter", 0.1),
    ("far scatter", 0.3),
    ("far leverage", 0.1),
    ("far leverage", 0.3),
    ("corner cluster", 0.2),
    ("Cauchy tails", 0.2),
    ("units x 1000", 0.1),
]
# Sets of those kept aside that led to a change.
SHOWED = {
    "data3": "pendigits and plant_texture",
    "r_sets": "LaborSupply, bioChemists and Train",
}
# RobustScaler changes nothing for LDA.
METHODS = [ORACLE, *(peer for peer in PEERS if peer != "RobustScaler + LDA"), OURS]
# Bounds of the distances of clouds.
CLOUDS = (0, 3, 6, 12, 25, np.inf)
# A rule this much below plain LDA on the very rows it kept is broken (points).
BROKEN = 8.0


def prepared(records, folder_of):
    """Frame of the records with points against the oracle (negative is worse) and folders."""
    frame = with_losses(pd.DataFrame(records))
    frame["points"] = -frame.loss
    frame["folder"] = frame.data.map(folder_of)
    frame["dirt"] = [
        model if model == "clean" else f"{model} {100 * share:.0f} %"
        for model, share in zip(frame.model, frame.share, strict=True)
    ]
    frame["broken"] = 100 * frame.accuracy < frame["same rows"] - BROKEN
    return frame


def set_means(part, column):
    """Mean over the splits of each set."""
    return part.groupby("data")[column].mean()


def lost(part):
    """Text of the mean over sets, and the number of sets below -1 and -3 points."""
    points = set_means(part, "points")
    return f"{points.mean():+.2f} ({(points < -1).sum()} / {(points < -3).sum()})"


def percent(part, column):
    """Text of a share of rows, mean over sets."""
    value = set_means(part, column).mean()
    return "-" if np.isnan(value) else f"{value:.1f}"


def default_table(frame):
    """One line per kind of dirt for the default."""
    head = [
        "training rows", "points (sets below -1 / -3)", "clean rows flagged %",
        "clean rows left out %", "planted rows flagged %", "planted rows left out %",
        "broken rules", "worst sets",
    ]  # fmt: skip
    rows = [head]
    for dirt, part in frame[frame.method == OURS].groupby("dirt", sort=False):
        worst = set_means(part, "points").nsmallest(3)
        named = ", ".join(f"{name} {value:.1f}" for name, value in worst.items())
        shares = (percent(part, name) for name in ("false", "left clean", "recall", "left"))
        rows.append([dirt, lost(part), *shares, str(part.broken.sum()), named])
    return as_table(rows)


def method_table(frame, methods):
    """One line per kind of dirt, one column per method."""
    rows = [["training rows", *methods]]
    for dirt, part in frame.groupby("dirt", sort=False):
        rows.append([dirt, *(lost(part[part.method == method]) for method in methods)])
    dirty = frame[frame.share > 0].groupby(["method", "dirt", "data"], observed=True).points.mean()
    means = dirty.groupby(["method", "dirt"], observed=True).mean().groupby("method").mean()
    rows.append(["mean of the spoiled", *(f"{means[method]:+.2f}" for method in methods)])
    return as_table(rows)


def where_all(frame, methods):
    """Keep the sets and splits on which all methods were fitted."""
    key = ["data", "dirt", "split"]
    counts = frame[frame.method.isin(methods)].groupby(key).method.nunique()
    return frame[frame.set_index(key).index.isin(counts[counts == len(methods)].index)]


def used_in_development(folders):
    """Sentence about what the sets decided."""
    unseen = [folder for folder in folders if folder not in DEVELOPMENT]
    if not unseen:
        return (
            "**All of these sets were used to develop the default: none is unseen. Losses on new "
            "data may be larger.**"
        )
    what = "".join(
        f" {SHOWED[folder]} of {folder} showed defects, which were fixed."
        for folder in unseen
        if folder in SHOWED
    )
    return f"**Sets kept aside, on which no rule was chosen: {', '.join(unseen)}.{what}**"


def failures(frame):
    """Sentence about fits that raised an error."""
    if "error" not in frame or not frame.error.notna().any():
        return "No fit failed."
    counts = frame[frame.error.notna()].groupby("method", observed=True).size()
    return "Fits that raised an error and count as accuracy 0: " + ", ".join(
        f"{method} {count}" for method, count in counts.items()
    )


def broken_cases(frame):
    """Sentence that names the broken rules of the default."""
    cases = frame[frame.broken & (frame.method == OURS)]
    named = (
        f"{case.data} with {case.dirt}, split {case.split} ({100 * case.accuracy:.1f} against "
        f"{case.same:.1f} %)"
        for case in cases.assign(same=cases["same rows"]).itertuples()
    )
    return "Broken: " + ("; ".join(named) or "none") + "."


def replaced_by_lda(frame):
    """Sentence about methods that cannot be fitted to sets with few rows in a class."""
    counts = frame[frame["as LDA"].eq(True)].groupby("method", observed=True).data.nunique()
    named = ", ".join(f"{method} on {count}" for method, count in counts.items())
    return f"A method that cannot be fitted to a set counts as LDA there ({named or 'none'})."


def page(frame, folders, state, command):
    """Return harm.md."""
    fast = [method for method in METHODS if method not in (*SLOW, ORACLE)]
    parts = [
        f"# Does the default do harm{f' on {folders[0]}' if len(folders) == 1 else ''}?",
        "A robust method should cost nothing where the data are clean, and little more than a "
        "perfect cleaner where they are not. The tables have points of accuracy on clean test rows "
        "against LDA fitted without the planted rows. On clean data that is LDA on the same rows. "
        "Negative is worse. In brackets: the number of sets that lose more than one and more than "
        f"three points. {frame.data.nunique()} real data sets with at least 8 rows per class and "
        f"5 training rows per feature, {frame.split.nunique()} splits of 60 % training rows, raw "
        "features. CappedLDA has its default parameters and is not told what was planted.",
        used_in_development(folders),
        f"Measured with the library's code at commit {state}: `{command}`. " + failures(frame),
        "## The default",
        "*Flagged* rows are unusual (`outliers_`); rows *left out* (`left_out_`) have weight 0 "
        "because their presence hurts. A rule is *broken* if it is "
        f"{BROKEN:.0f} points worse than plain LDA on the rows it kept, counted over all "
        "splits. " + broken_cases(frame),
        "![Points of accuracy against the oracle, one dot per data set](harm.png)",
        f"All {frame.data.nunique()} sets:",
        default_table(frame),
        *(text for folder in folders for text in folder_part(frame, folder) if len(folders) > 1),
        "## Against LDA with and without shrinkage",
        "All sets and splits.",
        method_table(frame, fast),
        *slow_part(frame),
        "## Which clouds are found",
        "Far leverage by the distance of the cloud from its own class, in Mahalanobis units of the "
        "clean rows (the least over the classes), all sets and splits. A cloud near its class, "
        "or between classes that hardly differ, looks like part of its class.",
        cloud_table(frame),
        "## The kinds of dirt",
        "Rows are drawn from each class; s are the standard deviations of the features over all "
        "rows. *Far scatter*: anywhere on a sphere of 10 s per feature. *Far leverage*: a cloud "
        "behind the next class, at five times the distance of the two means, of deviation s. "
        "*Corner cluster*: a tight cluster of each class at plus or minus 8 s in every feature. "
        "*Cauchy tails*: independent Cauchy features of width 3 s around the class mean. *Units x "
        "1000*: the row times 1000.",
    ]
    return "\n\n".join(parts) + "\n"


def cloud_table(frame):
    """Planted rows flagged and points lost, by the distance of the cloud."""
    part = frame[(frame.method == OURS) & (frame.model == "far leverage") & frame.distance.notna()]
    rows = [
        ["distance", "share planted", "fits", "planted rows flagged %", "points", "points of LDA"]
    ]
    lda = frame[frame.method == "LDA"].set_index(["data", "dirt", "split"]).points
    for bounds in itertools.pairwise(CLOUDS):
        for share, some in part[part.distance.between(*bounds, inclusive="left")].groupby("share"):
            beside = lda.reindex(some.set_index(["data", "dirt", "split"]).index)
            rows.append(
                [
                    f"{bounds[0]:g} to {bounds[1]:g}"
                    if bounds[1] < np.inf
                    else f"above {bounds[0]:g}",
                    f"{100 * share:.0f} %",
                    str(len(some)),
                    f"{some.recall.mean():.1f}",
                    f"{some.points.mean():+.2f}",
                    f"{beside.mean():+.2f}",
                ]
            )
    return as_table(rows)


def slow_part(frame):
    """Title, text and table of the slow methods, if there are any."""
    slow = [OURS, *(method for method in METHODS if method in SLOW)]
    if not frame.method.isin(SLOW).any():
        return ()
    few = where_all(frame, slow)
    text = f"One split of the {few.data.nunique()} smaller sets, CappedLDA on the same. "
    return "## Against slower methods", text + replaced_by_lda(few), method_table(few, slow)


def folder_part(frame, folder):
    """Title and table of one folder."""
    part = frame[frame.folder == folder]
    return f"The {part.data.nunique()} sets of `{folder}`:", default_table(part)


def picture(frame, path):
    """Points of each set by kind of dirt, LDA beside CappedLDA."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(frame.dirt))
    figure, axis = plt.subplots(figsize=(10, 4), layout="constrained")
    for method, color, shift in (("LDA", "#666666", -0.18), (OURS, "#0072B2", 0.18)):
        part = frame[frame.method == method]
        for i, kind in enumerate(kinds):
            points = np.sort(set_means(part[part.dirt == kind], "points"))
            places = i + shift + np.linspace(-0.12, 0.12, len(points))
            label = method if i == 0 else None
            axis.scatter(places, points, s=9, color=color, label=label)
    axis.axhline(0, color="grey", lw=0.8)
    axis.set_yscale("symlog", linthresh=3)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xticks(range(len(kinds)), [kind.replace(" ", "\n", 1) for kind in kinds], fontsize=9)
    axis.set_ylabel("points against the oracle")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, dpi=120)


def parse(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", required=True, help="folders of .npz files (X, y)")
    parser.add_argument("--splits", type=int, default=3, help="number of random splits")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", default="robustness", help="folder for the results")
    parser.add_argument("--fast", action="store_true", help="without the slow methods")
    return parser.parse_args(argv)


def main(argv=None):
    """Run and write the report."""
    given = parse(argv)
    found = {Path(folder).name: long_sets(folder) for folder in given.data}
    sets = {name: data for part in found.values() for name, data in part.items()}
    folder_of = {name: folder for folder, part in found.items() for name in part}
    out = Path(given.out)
    (out / "harm").mkdir(parents=True, exist_ok=True)
    file = out / "harm" / "records.jsonl"
    methods = [name for name in METHODS if not (given.fast and name in SLOW)]
    records = run(sets, methods, given.splits, CELLS, CELLS, file, given.n_jobs)
    frame = prepared(records, folder_of)
    fast = "--fast " if given.fast else ""
    command = f"python benchmarks/harm.py {fast}--data {' '.join(found)} --out {given.out}"
    text = page(frame, list(found), code_state(), command)
    (out / "harm.md").write_text(text)
    (out / "harm.json").write_text(compact(frame, PERCENT))
    picture(frame, out / "harm.png")
    print(text)


if __name__ == "__main__":
    main()
