"""The pictures of a report, as PNG in data URIs."""

import base64
import io

import numpy as np

SIZE = (5.6, 4.0)  # inches: the text stays readable on a phone
DPI = 180
LONGEST = 22  # name of a class, in characters


def projection(model, X, y, left_out):
    """Return the picture of the rows in the first two directions."""
    from cappedlda.plotting import ProjectionDisplay

    def draw(ax):
        display = ProjectionDisplay.from_estimator(model, X, y, left_out=left_out, ax=ax)
        plain_names(display, model.classes_)

    return picture(draw)


def distances(model, X, y, left_out, n_rows):
    """Return the picture of the distances against epsilon; None without a cap."""
    from cappedlda.plotting import DistanceDisplay

    if np.isinf(model.caps_).all():
        return None

    def draw(ax):
        DistanceDisplay.from_estimator(model, X, y, left_out=left_out, ax=ax)
        if len(y) < n_rows:
            ax.set_xlabel("row of the sample")

    return picture(draw)


def picture(draw):
    """Return what a function draws into axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def plain_names(display, classes):
    """Cut long names of classes, which would leave no room, and let no dollar start a formula."""
    from matplotlib.text import Text

    short = {str(name): cut(str(name)).replace("$", r"\$") for name in classes}
    if display.Z.shape[1] == 1:
        display.ax_.set_yticks(range(len(classes)), list(short.values()))
    for text in display.figure_.findobj(Text):
        if text.get_text() in short:
            text.set_text(short[text.get_text()])


def cut(name):
    """Return a name that is not too long."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
