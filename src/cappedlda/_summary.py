"""What a fit has found and decided, on one page: as text, and as HTML in notebooks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cappedlda._markup import join, tag
from cappedlda._markup import table as html_table
from cappedlda._tables import table as text_table

MOST_CLASSES = 20
MOST_DIRECTIONS = 5
N_LOADINGS = 3


@dataclass(frozen=True, repr=False)
class Summary:
    """What a fit has found and decided.

    Attributes
    ----------
    title : str
    classes : list of dict
        A line for each class: its name, and what is known of rows, flagged rows, rows left out.
    directions : list of str
        A line for each direction: its share of the between-class variance, its largest loadings.
    decisions : list of str
    """

    title: str
    classes: list[dict[str, Any]]
    directions: list[str]
    decisions: list[str]

    def __str__(self):
        parts = [self.title, text_table(self.classes)]
        parts += ["\n".join(lines) for lines in (self.directions, self.decisions)]
        return "\n\n".join(parts)

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        header = list(self.classes[0])
        rows = [["-" if value is None else value for value in row.values()] for row in self.classes]
        return join(
            [
                tag("p", tag("b", self.title)),
                html_table(header, rows, numbers=range(1, len(header))),
                *(
                    tag("ul", [tag("li", line) for line in lines])
                    for lines in (self.directions, self.decisions)
                ),
            ]
        )


def summary_of(model):
    """Return the `Summary` of a fitted `CappedLDA` or `CappedLDACV`."""
    return Summary(title_of(model), classes_of(model), directions_of(model), decisions_of(model))


def title_of(model):
    """Return one line: what it is, and how it ended."""
    n_classes, n_features = model.means_.shape
    return (
        f"{type(model).__name__}: {model.status_}, iterations: {model.n_iter_}; "
        f"{n_classes} classes, {n_features} features"
    )


def classes_of(model):
    """Return a line for each class, and one for all together."""
    counts = getattr(model, "_class_counts", None)
    lines = []
    for code, (name, prior) in enumerate(zip(model.classes_, model.priors_, strict=True)):
        found = {} if counts is None else counted(counts[code])
        lines.append({"class": str(name), **found, "prior": f"{prior:.3f}"})
    if len(lines) > MOST_CLASSES:
        lines[MOST_CLASSES:] = [dict.fromkeys(lines[0], "...")]
    found = {} if counts is None else counted(counts.sum(axis=0))
    return [*lines, {"class": "all", **found, "prior": f"{model.priors_.sum():.3f}"}]


def counted(counts):
    """Return numbers of rows by their names; None are those that are not known."""
    names = "rows", "flagged", "left out"
    return {
        name: None if np.isnan(count) else int(count)
        for name, count in zip(names, counts.tolist(), strict=True)
    }


def directions_of(model):
    """Return a line for each of the first directions, with its largest loadings."""
    spread = model._spread
    unit = "unit" if spread is None else "deviation"
    loadings = model.scalings_ if spread is None else model.scalings_ * spread[:, None]
    numbers = [f"feature {j}" for j in range(model.n_features_in_)]
    features = getattr(model, "feature_names_in_", numbers)
    lines = [f"Directions, with their largest loadings per {unit} of the feature:"]
    names, shares = model.get_feature_names_out(), model.explained_variance_ratio_
    for k in range(min(len(names), MOST_DIRECTIONS)):
        largest = np.argsort(-np.abs(loadings[:, k]), kind="stable")[:N_LOADINGS]
        parts = ", ".join(f"{features[j]} {loadings[j, k]:+.2g}" for j in largest)
        lines.append(f"{names[k]} ({shares[k]:.1%} of the separation): {parts}")
    more = len(names) - MOST_DIRECTIONS
    return [*lines, f"and {more} more"] if more > 0 else lines


def decisions_of(model):
    """Return lines on what the fit, and a cross-validation before it, has decided."""
    lines = [f"cap: epsilon_ = {model.epsilon_:.3g}"]
    if hasattr(model, "best_score_"):
        lines.append(
            f"chosen in {model.n_splits_} folds: multiplier {model.best_multiplier_:g}, "
            f"q {model.best_q_:g}, directions: {model.best_n_components_}; "
            f"accuracy {model.best_score_:.1%}"
        )
    if hasattr(model, "n_sampled_"):
        sampled = f"a sample of {model.n_sampled_:,} rows" if model.n_sampled_ else "all rows"
        lines.append(f"began with {sampled}")
    if hasattr(model, "q_"):
        lines.append(f"exponent: q_ = {model.q_:g}")
    if hasattr(model, "shrinkage_"):
        lines.append(f"covariance shrunk by shrinkage_ = {model.shrinkage_:.3g}")
    if hasattr(model, "leave_out_level_"):
        level = model.leave_out_level_
        what = "nothing" if level == np.inf else f"rows beyond {level:g} times cap or gate"
        lines.append(f"left out of the fit: {what}")
    return lines


def class_counts(rows, samples, solution):
    """Return rows, flagged rows and rows left out of each class, shape (c, 3).

    Rows of weight 0 are not counted. NaN stands for what is not known: where results for single
    rows are not kept, flagged rows are not counted, and the weight that is left out stands for
    its rows.
    """
    counts = np.full((rows.n_classes, 3), np.nan)
    counts[:, 0] = rows.class_counts
    if samples is not None and isinstance(samples.outliers, np.ndarray):
        counts[:, 1] = rows.count(samples.outliers)
        counts[:, 2] = rows.count(samples.left_out)
    else:
        counts[:, 2] = np.round((1.0 - solution.kept_shares) * solution.class_weights)
    return counts
