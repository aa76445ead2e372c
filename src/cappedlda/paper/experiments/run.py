"""Running the tables: trials in parallel, every row kept as soon as it is done."""

import os
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby, islice, product
from pathlib import Path

from joblib import Parallel, cpu_count, delayed

from cappedlda._util.progress import Progress
from cappedlda._version import __version__
from cappedlda.paper.datasets import load_dataset
from cappedlda.paper.experiments import report
from cappedlda.paper.experiments.methods import METHODS
from cappedlda.paper.experiments.protocol import run_trial
from cappedlda.paper.experiments.tables import TABLES, case_names, known_cases, make_trials


def reproduce(
    tables: Sequence[str],
    *,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] = "results",
    quick: bool = False,
    n_jobs: int | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seed: int = 0,
    verbose: bool = True,
) -> bool:
    """Run tables of the paper and write them to a folder.

    Each row is kept in the folder as soon as it is done, and is not run again with the same
    settings. Data sets that cannot be read are named, and the others are run.

    Parameters
    ----------
    tables : list of str
        Keys of `TABLES`.
    data : str or path, default=None
        Folder of .npz files; None as in `cappedlda.paper.datasets.load_dataset`.
    out : str or path, default="results"
        Gets <table>.json, <table>.md, the pictures if matplotlib is there, and the folder rows.
    quick : bool, default=False
        Few folds and rows and thin grids, to see that all works.
    n_jobs : int, default=None
        Processes; None takes as many as the process may use.
    datasets, methods : list of str, default=None
        Only these; None takes all of each table.
    seed : int, default=0
    verbose : bool, default=True
        Tell the progress on the standard error stream.

    Returns
    -------
    complete : bool
        Whether every data set could be read and every row has a result.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cappedlda.paper.experiments import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     reproduce(["artificial"], out=folder, quick=True, methods=["LDA"], verbose=False)
    True
    """
    check_names("table", tables, TABLES)
    check_names("data set", datasets or [], case_names())
    check_names("method", methods or [], METHODS)
    out, progress = Path(out), Progress(quiet=not verbose)
    chosen_methods = [name for name in METHODS if methods is None or name in methods]
    complete = True
    for name in tables:
        cases = chosen_cases(TABLES[name], datasets)
        if not cases:
            continue
        settings = {"version": __version__, "seed": seed, "quick": quick}
        try:
            complete &= _run_table(
                name, cases, chosen_methods, data, out, settings, n_jobs or cpu_count(), progress
            )
        except KeyboardInterrupt:
            _tell(
                f"{name}: interrupted; {out / 'rows'} has the rows that are done, and the same "
                "command goes on from there"
            )
            raise
    return complete


def check_names(kind, names, known):
    """Raise a ValueError that lists the known names if one is unknown."""
    for name in names:
        if name not in known:
            raise ValueError(f"the {kind} {name!r} is unknown; known are {', '.join(known)}")


def chosen_cases(table, datasets):
    """Return the names of the cases of a table to run."""
    if datasets is None:
        return list(table.cases)
    return [name for name in known_cases(table) if name in datasets]


def _run_table(name, cases, methods, data, out, settings, n_jobs, progress):
    """Run what is pending, write the table and pictures, and return whether it is complete."""
    begin, table = time.perf_counter(), TABLES[name]
    effort = table.quick if settings["quick"] else table.effort
    settings = {**settings, **effort._asdict()}
    wanted = list(product(cases, methods))
    rows = {pair: report.read_row(report.row_path(out, name, *pair), settings) for pair in wanted}
    pending = [pair for pair in wanted if rows[pair] is None]
    done = len(wanted) - len(pending)
    others = sum(row is not None and row["code"] != report.code_digest() for row in rows.values())
    if others:
        _tell(
            f"{name}: {others} rows in {out / 'rows'} were made by another state of the code; "
            "delete them to run them again"
        )
    if done:
        progress.say(f"{name}: {done} rows were there")
    missing = {}
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run_labelled)(pair, trial, effort)
        for pair, trial in _trials(table, pending, data, effort, settings["seed"], missing)
    )
    while trials := list(islice(outcomes, effort.trials)):
        pair = trials[0][0]
        row = report.make_row(*pair, [outcome for _, outcome in trials], settings)
        report.write_json(report.row_path(out, name, *pair), row)
        rows[pair] = row
        done += 1
        result = "failed" if row["mean"] is None else f"{row['mean']:.2f} ± {row['std']:.2f}"
        progress.say(f"{name}: {', '.join(pair)}: {result} ({done} of {len(wanted)})")
    for reason in missing.values():
        _tell(f"{name}: {reason}")
    found = [row for row in rows.values() if row is not None]
    command = _command(name, cases, methods, data, settings)
    seconds = time.perf_counter() - begin
    summary = report.summarise(name, found, missing, settings, command, seconds)
    report.write_table(out, summary)
    if find_spec("matplotlib"):
        from cappedlda.paper.experiments.figures import draw_table

        draw_table(summary, out)
    return not missing and all(row["mean"] is not None for row in found)


def _tell(text):
    print(f"cappedlda reproduce: {text}", file=sys.stderr)


def _trials(table, pairs, data, effort, seed, missing):
    """Yield each pair with each of its trials; a data set is read once, or noted as missing."""
    for name, group in groupby(pairs, key=lambda pair: pair[0]):
        case = known_cases(table)[name]
        try:
            rows = None if case.source is None else load_dataset(case.source, data_home=data)
        except (OSError, ValueError) as error:
            missing[name] = str(error)
        else:
            yield from product(group, make_trials(table, case, rows, effort, seed))


def _run_labelled(pair, trial, effort):
    return pair, run_trial(METHODS[pair[1]], trial, effort.inner_folds, effort.grid_step)


def _command(name, cases, methods, data, settings):
    options = {
        "--data DIR": data is not None,
        "--quick": settings["quick"],
        f"--seed {settings['seed']}": settings["seed"],
        f"--datasets {' '.join(cases)}": cases != list(TABLES[name].cases),
        f"--methods {' '.join(methods)}": methods != list(METHODS),
    }
    given = [text for text, is_given in options.items() if is_given]
    return " ".join(["cappedlda reproduce", name, *given])
