"""What is left out: the least that harms none of the rows we trust."""

import numpy as np
import pytest
from common import make_classes
from scipy.special import log_softmax
from sklearn.datasets import load_wine

from cappedlda import CappedLDA, _fit
from cappedlda._data.array import ArrayRows
from cappedlda._loo import leave_out
from cappedlda._loo.leave_out import (
    LEVELS,
    SHARPNESS,
    Scores,
    harmless_level,
    known_core,
    nested,
    vouched_level,
)
from cappedlda._metrics.frame import Frame
from cappedlda._rules.fences import FLAG_LEVEL

FRAME = Frame.of(np.zeros((2, 3)), np.ones(3), np.full(2, 0.5), 3)

LOG_PRIORS = np.log([0.2, 0.3, 0.5])


@pytest.fixture
def trusted(rng):
    X, y = make_classes(rng, [80, 80], 3, spread=1.5)
    return X, y, rng.random(160)  # outlyingness: all in the core


def level_with(trusted, X, y, outlyingness, weights=None):
    X, y = np.vstack([trusted[0], X]), np.append(trusted[1], y)
    outlyingness = np.append(trusted[2], outlyingness)
    weights = np.ones(len(y)) if weights is None else weights
    return level_of(X, y, weights, outlyingness)


def level_of(X, y, weights, outlyingness):
    return harmless_level(ArrayRows(X, y, 2, weights), outlyingness, FRAME)[0]


def test_nothing_is_left_out_where_all_rows_are_trusted(trusted):
    X, y, outlyingness = trusted
    assert level_of(X, y, None, outlyingness) == np.inf


def test_nothing_is_left_out_where_no_row_is_flagged(trusted):
    X, y, _ = trusted
    wrong = X[:40], 1 - y[:40]
    assert level_with(trusted, *wrong, np.full(40, FLAG_LEVEL)) == np.inf
    assert level_with(trusted, *wrong, np.full(40, 1.01 * FLAG_LEVEL)) < np.inf


def test_no_level_is_tried_beyond_one_that_is_hopeless(trusted, spy):
    asked = spy(leave_out, "PlainLDA")
    X, y, _ = trusted
    outlyingness = np.repeat([3.0, 4.0, 30.0, 90.0], 10)
    assert level_with(trusted, X[:40] * 30.0, 1 - y[:40], outlyingness) < 3.0
    assert len(asked) == 2


def test_small_steps_are_told_apart_only_if_need_be(rng, spy):
    asked = spy(leave_out, "PlainLDA")
    X, y = make_classes(rng, [3000, 3000], 3, spread=1.5)
    trusted = X, y, rng.random(6000)
    outlyingness = np.array([1.2, 1.7, 2.5, 4.0])
    assert level_with(trusted, X[:4], y[:4], outlyingness) == np.inf
    assert len(asked) == 2  # the core, and all further rows
    asked.clear()
    wrong = X[:4] * np.array([[1.0], [1.0], [1.0], [1e4]])
    assert level_with(trusted, wrong, y[:4], outlyingness) == 3.3
    assert len(asked) == 3


def test_harmless_rows_are_taken_back(trusted, rng):
    X, y, _ = trusted
    more = X[:20] + 0.1 * rng.normal(size=(20, 3))
    assert level_with(trusted, more, y[:20], np.full(20, 6.0)) == np.inf


def test_harmful_rows_are_not(trusted):
    X, y, _ = trusted
    centres = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    wrong = centres[1 - y[:40]] + 5.0 * (centres[1 - y[:40]] - centres[y[:40]])
    assert level_with(trusted, wrong, y[:40], np.full(40, 6.0)) < 6.0


def test_the_level_lies_between_harmless_and_harmful_rows(trusted, rng):
    X, y, _ = trusted
    centres = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    good = X[:20] + 0.1 * rng.normal(size=(20, 3))
    wrong = centres[1 - y[:40]] + 5.0 * (centres[1 - y[:40]] - centres[y[:40]])
    outlyingness = np.append(np.full(20, 3.0), np.full(40, 30.0))
    level = level_with(trusted, np.vstack([good, wrong]), np.append(y[:20], y[:40]), outlyingness)
    assert 3.0 <= level < 30.0
    assert level in LEVELS


def test_a_row_of_weight_k_is_k_rows(trusted, rng):
    X, y, outlyingness = trusted
    outlyingness = outlyingness * rng.choice([0.9, 9.0], 160, p=[0.9, 0.1])
    weights = rng.integers(1, 4, 160)
    rows = np.repeat(np.arange(160), weights)
    repeated = level_of(X[rows], y[rows], None, outlyingness[rows])
    assert level_of(X, y, weights * 1.0, outlyingness) == repeated


def scores_of(distances, codes, weights=None, step=None, log_priors=LOG_PRIORS):
    weights = np.ones(len(codes)) if weights is None else weights
    order, ends = nested(np.zeros(len(codes), int) if step is None else step, 3)

    def measure(first, stop):
        return distances[order[first:stop]]

    return Scores(measure, codes[order], weights[order], ends, log_priors)


@pytest.fixture
def scored(rng):
    """Squared distances that are too confident, of rows in three nested supports."""
    codes = rng.integers(3, size=300).astype(np.int32)
    distances = 60.0 * rng.random((300, 3))
    distances[np.arange(300), codes] *= 0.7
    return distances, codes, rng.integers(3, size=300) * 0.5, rng.integers(3, size=300)


def losses(distances, codes, sharpness, log_priors=LOG_PRIORS):
    scores = log_priors - 0.5 * sharpness * distances
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes]


def test_hits_are_those_of_all_rows(scored):
    distances, codes, weights, _ = scored
    right = np.argmax(LOG_PRIORS - 0.5 * distances, axis=1) == codes
    assert scores_of(*scored).hits(2) == weights @ right


@pytest.mark.parametrize("size", [1e-4, 0.1, 1.0, 10.0, 1e4])
def test_the_loss_is_that_of_the_core_at_the_best_sharpness(scored, size):
    distances, codes, weights, step = scored
    core = weights * (step == 0)
    each = [core @ losses(size * distances, codes, k) for k in SHARPNESS]
    scores = scores_of(size * distances, codes, weights, step)
    assert scores.loss == pytest.approx(min(each) / core.sum(), rel=1e-12)


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("more", [-0.5, -1e-3, 1e-3, 0.5])
def test_a_loss_costs_more_if_it_is_above_another_and_a_price(scored, rng, size, more):
    distances, *known = scored
    core = scores_of(distances, *known)
    scores = scores_of(size * distances * (1.0 + rng.random(distances.shape)), *known)
    price = scores.loss - core.loss - more
    assert scores.costs_more(core, price) == [more > 0.0]
    assert scores.costs_more(core, price, price + 1.0) == [more > 0.0, more > 1.0]


def test_the_temperature_is_that_of_the_least_loss_of_rows_that_are_not_flagged(scored):
    distances, codes, weights, steps = scored
    assert LEVELS[1] == FLAG_LEVEL
    distances[steps == 0] *= 0.05  # the core alone could be more confident
    inside, nothing = weights * (steps <= 1), np.zeros(3)
    scores = distances - 2.0 * LOG_PRIORS  # the priors are tempered too
    each = [inside @ losses(scores, codes, k, nothing) for k in SHARPNESS]
    expected = SHARPNESS[np.argmin(each)]
    assert expected < 1.0
    assert scores_of(*scored).temperature == expected


def test_the_temperature_is_at_most_one(rng):
    codes = rng.integers(3, size=90).astype(np.int32)
    distances = np.full((90, 3), 2.0)
    distances[np.arange(90), codes] = 0.0
    assert scores_of(distances, codes, log_priors=np.zeros(3)).temperature == 1.0


def test_rows_of_no_weight_do_not_count(trusted):
    X, y, _ = trusted
    weights = np.append(np.ones(len(y)), 0.0)
    assert level_with(trusted, X[:1] + 50.0, y[:1], [50.0], weights) == np.inf


def test_rows_too_far_off_to_be_summed_are_left_out(trusted):
    X, y, _ = trusted
    assert level_with(trusted, np.full((2, 3), 1e300), [0, 1], [50.0, 50.0]) < 50.0


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_the_core_are_those_of_its_lda(rng, spy, weighted):
    asked = spy(_fit, "harmless_level")
    X, y = load_wine(return_X_y=True)
    X[::20] *= 3.0
    weights = rng.integers(1, 4, len(y)) * 0.5 if weighted else np.ones(len(y))
    CappedLDA().fit(X, y, sample_weight=weights)
    ((rows, outlyingness, frame, _, known),) = asked
    inside = weights * (outlyingness <= 1.0)
    means = np.stack([np.average(X, axis=0, weights=inside * (y == k)) for k in range(3)])
    np.testing.assert_allclose(known.centres, means, rtol=1e-12)
    np.testing.assert_allclose(known.weights, np.bincount(y, inside), rtol=1e-12)
    H = (X - means[y]) / frame.scale
    scatter = known.centred()[1]
    np.testing.assert_allclose(scatter, (H.T * inside) @ H, rtol=1e-9, atol=1e-9)
    assert harmless_level(rows, outlyingness, frame) == harmless_level(*asked[0])


def test_the_core_is_not_known_by_an_lda_on_other_rows_nor_with_flat_features(spy):
    asked = spy(_fit, "known_core")
    X, y = load_wine(return_X_y=True)
    X[::20] *= 3.0
    CappedLDA().fit(X, y)
    CappedLDA().fit(np.column_stack([X, y]), y)
    assert [core is not None for core in asked.results] == [True, False]
    reweighted, core, scale = asked[0]
    assert known_core(reweighted, np.roll(core, 1), scale) is None


def test_supports_are_judged_with_the_shrinkage_that_is_asked_for(spy):
    asked = spy(leave_out, "PlainLDA")
    X, y = load_wine(return_X_y=True)
    X[::20] *= 3.0
    for shrinkage, expected in [("few_rows", 0.0), (0.3, 0.3), (None, 0.0), (1.0, 0.99)]:
        asked.clear()
        CappedLDA(shrinkage=shrinkage).fit(X, y)
        assert {shrinkage for *_, shrinkage in asked} == {expected}
    asked.clear()
    model = CappedLDA(shrinkage="auto").fit(X, y)
    (amount,) = {shrinkage for *_, shrinkage in asked}
    assert amount == pytest.approx(model.shrinkage_, abs=0.1)


def test_a_sample_vouches_for_little_more_than_it_has_seen():
    outlyingness = np.array([0.2, 0.9, 2.0, 60.0, np.inf])
    for level, expected in ((1.0, 1.0), (1.5, 1.5), (40.0, 3.0), (100.0, 90.0), (np.inf, np.inf)):
        assert vouched_level(outlyingness, level) == expected
    assert vouched_level(outlyingness[:-1], np.inf) == 90.0
    assert vouched_level(np.array([0.5, 0.7]), 100.0) == 1.5


@pytest.mark.parametrize("seed", [1, 2])
def test_gross_rows_in_a_gap_of_the_sample_are_left_out(seed):
    # Garbage of about one size: a few of 20,000 rows are nearer than all of it in the sample.
    rng = np.random.default_rng(seed)
    y, means = rng.integers(3, size=100_000), 0.25 * rng.normal(size=(3, 60))
    X = rng.normal(size=(100_000, 60)) + means[y]
    bad = rng.random(100_000) < 0.2
    X[bad] = 200.0 * rng.normal(size=(bad.sum(), 60))
    lda = CappedLDA().fit(X, y)
    assert lda.n_sampled_ > 0
    assert lda.left_out_[bad].all()
    assert lda.left_out_[~bad].mean() < 1e-3
