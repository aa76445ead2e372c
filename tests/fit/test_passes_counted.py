"""What a fit says of its passes over all rows."""

import numpy as np
import pytest
from common import make_classes, spoil

from cappedlda import CappedLDA
from cappedlda._data.array import ArrayRows


@pytest.mark.parametrize("tails", ["outliers", "heavy", "skewed"])
def test_passes_over_all_rows_are_counted(rng, spy, tails):
    X, y = make_classes(rng, [14_000, 9000, 8000], 4, spread=2.0)
    if tails == "outliers":
        X = spoil(rng, X, rng.uniform(size=len(y)) < 0.1)
    elif tails == "heavy":
        X += rng.standard_t(2, size=X.shape)
    else:
        X = np.exp(0.7 * X)
    passes = spy(ArrayRows, "reduce")
    model = CappedLDA().fit(X, y)
    assert model.n_sampled_ == 10_000
    assert model.n_passes_ == sum(rows.shape[0] == len(y) for rows, *_ in passes)
    assert model.n_passes_ <= 15


def test_passes_that_judge_labels_are_counted(rng, spy):
    X, y = make_classes(rng, [14_000, 9000, 8000], 4, spread=1.0)
    y = np.where(rng.random(len(y)) < 0.1, (y + 1) % 3, y)
    passes, judged = spy(ArrayRows, "reduce"), spy(ArrayRows, "each")
    model = CappedLDA(label_noise="auto").fit(X, y)
    assert model.label_status_ == "found"
    assert model.n_sampled_ > 0
    assert len(judged) == 1
    assert model.n_passes_ == 1 + sum(rows.shape[0] == len(y) for rows, *_ in passes)


def test_a_small_class_keeps_its_cap_where_rows_beside_the_sample_set_caps(rng):
    # All of it is in the sample: none of its rows are beside it.
    y = np.repeat([0, 1, 2], [16_000, 16_000, 45])
    X = rng.normal(size=(len(y), 60))
    X[y == 1, 0] += 4.0
    X[y == 2] *= 4.0
    X[y == 2, 1] += 20.0
    model = CappedLDA(random_state=0).fit(X, y)
    assert model.n_sampled_ > 0
    assert model.n_passes_ == 2
    assert not model.left_out_[y == 2].any()
    assert model.caps_[2] > 2.0 * model.caps_[0]
    np.testing.assert_allclose(model.means_[2], X[y == 2].mean(axis=0), rtol=1e-9)
