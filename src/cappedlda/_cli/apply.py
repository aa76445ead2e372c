"""`cappedlda transform` and `predict`: a model file at work on a table."""

from pathlib import Path

import numpy as np

from cappedlda._cli.arguments import (
    COLUMNS,
    DATA,
    JSON,
    QUIET,
    TABLE,
    Command,
    UsageError,
    argument,
)
from cappedlda._cli.rows import applied_reader, column_lines
from cappedlda._cli.training import count_rows
from cappedlda._cli.writing import SUFFIXES, table_writer, to_json
from cappedlda._model_fields import are_notes
from cappedlda._model_file import damaged, read_model
from cappedlda._progress import Progress

ALL = slice(None)


def transform(args):
    """Project rows onto the directions of a model."""
    model, names, notes = read(args.model)
    directions = model.get_feature_names_out().tolist()

    def columns(rows):
        return ALL, dict(zip(directions, model.transform(rows.X).T, strict=True))

    return write(args, applied_reader(args, model, names, notes, keep=args.keep), columns)


def predict(args):
    """Predict the class of each row."""
    model, names, notes = read(args.model)
    classes = model.classes_.tolist()

    def columns(rows):
        found = {"prediction": model.predict(rows.X)}
        if args.proba:
            shares = model.predict_proba(rows.X).T
            found |= {f"probability_{name}": p for name, p in zip(classes, shares, strict=True)}
        return ALL, found

    return write(args, applied_reader(args, model, names, notes, keep=args.keep), columns)


def read(path):
    """Return the model in a file, the names of its features or None, and the notes."""
    try:
        model, notes = read_model(path)
    except ValueError as error:
        if Path(path).suffix.lower() == ".npz":
            raise
        raise ValueError(f"{error} The model comes first, then the table: MODEL DATA.") from None
    check_notes(path, notes, model.n_features_in_)
    # Columns are chosen here; the estimator need not look for their names in arrays.
    names = vars(model).pop("feature_names_in_", None)
    return model, None if names is None else names.tolist(), notes


def check_notes(path, notes, n_features):
    """Refuse notes of a model file that do not say where columns are."""
    if notes and not are_notes(notes, n_features):
        raise damaged(path, "its notes on columns contradict themselves")


def check_names(kept, written):
    """Refuse columns to keep that would take the place of others."""
    if clash := written.intersection(kept):
        raise UsageError(
            f"--keep {min(clash)}: the output has a column of that name already; rename the column "
            "in the file, or leave it out."
        )


def write(args, reader, columns, counts=None, order=None):
    """Write what is found for each block of rows, and tell how many there were.

    Parameters
    ----------
    args : Namespace
    reader : RowReader
    columns : callable
        Takes `Rows`, and returns for which of them there are results, and columns of results.
    counts : dict, optional
        Further facts to tell.
    order : callable, optional
        Takes the columns of all results and returns the order in which they are written. Without
        it results are written block by block.
    """
    progress = Progress(args.quiet)
    results = result_blocks(progress.count(reader, "Rows done", count_rows), reader, columns)
    with table_writer(args.out, args.json) as writer:
        for block in results if order is None else [sorted_results(results, order)]:
            writer.write(block)
    facts = {"rows": reader.n_rows - reader.n_skipped, "skipped": reader.n_skipped}
    facts |= counts or {}
    facts |= {key: value for key, value in reader.column_facts().items() if key in TOLD}
    progress.say("\n".join([in_words(facts), *column_lines(facts)]))
    if args.json and args.out is not None:
        print(to_json({**facts, "out": args.out}, indent=2))
    return 0


def result_blocks(blocks, reader, columns):
    """Yield results with the numbers of the rows and the columns to keep, block by block."""
    kept_names = [reader.table.column_name(j) for j in reader.keep]
    for rows in blocks:
        which, found = columns(rows)
        check_names(kept_names, {"row", *found})
        kept = {name: column[which] for name, column in zip(kept_names, rows.kept, strict=True)}
        yield {"row": rows.numbers[which], **kept, **found}


def sorted_results(blocks, order):
    """Return the columns of all blocks as one, sorted."""
    blocks = list(blocks)
    joined = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    chosen = order(joined)
    return {name: column[chosen] for name, column in joined.items()}


TOLD = ("imputed", "unknown")  # facts about columns that matter when a model is applied


def in_words(facts):
    """Return one line about the rows."""
    text = f"{facts['rows']} rows"
    if facts["skipped"]:
        text += f", {facts['skipped']} with missing values ignored"
    if "flagged" in facts:
        whose = "their class" if facts["labelled"] else "any class: no labels were given"
        text += f"; {facts['flagged']} flagged, unusually far from {whose}"
    if "left_out" in facts:
        text += f"; {facts['left_out']} that the fit leaves out"
    return text


MODEL = (
    argument("model", metavar="MODEL", help="model file that cappedlda fit wrote"),
    argument("data", metavar="DATA", help=DATA),
)
OUT = (
    argument(
        "--keep",
        heading=COLUMNS,
        action="append",
        default=[],
        metavar="COLUMNS",
        help="columns to copy to the output: one name, or several separated by commas (default: "
        "those that fit was told to keep)",
    ),
    *TABLE,
    QUIET,
    JSON,
)


def out_file(suffixes):
    """Return the argument for the file of results."""
    return argument(
        "--out",
        metavar="FILE",
        help=f"file to write, one of {', '.join(suffixes)} (default: print CSV)",
    )


READS, WRITES = ("model", "data"), {"out": SUFFIXES}
COMMANDS = {
    "transform": Command(transform, (*MODEL, out_file(SUFFIXES), *OUT), READS, WRITES),
    "predict": Command(
        predict,
        (
            *MODEL,
            argument("--proba", action="store_true", help="add the probability of each class"),
            out_file(SUFFIXES),
            *OUT,
        ),
        READS,
        WRITES,
    ),
}
