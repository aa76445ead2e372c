"""`cappedlda transform` and `predict`: a model file at work on a table."""

from itertools import compress
from pathlib import Path

import numpy as np

from cappedlda._cli.arguments import APPLIED, Command, UsageError, argument, number
from cappedlda._cli.limits import LIMITS
from cappedlda._cli.readers import applied_reader
from cappedlda._cli.rows import column_lines
from cappedlda._cli.writing import SUFFIXES, to_json, write_table
from cappedlda._model_file import read_model
from cappedlda._model_file.recipe import Recipe
from cappedlda._util.progress import Progress


def transform(args):
    """Project rows onto the directions of a model."""
    model, *fitted = read(args.model)
    directions = model.get_feature_names_out().tolist()

    def results(rows):
        return dict(zip(directions, model.transform(rows.X).T, strict=True)), None

    write(args, applied_reader(args, *fitted, keep=args.keep), results)


def predict(args):
    """Predict the class of each row, and show which of its cells were ignored."""
    is_array = args.out is not None and Path(args.out).suffix.lower() == ".npy"
    if is_array and args.reject is not None:
        raise UsageError("--reject adds a column of another type; use --out with .npz, not .npy")
    model, *fitted = read(args.model)
    classes, reader = model.classes_.tolist(), applied_reader(args, *fitted, keep=args.keep)
    names = reader.feature_names()
    counts = {"ignored": 0, **({} if args.reject is None else {"rejected": 0})}

    def results(rows):
        found = {"prediction": model.predict(rows.X)}
        if args.proba:
            shares = model.predict_proba(rows.X).T
            found |= {f"probability_{name}": p for name, p in zip(classes, shares, strict=True)}
        marks = {"ignored": model.wrong_cells(rows.X)}
        if args.reject is not None:
            marks["rejected"] = model.is_rejected(rows.X, alpha=args.reject)
        for name, which in marks.items():
            counts[name] += int(np.count_nonzero(which))
        marks["ignored"] = ["; ".join(compress(names, row)) for row in marks["ignored"]]
        return found | ({} if is_array else marks), None

    write(args, reader, results, counts)


def read(path):
    """Return a model, its recipe, and the notes of its fit."""
    try:
        model, recipe, notes = read_model(path)
    except ValueError as error:
        if Path(path).suffix.lower() == ".npz":
            raise
        raise ValueError(f"{error} The model comes first, then the table: MODEL DATA.") from None
    # Columns are chosen here; the estimator need not look for their names in arrays.
    names = vars(model).pop("feature_names_in_", range(model.n_features_in_))
    if not recipe.columns:  # `save_model` wrote it
        keep_gaps = getattr(model, "missing", "error") == "ignore"
        recipe = Recipe(list(names), keep_gaps=keep_gaps)
    return model, recipe, notes


def write(args, reader, results, counts=None, order=None):
    """Write what is found for each block of rows, and tell how many there were.

    `results` takes `Rows` and returns columns, and which rows they are of, None for all. `counts`
    are further facts to tell. `order` names the column to sort all results by; without it they are
    written block by block.
    """
    from pandas import concat

    progress = Progress(args.quiet, LIMITS.seconds)
    blocks = progress.count(reader, "Rows done")
    frames = (finished(rows.kept, *results(rows)) for rows in blocks)
    if order is not None:
        ascending = [order != "outlyingness", False]
        frames = [concat(frames).sort_values([order, "outlyingness"], ascending=ascending)]
    write_table(frames, args.out, args.json)
    facts = {"rows": reader.n_rows - reader.n_skipped, "skipped": reader.n_skipped}
    facts |= counts or {}
    facts |= {key: value for key, value in reader.column_facts().items() if key in TOLD}
    progress.say("\n".join([in_words(facts), *column_lines(facts)]))
    if args.json and args.out is not None:
        print(to_json({**facts, "out": args.out}, indent=2))


def finished(kept, found, rows):
    kept = (kept if rows is None else kept.iloc[rows]).rename(columns=str)
    if clash := {"row", *found}.intersection(kept.columns):
        raise UsageError(
            f"--keep {min(clash)}: the output already has a column of that name; rename the column "
            "in the file, or do not keep it."
        )
    return kept.assign(**found).rename_axis("row").reset_index()


TOLD = ("imputed", "gaps_ignored", "unknown")  # facts about columns when a model is applied


def in_words(facts):
    text = f"{facts['rows']} rows"
    if facts["skipped"]:
        text += f", {facts['skipped']} with missing values ignored"
    if "flagged" in facts:
        whose = "their class" if facts["labelled"] else "any class: no labels were given"
        text += f"; {facts['flagged']} flagged, unusually far from {whose}"
    if facts.get("ignored"):
        text += f"; cells ignored because they do not fit the rest of their row: {facts['ignored']}"
    if "rejected" in facts:
        text += f"; {facts['rejected']} rejected, too far from every class"
    if "left_out" in facts:
        text += f"; {facts['left_out']} of the kind the fit leaves out"
    if "mislabelled" in facts:
        text += f"; {facts['mislabelled']} that look mislabelled, which is not proof"
    if n := facts.get("others_with_wrong_cells"):
        text += f"\n{wrong_cells_of_others(n)}; --all shows them"
    if n := facts.get("nearest_not_predicted"):
        nearest = "nearest class, from which they are measured,"
        text += f"\nFlagged rows whose {nearest} is not the predicted one: {n}"
    return text


def wrong_cells_of_others(n_rows):
    """Return in words how many rows that are not listed have a wrong cell."""
    rows = "1 more row has" if n_rows == 1 else f"{n_rows:,} more rows have"
    return f"{rows} a wrong cell"


def out_file(suffixes):
    text = f"file to write, one of {', '.join(suffixes)} (default: print CSV)"
    return argument("--out FILE", text)


PROBA = argument("--proba", "add the probability of each class")
SHARE = number("a share above 0 and up to 0.5", 0.5)
MARK = "mark rows too far from every class; ALPHA is the share of good rows marked, such as 0.01"
REJECT = argument("--reject ALPHA", MARK, type=SHARE)
OUT, WRITES = out_file(SUFFIXES), {"out": SUFFIXES}
COMMANDS = {
    "transform": Command(transform, (*APPLIED, OUT), WRITES),
    "predict": Command(predict, (*APPLIED, PROBA, REJECT, OUT), WRITES),
}
