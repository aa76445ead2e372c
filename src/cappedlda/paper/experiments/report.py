"""Writing and reading results: rows at once, tables at the end."""

import json
import platform
from collections import Counter
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

import cappedlda
from cappedlda._util import tables as _tables
from cappedlda._util.files import replacing
from cappedlda.paper.experiments.methods import METHODS
from cappedlda.paper.experiments.tables import PRINTED, TABLES

SIGNIFICANCE = 0.05
RANKS_EXPLAINED = (
    "Average ranks that differ by less than the critical difference of Nemenyi do not differ "
    "significantly at the 5 % level."
)
# Stand in turn in the place of the paper's CLDA, for ranks among six methods as in the paper.
IN_THE_PLACE_OF_CLDA = ("CLDA", "CappedLDA", "CappedLDA.predict", "CappedLDACV")


def row_path(out, table, dataset, method):
    """Return where a finished row is kept."""
    return out / "rows" / table / f"{dataset}--{method}.json"


def write_json(path, content):
    """Write a file that is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_row(path, settings):
    """Return a finished row that was made with the same settings, or None."""
    if not path.is_file():
        return None
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); delete it to run its row again.") from error
    return row if row["settings"] == settings else None


def make_row(dataset, method, outcomes, settings):
    """Return the row of a method on a data set."""
    failed = any(outcome.accuracy is None for outcome in outcomes)
    accuracies = [] if failed else [100.0 * outcome.accuracy for outcome in outcomes]
    angles = [outcome.angle for outcome in outcomes if outcome.angle is not None]
    return {
        "dataset": dataset,
        "method": method,
        "mean": None if failed else _rounded(np.mean(accuracies)),
        "std": None if failed else _rounded(np.std(accuracies, ddof=len(accuracies) > 1)),
        "rank": None,
        "params": [outcome.params for outcome in outcomes],
        "rules": dict(Counter(outcome.rule for outcome in outcomes)),
        "statuses": dict(Counter(outcome.status for outcome in outcomes)),
        "accuracies": None if failed else [_rounded(accuracy) for accuracy in accuracies],
        "by_dimension": {} if failed else _mean_by_dimension(outcomes),
        "mean_angle": _rounded(np.mean(angles)) if angles else None,
        "cpu_seconds": _rounded(sum(outcome.cpu_seconds for outcome in outcomes)),
        "code": code_digest(),
        "settings": settings,
    }


def _mean_by_dimension(outcomes):
    return {
        str(d): _rounded(100.0 * np.mean([one.by_dimension.get(d, np.nan) for one in outcomes]))
        for d in outcomes[0].by_dimension
    }


def _rounded(value):
    return round(float(value), 4)


def summarise(name, rows, missing, settings, command, seconds):
    """Return what <table>.json holds."""
    methods, title = _methods(rows), TABLES[name].title
    rows = [{key: row[key] for key in row if key != "settings"} for row in rows]
    for dataset in {row["dataset"] for row in rows}:
        mine = [row for row in rows if row["dataset"] == dataset and row["mean"] is not None]
        for row, rank in zip(mine, rankdata([-row["mean"] for row in mine]), strict=True):
            row["rank"] = float(rank)
    return {
        "table": name,
        "title": title if _is_of_the_paper(name, rows) else f"{title}: variants",
        "command": command,
        "seed": settings["seed"],
        "settings": settings,
        "versions": {
            "python": platform.python_version(),
            "cappedlda": cappedlda.__version__,
            **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
        "seconds_of_this_run": _rounded(seconds),
        "cpu_seconds": _rounded(sum(row["cpu_seconds"] for row in rows)),
        "rows": rows,
        "comparison": compare_ranks(_means(rows, methods), methods),
        "comparison_of_six": {
            ours: compare_ranks(_means(rows, six), six)
            for ours in IN_THE_PLACE_OF_CLDA
            if set(six := [*PRINTED["columns"][:-1], ours]) <= set(methods)
        },
        "remarks": {name: METHODS[name].remark for name in methods if METHODS[name].remark},
        "missing": missing,
    }


def _is_of_the_paper(name, rows):
    """Whether all rows of a table are of data that the paper has."""
    return all(row["dataset"] in TABLES[name].cases for row in rows)


@cache
def code_digest():
    """Return a digest of the Python files of the package, to tell rows of other code apart."""
    folder = Path(cappedlda.__file__).parent
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _means(rows, methods):
    """Return the means by data set, in the order of the methods, None where there is none."""
    found = {(row["dataset"], row["method"]): row["mean"] for row in rows}
    datasets = dict.fromkeys(row["dataset"] for row in rows)
    return {name: [found.get((name, method)) for method in methods] for name in datasets}


def compare_ranks(means, methods):
    """Return averages of ranks and means, Friedman's test, Nemenyi's critical difference."""
    whole = [values for values in means.values() if None not in values]
    n, k = len(whole), len(methods)
    if n == 0:
        return {"datasets": 0, "average_ranks": {}}
    ranks = rankdata(-np.array(whole), axis=1)
    comparison = {
        "datasets": n,
        "average_ranks": dict(zip(methods, ranks.mean(axis=0).tolist(), strict=True)),
        "average_means": dict(zip(methods, np.mean(whole, axis=0).tolist(), strict=True)),
    }
    if n > 1 and k > 2 and np.ptp(ranks) > 0.0:
        statistic, p = friedmanchisquare(*ranks.T)
        difference = studentized_range.ppf(1.0 - SIGNIFICANCE, k, np.inf) / np.sqrt(2.0)
        comparison["friedman_chi2"] = float(statistic)
        comparison["friedman_p"] = float(p)
        comparison["critical_difference"] = float(difference * np.sqrt(k * (k + 1) / (6.0 * n)))
    return comparison


def write_table(out, summary):
    """Write <table>.json and <table>.md."""
    write_json(out / f"{summary['table']}.json", summary)
    with replacing(out / f"{summary['table']}.md") as temporary:
        temporary.write_text(markdown(summary), encoding="utf-8")


def markdown(summary):
    """Return the table as a page of its own, each figure of ours above that of the paper."""
    lines = [f"# {summary['title']}", "", f"Command: `{summary['command']}`", ""]
    if summary["settings"]["quick"]:
        lines += ["A quick run: few folds and rows, thin grids. Not for comparison.", ""]
    lines += [
        "Percent of test rows that are right, ± deviation; below each row of ours, in italics, the "
        f"paper's. {TABLES[summary['table']].remark}",
        "",
        *table_lines(summary, "{mean:.2f} ± {std:.2f}"),
        "",
    ]
    if _is_of_the_paper(summary["table"], summary["rows"]):
        lines += _rank_lines(summary, "##")
    lines += _angle_lines(summary)
    if summary["remarks"]:
        lines += ["## Remarks", ""]
        lines += [f"- {name}: {remark}" for name, remark in summary["remarks"].items()]
    lines += _trouble_lines(summary)
    return "\n".join(lines) + "\n"


def markdown_section(summary):
    """Return means, ranks and angles for a section of a larger page."""
    lines = [f"`{summary['command']}`: [with deviations](results/{summary['table']}.md).", ""]
    lines += [*table_lines(summary, "{mean:.2f}"), "", *_rank_lines(summary, "###")]
    return "\n".join(lines + _angle_lines(summary)).strip() + "\n"


def table_lines(summary, form):
    """Return the lines of a table, with rows of ours in some form."""
    methods, paper = _methods(summary["rows"]), PRINTED[summary["table"]]
    rows = {(row["dataset"], row["method"]): row for row in summary["rows"]}
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in summary["rows"]):
        ours = [rows.get((dataset, name)) for name in methods]
        best = max((row["mean"] for row in ours if row and row["mean"] is not None), default=None)
        lines.append([dataset, *(our_cell(row, form, best) for row in ours)])
        if dataset in paper:
            theirs = dict(zip(PRINTED["columns"], paper[dataset], strict=True))
            lines.append(["*paper*", *(_paper_cell(theirs.get(name)) for name in methods)])
    return _tables.markdown_table(["data", *methods], lines)


def _methods(rows):
    """Return the methods that have rows, in the order of the tables."""
    return [name for name in METHODS if any(row["method"] == name for row in rows)]


def our_cell(row, form, best):
    """Return a row as the text of a cell, in bold if it has the best mean of its data set."""
    if row is None:
        return "-"
    if row["mean"] is None:
        return "failed"
    text = form.format(**row)
    return f"**{text}**" if row["mean"] == best else text


def _paper_cell(figures):
    if figures is None:
        return ""
    mean, std = figures
    return f"*{mean:.2f}*" if std is None else f"*{mean:.2f} ± {std:.2f}*"


def _rank_lines(summary, heading):
    comparison, methods = summary["comparison"], _methods(summary["rows"])
    paper = PRINTED["average_ranks"].get(summary["table"])
    if not comparison["average_ranks"] or paper is None:
        return []

    def line(label, figures, tests=("", "")):
        cells = [f"{figures[name]:.2f}" if name in figures else "" for name in methods]
        return [label, *cells, *tests]

    header = ["ranked", *methods, "Friedman's chi-square", "critical difference"]
    rows = [line("all rows", comparison["average_ranks"], _test_cells(comparison))]
    for ours, of_six in summary["comparison_of_six"].items():
        label = f"the paper's six, {ours} as CLDA"
        rows.append(line(label, of_six["average_ranks"], _test_cells(of_six)))
    rows.append(line("*paper*", dict(zip(PRINTED["columns"], paper, strict=True))))
    rows.append(line("percent right, on average", comparison["average_means"]))
    title = f"{heading} Average ranks over {comparison['datasets']} data sets"
    return [title, "", *_tables.markdown_table(header, rows), "", RANKS_EXPLAINED, ""]


def _test_cells(comparison):
    if "friedman_p" not in comparison:
        return ["", ""]
    test = f"{comparison['friedman_chi2']:.1f} (p = {comparison['friedman_p']:.2g})"
    return [test, f"{comparison['critical_difference']:.2f}"]


def _angle_lines(summary):
    angles = {}
    for row in summary["rows"]:
        if row["mean_angle"] is not None:
            angles.setdefault(row["dataset"], []).append(f"{row['method']} {row['mean_angle']:.2f}")
    if not angles:
        return []
    lines = ["Mean angle between the direction found and the ideal one, in degrees:", ""]
    return lines + [f"- {name}: {', '.join(texts)}" for name, texts in angles.items()] + [""]


def _trouble_lines(summary):
    """Return how fits ended, what they cost, which code made them, and what is missing."""
    ends, costs, codes = {}, Counter(), {}
    for row in summary["rows"]:
        ends.setdefault(row["method"], Counter()).update(row["statuses"])
        costs[row["method"]] += row["cpu_seconds"]
        codes.setdefault(row["code"], {})[row["method"]] = None
    lines = [
        f"- {method}: {', '.join(f'{count} x {status}' for status, count in statuses.items())}"
        for method, statuses in ends.items()
        if set(statuses) != {"converged"}
    ]
    if lines:
        title = "How the last fit of each trial ended, where not always converged:"
        lines = ["", title, "", *lines]
    cost = ", ".join(f"{method} {seconds:.0f}" for method, seconds in costs.items())
    made = "; ".join(f"`{code}` {', '.join(methods)}" for code, methods in codes.items())
    lines += [
        "",
        f"Processor time in seconds: {summary['cpu_seconds']:.0f} in all; {cost}.",
        "",
        f"Digest of the Python files that made the rows: {made}.",
    ]
    if summary["missing"]:
        lines += ["", "## Missing", ""]
        lines += [f"- **{name}**: {reason}" for name, reason in summary["missing"].items()]
    return lines
