"""Pictures of fitted discriminants, in scikit-learn's Display convention.

Each class has `from_estimator`, which computes what is to be drawn, and `plot(ax=None)`, which
draws it and keeps the axes (`ax_`), the figure (`figure_`) and the artists. Matplotlib is
imported only when something is drawn; install it with ``pip install "cappedlda[plot]"``.
"""

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, column_or_1d

__all__ = [
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "DistanceDisplay",
    "LoadingsDisplay",
    "ProjectionDisplay",
]

# Okabe and Ito's colours: told apart with every common kind of colour vision.
OKABE_ITO = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#666666"
MOST_LEGEND_ENTRIES = 10
GRID = 400  # points per axis of the shaded regions


def class_colors(n_classes):
    """Return one colour per class, safe for colour-blind readers.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    colors : ndarray of shape (n_classes, 4)
        Okabe and Ito's palette for up to 8 classes, steps of viridis beyond.
    """
    from matplotlib import colormaps, colors

    if n_classes <= len(OKABE_ITO):
        return colors.to_rgba_array(OKABE_ITO[:n_classes])
    return colormaps["viridis"](np.linspace(0.0, 1.0, n_classes))


class _Display:
    """What the displays share: axes of their own unless some are given."""

    def _set_axes(self, ax):
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax


class ProjectionDisplay(_Display):
    """Rows in the first two discriminant directions.

    With one direction each class gets a strip of its own. The background shows the predicted
    class; flagged rows are ringed. The view is chosen by the rows that are not flagged:
    rows far outside of it are drawn on the frame, as triangles.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 1) or (n_samples, 2)
        Projected rows.
    y : ndarray of shape (n_samples,)
        Their classes.
    flagged : ndarray of shape (n_samples,), bool
        Rows to mark.
    classes : ndarray of shape (n_classes,)
    predict : callable, default=None
        Maps points of shape (k, 1) or (k, 2) to the numbers of their classes; None shades
        nothing.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    scatter_ : PathCollection
        All rows inside the view.
    flagged_ : PathCollection
        The rings around flagged rows inside the view.
    beyond_ : PathCollection
        The rows outside the view, on its frame.
    regions_ : AxesImage or None
        The shaded classes.
    legend_ : Legend, Colorbar or None

    See Also
    --------
    DistanceDisplay : The distances that decide what is flagged.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ProjectionDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> lda = CappedLDA().fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(lda, X, y)
    >>> display.Z.shape
    (178, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(self, Z, y, *, flagged, classes, predict=None):
        self.Z = Z
        self.y = y
        self.flagged = flagged
        self.classes = classes
        self.predict = predict

    @classmethod
    def from_estimator(cls, estimator, X, y, *, flagged="auto", regions=True, ax=None, **plot_args):
        """Project rows with a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted estimator
            `CappedLDA`, scikit-learn's `LinearDiscriminantAnalysis`, or a pipeline that
            ends with one.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        flagged : "auto", None or array-like of shape (n_samples,), default="auto"
            Rows to mark. "auto" takes those farther than `epsilon_` from the centre of their
            class, if the estimator can tell; None marks nothing.
        regions : bool, default=True
            Whether to shade the predicted classes. With more directions than are shown, the
            shades are what the shown ones alone predict.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : ProjectionDisplay
        """
        check_is_fitted(estimator)
        y = column_or_1d(y)
        Z = np.asarray(estimator.transform(X), dtype=float)[:, :2]
        flagged = _find_flagged(estimator, X, y, flagged)
        predict = _plane_rule(estimator, X, y, Z, ~flagged) if regions else None
        display = cls(Z, y, flagged=flagged, classes=estimator.classes_, predict=predict)
        return display.plot(ax, **plot_args)

    def plot(self, ax=None, *, legend=True, jitter=0.3, marker_size=18.0):
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether to name the classes beside the axes.
        jitter : float, default=0.3
            Half width of the strips that show a single direction, of the space for each.
        marker_size : float, default=18.0
            Area of the dots in square points.

        Returns
        -------
        self : ProjectionDisplay
        """
        ax = self._set_axes(ax)
        colors = class_colors(len(self.classes))
        codes = np.searchsorted(self.classes, self.y)
        points = self.Z if self.Z.shape[1] == 2 else _strips(self.Z, codes, jitter)
        low, high = self._view(points)
        beyond = np.any((points < low) | (points > high), axis=1)
        inside, ringed = ~beyond, self.flagged & ~beyond
        self.regions_ = self._shade(ax, low, high, colors)
        self.scatter_ = ax.scatter(
            *points[inside].T,
            s=marker_size,
            c=colors[codes[inside]],
            linewidths=0.3,
            edgecolors="white",
            zorder=2,
        )
        self.flagged_ = ax.scatter(
            *points[ringed].T,
            s=4.0 * marker_size,
            facecolors="none",
            edgecolors="black",
            linewidths=0.9,
            zorder=3,
        )
        self.beyond_ = ax.scatter(
            *np.clip(points[beyond], low, high).T,
            s=2.0 * marker_size,
            c=colors[codes[beyond]],
            marker="^",
            edgecolors="black",
            linewidths=0.9,
            zorder=4,
            clip_on=False,
        )
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="direction 1")
        self._label_classes(ax, colors, codes, legend)
        return self

    def _view(self, points):
        """Return the corners of the view: the kept rows and a margin of half their range."""
        kept = points[~self.flagged] if not self.flagged.all() else points
        low, high = kept.min(axis=0), kept.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        margin = 0.5 * span if self.flagged.any() else 0.05 * span
        low, high = low - margin, high + margin
        # No wider than what there is to see.
        tight = 0.05 * span
        low = np.maximum(low, points.min(axis=0) - tight)
        high = np.minimum(high, points.max(axis=0) + tight)
        if self.Z.shape[1] == 1:
            low[1], high[1] = -0.5, len(self.classes) - 0.5
        return low, high

    def _shade(self, ax, low, high, colors):
        if self.predict is None:
            return None
        axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
        if self.Z.shape[1] == 1:
            codes = self.predict(axes[0][:, None])[None, :]
        else:
            plane = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
            codes = self.predict(plane).reshape(GRID, GRID)
        image = colors[codes]
        image[..., 3] = 0.15
        return ax.imshow(
            image,
            extent=(low[0], high[0], low[1], high[1]),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            zorder=0,
        )

    def _label_classes(self, ax, colors, codes, legend):
        self.legend_ = None
        if self.Z.shape[1] == 1:
            ax.set_yticks(range(len(self.classes)), [str(name) for name in self.classes])
            ax.set_ylabel("class")
            ax.invert_yaxis()
        else:
            ax.set_ylabel("direction 2")
            if len(self.classes) > len(OKABE_ITO):
                self._name_centres(ax, codes)
        if not legend:
            return
        if self.Z.shape[1] == 1:
            self.legend_ = _legend_beside(ax, self._mark_handles())
        elif len(self.classes) <= MOST_LEGEND_ENTRIES:
            names = [_dot(c, "white", n) for c, n in zip(colors, self.classes, strict=True)]
            self.legend_ = _legend_beside(ax, names + self._mark_handles())
        else:
            self.legend_ = _class_bar(ax, colors, self.classes)
            _legend_above(ax, self._mark_handles())

    def _name_centres(self, ax, codes):
        from matplotlib import patheffects

        halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
        for code, name in enumerate(self.classes):
            rows = self.Z[(codes == code) & ~self.flagged]
            if len(rows):
                ax.text(
                    *np.median(rows, axis=0),
                    str(name),
                    ha="center",
                    va="center",
                    fontweight="bold",
                    clip_on=True,
                    path_effects=halo,
                    zorder=5,
                )

    def _mark_handles(self):
        handles = []
        if len(self.flagged_.get_offsets()):
            handles.append(_dot("none", "black", "flagged", size=8.0))
        if len(self.beyond_.get_offsets()):
            handles.append(_dot("none", "black", "flagged, out of view", "^", size=6.0))
        return handles


class DistanceDisplay(_Display):
    """Distance of each row from the centre of its class, against the cap.

    Parameters
    ----------
    distances : ndarray of shape (n_samples,)
    epsilon : float
        The cap; inf draws none.
    outliers : ndarray of shape (n_samples,), bool
        Rows to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    kept_, outliers_ : PathCollection
    line_ : Line2D or None
        The cap.
    legend_ : Legend

    See Also
    --------
    ProjectionDisplay : Where these rows lie.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import DistanceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::25] = 999
    >>> display = DistanceDisplay.from_estimator(CappedLDA().fit(X, y))
    >>> int(display.outliers.sum())
    6
    >>> plt.close(display.figure_)
    """

    def __init__(self, distances, *, epsilon, outliers):
        self.distances = distances
        self.epsilon = epsilon
        self.outliers = outliers

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, ax=None, **plot_args):
        """Draw the distances of the training rows, or of others.

        Parameters
        ----------
        estimator : fitted CappedLDA
        X : array-like of shape (n_samples, n_features), default=None
            Rows to measure; None takes the training rows.
        y : array-like of shape (n_samples,), default=None
            Their classes; None measures from the nearest class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : DistanceDisplay
        """
        check_is_fitted(estimator)
        epsilon = estimator.epsilon_
        if X is None:
            distances, outliers = estimator.distances_, estimator.outliers_
        elif np.isinf(epsilon):
            raise ValueError("epsilon_ is inf, so that new rows have no distance relative to it.")
        else:
            ratio = estimator.outlyingness(X, y)
            distances, outliers = ratio * epsilon, ratio > 1.0
        return cls(distances, epsilon=epsilon, outliers=outliers).plot(ax, **plot_args)

    def plot(self, ax=None, *, log="auto", marker_size=14.0):
        """Draw the distances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        log : "auto" or bool, default="auto"
            Whether the scale is logarithmic; "auto" decides by the largest distance.
        marker_size : float, default=14.0
            Area of the dots in square points.

        Returns
        -------
        self : DistanceDisplay
        """
        ax = self._set_axes(ax)
        distances = np.asarray(self.distances, dtype=float)
        if log == "auto":
            log = distances.max(initial=0.0) > 20.0 * np.median(distances) > 0.0
        if log:
            ax.set_yscale("log")
            # Rows at their centre are no reason to show many empty decades.
            distances = np.maximum(distances, 0.01 * np.median(distances))
        rows = np.arange(len(distances))
        marked = np.asarray(self.outliers)
        self.kept_ = ax.scatter(
            rows[~marked],
            distances[~marked],
            s=marker_size,
            color=BLUE,
            linewidths=0.0,
            alpha=0.7,
            label=f"kept: {np.sum(~marked)}",
        )
        self.outliers_ = ax.scatter(
            rows[marked],
            distances[marked],
            s=2.0 * marker_size,
            color=VERMILLION,
            marker="x",
            linewidths=1.2,
            label=f"outliers: {marked.sum()}",
        )
        self.line_ = None
        if np.isfinite(self.epsilon):
            self.line_ = ax.axhline(
                self.epsilon, color="black", lw=1.0, ls="--", label=f"epsilon = {self.epsilon:.3g}"
            )
        ax.set(xlabel="row", ylabel="distance from the centre of its class")
        self.legend_ = _legend_above(ax)
        return self


class ConvergenceDisplay(_Display):
    """The objective over the iterations.

    Parameters
    ----------
    objective_path : array-like of shape (n_evaluations,)
    status : str, default=None
        How the iteration ended.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
        The objective.
    rises_ : PathCollection
        Values above the one before them.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ConvergenceDisplay
    >>> lda = CappedLDA().fit(*load_wine(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(lda)
    >>> display.status
    'converged'
    >>> plt.close(display.figure_)
    """

    def __init__(self, objective_path, *, status=None):
        self.objective_path = objective_path
        self.status = status

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : fitted CappedLDA
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.objective_path_, status=estimator.status_).plot(ax)

    def plot(self, ax=None):
        """Draw the objective.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : ConvergenceDisplay
        """
        from matplotlib.ticker import MaxNLocator

        ax = self._set_axes(ax)
        path = np.asarray(self.objective_path)
        steps = np.arange(1, len(path) + 1)
        (self.line_,) = ax.plot(steps, path, color=BLUE, marker="o", ms=4.0, lw=1.2)
        rises = np.flatnonzero(np.diff(path) > 0.0) + 1
        self.rises_ = ax.scatter(
            steps[rises], path[rises], s=36.0, color=VERMILLION, zorder=3, label="rises"
        )
        if len(rises):
            ax.legend(frameon=False)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="evaluation", ylabel="objective")
        if self.status is not None:
            ax.set_title(self.status, loc="right", fontsize="medium", color=GREY)
        return self


class LoadingsDisplay(_Display):
    """The features that make a discriminant direction.

    Parameters
    ----------
    loadings : ndarray of shape (n_features,)
    feature_names : array-like of shape (n_features,)
    component : int, default=0
        Number of the direction, for the label.
    scaled : bool, default=False
        Whether the loadings are per spread of each feature, for the label.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : BarContainer
        The largest loadings, the largest on top.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import LoadingsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> display = LoadingsDisplay.from_estimator(CappedLDA().fit(X, y), X)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'flavanoids'
    >>> plt.close(display.figure_)
    """

    def __init__(self, loadings, *, feature_names, component=0, scaled=False):
        self.loadings = loadings
        self.feature_names = feature_names
        self.component = component
        self.scaled = scaled

    @classmethod
    def from_estimator(
        cls, estimator, X=None, *, component=0, feature_names=None, ax=None, **plot_args
    ):
        """Draw the loadings of one direction of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            `CappedLDA` or scikit-learn's `LinearDiscriminantAnalysis`.
        X : array-like of shape (n_samples, n_features), default=None
            Multiplies each loading by the spread of its feature in these rows (the
            interquartile range in standard deviations), so that features in different
            units can be compared. None draws `scalings_` as they are.
        component : int, default=0
            The direction.
        feature_names : array-like of shape (n_features,), default=None
            None takes the names seen in `fit`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_args : dict
            Passed to `plot`.

        Returns
        -------
        display : LoadingsDisplay
        """
        check_is_fitted(estimator)
        n_components = estimator.scalings_.shape[1]
        if not 0 <= component < n_components:
            raise ValueError(
                f"component={component!r} is out of range; use 0 to {n_components - 1}."
            )
        loadings = estimator.scalings_[:, component]
        if X is not None:
            loadings = loadings * _spread(np.asarray(X, dtype=float))
        if feature_names is None:
            default = [f"x{i}" for i in range(len(loadings))]
            feature_names = getattr(estimator, "feature_names_in_", default)
        display = cls(
            loadings, feature_names=feature_names, component=component, scaled=X is not None
        )
        return display.plot(ax, **plot_args)

    def plot(self, ax=None, *, n_features=15):
        """Draw the largest loadings.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_features : int, default=15
            How many to draw.

        Returns
        -------
        self : LoadingsDisplay
        """
        ax = self._set_axes(ax)
        largest = np.argsort(-np.abs(self.loadings), kind="stable")[:n_features]
        loadings = np.asarray(self.loadings)[largest]
        self.bars_ = ax.barh(
            np.arange(len(largest)), loadings, color=np.where(loadings < 0, VERMILLION, BLUE)
        )
        ax.set_yticks(np.arange(len(largest)), [str(self.feature_names[i]) for i in largest])
        ax.invert_yaxis()
        ax.axvline(0.0, color="black", lw=0.8)
        ax.set_xlabel(
            f"loading in direction {self.component + 1}"
            + (", per spread of the feature" if self.scaled else "")
        )
        return self


class ComponentsDisplay(_Display):
    """Accuracy over the number of directions.

    Parameters
    ----------
    scores : ndarray of shape (n_components, n_folds)
        Accuracy with the first 1, 2, ... directions.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
        Mean over the folds.
    band_ : PolyCollection
        One standard deviation over the folds on either side.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ComponentsDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> display = ComponentsDisplay.from_estimator(CappedLDA(), X, y, cv=3)
    >>> display.scores.shape
    (2, 3)
    >>> plt.close(display.figure_)
    """

    def __init__(self, scores):
        self.scores = scores

    @classmethod
    def from_estimator(cls, estimator, X, y, *, cv=None, classifier=None, ax=None):
        """Cross-validate the first 1, 2, ... directions and draw their accuracy.

        The estimator is fitted once per fold, since directions are nested. Its flagged rows
        do not reach the classifier.

        Parameters
        ----------
        estimator : estimator
            `CappedLDA`, scikit-learn's `LinearDiscriminantAnalysis`, or a pipeline that
            ends with one; its `n_components` is the largest number tried.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        cv : int, cross-validation generator or iterable, default=None
            As in scikit-learn; None is five folds, stratified by class.
        classifier : classifier, default=None
            Fitted to the projected rows; None is `KNeighborsClassifier()`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ComponentsDisplay
        """
        y = column_or_1d(y)
        classifier = KNeighborsClassifier() if classifier is None else classifier
        folds = check_cv(cv, y, classifier=True).split(X, y)
        scores = [_fold_scores(estimator, classifier, X, y, *fold) for fold in folds]
        return cls(np.transpose(scores)).plot(ax)

    def plot(self, ax=None):
        """Draw the accuracy.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : ComponentsDisplay
        """
        from matplotlib.ticker import MaxNLocator

        ax = self._set_axes(ax)
        mean, deviation = self.scores.mean(axis=1), self.scores.std(axis=1)
        counts = np.arange(1, len(mean) + 1)
        (self.line_,) = ax.plot(counts, mean, color=BLUE, marker="o", ms=4.0, lw=1.2)
        self.band_ = ax.fill_between(
            counts, mean - deviation, mean + deviation, color=BLUE, alpha=0.15, lw=0.0
        )
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="number of directions", ylabel="accuracy in cross-validation")
        return self


def _find_flagged(estimator, X, y, flagged):
    if flagged is None:
        return np.zeros(len(y), dtype=bool)
    if not isinstance(flagged, str):
        flagged = np.asarray(flagged)
        if flagged.dtype != bool or flagged.shape != y.shape:
            raise ValueError(f"flagged must be a boolean mask of the {len(y)} rows of X.")
        return flagged
    if flagged != "auto":
        raise ValueError(f"flagged={flagged!r} is unknown; use 'auto', None or a mask.")
    if isinstance(estimator, Pipeline):
        return _find_flagged(estimator[-1], estimator[:-1].transform(X), y, flagged)
    if not hasattr(estimator, "outlyingness"):
        return np.zeros(len(y), dtype=bool)
    return estimator.outlyingness(X, y) > 1.0


def _plane_rule(estimator, X, y, Z, kept):
    """Return a function from points of the plane to the numbers of their classes.

    If the shown directions are all that the estimator's scores depend on, these are an
    affine function of them, found by least squares. Otherwise it is the rule of linear
    discriminant analysis on the kept rows as they are shown.
    """
    if not kept.any():
        return None
    if len(estimator.classes_) - 1 > Z.shape[1]:
        rule = LinearDiscriminantAnalysis().fit(Z[kept], y[kept])
        return lambda points: np.searchsorted(estimator.classes_, rule.predict(points))
    scores = np.asarray(estimator.decision_function(X), dtype=float)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    affine, *_ = np.linalg.lstsq(_with_ones(Z[kept]), scores[kept], rcond=None)
    return lambda points: np.argmax(_with_ones(points) @ affine, axis=1)


def _with_ones(points):
    return np.column_stack([points, np.ones(len(points))])


def _strips(Z, codes, jitter):
    """Return points that spread the rows of each class over a strip of its own."""
    offsets = np.random.default_rng(0).uniform(-jitter, jitter, len(Z))
    return np.column_stack([Z[:, 0], codes + offsets])


def _class_bar(ax, colors, classes):
    """Add a colour bar with one step per class."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    norm = BoundaryNorm(np.arange(len(classes) + 1) - 0.5, len(classes))
    steps = ScalarMappable(norm, ListedColormap(colors))
    every = -(-len(classes) // 40)
    bar = ax.figure.colorbar(steps, ax=ax, ticks=np.arange(0, len(classes), every), pad=0.01)
    bar.ax.set_yticklabels([str(name) for name in classes[::every]], fontsize="small")
    bar.ax.tick_params(length=0)
    bar.ax.invert_yaxis()
    return bar


def _dot(face, edge, label, marker="o", size=5.0):
    from matplotlib.lines import Line2D

    return Line2D([], [], ls="", marker=marker, ms=size, mfc=face, mec=edge, label=str(label))


def _legend_beside(ax, handles):
    if not handles:
        return None
    return ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        handletextpad=0.3,
        frameon=False,
    )


def _legend_above(ax, handles=None):
    if handles is not None and not handles:
        return None
    return ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=4,
        borderaxespad=0.2,
        handletextpad=0.3,
        frameon=False,
    )


def _spread(X):
    """Return the interquartile range of each column in standard deviations of a Gaussian."""
    low, high = np.percentile(X, [25.0, 75.0], axis=0)
    # A feature that is mostly one value has no such range.
    return np.where(high > low, (high - low) / 1.349, X.std(axis=0))


def _fold_scores(estimator, classifier, X, y, train, test):
    """Return the accuracy on a fold with the first 1, 2, ... directions."""
    model = clone(estimator).fit(_safe_indexing(X, train), y[train])
    last = model[-1] if isinstance(model, Pipeline) else model
    kept = ~getattr(last, "outliers_", np.zeros(len(train), dtype=bool))
    Z_train = np.asarray(model.transform(_safe_indexing(X, train)))[kept]
    Z_test = np.asarray(model.transform(_safe_indexing(X, test)))
    return [
        accuracy_score(
            y[test],
            clone(classifier).fit(Z_train[:, :k], y[train][kept]).predict(Z_test[:, :k]),
        )
        for k in range(1, Z_train.shape[1] + 1)
    ]
