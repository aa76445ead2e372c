"""Contamination models: values, shares, determinism, inputs left alone."""

import numpy as np
import pytest

from cappedlda import noise

ROW_MODELS = [
    noise.scatter,
    noise.leverage,
    noise.cluster,
    noise.heavy_tails,
    noise.swap_labels,
    noise.dirty_class,
]
ENTRY_MODELS = [noise.feature_noise]
MODELS = ROW_MODELS + ENTRY_MODELS


@pytest.fixture
def data():
    """Two Gaussian classes of 200 and 100 rows, the second shifted by 5; unequal units."""
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], [200, 100])
    X = rng.normal(size=(300, 4))
    X[y == 1] += 5
    return X * [1, 10, 0.1, 1000], y


def image_noise(X, y, **given):
    """`noise.image_noise` for the 2 x 2 images of the fixture."""
    return noise.image_noise(X, y, shape=(2, 2), **given)


@pytest.mark.parametrize("model", [*MODELS, image_noise])
def test_inputs_stay_and_the_seed_decides(model, data):
    X, y = data
    X_before, y_before = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    first = model(X, y, share=0.3, random_state=3)
    again = model(X, y, share=0.3, random_state=3)
    other = model(X, y, share=0.3, random_state=4)
    assert np.array_equal(X, X_before)
    assert np.array_equal(y, y_before)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[2], other[2])


@pytest.mark.parametrize("model", [*MODELS, image_noise])
def test_only_what_is_marked_changes(model, data):
    X, y = data
    X_new, y_new, touched = model(X, y, share=0.3, random_state=0)
    assert touched.dtype == bool
    assert touched.shape == (X.shape if model in (*ENTRY_MODELS, image_noise) else y.shape)
    assert np.array_equal(X_new[~touched], X[~touched])
    if model is not noise.swap_labels:
        assert np.array_equal(y_new, y)


@pytest.mark.parametrize("model", [*MODELS, image_noise])
def test_share_zero_changes_nothing(model, data):
    X, y = data
    X_new, y_new, touched = model(X, y, share=0, random_state=0)
    assert np.array_equal(X_new, X)
    assert np.array_equal(y_new, y)
    assert not touched.any()


@pytest.mark.parametrize("model", [m for m in MODELS if m is not noise.dirty_class])
def test_share_holds_in_every_class(model, data):
    X, y = data
    touched = model(X, y, share=0.25, random_state=0)[2]
    rows = touched if touched.ndim == 1 else touched.any(axis=1)
    assert rows[y == 0].sum() == 50
    assert rows[y == 1].sum() == 25


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_bad_share_is_named(share, data):
    with pytest.raises(ValueError, match="share must be from 0 to 1"):
        noise.scatter(*data, share=share)


def test_generator_and_random_state_are_accepted(data):
    generator = noise.scatter(*data, random_state=np.random.default_rng(5))[0]
    assert np.array_equal(generator, noise.scatter(*data, random_state=5)[0])
    first = noise.scatter(*data, random_state=np.random.RandomState(5))[0]
    assert np.array_equal(first, noise.scatter(*data, random_state=np.random.RandomState(5))[0])


def test_integers_become_floats_and_float32_stays(data):
    X, y = data
    assert noise.scatter(X.astype(np.uint8), y)[0].dtype == np.float64
    assert noise.scatter(X.astype(np.float32), y)[0].dtype == np.float32


@pytest.mark.parametrize("model", [noise.scatter, noise.dirty_class])
def test_scattered_rows_are_far_in_every_unit(model, data):
    X, y = data
    X_new, _, touched = model(X, y, share=0.2, size=7, random_state=0)
    within = np.concatenate([X[y == i] - X[y == i].mean(axis=0) for i in (0, 1)]).std(axis=0)
    length = np.sqrt(np.mean(((X_new - X) / within)[touched] ** 2, axis=1))
    assert length.min() >= 7 * (1 - 1e-12)
    assert length.max() <= 14 * (1 + 1e-12)
    assert length.max() - length.min() > 3


def test_scatter_directions_differ(data):
    X, y = data
    X_new, _, touched = noise.scatter(X, y, share=0.5, random_state=0)
    assert np.linalg.matrix_rank((X_new - X)[touched]) == X.shape[1]


def test_leverage_lies_beyond_the_next_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    X = rng.normal(size=(10000, 1))
    X[y == 1] += 6
    X_new, _, touched = noise.leverage(X, y, share=0.2, size=10, random_state=0)
    means = [X_new[touched & (y == i), 0].mean() for i in (0, 1)]
    assert means == pytest.approx([16, -10], abs=0.15)
    assert X_new[touched & (y == 0)].std() == pytest.approx(1, abs=0.1)


def test_leverage_is_measured_along_the_direction():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    X = rng.normal(size=(10000, 1)) @ np.ones((1, 5))
    X[y == 1] += 6
    X_new, _, touched = noise.leverage(X, y, share=0.2, size=10, random_state=0)
    assert X_new[touched & (y == 0)].mean() == pytest.approx(16, abs=0.15)


def test_cluster_is_tight_and_shifted(data):
    X, y = data
    X_new, _, touched = noise.cluster(X, y, share=0.4, size=8, spread=0.05, random_state=0)
    for label in (0, 1):
        rows = touched & (y == label)
        mean, deviation = X[y == label].mean(axis=0), X[y == label].std(axis=0)
        assert X_new[rows].std(axis=0) == pytest.approx(0.05 * X[rows].std(axis=0))
        shift = (X_new[rows].mean(axis=0) - mean) / deviation
        assert np.linalg.norm(shift) == pytest.approx(8, rel=0.15)


def test_heavy_tails_have_the_quantiles_of_t():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40000, 1))
    X_new = noise.heavy_tails(X, np.zeros(40000), df=1, random_state=0)[0]
    assert np.quantile(X_new, [0.25, 0.5, 0.75, 0.95]) == pytest.approx([-1, 0, 1, 6.314], abs=0.4)


def test_heavy_tails_keep_the_shape_of_a_row(data):
    X, y = data
    X_new = noise.heavy_tails(X, y, random_state=0)[0]
    centre = X[y == 1].mean(axis=0)
    factors = (X_new[y == 1] - centre) / (X[y == 1] - centre)
    assert np.ptp(factors, axis=1) == pytest.approx(0, abs=1e-8)
    assert factors.min() > 0


def test_swapped_labels_are_always_wrong_and_reach_every_class():
    y = np.repeat(["a", "b", "c"], 100)
    X = np.zeros((300, 1))
    X_new, y_new, touched = noise.swap_labels(X, y, share=0.5, random_state=0)
    assert np.array_equal(y_new != y, touched)
    assert touched.sum() == 150
    assert set(y_new[touched & (y == "a")]) == {"b", "c"}
    assert np.array_equal(X_new, X)


@pytest.mark.parametrize("model", [noise.swap_labels, noise.leverage])
def test_one_class_is_not_enough(model):
    with pytest.raises(ValueError, match="at least two classes"):
        model(np.zeros((4, 2)), np.zeros(4))


def test_dirty_class_shares(data):
    X, y = data
    touched = noise.dirty_class(X, y, share=0.4, label=1, others=0.05, random_state=0)[2]
    assert touched[y == 1].sum() == 40
    assert touched[y == 0].sum() == 10
    first = noise.dirty_class(X, y, share=0.4, random_state=0)[2]
    assert first[y == 0].sum() == 80
    assert first[y == 1].sum() == 0
    with pytest.raises(ValueError, match="label=9 is not a class"):
        noise.dirty_class(X, y, label=9)


def test_feature_noise_counts_and_variance():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 20)) * np.r_[np.ones(10), np.full(10, 50)]
    X_new, _, touched = noise.feature_noise(X, np.zeros(2000), share=0.5, random_state=0)
    assert set(touched.sum(axis=1)) == {0, 6}
    assert touched.any(axis=1).sum() == 1000
    scaled = ((X_new - X) / np.ptp(X, axis=0))[touched]
    assert scaled.var() == pytest.approx(0.05, rel=0.06)
    assert touched.sum(axis=0) == pytest.approx(300, abs=60)


@pytest.mark.parametrize(("cover", "pixels"), [(0.3, 121), (0.4, 156)])
def test_image_noise_covers_a_rectangle(cover, pixels):
    X = np.full((50, 400), 0.5)
    X[0, 0], X[0, 1] = 0, 1
    X_new, _, touched = noise.image_noise(
        X, np.zeros(50), shape=(20, 20), share=1, cover=cover, random_state=0
    )
    assert set(touched.sum(axis=1)) == {pixels}
    mask = touched[3].reshape(20, 20)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    assert mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
    assert len(rows) * len(columns) == pixels
    assert X_new.min() >= 0
    assert X_new.max() <= 1
    inside = (X_new - X)[touched]
    assert np.mean(abs(inside) < np.sqrt(0.05)) == pytest.approx(0.683, abs=0.03)


def test_salt_and_pepper_density_and_values():
    X = np.full((200, 400), 3.0)
    X[0, 0], X[0, 1] = -1, 7
    X_new, _, touched = noise.image_noise(
        X, np.zeros(200), shape=(20, 20), share=1, kind="salt_pepper", random_state=0
    )
    assert touched.mean() == pytest.approx(0.3 * 0.05, rel=0.1)
    values = X_new[touched]
    assert set(values) == {-1, 7}
    assert np.mean(values == 7) == pytest.approx(0.5, abs=0.06)


def test_image_noise_names_bad_arguments():
    X = np.zeros((4, 6))
    with pytest.raises(ValueError, match="does not fit rows of 6 pixels"):
        noise.image_noise(X, np.zeros(4), shape=(2, 2))
    with pytest.raises(ValueError, match="kind='snow' is unknown"):
        noise.image_noise(X, np.zeros(4), shape=(2, 3), kind="snow")


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"got shapes \(4, 2\) and \(3,\)"):
        noise.scatter(np.zeros((4, 2)), np.zeros(3))
