"""The levels that the default promises, on fixed seeds.

Little is lost on clean data, and dirty data are fitted as well as LDA fits them without the
planted rows. The full table is that of benchmarks/robustness.py.

One point of accuracy is 0.01 here. Sets are small, so means over sets are compared.
"""

import numpy as np
import pytest
from common import angle
from scipy.stats import ortho_group
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from cappedlda import CappedLDA, noise


def gaussian(seed, sizes, n, distance=4.0, smooth=0.0, groups=1):
    """Gaussian classes; neighbouring features may be correlated, classes made of groups."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(smooth ** abs(np.subtract.outer(np.arange(n), np.arange(n))))
    y = np.repeat(np.arange(len(sizes)), sizes)
    means = distance / np.sqrt(2 * n) * rng.normal(size=(len(sizes), groups, n))
    X = means[y, rng.integers(groups, size=len(y))] + rng.normal(size=(len(y), n))
    return X @ factor.T, y


GAUSSIAN = {
    "two features": gaussian(1, [100, 100], 2),
    "ten features": gaussian(2, [100] * 3, 10),
    "thirty features": gaussian(3, [120] * 2, 30),
    "correlated": gaussian(4, [150] * 3, 20, smooth=0.9),
    "unbalanced": gaussian(5, [300, 60], 5),
    "grouped": gaussian(6, [150] * 3, 8, groups=2),
    "ten classes": gaussian(7, [60] * 10, 12, distance=8),
}
REAL = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast_cancer": load_breast_cancer(return_X_y=True),
}
GROSS = {"scatter": noise.scatter, "leverage": noise.leverage, "dirty class": noise.dirty_class}
OTHERS = {"heavy tails": noise.heavy_tails, "feature noise": noise.feature_noise}


def compare(X, y, contaminate=None, share=0.0, seed=0):
    """Return the accuracies of CappedLDA, LDA and the oracle on clean rows, recall, false flags."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    touched = np.zeros(len(y), dtype=bool)
    if contaminate is not None:
        X, y, touched = contaminate(X, y, share=share, random_state=seed)
        touched = touched if touched.ndim == 1 else touched.any(axis=1)
    model = CappedLDA().fit(X, y)
    kept = np.bincount(y[~model.outliers_], minlength=len(model.classes_))
    assert np.all(kept >= 0.1 * np.bincount(y)), "a class was lost"
    accuracies = [
        m.score(X_test, y_test)
        for m in (model, LDA().fit(X, y), LDA().fit(X[~touched], y[~touched]))
    ]
    recall = model.outliers_[touched].mean() if touched.any() else np.nan
    return (*accuracies, recall, model.outliers_[~touched].mean())


def means(sets, contaminate=None, share=0.0, seeds=(0, 1)):
    found = [compare(X, y, contaminate, share, seed) for X, y in sets.values() for seed in seeds]
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    ("sets", "most_flags"), [(GAUSSIAN, 0.02), (REAL, 0.06)], ids=["Gauss", "real"]
)
def test_clean_data_lose_little(sets, most_flags):
    ours, lda, _, _, flags = means(sets, seeds=range(6))
    assert ours > lda - 0.003
    assert flags <= most_flags


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("kind", GROSS)
def test_gross_outliers_are_found_and_cost_nothing(kind, share):
    ours, lda, oracle, recall, _ = means(GAUSSIAN | REAL, GROSS[kind], share)
    # A cloud of 40 % near a class is the hardest case, and loses 1.4 points here.
    assert ours > oracle - (0.02 if (kind, share) == ("leverage", 0.4) else 0.01)
    assert ours > lda
    assert recall >= (0.94 if (kind, share) == ("leverage", 0.4) else 0.98)


@pytest.mark.parametrize("share", [0.2, 0.4])
@pytest.mark.parametrize("kind", OTHERS)
def test_other_dirt_costs_little(kind, share):
    ours, lda, oracle, _, _ = means(GAUSSIAN | REAL, OTHERS[kind], share)
    assert ours > oracle - 0.01
    assert ours > lda - 0.005


# A tight cluster at 40 % is the hardest case, and loses 1.5 points here: in many features its
# rows lie nearer to each other than good rows do, and the start may take them for the class.
@pytest.mark.parametrize(("share", "most_lost"), [(0.1, 0.01), (0.2, 0.01), (0.4, 0.02)])
def test_tight_clusters(share, most_lost):
    ours, _, oracle, _, _ = means(GAUSSIAN | REAL, noise.cluster, share)
    assert ours > oracle - most_lost


def test_swapped_labels_cost_no_more_than_in_lda():
    ours, lda, _, _, _ = means(GAUSSIAN | REAL, noise.swap_labels, 0.1)
    assert ours > lda - 0.005


@pytest.mark.parametrize("share", [0.2, 0.4])
@pytest.mark.parametrize("kind", ["scatter", "leverage"])
@pytest.mark.parametrize(
    ("sizes", "n", "options"),
    [
        ([60] * 2, 3, {"distance": 6}),
        ([30] * 100, 10, {"distance": 20}),
        ([400, 40, 30], 4, {"distance": 8}),
        ([60] * 2, 60, {"distance": 10}),
        ([150] * 3, 60, {"distance": 9, "smooth": 0.95}),
        ([150] * 2, 6, {"distance": 9, "groups": 3}),
    ],
    ids=["2 classes", "100 classes", "unbalanced", "n near N", "correlated", "grouped"],
)
def test_shapes_of_data_with_many_outliers(kind, share, sizes, n, options):
    X, y = gaussian(11, sizes, n, **options)
    ours, _, oracle, recall, _ = means({"one": (X, y)}, GROSS[kind], share)
    assert ours > oracle - 0.01
    assert recall >= 0.98


@pytest.mark.parametrize("kind", [None, "scatter", "leverage"])
@pytest.mark.parametrize(
    ("sets", "turned", "flags", "predictions"),
    [
        (GAUSSIAN, 0.1, 0.02, 0.01),
        ({name: (scale(X), y) for name, (X, y) in REAL.items()}, 0.6, 0.03, 0.02),
    ],
    ids=["Gauss", "real"],
)
def test_rotated_features_change_little(kind, sets, turned, flags, predictions):
    # The first look and the ridge measure in the units of the features, which a rotation mixes; and
    # rows that harm no other may be in one fit and not in the other, which turns directions.
    for seed, (X, y) in enumerate(sets.values()):
        train = X if kind is None else GROSS[kind](X, y, share=0.2, random_state=seed)[0]
        R = ortho_group.rvs(X.shape[1], random_state=seed)
        model, other = CappedLDA().fit(train, y), CappedLDA().fit(train @ R, y)
        assert angle(R @ other.scalings_, model.scalings_) < turned
        assert np.mean(model.outliers_ != other.outliers_) <= flags
        assert np.mean(model.predict(X) != other.predict(X @ R)) <= predictions


@pytest.mark.parametrize("rows_per_class", [30, 60])
def test_few_rows_per_feature_are_fitted_as_well_as_by_shrunken_lda(rows_per_class):
    X, y = gaussian(31, [1000] * 3, 50, distance=6)
    train = np.arange(len(y)) % 1000 < rows_per_class
    X_train, y_train, touched = noise.scatter(X[train], y[train], share=0.2, random_state=0)
    ours = CappedLDA().fit(X_train, y_train).score(X[~train], y[~train])
    plain, shrunken = (
        lda.fit(X_train[~touched], y_train[~touched]).score(X[~train], y[~train])
        for lda in (LDA(), LDA(solver="lsqr", shrinkage="auto"))
    )
    assert ours > plain + 0.01
    assert ours > shrunken - 0.02


@pytest.mark.parametrize("kind", [None, "scatter", "leverage"])
def test_probabilities_are_as_good_as_those_of_lda_without_the_outliers(kind):
    X, y = gaussian(21, [5000] * 3, 6)
    train = np.arange(len(y)) % 20 == 0
    X_train, y_train, touched = X[train], y[train], np.zeros(train.sum(), dtype=bool)
    if kind is not None:
        X_train, y_train, touched = GROSS[kind](X_train, y_train, share=0.2, random_state=0)
    ours = CappedLDA().fit(X_train, y_train).predict_proba(X[~train])
    oracle = LDA().fit(X_train[~touched], y_train[~touched]).predict_proba(X[~train])
    assert log_loss(y[~train], ours) < log_loss(y[~train], oracle) + 0.005
    right = y[~train, None] == np.arange(3)
    bins = np.digitize(ours, np.linspace(0.0, 1.0, 11))
    gaps = [abs(ours[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins)]
    assert max(gaps) < 0.06
