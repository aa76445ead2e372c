"""Running the tables: every pending row, its trials in parallel, kept as soon as it is done."""

import os
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from joblib import Parallel, cpu_count, delayed

from cappedlda._util.progress import Progress
from cappedlda._version import __version__
from cappedlda.paper.experiments import report
from cappedlda.paper.experiments.methods import METHODS
from cappedlda.paper.experiments.protocol import run_trial
from cappedlda.paper.experiments.tables import (
    TABLES,
    case_names,
    known_cases,
    load_case,
    make_trials,
)


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
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    chosen_methods = [name for name in METHODS if methods is None or name in methods]
    complete = True
    for name in tables:
        cases = chosen_cases(TABLES[name], datasets)
        if not cases:
            continue
        run = TableRun(name, data, out, quick, n_jobs or cpu_count(), seed, verbose)
        try:
            complete &= run(cases, chosen_methods)
        except KeyboardInterrupt:
            print(
                f"cappedlda reproduce: {name}: interrupted; {out / 'rows'} has the rows that are "
                f"done, and the same command goes on from there",
                file=sys.stderr,
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


class TableRun:
    """The run of one table; see `reproduce` for the parameters."""

    def __init__(self, name, data, out, quick, n_jobs, seed, verbose):
        self.name = name
        self.table = TABLES[name]
        self.data = data
        self.out = out
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.effort = self.table.quick if quick else self.table.effort
        known = {"version": __version__, "seed": seed, "quick": quick}
        self.settings = {**known, **self.effort._asdict()}
        self.missing = {}

    def __call__(self, cases, methods):
        """Run what is pending, write the table and pictures, and return whether it is complete."""
        begin = time.perf_counter()
        wanted = [(case, method) for case in cases for method in methods]
        rows = {pair: report.read_row(self._path(*pair), self.settings) for pair in wanted}
        pending = [pair for pair in wanted if rows[pair] is None]
        self._tell_of_other_code(rows)
        progress, n_there = Progress(quiet=not self.verbose), len(wanted) - len(pending)
        if n_there:
            progress.say(f"{self.name}: {n_there} rows were there")
        for done, row in enumerate(self._run(pending), n_there + 1):
            report.write_json(self._path(row["dataset"], row["method"]), row)
            rows[row["dataset"], row["method"]] = row
            result = "failed" if row["mean"] is None else f"{row['mean']:.2f} ± {row['std']:.2f}"
            where = f"{row['dataset']}, {row['method']}"
            progress.say(f"{self.name}: {where}: {result} ({done} of {len(wanted)})")
        for reason in self.missing.values():
            print(f"cappedlda reproduce: {self.name}: {reason}", file=sys.stderr)
        found = [row for row in rows.values() if row is not None]
        summary = report.summarise(
            self.name,
            self.table,
            found,
            self.missing,
            self.settings,
            self._command(cases, methods),
            time.perf_counter() - begin,
        )
        report.write_table(self.out, summary, self.table)
        if find_spec("matplotlib"):
            from cappedlda.paper.experiments.figures import draw_table

            draw_table(summary, self.out)
        return not self.missing and all(row["mean"] is not None for row in found)

    def _tell_of_other_code(self, rows):
        others = sum(
            row is not None and row["code"] != report.code_digest() for row in rows.values()
        )
        if others:
            print(
                f"cappedlda reproduce: {self.name}: {others} rows in {self.out / 'rows'} were made "
                f"by another state of the code; delete them to run them again",
                file=sys.stderr,
            )

    def _path(self, dataset, method):
        return report.row_path(self.out, self.name, dataset, method)

    def _run(self, pairs):
        """Yield the rows of pairs of case and method, in order."""
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        outcomes = []
        for pair, is_last, outcome in jobs(
            delayed(_labelled_trial)(pair, trial, is_last, self.effort)
            for pair, trial, is_last in self._trials(pairs)
        ):
            outcomes.append(outcome)
            if is_last:
                yield report.make_row(*pair, outcomes, self.settings)
                outcomes = []

    def _trials(self, pairs):
        """Yield each trial of each pair, and whether it is its last; a data set is read once."""
        for name, group in groupby(pairs, key=lambda pair: pair[0]):
            case = known_cases(self.table)[name]
            try:
                data = load_case(case, self.data)
            except (OSError, ValueError) as error:
                self.missing[name] = str(error)
                continue
            trials = make_trials(self.table, case, data, self.effort, self.settings["seed"])
            for pair in group:
                for k, trial in enumerate(trials, 1):
                    yield pair, trial, k == len(trials)

    def _command(self, cases, methods):
        options = {
            "--data DIR": self.data is not None,
            "--quick": self.settings["quick"],
            f"--seed {self.settings['seed']}": self.settings["seed"],
            f"--datasets {' '.join(cases)}": cases != list(self.table.cases),
            f"--methods {' '.join(methods)}": methods != list(METHODS),
        }
        given = [text for text, is_given in options.items() if is_given]
        return " ".join(["cappedlda reproduce", self.name, *given])


def _labelled_trial(pair, trial, is_last, effort):
    method = METHODS[pair[1]]
    return pair, is_last, run_trial(method, trial, effort.inner_folds, effort.grid_step)
