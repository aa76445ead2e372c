"""What a fit has found, on one page."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from common import in_regime
from sklearn.exceptions import NotFittedError

from cappedlda import CappedLDA, CappedLDACV, load_model, save_model


def cells(text, first):
    """The cells of the line that begins with a word."""
    (line,) = [line for line in text.splitlines() if line.split()[:1] == [first]]
    return line.split()


def test_counts_by_class(dirty):
    X, y, _ = dirty
    labels = np.array(["a", "b", "c"])[y]
    lda = CappedLDA().fit(X, labels)
    text = str(lda.summary())
    assert text.startswith("CappedLDA: converged, iterations: ")
    assert cells(text, "class") == ["class", "rows", "flagged", "left", "out", "prior"]
    for name in "abc":
        own = labels == name
        counts = [own.sum(), lda.outliers_[own].sum(), lda.left_out_[own].sum()]
        assert cells(text, name)[1:4] == [str(count) for count in counts]
    assert cells(text, "all")[1:] == ["150", *cells(text, "all")[2:4], "1.000"]
    assert lda.outliers_.sum() == int(cells(text, "all")[2])


def test_directions_name_their_largest_loadings(rng):
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3)) * [1.0, 100.0, 1.0]
    X[:, 1] += 500.0 * y  # a small coefficient, but per deviation the largest
    lda = CappedLDA().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    (line,) = lda.summary().directions
    assert line.startswith("direction 1 (100.0% of the separation): b +")
    assert CappedLDA().fit(X, y).summary().directions[0].split(": ")[1].startswith("x1 +")


def test_decisions_are_told(rng, dirty):
    X, y, _ = dirty
    lda = in_regime(CappedLDA(shrinkage=0.25), least_sample_rows=30, sample_rows_per_class=5)
    text = str(lda.fit(X, y).summary())
    assert f"a sample of {lda.n_sampled_} rows" in text
    assert lda.n_sampled_ > 0
    assert "shrinkage_ = 0.25" in text
    assert "left out of the fit: rows " in text
    assert "left out of the fit: no row" in str(CappedLDA(epsilon=np.inf).fit(X, y).summary())


def test_rows_that_look_mislabelled_are_counted(rng):
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 3)) + 9.0 * y[:, None]
    y[:7] = 1
    lda = CappedLDA(label_noise="auto").fit(X, y)
    assert lda.mislabelled_.sum() == 7
    assert "wrong labels: 7 rows look mislabelled (" in str(lda.summary())


@pytest.mark.parametrize(
    ("parameters", "share"),
    [({}, None), ({"leave_out": "flagged"}, 1.0), ({"epsilon": 3.0}, 1.0)],
)
def test_which_rows_are_left_out_is_said_plainly(dirty, parameters, share):
    X, y, _ = dirty
    lda = CappedLDA(**parameters).fit(X, y)
    (line,) = [line for line in lda.summary().decisions if line.startswith("left out")]
    start, limit = line.rsplit(maxsplit=1)
    assert start == "left out of the fit: rows with outlyingness above"
    assert share in (None, float(limit))
    assert lda.left_out_.any()
    np.testing.assert_array_equal(lda.left_out_, lda.outlyingness(X, y) > float(limit))


def test_no_row_is_left_out(dirty):
    X, y, _ = dirty
    assert "left out of the fit: no row" in str(CappedLDA(epsilon=np.inf).fit(X, y).summary())


def test_what_cross_validation_chose_is_told(dirty):
    X, y, _ = dirty
    lda = CappedLDACV(cv=3, multipliers=(1.0,)).fit(X, y)
    text = str(lda.summary())
    assert text.startswith("CappedLDACV: ")
    assert "chosen in 3 folds: multiplier 1, directions: 2" in text
    assert f"accuracy {lda.best_score_:.1%}" in text


def test_in_notebooks_it_is_html_and_escaped(dirty):
    X, y, _ = dirty
    summary = CappedLDA().fit(X, np.array(["<b>", "b", "c"])[y]).summary()
    page = summary._repr_html_()
    assert "<td>&lt;b&gt;</td>" in page
    assert page.count("<tr>") == 5
    assert page.count("<li>") == len(summary.directions) + len(summary.decisions)
    assert page.count("<ul>") == 2
    for heading in (summary.loadings, "Decisions"):  # above its list, not in it
        assert f"<p>{heading}</p><ul><li>" in page
        assert f"\n{heading}:\n" in str(summary)
    assert repr(summary) == str(summary)


def test_where_rows_are_not_kept_flags_are_not_counted(dirty):
    X, y, _ = dirty
    expected = CappedLDA().fit(X, y)
    chunked = CappedLDA().fit_chunks(lambda: [(X[:70], y[:70]), (X[70:], y[70:])])
    lazy = CappedLDA().fit(da.from_array(X, chunks=(50, 6)), da.from_array(y, chunks=50))
    for lda in (chunked, lazy):
        found = cells(str(lda.summary()), "all")
        assert found[1:4] == ["150", "-", str(expected.left_out_.sum())]
        assert "<td>-</td>" in lda.summary()._repr_html_()


def test_rows_without_weight_are_not_counted(dirty):
    X, y, _ = dirty
    weights = (np.arange(150) % 15 > 0).astype(float)
    lda = CappedLDA().fit(X, y, sample_weight=weights)
    chunked = CappedLDA().fit_chunks(lambda: [(X, y, weights)])
    left_out = lda.left_out_[weights > 0.0].sum()
    assert left_out < lda.left_out_.sum()
    flagged = lda.outliers_[weights > 0.0].sum()
    assert cells(str(lda.summary()), "all")[1:4] == ["140", str(flagged), str(left_out)]
    assert cells(str(chunked.summary()), "all")[1:4] == ["140", "-", str(left_out)]


def test_files_keep_it(dirty, tmp_path):
    X, y, _ = dirty
    lda = CappedLDA().fit(X, y)
    save_model(lda, tmp_path / "model.npz")
    assert str(load_model(tmp_path / "model.npz").summary()) == str(lda.summary())


def test_many_classes_and_directions_are_cut_short(rng):
    y = np.repeat(np.arange(30), 20)
    X = rng.normal(size=(600, 8)) + 5.0 * rng.normal(size=(30, 8))[y]
    summary = CappedLDA().fit(X, y).summary()
    assert len(summary.classes) == 22
    assert summary.classes[20]["class"] == "..."
    assert summary.directions[-1] == "and 3 more"


def test_only_of_a_fit():
    with pytest.raises(NotFittedError):
        CappedLDA().summary()
