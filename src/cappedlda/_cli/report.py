"""The report: one HTML file that needs nothing else."""

import platform
from datetime import datetime
from importlib import resources
from pathlib import Path

import numpy as np
import scipy
import sklearn

from cappedlda import __version__
from cappedlda._cli import pictures
from cappedlda._cli.accuracy import HOW, cross_validate, not_flagged
from cappedlda._cli.fit import NOT_USED, WOULD_NOT_USE, between_fences
from cappedlda._cli.outliers import TRUST
from cappedlda._cli.rows import column_lines
from cappedlda._cli.survey import MOST_LISTED
from cappedlda._files import replacing
from cappedlda._markup import Markup, join, table, tag

MOST_CLASSES = 100  # in the table
MOST_CONFUSED = 20  # classes in a confusion matrix, which has as many columns
NOTABLE = 3.0  # robust deviations from which on a further feature is named
BEYOND = {
    "cap": "directions",
    "gate": "all features",
    "both": "both",
    TRUST: "not flagged, but outside the fence of trusted rows",
}
UNUSUAL = (
    "Rows are counted from 0. The outlyingness is the distance from the class over the largest "
    "that is not flagged: in the discriminant directions, or in all features together. Why: the "
    "features that contribute most, with the usual value of the class (its mean in the fit), and "
    "z, the difference in robust deviations."
)
# Nothing in the file may run, or be fetched.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
UNUSUALLY_FAR = "Flagged rows are unusually far from their class: worth a look."
HARMFUL = "by default these are only rows that would harm the classification of the others"


def write_report(path, model, survey, facts, names, ids, progress):
    """Write the report and return the facts about accuracy.

    Parameters
    ----------
    path : str
    model : fitted CappedLDA
    survey : Survey
    facts : dict
        What `cappedlda fit` found.
    names : list of str
        Of the features.
    ids : dict of str to list of str
        Columns that name the unusual rows.
    progress : Progress
    """
    accuracy = cross_validate(model, survey.X, survey.y, progress)
    progress.say("Writing the report")
    title = f"CappedLDA report: {Path(facts['data']).name}"
    css = Markup(resources.files("cappedlda._cli").joinpath("report.css").read_text("utf-8"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("title", title),
        tag("style", css),
    )
    body = tag(
        "body",
        heading(title, facts),
        key_figures(facts, accuracy),
        tag(
            "div",
            section("Classes", class_table(facts), confusion_table(accuracy)),
            section("Accuracy", accuracy_table(accuracy, survey)),
            class_="pair",
        ),
        section("Pictures", figures(model, survey, facts)),
        section("Unusual rows", unusual_table(survey, names, ids, facts.get("encoded", {}))),
        section("Parameters and versions", provenance(facts)),
    )
    with replacing(path) as temporary:
        page = f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
        temporary.write_text(page, encoding="utf-8")
    return accuracy


def section(title, *content):
    """Return a part of the report."""
    return tag("section", tag("h2", title), *content)


def heading(title, facts):
    """Return title, origin and warnings."""
    made = f"{datetime.now():%Y-%m-%d %H:%M} by cappedlda {__version__}"
    target = f"classes in {facts['target']!r}, " if facts["target"] else ""
    skipped = f", {facts['skipped']} rows with missing values ignored" if facts["skipped"] else ""
    return tag(
        "header",
        tag("h1", title),
        tag("p", f"{facts['data']}, {target}{made}{skipped}.", class_="soft"),
        [tag("p", f"{line}.", class_="soft") for line in column_lines(facts)],
        [tag("p", text, class_="warning") for text in facts["warnings"]],
    )


def key_figures(facts, accuracy):
    """Return the figures that a reader looks for first."""
    left_out = "left out of the fit" if facts["fitted"] else "of the kind the fit leaves out"
    items = {
        "rows": f"{facts['rows']:,}",
        f"features, {len(facts['classes']):,} classes": f"{facts['features']:,}",
        f"flagged as unusual ({facts['flagged'] / facts['rows']:.1%})": f"{facts['flagged']:,}",
        f"{left_out} ({facts['left_out'] / facts['rows']:.1%})": f"{facts['left_out']:,}",
    }
    if "methods" in accuracy:
        capped, plain = accuracy["methods"]
        scored = {"on all rows": "accuracy_all_rows", "without flagged rows": "accuracy"}
        for rows, key in scored.items():
            items[f"accuracy {rows} (plain LDA {plain[key]:.1%})"] = f"{capped[key]:.1%}"
    return tag(
        "dl",
        [tag("div", tag("dt", name), tag("dd", value)) for name, value in items.items()],
        class_="figures",
    )


def class_table(facts):
    """Return how many rows of each class are flagged and left out, most flagged first."""
    classes = sorted(facts["classes"], key=lambda row: -row["flagged"] / row["rows"])
    rows = [
        [
            row["class"],
            f"{row['rows']:,}",
            f"{row['flagged']:,}",
            f"{row['left_out']:,}",
            share_bar(row["flagged"] / row["rows"]),
        ]
        for row in classes[:MOST_CLASSES]
    ]
    header = ["class", "rows", "flagged", "left out", "share flagged"]
    more = len(classes) - MOST_CLASSES
    note = tag("p", f"{more} more classes, with smaller shares.") if more > 0 else ""
    return join([table(header, rows, (1, 2, 3)), note, tag("p", meaning(facts), class_="soft")])


def meaning(facts):
    """Return what it means that rows are flagged, and left out."""
    left_out = NOT_USED if facts["fitted"] else WOULD_NOT_USE
    return f"{UNUSUALLY_FAR} {left_out}; {HARMFUL}. {between_fences(facts)}"


def share_bar(share):
    """Return a share as a bar and a number."""
    bar = tag("span", class_="bar", style=f"width:{5.0 * share:.2f}rem")
    return join([bar if share else "", f"{share:.1%}"])


def accuracy_table(accuracy, survey):
    """Return the accuracies, and how they were found."""
    if "problem" in accuracy:
        return tag("p", f"Cross-validation was not possible: {accuracy['problem']}")
    sample = f" of a sample of {accuracy['rows']:,} rows" if len(survey.y) < survey.n_rows else ""
    rows = [
        [
            method["method"],
            f"{method['accuracy_all_rows']:.1%} ± {method['standard_error_all_rows']:.1%}",
            f"{method['accuracy']:.1%} ± {method['standard_error']:.1%}",
        ]
        for method in accuracy["methods"]
    ]
    how = (
        f"Stratified cross-validation in {accuracy['folds']} folds{sample}; mean ± standard error "
        f"over the folds. {HOW}"
    )
    figures = table(["method", "all rows", not_flagged(accuracy)], rows, (1, 2))
    return join([figures, tag("p", how, class_="soft")])


def figures(model, survey, facts):
    """Return projection and distances."""
    X, y = survey.X, survey.y
    flagged = model.outlyingness(X, y) > 1.0
    crossed = None if np.array_equal(survey.crossed, flagged) else survey.crossed
    sample = f" A sample of {len(y):,} rows." if len(y) < survey.n_rows else ""
    shown = [
        figure(
            pictures.projection(model, X, y, crossed),
            "Rows in the first discriminant directions; flagged rows are ringed, those outside "
            "the view are triangles on its frame. Crosses mark rows that are left out of the fit, "
            "where these are not simply the flagged ones. The background is the predicted "
            f"class.{sample}",
        )
    ]
    distances = pictures.distances(model, X, y, crossed, survey.n_rows)
    if distances is None:
        return join([tag("div", shown, class_="pictures"), tag("p", "No cap: epsilon is inf.")])
    caption = (
        "Distance of each row from the centre of its class over the largest that is not flagged, "
        f"in the discriminant space (there epsilon = {model.epsilon_:.3g}) or in all features "
        f"together, whichever is larger. Above 1 a row is flagged. {between_fences(facts)}{sample}"
    )
    shown.append(figure(distances, caption))
    return tag("div", shown, class_="pictures")


def figure(source, caption):
    """Return a picture and what it shows."""
    return tag("figure", tag("img", src=source, alt=caption), tag("figcaption", caption))


def confusion_table(accuracy):
    """Return how many rows of a class are predicted as which."""
    found = accuracy.get("confusions", [])
    title = tag("h3", "Predicted classes")
    if not found or len({item["class"] for item in found}) > MOST_CONFUSED:
        return ""
    if all(item["class"] != item["predicted"] for item in found):  # of many classes
        rows = [[item["class"], item["predicted"], f"{item['rows']:,}"] for item in found]
        note = tag("p", "The most frequent errors among the held-out rows.", class_="soft")
        return join([title, table(["class", "predicted", "rows"], rows, (2,)), note])
    counts = {(item["class"], item["predicted"]): item["rows"] for item in found}
    classes = list(dict.fromkeys(label for label, _ in counts))
    rows = [
        [label, *(counted(counts.get((label, guess), 0), label == guess) for guess in classes)]
        for label in classes
    ]
    note = tag(
        "p", "Held-out rows of each class (line) by predicted class (column).", class_="soft"
    )
    numbers = range(1, len(classes) + 1)
    return join([title, table(["class", *classes], rows, numbers), note])


def counted(n, right):
    """Return a number of rows; hits are bold, and zeros are points."""
    text = f"{n:,}" if n else "·"
    return tag("strong", text) if right else text


def unusual_table(survey, names, ids, encoded):
    """Return the rows that are flagged or left out, the most outlying first."""
    if not survey.n_listed:
        return tag("p", "No row is flagged or left out.")
    listed = {name: column.tolist() for name, column in survey.listed.items()}
    rows = [
        [
            number,
            *(values[i] for values in ids.values()),
            listed["class"][i],
            listed["predicted"][i],
            f"{listed['outlyingness'][i]:.2f}",
            BEYOND[listed["beyond"][i]],
            "yes" if listed["left_out"][i] else "no",
            reasons(listed, i, names, encoded),
        ]
        for i, number in enumerate(listed["row"])
    ]
    header = ["row", *ids, "class", "predicted", "outlyingness", "unusual in", "left out", "why"]
    if survey.n_listed > MOST_LISTED:
        cut = f"The {MOST_LISTED} most outlying of {survey.n_listed:,} unusual rows; "
        note = f"{cut}cappedlda outliers lists all. {UNUSUAL}"
    else:
        note = UNUSUAL
    numbers = (0, len(ids) + 3)
    return join([tag("p", note, class_="soft"), table(header, rows, numbers)])


def reasons(listed, i, names, encoded):
    """Return the features that make a row unusual, with its values and the usual ones."""
    categories = {feature: column for column, some in encoded.items() for feature in some}
    found = []
    for k in range(1, sum(name.startswith("feature_") for name in listed) + 1):
        value, usual, z = (listed[f"{name}_{k}"][i] for name in ("value", "usual", "z"))
        if found and not abs(z) >= NOTABLE:
            continue
        name = names[listed[f"feature_{k}"][i]]
        if name in categories:
            level = name.removeprefix(f"{categories[name]}=")
            told = f"{categories[name]} is {'' if value else 'not '}{level}"
            share = usual if value else 1.0 - usual
            found.append(f"{told} (as in {max(share, 0.0):.0%} of the class)")
        else:
            told = f"{digits(value, 6)} (usually {digits(usual, 4)}, z {digits(z, 3, '+')})"
            found.append(f"{name} = {told}")
    return [tag("div", text, class_="reason") for text in found]


def digits(value, n, sign=""):
    """Return a number with n digits, and more if it is a large one, without an exponent."""
    large = 10.0**n <= abs(value) < 1e15
    return f"{value:{sign},.0f}" if large else f"{value:{sign}.{n}g}"


def provenance(facts):
    """Return parameters, results and versions."""
    parameters = {**facts["parameters"], "status": facts["status"]}
    parameters |= {"epsilon used": f"{facts['epsilon']:.6g}", "iterations": facts["iterations"]}
    versions = {
        "cappedlda": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
    }
    rows = [[name, tag("code", value)] for name, value in {**parameters, **versions}.items()]
    command = tag("p", "Command: ", tag("code", facts["command"]))
    return join([command, table(["name", "value"], rows)])
