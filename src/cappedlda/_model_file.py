"""Model files: a fitted model as an .npz archive of plain arrays, without pickle.

One entry, `header`, is JSON: what the file is, its format version, the parameters and the scalar
results. The others are arrays; `ARRAYS` names them with their shapes. Formats that were ever
written stay readable; a change that old readers would misunderstand gets a new format version.
"""

import json
import os
import zipfile
from zlib import error as ZlibError

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._cutoffs.gate import Gate
from cappedlda._files import replacing
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV

KIND = "cappedlda model"
FORMAT_VERSION = 1
ESTIMATORS = {"CappedLDA": CappedLDA, "CappedLDACV": CappedLDACV}
NUMBERS, LABELS, TEXT = "fiu", "biufU", "U"
# Classes c, features n, directions d, scores r (1 for two classes), directions that decide m.
ARRAYS = {
    "classes_": (("c",), LABELS),
    "priors_": (("c",), NUMBERS),
    "means_": (("c", "n"), NUMBERS),
    "xbar_": (("n",), NUMBERS),
    "scalings_": (("n", "d"), NUMBERS),
    "explained_variance_ratio_": (("d",), NUMBERS),
    "coef_": (("r", "n"), NUMBERS),
    "intercept_": (("r",), NUMBERS),
    "caps_": (("c",), NUMBERS),
    "objective_path_": (("evaluations",), NUMBERS),
    "_metric": (("n", "m"), NUMBERS),
}
NAMES = {"feature_names_in_": (("n",), TEXT)}
GATE = {
    "gate_centres": (("c", "n"), NUMBERS),
    "gate_scale": (("n",), NUMBERS),
    "gate_caps": (("c",), NUMBERS),
}
SCALARS = ("epsilon_", "n_iter_", "n_passes_", "status_", "n_features_in_")
CV_SCALARS = (
    "n_splits_",
    "best_index_",
    "best_multiplier_",
    "best_epsilon_",
    "best_q_",
    "best_n_components_",
    "best_score_",
)
UNREADABLE = (EOFError, KeyError, NotImplementedError, MemoryError)
MOST_BYTES = 2**30  # of an unpacked file, unless its reader allows more
ZIP = b"PK\x03\x04"  # what every .npz begins with
CV_RESULTS, PARAMETER = "cv_results_.", "parameter."  # what such entries begin with


def save_model(model: CappedLDA, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that holds no code.

    Everything is kept that `transform`, `predict`, `predict_proba` and `outlyingness` need, and
    the parameters; the results for single training rows (`weights_`, `distances_`,
    `outliers_`) are not. The file is an .npz archive of plain arrays: reading it never
    runs anything, unlike a pickle.

    Parameters
    ----------
    model : CappedLDA or CappedLDACV
        A fitted one. Labels have to be numbers, booleans or strings; a parameter that is an object,
        such as a splitter as `cv`, is refused.
    path : str or path-like
        The file, by habit with the suffix .npz. It is replaced if it exists, and only once
        the new one is complete.

    Returns
    -------
    None

    See Also
    --------
    load_model : Read it again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "iris.npz"
    >>> save_model(CappedLDA().fit(X, y), path)
    >>> load_model(path).predict(X[::50])
    array([0, 1, 2])
    >>> folder.cleanup()
    """
    write_model(path, model, {})


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> CappedLDA:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The file. It may come from anybody: nothing in it is run, and a file that is damaged,
        is something else, or needs a newer version of this library is refused with a
        ValueError.
    max_bytes : int, default=2**30
        The most that the unpacked file may take in memory; a larger one is refused before it
        is unpacked.

    Returns
    -------
    model : CappedLDA or CappedLDACV
        Fitted, but without `weights_`, `distances_` and `outliers_`.

    See Also
    --------
    save_model : Write it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "iris.npz"
    >>> save_model(CappedLDA(q=2.0).fit(X, y), path)
    >>> load_model(path)
    CappedLDA(q=2.0)
    >>> folder.cleanup()
    """
    return read_model(path, max_bytes)[0]


def write_model(path, model, notes):
    """Write a model file with notes: a dictionary of JSON values."""
    kind = type(model).__name__
    if ESTIMATORS.get(kind) is not type(model):
        known = " or ".join(ESTIMATORS)
        raise TypeError(f"model is a {kind}; only a {known} can be saved.")
    check_is_fitted(model)
    arrays = {name: plain(name, getattr(model, name)) for name in ARRAYS}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = plain("feature_names_in_", model.feature_names_in_)
    if model._gate is not None:
        arrays |= {name: getattr(model._gate, name.removeprefix("gate_")) for name in GATE}
    scalars = {name: getattr(model, name) for name in SCALARS}
    if kind == "CappedLDACV":
        scalars |= {name: getattr(model, name) for name in CV_SCALARS}
        arrays |= {CV_RESULTS + name: value for name, value in model.cv_results_.items()}
    if hasattr(model, "_norm"):  # not in files that were written before there was measure_chunks
        scalars["_norm"] = [float(number) for number in model._norm]
    parameters = model.get_params()
    for name, value in list(parameters.items()):
        if isinstance(value, np.ndarray):
            arrays[PARAMETER + name] = plain(name, parameters.pop(name))
    header = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "cappedlda": __version__,
        "estimator": kind,
        "parameters": {name: encoded(name, value) for name, value in parameters.items()},
        "results": {name: encoded(name, value) for name, value in scalars.items()},
        "notes": notes,
    }
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)


def read_model(path, max_bytes=MOST_BYTES):
    """Return the model in a file, and its notes."""
    header, arrays = read_archive(path, max_bytes)
    model = ESTIMATORS[header["estimator"]]()
    expected = dict(ARRAYS)
    if any(name in arrays for name in GATE):
        expected |= GATE
    if "feature_names_in_" in arrays:
        expected |= NAMES
    results = header["results"]
    scalars = SCALARS + (CV_SCALARS if header["estimator"] == "CappedLDACV" else ())
    check_arrays(path, arrays, expected)
    if missing := [name for name in scalars if name not in results]:
        raise damaged(path, f"{missing[0]} is missing")
    for name in scalars:
        kind = str if name == "status_" else (int, float)
        if not isinstance(results[name], kind):
            raise damaged(path, f"{name} is {results[name]!r}")
    norm = results.get("_norm", [])
    if not isinstance(norm, list) or not all(isinstance(value, float) for value in norm):
        raise damaged(path, f"_norm is {norm!r}")
    if results["n_features_in_"] != arrays["means_"].shape[1]:
        raise damaged(path, "the number of features is contradictory")
    if len(arrays["coef_"]) != (1 if len(arrays["classes_"]) == 2 else len(arrays["classes_"])):
        raise damaged(path, "coef_ does not fit the number of classes")
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in header["parameters"].items()
    }
    parameters |= parts(arrays, PARAMETER)
    try:
        model.set_params(**parameters)
    except (TypeError, ValueError):
        raise damaged(path, "its parameters are unknown") from None
    for name in scalars:
        setattr(model, name, results[name])
    if norm:
        model._norm = tuple(norm)
    for name in expected.keys() - GATE.keys():
        setattr(model, name, arrays[name])
    if "feature_names_in_" in arrays:
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
    model._gate = Gate(*(arrays[name] for name in GATE)) if "gate_scale" in arrays else None
    if header["estimator"] == "CappedLDACV":
        model.cv_results_ = parts(arrays, CV_RESULTS)
    return model, header["notes"]


def read_archive(path, max_bytes):
    """Return the header and the arrays of a model file of a version that is known."""
    try:
        # NumPy would leave a damaged file open.
        with open(path, "rb") as file:
            if file.read(len(ZIP)) != ZIP:
                raise foreign(path)
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                check_size(path, archive.zip, max_bytes)
                arrays = dict(archive)
            if not all(isinstance(array, np.ndarray) for array in arrays.values()):
                raise foreign(path)
    except (zipfile.BadZipFile, ZlibError, *UNREADABLE) as error:
        raise damaged(path, str(error) or "it ends too early") from None
    except TooLargeError:
        raise
    except ValueError:  # an object, which only pickle could read
        raise foreign(path) from None
    try:
        header = json.loads(str(arrays.pop("header")))
    except (KeyError, json.JSONDecodeError, RecursionError):
        raise foreign(path) from None
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise foreign(path)
    check_version(path, header)
    wanted = {"estimator": str, "parameters": dict, "results": dict, "notes": dict}
    for name, kind in wanted.items():
        if not isinstance(header.get(name), kind):
            raise damaged(path, f"{name} is missing")
    if header["estimator"] not in ESTIMATORS:
        raise damaged(path, f"its estimator, {header['estimator']!r}, is unknown")
    return header, arrays


class TooLargeError(ValueError):
    """A model file that unpacks to more than is allowed."""


def check_size(path, archive, max_bytes):
    """Refuse an archive that a few kilobytes on disk make a memory full."""
    # No entry can be read beyond the size that the archive's directory gives for it.
    size = sum(entry.file_size for entry in archive.infolist())
    if size > max_bytes:
        raise TooLargeError(
            f"{path} unpacks to {size:,} bytes, more than max_bytes={max_bytes:,}. If it is a "
            "model that you trust, read it by load_model with a larger max_bytes."
        )


def check_version(path, header):
    """Refuse a format that is newer than this library."""
    version = header.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(path, f"its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version}, of cappedlda {header.get('cappedlda')}; "
            f"cappedlda {__version__} reads versions up to {FORMAT_VERSION}. Update cappedlda."
        )


def check_arrays(path, arrays, expected):
    """Refuse arrays that are missing, of a wrong type, or do not fit together."""
    sizes = {}
    for name, (shape, kinds) in expected.items():
        if name not in arrays:
            raise damaged(path, f"{name} is missing")
        array = arrays[name]
        if array.dtype.kind not in kinds:
            raise damaged(path, f"{name} has the type {array.dtype}")
        if kinds is NUMBERS and np.isnan(array).any():
            raise damaged(path, f"{name} has values that are not numbers")
        if array.ndim != len(shape) or any(
            sizes.setdefault(letter, size) != size
            for letter, size in zip(shape, array.shape, strict=True)
        ):
            raise damaged(path, f"{name} has the shape {array.shape}")
    if sizes["c"] < 2:
        raise damaged(path, "it has fewer than two classes")


def parts(arrays, prefix):
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def plain(name, value):
    """Return an array that can be stored without pickle; strings become unicode arrays."""
    array = np.asarray(value)
    if array.dtype.kind in "OT" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(np.str_)
    if array.dtype.kind not in LABELS:
        raise ValueError(
            f"{name} has the type {array.dtype}, which cannot be stored without pickle; "
            "use numbers, booleans or strings."
        )
    return array


def encoded(name, value):
    """Return a value as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        json.dumps(value)
    except TypeError:
        raise ValueError(
            f"{name}={value!r} cannot be stored without pickle; before saving, set it to a "
            "number, a string or an array with set_params."
        ) from None
    return value


def foreign(path):
    """Return the error for a file that never was a model."""
    return ValueError(f"{path} is not a model of cappedlda; write one with save_model.")


def damaged(path, reason):
    """Return the error for a model file that is not what was written."""
    return ValueError(f"{path} is damaged: {reason}. Save the model again.")
