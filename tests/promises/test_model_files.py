"""A model file from anybody is refused in one line, or is the model that was saved."""

import json

import numpy as np
import pytest
from common import EDITS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cappedlda import load_model
from cappedlda._model_file import checksum

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def loaded_or_none(path):
    """Return the model in a file, or None if it is refused as promised."""
    try:
        return load_model(path)
    except ValueError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message
    return None


@given(EDITS)
def test_edited_model_files(folder, rows, edits):
    content = (folder / "good.npz").read_bytes()
    for kind, place, text in edits:
        i = int(place * len(content))
        after = i if kind == "insert" else i + len(text)
        middle = {"delete": b"", "repeat": content[i:after] * 2}.get(kind, text)
        content = content[:i] + middle + content[after:]
    (folder / "edited.npz").write_bytes(content)
    model = loaded_or_none(folder / "edited.npz")
    if model is not None:
        expected = load_model(folder / "good.npz")
        np.testing.assert_array_equal(model.transform(rows[0]), expected.transform(rows[0]))
        np.testing.assert_array_equal(model.outlyingness(*rows), expected.outlyingness(*rows))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def forge(folder, change):
    """Write a model file with other content and a right checksum; return its path."""
    with np.load(folder / "good.npz") as archive:
        entries = dict(archive)
    del entries["checksum"]
    change(entries)
    path = folder / "forged.npz"
    np.savez(path, **entries, checksum=np.array(checksum(entries)))
    return path


@given(
    st.sampled_from(["parameters", "results", "recipe", "notes", "estimator", None]),
    JSON,
    st.data(),
)
def test_forged_headers(folder, part, value, data):
    def change(entries):
        header = json.loads(str(entries["header"]))
        if part is None:
            header = value
        elif isinstance(header[part], dict) and header[part]:
            header[part][data.draw(st.sampled_from(sorted(header[part])))] = value
        else:
            header[part] = value
        entries["header"] = np.array(json.dumps(header))

    loaded_or_none(forge(folder, change))


@given(
    st.sampled_from(
        ["coef_", "means_", "caps_", "gate_scale", "classes_", "usual_metric", "xbar_"]
    ),
    st.data(),
)
def test_forged_arrays(folder, name, data):
    kinds = st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), st.just(np.dtype("U2")))

    def change(entries):
        same = data.draw(st.booleans())
        shape = entries[name].shape if same else data.draw(hnp.array_shapes(max_dims=3, max_side=4))
        entries[name] = data.draw(hnp.arrays(data.draw(kinds), shape))

    loaded_or_none(forge(folder, change))
