"""The command `cappedlda`.

A subcommand is one function that takes the parsed arguments and returns the exit status. It is
listed, with its arguments, in `COMMANDS`; nothing else has to know about it.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cappedlda import __version__

DEMO_SHARE = 0.2  # of the training rows, made outliers
DEMO_FITS = 5  # fits that the time is the median of
FORMATS = {"accuracy": "{:.3f}", "ms": "{:.1f}"}


class DemoData(NamedTuple):
    """Dirty training rows, which of them are outliers, and clean test rows."""

    X: np.ndarray
    y: np.ndarray
    planted: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def demo(args):
    """Compare plain and capped LDA on data with planted outliers."""
    out = Path(args.out)
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no directory {out.parent}")
    data = demo_data(args.seed)
    models = demo_models(data)
    results = [demo_result(name, model, data) for name, model in models.items()]
    picture = None
    if find_spec("matplotlib"):
        draw_demo(models, results, data, out)
        picture = str(out)
    if args.json:
        print(json.dumps({"results": results, "picture": picture}, indent=2))
        return 0
    print(
        f"Wine data: {len(data.y)} training rows, {data.planted.sum()} of them made outliers; "
        f"{len(data.y_test)} clean test rows.\n"
    )
    print(table(results))
    if picture is None:
        print('\nNo picture: matplotlib is missing. Try: pip install "cappedlda[plot]"')
    else:
        print(f"\nPicture: {picture}")
    return 0


def demo_data(seed):
    """Return half of the wine data, with outliers planted, and the other half, clean.

    Half of the outliers are scattered far away, half lie in clouds beyond another class.
    """
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split

    from cappedlda.noise import leverage, scatter

    wine = load_wine()
    X, X_test, y, y_test = train_test_split(
        wine.data,
        wine.target_names[wine.target],
        test_size=0.5,
        stratify=wine.target,
        random_state=seed,
    )
    half = 0.5 * DEMO_SHARE
    dirty, _, planted = scatter(X, y, share=half, random_state=seed)
    rest = ~planted
    dirty[rest], _, planted[rest] = leverage(
        X[rest], y[rest], share=half / (1.0 - half), random_state=seed
    )
    return DemoData(dirty, y, planted, X_test, y_test)


def demo_models(data):
    """Return the fitted methods by name."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from cappedlda import CappedLDA

    return {
        "scikit-learn LDA": LinearDiscriminantAnalysis().fit(data.X, data.y),
        "CappedLDA": CappedLDA().fit(data.X, data.y),
    }


def demo_result(name, model, data):
    """Return what the table says about a method."""
    result = {
        "method": name,
        "accuracy": float(model.score(data.X_test, data.y_test)),
        "found": None,
        "missed": None,
        "false": None,
        "iterations": None,
        "ms": fit_milliseconds(model, data.X, data.y),
    }
    if hasattr(model, "outliers_"):
        flagged = model.outliers_
        result["found"] = int(np.sum(flagged & data.planted))
        result["missed"] = int(np.sum(~flagged & data.planted))
        result["false"] = int(np.sum(flagged & ~data.planted))
        result["iterations"] = model.n_iter_
    return result


def fit_milliseconds(model, X, y):
    """Return the median time of a fit."""
    times = []
    for _ in range(DEMO_FITS):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def draw_demo(models, results, data, out):
    """Write the picture: both projections side by side, flagged rows marked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from cappedlda.plotting import ProjectionDisplay

    flagged = models["CappedLDA"].outliers_
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(models))
    for ax, (name, model), result in zip(axes, models.items(), results, strict=True):
        ProjectionDisplay.from_estimator(
            model, data.X, data.y, flagged=flagged, ax=ax, legend=ax is axes[-1]
        )
        title = f"{name}: {result['accuracy']:.0%} right on clean test data"
        ax.set_title(title, fontsize="medium", pad=10.0)
    figure.savefig(out, dpi=120)


def info(args):
    """Tell what is installed, for reports of problems."""
    facts = collect_info()
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    blas = facts.pop("blas")
    for name, value in facts.items():
        print(f"{name:<14} {'not installed' if value is None else value}")
    for library in blas:
        print(
            f"{'blas':<14} {library['name']} {library['version']}, "
            f"{library['threads']} threads, {library['file']}"
        )
    return 0


def collect_info():
    """Return versions, usable cores, and the BLAS libraries that are loaded."""
    import scipy.linalg  # noqa: F401  (loads its BLAS)
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    names = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "cython")
    return {
        "cappedlda": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: installed_version(name) for name in names},
        "usable cores": cpu_count(),
        "blas": [
            {
                "name": library["internal_api"],
                "version": library["version"],
                "threads": library["num_threads"],
                "file": Path(library["filepath"]).name,
            }
            for library in threadpool_info()
            if library["user_api"] == "blas"
        ],
    }


def reproduce(args):
    """Run the experiments of the paper and write their tables."""
    from cappedlda.experiments import TABLES, run

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


def installed_version(package):
    """Return the version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def table(results):
    """Return dictionaries with equal keys as an aligned table."""
    header = list(results[0])
    rows = [header] + [[cell(name, result[name]) for name in header] for result in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    )


def cell(name, value):
    """Return a value as it stands in a table."""
    return "-" if value is None else FORMATS.get(name, "{}").format(value)


class Command(NamedTuple):
    """A subcommand: what runs it, and its arguments as `add_argument` takes them."""

    run: Callable
    arguments: tuple


def argument(*names, **options):
    """Return an argument for `Command`."""
    return names, options


def natural(text):
    """Parse an integer that is not negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of 0 or more")
    return int(text)


def positive(text):
    """Parse an integer above 0."""
    if natural(text) == 0:
        raise argparse.ArgumentTypeError("0 is not an integer of 1 or more")
    return int(text)


def one_of(kind, known_names):
    """Return a parser of names that lists the known ones when it meets another.

    `known_names` is a function, so that what it needs is imported only when it is called.
    """

    def parse(text):
        from cappedlda.experiments.run import check_names

        try:
            check_names(kind, [text], known_names())
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return parse


def table_names():
    """Return what `reproduce` can make."""
    from cappedlda.experiments import TABLES

    return [*TABLES, "all"]


def case_names():
    """Return the data sets of all tables."""
    from cappedlda.experiments import tables

    return tables.case_names()


def method_names():
    """Return the methods of the tables."""
    from cappedlda.experiments import METHODS

    return METHODS


JSON = argument("--json", action="store_true", help="print JSON, for machines")

COMMANDS = {
    "demo": Command(
        demo,
        (
            argument("--out", default="demo.png", help="picture to write (default: %(default)s)"),
            argument("--seed", type=natural, default=0, help="of the split and the outliers"),
            JSON,
        ),
    ),
    "info": Command(info, (JSON,)),
    "reproduce": Command(
        reproduce,
        (
            argument(
                "table",
                type=one_of("table", table_names),
                help="artificial, uci, uci-noise, coil100, usps or all",
            ),
            argument(
                "--data",
                metavar="DIR",
                help="folder of .npz files (default: the environment variable CAPPEDLDA_DATA, "
                "else what can be made or fetched from OpenML)",
            ),
            argument(
                "--out", metavar="DIR", default="results", help="results (default: %(default)s)"
            ),
            argument("--quick", action="store_true", help="few folds and rows, thin grids"),
            argument("--n-jobs", type=positive, metavar="K", help="processes (default: all cores)"),
            argument(
                "--datasets",
                nargs="+",
                metavar="NAME",
                type=one_of("data set", case_names),
                help="only these data sets",
            ),
            argument(
                "--methods",
                nargs="+",
                metavar="NAME",
                type=one_of("method", method_names),
                help="only these methods",
            ),
            argument("--seed", type=natural, default=0, help="of folds, draws and noise"),
        ),
    ),
}


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="cappedlda", description="Robust linear discriminant analysis."
    )
    top.add_argument("--version", action="version", version=f"cappedlda {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for name, command in COMMANDS.items():
        summary = command.run.__doc__.splitlines()[0]
        sub = commands.add_parser(name, help=summary, description=summary)
        for names, options in command.arguments:
            sub.add_argument(*names, **options)
    return top


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        The arguments; None takes those of the process.

    Returns
    -------
    status : int
        0 if all is well, 1 after an error. Wrong usage exits with 2.
    """
    args = parser().parse_args(argv)
    try:
        return COMMANDS[args.command].run(args)
    except (ValueError, OSError) as error:
        print(f"cappedlda {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
