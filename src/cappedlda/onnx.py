"""Export of fitted discriminants to ONNX, for programs without Python.

Needs ``pip install "cappedlda[onnx]"``. Importing this module tells skl2onnx how to convert
all discriminants of this library, alone or inside a pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import skl2onnx
from skl2onnx import update_registered_converter
from skl2onnx.algebra import onnx_ops as ops
from skl2onnx.common.data_types import (
    Int64TensorType,
    StringTensorType,
    guess_numpy_type,
    guess_proto_type,
    guess_tensor_type,
)
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda._estimator import CappedDiscriminant
from cappedlda._validation import check_flag
from cappedlda.paper import CLDA, compared

if TYPE_CHECKING:
    from onnx import ModelProto

    from cappedlda._typing import MatrixLike

__all__ = ["to_onnx"]

COMPARED = tuple(getattr(compared, name) for name in compared.__all__)
ESTIMATORS = (CappedLDA, CappedLDACV, CappedNormLDA, CLDA, *COMPARED)
OUTPUTS = ("predict", "transform", "all")
# Classes are measured from in this many parts, at most: fewer need larger tensors of rows,
# classes and features, and the time to make a graph grows with the square of its nodes.
MOST_PARTS = 32


def to_onnx(
    model: CappedDiscriminant | Pipeline, X: MatrixLike, *, outlyingness: bool = False
) -> ModelProto:
    """Convert a fitted discriminant, or a pipeline with some, to ONNX.

    The graph has the outputs ``label``, ``probabilities``, and ``variable``, which is the result
    of `transform`. In a pipeline, a discriminant that is not the last step transforms.

    The graph is the linear rule, ``cells="all"``: all cells of a row count. Its results differ
    from a model with ``cells="capped"`` for rows with wrong cells (`wrong_cells`). A model with
    ``missing="ignore"`` is an error: ONNX would return NaN.

    Parameters
    ----------
    model : any discriminant of this library, or a Pipeline
        A fitted one. Labels must be integers, booleans, which become integers, or strings.
    X : array-like of shape (n_samples, n_features)
        Some rows; they give the type of the input, float32 or float64, and its width.
    outlyingness : bool, default=False
        Whether the model or the last step, not one of `cappedlda.paper.compared`, has a fourth
        output ``outlyingness``: how far a row is from the class where it fits best. A run then
        measures rows from every class, whichever outputs are asked for.

    Returns
    -------
    graph : onnx.ModelProto

    Notes
    -----
    `skl2onnx.to_onnx` can be used too. It takes the option ``{CappedLDA: {"output": "predict"}}``,
    "transform" or "all"; the default is "predict". With "all", ``"outlyingness": True`` adds that
    output.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_iris
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.onnx import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(CappedLDA().fit(X, y), X, outlyingness=True)
    >>> session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> label, probabilities, variable, outlyingness = session.run(None, {"X": X[::50]})
    >>> label.tolist()
    [0, 1, 2]
    >>> variable.shape
    (3, 2)
    >>> bool(np.all(outlyingness < 1.0))
    True
    """
    check_is_fitted(model)
    check_flag("outlyingness", outlyingness)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has shape {rows.shape}, but the model was fitted to {model.n_features_in_} "
            "features; give rows with the features of the fit."
        )
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    for step in steps:
        if getattr(step, "missing", "error") == "ignore" and isinstance(step, CappedLDA):
            raise ValueError(
                "missing='ignore', but ONNX gets the linear rule, which needs all cells; impute "
                "missing cells in a step before, and use set_params(missing='error')."
            )
    options: dict[int, dict[str, object]] = {
        id(step): {"output": "all" if step is steps[-1] else "transform"}
        for step in steps
        if isinstance(step, ESTIMATORS)
    }
    if outlyingness:
        if not isinstance(steps[-1], CappedDiscriminant):
            raise ValueError(
                f"outlyingness=True, but {type(steps[-1]).__name__} does not measure it; use a "
                "CappedLDA or its like as the model or the last step, or outlyingness=False."
            )
        options[id(steps[-1])]["outlyingness"] = True
    if is_classifier(steps[-1]):  # probabilities as an array, not as dictionaries
        options.setdefault(id(steps[-1]), {"zipmap": False})
    return skl2onnx.to_onnx(model, rows[:1], options=options)


def _parse(scope, model, inputs, custom_parsers=None):
    """Declare the outputs."""
    operator = scope.declare_local_operator(_alias(type(model)), model)
    operator.inputs = inputs
    options = scope.get_options(model, {"output": "predict", "outlyingness": False})
    output = options["output"]
    number = guess_tensor_type(inputs[0].type)
    kinds = {}
    if output != "transform":
        kinds = {"label": _label_type(model), "probabilities": number}
    if output != "predict":
        kinds["variable"] = number
    if output == "all" and options["outlyingness"]:
        kinds["outlyingness"] = number
    for name, kind in kinds.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator):
    """Set the shapes of the outputs."""
    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    widths = {"probabilities": len(model.classes_), "variable": model.scalings_.shape[1]}
    for output in operator.outputs:
        width = widths.get(output.raw_name)
        output.type.shape = [n_rows] if width is None else [n_rows, width]


def _convert(scope, operator, container):
    """Add the nodes: one affine map for the scores, one for the projection."""
    model, X = operator.raw_operator, operator.inputs[0]
    dtype = guess_numpy_type(X.type)
    if dtype != np.float64:
        dtype = np.float32

    def node(kind, *inputs, **settings):
        """Return a node; arrays become constants in the precision of X."""
        inputs = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in inputs]
        return getattr(ops, f"Onnx{kind}")(*inputs, op_version=container.target_opset, **settings)

    numbers = node("Cast", X, to=guess_proto_type(guess_tensor_type(X.type)))

    def affine(matrix, offset):
        return node("Add", node("MatMul", numbers, matrix), offset)

    outputs = {output.raw_name: output.full_name for output in operator.outputs}
    found = {}
    if "label" in outputs:
        coef, intercept = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # the first class has the score 0
            coef, intercept = np.vstack([0.0 * coef, coef]), np.append(0.0, intercept)
        scores = affine(coef.T, intercept)
        codes = node("ArgMax", scores, axis=1, keepdims=0)
        labels = ops.OnnxGather(_labels(model), codes, axis=0, op_version=container.target_opset)
        found = {"label": labels, "probabilities": node("Softmax", scores, axis=1)}
    if "variable" in outputs:
        found["variable"] = affine(model.scalings_, -(model.xbar_ @ model.scalings_))
    if "outlyingness" in outputs:
        found["outlyingness"] = _outlyingness(model, numbers, node)
    for name, result in found.items():
        node("Identity", result, output_names=[outputs[name]]).add_to(scope, container)


def _outlyingness(model, numbers, node):
    """Return the node of the outlyingness of rows from the class where it is least."""
    rule, gate = model._flag_rule, model._flag_rule.gate

    def ratios(rows, centres, units, limits):
        """Return distances of rows from some centres, in units of each axis, over limits."""
        each = node("UnsqueezeApi11", rows, axes=[1])
        steps = node("Mul", node("Sub", each, centres[None]), 1.0 / units)
        sizes = node("ReduceL2Api18", steps, axes=[2], keepdims=0)
        return node("Mul", sizes, (1.0 / limits)[None])

    def nearness(some):
        """Return minus the outlyingness from the class of some where it is least."""
        found = ratios(images, centres[some], no_units, rule.caps[some])
        if gate is not None:
            limits = gate.caps[some] * np.sqrt(len(gate.scale))  # of a norm, not a root mean square
            found = node("Max", found, ratios(numbers, gate.centres[some], gate.scale, limits))
        return node("ReduceMaxApi18", node("Neg", found), axes=[1], keepdims=0)

    images = node("MatMul", numbers, rule.W)
    no_units, centres = np.ones(rule.W.shape[1]), rule.centres @ rule.W
    n_classes = len(centres)
    parts = np.array_split(np.arange(n_classes), min(n_classes, MOST_PARTS))
    return node("Neg", node("Max", *map(nearness, parts)))


def _labels(model):
    """Return the classes as ONNX can hold them."""
    classes = model.classes_
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    raise TypeError(
        f"ONNX has no labels like {classes[0]!r}; fit the model to integers or strings."
    )


def _label_type(model):
    return Int64TensorType() if _labels(model).dtype == np.int64 else StringTensorType()


def _alias(estimator):
    return f"Cappedlda{estimator.__name__}"


for _estimator in ESTIMATORS:
    update_registered_converter(
        _estimator,
        _alias(_estimator),
        _shapes,
        _convert,
        parser=_parse,
        options={
            "output": list(OUTPUTS),
            "outlyingness": [True, False],
            "zipmap": [True, False, "columns"],
        },
    )
