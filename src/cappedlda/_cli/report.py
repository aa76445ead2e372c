"""`cappedlda report`, and the report itself: one HTML file, from `report.html.jinja`."""

from datetime import datetime
from importlib import resources
from math import isnan
from pathlib import Path

from cappedlda import __version__
from cappedlda._cli.accuracy import HOW, cross_validate, why
from cappedlda._cli.apply import read, wrong_cells_of_others
from cappedlda._cli.arguments import DATA, LABELS, MODEL, TABLE, Command, UsageError, argument
from cappedlda._cli.facts import label_line, meaning, needs_of_report, tell
from cappedlda._cli.info import collect_info
from cappedlda._cli.limits import LIMITS
from cappedlda._cli.outliers import kinds
from cappedlda._cli.pictures import draw_pictures
from cappedlda._cli.readers import applied_reader
from cappedlda._cli.rows import Labels, column_lines
from cappedlda._cli.training import read_training
from cappedlda._util.files import replacing
from cappedlda._util.progress import Progress

VERSIONS = ("cappedlda", "python", "numpy", "scipy", "scikit-learn", "platform")
NOTABLE = 3.0  # robust deviations from which on a further feature is named
BEYOND = {"cap": "directions", "gate": "all features", "both": "both", "": "not flagged"}
LOOKS_LIKE = {
    "": "",
    "label": "a wrong label",
    "outlier": "an outlier",
    "both": "an outlier with a wrong label",
}


def report(args):
    """Write a report on a table of rows with classes, for an existing model."""
    needs_of_report("A report")
    args.report = args.out
    progress = Progress(args.quiet, LIMITS.seconds)
    model, recipe, notes = read(args.model)
    reader = applied_reader(args, recipe, notes, Labels(model.classes_))
    if reader.target is None:
        target = notes.get("target")
        lacks = f"{reader.table.label} has no column {target!r}, the classes of the model; "
        raise UsageError(
            f"{lacks if target else ''}a report needs the classes of the rows: give "
            "--target COLUMN or --labels FILE"
        )
    data = read_training(reader, progress)
    tell(args, reader, notes, model, data, [], progress)


def write_report(path, model, survey, facts, names, ids, progress):
    """Write the report of a fit and return the accuracy; `ids` has columns that identify rows."""
    from jinja2 import Environment

    accuracy = cross_validate(model, survey.X, survey.y, progress)
    progress.say("Writing the report")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": "{:.1%}".format, "thousands": "{:,}".format}
    template = resources.files("cappedlda._cli").joinpath("report.html.jinja").read_text("utf-8")
    classes = sorted(facts["classes"], key=lambda row: -row["flagged"] / row["rows"])
    page = environment.from_string(template).render(
        title=f"CappedLDA report: {Path(facts['data']).name}",
        made=f"{datetime.now():%Y-%m-%d %H:%M} by cappedlda {__version__}",
        facts=facts,
        survey=survey,
        sampled=len(survey.y) < survey.n_rows,
        column_lines=column_lines(facts),
        classes=classes[: LIMITS.listed_classes],
        n_more_classes=len(classes) - LIMITS.listed_classes,
        meaning=meaning(facts),
        accuracy=accuracy,
        how=" ".join([HOW, *why(accuracy)]),
        pictures=draw_pictures(model, survey, names),
        unusual=unusual_rows(survey.listed, ids, facts.get("encoded", {})),
        n_unusual=facts["flagged"] + facts["left_out_not_flagged"],
        labels=label_line(facts["labels"]) if survey.judged else None,
        doubtful=doubtful_rows(facts["labels"], survey.doubtful, ids) if survey.judged else None,
        wrong_cells=wrong_cells_of_others(survey.n_wrong_cells),
        provenance=provenance(facts),
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return accuracy


def unusual_rows(listed, ids, encoded):
    return [
        {
            "row": row["row"],
            **ids.loc[row["row"]],
            "class": row["class"],
            "predicted": row["predicted"],
            "outlyingness": f"{row['outlyingness']:.2f}",
            "unusual in": BEYOND[row["beyond"]],
            "left out": "yes" if row["left_out"] else "no",
            "why": reasons(row, encoded),
        }
        for row in listed.to_dict("records")
    ]


def doubtful_rows(labels, doubtful, ids):
    found = labels["status"] == "found"  # otherwise all are of nearly the same quality
    return [
        {
            "row": row["row"],
            **ids.loc[row["row"]],
            "class": row["class"],
            "suggested": row["suggested" if row["mislabelled"] else "predicted"],
            **({"quality": quality_in_words(row["quality"])} if found else {}),
            "looks like": LOOKS_LIKE[kind],
        }
        for row, kind in zip(doubtful.to_dict("records"), kinds(doubtful), strict=True)
    ]


def quality_in_words(quality):
    return "<0.001" if quality < 0.001 else f"{quality:.3f}"


def reasons(row, encoded):
    """Return the features that make a row unusual; cells that do not fit the rest come last."""
    categories = {feature: column for column, some in encoded.items() for feature in some}
    found = []
    for k in range(1, sum(name.startswith("feature_") for name in row) + 1):
        value, usual, z = (row[f"{name}_{k}"] for name in ("value", "usual", "z"))
        if isnan(value) or (found and not abs(z) >= NOTABLE):
            continue
        name = row[f"feature_{k}"]
        if name in categories:
            level = name.removeprefix(f"{categories[name]}=")
            told = f"{categories[name]} is {'' if value else 'not '}{level}"
            share = usual if value else 1.0 - usual
            found.append(f"{told} (as in {max(share, 0.0):.0%} of the class)")
        else:
            told = f"{digits(value, 6)} (usually {digits(usual, 4)}, z {digits(z, 3, '+')})"
            found.append(f"{name} = {told}")
    if wrong := row["wrong_cells"]:
        found.append(f"Does not fit the rest of the row: {wrong}")
    return found


def digits(value, n, sign=""):
    """Return a number with n digits, and more if it is a large one, without an exponent."""
    large = 10.0**n <= abs(value) < 1e15
    return f"{value:{sign},.0f}" if large else f"{value:{sign},.{n}g}"


def provenance(facts):
    installed = collect_info()
    return {
        **facts["parameters"],
        "status": facts["status"],
        "epsilon used": f"{facts['epsilon']:.6g}",
        "iterations": facts["iterations"],
        **{name: installed[name] for name in VERSIONS},
    }


OUT = argument("--out FILE", "write the report to this .html file", required=True)
COMMAND = Command(report, (MODEL, DATA, OUT, *LABELS, *TABLE), {"out": (".html", ".htm")})
