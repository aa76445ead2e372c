"""Only good rows are handed on, in a pipeline of imbalanced-learn or alone."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from imblearn.base import is_sampler
from imblearn.pipeline import make_pipeline
from imblearn.utils.estimator_checks import estimator_checks_generator
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from cappedlda import CappedLDA, CappedLDACV, OutlierRemover


@parametrize_with_checks([OutlierRemover()])
@pytest.mark.usefixtures("array_api")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# Of imbalanced-learn, but the one with y in several columns, which no discriminant here takes.
SAMPLER_CHECKS = {
    check.func.__name__: check
    for _, check in estimator_checks_generator(OutlierRemover())
    if check.func.__name__ != "check_samplers_multiclass_ova"
}


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("name", SAMPLER_CHECKS)
def test_checks_of_imbalanced_learn(name):
    SAMPLER_CHECKS[name](OutlierRemover())


def test_what_it_takes_and_tells(dirty):
    X, y, _ = dirty
    tags = get_tags(OutlierRemover())
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.estimator_type == "sampler"
    names = ["a", "b", "c", "d", "e", "f"]
    labels = np.array(["u", "v", "w"])[y]
    sampler = OutlierRemover().fit(pd.DataFrame(X, columns=names), labels)
    assert sampler.get_feature_names_out().tolist() == names
    kept = labels[sampler.sample_indices_]
    assert sampler.sampling_strategy_ == {name: int((kept == name).sum()) for name in "uvw"}
    assert OutlierRemover().fit(X, y).get_feature_names_out().tolist()[0] == "x0"


@pytest.mark.parametrize(
    ("remove", "attribute"), [("left_out", "left_out_"), ("flagged", "outliers_")]
)
def test_what_the_fit_marks_is_removed(dirty, remove, attribute):
    X, y, spoilt = dirty
    removed = getattr(CappedLDA(leave_out="flagged").fit(X, y), attribute)
    assert removed[spoilt].all()
    sampler = OutlierRemover(CappedLDA(leave_out="flagged"), remove=remove)
    X_kept, y_kept = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(X_kept, X[~removed])
    np.testing.assert_array_equal(y_kept, y[~removed])
    np.testing.assert_array_equal(sampler.sample_indices_, np.flatnonzero(~removed))
    assert sampler.n_features_in_ == 6
    assert not hasattr(sampler.estimator, "classes_")  # a clone was fitted


def test_the_kinds_of_X_and_y_stay(dirty):
    X, y, _ = dirty
    expected, labels = OutlierRemover().fit_resample(X, y)
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(150) + 7)
    X_kept, y_kept = OutlierRemover().fit_resample(frame, pd.Series(y, index=frame.index))
    assert isinstance(X_kept, pd.DataFrame)
    assert isinstance(y_kept, pd.Series)
    np.testing.assert_array_equal(X_kept.index, y_kept.index)
    np.testing.assert_array_equal(X_kept.to_numpy(), expected)
    X_kept, y_kept = OutlierRemover().fit_resample(sparse.csr_array(X), y.tolist())
    np.testing.assert_array_equal(X_kept.toarray(), expected)
    assert y_kept == labels.tolist()


def test_a_later_classifier_of_a_pipeline_sees_good_rows_only(dirty, rng):
    X, y, _ = dirty
    assert is_sampler(OutlierRemover())
    pipeline = make_pipeline(OutlierRemover(), StandardScaler(), LinearDiscriminantAnalysis())
    pipeline.fit(X, y)
    kept = pipeline[0].sample_indices_
    good = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()).fit(X[kept], y[kept])
    # In prediction no row is removed.
    np.testing.assert_array_equal(pipeline.predict(X), good.predict(X))
    assert pipeline.score(X[kept], y[kept]) > 0.9


def test_its_parameters_can_be_searched(dirty):
    X, y, _ = dirty
    pipeline = make_pipeline(OutlierRemover(CappedLDA()), LogisticRegression())
    grid = {
        "outlierremover__remove": ["left_out", "flagged"],
        "outlierremover__estimator__epsilon": ["auto", 6.0],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert clone(pipeline[0]).remove == "left_out"


def test_cross_validation_may_choose_the_rows(dirty):
    X, y, spoilt = dirty
    sampler = OutlierRemover(CappedLDACV(cv=2, multipliers=(1.0,))).fit(X, y)
    assert not spoilt[sampler.sample_indices_].any()


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"remove": "all"}, ValueError, "remove='all' is unknown; use one of 'left_out'"),
        ({"estimator": StandardScaler()}, TypeError, r"estimator=.* finds no outliers; use an"),
        ({"estimator": CappedLDA}, TypeError, r"estimator=.* finds no outliers; use an instance"),
        ({"estimator": "lda"}, TypeError, r"estimator='lda' finds no outliers; use an instance"),
    ],
)
def test_bad_parameters_are_refused(clean, settings, error, words):
    with pytest.raises(error, match=words):
        OutlierRemover(**settings).fit(*clean)


def test_dask_is_told_how(clean):
    X, y = clean
    with pytest.raises(TypeError, match="index X and y with ~left_out_"):
        OutlierRemover().fit_resample(da.from_array(X), y)
