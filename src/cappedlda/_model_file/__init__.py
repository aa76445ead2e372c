"""Model files: a fitted model as an .npz archive of plain arrays, without pickle.

The entry `header` is JSON, `checksum` is that of all others, and `fields` lists the rest.
"""

import hashlib
import json
import os
from dataclasses import replace

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cappedlda._estimator import CappedDiscriminant
from cappedlda._loo.calibration import Calibration
from cappedlda._loo.labels import LabelRule
from cappedlda._model_file.fields import (
    CALIBRATION,
    CV_FIELDS,
    FIELDS,
    GATE,
    GROUPS,
    LABEL_RULE,
    LABELS,
    RULES,
)
from cappedlda._model_file.recipe import Category, Log, RawTable, Recipe
from cappedlda._rules.rule import Gate, RowRule
from cappedlda._util.files import ArrayFileError, read_npz, replacing
from cappedlda._version import __version__
from cappedlda.capped import CappedLDA
from cappedlda.cv import CappedLDACV
from cappedlda.norm import CappedNormLDA

KIND = "cappedlda model"
FORMAT_VERSION = 1
ESTIMATORS = {kind.__name__: kind for kind in (CappedLDA, CappedLDACV, CappedNormLDA)}
MOST_BYTES = 2**30  # of an unpacked file, unless its reader allows more
RECIPE_PARTS = {"categories": Category, "logs": Log}  # lists of a recipe, and what is in them
HEADER = {"estimator": str, "parameters": dict, "results": dict, "recipe": dict, "notes": dict}


def save_model(model: CappedDiscriminant, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that holds no code.

    It is an .npz archive of plain arrays. It keeps all that the methods of the model need, but not
    the results for each training row (`weights_`, `distances_`, `outliers_` and `left_out_`).

    Parameters
    ----------
    model : CappedLDA, CappedLDACV or CappedNormLDA
        A fitted one. Labels must be numbers, booleans or strings. A parameter that is an object,
        such as a splitter as `cv`, is an error.
    path : str or path-like
        The file, usually with the suffix .npz. An older file is replaced once the new one is
        complete.

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
    write_model(path, model)


def load_model(
    path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES
) -> CappedDiscriminant | Pipeline:
    """Read a model that `save_model` or the command `cappedlda fit` wrote.

    A model fitted by ``cappedlda fit`` with ``--encode``, ``--categories``, ``--impute`` or
    ``--log`` comes back as a pipeline that takes raw tables: data frames with the columns of the
    training file, in any order, with text and gaps. Its last step is the discriminant.

    Parameters
    ----------
    path : str or path-like
        The file. It may come from anybody: nothing in it is run, and a file that is damaged,
        is something else, or needs another version of this library raises a ValueError.
    max_bytes : int, default=2**30
        Largest size of the unpacked file; a larger one is refused before it is unpacked.

    Returns
    -------
    model : CappedLDA, CappedLDACV, CappedNormLDA, or Pipeline
        The fitted model, without the results for each training row.

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
    >>> save_model(CappedLDA(n_components=1).fit(X, y), path)
    >>> load_model(path)
    CappedLDA(n_components=1)
    >>> folder.cleanup()
    """
    model, recipe, notes = read_model(path, max_bytes)
    if recipe.plain:
        return model
    raw_table = RawTable(recipe, notes.get("n_columns"))
    return Pipeline([("recipe", raw_table), ("discriminant", model)])


def write_model(path, model, recipe=None, notes=None):
    """Write a model file with a `Recipe`, and notes of the command line: JSON values."""
    kind = type(model).__name__
    if ESTIMATORS.get(kind) is not type(model):
        known = " or ".join(ESTIMATORS)
        raise TypeError(
            f"model is a {kind}; only a {known} can be saved. Save a pipeline with joblib or skops."
        )
    check_is_fitted(model)
    found = fitted_values(model)
    fields = [field for field in sum(GROUPS, own_fields(model)) if field.name in found]
    arrays = {f.name: plain(f.name, found[f.name]) for f in fields if f.shape is not None}
    header = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "cappedlda": __version__,
        "estimator": kind,
        "parameters": {name: encoded(name, value) for name, value in model.get_params().items()},
        "results": {f.name: encoded(f.name, found[f.name]) for f in fields if f.shape is None},
        "recipe": recipe_lists(recipe),
        "notes": notes or {},
    }
    entries = {"header": np.array(json.dumps(header)), **arrays}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **entries, checksum=np.array(checksum(entries)))


def recipe_lists(recipe):
    if recipe is None:
        return {}
    return {
        name: [part._asdict() for part in value] if name in RECIPE_PARTS else value
        for name, value in recipe._asdict().items()
    }


def recipe_of(path, lists):
    if not lists:
        return Recipe([])
    try:
        parts = {n: [kind(**item) for item in lists[n]] for n, kind in RECIPE_PARTS.items()}
        return Recipe(**(lists | parts))
    except (KeyError, TypeError):
        raise damaged(path, "its recipe is incomplete") from None


def fitted_values(model):
    """Return what is stored of a model by the names of the fields."""
    flag, leave_out = model._flag_rule, model._leave_out_rule
    gate = None if leave_out.gate is None else leave_out.gate.caps
    rules = flag.W, flag.centres, leave_out.W, leave_out.centres, leave_out.caps, gate
    found = {field.name: getattr(model, field.name, None) for field in own_fields(model)}
    found |= dict(zip([field.name for field in RULES], rules, strict=True))
    found["_cell_cuts"] = model.cell_cuts_  # chosen now if they were not asked for before
    parts = flag.gate, model._calibration, getattr(model, "_label_rule", None)
    for group, part in zip(GROUPS, parts, strict=True):
        if part is not None:
            found |= {f.name: getattr(part, f.name.partition("_")[2]) for f in group}
    return {name: value for name, value in found.items() if value is not None}


def own_fields(model):
    return FIELDS + RULES + (CV_FIELDS if isinstance(model, CappedLDACV) else ())


def set_rules(model, values):
    """Set the rules of a model by values of fields, which are taken out of them."""
    *flag, W, centres, caps, gate_caps = (values.pop(field.name, None) for field in RULES)
    gate = group_of(values, GATE, Gate)
    model._flag_rule = RowRule(*flag, values["caps_"], gate)
    gate = replace(gate, caps=gate_caps) if gate and gate_caps is not None else None
    model._leave_out_rule = RowRule(W, centres, caps, gate)


def group_of(values, group, make):
    found = [values.pop(field.name, None) for field in group]
    return None if found[0] is None else make(*found)


def checksum(entries):
    """Return the SHA-256 of arrays by their names; it finds damage, not forgery."""
    digest = hashlib.sha256()
    for name in sorted(entries):
        array = entries[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def read_model(path, max_bytes=MOST_BYTES):
    header, arrays = read_archive(path, max_bytes)
    model = ESTIMATORS[header["estimator"]]()
    values = checked_values(path, with_tuples(header["results"]) | arrays, own_fields(model))
    parameters = with_tuples(header["parameters"])
    if unknown := parameters.keys() - model.get_params(deep=False).keys():
        raise damaged(path, f"its parameter {min(unknown)!r} is unknown")
    model.set_params(**parameters)
    set_rules(model, values)
    model._calibration = group_of(values, CALIBRATION, Calibration)
    if "label_status_" in values:
        model._label_rule = group_of(values, LABEL_RULE, LabelRule)
    if "cv_results_" in values:
        values["cv_results_"] = {k: np.array(v) for k, v in values["cv_results_"].items()}
    if "feature_names_in_" in values:
        values["feature_names_in_"] = values["feature_names_in_"].astype(object)
    vars(model).update(values, n_features_in_=values["means_"].shape[1])
    return model, recipe_of(path, header["recipe"]), header["notes"]


def with_tuples(values):
    """Return values of JSON with tuples, as Python had them, in place of lists."""
    return {k: tuple(value) if isinstance(value, list) else value for k, value in values.items()}


def checked_values(path, found, fields):
    """Return the values of the fields, or refuse one that is missing or of another kind."""
    values, sizes = {}, {}
    for group in GROUPS:
        fields += group if any(field.name in found for field in group) else ()
    for field in fields:
        if field.name not in found:
            if not field.optional:
                raise damaged(path, f"{field.name} is missing")
            if field.name.startswith("_"):  # a public attribute is not there at all
                values[field.name] = None
            continue
        values[field.name] = found[field.name]
        if problem := field.problem(values[field.name], sizes):
            raise damaged(path, problem)
    return values


def read_archive(path, max_bytes):
    entries = read_entries(path, max_bytes)
    try:
        header = json.loads(str(entries["header"]))
    except (KeyError, ValueError, RecursionError):
        raise foreign(path) from None
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise foreign(path)
    if str(entries.pop("checksum", "")) != checksum(entries):
        raise damaged(path, "its checksum is wrong")
    if header.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {header.get('format_version')!r}, of cappedlda "
            f"{header.get('cappedlda')}; cappedlda {__version__} reads version {FORMAT_VERSION}. "
            "Install the version that wrote it, or save the model again."
        )
    for name, kind in HEADER.items():
        if not isinstance(header.get(name), kind):
            raise damaged(path, f"{name} is missing")
    if header["estimator"] not in ESTIMATORS:
        raise damaged(path, f"its estimator, {header['estimator']!r}, is unknown")
    return header, entries


def read_entries(path, max_bytes):
    try:
        return read_npz(path, check=lambda archive: check_size(path, archive, max_bytes))
    except TooLargeError:
        raise
    except ArrayFileError as error:
        raise (foreign(path) if error.foreign else damaged(path, error.reason)) from error


class TooLargeError(ArrayFileError):
    """A model file that unpacks to more than is allowed."""


def check_size(path, archive, max_bytes):
    """Refuse an archive of a few kilobytes that would fill the memory."""
    # No entry can be read beyond the size that the archive's directory gives for it.
    size = sum(entry.file_size for entry in archive.infolist())
    if size > max_bytes:
        reason = (
            f"it unpacks to {size:,} bytes, more than max_bytes={max_bytes:,}; if it is a model "
            "that you trust, read it by load_model with a larger max_bytes"
        )
        raise TooLargeError(path, reason, foreign=True)


def plain(name, value):
    """Return an array that can be stored without pickle; strings become unicode arrays."""
    array = np.asarray(value)
    if array.dtype.kind in "OT" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(np.str_)
    if array.dtype.kind not in LABELS:
        problem = f"{name} has the type {array.dtype}, which cannot be stored without pickle"
        raise ValueError(f"{problem}; use numbers, booleans or strings.")
    return array


def encoded(name, value):
    """Return a value as JSON can hold it: arrays and numbers of NumPy as lists and numbers."""
    try:
        return json.loads(json.dumps(value, default=lambda item: item.tolist()))
    except (AttributeError, TypeError):
        raise ValueError(
            f"{name}={value!r} cannot be stored without pickle; before saving, set it to a "
            "number, a string or an array with set_params."
        ) from None


def foreign(path):
    return ValueError(
        f"{path} is not a model of cappedlda; write one with save_model or cappedlda fit --model."
    )


def damaged(path, reason):
    return ValueError(f"{path} is damaged: {reason}. Save the model again.")
