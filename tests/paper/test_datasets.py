import hashlib
import io
import json
from itertools import product

import numpy as np
import pytest

from cappedlda.paper.datasets import (
    DATASETS,
    DatasetInfo,
    _catalogue,
    load_dataset,
    make_artificial,
    make_monks3,
    make_waveform,
    make_zipf_text,
)

GROUPS = ("uci", "image", "variant")


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    """Keep a folder of the user's own out of the tests."""
    monkeypatch.delenv("CAPPEDLDA_DATA", raising=False)


def write(folder, name, **arrays):
    path = folder / f"{name}.npz"
    np.savez(path, **arrays)
    return path


# The artificial set


def test_artificial_counts():
    data = make_artificial(random_state=0)
    assert data.X_train.shape == (126, 2)
    assert data.X_test.shape == (120, 2)
    assert list(np.bincount(data.y_train)) == [63, 63]
    assert list(np.bincount(data.y_test)) == [60, 60]
    assert list(np.bincount(data.y_train[data.outliers])) == [3, 3]
    assert data.outliers.shape == (126,)


def test_artificial_classes_lie_as_the_paper_says():
    data = make_artificial(random_state=0)
    kept = ~data.outliers
    X = np.vstack([data.X_train[kept], data.X_test])
    y = np.concatenate([data.y_train[kept], data.y_test])
    horizontal, vertical = np.ptp(X[y == 0], axis=0), np.ptp(X[y == 1], axis=0)
    assert horizontal[0] > 3.0 * horizontal[1]
    assert vertical[1] > 3.0 * vertical[0]
    # The x axis separates them, the y axis does not.
    assert X[y == 0, 0].max() < X[y == 1, 0].min()
    assert X[y == 0, 1].max() > X[y == 1, 1].min()
    assert X[y == 1, 1].max() > X[y == 0, 1].min()


@pytest.mark.parametrize("seed", range(5))
def test_artificial_outliers_lie_outside(seed):
    data = make_artificial(n_outliers=50, random_state=seed)
    outliers = data.X_train[data.outliers]
    assert len(outliers) == 100
    outside = np.any((outliers < [0.0, -2.0]) | (outliers > [5.5, 2.0]), axis=1)
    assert outside.all()
    assert np.all(np.abs(outliers - [2.75, 0.0]) <= [8.25, 6.0])


def test_artificial_is_uniform():
    data = make_artificial(n_samples=40000, n_outliers=0, random_state=0)
    X = data.X_test[data.y_test == 0]
    np.testing.assert_allclose(X.mean(axis=0), [2.0, 0.0], atol=0.05)
    np.testing.assert_allclose(X.var(axis=0), [16.0 / 12.0, 1.0 / 12.0], rtol=0.05)


def test_artificial_is_reproducible():
    first, again = make_artificial(random_state=3), make_artificial(random_state=3)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first.X_train, make_artificial(random_state=4).X_train)


# Waveform and monks


def test_waveform_class_means():
    X, y = make_waveform(60000, random_state=0)
    assert X.shape == (60000, 21)
    np.testing.assert_allclose(np.bincount(y) / 60000, 1.0 / 3.0, atol=0.01)
    wave = {peak: np.maximum(6.0 - np.abs(np.arange(1, 22) - peak), 0.0) for peak in (7, 11, 15)}
    for k, (one, other) in enumerate([(7, 15), (7, 11), (15, 11)]):
        expected = (wave[one] + wave[other]) / 2.0
        np.testing.assert_allclose(X[y == k].mean(axis=0), expected, atol=0.06)
        variance = 1.0 + (wave[one] - wave[other]) ** 2 / 12.0
        np.testing.assert_allclose(X[y == k].var(axis=0), variance, rtol=0.06)


def test_waveform_is_reproducible():
    np.testing.assert_array_equal(
        make_waveform(10, random_state=1)[0], make_waveform(10, random_state=1)[0]
    )


def test_zipf_text_is_what_it_says():
    X, y, outliers = make_zipf_text(3000, 2000, 4, length=80, outlier_share=0.1, random_state=0)
    assert X.format == "csr"
    assert X.has_canonical_format
    assert X.shape == (3000, 2000)
    np.testing.assert_allclose(np.bincount(y) / 3000, 0.25, atol=0.03)
    assert outliers.mean() == pytest.approx(0.1, abs=0.02)
    lengths = X.sum(axis=1)
    assert lengths[~outliers].mean() == pytest.approx(80, rel=0.05)
    assert lengths[outliers].mean() == pytest.approx(800, rel=0.1)
    # Topics aside, the frequency of the k-th word falls as 1 / (k + 2.7).
    counts = np.asarray(X[~outliers].sum(axis=0))
    tens = counts[:1000].reshape(-1, 10).sum(axis=1)
    expected = (1.0 / (np.arange(1000) + 2.7)).reshape(-1, 10).sum(axis=1)
    slope = np.polyfit(np.log(expected), np.log(tens), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.1)
    evenly = np.asarray(X[outliers].sum(axis=0))
    assert evenly[:1000].sum() == pytest.approx(evenly[1000:].sum(), rel=0.05)


def test_zipf_text_is_reproducible():
    one, same, other = (make_zipf_text(50, 100, random_state=s).X for s in (1, 1, 2))
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0


def test_monks3_has_all_combinations_and_follows_its_rule():
    X, y = make_monks3()
    combinations = set(product([1, 2, 3], [1, 2, 3], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2]))
    assert {tuple(row) for row in X.astype(int).tolist()} == combinations
    assert len(X) == len(combinations)
    for (_, a2, _, a4, a5, _), label in zip(X, y, strict=True):
        assert label == int((a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3))
    assert list(np.bincount(y)) == [204, 228]


# The table


def test_table_holds_all_sets_of_the_paper():
    groups = {group: [n for n in DATASETS if DATASETS[n].group == group] for group in GROUPS}
    assert len(groups["uci"]) == 21
    assert groups["image"] == ["coil100", "usps_8x8"]
    assert sum(map(len, groups.values())) == len(DATASETS)
    assert all(DATASETS[name].paper for name in groups["uci"] + groups["image"])
    for info in DATASETS.values():
        assert len(info.shape) == 3
        if info.paper not in (None, info.shape):
            assert info.remark


# From a folder


@pytest.mark.parametrize("how", ["argument", "text", "variable"])
def test_load_from_folder(tmp_path, monkeypatch, how):
    X = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint8)
    write(tmp_path, "iris", X=X, y=np.array([5, 7, 5]))
    home = {"argument": tmp_path, "text": str(tmp_path), "variable": None}[how]
    if how == "variable":
        monkeypatch.setenv("CAPPEDLDA_DATA", str(tmp_path))
    loaded, y = load_dataset("iris", data_home=home)
    assert loaded.dtype == np.float64
    np.testing.assert_array_equal(loaded, X)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, [0, 1, 0])


def test_missing_values_are_kept(tmp_path):
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    write(tmp_path, "credit", X=X, y=np.array([0, 1]))
    np.testing.assert_array_equal(load_dataset("credit", data_home=tmp_path)[0], X)


def test_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"'irsi' is unknown; known are australian, .*iris.*"):
        load_dataset("irsi")


def test_missing_folder_names_path_and_set(tmp_path):
    folder = tmp_path / "nowhere"
    with pytest.raises(FileNotFoundError, match="nowhere.*of the data set 'iris' is missing; put"):
        load_dataset("iris", data_home=folder)


def test_missing_file_names_path_set_and_source(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"spect\.npz of the data set 'spect'.*267 x 44"):
        load_dataset("spect", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match="leave out the folder to have it made or fetched"):
        load_dataset("iris", data_home=tmp_path)


@pytest.mark.parametrize("key", ["X", "y"])
def test_missing_key(tmp_path, key):
    arrays = {"X": np.ones((2, 2)), "y": np.array([0, 1])}
    del arrays[key]
    write(tmp_path, "iris", **arrays)
    with pytest.raises(ValueError, match=rf"iris\.npz of the data set 'iris' has no array '{key}'"):
        load_dataset("iris", data_home=tmp_path)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones(3), np.zeros(3)),
        (np.ones((3, 2)), np.zeros(2)),
        (np.array([["a", "b"]]), np.zeros(1)),
    ],
)
def test_unusable_arrays(tmp_path, X, y):
    write(tmp_path, "iris", X=X, y=y)
    with pytest.raises(ValueError, match=r"iris\.npz of the data set 'iris' holds X of shape"):
        load_dataset("iris", data_home=tmp_path)


def damage_by_cutting(path):
    path.write_bytes(path.read_bytes()[:200])


def damage_by_flipping(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def damage_by_emptying(path):
    path.write_bytes(b"")


def damage_by_text(path):
    path.write_text("age,class\n1,0\n")


def damage_by_plain_array(path):
    with path.open("wb") as file:
        np.save(file, np.ones((3, 2)))


@pytest.mark.parametrize(
    "damage",
    [
        damage_by_cutting,
        damage_by_flipping,
        damage_by_emptying,
        damage_by_text,
        damage_by_plain_array,
    ],
)
def test_damaged_file_is_named(tmp_path, damage):
    path = write(tmp_path, "iris", X=np.ones((50, 4)), y=np.arange(50) % 3)
    damage(path)
    with pytest.raises(ValueError, match=r"iris\.npz cannot be read: it is damaged") as caught:
        load_dataset("iris", data_home=tmp_path)
    assert "pickle" not in str(caught.value)  # no advice to trust it


class Trap:
    """Unpickling this would be noticed."""

    def __reduce__(self):
        return (pytest.fail, ("the file was unpickled",))


def test_nothing_is_unpickled(tmp_path):
    trap = np.empty((1, 1), dtype=object)
    trap[0, 0] = Trap()
    write(tmp_path, "iris", X=trap, y=np.array([0]))
    with pytest.raises(ValueError, match=r"iris\.npz cannot be read"):
        load_dataset("iris", data_home=tmp_path)


# Without a folder


def test_made_sets_need_no_network(spy):
    fetched = spy(_catalogue, "fetch_openml")
    np.testing.assert_array_equal(load_dataset("monks3")[0], make_monks3()[0])
    X, y = load_dataset("waveform")
    assert X.shape == (5000, 21)
    two, labels = load_dataset("waveform_2class")
    np.testing.assert_array_equal(two, X)
    np.testing.assert_array_equal(labels, y == 0)
    assert not fetched


@pytest.fixture
def openml(monkeypatch):
    """`openml(X, y)` lets OpenML answer so, or `openml(error)` fail; it returns the questions."""

    def answer(*found):
        calls = []

        def fetch(**options):
            calls.append(options)
            if isinstance(found[0], Exception):
                raise found[0]
            return found

        monkeypatch.setattr(_catalogue, "fetch_openml", fetch)
        return calls

    return answer


def test_openml_is_asked_for_the_right_set(openml):
    calls = openml(np.ones((345, 6)), np.array(["1", "2", "2"] * 115))
    _, y = load_dataset("bupa")
    np.testing.assert_array_equal(y, [0, 1, 1] * 115)
    (options,) = calls
    assert options["data_id"] == 8
    assert options["target_column"] == "selector"
    assert options["as_frame"] is False


def test_set_derived_from_openml(openml):
    X = np.zeros((9298, 256))
    X[0, [0, 1, 16, 17]] = [1.0, 2.0, 3.0, 4.0]
    X[0, 255] = 8.0
    openml(X, np.arange(9298) % 10)
    halved, y = load_dataset("usps_8x8")
    assert halved.shape == (9298, 64)
    assert halved[0, 0] == 2.5
    assert halved[0, 63] == 2.0
    assert halved.sum() == 4.5
    np.testing.assert_array_equal(y, np.arange(9298) % 10)


def test_other_set_at_openml_is_refused(openml):
    openml(np.ones((149, 4)), np.arange(149) % 3)
    with pytest.raises(ValueError, match=r"OpenML's data set 61 has .*\(149, 4, 3\).*'iris'"):
        load_dataset("iris")


def test_openml_out_of_reach(openml):
    openml(OSError("no route to host"))
    with pytest.raises(ConnectionError, match=r"'iris'.*id 61.*no route to host.*put iris\.npz"):
        load_dataset("iris")


def test_set_without_source():
    with pytest.raises(FileNotFoundError, match=r"No source of the data set 'coil100'.*7200 x 256"):
        load_dataset("coil100")


ARFF = b"""@RELATION toy
@ATTRIBUTE size NUMERIC
@ATTRIBUTE colour {red, green}
@ATTRIBUTE class {no, yes}
@DATA
1.5,green,yes
?,red,no
2.5,?,yes
"""


def recorded_responses():
    """Return what OpenML's server answers for a toy set, by the end of the address."""
    kinds = {"size": "numeric", "colour": "nominal", "class": "nominal"}
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": kind,
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "number_of_missing_values": "0",
            "is_row_identifier": "false",
        }
        for index, (name, kind) in enumerate(kinds.items())
    ]
    description = {
        "id": "7",
        "name": "toy",
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "description": "",
        "file_id": "77",
        "url": "https://api.openml.org/data/v1/download/77/toy.arff",
        "md5_checksum": hashlib.md5(ARFF).hexdigest(),
    }
    return {
        "data/7": {"data_set_description": description},
        "data/features/7": {"data_features": {"feature": features}},
        "data/qualities/7": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3.0"}]}
        },
    }


class Response(io.BytesIO):
    def info(self):
        return {}


def test_the_real_call_on_recorded_responses(monkeypatch, tmp_path):
    responses = recorded_responses()

    def urlopen(request, *args, **kwargs):
        path = request.full_url.partition("api/v1/json/")[2]
        return Response(json.dumps(responses[path]).encode() if path else ARFF)

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    monkeypatch.setitem(DATASETS, "toy", DatasetInfo(None, (3, 2, 2), openml=7))
    X, y = load_dataset("toy")
    np.testing.assert_array_equal(X, [[1.5, 1.0], [np.nan, 0.0], [2.5, np.nan]])
    np.testing.assert_array_equal(y, [1, 0, 1])
