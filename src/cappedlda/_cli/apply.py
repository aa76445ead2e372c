"""`cappedlda transform`, `predict` and `outliers`: a model file at work on a table."""

from pathlib import Path

from cappedlda._cli.arguments import (
    DATA,
    JSON,
    LABELS,
    QUIET,
    TABLE,
    Command,
    UsageError,
    argument,
)
from cappedlda._cli.labels import Labels
from cappedlda._cli.rows import applied_reader, column_lines
from cappedlda._cli.survey import left_out_rows
from cappedlda._cli.writing import SUFFIXES, table_writer, to_json
from cappedlda._model_fields import are_notes
from cappedlda._model_file import damaged, read_model
from cappedlda._progress import Progress


def transform(args):
    """Project rows onto the directions of a model."""
    model, names, notes = read(args.model)
    directions = model.get_feature_names_out().tolist()

    def columns(rows):
        return dict(zip(directions, model.transform(rows.X).T, strict=True))

    return write(args, applied_reader(args, model, names, notes, keep=args.keep), columns)


def predict(args):
    """Predict the class of rows."""
    model, names, notes = read(args.model)
    classes = model.classes_.tolist()

    def columns(rows):
        found = {"prediction": model.predict(rows.X)}
        if args.proba:
            shares = model.predict_proba(rows.X).T
            found |= {f"probability_{name}": p for name, p in zip(classes, shares, strict=True)}
        return found

    return write(args, applied_reader(args, model, names, notes, keep=args.keep), columns)


def outliers(args):
    """List the rows that do not belong to their class, or to any, and those the fit leaves out."""
    if args.unlabelled and (args.target is not None or args.labels is not None):
        raise UsageError("--unlabelled leaves the classes out; leave --target and --labels out")
    if args.out is not None and args.out.endswith(".npy"):
        raise UsageError("--out: outliers are a table of several types; use .npz")
    model, names, notes = read(args.model)
    labels = None if args.unlabelled else Labels(model.classes_)
    reader = applied_reader(args, model, names, notes, labels, args.keep)
    labelled = reader.target is not None
    counts = {"flagged": 0, **({"left_out": 0} if labelled else {}), "labelled": labelled}

    def columns(rows):
        y = model.predict(rows.X) if rows.codes is None else model.classes_[rows.codes]
        ratio = model.outlyingness(rows.X, None if rows.codes is None else y)
        marks = {"flagged": ratio > 1.0}
        if rows.codes is not None:  # rows without a class are in no fit
            marks["left_out"] = left_out_rows(model, rows.X, y, ratio)
        for name, which in marks.items():
            counts[name] += int(which.sum())
        return {"class": y, "outlyingness": ratio, **marks}

    def chosen(found):
        return slice(None) if args.all else found["flagged"] | found.get("left_out", False)

    return write(args, reader, columns, chosen, counts)


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


def write(args, reader, columns, chosen=None, counts=None):
    """Write what `columns` finds for each block of rows, and tell how many there were."""
    progress = Progress(args.quiet)
    kept_names = [reader.table.column_name(j) for j in reader.keep]
    with table_writer(args.out, args.json) as writer:
        for rows in progress.count(reader, "Rows done", lambda rows: len(rows.numbers)):
            found = columns(rows)
            kept = dict(zip(kept_names, rows.kept, strict=True))
            which = slice(None) if chosen is None else chosen(found)
            check_names(kept, {"row", *found})
            result = {"row": rows.numbers, **kept, **found}
            writer.write({name: column[which] for name, column in result.items()})
    facts = {"rows": reader.n_rows - reader.n_skipped, "skipped": reader.n_skipped}
    facts |= counts or {}
    facts |= {key: value for key, value in reader.column_facts().items() if key in TOLD}
    progress.say("\n".join([in_words(facts), *column_lines(facts)]))
    if args.json and args.out is not None:
        print(to_json({**facts, "out": args.out}, indent=2))
    return 0


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
        text += f"; {facts['left_out']} left out of the fit"
    return text


MODEL = (
    argument("model", metavar="MODEL", help="model file that cappedlda fit wrote"),
    argument("data", metavar="DATA", help=DATA),
)
OUT = (
    argument(
        "--out",
        metavar="FILE",
        help=f"file to write, one of {', '.join(SUFFIXES)} (default: print CSV)",
    ),
    argument(
        "--keep",
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
READS, WRITES = ("model", "data"), {"out": SUFFIXES}
COMMANDS = {
    "transform": Command(transform, (*MODEL, *OUT), READS, WRITES),
    "predict": Command(
        predict,
        (
            *MODEL,
            argument("--proba", action="store_true", help="add the probability of each class"),
            *OUT,
        ),
        READS,
        WRITES,
    ),
    "outliers": Command(
        outliers,
        (
            *MODEL,
            *LABELS,
            argument(
                "--unlabelled",
                action="store_true",
                help="ignore the classes, and measure each row from the nearest one",
            ),
            argument("--all", action="store_true", help="list all rows, not only unusual ones"),
            *OUT,
        ),
        (*READS, "labels"),
        WRITES,
    ),
}
