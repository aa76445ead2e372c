"""Where marks and names go so that they do not hide each other."""

import numpy as np
from sklearn.isotonic import isotonic_regression

MARK = 0.04  # room for a mark on a frame whose sides are 2
LETTER = (0.62, 1.25)  # width and height of a letter, in font sizes
FONT_SIZE = 8.5  # points
DOT = 6.0  # points that a mark takes, which names should not hide
ROOM = 1.2  # a legend may still make the axes smaller
RINGS = 24  # of places that are tried around a point
TURNS = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)


# The frame as a line of length 8, from the lower left corner around: each side has 2.


def on_frame(points, low, high):
    """Return where rows outside the view are marked: on its frame, moved apart."""
    if not len(points):
        return points
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    return middle + half * _around(_spread(_side(points, middle, half)))


def _side(points, middle, half):
    """Return where on the frame the lines from its middle to points cross it."""
    # Rows may be projected to infinity, or nearly so.
    u, v = np.clip((points - middle) / half, -1e6, 1e6).T
    u, v = np.array([u, v]) / np.maximum(np.abs(u), np.abs(v))
    return np.select([v == -1.0, u == 1.0, v == 1.0], [u + 1.0, v + 3.0, 5.0 - u], 7.0 - v)


def _spread(places):
    """Move places on the frame apart, as little as possible, so that marks can be told apart."""
    gap = min(MARK, 8.0 / len(places))
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = isotonic_regression(places[order] - steps) + steps
    return moved % 8.0


def _around(places):
    """Return points on the frame of the square from -1 to 1."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    return np.column_stack([np.interp(places, [0, 2, 4, 6, 8], line) for line in corners.T])


def _points(ax, length):
    """Return a length in points as shares of the width and the height of the axes."""
    return ROOM * length / 72.0 / (ax.figure.get_size_inches() * ax.get_position().size)


def _candidates(point, size, nearest):
    """Return places in rings around the point, the nearest first."""
    width, height = size
    beside = 0.5 * width if nearest else 0.0  # names that must not hide their point
    turns = np.column_stack([np.cos(TURNS), np.sin(TURNS)])
    rings = [
        point + turns * [beside + radius * height, radius * height]
        for radius in nearest + 0.3 * np.arange(RINGS)
    ]
    return np.vstack(rings)


def _hidden(tried, size, placed):
    """Return for each place the area that a name there shares with those that are placed."""
    if not placed:
        return np.zeros(len(tried))
    places, sizes = np.swapaxes(placed, 0, 1)
    room = 0.5 * (size + sizes) - np.abs(tried[:, None] - places)
    return np.maximum(room, 0.0).prod(axis=2).sum(axis=1)


def write_names(ax, names, points, taken, nearest=0.0, weight="normal"):
    """Write names at points, or near by with a thin line to the point.

    The limits and scales of the axes must be set already. `taken` has places and sizes of what is
    there, as shares of the axes, and gets those of the names.
    """
    to_shares = ax.transData + ax.transAxes.inverted()
    shares = to_shares.transform(np.reshape(points, (-1, 2)))
    if nearest:  # names must not hide any point
        taken += [(share, _points(ax, DOT)) for share in shares]
    texts = []
    for name, point, share in zip(names, points, shares, strict=True):
        size = np.array([max(len(name), 1), 1.0]) * LETTER * _points(ax, FONT_SIZE)
        tried = np.clip(_candidates(share, size, nearest), 0.5 * size, 1.0 - 0.5 * size)
        place = tried[np.argmin(_hidden(tried, size, taken))]
        taken.append((place, size))
        texts.append(_write(ax, name, point, to_shares.inverted().transform(place), weight))
    return texts


def _write(ax, name, point, place, weight):
    from matplotlib import patheffects

    line = {"arrowstyle": "-", "lw": 0.6, "color": "black", "shrinkA": 0.0, "shrinkB": 1.0}
    text = ax.annotate(
        name.replace("$", r"\$"),  # no formula
        xy=point,
        xytext=place,
        ha="center",
        va="center",
        fontsize=FONT_SIZE,
        fontweight=weight,
        annotation_clip=False,
        arrowprops=None if np.allclose(point, place) else line,
        zorder=5,
    )
    text.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])
    return text
