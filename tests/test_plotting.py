"""The displays draw what they should: artists and their data, not pixels."""

import subprocess
import sys
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import colors as mpl_colors
from matplotlib import pyplot as plt
from matplotlib.legend import Legend
from matplotlib.path import Path
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda._model.distances import spread
from cappedlda.plotting import (
    CellMapDisplay,
    ConvergenceDisplay,
    DistanceDisplay,
    DistanceDistanceDisplay,
    EpsilonPathDisplay,
    ImageDisplay,
    LabelsDisplay,
    LoadingsDisplay,
    ProjectionDisplay,
)
from cappedlda.plotting._common import OKABE_ITO, class_colors

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def dirty():
    X, y = load_wine(return_X_y=True)
    X[::20] *= -5.0
    return X, y


@pytest.fixture(scope="module")
def fitted(dirty):
    return CappedLDA().fit(*dirty)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, CappedLDA().fit(X, y)


@pytest.fixture(scope="module")
def both(dirty):
    """A pipeline, and the rows that its last step sees."""
    X, y = dirty
    pipeline = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
    return pipeline, pipeline[:-1].transform(X)


@pytest.fixture(scope="module")
def search(dirty):
    search = CappedLDACV("all", multipliers=(2.0, 0.5, np.inf, 1.0), cv=3)
    return search.fit(*dirty)


def blobs(n_classes, n_features=6):
    return make_blobs(30 * n_classes, n_features, centers=n_classes, random_state=0)


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_import_does_not_load_matplotlib():
    code = "import cappedlda, cappedlda.plotting, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 20, 21, 300])
def test_colors_differ(n_classes):
    colors = class_colors(n_classes)
    assert colors.shape == (n_classes, 4)
    assert len(np.unique(colors, axis=0)) == n_classes
    if n_classes <= 8:
        assert_allclose(colors, mpl_colors.to_rgba_array(OKABE_ITO[:n_classes]))


class TestProjection:
    def test_draws_every_row_once(self, fitted, dirty):
        X, y = dirty
        display = ProjectionDisplay.from_estimator(fitted, X, y)
        Z = fitted.transform(X)
        inside = display.scatter_.get_offsets()
        beyond = display.beyond_.get_offsets()
        assert len(inside) + len(beyond) == len(X)
        assert len(beyond) > 0
        # Rows in view are drawn where they are, the others on the frame.
        (x0, x1), (y0, y1) = display.ax_.get_xlim(), display.ax_.get_ylim()
        seen = (Z[:, 0] >= x0) & (Z[:, 0] <= x1) & (Z[:, 1] >= y0) & (Z[:, 1] <= y1)
        assert_allclose(inside, Z[seen])
        on_frame = np.isclose(beyond[:, :1], [x0, x1]) | np.isclose(beyond[:, 1:], [y0, y1])
        assert on_frame.any(axis=1).all()

    def test_marks_on_the_frame_show_the_direction_and_do_not_hide_each_other(self):
        kept = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
        far = np.array([[0.0, 50.0], [90.0, -1.0], [-70.0, 0.5], [0.4, -60.0]])
        crowd = np.repeat([[80.0, 80.0]], 9, axis=0)
        for beyond, n_near in ((far, 4), (np.vstack([far, crowd]), 4)):
            Z = np.vstack([kept, beyond])
            display = ProjectionDisplay(
                Z, np.arange(len(Z)) % 2, flagged=np.arange(len(Z)) > 3, classes=np.arange(2)
            ).plot()
            (x0, x1), (y0, y1) = display.ax_.get_xlim(), display.ax_.get_ylim()
            middle, half = np.array([x0 + x1, y0 + y1]) / 2.0, np.array([x1 - x0, y1 - y0]) / 2.0
            marks = (np.asarray(display.beyond_.get_offsets()) - middle) / half
            assert_allclose(np.abs(marks).max(axis=1), 1.0)
            # On the line from the middle, where there is room.
            lines = (far - middle) / half
            expected = lines / np.abs(lines).max(axis=1, keepdims=True)
            assert_allclose(marks[:n_near], expected, atol=1e-12)
            gaps = np.abs(marks[:, None] - marks[None]).sum(axis=2)
            assert gaps[~np.eye(len(marks), dtype=bool)].min() > 0.039
        assert np.abs(marks[4:] - 1.0).max() < 9 * 0.04  # the crowd stays near its corner

    def test_colors_are_those_of_the_classes(self, dirty):
        X, y = dirty
        model = CappedLDA(epsilon=np.inf).fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y, flagged=None)
        assert_allclose(display.scatter_.get_facecolors(), class_colors(3)[y])

    def test_rings_flagged_rows(self, fitted, dirty):
        X, y = dirty
        display = ProjectionDisplay.from_estimator(fitted, X, y)
        assert_array_equal(display.flagged, fitted.outliers_)
        marked = len(display.flagged_.get_offsets()) + len(display.beyond_.get_offsets())
        assert marked == fitted.outliers_.sum()
        mask = np.zeros(len(y), dtype=bool)
        mask[[5, 7]] = True
        display = ProjectionDisplay.from_estimator(fitted, X[1:20], y[1:20], flagged=mask[1:20])
        assert_allclose(display.flagged_.get_offsets(), fitted.transform(X[[5, 7]]))

    @pytest.mark.parametrize("make", [CappedLDA, LinearDiscriminantAnalysis])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_regions_are_the_predictions(self, make, n_classes):
        X, y = blobs(n_classes)
        model = make().fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y)
        codes = display.predict(model.transform(X)[:, :2])
        assert_array_equal(model.classes_[codes], model.predict(X))

    def test_shades_match_the_rule(self):
        X, y = blobs(3)
        display = ProjectionDisplay.from_estimator(CappedLDA().fit(X, y), X, y)
        image = display.regions_.get_array()
        left, right, bottom, top = display.regions_.get_extent()
        corners = np.array([[left, bottom], [right, bottom], [left, top], [right, top]])
        shades = image[[0, 0, -1, -1], [0, -1, 0, -1], :3]
        assert_allclose(shades, class_colors(3)[display.predict(corners), :3])

    def test_regions_of_many_classes_hold_their_rows(self):
        X, y = blobs(5, n_features=2)
        model = CappedLDA().fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y)
        codes = display.predict(model.transform(X))
        assert np.mean(model.classes_[codes] == y) > 0.8

    def test_legend_names_classes_beside_the_data(self, fitted, dirty):
        X, y = dirty
        names = np.array(["a", "b", "c"])
        display = ProjectionDisplay.from_estimator(CappedLDA().fit(X, names[y]), X, names[y])
        assert isinstance(display.legend_, Legend)
        assert texts(display.legend_)[:3] == ["a", "b", "c"]
        assert "flagged, out of view" in texts(display.legend_)
        display.figure_.draw_without_rendering()
        assert display.legend_.get_window_extent().x0 >= display.ax_.get_window_extent().x1

    def test_rows_at_infinity_are_on_the_frame(self, rng):
        Z = rng.normal(size=(60, 2))
        Z[3], Z[50] = [np.inf, 1.0], [-np.inf, -np.inf]
        flagged = ~np.isfinite(Z).all(axis=1)
        display = ProjectionDisplay(Z, np.arange(60) % 2, flagged=flagged, classes=np.arange(2))
        display.plot()
        assert len(display.beyond_.get_offsets()) == 2
        assert np.isfinite(display.beyond_.get_offsets()).all()
        assert "flagged, out of view" in texts(display.legend_)

    def test_twenty_classes_are_named_where_they_lie(self):
        X, y = blobs(20)
        display = ProjectionDisplay.from_estimator(CappedLDA().fit(X, y), X, y)
        names = [text.get_text() for text in display.ax_.texts]
        assert names == [str(name) for name in range(20)]
        assert display.legend_ is None or "0" not in texts(display.legend_)

    def test_names_of_classes_do_not_hide_each_other(self):
        X, y = blobs(20)
        X[y == 7] = X[y == 3] + 1e-3
        classes = np.array([f"class {k:02d}" for k in range(20)])
        model = CappedLDA().fit(X, classes[y])
        display = ProjectionDisplay.from_estimator(model, X, classes[y])
        display.figure_.draw_without_rendering()
        # Of the text alone: the box of an annotation has the line to its point in it.
        boxes = [Text.get_window_extent(text) for text in display.ax_.texts]
        assert len(boxes) == 20
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))

    @pytest.mark.parametrize("n_classes", [2, 20])
    def test_one_direction_is_drawn_as_strips(self, n_classes):
        X, y = blobs(n_classes)
        model = CappedLDA(n_components=1).fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y, flagged=None)
        points = display.scatter_.get_offsets()
        assert_allclose(points[:, 0], model.transform(X)[:, 0])
        assert_array_equal(np.round(points[:, 1]), y)
        ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert ticks == [str(name) for name in range(n_classes)]

    def test_given_axes_are_used(self, fitted, dirty):
        figure, ax = plt.subplots()
        open_figures = plt.get_fignums()
        display = ProjectionDisplay.from_estimator(fitted, *dirty, ax=ax, legend=False)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.legend_ is None
        assert plt.get_fignums() == open_figures

    def test_plots_again(self, fitted, dirty):
        display = ProjectionDisplay.from_estimator(fitted, *dirty)
        first = display.ax_
        assert display.plot() is display
        assert display.ax_ is not first

    def test_pipeline_and_frame(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        X.iloc[::20] *= -5.0
        model = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y)
        assert_array_equal(display.flagged, model[-1].outliers_)

    def test_all_rows_flagged(self, fitted, dirty):
        X, y = dirty
        mask = np.ones(len(y), dtype=bool)
        display = ProjectionDisplay.from_estimator(fitted, X, y, flagged=mask)
        assert len(display.flagged_.get_offsets()) == len(X)

    @pytest.mark.parametrize("flagged", ["some", [True], np.zeros(178)])
    def test_bad_flags(self, fitted, dirty, flagged):
        with pytest.raises(ValueError, match="flagged"):
            ProjectionDisplay.from_estimator(fitted, *dirty, flagged=flagged)

    def test_components_are_the_directions_asked_for(self):
        X, y = blobs(5)
        model = CappedLDA().fit(X, y)
        Z = model.transform(X)
        display = ProjectionDisplay.from_estimator(model, X, y, components=(0, 2), flagged=None)
        assert_allclose(display.scatter_.get_offsets(), Z[:, [0, 2]])
        assert display.ax_.get_xlabel() == "direction 1"
        assert display.ax_.get_ylabel() == "direction 3"
        one = ProjectionDisplay.from_estimator(model, X, y, components=[3], flagged=None)
        assert_allclose(one.scatter_.get_offsets()[:, 0], Z[:, 3])
        assert one.ax_.get_xlabel() == "direction 4"

    def test_regions_of_swapped_directions_are_the_predictions(self):
        X, y = blobs(3)
        model = CappedLDA().fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y, components=(1, 0))
        assert_array_equal(display.predict(model.transform(X)[:, ::-1]), model.predict(X))

    @pytest.mark.parametrize("components", [(0, 2), (0, 0, 1), (-1, 0), ()])
    def test_bad_components(self, fitted, dirty, components):
        with pytest.raises(ValueError, match="components=.*0 to 1"):
            ProjectionDisplay.from_estimator(fitted, *dirty, components=components)

    def test_many_rows_are_sampled_and_the_legend_says_so(self):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(30_000, 2))
        flagged = np.arange(30_000) < 3_000
        Z[flagged] *= 3.0
        y = np.arange(30_000) % 2
        display = ProjectionDisplay(Z, y, flagged=flagged, classes=np.arange(2))
        display.plot()
        n_beyond = len(display.beyond_.get_offsets())
        assert len(display.scatter_.get_offsets()) == 20_400
        assert len(display.flagged_.get_offsets()) == 400
        assert 0 < n_beyond <= 150
        assert f"flagged\n({400 + n_beyond} of 3,000 shown)" in texts(display.legend_)
        drawn = np.asarray(display.scatter_.get_offsets())
        assert set(map(tuple, drawn)) <= set(map(tuple, Z))

    def test_left_out_rows_are_crossed(self, fitted, dirty):
        X, y = dirty
        mask = np.zeros(len(y), dtype=bool)
        mask[[5, 7]] = True
        display = ProjectionDisplay.from_estimator(fitted, X, y, left_out=mask)
        assert_allclose(display.left_out_.get_offsets(), fitted.transform(X[[5, 7]]))
        assert "left out of the fit" in texts(display.legend_)

    def test_left_out_rows_are_those_of_the_fit(self, dirty):
        X, y = dirty
        model = CappedLDA().fit(X, y)
        model.left_out_ = model.outliers_.copy()
        same = ProjectionDisplay.from_estimator(model, X, y)
        assert not same.left_out.any()  # the rings say it
        model.left_out_[np.flatnonzero(model.outliers_)[0]] = False
        display = ProjectionDisplay.from_estimator(model, X, y)
        assert_array_equal(display.left_out, model.left_out_)
        others = ProjectionDisplay.from_estimator(model, X[1:], y[1:])
        assert not others.left_out.any()

    def test_ellipses_hold_their_share(self):
        Z = np.random.default_rng(0).normal(size=(4_000, 2)) @ [[3.0, 1.0], [0.0, 0.5]]
        y = np.zeros(4_000, dtype=int)
        flagged = np.zeros(4_000, dtype=bool)
        display = ProjectionDisplay(Z, y, flagged=flagged, classes=np.arange(1))
        display.plot(ellipses=0.9)
        (line,) = display.ellipses_
        inside = Path(np.column_stack(line.get_data())).contains_points(Z)
        # Three standard deviations of a share of 4000.
        assert abs(inside.mean() - 0.9) < 3.0 * np.sqrt(0.9 * 0.1 / 4_000)
        assert "90 % of a class" in texts(display.legend_)

    def test_ellipses_leave_flagged_rows_out(self, fitted, dirty):
        X, y = dirty
        display = ProjectionDisplay.from_estimator(fitted, X, y, ellipses=0.975)
        assert len(display.ellipses_) == 3
        kept = fitted.transform(X)[(y == 0) & ~fitted.outliers_]
        outline = np.column_stack(display.ellipses_[0].get_data())
        assert_allclose(outline[:-1].mean(axis=0), kept.mean(axis=0), atol=1e-12)

    @pytest.mark.parametrize("share", [0.0, 1.0, 97.5])
    def test_bad_ellipses(self, fitted, dirty, share):
        with pytest.raises(ValueError, match=f"ellipses={share}"):
            ProjectionDisplay.from_estimator(fitted, *dirty, ellipses=share)

    def test_ellipses_need_two_directions(self, fitted, dirty):
        with pytest.raises(ValueError, match="two directions"):
            ProjectionDisplay.from_estimator(fitted, *dirty, components=[0], ellipses=0.9)

    def test_names_the_most_unusual_rows(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        X.iloc[::20] *= -5.0
        X.index = [f"wine {i}" for i in range(len(X))]
        model = CappedLDA().fit(X, y)
        display = ProjectionDisplay.from_estimator(model, X, y, n_labels=4)
        largest = np.argsort(-model.outlyingness(X, y))[:4]
        assert [text.get_text() for text in display.labels_] == [f"wine {i}" for i in largest]

    def test_names_need_outlyingness(self, dirty):
        model = LinearDiscriminantAnalysis().fit(*dirty)
        with pytest.raises(ValueError, match="n_labels=2"):
            ProjectionDisplay.from_estimator(model, *dirty, n_labels=2)

    def test_flags_have_the_name_that_is_given(self, fitted, dirty):
        display = ProjectionDisplay.from_estimator(fitted, *dirty, flag_name="planted")
        assert "planted, out of view" in texts(display.legend_)
        assert not any("flagged" in text for text in texts(display.legend_))

    def test_needs_a_fitted_estimator(self, dirty):
        with pytest.raises(NotFittedError):
            ProjectionDisplay.from_estimator(CappedLDA(), *dirty)


def offsets(collection):
    """Rows and distances of the dots that are drawn."""
    return np.asarray(collection.get_offsets())


class TestDistance:
    def test_rows_above_one_are_the_rejected_ones(self, fitted, dirty):
        display = DistanceDisplay.from_estimator(fitted, *dirty)
        ratio = fitted.outlyingness(*dirty)
        rows = np.arange(len(ratio))
        assert_array_equal(display.outlyingness > 1.0, fitted.outliers_)
        assert_array_equal(offsets(display.kept_)[:, 0], rows[ratio <= 1.0])
        crosses, diamonds = offsets(display.flagged_), offsets(display.hidden_)
        assert len(crosses) + len(diamonds) == np.sum(ratio > 1.0) > 0
        drawn = np.vstack([crosses, diamonds])
        assert_allclose(drawn[:, 1], ratio[drawn[:, 0].astype(int)])
        assert_allclose(display.line_.get_ydata(), 1.0)
        assert "flagged above 1" in texts(display.legend_)

    def test_rows_that_only_all_features_show_are_diamonds(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 100)
        X = rng.normal(size=(200, 5))
        X[:, 0] += 8.0 * y
        X[[3, 150], 4] += 60.0  # a feature that tells nothing about the classes
        model = CappedLDA().fit(X, y)
        both = DistanceDisplay.from_estimator(model, X, y)
        inside = model.outlyingness(X, y, space="projected") <= 1.0
        assert_array_equal(offsets(both.hidden_)[:, 0], np.flatnonzero(model.outliers_ & inside))
        assert {3, 150} <= set(np.flatnonzero(model.outliers_))
        names = [name.split(":")[0] for name in texts(both.legend_)]
        assert names[0] == "not flagged"
        assert "far off in all features" in names

    def test_legend_counts(self):
        ratios, hidden = np.array([0.2, 0.4, 1.8, 1.2]), np.array([False, False, False, True])
        assert texts(DistanceDisplay(ratios, hidden=hidden).plot().legend_) == [
            "not flagged: 2",
            "beyond the cap: 1",
            "far off in all features: 1",
            "flagged above 1",
        ]
        one = DistanceDisplay(ratios).plot()
        assert texts(one.legend_) == ["not flagged: 2", "beyond the cap: 2", "flagged above 1"]

    def test_log_only_where_useful(self):
        display = DistanceDisplay(np.arange(1.0, 9.0) / 7.5)
        assert display.plot().ax_.get_yscale() == "linear"

    def test_zero_distance_stays_visible_on_log_scale(self):
        display = DistanceDisplay([0.0, 0.2, 0.2, 20.0]).plot()
        assert display.ax_.get_yscale() == "log"
        assert_allclose(offsets(display.kept_)[:, 1], [0.002, 0.2, 0.2])

    def test_no_cap(self, dirty):
        model = CappedLDA(epsilon=np.inf).fit(*dirty)
        with pytest.raises(ValueError, match="epsilon_ is inf"):
            DistanceDisplay.from_estimator(model, *dirty)

    def test_left_out_rows_are_crossed(self, dirty):
        model = CappedLDA().fit(*dirty)
        model.left_out_ = np.arange(len(dirty[1])) == 3
        display = DistanceDisplay.from_estimator(model, *dirty)
        assert_array_equal(offsets(display.left_out_)[:, 0], [3])
        assert "left out of the fit: 1" in texts(display.legend_)

    def test_names_the_most_unusual_rows(self, fitted, dirty):
        display = DistanceDisplay.from_estimator(fitted, *dirty, n_labels=3)
        largest = np.argsort(-fitted.outlyingness(*dirty))[:3]
        assert [text.get_text() for text in display.labels_] == [str(row) for row in largest]


class TestDistanceDistance:
    def test_both_distances_and_their_cut_offs(self, fitted, dirty):
        display = DistanceDistanceDisplay.from_estimator(fitted, *dirty)
        projected = fitted.outlyingness(*dirty, space="projected")
        full = fitted.outlyingness(*dirty, space="full")
        both = np.maximum(np.column_stack([projected, full]), 0.03)
        assert_allclose(offsets(display.kept_), both[~fitted.outliers_])
        assert_allclose(offsets(display.flagged_), both[fitted.outliers_])
        right, upper = display.lines_
        assert_allclose(right.get_xdata(), 1.0)
        assert_allclose(upper.get_ydata(), 1.0)
        n_flagged = fitted.outliers_.sum()
        assert f"flagged: {n_flagged}" in texts(display.legend_)
        assert f"not flagged: {len(full) - n_flagged}" in texts(display.legend_)

    def test_a_feature_that_tells_no_class_apart_shows_in_all_features_only(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 100)
        X = rng.normal(size=(200, 5))
        X[:, 0] += 8.0 * y
        X[150, 4] += 60.0
        display = DistanceDistanceDisplay.from_estimator(CappedLDA().fit(X, y), X, y, n_labels=1)
        assert display.full[150] > 1.0
        assert display.projected[150] < display.full[150]
        assert [text.get_text() for text in display.labels_] == ["150"]

    def test_rows_without_a_class(self, fitted, dirty):
        X, _ = dirty
        display = DistanceDistanceDisplay.from_estimator(fitted, X)
        assert_allclose(display.full, fitted.outlyingness(X, space="full"))

    def test_many_rows_are_sampled(self):
        ratios = np.random.default_rng(0).uniform(0.1, 1.1, size=(2, 30_000))
        display = DistanceDistanceDisplay(*ratios).plot()
        assert len(offsets(display.kept_)) == 20_000
        assert len(offsets(display.flagged_)) == 2_000
        n_flagged = int((ratios.max(axis=0) > 1.0).sum())
        assert f"flagged: 2,000 of {n_flagged:,} shown" in texts(display.legend_)

    def test_left_out_rows_are_crossed(self, dirty):
        model = CappedLDA().fit(*dirty)
        model.left_out_ = np.arange(len(dirty[1])) == 3
        display = DistanceDistanceDisplay.from_estimator(model, *dirty)
        assert_allclose(offsets(display.left_out_)[0], [display.projected[3], display.full[3]])

    def test_no_cap(self, dirty):
        model = CappedLDA(epsilon=np.inf).fit(*dirty)
        with pytest.raises(ValueError, match="epsilon_ is inf"):
            DistanceDistanceDisplay.from_estimator(model, *dirty)


class TestPipelines:
    """The earlier steps are applied to the rows, then all is as without a pipeline."""

    @pytest.mark.parametrize("display", [DistanceDisplay, DistanceDistanceDisplay])
    def test_distances(self, both, dirty, display):
        X, y = dirty
        pipeline, scaled = both
        drawn = display.from_estimator(pipeline, X, y)
        alone = display.from_estimator(pipeline[-1], scaled, y)
        assert_array_equal(offsets(drawn.kept_), offsets(alone.kept_))

    def test_projection(self, both, dirty):
        X, y = dirty
        pipeline, scaled = both
        drawn = ProjectionDisplay.from_estimator(pipeline, X, y)
        alone = ProjectionDisplay.from_estimator(pipeline[-1], scaled, y)
        assert_array_equal(drawn.Z, alone.Z)
        assert_array_equal(drawn.flagged, alone.flagged)

    def test_convergence(self, both):
        pipeline, _ = both
        display = ConvergenceDisplay.from_estimator(pipeline)
        assert_array_equal(display.line_.get_ydata(), pipeline[-1].objective_path_)

    def test_loadings_have_the_names_that_the_steps_give(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        pipeline = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
        display = LoadingsDisplay.from_estimator(pipeline)
        assert list(display.feature_names) == list(X.columns)
        alone = LoadingsDisplay.from_estimator(pipeline[-1])
        assert_allclose(display.loadings, alone.loadings)

    def test_loadings_of_encoded_columns(self):
        color = np.array(["red", "green", "blue"] * 20)
        size = np.random.default_rng(0).normal(size=60)
        y = (color == "red").astype(int)
        X = np.column_stack([color, size]).astype(object)
        steps = ColumnTransformer([("one", OneHotEncoder(), [0])], sparse_threshold=1.0)
        pipeline = make_pipeline(steps, CappedLDA()).fit(X, y)
        display = LoadingsDisplay.from_estimator(pipeline)
        names = {label.get_text() for label in display.ax_.get_yticklabels()}
        assert names == {"one__x0_red", "one__x0_green", "one__x0_blue"}
        assert issparse(pipeline[0].transform(X))
        expected = pipeline[-1].scalings_[:, 0] * spread(pipeline[-1])
        assert_allclose(display.loadings, expected)

    def test_path(self, dirty):
        X, y = dirty
        pipeline = make_pipeline(StandardScaler(), CappedLDACV(multipliers=(1.0, np.inf), cv=3))
        pipeline.fit(X, y)
        display = EpsilonPathDisplay.from_estimator(pipeline)
        assert_allclose(display.scores.mean(axis=0), pipeline[-1].cv_results_["mean_test_score"])

    def test_a_pipeline_of_one_step(self, dirty):
        X, y = dirty
        pipeline = make_pipeline(CappedLDA()).fit(X, y)
        display = DistanceDisplay.from_estimator(pipeline, X, y)
        assert_array_equal(display.outlyingness > 1.0, pipeline[-1].outliers_)


class TestCellMap:
    @pytest.fixture
    def typo(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        model = CappedLDA(missing="ignore").fit(X, y)
        X = X.astype(float)
        X.index = [f"wine {i}" for i in range(len(X))]
        X.iloc[7, 2] = 99.0
        X.iloc[9, 5] = -99.0
        X.iloc[11, 0] = np.nan
        return model, X, y

    def test_colours_are_deviations_and_dots_wrong_cells(self, typo):
        model, X, _ = typo
        display = CellMapDisplay.from_estimator(model, X[:20])
        assert_allclose(display.deviations, model.cell_deviations(X[:20]))
        drawn = display.image_.get_array()
        assert_allclose(drawn.compressed(), np.clip(drawn.compressed(), -10.0, 10.0))
        assert drawn[7, 2] == 10.0  # above what the others let expect: red
        assert drawn[9, 5] == -10.0
        assert drawn.mask[11, 0]
        red, blue = (display.image_.cmap(display.image_.norm(value)) for value in (10.0, -10.0))
        assert red[0] > red[2]
        assert blue[2] > blue[0]
        dots = {tuple(place) for place in offsets(display.wrong_).astype(int).tolist()}
        assert dots == {(j, i) for i, j in np.argwhere(model.wrong_cells(X[:20]))}
        assert {(2, 7), (5, 9)} <= dots

    def test_names_of_rows_and_features(self, typo):
        model, X, y = typo
        display = CellMapDisplay.from_estimator(model, X[:20], y[:20])
        axes = display.ax_
        assert [text.get_text() for text in axes.get_yticklabels()] == list(X.index[:20])
        assert [text.get_text() for text in axes.get_xticklabels()] == list(X.columns)
        assert "expected" in display.colorbar_.ax.get_ylabel()

    def test_of_many_rows_those_with_wrong_or_missing_cells(self, typo):
        model, X, _ = typo
        display = CellMapDisplay.from_estimator(model, X, most=50)
        wrong = model.wrong_cells(X).any(axis=1) | X.isna().any(axis=1).to_numpy()
        assert display.names == list(X.index[wrong])
        assert display.wrong.shape == (wrong.sum(), 13)
        few = CellMapDisplay.from_estimator(model, X, most=2)
        assert few.names == list(X.index[wrong][:2])

    def test_drawn_again_from_arrays_on_given_axes(self, typo):
        _, axes = plt.subplots()
        deviations = np.array([[0.0, 7.0], [np.nan, -3.0]])
        display = CellMapDisplay(deviations, wrong=deviations > 5.0)
        assert display.plot(axes) is display
        assert display.ax_ is axes
        assert offsets(display.wrong_).tolist() == [[1.0, 0.0]]
        assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "1"]

    def test_the_last_step_of_a_pipeline(self, typo):
        _, X, y = typo
        X = X.fillna(13.0)
        pipeline = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
        display = CellMapDisplay.from_estimator(pipeline, X[:20])
        assert display.wrong[7, 2]
        assert list(display.features) == list(X.columns)

    def test_needs_a_covariance(self, dirty):
        model = CappedNormLDA().fit(*dirty)
        with pytest.raises(ValueError, match="no covariance"):
            CellMapDisplay.from_estimator(model, dirty[0])


def test_rows_of_lists_are_numbered(fitted, dirty):
    X, y = dirty
    display = ProjectionDisplay.from_estimator(fitted, X.tolist(), y, n_labels=2)
    assert_array_equal(display.names, np.arange(len(X)))


class TestConvergence:
    def test_objective(self, fitted):
        display = ConvergenceDisplay.from_estimator(fitted)
        assert_array_equal(display.line_.get_ydata(), fitted.objective_path_)
        assert_array_equal(display.line_.get_xdata(), np.arange(1, len(fitted.objective_path_) + 1))
        assert len(display.rises_.get_offsets()) == 0
        assert display.ax_.get_title(loc="right").startswith("converged")

    def test_a_single_evaluation_is_told(self, fitted):
        display = ConvergenceDisplay([3.0], status="converged").plot()
        title = "converged, one evaluation: nothing to compare it with"
        assert display.ax_.get_title(loc="right") == title

    def test_rises_are_marked(self):
        display = ConvergenceDisplay([3.0, 1.0, 2.0, 2.0]).plot()
        assert_allclose(display.rises_.get_offsets(), [[3.0, 2.0]])

    def test_rounding_is_no_rise(self):
        display = ConvergenceDisplay([3.0, 1.0, 1.0 + 1e-14, 1.0 + 1e-7, 0.5]).plot()
        assert len(display.rises_.get_offsets()) == 0
        assert display.ax_.get_legend() is None


class TestEpsilonPath:
    def test_draws_the_candidates_with_the_chosen_directions(self, search):
        display = EpsilonPathDisplay.from_estimator(search)
        results = search.cv_results_
        shown = results["param_n_components"] == search.best_n_components_
        order = np.argsort(results["param_multiplier"][shown])
        scores = results["mean_test_score"][shown][order]
        line, apart = display.line_[0], display.uncapped_[0]
        assert_allclose(line.get_xdata(), [0.5, 1.0, 2.0])
        assert_allclose(line.get_ydata(), scores[:3])
        assert_allclose(apart.get_ydata(), scores[3:])
        assert apart.get_xdata()[0] > 2.0
        assert texts(display.legend_) == ["chosen"]
        ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
        assert ticks == ["0.5", "1", "2", "no cap"]

    def test_rings_the_chosen_candidate(self, search):
        display = EpsilonPathDisplay.from_estimator(search)
        expected = [[search.best_multiplier_, search.best_score_]]
        assert_allclose(display.chosen_.get_offsets(), expected)

    def test_bars_are_standard_errors(self):
        scores = np.array([[0.8, 0.9], [0.6, 0.9], [0.7, 0.9]])
        display = EpsilonPathDisplay([0.5, 1.0], scores).plot()
        assert display.chosen_ is display.legend_ is display.uncapped_ is None
        segments = display.line_[2][0].get_segments()
        error = scores[:, 0].std(ddof=1) / np.sqrt(3)
        assert_allclose(segments[0][:, 1], [0.7 - error, 0.7 + error])
        assert_allclose(segments[1][:, 1], [0.9, 0.9])

    def test_needs_a_path(self, fitted):
        with pytest.raises(TypeError, match="give a fitted CappedLDACV"):
            EpsilonPathDisplay.from_estimator(fitted)
        with pytest.raises(NotFittedError):
            EpsilonPathDisplay.from_estimator(CappedLDACV())


class TestLoadings:
    def test_largest_first_with_names(self, wine):
        X, model = wine
        display = LoadingsDisplay.from_estimator(model, component=1, n_features=5)
        loadings = model.scalings_[:, 1] * model._flag_rule.gate.scale
        order = np.argsort(-np.abs(loadings))[:5]
        assert_allclose([bar.get_width() for bar in display.bars_], loadings[order])
        names = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert names == list(X.columns[order])
        label = "loading in direction 2, per deviation of the feature"
        assert display.ax_.get_xlabel() == label

    def test_deviations_make_units_comparable(self, wine):
        X, model = wine
        y = load_wine().target
        display = LoadingsDisplay.from_estimator(model)
        units = 10.0 ** (np.arange(13) % 7 - 3)
        again = LoadingsDisplay.from_estimator(CappedLDA().fit(X * units, y))
        assert_allclose(display.loadings, again.loadings, rtol=1e-6)

    @pytest.mark.parametrize("epsilon", ["auto", np.inf])
    def test_they_are_those_of_the_summary(self, wine, epsilon):
        X, _ = wine
        model = CappedLDA(epsilon=epsilon).fit(X, load_wine().target)
        summary = model.summary()
        for component, line in enumerate(summary.directions):
            display = LoadingsDisplay.from_estimator(model, component=component, n_features=3)
            names = [label.get_text() for label in display.ax_.get_yticklabels()]
            bars = [bar.get_width() for bar in display.bars_]
            parts = [f"{name} {width:+.2f}" for name, width in zip(names, bars, strict=True)]
            assert line.endswith(": " + ", ".join(parts))
            assert line.startswith(f"direction {component + 1} ")
            label = display.ax_.get_xlabel()
            assert label.startswith(f"loading in direction {component + 1}, ")
            assert summary.loadings.endswith(label.split(", ")[1])

    def test_other_discriminants_have_a_covariance_or_nothing(self, wine):
        X, _ = wine
        y = load_wine().target
        model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
        display = LoadingsDisplay.from_estimator(model)
        deviations = np.sqrt(np.diagonal(model.covariance_))
        assert_allclose(display.loadings, model.scalings_[:, 0] * deviations)
        model = LinearDiscriminantAnalysis().fit(X, y)
        display = LoadingsDisplay.from_estimator(model)
        assert_allclose(display.loadings, model.scalings_[:, 0])
        assert display.ax_.get_xlabel() == "loading in direction 1, per unit of the feature"

    def test_default_and_given_names(self, fitted):
        display = LoadingsDisplay.from_estimator(fitted)
        assert {label.get_text() for label in display.ax_.get_yticklabels()} == {
            f"x{i}" for i in range(13)
        }
        given = LoadingsDisplay.from_estimator(fitted, feature_names=list("abcdefghijklm"))
        assert given.ax_.get_yticklabels()[0].get_text() in "abcdefghijklm"

    @pytest.mark.parametrize("component", [-1, 2])
    def test_bad_component(self, fitted, component):
        with pytest.raises(ValueError, match=f"component={component}"):
            LoadingsDisplay.from_estimator(fitted, component=component)


class TestImages:
    def fitted(self, rng):
        X, y = make_blobs(300, 12, centers=3, random_state=0)
        return CappedLDA().fit(X, y), X, y

    def test_patterns_and_directions_have_the_shape(self, rng):
        model, _, _ = self.fitted(rng)
        display = ImageDisplay.from_estimator(model, shape=(3, 4))
        patterns = (model.covariance_ @ model.scalings_).T
        assert_allclose(display.images, patterns.reshape(2, 3, 4))
        assert len(display.images_) == 2
        display = ImageDisplay.from_estimator(model, shape=(3, 4), kind="directions")
        assert_allclose(display.images, model.scalings_.T.reshape(2, 3, 4))
        plt.close("all")

    def test_reasons_name_the_broken_channel_and_add_up(self, rng):
        model, X, y = self.fitted(rng)
        X = X[:5].copy()
        X[2, 4:8] += 50.0
        display = ImageDisplay.from_estimator(model, X, y[:5], shape=(3, 4), kind="reasons")
        assert display.channel_sums[2].argmax() == 1
        rule = model._flag_rule
        z = (X[2] - rule.centres[y[2]]) / rule.gate.scale
        ratios = [model.outlyingness(X, y[:5], space)[2] for space in ("projected", "full")]
        assert ratios[1] > ratios[0]
        assert_allclose(display.channel_sums[2].sum(), np.sum(z**2))
        plt.close("all")

    def test_pipelines_go_through_their_steps(self, rng):
        _, X, y = self.fitted(rng)
        pipeline = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
        options = {"shape": (3, 4), "kind": "reasons"}
        found = ImageDisplay.from_estimator(pipeline, X[:2], y[:2], **options)
        Z = pipeline[:-1].transform(X[:2])
        expected = ImageDisplay.from_estimator(pipeline[-1], Z, y[:2], **options)
        assert_array_equal(found.images, expected.images)
        plt.close("all")

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"shape": (3, 5)}, "does not fit n_features=12"),
            ({"shape": (12,)}, "give two numbers"),
            ({"shape": (3, 4), "kind": "reasons"}, "give rows"),
            ({"shape": (3, 4), "kind": "colours"}, "kind='colours' is unknown"),
        ],
    )
    def test_what_means_nothing_is_refused(self, rng, options, match):
        with pytest.raises(ValueError, match=match):
            ImageDisplay.from_estimator(self.fitted(rng)[0], **options)


class TestLabels:
    def fitted(self):
        X, y = make_blobs(300, 4, centers=3, cluster_std=1.5, random_state=0)
        y[:6] = (y[:6] + 1) % 3
        return X, y

    def test_rows_of_the_lowest_quality_are_ringed_and_named(self):
        X, y = self.fitted()
        model = CappedLDA(label_noise="auto").fit(X, y)
        display = LabelsDisplay.from_estimator(model, X, y, n_rows=6)
        lowest = np.sort(np.argsort(model.label_quality(X, y), kind="stable")[:6])
        np.testing.assert_array_equal(np.flatnonzero(display.flagged), lowest)
        assert {text.get_text() for text in display.labels_} == {str(row) for row in lowest}
        entries = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert "worth checking" in entries

    def test_far_rows_do_not_stretch_the_view(self):
        X, y = self.fitted()
        X[-1] += 1e4
        model = CappedLDA(label_noise="auto").fit(X, y)
        display = LabelsDisplay.from_estimator(model, X, y, n_rows=3)
        assert np.ptp(display.ax_.get_xlim()) < 100.0

    def test_a_pipeline_and_a_fit_that_knows_no_labels(self):
        X, y = self.fitted()
        pipeline = make_pipeline(StandardScaler(), CappedLDA(label_noise="auto")).fit(X, y)
        assert LabelsDisplay.from_estimator(pipeline, X, y).flagged.sum() <= 20
        with pytest.raises(ValueError, match="label_noise=None"):
            LabelsDisplay.from_estimator(CappedLDA().fit(X, y), X, y)
        with pytest.raises(TypeError, match="n_labels=3 has no effect here; use n_rows"):
            LabelsDisplay.from_estimator(pipeline, X, y, n_labels=3)

    @pytest.mark.parametrize(
        ("n_rows", "error"),
        [(-5, ValueError), (0, ValueError), (101, ValueError), (2.5, TypeError)],
    )
    def test_the_number_of_rows_is_checked(self, n_rows, error):
        X, y = self.fitted()
        model = CappedLDA(label_noise="auto").fit(X, y)
        with pytest.raises(error, match=f"n_rows={n_rows}.*use 1 to 100"):
            LabelsDisplay.from_estimator(model, X, y, n_rows=n_rows)
