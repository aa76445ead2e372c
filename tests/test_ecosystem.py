"""The estimators among others: discovery, routing, notebooks, stored models."""

import importlib
import inspect
import io
import os
import pkgutil
import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn
import skops.io
from common import COMPARED
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cappedlda
from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA, OutlierRemover
from cappedlda._model_file.recipe import RawTable
from cappedlda.paper import CLDA

SEARCH = CappedLDACV(multipliers=(1.0, np.inf), cv=3)
FITTABLE = [CappedLDA(), SEARCH, CappedNormLDA(), CLDA(), *COMPARED]


def all_estimators():
    """Every concrete estimator that is defined anywhere in the package."""
    found = set()
    for module in pkgutil.walk_packages(cappedlda.__path__, "cappedlda."):
        if module.name == "cappedlda.__main__":
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                found.add(value)
    own = {value for value in found if value.__module__.startswith("cappedlda")}
    bases = {base for value in own for base in value.__bases__}
    return own - bases - {RawTable} | {CappedLDA}  # that is made for a model read from a file


def exported():
    """Every class in the `__all__` of a public module."""
    for module in (cappedlda, cappedlda.paper, cappedlda.paper.compared):
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                yield getattr(module, name)


def test_every_estimator_is_exported_and_checked():
    estimators = all_estimators()
    assert len(estimators) >= 8
    assert estimators == set(exported())
    # scikit-learn's checks run on these lists, in the tests of each; it knows no samplers.
    assert estimators - {OutlierRemover} == {type(estimator) for estimator in FITTABLE}


def test_every_module_can_be_imported_without_an_engine():
    """Whoever lists the modules of a package, as scikit-learn does, imports all of them."""
    program = (
        "import importlib, pkgutil, sys; engines = 'dask', 'distributed', 'pandas', 'pyarrow', "
        "'pyspark'; sys.modules.update(dict.fromkeys(engines)); import cappedlda\n"
        "for module in pkgutil.walk_packages(cappedlda.__path__, 'cappedlda.'):\n"
        "    if module.name != 'cappedlda.__main__': importlib.import_module(module.name)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def weights_of(rng, y):
    return rng.integers(1, 4, size=len(y)).astype(float)


@pytest.mark.parametrize("estimator", [CappedLDA(), SEARCH], ids=["one", "cv"])
def test_weights_reach_a_step_of_a_pipeline(estimator, dirty, rng):
    X, y, _ = dirty
    w = weights_of(rng, y)
    with config_context(enable_metadata_routing=True):
        asking = clone(estimator).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, asking).fit(X, y, sample_weight=w)
    scaled = StandardScaler().fit_transform(X)
    expected = clone(estimator).fit(scaled, y, sample_weight=w)
    assert_array_equal(pipeline[-1].scalings_, expected.scalings_)
    assert_array_equal(pipeline[-1].weights_, expected.weights_)


def test_weights_reach_the_fits_and_scores_of_a_search(clean, rng):
    X, y = clean
    w = weights_of(rng, y)
    with config_context(enable_metadata_routing=True):
        model = CappedLDA().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"epsilon": [3.0, 6.0]}, cv=2).fit(X, y, sample_weight=w)
        found = search.cv_results_["split0_test_score"][0]
    expected = CappedLDA(**search.best_params_).fit(X, y, sample_weight=w)
    assert_array_equal(search.best_estimator_.scalings_, expected.scalings_)
    train, test = next(StratifiedKFold(2).split(X, y))
    first = CappedLDA(epsilon=3.0).fit(X[train], y[train], sample_weight=w[train])
    assert found == first.score(X[test], y[test], sample_weight=w[test])


def test_unasked_weights_are_refused(dirty):
    X, y, _ = dirty
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), CappedLDA())
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            pipeline.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("estimator", FITTABLE, ids=lambda e: type(e).__name__)
def test_notebooks_show_parameters_and_no_foreign_link(estimator):
    html = estimator._repr_html_()
    assert type(estimator).__name__ in html
    if sklearn_version() >= (1, 7):  # the table of parameters is new there
        assert "n_components" in html
    assert f"{type(estimator).__name__}.html" not in html


def sklearn_version():
    return tuple(map(int, sklearn.__version__.split(".")[:2]))


def same_answers(model, other, X):
    assert type(other) is type(model)
    for method in ("transform", "predict", "predict_proba"):
        assert_array_equal(getattr(other, method)(X), getattr(model, method)(X))
    if hasattr(model, "outlyingness"):
        assert_array_equal(other.outlyingness(X), model.outlyingness(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", FITTABLE, ids=lambda e: type(e).__name__)
def test_stored_by_joblib(estimator, dirty):
    X, y, _ = dirty
    model = clone(estimator).fit(X, y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    same_answers(model, joblib.load(file), X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", FITTABLE, ids=lambda e: type(e).__name__)
def test_stored_by_skops(estimator, dirty):
    X, y, _ = dirty
    model = clone(estimator).fit(X, y)
    data = skops.io.dumps(model)
    unknown = set(skops.io.get_untrusted_types(data=data))
    own = f"{type(model).__module__}.{type(model).__name__}"
    # The documentation tells users to trust these.
    assert own in unknown
    assert all(name.startswith("cappedlda.") for name in unknown)
    same_answers(model, skops.io.loads(data, trusted=sorted(unknown)), X)


TENSORS = """
import numpy as np, sklearn, torch
from sklearn.datasets import load_iris
from cappedlda import CappedLDA, CappedLDACV

X, y = load_iris(return_X_y=True)
weights = np.arange(150) % 3 + 1.0
tensors = torch.tensor(X), torch.tensor(y), torch.tensor(weights)
asked = ("predict", "predict_proba", "transform", "outlyingness", "is_rejected")
for dispatch in (False, True):
    with sklearn.config_context(array_api_dispatch=dispatch):
        for estimator in (CappedLDA(), CappedLDACV(cv=2, multipliers=(1.0,))):
            expected = sklearn.clone(estimator).fit(X, y, weights)
            found = estimator.fit(*tensors)
            np.testing.assert_array_equal(found.scalings_, expected.scalings_)
            for name in asked:
                answer = getattr(found, name)(tensors[0])
                np.testing.assert_array_equal(answer, getattr(expected, name)(X))
            ratio = found.outlyingness(*tensors[:2])
            np.testing.assert_array_equal(ratio, expected.outlyingness(X, y))
            assert found.explain(*tensors[:2]).equals(expected.explain(X, y))
            assert found.score(*tensors[:2]) == expected.score(X, y)
        chunked = CappedLDA().fit_chunks(lambda: [tensors])
        np.testing.assert_array_equal(chunked.scalings_, CappedLDA().fit(X, y, weights).scalings_)
"""


def test_tensors_are_arrays_also_where_scikit_learn_would_keep_them():
    pytest.importorskip("torch")
    settings = {**os.environ, "SCIPY_ARRAY_API": "1"}  # scikit-learn wants it, before its import
    command = [sys.executable, "-c", TENSORS]
    found = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stderr
