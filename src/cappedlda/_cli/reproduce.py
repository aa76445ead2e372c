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


def one_of(kind):
    """Return a parser of names that lists the known ones when it meets another."""

    def parse(text):
        from cappedlda.paper.experiments import METHODS, TABLES, run, tables

        known = {"table": [*TABLES, "all"], "data set": tables.case_names(), "method": METHODS}
        try:
            run.check_names(kind, [text], known[kind])
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return parse


TABLE = "table to reproduce: artificial, uci, uci-noise, coil100, usps or all"
DATA = (
    "folder with the data as .npz files (default: the environment variable CAPPEDLDA_DATA, else "
    "what can be made or fetched from OpenML)"
)
OUT = "folder of the results (default: %(default)s)"
SEED = "random seed of folds, draws and noise (default: 0)"
COMMAND = Command(
    reproduce,
    (
        argument("TABLE", TABLE, type=one_of("table")),
        argument("--data DIR", DATA),
        argument("--out DIR", OUT, default="results"),
        argument("--quick", "use few folds and rows, and coarse grids"),
        argument("--n-jobs K", "number of processes (default: all cores)", type=positive),
        argument("--datasets NAME", "run only these data sets", nargs="+", type=one_of("data set")),
        argument("--methods NAME", "run only these methods", nargs="+", type=one_of("method")),
        argument("--seed N", SEED, type=natural, default=0),
    ),
)
