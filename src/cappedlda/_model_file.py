"""Model files: a fitted model as an .npz archive of plain arrays, without pickle.

One entry, `header`, is JSON: what the file is, its format version, the parameters and the scalar
results. Another, `checksum`, is that of all others. What else there is `_model_fields` lists.
A change that readers would misunderstand gets a new format version.
"""

import hashlib
import json
import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cappedlda._cutoffs.gate import Gate
from cappedlda._estimator import CappedDiscriminant
from cappedlda._files import ArrayFileError, read_npz, replacing
from cappedlda._fit.calibration import Calibration
from cappedlda._model_fields import (
    CALIBRATION,
    CV_FIELDS,
    FIELDS,
    GATE,
    LABELS,
    NUMBERS,
    contradiction,
)
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV
from cappedlda.norm import CappedNormLDA

KIND = "cappedlda model"
FORMAT_VERSION = 1
ESTIMATORS = {kind.__name__: kind for kind in (CappedLDA, CappedLDACV, CappedNormLDA)}
MOST_BYTES = 2**30  # of an unpacked file, unless its reader allows more
# Attributes that are made of several entries, and what makes them.
GROUPS = (
    ("_gate", GATE, Gate),
    ("_calibration", CALIBRATION, lambda *parts: Calibration(*parts)._asdict()),
)
CV_RESULTS, PARAMETER = "cv_results_.", "parameter."  # what such entries begin with


def save_model(model: CappedDiscriminant, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that holds no code.

    Everything is kept that `transform`, `predict`, `predict_proba`, `outlyingness`, `is_rejected`
    and `explain` need, and the parameters; the results for single training rows (`weights_`,
    `distances_`, `outliers_`) are not. The file is an .npz archive of plain arrays: reading it
    never runs anything, unlike a pickle.

    Parameters
    ----------
    model : CappedLDA, CappedLDACV or CappedNormLDA
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


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> CappedDiscriminant:
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
    model : CappedLDA, CappedLDACV or CappedNormLDA
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
    >>> save_model(CappedLDA(epsilon=3.0).fit(X, y), path)
    >>> load_model(path)
    CappedLDA(epsilon=3.0)
    >>> folder.cleanup()
    """
    return read_model(path, max_bytes)[0]


def write_model(path, model, notes):
    """Write a model file with notes: a dictionary of JSON values."""
    kind = type(model).__name__
    if ESTIMATORS.get(kind) is not type(model):
        known = ", ".join(ESTIMATORS)
        raise TypeError(f"model is a {kind}; only one of {known} can be saved.")
    check_is_fitted(model)
    arrays, scalars = fitted_values(model)
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
    entries = {"header": np.array(json.dumps(header)), **arrays}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **entries, checksum=np.array(checksum(entries)))


def fitted_values(model):
    """Return the fitted attributes of a model that are arrays, and those that are scalars."""
    cv = isinstance(model, CappedLDACV)
    fields = [f for f in own_fields(cv) if getattr(model, f.name, None) is not None]
    arrays = {f.name: plain(f.name, getattr(model, f.name)) for f in fields if f.shape is not None}
    scalars = {f.name: getattr(model, f.name) for f in fields if f.shape is None}
    for group, value in ((GATE, model._gate), (CALIBRATION, model._calibrated())):
        if value is not None:
            arrays |= {f.name: getattr(value, f.name.partition("_")[2]) for f in group}
    if cv:
        arrays |= {CV_RESULTS + name: value for name, value in model.cv_results_.items()}
    return arrays, scalars


def own_fields(cv):
    """Return the fields that are attributes of the estimator itself."""
    return FIELDS + (CV_FIELDS if cv else ())


def checksum(entries):
    """Return the SHA-256 of arrays by their names; it finds damage, not forgery."""
    digest = hashlib.sha256()
    for name in sorted(entries):
        array = entries[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def read_model(path, max_bytes=MOST_BYTES):
    """Return the model in a file, and its notes."""
    header, arrays = read_archive(path, max_bytes)
    model = ESTIMATORS[header["estimator"]]()
    cv = isinstance(model, CappedLDACV)
    values = checked_values(path, {**header["results"], **arrays}, cv)
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in header["parameters"].items()
    }
    parameters |= parts(arrays, PARAMETER)
    if unknown := parameters.keys() - model.get_params(deep=False).keys():
        raise damaged(path, f"its parameter {min(unknown)!r} is unknown")
    model.set_params(**parameters)
    for attribute, group, make in GROUPS:
        found = [values.pop(field.name, None) for field in group]
        setattr(model, attribute, None if found[0] is None else make(*found))
    if cv:
        model.cv_results_ = checked_results(path, parts(arrays, CV_RESULTS), values["best_index_"])
    vars(model).update(values)
    return model, header["notes"]


def checked_values(path, found, cv):
    """Return the values of the fields, or refuse what is missing, wrong or contradicts itself."""
    values, sizes, fields = {}, {}, own_fields(cv)
    for _, group, _ in GROUPS:  # all of it or nothing
        fields += group if any(field.name in found for field in group) else ()
    for field in fields:
        if field.name in found:
            values[field.name] = found[field.name]
        elif not field.optional:
            raise damaged(path, f"{field.name} is missing")
        else:
            continue
        if problem := field.problem(values[field.name], sizes):
            raise damaged(path, problem)
        if field.kind is NUMBERS:
            values[field.name] = values[field.name].astype(np.float64, copy=False)
    if problem := contradiction(values, sizes):
        raise damaged(path, problem)
    if "feature_names_in_" in values:
        values["feature_names_in_"] = values["feature_names_in_"].astype(object)
    if "_norm" in values:
        values["_norm"] = tuple(values["_norm"])
    return dict.fromkeys(("_support_gate", "_covariance", "_norm")) | values


def checked_results(path, results, best):
    """Return the table of cross-validation, if each column has a value for each candidate."""
    shapes = {column.shape for column in results.values()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 1 or shape[0] <= best:
        raise damaged(path, "cv_results_ has columns of wrong lengths")
    return results


def read_archive(path, max_bytes):
    """Return the header and the arrays of a model file of a version that is known."""
    entries = read_entries(path, max_bytes)
    try:
        header = json.loads(str(entries["header"]))
    except (KeyError, ValueError, RecursionError):
        raise foreign(path) from None
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise foreign(path)
    check_version(path, header)
    check_checksum(path, entries)
    wanted = {"estimator": str, "parameters": dict, "results": dict, "notes": dict}
    for name, kind in wanted.items():
        if not isinstance(header.get(name), kind):
            raise damaged(path, f"{name} is missing")
    if header["estimator"] not in ESTIMATORS:
        raise damaged(path, f"its estimator, {header['estimator']!r}, is unknown")
    return header, entries


def read_entries(path, max_bytes):
    """Return all arrays in an .npz file by their names."""

    def check(archive):
        check_size(path, archive, max_bytes)
        check_directory(path, archive)

    try:
        return read_npz(path, check=check)
    except TooLargeError:
        raise
    except ArrayFileError as error:
        raise (foreign(path) if error.foreign else damaged(path, error.reason)) from error


def check_checksum(path, entries):
    """Refuse entries that are not those that were written."""
    if str(entries.pop("checksum", None)) != checksum(entries):
        raise damaged(path, "its checksum is wrong")


class TooLargeError(ArrayFileError):
    """A model file that unpacks to more than is allowed."""


def check_size(path, archive, max_bytes):
    """Refuse an archive that a few kilobytes on disk make a memory full."""
    # No entry can be read beyond the size that the archive's directory gives for it.
    size = sum(entry.file_size for entry in archive.infolist())
    if size > max_bytes:
        reason = (
            f"it unpacks to {size:,} bytes, more than max_bytes={max_bytes:,}; if it is a model "
            "that you trust, read it by load_model with a larger max_bytes"
        )
        raise TooLargeError(path, reason, foreign=True)


def check_directory(path, archive):
    """Refuse a directory in which an entry has swallowed others."""
    # A comment there is not, and the sizes of huge entries take up to 28 bytes; one entry, 46.
    if any(entry.comment or len(entry.extra) > 28 for entry in archive.infolist()):
        raise ArrayFileError(path, "its list of entries is incomplete")


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
