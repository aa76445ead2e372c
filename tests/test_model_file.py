"""Model files: what is written comes back, and other files are refused."""

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


RULES = {"_flag_rule", "_leave_out_rule"}


def assert_same_state(model, other):
    """Check that two models have the same parameters and fitted attributes, bit for bit."""
    assert repr(model) == repr(other)
    assert vars(model).keys() == vars(other).keys()
    for name, value in vars(other).items():
        found = getattr(model, name)
        if name in RULES:
            found, value = asdict(found), asdict(value)
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
        CappedLDACV(n_components="all", multipliers=(1.0, np.inf), cv=3),
        CappedNormLDA(q=1.5),
    ],
    ids=["default", "extra", "no cap", "array", "cv", "norm"],
)
def test_what_is_saved_comes_back(model, labels, dirty, tmp_path):
    X, codes, _ = dirty
    y = labels[codes]
    model.fit(X, y)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    assert_same_answers(loaded, model, X, y)
    lost = {"weights_", "distances_", "outliers_", "left_out_", "_wrong_cells"}
    lost |= {"_calibrator", "_cell_cache", "_make_covariance"}
    cells = {"_cell_cuts", "_cell_cache", "_wrong_shares"}  # only some estimators set them
    assert set(vars(loaded)) - cells == set(vars(model)) - lost - cells
    np.testing.assert_array_equal(loaded.cell_cuts_, model.cell_cuts_)
    for name, value in vars(model).items():
        if name not in lost | RULES | {"cv_results_"}:
            np.testing.assert_equal(getattr(loaded, name), value, err_msg=name)
    for name in RULES:
        np.testing.assert_equal(asdict(getattr(loaded, name)), asdict(getattr(model, name)))
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
    write_model(tmp_path / "model.npz", CappedLDA().fit(X, y), notes={"target": "kind"})
    assert read_model(tmp_path / "model.npz")[2] == {"target": "kind"}


@pytest.fixture
def saved(dirty, tmp_path):
    X, y, _ = dirty
    path = tmp_path / "model.npz"
    save_model(CappedLDA().fit(X, y), path)
    return path


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
        ({"header": {"format_version": FORMAT_VERSION + 1}}, "Install the version that wrote it"),
        ({"header": {"results": None}}, "damaged: results is missing"),
        ({"header": {"results": {}}}, "damaged: epsilon_ is missing"),
        ({"header": {"results": {"epsilon_": "x"}}}, "damaged: epsilon_ is 'x'"),
        ({"header": {"results": {"epsilon_": True}}}, "damaged: epsilon_ is True"),
        ({"header": {"estimator": "Soup"}}, "estimator, 'Soup', is unknown"),
        ({"header": {"estimator": "CappedLDACV"}}, "n_splits_ is missing"),
        ({"header": {"parameters": {"soup": 1}}}, "its parameter 'soup' is unknown"),
        ({"header": {"parameters": {"solver__x": 1}}}, "its parameter 'solver__x' is unknown"),
        ({"header": {"recipe": {"numbers": []} | {"soup": 1}}}, "its recipe is incomplete"),
        ({"drop": ["header"]}, "is not a model of cappedlda"),
        ({"drop": ["means_"]}, "damaged: means_ is missing"),
        ({"drop": ["gate_scale"]}, "damaged: gate_scale is missing"),
        ({"means_": np.zeros((3, 5))}, r"xbar_ has the shape \(6,\)"),
        ({"priors_": np.ones((3, 1))}, "priors_ has the shape"),
        ({"xbar_": np.full(6, np.nan)}, "xbar_ is not finite"),
        ({"xbar_": np.array(["x"] * 6)}, "xbar_ has the type <U1"),
        ({"classes_": np.array([0, 1, 2], dtype=object)}, "is not a model of cappedlda"),
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


def test_a_file_that_unpacks_to_too_much_is_refused(saved, spy):
    """A few kilobytes of zeros must not fill the memory."""
    with zipfile.ZipFile(saved) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    load_model(saved, max_bytes=size)
    unpacked = spy(np.lib.npyio.NpzFile, "__getitem__")
    with pytest.raises(
        ValueError, match=f"model.npz cannot be read: it unpacks to {size:,} bytes, more than max_"
    ):
        load_model(saved, max_bytes=size - 1)
    assert not unpacked


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


def test_a_checksum_finds_what_was_added_and_must_be_there(saved):
    with np.load(saved) as archive:
        content = dict(archive)
    np.savez(saved, **content, more=np.zeros(1))
    with pytest.raises(ValueError, match="its checksum is wrong"):
        load_model(saved)
    del content["checksum"]
    np.savez(saved, **content)
    with pytest.raises(ValueError, match="its checksum is wrong"):
        load_model(saved)


def test_changed_bytes_are_found_or_harmless(dirty, tmp_path, rng):
    """Every change of a byte is refused with a ValueError of one line, or changes nothing."""
    n_changes = 1500
    path = tmp_path / "model.npz"
    save_model(CappedLDA().fit(*dirty[:2]), path)
    model = load_model(path)
    content = bytearray(path.read_bytes())
    harmless, messages = 0, []
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
        save_model(CappedLDA(n_components=1).fit(X, y), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_the_file_tells_its_version(saved):
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(str(archive["header"]))
    assert header["cappedlda"] == cappedlda.__version__
    assert header["format_version"] == FORMAT_VERSION
