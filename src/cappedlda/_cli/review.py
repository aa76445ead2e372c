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
from cappedlda._cli.facts import needs_of_report, tell
from cappedlda._cli.labels import Labels
from cappedlda._cli.limits import LIMITS
from cappedlda._cli.readers import applied_reader
from cappedlda._cli.training import read_training
from cappedlda._util.progress import Progress


def report(args):
    """Write a report on a table of rows with classes, for an existing model."""
    needs_of_report("A report")
    args.report = args.out
    progress = Progress(args.quiet, LIMITS.seconds)
    fitted = read(args.model)
    reader = applied_reader(args, fitted, Labels(fitted.model.classes_))
    if reader.target is None:
        target = fitted.notes.get("target")
        lacks = f"{reader.table.label} has no column {target!r}, the classes of the model; "
        raise UsageError(
            f"{lacks if target else ''}a report needs the classes of the rows: give "
            "--target COLUMN or --labels FILE"
        )
    data = read_training(reader, progress)
    return tell(args, reader, fitted.notes, fitted.model, data, [], progress)


OUT = argument("--out FILE", "write the report to this .html file", required=True)
COMMAND = Command(
    report,
    (MODEL, DATA, OUT, *LABELS, *TABLE, QUIET, JSON),
    reads=("model", "data", "labels"),
    writes={"out": (".html", ".htm")},
)
