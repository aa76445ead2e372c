"""The tables and the picture of the robustness benchmark."""

import json
import subprocess

import numpy as np
import pandas as pd
from robust_data import GROSS
from robust_methods import METHODS, ORACLE, OURS, PEERS, SLOW

from cappedlda._util.tables import markdown_table

# Points of accuracy; shares of rows in percent.
MOST_LOST_CLEAN, MOST_LOST_DIRTY, LEAST_RECALL = 0.5, 1.0, 98.0
MOST_FLAGS = {"Gaussian": 2.0, "real": 6.0}
PERCENT = ("recall", "false", "left", "left clean", "same rows")
# What the page for users shows.
SHOWN = (
    "LDA",
    "LDA + MinCovDet",
    "EllipticEnvelope + LDA, told",
    "IsolationForest + LDA",
    OURS,
)
COLORS = ("#666666", "#E69F00", "#009E73", "#CC79A7", "#0072B2")


def code_state():
    """Return the last commit that changed the library."""
    command = ["git", "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write_report(records, sets, out):
    """Write robustness.md, tables.md, robustness.json and .png; return the Markdown text."""
    frame = with_losses(pd.DataFrame(records))
    text = markdown(frame, sets)
    (out / "robustness.md").write_text(summary(frame))
    (out / "tables.md").write_text(text)
    (out / "robustness.json").write_text(compact(frame))
    picture(frame, out / "robustness.png")
    return text


def with_losses(frame):
    """Add what a method loses against the oracle, in points, on the same split and cell."""
    key = ["data", "model", "share", "split"]
    best = frame[frame.method == ORACLE].set_index(key).accuracy
    frame = frame[frame.set_index(key).index.isin(best.index)].copy()
    frame["loss"] = 100 * (
        best.loc[list(frame[key].itertuples(index=False))].values - frame.accuracy
    )
    frame["kind"] = np.where(
        frame.data.str.startswith("new:"), "new",
        np.where(frame.data.str.startswith("gauss"), "Gaussian", "real"),
    )  # fmt: skip
    for column in PERCENT:
        frame[column] = 100 * frame[column].astype(float)
    frame["method"] = pd.Categorical(frame.method, [m for m in METHODS if m in set(frame.method)])
    return frame


def mean_and_error(frame, column, by):
    """Mean over data sets, and its standard error over data sets."""
    cells = frame.dropna(subset=column).groupby([*by, "data"], sort=False, observed=True)[column]
    groups = cells.mean().groupby(level=by, sort=False)
    return groups.mean(), groups.sem()


def table(frame, column, by):
    """Markdown table of methods and the values of `by`; the longer of both goes down."""
    mean, error = mean_and_error(frame, column, [by, "method"])
    heads = list(dict.fromkeys(frame[by]))
    methods = [
        method
        for method in frame.method.cat.categories
        if any((head, method) in mean.index for head in heads)
    ]
    grid = [
        ["method", *heads],
        *([m, *(cell(mean, error, (head, m)) for head in heads)] for m in methods),
    ]
    return as_table(grid if len(heads) <= len(methods) else list(zip(*grid, strict=True)))


def as_table(grid):
    """Markdown of a list of rows, the first of which is the head."""
    return "\n".join(markdown_table(grid[0], grid[1:]))


def cell(mean, error, key):
    """Text of a mean with its standard error."""
    if key not in mean.index:
        return "-"
    around = error[key]
    return f"{mean[key]:.1f}" + ("" if np.isnan(around) else f" ± {around:.1f}")


def summary(frame):
    """Return the page for users: the picture, and a few methods by share."""
    frame = frame.assign(rows=(100 * frame.share).map("{:.0f} % spoiled".format))
    few = [method for method in SHOWN if method in set(frame.method)]
    frame = frame[frame.method.isin(few)].assign(
        method=pd.Categorical(frame.method[frame.method.isin(few)], few)
    )
    kinds = frame.model[frame.share > 0].nunique()
    parts = [
        "# Robustness",
        "How much accuracy is lost when some of the training rows are wrong? The table has points "
        "of accuracy on clean test rows below an oracle: LDA fitted without the spoiled rows. "
        f"Below zero is better than the oracle. Means over {frame.data.nunique()} data sets and "
        f"{kinds} kinds of dirt, ± standard error over data sets."
        + " Methods that are *told* know the share of spoiled rows." * any("told" in m for m in few)
        + " Slow methods were fitted to the smaller sets only." * any(m in SLOW for m in few),
        table(frame, "loss", "rows"),
        "![Loss against the oracle by kind of dirt and share of spoiled rows](robustness.png)",
        "[All tables](tables.md): by kind of dirt and by data set, found and missed rows, false "
        f"flags. Measured by `benchmarks/robustness.py` with the library's code at commit "
        f"{code_state()}.",
    ]
    return "\n\n".join(parts) + "\n"


def markdown(frame, sets):
    """Return all tables."""
    frame = frame.assign(column=frame.model + " " + (100 * frame.share).map("{:.0f} %".format))
    frame["share of rows"] = (100 * frame.share).map("{:.0f} %".format)
    dirty = frame[frame.share > 0]
    present = [name for name in sets if name in set(frame.data)]
    shapes = {name: (*sets[name][0].shape, len(np.unique(sets[name][1]))) for name in present}
    named = ", ".join(f"{name} ({' x '.join(map(str, shapes[name]))})" for name in present)
    parts = [
        "# Robustness: all tables",
        "Written by `benchmarks/robustness.py`. Means over data sets, ± standard error over data "
        "sets. Losses are points of accuracy on clean test rows below the oracle, LDA without the "
        "planted rows, on the same splits; negative is better than the oracle.",
        f"Splits: {frame.split.nunique()}. "
        + slow_sentence(frame)
        + f"{frame.seconds.sum() / 60:.0f} minutes of processor time in all fits.",
        f"Data (rows x features x classes): {named}.",
        "![Loss against the oracle](robustness.png)",
        "## Against the targets",
        *(verdict(part, name) for name, part in parts_of(frame)),
        *(
            f"## Loss against the oracle, {name}\n\n" + table(part, "loss", "column")
            for name, part in parts_of(frame)
        ),
        "## Loss against the oracle by share, all kinds of contamination and all sets",
        table(frame, "loss", "share of rows"),
        "## Recall of planted rows (%), all sets",
        table(dirty, "recall", "column"),
        "## False flags: clean rows flagged (%), all sets",
        table(frame, "false", "column"),
        "## By data set",
        by_set(frame),
    ]
    if "error" in frame and frame["error"].notna().any():
        failed = frame[frame["error"].notna()].groupby(["method", "error"], observed=True).size()
        parts.append("## Failures (counted as accuracy 0)\n\n" + failed.to_string())
    return "\n\n".join(parts) + "\n"


def slow_sentence(frame):
    """Sentence about the slow methods, if there are any."""
    slow = frame[frame.method.isin(SLOW)]
    if slow.empty:
        return ""
    return (
        f"{', '.join(slow.method.unique())} take longer: one split of the {slow.data.nunique()} "
        "smaller sets, no 20 %; they count as LDA where they cannot be fitted. "
    )


def parts_of(frame):
    """Yield the sets used in development, and those that were not."""
    for name, new in (("sets used in development", False), ("sets not used in development", True)):
        part = frame[(frame.kind == "new") == new]
        if len(part):
            yield name, part


def verdict(frame, name):
    """Return a table of what was asked and what was measured."""
    ours, clean = frame[frame.method == OURS], frame[(frame.method == OURS) & (frame.share == 0)]
    dirty = ours[ours.share > 0]
    lines = [f"**{name}**", "", "| asked | measured | |", "|---|---|---|"]

    def line(asked, mean, error, met):
        lines.append(f"| {asked} | {mean:.2f} ± {error:.2f} | {'met' if met else 'MISSED'} |")

    def over_sets(part, column):
        values = part.dropna(subset=column).groupby("data")[column].mean()
        return values.mean(), values.sem()

    mean, error = over_sets(clean, "loss")
    line(f"clean data: at most {MOST_LOST_CLEAN} points lost", mean, error, mean <= MOST_LOST_CLEAN)
    for kind, most in MOST_FLAGS.items():
        part = clean[clean.kind == kind]
        if len(part):
            mean, error = over_sets(part, "false")
            line(f"clean {kind} rows flagged: at most {most} %", mean, error, mean <= most)
    mean, error = over_sets(dirty, "loss")
    line(f"10-40 %: at most {MOST_LOST_DIRTY} point lost", mean, error, mean <= MOST_LOST_DIRTY)
    mean, error = over_sets(dirty[dirty.model != "swapped labels"], "loss")
    line("the same without swapped labels", mean, error, mean <= MOST_LOST_DIRTY)
    for peer in PEERS:
        key = ["data", "model", "share", "split"]
        theirs = frame[(frame.method == peer) & (frame.share > 0)].set_index(key).loss
        if len(theirs):
            lead = (theirs - dirty.set_index(key).loss).dropna().groupby("data").mean()
            line(f"10-40 %: above {peer} (points)", lead.mean(), lead.sem(), lead.mean() > 0)
    mean, error = over_sets(dirty[dirty.model.isin(GROSS)], "recall")
    asked = f"recall of gross outliers ({', '.join(GROSS)}): at least {LEAST_RECALL:.0f} %"
    line(asked, mean, error, mean >= LEAST_RECALL)
    return "\n".join(lines)


def by_set(frame):
    """Return a table of CappedLDA and LDA on each data set."""
    header = ["data", "clean: LDA accuracy %", "CappedLDA loss", "flags %"]
    header += ["dirty: LDA loss", "CappedLDA loss"]
    rows = []
    for name, part in frame.groupby("data", sort=False):
        ours, lda = part[part.method == OURS], part[part.method == "LDA"]
        clean, values = ours[ours.share == 0], []
        values.append(100 * lda[lda.share == 0].accuracy.mean())
        values += [clean.loss.mean(), clean["false"].mean()]
        values += [lda[lda.share > 0].loss.mean(), ours[ours.share > 0].loss.mean()]
        rows.append([name, *(f"{value:.1f}" for value in values)])
    return as_table([header, *rows])


def compact(frame, columns=("recall", "false")):
    """Return JSON with one row per data set, contamination and share; means over splits."""
    methods = list(frame.method.cat.categories)
    rows = []
    for (name, model, share), part in frame.groupby(["data", "model", "share"], sort=False):
        means = part.groupby("method", observed=True)[["accuracy", *columns]].mean()
        row = {"data": name, "model": model, "share": share}
        for column in ("accuracy", *columns):
            digits = 4 if column == "accuracy" else 1
            values = means[column].reindex(methods)
            row[column] = [None if np.isnan(value) else round(value, digits) for value in values]
        rows.append(row)
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return f'{{"methods": {json.dumps(methods)},\n"rows": [\n{lines}\n]}}\n'


def picture(frame, path):
    """Accuracy lost against the oracle, by contamination and share, one line per method."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mean, _ = mean_and_error(frame, "loss", ["method", "model", "share"])
    models = [m for m in dict.fromkeys(frame.model) if m != "clean"]
    methods = [m for m in SHOWN if m in set(frame.method)]
    columns = min(4, len(models))
    n_lines = -(-len(models) // columns)
    figure, axes = plt.subplots(
        n_lines, columns, sharex=True, sharey=True, squeeze=False, layout="constrained",
        figsize=(2.8 * columns, 2.7 * n_lines + 0.5),
    )  # fmt: skip
    for axis, model in zip(axes.flat, models, strict=False):
        for method, color, mark in zip(SHOWN, COLORS, "os^vD", strict=True):
            if method not in methods:
                continue
            loss = mean[method][model]
            style = {"lw": 3.0, "zorder": 5} if method == OURS else {"lw": 1.5}
            label = method if model == models[0] else None
            axis.plot(100 * loss.index, loss.values, mark + "-", color=color, label=label, **style)
        axis.set_title(model)
        axis.axhline(0, color="grey", lw=0.8)
        axis.set_yscale("symlog", linthresh=2)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xticks([100 * share for share in dict.fromkeys(frame.share) if share])
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    axes[0, 0].invert_yaxis()
    figure.supylabel("points of accuracy below the oracle")
    figure.supxlabel("spoiled rows (%)")
    figure.legend(loc="outside upper center", ncols=len(methods), frameon=False)
    figure.savefig(path, dpi=120)
