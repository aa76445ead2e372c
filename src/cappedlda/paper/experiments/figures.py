"""Pictures of the tables."""

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from cappedlda.paper.datasets import make_artificial
from cappedlda.paper.experiments.methods import METHODS
from cappedlda.paper.experiments.tables import TABLES
from cappedlda.plotting._common import class_colors

STYLES = ("-", "--", ":", "-.")
SAMPLES = 8  # images per row of a picture of noise
JITTER = 0.4  # height of the strip that one class takes in a projection


def draw_table(summary, out):
    """Write the pictures that go with a table."""
    if not summary["rows"]:
        return
    if summary["table"] == "artificial":
        draw_artificial(summary, out)
    if summary["table"] in ("coil100", "usps"):
        draw_dimensions(summary, out / f"{summary['table']}-dimensions.png")
        draw_digits_noise(summary, out / f"{summary['table']}-digits.png")


def draw_artificial(summary, out):
    """Draw the first artificial set with the directions, and the projections of its test part."""
    data = make_artificial(random_state=summary["seed"])
    models = {
        row["method"]: _one_direction(row, data)
        for row in summary["rows"]
        if row["dataset"] == "artificial" and row["mean_angle"] is not None
    }
    if not models:
        return
    _draw_directions(data, models, out / "artificial-directions.png")
    _draw_projections(data, models, out / "artificial-projections.png")


def _one_direction(row, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return METHODS[row["method"]].fit(data.X_train, data.y_train, **row["params"][0])


def _draw_directions(data, models, path):
    figure, axes = _figure(1, 2, (10.0, 4.4))
    parts = {"Training data": data[:2], "Test data": data[2:4]}
    for ax, (title, (X, y)) in zip(axes.flat, parts.items(), strict=True):
        ax.scatter(*X.T, s=8.0, c=class_colors(2)[y], alpha=0.6)
        centre = data.X_test.mean(axis=0)
        for i, (name, model) in enumerate(models.items()):
            w = model.scalings_[:, 0] / np.linalg.norm(model.scalings_[:, 0])
            color, style = class_colors(8)[i % 8], STYLES[(i + i // 8) % len(STYLES)]
            ax.axline(centre, centre + w, color=color, linestyle=style, lw=1.3, label=name)
        ax.set(title=title, aspect="equal", xlim=(-6.0, 11.5), ylim=(-6.5, 6.5))
    axes.flat[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    figure.savefig(path, dpi=120)


def _draw_projections(data, models, path):
    n_columns = min(4, len(models))
    n_rows = -(-len(models) // n_columns)
    figure, axes = _figure(n_rows, n_columns, (2.8 * n_columns, 1.7 * n_rows))
    heights = np.random.default_rng(0).uniform(-JITTER, JITTER, len(data.y_test)) + data.y_test
    for ax in axes.flat[len(models) :]:
        ax.set_axis_off()
    for ax, (name, model) in zip(axes.flat, models.items(), strict=False):
        z = model.transform(data.X_test)[:, 0]
        ax.scatter(z, heights, s=5.0, c=class_colors(2)[data.y_test])
        ax.set_title(name, fontsize="medium")
        ax.set_yticks([])
    figure.savefig(path, dpi=120)


def draw_dimensions(summary, path):
    """Draw the mean accuracy on test data over the dimension, one panel per case."""
    cases = list(dict.fromkeys(row["dataset"] for row in summary["rows"]))
    methods = list(dict.fromkeys(row["method"] for row in summary["rows"]))
    figure, axes = _figure(1, len(cases), (4.2 * len(cases) + 1.2, 3.8))
    for ax, case in zip(axes.flat, cases, strict=True):
        for row in summary["rows"]:
            if row["dataset"] != case:
                continue
            i, values = methods.index(row["method"]), list(row["by_dimension"].values())
            look = {"color": class_colors(8)[i % 8], "label": row["method"]}
            if len(values) == 1:
                ax.axhline(values[0], linestyle=":", **look)
            else:
                dimensions = [int(d) for d in row["by_dimension"]]
                ax.plot(dimensions, values, marker=".", linestyle=STYLES[i // 8], **look)
        ax.set(title=case, xlabel="dimension", xscale="log")
    axes.flat[0].set_ylabel("right on test data, %")
    axes.flat[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    figure.savefig(path, dpi=120)


def draw_digits_noise(summary, path):
    """Draw the first of each of scikit-learn's digits, a line of pictures per noise.

    COIL100 and USPS have the same noise, but not everyone may show them.
    """
    digits = load_digits()
    rows = np.unique(digits.target, return_index=True)[1][:SAMPLES]
    images, labels = digits.data[rows] / digits.data.max(), digits.target[rows]
    cases = TABLES[summary["table"]].cases
    figure, axes = _figure(len(cases), len(rows), (0.9 * len(rows), 1.05 * len(cases)))
    for line, (title, case) in zip(axes, cases.items(), strict=True):
        spoilt = images
        if case.noise is not None:
            spoilt = case.noise(images, labels, shape=(8, 8), random_state=summary["seed"])[0]
        for ax, image in zip(line, spoilt, strict=True):
            ax.imshow(image.reshape(8, 8), cmap="gray", vmin=0.0, vmax=1.0)
            ax.set_axis_off()
        line[0].set_title(title, fontsize="small", loc="left")
    figure.savefig(path, dpi=120)


def _figure(n_rows, n_columns, size):
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)
