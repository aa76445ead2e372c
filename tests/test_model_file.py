"""Model files: what is written comes back, other files are refused."""

import json
import pickle
import zipfile
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import cappedlda
from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA, load_model, save_model
from cappedlda._model_file import FORMAT_VERSION, checksum, read_model, write_model
from cappedlda.paper import CLDA


def example_rows():
    """Two classes on a curve, with one row far off; no random numbers."""
    t = np.linspace(0.0, 6.0, 40)
    y = np.where(np.arange(40) % 2, "böse", "gut")
    X = np.column_stack([np.sin(t), np.cos(3.0 * t), t * t / 36.0]) + 3.0 * (y == "gut")[:, None]
    X[7] = [50.0, -50.0, 50.0]
    return X, y


def example_model():
    import pandas as pd

    X, y = example_rows()
    return CappedLDA(epsilon=4.0).fit(pd.DataFrame(X, columns=["sin", "cos", "square"]), y)


def answers(model, X, y):
    return {
        "transform": model.transform(X),
        "predict": model.predict(X),
        "predict_proba": model.predict_proba(X),
        "outlyingness": model.outlyingness(X, y),
        "unlabelled": model.outlyingness(X),
        "explain": model.explain(X, y, rows="all").to_numpy(),
    }


def assert_same_answers(model, other, X, y):
    expected = answers(other, X, y)
    for name, value in answers(model, X, y).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def assert_same_state(model, other):
    """Check that two models have the same parameters and fitted attributes, bit for bit."""
    assert repr(model) == repr(other)
    assert vars(model).keys() == vars(other).keys()
    for name, value in vars(other).items():
        found = getattr(model, name)
        if name == "_gate":
            found, value = (gate and asdict(gate) for gate in (found, value))
        np.testing.assert_equal(found, value, err_msg=name)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7, 9]),
        np.array(["a", "ß", "much longer"]),
        np.array(["a", "ß", "much longer"], dtype=object),
        np.array([0.5, 1.5, 2.5]) * 2.0,
    ],
    ids=["int", "str", "object", "float"],
)
@pytest.mark.parametrize(
    "model",
    [
        CappedLDA(),
        CappedLDA(n_components=3),
        CappedLDA(epsilon=np.inf),
        CappedLDA(priors=np.array([0.2, 0.3, 0.5])),
        CappedNormLDA(q=1.5),
        CappedLDACV(n_components="all", multipliers=(1.0, np.inf), cv=3),
    ],
    ids=["default", "extra", "no cap", "array", "norm", "cv"],
)
def test_what_is_saved_comes_back(model, labels, dirty, tmp_path):
    X, codes, _ = dirty
    y = labels[codes]
    model.fit(X, y)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    assert_same_answers(loaded, model, X, y)
    lost = {"weights_", "distances_", "outliers_", "left_out_"}
    assert set(vars(loaded)) == set(vars(model)) - lost
    for name, value in vars(model).items():
        if name not in lost | {"_gate", "cv_results_"}:
            np.testing.assert_equal(getattr(loaded, name), value, err_msg=name)
    if hasattr(model, "cv_results_"):
        assert loaded.cv_results_.keys() == model.cv_results_.keys()
        for name, value in model.cv_results_.items():
            np.testing.assert_array_equal(loaded.cv_results_[name], value)


def test_two_classes_and_names(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = example_rows()
    save_model(example_model(), tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.feature_names_in_.tolist() == ["sin", "cos", "square"]
    assert loaded.feature_names_in_.dtype == object
    frame = pd.DataFrame(X, columns=loaded.feature_names_in_)
    assert_same_answers(loaded, example_model(), frame, y)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"sin": "tan"}))


def test_a_loaded_model_can_be_saved_again(dirty, tmp_path):
    X, y, _ = dirty
    save_model(CappedLDA().fit(X, y), tmp_path / "first.npz")
    save_model(load_model(tmp_path / "first.npz"), tmp_path / "second.npz")
    first, second = (np.load(tmp_path / f"{name}.npz") for name in ("first", "second"))
    assert first.files == second.files
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name])
    first.close()
    second.close()


def test_chunks(dirty, tmp_path):
    X, y, spoilt = dirty

    def chunks():
        yield X[:70], y[:70]
        yield X[70:], y[70:]

    save_model(CappedLDA().fit_chunks(chunks), tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    flags = np.concatenate([samples.outliers for samples in loaded.measure_chunks(chunks)])
    np.testing.assert_array_equal(flags, spoilt)


def test_notes(dirty, tmp_path):
    X, y, _ = dirty
    write_model(tmp_path / "model.npz", CappedLDA().fit(X, y), {"target": "kind"})
    assert read_model(tmp_path / "model.npz")[1] == {"target": "kind"}


@pytest.fixture
def saved(dirty, tmp_path):
    X, y, _ = dirty
    path = tmp_path / "model.npz"
    save_model(CappedLDA().fit(X, y), path)
    return path


RESULTS = {"epsilon_": 5.0, "leave_out_level_": 1.0, "n_sampled_": 0, "n_iter_": 1, "n_passes_": 2}
RESULTS |= {"status_": "", "n_features_in_": 6}


EMPTY = {
    "means_": np.zeros((3, 0)),
    "xbar_": np.zeros(0),
    "scalings_": np.zeros((0, 2)),
    "coef_": np.zeros((3, 0)),
    "_metric": np.zeros((0, 2)),
    "_metric_centres": np.zeros((3, 0)),
    "_support_metric": np.zeros((0, 2)),
    "_support_centres": np.zeros((3, 0)),
    "gate_centres": np.zeros((3, 0)),
    "gate_scale": np.zeros(0),
    "_covariance": np.zeros((0, 0)),
    "calibration_whitener": np.zeros((0, 6)),
    "calibration_flat": np.zeros(0, bool),
}


def rewrite(path, header=None, drop=(), **arrays):
    """Change some entries of a model file."""
    with np.load(path) as archive:
        content = dict(archive)
    if header is not None:
        content["header"] = np.array(json.dumps(json.loads(str(content["header"])) | header))
    content |= arrays
    content = {name: value for name, value in content.items() if name not in drop}
    content.pop("checksum")
    if all(value.dtype != object for value in content.values()):
        content["checksum"] = np.array(checksum(content))
    np.savez(path, **content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": {"kind": "soup"}}, "is not a model of cappedlda"),
        ({"header": {"format_version": FORMAT_VERSION + 1}}, "Update cappedlda"),
        ({"header": {"format_version": "x"}}, "damaged: its format version is 'x'"),
        ({"header": {"results": None}}, "damaged: results is missing"),
        ({"header": {"results": {}}}, "damaged: epsilon_ is missing"),
        ({"header": {"results": RESULTS | {"epsilon_": "x"}}}, "damaged: epsilon_ is 'x'"),
        ({"header": {"results": RESULTS | {"_norm": 1}}}, "damaged: _norm is 1"),
        ({"header": {"estimator": "Soup"}}, "estimator, 'Soup', is unknown"),
        ({"header": {"parameters": {"soup": 1}}}, "its parameter 'soup' is unknown"),
        ({"header": {"estimator": "CappedLDACV"}}, "n_splits_ is missing"),
        ({"drop": ["header"]}, "is not a model of cappedlda"),
        ({"drop": ["means_"]}, "damaged: means_ is missing"),
        ({"drop": ["gate_scale"]}, "damaged: gate_scale is missing"),
        ({"means_": np.zeros((3, 5))}, r"xbar_ has the shape \(6,\)"),
        ({"coef_": np.zeros((1, 6)), "intercept_": np.zeros(1)}, "coef_ does not fit"),
        ({"xbar_": np.full(6, np.nan)}, "xbar_ has to be finite"),
        ({"xbar_": np.array(["x"] * 6)}, "xbar_ has the type <U1"),
        ({"priors_": np.ones((3, 1))}, "priors_ has the shape"),
        ({"classes_": np.array([0, 1, 2], dtype=object)}, "is not a model of cappedlda"),
        ({"header": {"parameters": {"priors__x": 1}}}, "its parameter 'priors__x' is unknown"),
        ({"header": {"results": RESULTS | {"_norm": [1.0]}}}, "_norm has to be an exponent"),
        ({"header": {"results": RESULTS | {"_norm": [1.0, np.nan]}}}, "_norm has to be"),
        ({"header": {"results": RESULTS | {"_norm": [0.0, 1.0]}}}, "_norm has to be"),
        ({"header": {"results": RESULTS | {"epsilon_": 0}}}, "epsilon_ has to be above 0"),
        ({"header": {"results": RESULTS | {"epsilon_": 10**400}}}, "epsilon_ has to be above 0"),
        ({"header": {"results": RESULTS | {"n_iter_": True}}}, "n_iter_ is True"),
        ({"header": {"results": RESULTS | {"n_features_in_": 7}}}, "number of features"),
        ({"coef_": np.full((3, 6), np.inf)}, "coef_ has to be finite"),
        ({"coef_": np.ones((3, 6))}, "intercept_ does not fit coef_ and means_"),
        ({"coef_": np.zeros((3, 6), np.longdouble)}, "coef_ has the type"),
        ({"intercept_": np.ones(3)}, "intercept_ does not fit"),
        ({"means_": np.full((3, 6), 1e308)}, "xbar_ is not the mean of means_"),
        ({"scalings_": np.eye(6)[:, :2]}, "coef_ does not fit scalings_"),
        ({"priors_": np.array([0.5, 0.6, -0.1])}, "priors_ has to be above 0 with the sum 1"),
        ({"priors_": np.full(3, 0.5)}, "priors_ has to be above 0 with the sum 1"),
        ({"classes_": np.array([2, 1, 0])}, "classes_ has to be different and in order"),
        ({"classes_": np.array([0, 0, 1])}, "classes_ has to be different and in order"),
        ({"caps_": np.zeros(3)}, "caps_ has to be above 0"),
        ({"caps_": np.full(3, np.nan)}, "caps_ has to be above 0"),
        ({"gate_scale": np.zeros(6)}, "gate_scale has to be above 0 and finite"),
        ({"gate_scale": np.full(6, np.inf)}, "gate_scale has to be above 0 and finite"),
        ({"gate_caps": np.full(3, -1.0)}, "gate_caps has to be above 0"),
        ({"explained_variance_ratio_": np.array([2.0, 0.0])}, "ratio_ has to be from 0 to 1"),
        ({"feature_names_in_": np.array(["a"] * 6)}, "feature_names_in_ has to be different"),
        ({"_covariance": -np.eye(6)}, "_covariance has to be a covariance"),
        ({"_covariance": np.tri(6)}, "_covariance has to be a covariance"),
        ({"_covariance": np.full((6, 6), np.nan)}, "_covariance has to be a covariance"),
        ({"calibration_own": np.full(3, -1.0)}, "calibration_own has the shape"),
        ({"calibration_weights": np.zeros(135)}, "calibration_weights has "),
        ({"_class_counts": -np.ones((3, 3))}, "_class_counts has to be three numbers"),
        ({"_class_counts": np.ones((3, 2))}, "_class_counts has to be three numbers"),
        (dict(EMPTY), "it has no features"),
    ],
)
def test_other_content_is_refused(change, message, saved):
    rewrite(saved, **change)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(saved)
    assert str(saved) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"sin,cos\n1,2\n",
        pickle.dumps({"a": 1}),
        b"\x93NUMPY nonsense",
        b"PK",
        b"PK\x03\x04 bits",
    ],
    ids=["empty", "csv", "pickle", "npy", "short", "zip"],
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a model of cappedlda|is damaged"):
        load_model(path)


def test_npy_and_foreign_zip_are_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    for name in ("array.npy", "zip.npz"):
        with pytest.raises(ValueError, match="is not a model of cappedlda"):
            load_model(tmp_path / name)


def test_entries_that_are_no_arrays_are_refused(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(ValueError, match="is not a model of cappedlda"):
        load_model(saved)


def test_a_file_that_unpacks_to_too_much_is_refused(saved, monkeypatch):
    """A few kilobytes of zeros must not fill the memory."""
    with zipfile.ZipFile(saved) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    load_model(saved, max_bytes=size)
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", None)  # nothing may be unpacked
    with pytest.raises(
        ValueError, match=f"model.npz cannot be read: it unpacks to {size:,} bytes, more than max_"
    ):
        load_model(saved, max_bytes=size - 1)


def test_a_bomb_is_refused(saved):
    with (
        zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.npy", "w", force_zip64=True) as entry,
    ):
        for _ in range(33):
            entry.write(bytes(2**25))
    assert saved.stat().st_size < 3_000_000
    with pytest.raises(ValueError, match="unpacks to"):
        load_model(saved)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.99])
def test_truncated_file_is_refused(share, saved):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"model\.npz is damaged"):
        load_model(saved)


@pytest.mark.parametrize("lost", [[], ["checksum"]], ids=["wrong", "none"])
def test_an_entry_too_many_is_refused_by_the_checksum(saved, lost):
    with np.load(saved) as archive:
        content = {name: value for name, value in archive.items() if name not in lost}
    np.savez(saved, **content, more=np.zeros(1))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        load_model(saved)


def test_a_later_version_may_have_more_fields(saved):
    coef = load_model(saved).coef_
    rewrite(saved, more_=np.zeros(1))
    np.testing.assert_array_equal(load_model(saved).coef_, coef)


def test_changed_bytes_are_found_or_harmless(dirty, tmp_path, rng):
    """Every change of a byte is refused with a ValueError of one line, or changes nothing."""
    path = tmp_path / "model.npz"
    save_model(CappedLDA().fit(*dirty[:2]), path)
    model = load_model(path)
    content = bytearray(path.read_bytes())
    n_changes, harmless, messages = 1500, 0, []
    for place in rng.integers(len(content), size=n_changes):
        before = content[place]
        content[place] = before ^ rng.integers(1, 256)
        path.write_bytes(content)
        content[place] = before
        try:
            loaded = load_model(path)
        except ValueError as error:
            messages.append(str(error))
        else:  # a bit of the date or the like
            harmless += 1
            assert_same_state(loaded, model)
    assert all(str(path) in message and "\n" not in message for message in messages)
    # A third of a small archive are dates, offsets of the names in it, and the like.
    assert harmless < 0.4 * n_changes


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (CappedLDA(random_state=np.random.RandomState(0)), ValueError, "random_state=RandomState"),
        (CappedLDACV(multipliers=(1.0,), cv=KFold(2)), ValueError, "cv=KFold"),
        (LinearDiscriminantAnalysis(), TypeError, "model is a LinearDiscriminantAnalysis"),
        (CLDA(epsilon=np.inf), TypeError, "model is a CLDA; only one of CappedLDA, "),
    ],
)
def test_what_cannot_be_saved_is_refused(model, error, message, dirty, tmp_path):
    X, y, _ = dirty
    model.fit(X, y)
    with pytest.raises(error, match=message):
        save_model(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_unfitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(CappedLDA(), tmp_path / "model.npz")


def test_a_failed_save_leaves_the_old_file(saved, dirty, monkeypatch):
    X, y, _ = dirty
    before = saved.read_bytes()

    def full_disk(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_model(CappedLDA(epsilon=3.0).fit(X, y), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_the_file_tells_its_version(saved):
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(str(archive["header"]))
    assert header["cappedlda"] == cappedlda.__version__
    assert header["format_version"] == FORMAT_VERSION
