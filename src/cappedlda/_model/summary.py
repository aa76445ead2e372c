"""What a fit has found and decided, on one page: as text, and as HTML in notebooks."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from cappedlda._model.distances import spread
from cappedlda._util.tables import table as text_table

MOST_CLASSES = 20
MOST_DIRECTIONS = 5
N_LOADINGS = 3
MOST_FEATURES = 10  # with wrong cells


@dataclass(frozen=True, repr=False)
class Summary:
    """What a fit has found and decided."""

    title: str
    classes: list[dict[str, Any]]  # name, rows, flagged, left out, and prior of each
    loadings: str  # what the loadings of the directions are
    directions: list[str]
    decisions: list[str]

    def __str__(self):
        parts = [self.title, text_table(self.classes)]
        parts += ["\n".join([f"{heading}:", *lines]) for heading, lines in self._lists()]
        return "\n\n".join(parts)

    def _lists(self):
        return [(self.loadings, self.directions), ("Decisions", self.decisions)]

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        parts = [f"<p><b>{escape(self.title)}</b></p><table>"]
        for row in [self.classes[0].keys(), *(line.values() for line in self.classes)]:
            cells = ("-" if value is None else escape(str(value)) for value in row)
            parts += ["<tr>", *(f"<td>{cell}</td>" for cell in cells), "</tr>"]
        parts.append("</table>")
        for heading, lines in self._lists():
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            parts.append(f"<p>{escape(heading)}</p><ul>{items}</ul>")
        return "".join(parts)


def summary_of(model):
    n_classes, n_features = model.means_.shape
    title = (
        f"{type(model).__name__}: {model.status_}, iterations: {model.n_iter_}; "
        f"{n_classes} classes, {n_features} features"
    )
    return Summary(title, classes_of(model), *directions_of(model), decisions_of(model))


def classes_of(model):
    counts = model._class_counts
    lines = []
    for name, found, prior in zip(model.classes_, counts, model.priors_, strict=True):
        lines.append({"class": str(name), **counted(found), "prior": f"{prior:.3f}"})
    if len(lines) > MOST_CLASSES:
        lines[MOST_CLASSES:] = [dict.fromkeys(lines[0], "...")]
    total = counted(counts.sum(axis=0))
    return [*lines, {"class": "all", **total, "prior": f"{model.priors_.sum():.3f}"}]


def counted(counts):
    """Return numbers of rows by their names; None are those that are not known."""
    names = "rows", "flagged", "left out"
    return {
        name: None if np.isnan(count) else int(count)
        for name, count in zip(names, counts.tolist(), strict=True)
    }


def loadings_of(model):
    """Return the loadings of the directions, shape (n, d), and whether they are per deviation.

    A loading says how far a row moves if a feature grows by one of its deviations within the
    classes, or by one unit where the model does not know these.
    """
    deviations = spread(model) if hasattr(model, "_flag_rule") else None
    if deviations is None and hasattr(model, "covariance_"):
        deviations = np.sqrt(np.diagonal(model.covariance_))
    if deviations is None:
        return model.scalings_, False
    return model.scalings_ * deviations[:, None], True


def unit_of_loadings(per_deviation):
    return f"per {'deviation' if per_deviation else 'unit'} of the feature"


def direction_name(k):
    return f"direction {k + 1}"


def directions_of(model):
    """Return a heading, and lines on the first directions."""
    loadings, per_deviation = loadings_of(model)
    names = feature_names(model)
    lines, shares = [], model.explained_variance_ratio_
    for k in range(min(len(shares), MOST_DIRECTIONS)):
        largest = np.argsort(-np.abs(loadings[:, k]), kind="stable")[:N_LOADINGS]
        parts = ", ".join(f"{names[j]} {loadings[j, k]:+.2f}" for j in largest)
        lines.append(f"{direction_name(k)} ({shares[k]:.1%} of the separation): {parts}")
    if len(shares) > MOST_DIRECTIONS:
        lines.append(f"and {len(shares) - MOST_DIRECTIONS} more")
    return f"Directions, with their largest loadings {unit_of_loadings(per_deviation)}", lines


def decisions_of(model):
    lines = [f"cap: epsilon_ = {model.epsilon_:.3g}"]
    if hasattr(model, "best_score_"):
        lines.append(
            f"chosen in {model.n_splits_} folds: multiplier {model.best_multiplier_:g}, "
            f"directions: {model.best_n_components_}; "
            f"accuracy {model.best_score_:.1%}"
        )
    sampled = f"a sample of {model.n_sampled_:,} rows" if model.n_sampled_ else "all rows"
    lines.append(f"started with {sampled}")
    if hasattr(model, "q"):
        lines.append(f"exponent: q = {model.q:g}")
    if hasattr(model, "shrinkage_"):
        shrunk = f"shrunk, shrinkage_ = {model.shrinkage_:.3g}"
        lines.append(f"covariance {shrunk if model.shrinkage_ else 'not shrunk'}")
    lines.append(f"left out of the fit: {left_out_rows(model)}")
    if hasattr(model, "label_status_"):
        counts = None
        if hasattr(model, "mislabelled_"):  # not known after fit_chunks
            counts = mislabelled_counts(model.mislabelled_, model.left_out_)
        told = about_labels(model.label_status_, model.label_noise_, counts)
        lines.append(f"wrong labels: {told}")
    return lines + wrong_cells_of(model)


def mislabelled_counts(mislabelled, left_out):
    return np.count_nonzero(mislabelled & left_out), np.count_nonzero(mislabelled & ~left_out)


def about_labels(status, rate, counts):
    """Return in words what was found about labels; the counts of mislabelled rows may be None."""
    share = f"about {rate:.1%} of the labels in the fit are wrong"
    told = {
        "found": share,
        "none": "none found among the rows in the fit",
        "too_few_rows": "not judged, because there are too few rows per class",
        "class_lost": "not judged, because nearly all of a class would be wrong",
    }[status]
    if counts is None or not sum(counts):
        return told
    n_rows = sum(counts)
    looks = "1 row looks mislabelled" if n_rows == 1 else f"{n_rows:,} rows look mislabelled"
    looks += f" ({counts[0]:,} left out, {counts[1]:,} in the fit)"
    return f"{looks}; {told}"


def wrong_cells_of(model):
    shares, names = model._wrong_shares, feature_names(model)
    if shares is None:
        return []
    worst = np.argsort(-shares, kind="stable")[:MOST_FEATURES]
    return [
        f"{names[j]}: {shares[j]:.1%} of the cells look wrong" for j in worst if shares[j] > 0.0
    ]


def feature_names(model):
    return getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])


def left_out_rows(model):
    if model.leave_out_level_ == np.inf:
        return "no row"
    # A class that the cap would remove has none; all others have the same ratio.
    finite = np.isfinite(model._flag_rule.caps)
    limits = model._leave_out_rule.caps[finite] / model._flag_rule.caps[finite]
    return f"rows with outlyingness above {limits.min(initial=np.inf):.3g}"
