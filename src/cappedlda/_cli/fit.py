"""`cappedlda fit`: a model from a table."""

import sys
import warnings
from contextlib import contextmanager, redirect_stdout
from copy import copy

import numpy as np

from cappedlda._cli.arguments import (
    COLUMNS,
    DATA,
    LABELS,
    TABLE,
    Command,
    UsageError,
    argument,
    number,
    positive,
)
from cappedlda._cli.facts import needs_of_report, tell
from cappedlda._cli.limits import LIMITS
from cappedlda._cli.readers import training_reader, with_advice
from cappedlda._cli.rows import Labels
from cappedlda._cli.tables import ColumnError
from cappedlda._cli.training import Streamed, read_training
from cappedlda._util.progress import Progress

LEAST_ROWS = 50  # of a table in which ids are told from measurements
MOST_SKEWED = 3.0  # distance of the last tenth from the median, in distances of the first tenth


def fit(args):
    """Fit a model to a table, count unusual rows, and write the model and a report."""
    check_arguments(args)
    progress = Progress(args.quiet, LIMITS.seconds)
    try:
        reader, notes = training_reader(args, Labels(), progress)
        data = read_training(reader, progress)
    except ColumnError as error:
        raise with_advice(error, args) from None
    model = new_model(args)
    if isinstance(data, Streamed) and (args.cv or args.missing):
        problem = f"needs all rows in memory, but {args.data} is too large for that"
        if args.cv:
            raise ValueError(f"--cv {problem}.")
        raise ValueError(f"--missing ignore {problem}; use --impute median or --skip-missing.")
    progress.say(f"Fitting {data.n_rows} rows of {len(reader.feature_names())} features")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_numbers(reader, data)
        with telling_passes(model, data.X, args.quiet):
            data.fit(model)
    for warning in caught:
        print(f"cappedlda fit: warning: {warning.message}", file=sys.stderr)
    if args.model is not None:
        save(args.model, model, reader, notes)
    told = [str(warning.message) for warning in caught]
    tell(args, reader, notes, model, data, told, progress)


@contextmanager
def telling_passes(model, X, quiet):
    """Let a fit to many rows in memory tell its passes; those that read a file do it anyway."""
    if quiet or X is None or X.size < LIMITS.told_numbers:
        yield
        return
    model.set_params(verbose=2)
    with redirect_stdout(sys.stderr):
        yield
    model.set_params(verbose=0)


def warn_of_numbers(reader, data):
    """Warn of numbers that look like dates, ids or amounts, in files with names of columns."""
    table = reader.table
    if not table.has_names or data.X is None or data.n_rows < LEAST_ROWS:
        return
    classes = [data.y == label for label in np.unique(data.y)]
    for column, name in zip(data.X.T, reader.recipe.numbers, strict=False):
        values = column[~np.isnan(column)]
        if len(values) == 0:
            continue  # the fit says what to do
        if looks_like_dates(values):
            doubt = f"Column {name!r} looks like dates written as numbers, such as 20200112. If"
            warnings.warn(f"{doubt} {table.remedy('date', [name])}.", stacklevel=2)
        elif np.all(values == np.rint(values)) and len(np.unique(values)) == len(column):
            doubt = f"Column {name!r} has a different integer in every row. If it is an id, give"
            warnings.warn(f"{doubt} {table.option('--keep', [name])}.", stacklevel=2)
        elif are_skewed(column, classes):
            doubt = f"Column {name!r} is strongly skewed, so good rows may be flagged. If it holds"
            warnings.warn(f"{doubt} amounts, try {table.option('--log', [name])}.", stacklevel=2)


def are_skewed(column, classes):
    """Tell whether amounts spread much farther above the median of their class than below."""
    values = [column[rows & ~np.isnan(column)] for rows in classes]
    steps = np.concatenate([some - np.median(some) for some in values if len(some)])
    low, middle, high = np.quantile(steps, [0.1, 0.5, 0.9])
    return np.nanmin(column) >= 0.0 and high - middle > MOST_SKEWED * (middle - low) > 0.0


def looks_like_dates(values):
    """Tell whether nearly all numbers are dates written as 20200112; the rest may be medians."""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    dates = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12)
    dates &= (day >= 1) & (day <= 31) & (values == np.rint(values))
    return np.mean(dates) >= 0.9


def check_arguments(args):
    if args.cv and args.epsilon is not None:
        raise UsageError("--cv chooses epsilon; leave --epsilon out")
    if args.cv and args.label_noise is not None:
        raise UsageError("--cv does not work with --label-noise; leave one of them out")
    if args.epsilon == np.inf and args.label_noise is not None:
        raise UsageError("--epsilon inf does not work with --label-noise; leave one of them out")
    if args.missing is not None and args.impute is not None:
        raise UsageError("--missing ignore leaves no gaps to --impute; leave one of them out")
    if args.missing is not None and args.cv:
        raise UsageError("--cv does not work with --missing ignore; use --impute median")
    if args.report is not None:
        needs_of_report("--report")


def new_model(args):
    from cappedlda import CappedLDA, CappedLDACV

    shared = {"n_components": args.n_components, "n_jobs": args.n_jobs}
    if args.cv:
        return CappedLDACV(**shared)
    cap = "auto" if args.epsilon is None else args.epsilon
    missing = args.missing or "error"
    return CappedLDA(**shared, epsilon=cap, missing=missing, label_noise=args.label_noise)


def save(path, model, reader, notes):
    from cappedlda._model_file import write_model

    if reader.table.has_names:
        model = copy(model)  # which goes on to measure arrays without names
        model.feature_names_in_ = np.array(reader.feature_names(), dtype=object)
    write_model(path, model, reader.recipe, notes)


METHOD = "the method"
ENCODE = "turn columns of text into 0/1 features, one per category"
CATEGORIES = "columns of numbers to encode too, such as codes, separated by commas"
IMPUTE = "fill gaps with the median of their column, or with the most frequent category"
MISSING = "use the other cells of rows with gaps, here and in predict, instead of filling gaps"
LOG = "skewed amounts to take the logarithm of, separated by commas; far errors still show"
KEEP = "columns that identify the rows, such as an id: not features, but shown with the results"
EPSILON = "cap on the distance of a row: a number, inf for none, or auto (default)"
CAP = number("auto, a number above 0 or inf", np.inf, "auto")
DIRECTIONS = "number of directions (default: one fewer than classes)"
NOISE = "look for wrong labels: auto, or a first guess of their share"
RATE = number("auto or a rate between 0 and 0.5", np.nextafter(0.5, 0.0), "auto")
OPTIONS = (
    argument("--model FILE", "write the fitted model to this .npz file"),
    argument("--report FILE", "write a report to this .html file"),
    argument("--encode", ENCODE, COLUMNS),
    argument("--categories COLUMNS...", CATEGORIES, COLUMNS),
    argument("--impute median", IMPUTE, COLUMNS, choices=("median",)),
    argument("--missing ignore", MISSING, COLUMNS, choices=("ignore",)),
    argument("--log COLUMNS...", LOG, COLUMNS),
    argument("--keep COLUMNS...", KEEP, COLUMNS),
    argument("--epsilon E", EPSILON, METHOD, type=CAP),
    argument("--n-components K", DIRECTIONS, METHOD, type=positive),
    argument("--label-noise RATE", NOISE, METHOD, type=RATE),
    argument("--cv", "choose epsilon by cross-validation", METHOD),
    argument("--n-jobs K", "number of threads (default: all cores)", METHOD, type=positive),
)
WRITES = {"model": (".npz",), "report": (".html", ".htm")}
COMMAND = Command(fit, (DATA, *LABELS, *OPTIONS, *TABLE), WRITES)
