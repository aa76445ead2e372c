"""The pictures of a report, as PNG in data URIs."""

import base64
import io
from functools import partial

import numpy as np

from cappedlda._model.summary import direction_name

SIZE = (5.6, 4.0)  # inches: the text stays readable on a phone
DPI = 180
MOST_DIRECTIONS = 2  # with a picture of their loadings
LONGEST = 22  # name of a class or a feature, in characters
PROJECTION = (
    "Rows in the first discriminant directions. Flagged rows are ringed; those outside the view "
    "are triangles on its frame. Crosses mark rows left out of the fit, unless these are exactly "
    "the flagged ones. The background shows the predicted class. Wrong cells are replaced by the "
    "values that the other cells predict, so a row with a typo may appear inside its class."
)
DISTANCES = (
    "Distance of each row from the centre of its class, divided by the largest distance that is "
    "not flagged: in the discriminant space (epsilon = {:.3g}) or in all features together, "
    "whichever is larger. Above 1 a row is flagged."
)
LOADINGS = (
    "Which features separate the classes: how far a row moves in {} if a feature grows by one "
    "robust deviation within the classes."
)


def draw_pictures(model, survey, names):
    from cappedlda.plotting import DistanceDisplay, LoadingsDisplay, ProjectionDisplay

    X, y = survey.X, survey.y
    flagged = model.outlyingness(X, y) > 1.0
    marks = {"left_out": None if np.array_equal(survey.left_out, flagged) else survey.left_out}

    def projection(ax):
        display = ProjectionDisplay.from_estimator(model, X, y, ax=ax, **marks)
        plain_names(display, model.classes_)

    def distances(ax):
        DistanceDisplay.from_estimator(model, X, y, ax=ax, **marks)
        if len(y) < survey.n_rows:
            ax.set_xlabel("row of the sample")

    def loadings(ax, component):
        shown = [plain(name) for name in names]
        LoadingsDisplay.from_estimator(model, component=component, feature_names=shown, ax=ax)

    drawn = {PROJECTION: projection}
    if not np.isinf(model.caps_).all():
        drawn[DISTANCES.format(model.epsilon_)] = distances
    for k in range(min(MOST_DIRECTIONS, model.scalings_.shape[1])):
        drawn[LOADINGS.format(direction_name(k))] = partial(loadings, component=k)
    return [{"caption": text, "source": picture(draw)} for text, draw in drawn.items()]


def picture(draw):
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained", facecolor="white")
    draw(figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def plain_names(display, classes):
    """Write the names of classes so that they leave room and start no formula."""
    from matplotlib.text import Text

    short = {str(name): plain(name) for name in classes}
    if display.Z.shape[1] == 1:
        display.ax_.set_yticks(range(len(classes)), list(short.values()))
    for text in display.figure_.findobj(Text):
        if text.get_text() in short:
            text.set_text(short[text.get_text()])


def plain(name):
    """Return a name that is not too long, in which no dollar starts a formula."""
    name = str(name)
    name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return name.replace("$", r"\$")
