"""`cappedlda report`: a report on rows, for a model that was fitted before."""

from cappedlda._cli.apply import read
from cappedlda._cli.arguments import (
    DATA,
    JSON,
    LABELS,
    MODEL,
    QUIET,
    TABLE,
    Command,
    UsageError,
    argument,
)
from cappedlda._cli.fit import as_text, facts_of
from cappedlda._cli.labels import Labels
from cappedlda._cli.readers import applied_reader
from cappedlda._cli.survey import Survey
from cappedlda._cli.tables import needs
from cappedlda._cli.training import read_training
from cappedlda._cli.writing import to_json
from cappedlda._progress import Progress


def report(args):
    """Write a report on a table of rows with classes, for an existing model."""
    needs("matplotlib", "A report")
    needs("jinja2", "A report")
    from cappedlda._cli.report import write_report

    args.report = args.out
    progress = Progress(args.quiet)
    fitted = read(args.model)
    model, notes = fitted.model, fitted.notes
    reader = applied_reader(args, fitted, Labels(model.classes_))
    if reader.target is None:
        raise UsageError(no_classes(reader.table.label, notes.get("target")))
    survey = Survey(model, read_training(reader, progress), progress)
    facts = facts_of(args, notes, reader, model, survey, [])
    names = reader.feature_names()
    ids = reader.kept_at(survey.listed["row"].to_numpy())
    facts["accuracy"] = write_report(args.out, model, survey, facts, names, ids, progress)
    print(to_json(facts, indent=2) if args.json else as_text(facts))
    return 0


def no_classes(label, target):
    """Return the message about a table without classes, which the model had in a column."""
    where = f"{label} has no column {target!r}, the classes of the model; " if target else ""
    return f"{where}a report needs the classes of the rows: give --target COLUMN or --labels FILE"


OUT = argument("--out FILE", "write the report to this .html file", required=True)
COMMAND = Command(
    report,
    (MODEL, DATA, OUT, *LABELS, *TABLE, QUIET, JSON),
    reads=("model", "data", "labels"),
    writes={"out": (".html", ".htm")},
)
