"""How data sets are read, made or fetched; catalogue.json has what is known of each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import fetch_openml

from cappedlda._typing import Floats, Labels
from cappedlda._util.files import read_npz
from cappedlda.paper.datasets._generators import make_monks3, make_waveform

# The folder of .npz files if `load_dataset` is given none.
DATA_VARIABLE = "CAPPEDLDA_DATA"
# Stands in for the 5000 rows of UCI's waveform file, which is one draw of the generator.
_WAVEFORM_SEED = 0


class DatasetInfo(NamedTuple):
    """What is known about a data set."""

    paper: tuple | None  # rows, features, classes as the paper states them; None: a variant of ours
    shape: tuple  # rows, features, classes of the set itself
    group: str = "uci"  # "uci", "image", or "variant", which the paper may have used
    openml: int | None = None  # identifier, if a copy with these rows is known there
    target: str = "default-target"  # column of the class at OpenML
    make: Callable | None = None  # makes X, y where there is no folder
    remark: str = ""


def _halved_usps():
    """Return USPS in 8 x 8 pixels, the means of blocks of 2 x 2."""
    X, y = load_dataset("usps")
    return X.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64), y


def _one_against_rest(name, label):
    X, y = load_dataset(name)
    return X, (y == label).astype(np.int64)


# Sets that can be made where there is no folder.
_MAKERS = {
    "waveform": lambda: make_waveform(random_state=_WAVEFORM_SEED),
    "monks3": make_monks3,
    "usps_8x8": _halved_usps,
    "waveform_2class": lambda: _one_against_rest("waveform", 0),
    "cmc_2class": lambda: _one_against_rest("cmc", 1),
}
_FACTS = json.loads(resources.files(__package__).joinpath("catalogue.json").read_text("utf-8"))


def _info(name, paper, shape, **facts):
    paper = None if paper is None else tuple(paper)
    return DatasetInfo(paper, tuple(shape), make=_MAKERS.get(name), **facts)


DATASETS = {name: _info(name, **facts) for name, facts in _FACTS.items()}


def load_dataset(
    name: str, *, data_home: str | os.PathLike[str] | None = None
) -> tuple[Floats, Labels]:
    """Load a data set of the paper.

    It is read from ``<data_home>/<name>.npz``, with arrays X and y. Without a folder it
    is made, where it can be, or else fetched from OpenML.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    data_home : str or path, default=None
        Folder of .npz files; None takes the environment variable CAPPEDLDA_DATA.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float64
        Categories are integers, missing values are NaN; nothing is scaled.
    y : ndarray of shape (n_samples,), int64
        Classes from 0.

    Raises
    ------
    OSError
        If the folder or file is missing, or OpenML cannot be reached.
    ValueError
        If the name is unknown or the file is damaged.

    Examples
    --------
    >>> from cappedlda.paper.datasets import load_dataset
    >>> X, y = load_dataset("monks3")
    >>> X.shape
    (432, 6)
    """
    if name not in DATASETS:
        raise ValueError(f"The data set {name!r} is unknown; known are {', '.join(DATASETS)}.")
    folder = data_home if data_home is not None else os.environ.get(DATA_VARIABLE)
    if folder:
        return _read(name, Path(folder))
    info = DATASETS[name]
    return info.make() if info.make is not None else _fetch(name, info)


def _read(name, folder):
    path = folder / f"{name}.npz"
    advice = f"{_where_to_put(name)}, or {_where_to_find(name)}."
    if not path.is_file():
        raise FileNotFoundError(f"The file {path} of the data set {name!r} is missing; {advice}")
    arrays = read_npz(path)
    for key in ("X", "y"):
        if key not in arrays:
            raise ValueError(f"{path} of the data set {name!r} has no array {key!r}; {advice}")
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or X.dtype.kind not in "fiub" or y.shape != X.shape[:1]:
        raise ValueError(
            f"{path} of the data set {name!r} holds X of shape {X.shape} and type {X.dtype} and y "
            f"of shape {y.shape}; it needs numbers of shape (n_samples, n_features) and "
            f"(n_samples,)."
        )
    return X.astype(np.float64), _codes(y)


def _fetch(name, info):
    if info.openml is None:
        raise FileNotFoundError(
            f"No source of the data set {name!r} is known; {_where_to_find(name)} and "
            f"{_where_to_put(name)}."
        )
    try:
        # Arrays, not frames: categories become integers, and pandas is not needed.
        form = {"as_frame": False, "return_X_y": True, "parser": "liac-arff"}
        X, y = fetch_openml(data_id=info.openml, target_column=info.target, **form)
    except Exception as error:
        raise ConnectionError(
            f"The data set {name!r} cannot be fetched from OpenML (id {info.openml}): {error}. "
            f"Without a network, {_where_to_put(name)}."
        ) from error
    X, y = np.asarray(X, dtype=np.float64), _codes(y)
    found = (*X.shape, int(y.max()) + 1)
    if found != info.shape:
        raise ValueError(
            f"OpenML's data set {info.openml} has rows, features, classes {found}, but {name!r} "
            f"has {info.shape}; {_where_to_put(name)}."
        )
    return X, y


def _codes(y):
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _where_to_put(name):
    rows, features, classes = DATASETS[name].shape
    return (
        f"put {name}.npz with arrays X ({rows} x {features}) and y ({classes} classes) in a folder "
        f"and name that by data_home or the environment variable {DATA_VARIABLE}"
    )


def _where_to_find(name):
    info = DATASETS[name]
    if info.make is None and info.openml is None:
        return "look for it at the UCI repository or its owner's page"
    return "leave out the folder to have it made or fetched from OpenML"
