"""Models converted to ONNX answer as the fitted ones, in onnxruntime."""

import numpy as np
import onnx
import pytest
import skl2onnx
from common import make_classes
from numpy.testing import assert_allclose, assert_array_equal
from onnxruntime import InferenceSession
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda.onnx import to_onnx
from cappedlda.paper import CLDA
from cappedlda.paper.compared import RDA

# The graph multiplies in the precision of its input, in another order than here.
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-10}


def run(graph, X):
    """Return the outputs by name."""
    session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def assert_same_answers(outputs, model, X, tolerance):
    assert_array_equal(outputs["label"], model.predict(X))
    assert_allclose(outputs["probabilities"], model.predict_proba(X), atol=tolerance)
    expected = model.transform(X)
    assert outputs["variable"].dtype == X.dtype
    assert_allclose(outputs["variable"], expected, atol=tolerance * np.abs(expected).max())
    if "outlyingness" in outputs and hasattr(model, "outlyingness"):
        assert outputs["outlyingness"].dtype == X.dtype
        assert_allclose(outputs["outlyingness"], model.outlyingness(X), rtol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("labels", [[4, 7, 9], ["a", "ß", "longer"]], ids=["int", "str"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_probabilities_and_projection(clean, n_classes, labels, dtype):
    X, y = clean
    X, y = X[y < n_classes].astype(dtype), np.array(labels)[y[y < n_classes]]
    model = CappedLDA(cells="all").fit(X, y)
    outputs = run(to_onnx(model, X, outlyingness=True), X)
    assert list(outputs) == ["label", "probabilities", "variable", "outlyingness"]
    assert_same_answers(outputs, model, X, TOLERANCE[dtype])


@pytest.mark.parametrize(
    "model",
    [
        CappedLDACV("all", multipliers=(1.0,), cv=3, cells="all"),
        CappedNormLDA(),
        CLDA(epsilon=np.inf),
        RDA(1),
    ],
)
def test_the_other_estimators(clean, model):
    X, y = clean
    measures = not isinstance(model, RDA)
    graph = to_onnx(model.fit(X, y), X, outlyingness=measures)
    outputs = run(graph, X)
    assert ("outlyingness" in outputs) == measures
    assert_same_answers(outputs, model, X, 1e-10)


@pytest.mark.parametrize(
    "model",
    [CappedLDA(), CappedNormLDA(start="lda", epsilon=3.0), CappedLDA(epsilon=np.inf)],
    ids=str,
)
def test_outlyingness_of_rows_that_are_far_off(dirty, model):
    X, y, _ = dirty
    model = clone(model).fit(X, y)
    found = run(to_onnx(model, X, outlyingness=True), X)["outlyingness"]
    assert_allclose(found, model.outlyingness(X), rtol=1e-9)
    assert (found > 1.0).any() == (model.epsilon != np.inf)


def test_it_is_the_linear_rule_which_only_rows_with_wrong_cells_tell_apart(clean):
    X, y = clean
    model = CappedLDA().fit(X, y)
    new = X.copy()
    new[::5, 1] += 1e3
    wrong = model.wrong_cells(new).any(axis=1)
    assert wrong[::5].all()
    outputs = run(to_onnx(model, X), new)
    linear = CappedLDA(cells="all").fit(X, y)
    assert_same_answers(outputs, linear, new, 1e-10)
    same = np.all(model.decision_function(new) == linear.decision_function(new), axis=1)
    assert same[~wrong].mean() > 0.8  # others drop a cell for another class
    assert not same[wrong].any()


def test_missing_cells_are_refused(clean):
    X, y = clean
    for model in (CappedLDA(missing="ignore"), make_pipeline(CappedLDA(missing="ignore"))):
        with pytest.raises(ValueError, match="missing='ignore'.*impute"):
            to_onnx(model.fit(X, y), X)


def test_booleans_become_integers(clean):
    X, y = clean
    model = CappedLDA().fit(X, y == 1)
    assert_array_equal(run(to_onnx(model, X), X)["label"], model.predict(X).astype(int))


def test_last_step_of_a_pipeline(clean):
    X, y = clean
    model = make_pipeline(StandardScaler(), CappedLDA(cells="all")).fit(X, y)
    outputs = run(to_onnx(model, X, outlyingness=True), X)
    assert_same_answers(outputs, model, X, 1e-10)
    expected = model[-1].outlyingness(model[0].transform(X))
    assert_allclose(outputs["outlyingness"], expected, rtol=1e-9)


def test_before_another_classifier_it_transforms(clean):
    X, y = clean
    model = make_pipeline(CappedLDA(cells="all"), LogisticRegression()).fit(X, y)
    outputs = run(to_onnx(model, X), X)
    assert_array_equal(outputs["label"], model.predict(X))
    assert_allclose(outputs["probabilities"], model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (None, ["label", "probabilities"]),
        ("transform", ["variable"]),
        ("all", ["label", "probabilities", "variable"]),
    ],
)
def test_skl2onnx_knows_the_estimators(clean, output, names):
    X, y = clean
    options = None if output is None else {CappedLDA: {"output": output}}
    graph = skl2onnx.to_onnx(CappedLDA().fit(X, y), X[:1], options=options)
    assert list(run(graph, X)) == names


def test_the_outlyingness_is_exported_on_request_only(clean):
    X, y = clean
    model = CappedLDA().fit(X, y)
    assert list(run(to_onnx(model, X), X)) == ["label", "probabilities", "variable"]
    options = {CappedLDA: {"output": "all", "outlyingness": True}}
    graph = skl2onnx.to_onnx(model, X[:1], options=options)
    assert list(run(graph, X)) == ["label", "probabilities", "variable", "outlyingness"]


def test_no_tensor_is_as_large_as_rows_classes_and_features(rng):
    X, y = make_classes(rng, [10] * 40, 5)
    model = CappedLDA().fit(X, y)
    graph = to_onnx(model, X, outlyingness=True)
    values = onnx.shape_inference.infer_shapes(graph).graph.value_info
    shapes = [value.type.tensor_type.shape.dim for value in values]
    classes = [shape[1].dim_value for shape in shapes if len(shape) == 3]
    assert max(classes) == 2
    assert_allclose(run(graph, X)["outlyingness"], model.outlyingness(X), rtol=1e-9)


def test_what_has_no_outlyingness_is_refused(clean):
    X, y = clean
    with pytest.raises(ValueError, match="outlyingness=True, but RDA does not measure it; use"):
        to_onnx(RDA(1).fit(X, y), X, outlyingness=True)
    with pytest.raises(TypeError, match="outlyingness='yes' must be True or False"):
        to_onnx(CappedLDA().fit(X, y), X, outlyingness="yes")


def test_labels_that_onnx_does_not_have(clean):
    X, y = clean
    with pytest.raises(TypeError, match="integers or strings"):
        to_onnx(CappedLDA().fit(X, y * 2.0), X)
