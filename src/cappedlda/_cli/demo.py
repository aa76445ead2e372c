"""`cappedlda demo`: plain and capped LDA on dirty data."""

import json
from importlib.util import find_spec
from pathlib import Path
from timeit import timeit
from types import SimpleNamespace

import numpy as np

from cappedlda._cli.arguments import JSON, Command, argument, natural
from cappedlda._cli.tables import needs
from cappedlda._cli.writing import write_table
from cappedlda._util.files import replacing
from cappedlda._util.tables import table

DEMO_SHARE = 0.2  # of the training rows, made outliers
DEMO_FITS = 5  # fits that the time is the median of
N_ROWS = 1200  # of customers
UNKNOWN_AMOUNT, UNKNOWN_CALLS = 9_999_999.0, 999  # somebody's codes for "unknown"


def demo(args):
    """Compare plain and capped LDA on data with planted outliers."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from cappedlda import CappedLDA

    if args.customers is not None:
        write_customers(args.customers, args.seed)
        return
    data = demo_data(args.seed)
    if args.csv is not None:
        write_rows(args.csv, data)
    models = {
        "scikit-learn LDA": LinearDiscriminantAnalysis().fit(data.X, data.y),
        "CappedLDA": CappedLDA().fit(data.X, data.y),
    }
    results = [demo_result(name, model, data) for name, model in models.items()]
    picture = args.out if find_spec("matplotlib") else None
    if picture is not None:
        draw_demo(models, results, data, Path(picture))
    if args.json:
        print(json.dumps({"results": results, "picture": picture}, indent=2))
        return
    print(
        f"Wine data: {len(data.y)} training rows, {data.planted.sum()} of them made outliers; "
        f"{len(data.y_test)} clean test rows.\n\n{table(results)}\n"
    )
    if args.csv is not None:
        print(f"Training rows: {args.csv}")
    missing = 'No picture: matplotlib is missing. Try: pip install "cappedlda[plot]"'
    print(missing if picture is None else f"Picture: {picture}")


def demo_data(seed):
    """Return half of the wine data with outliers, scattered or in clouds, and half without."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split

    from cappedlda.noise import leverage, scatter

    wine = load_wine()
    labels = wine.target_names[wine.target]
    X, X_test, y, y_test = train_test_split(
        wine.data, labels, test_size=0.5, stratify=labels, random_state=seed
    )
    half = 0.5 * DEMO_SHARE
    dirty, _, planted = scatter(X, y, share=half, random_state=seed)
    rest = ~planted
    dirty[rest], _, planted[rest] = leverage(
        X[rest], y[rest], share=half / (1.0 - half), random_state=seed
    )
    return SimpleNamespace(X=dirty, y=y, planted=planted, X_test=X_test, y_test=y_test)


def write_rows(path, data):
    from sklearn.datasets import load_wine

    needs("pandas", "Writing rows")
    from pandas import DataFrame

    rows = DataFrame(data.X, columns=load_wine().feature_names).assign(cultivar=data.y)
    write_table([rows], path, as_json=False)


def write_customers(path, seed):
    needs("pandas", "Writing rows")
    with replacing(path) as temporary:
        customers(seed).to_csv(temporary, sep=";", index=False, lineterminator="\n")
    print(f"Customers who left or stayed: {path}\nTry: cappedlda fit {path} --target status")


def customers(seed):
    """Return a business table: categories, gaps, dates, an id, skewed amounts, errors.

    One row in a hundred has an impossible amount or number of calls. Numbers are written with
    decimal commas, and points between thousands.
    """
    from pandas import DataFrame, to_datetime

    rng = np.random.default_rng(seed)
    left = rng.random(N_ROWS) < 0.35
    plan = rng.choice(["basic", "plus", "pro"], N_ROWS, p=[0.5, 0.3, 0.2])
    days = rng.integers(0, 1500, N_ROWS)
    revenue = np.exp(rng.normal(np.where(left, 6.6, 7.3), 0.45))
    calls = rng.poisson(np.where(left, 7, 3))
    wrong = rng.permutation(N_ROWS)[: N_ROWS // 100]
    revenue[wrong[::2]] = UNKNOWN_AMOUNT
    calls[wrong[1::2]] = UNKNOWN_CALLS
    columns = {
        "customer": np.array([f"K{10_000 + i}" for i in range(N_ROWS)]),
        "plan": with_gaps(rng, np.where(left & (plan == "pro"), "basic", plan), 0.03),
        "region": rng.choice(["North", "South", "East", "West"], N_ROWS, p=[0.4, 0.3, 0.2, 0.1]),
        "since": to_datetime(np.datetime64("2021-01-01") + days).strftime("%d.%m.%Y"),
        "age": with_gaps(rng, rng.normal(np.where(left, 41, 49), 9).astype(int), 0.05),
        "revenue": [german_number(amount) for amount in revenue],
        "calls": calls,
        "vip": np.where(rng.random(N_ROWS) < 0.02, "yes", "no"),
        "status": np.where(left, "left", "stayed"),
    }
    return DataFrame(columns)


def with_gaps(rng, values, share):
    """Return values as text, some of them empty."""
    return np.where(rng.random(len(values)) < share, "", values.astype(str))


def german_number(value):
    """Return 1234.5 as 1.234,50."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def demo_result(name, model, data):
    counts = dict.fromkeys(["found", "missed", "false", "iterations"])
    if hasattr(model, "outliers_"):
        flagged, planted = model.outliers_, data.planted
        counts = {
            "found": int((flagged & planted).sum()),
            "missed": int((~flagged & planted).sum()),
            "false": int((flagged & ~planted).sum()),
            "iterations": model.n_iter_,
        }
    score = float(model.score(data.X_test, data.y_test))
    times = [timeit(lambda: model.fit(data.X, data.y), number=1) for _ in range(DEMO_FITS)]
    return {"method": name, "accuracy": score, **counts, "ms": 1e3 * float(np.median(times))}


def draw_demo(models, results, data, out):
    from matplotlib.figure import Figure

    from cappedlda.plotting import ProjectionDisplay

    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)  # room for marks on the frames
    axes = figure.subplots(1, len(models))
    for ax, (name, model), result in zip(axes, models.items(), results, strict=True):
        marks = {"flagged": data.planted, "left_out": None, "flag_name": "planted"}
        legend = ax is axes[-1]
        ProjectionDisplay.from_estimator(model, data.X, data.y, ax=ax, legend=legend, **marks)
        title = f"{name}: {result['accuracy']:.0%} right on clean test data"
        ax.set_title(title, fontsize="medium", pad=10.0)
    with replacing(out) as temporary:
        figure.savefig(temporary, dpi=120, format=out.suffix.removeprefix(".") or "png")


CUSTOMERS = "only write a business table with gaps, dates and errors to this .csv file"
SEED = "random seed of the split and the outliers (default: 0)"
ARGUMENTS = (
    argument("--out FILE", "write the picture here (default: %(default)s)", default="demo.png"),
    argument("--csv FILE", "write the dirty rows here, to try other commands on"),
    argument("--customers FILE", CUSTOMERS),
    argument("--seed N", SEED, type=natural, default=0),
    JSON,
)
COMMAND = Command(demo, ARGUMENTS, {"out": None, "csv": (".csv",), "customers": (".csv",)})
