"""`cappedlda reproduce`: the experiments of the paper."""

import argparse
import sys
from pathlib import Path

from cappedlda._cli.arguments import Command, argument, natural, positive


def reproduce(args):
    """Run the experiments of the paper and write their tables."""
    from cappedlda.paper.experiments import TABLES, run

    tables = list(TABLES) if args.table == "all" else [args.table]
    tables = [name for name in tables if run.chosen_cases(TABLES[name], args.datasets)]
    if not tables:
        known = ", ".join(run.known_cases(TABLES[args.table]))
        print(f"cappedlda reproduce: {args.table} has only {known}", file=sys.stderr)
        return 2
    complete = run.reproduce(
        tables,
        data=args.data,
        out=args.out,
        quick=args.quick,
        n_jobs=args.n_jobs,
        datasets=args.datasets,
        methods=args.methods,
        seed=args.seed,
    )
    print(f"Tables: {', '.join(str(Path(args.out) / f'{name}.md') for name in tables)}")
    return 0 if complete else 1


def one_of(kind, known_names):
    """Return a parser of names that lists the known ones when it meets another.

    `known_names` is a function, so that what it needs is imported only when it is called.
    """

    def parse(text):
        from cappedlda.paper.experiments.run import check_names

        try:
            check_names(kind, [text], known_names())
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return parse


def table_names():
    """Return what `reproduce` can make."""
    from cappedlda.paper.experiments import TABLES

    return [*TABLES, "all"]


def case_names():
    """Return the data sets of all tables."""
    from cappedlda.paper.experiments import tables

    return tables.case_names()


def method_names():
    """Return the methods of the tables."""
    from cappedlda.paper.experiments import METHODS

    return METHODS


COMMAND = Command(
    reproduce,
    (
        argument(
            "TABLE",
            "table to reproduce: artificial, uci, uci-noise, coil100, usps or all",
            type=one_of("table", table_names),
        ),
        argument(
            "--data DIR",
            "folder with the data as .npz files (default: the environment variable "
            "CAPPEDLDA_DATA, else what can be made or fetched from OpenML)",
        ),
        argument("--out DIR", "folder of the results (default: %(default)s)", default="results"),
        argument("--quick", "use few folds and rows, and coarse grids"),
        argument("--n-jobs K", "number of processes (default: all cores)", type=positive),
        argument(
            "--datasets NAME",
            "run only these data sets",
            nargs="+",
            type=one_of("data set", case_names),
        ),
        argument(
            "--methods NAME",
            "run only these methods",
            nargs="+",
            type=one_of("method", method_names),
        ),
        argument(
            "--seed N",
            "random seed of folds, draws and noise (default: 0)",
            type=natural,
            default=0,
        ),
    ),
)
