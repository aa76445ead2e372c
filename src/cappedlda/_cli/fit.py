"""`cappedlda fit`: a model from a table."""

import sys
import warnings

import numpy as np

from cappedlda._cli.arguments import (
    COLUMNS,
    DATA,
    JSON,
    KEEP,
    LABELS,
    METHOD,
    QUIET,
    TABLE,
    Command,
    UsageError,
    argument,
    epsilon,
    exponent,
    positive,
)
from cappedlda._cli.labels import Labels
from cappedlda._cli.readers import training_reader, with_advice
from cappedlda._cli.rows import column_lines
from cappedlda._cli.survey import Survey
from cappedlda._cli.tables import ColumnError, needs
from cappedlda._cli.training import Streamed, read_training
from cappedlda._cli.writing import to_json
from cappedlda._progress import Progress
from cappedlda._tables import table

MOST_CLASSES = 30  # that are printed
LEAST_ROWS = 50  # of a table in which ids are told from measurements


def fit(args):
    """Fit a model to a table, count unusual rows, and write the model and a report."""
    check_arguments(args)
    progress = Progress(args.quiet)
    try:
        reader, notes = training_reader(args, Labels(), progress)
        data = read_training(reader, progress)
    except ColumnError as error:
        raise with_advice(error, args) from None
    model = new_model(args)
    if args.cv and isinstance(data, Streamed):
        raise ValueError(f"--cv needs all rows in memory, but {args.data} is too large for that.")
    names = reader.feature_names()
    progress.say(f"Fitting {data.n_rows} rows of {len(names)} features")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_numbers(reader, data.X)
        data.fit(model)
    for warning in caught:
        print(f"cappedlda fit: warning: {warning.message}", file=sys.stderr)
    survey = Survey(model, data, progress)
    facts = facts_of(args, notes, reader, model, survey, caught)
    if args.report is not None:
        from cappedlda._cli.report import write_report

        ids = reader.kept_at(survey.listed["row"].to_numpy())
        facts["accuracy"] = write_report(args.report, model, survey, facts, names, ids, progress)
    if args.model is not None:
        save(args.model, model, reader, notes)
    print(to_json(facts, indent=2) if args.json else as_text(facts))
    return 0


def warn_of_numbers(reader, X):
    """Warn of numbers that look like dates or ids; only files with names of columns have such."""
    table = reader.table
    if table.names is None or X is None or len(X) < LEAST_ROWS:
        return
    for values, position in zip(X.T, reader.recipe.numbers, strict=False):
        name = repr(table.column_name(position))
        if looks_like_dates(values):
            doubt = f"Column {name} looks like dates written as numbers, such as 20200112. If"
            warnings.warn(f"{doubt} {table.remedy('date', [position])}.", stacklevel=2)
        elif np.all(values == np.rint(values)) and len(np.unique(values)) == len(values):
            doubt = f"Column {name} has a different integer in every row. If it is an id, give"
            warnings.warn(f"{doubt} {table.option('--keep', [position])}.", stacklevel=2)


def looks_like_dates(values):
    """Tell whether nearly all numbers are dates written as 20200112; the rest may be medians."""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    dates = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12)
    dates &= (day >= 1) & (day <= 31) & (values == np.rint(values))
    return np.mean(dates) >= 0.9


def check_arguments(args):
    """Refuse what cannot work before anything is read."""
    if args.cv and (args.epsilon is not None or args.q is not None):
        raise UsageError("--cv chooses epsilon and q; leave --epsilon and --q out")
    if args.report is not None:
        needs("matplotlib", "--report")
        needs("jinja2", "--report")


def new_model(args):
    """Return the estimator that the arguments ask for."""
    from cappedlda import CappedLDA, CappedLDACV

    shared = {"n_components": args.n_components, "n_jobs": args.n_jobs}
    if args.cv:
        return CappedLDACV(**shared)
    chosen = {"epsilon": args.epsilon, "q": args.q}
    return CappedLDA(**shared, **{name: value for name, value in chosen.items() if value})


def facts_of(args, notes, reader, model, survey, caught):
    """Return what there is to say, as JSON can hold it."""
    labels = [value.item() for value in model.classes_]
    counts = [array.tolist() for array in (survey.rows, survey.flagged, survey.left_out)]
    return {
        "command": args.line,
        "fitted": args.command == "fit",
        "data": reader.table.label,
        "target": args.target or notes.get("target"),
        "rows": survey.n_rows,
        "skipped": reader.n_skipped,
        "features": len(reader.feature_names()),
        **reader.column_facts(),
        "classes": [
            {"class": label, "rows": n, "flagged": flagged, "left_out": left_out}
            for label, n, flagged, left_out in zip(labels, *counts, strict=True)
        ],
        "flagged": int(survey.flagged.sum()),
        "left_out": int(survey.left_out.sum()),
        "left_out_not_flagged": survey.n_only_left_out,
        "status": model.status_,
        "epsilon": model.epsilon_,
        "iterations": model.n_iter_,
        "parameters": parameters(model),
        "warnings": [str(warning.message) for warning in caught],
        "model": args.model,
        "report": args.report,
    }


def parameters(model):
    """Return the parameters, those that were chosen by cross-validation included."""
    chosen = ("best_multiplier_", "best_q_", "best_n_components_", "best_score_")
    found = {name: getattr(model, name) for name in chosen if hasattr(model, name)}
    found = {**model.get_params(), **found}
    return {name: str(value) if value == np.inf else value for name, value in found.items()}


def save(path, model, reader, notes):
    """Write the model, with the names of its features."""
    from cappedlda._model_file import write_model

    recipe, names = reader.recipe, reader.table.names
    if names is not None:
        recipe = recipe.renamed({j: names[j] for j in recipe.columns})
        model.feature_names_in_ = np.array(recipe.feature_names(), dtype=object)
    write_model(path, model, recipe, notes)


def as_text(facts):
    """Return the facts for people."""
    classes = facts["classes"]
    lines = [f"{facts['data']}: {facts['rows']} rows, {facts['features']} features"]
    if facts["skipped"]:
        lines[0] += f"; {facts['skipped']} rows with missing values ignored"
    lines += column_lines(facts)
    counts = ("rows", "flagged", "left_out")
    total = {"class": "all", **{name: sum(row[name] for row in classes) for name in counts}}
    shown = sorted(classes, key=lambda row: -row["flagged"])[:MOST_CLASSES]
    shown = [row for row in classes if row in shown]
    named = [{name.replace("_", " "): row[name] for name in total} for row in [*shown, total]]
    lines += ["", table(named), ""]
    if len(classes) > len(shown):
        lines.append(f"{len(classes) - len(shown)} classes with fewer flagged rows not shown.")
    if facts["flagged"] or facts["left_out"]:
        lines += [meaning(facts), ""]
    lines.append(
        f"{facts['status']}, iterations: {facts['iterations']}, epsilon: {facts['epsilon']:.3g}"
    )
    chosen = facts["parameters"]
    if "best_q_" in chosen:
        lines.append(
            "Chosen by cross-validation: {best_multiplier_} times the automatic epsilon, "
            "q = {best_q_:g}, directions: {best_n_components_}; "
            "score {best_score_:.3f}".format(**chosen)
        )
    if "accuracy" in facts:
        from cappedlda._cli.accuracy import summary

        lines += ["", summary(facts["accuracy"]), ""]
    written = {"Model": facts["model"], "Report": facts["report"]}
    lines += [f"{name}: {path}" for name, path in written.items() if path is not None]
    return "\n".join(lines)


def meaning(facts):
    """Return what it means that rows are flagged, and left out."""
    # A table that a model is applied to may or may not be the one that it was fitted to.
    used = "were not used to fit the model"
    kind = "are of the kind that the fit did not use"
    text = f"Flagged rows are unusual. Rows left out {used if facts['fitted'] else kind}."
    if n := facts["left_out_not_flagged"]:
        are = f"{n} rows are" if n > 1 else "1 row is"
        text += f" {are} left out but not flagged: not far enough off to be flagged, but too far "
        text += "to be trusted."
    return text


RECIPE = (
    argument("--encode", "turn columns of text into 0/1 features, one per category", COLUMNS),
    argument(
        "--categories COLUMNS...",
        "columns of codes to encode although they look like numbers, separated by commas",
        COLUMNS,
    ),
    argument(
        "--impute median",
        "fill gaps: numbers with the median of their column, categories with the most frequent one",
        COLUMNS,
        choices=("median",),
    ),
    argument("--keep COLUMNS...", KEEP, COLUMNS),
)
PARAMETERS = (
    argument(
        "--epsilon E",
        "cap on the distance of a row: a number, inf for none, or auto (default)",
        METHOD,
        type=epsilon,
    ),
    argument("--q Q", "exponent of the norm (default: 1)", METHOD, type=exponent),
    argument(
        "--n-components K",
        "number of directions (default: one fewer than classes)",
        METHOD,
        type=positive,
    ),
    argument("--cv", "choose epsilon and q by cross-validation", METHOD),
    argument("--n-jobs K", "number of threads (default: all cores)", METHOD, type=positive),
)
FILES = (
    argument("--model FILE", "write the fitted model to this .npz file"),
    argument("--report FILE", "write a report to this .html file"),
)
COMMAND = Command(
    fit,
    (DATA, *LABELS, *FILES, *RECIPE, *TABLE, *PARAMETERS, QUIET, JSON),
    reads=("data", "labels"),
    writes={"model": (".npz",), "report": (".html", ".htm")},
)
