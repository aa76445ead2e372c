"""The report: complete, self-contained, and safe whatever names the data have."""

import io
import json
import re
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from common import make_classes, spoil

from cappedlda import CappedLDA
from cappedlda._cli import accuracy, main
from cappedlda._cli.accuracy import belonging, cross_validate
from cappedlda._cli.pictures import plain as plain_name
from cappedlda._util.progress import Progress

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
EVIL = '<script>alert("x")</script>&amp;'
VOID = {"meta", "img"}
QUIET = Progress(quiet=True)


class Page(HTMLParser):
    """Tags, text and tables of a page; checks that tags are nested."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))
        if name == "tr":
            self.rows.append([])
        if name in ("td", "th"):
            self.rows[-1].append("")
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20260101)
    X, y = make_classes(rng, [50, 40, 60], 6)
    spoilt = np.arange(len(y)) % 10 == 0
    names = [EVIL, "$\\alpha$ {x}", "f2", "f3", "f4", "f5"]
    kinds = np.array([EVIL, "$ and $", "a very long name of a class that nobody can read"])
    frame = pd.DataFrame(spoil(rng, X, spoilt), columns=names)
    return frame.assign(**{"the <b>kind</b>": kinds[y]}), spoilt


@pytest.fixture(scope="module")
def page(data, tmp_path_factory):
    """The report as text and parsed, and what the command said."""
    folder = tmp_path_factory.mktemp("report")
    data[0].to_csv(folder / "<i>data.csv", index=False)
    argv = ["fit", str(folder / "<i>data.csv"), "--target", "the <b>kind</b>"]
    with redirect_stdout(io.StringIO()) as out:
        assert main([*argv, "--report", str(folder / "report.html"), "--json", "--quiet"]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    return text, Page(text), json.loads(out.getvalue())


def test_nothing_of_the_data_is_markup(page):
    text, parsed, _ = page
    assert {name for name, _ in parsed.tags}.isdisjoint({"script", "i", "b", "link", "iframe"})
    assert "<script" not in text
    assert EVIL in "".join(parsed.text)
    assert all(not key.startswith("on") for _, attributes in parsed.tags for key in attributes)


def test_it_needs_nothing_else(page):
    text, parsed, _ = page
    sources = [attributes["src"] for name, attributes in parsed.tags if name == "img"]
    assert len(sources) == 4  # loadings of two directions
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "url(" not in text
    assert "@import" not in text
    assert len(text) < 600_000
    policies = [a["content"] for n, a in parsed.tags if a.get("http-equiv")]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    assert all(a["alt"] for n, a in parsed.tags if n == "img")


def test_it_is_made_for_phones_dark_mode_and_print(page):
    text, parsed, _ = page
    metas = {a.get("name"): a.get("content") for n, a in parsed.tags if n == "meta"}
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    assert metas["color-scheme"] == "light dark"
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_it_says_all(page, data):
    _, parsed, facts = page
    frame, spoilt = data
    rows = parsed.rows
    for item in facts["classes"]:
        expected = [item["class"], *(str(item[key]) for key in ("rows", "flagged", "left_out"))]
        assert expected in [row[:4] for row in rows]
    listed = [int(row[0]) for row in rows if len(row) == 7 and row[0].isdecimal()]
    assert sorted(listed) == np.flatnonzero(spoilt).tolist()
    capped, plain = facts["accuracy"]["methods"]
    for name, column in (("_all_rows", 1), ("", 2)):
        expected = f"{capped['accuracy' + name]:.1%} ± {capped['standard_error' + name]:.1%}"
        assert [expected] == [row[column] for row in rows if row[0] == "CappedLDA"]
    assert any(row[0] == plain["method"] for row in rows)
    named = {row[0]: row[1] for row in rows if len(row) == 2}
    assert named["epsilon"] == "auto"
    assert named["numpy"] == np.__version__
    assert {"leave_out", "shrinkage", "python", "scikit-learn", "cappedlda"} <= named.keys()
    text = "".join(parsed.text)
    assert "outlyingness is above 1" in text  # how it was scored
    headline = f"accuracy on all rows (plain LDA {plain['accuracy_all_rows']:.1%})"
    assert f"{headline}{capped['accuracy_all_rows']:.1%}" in text
    headline = f"accuracy without flagged rows (plain LDA {plain['accuracy']:.1%})"
    assert f"{headline}{capped['accuracy']:.1%}" in text
    assert facts["command"] in text


@pytest.fixture
def plain(clean, tmp_path):
    X, y = clean[0].copy(), clean[1]
    X[7, 4] = 777.0
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)]).assign(kind=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def fit_report(folder, *options):
    """Fit the CSV file in a folder and return the report."""
    argv = ["fit", str(folder / "data.csv"), "--target", "kind", "--quiet", *options]
    assert main([*argv, "--report", str(folder / "report.html")]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_most_unusual_value_is_named(plain, tmp_path, capsys):
    usual = plain.loc[plain["kind"] == plain["kind"][7], "f4"].drop(7).mean()
    (told,) = re.findall(r"f4 = 777 \(usually (.*?), z \+(.*?)\)", fit_report(tmp_path))
    assert float(told[0]) == pytest.approx(usual, abs=0.05)
    assert float(told[1]) > 100
    printed = capsys.readouterr().out
    assert re.search(r"^accuracy in 5 folds +CappedLDA  plain LDA$", printed, re.MULTILINE)
    capped, plain = re.search(r"^all rows +(\S+)%  +(\S+)%$", printed, re.MULTILINE).groups()
    explained = "CappedLDA does not fit the wrong rows, so it may misclassify them." in printed
    assert explained == (float(capped) < float(plain))
    assert re.search(r"^rows not flagged \(\d+\.\d%\)  +\d+\.\d%  +\d+\.\d%$", printed, re.M)


@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        ({}, ["--epsilon", "inf"], "No row is flagged or left out"),
        ({"kind": lambda f: f["kind"] % 2}, [], "report.html"),
        ({"kind": lambda f: f.index % 25}, [], "25"),
        ({"kind": lambda f: np.where(f.index == 0, 9, f["kind"])}, [], "report.html"),
    ],
    ids=["no cap", "two classes", "many classes", "one row"],
)
def test_other_shapes(change, options, expected, plain, tmp_path):
    plain[:80].assign(**change).to_csv(tmp_path / "data.csv", index=False)
    text = fit_report(tmp_path, *options)
    Page(text)
    assert expected in text


def test_long_lists_are_cut(dirty, tmp_path, limit):
    X, y, _ = dirty
    limit(listed_rows=4)
    limit(listed_classes=2)
    limit(sampled_rows=80)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    report = tmp_path / "report.html"
    assert main(["fit", str(tmp_path / "data.npz"), "--quiet", "--report", str(report)]) == 0
    page = Page(report.read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert "The 4 most outlying of 15 unusual rows" in text
    assert "1 more classes" in text
    assert "sample of" in text
    ratios = [float(row[3]) for row in page.rows if len(row) == 7 and row[0].isdecimal()]
    assert len(ratios) == 4
    expected = np.sort(CappedLDA().fit(X, y).outlyingness(X, y))[::-1][:4]
    np.testing.assert_allclose(ratios, expected, atol=0.005)  # two decimals


def test_a_report_without_matplotlib_is_refused(plain, tmp_path, capsys, without):
    without("matplotlib")
    argv = ["fit", str(tmp_path / "data.csv"), "--target", "kind", "--report", "r.html"]
    assert main(argv) == 1
    assert 'needs matplotlib. Try: pip install "cappedlda[cli]"' in capsys.readouterr().err


def test_accuracy_is_that_of_the_folds(dirty):
    """The robust score leaves out the same rows for both methods."""
    X, y, spoilt = dirty
    facts = cross_validate(CappedLDA(), X, y, QUIET)
    capped, plain = facts["methods"]
    assert facts["folds"] == 5
    assert facts["belonging"] == pytest.approx(1.0 - spoilt.mean(), abs=0.02)
    assert capped["accuracy"] > capped["accuracy_all_rows"]
    assert capped["accuracy"] > plain["accuracy"]


def test_the_confusion_matrix_counts_held_out_rows(page, data):
    _, parsed, facts = page
    frame, _ = data
    sizes = frame["the <b>kind</b>"].value_counts()
    hits = np.trace(facts["accuracy"]["confusion"]["counts"])
    accuracy_ = facts["accuracy"]["methods"][0]["accuracy_all_rows"]
    assert hits / len(frame) == pytest.approx(accuracy_, abs=1e-3)  # folds differ in their rows
    (start,) = [i for i, row in enumerate(parsed.rows) if row == ["class", *sorted(sizes.index)]]
    for row in parsed.rows[start + 1 : start + 4]:
        assert sum(0 if n == "·" else int(n) for n in row[1:]) == sizes[row[0]]


def test_of_many_classes_there_is_no_confusion_matrix():
    y = np.repeat(np.arange(21), 10)
    assert accuracy.confusion(y, y) is None
    assert accuracy.confusion(y[:20], 1 - y[:20]) == {
        "classes": [0, 1],
        "counts": [[0, 10], [10, 0]],
    }


def test_belonging_keeps_at_least_half(clean):
    X, y = clean
    model = CappedLDA().fit(X, y)
    assert belonging(model, X, y).mean() > 0.9
    assert 0.5 <= belonging(model, X + 100.0, y).mean() <= 0.6
    unknown = np.where(np.arange(len(y)) < 10, 99, y)
    assert not belonging(model, X, unknown)[:10].any()


def test_folds_that_cannot_be_fitted_are_told(clean):
    X, y = clean
    facts = cross_validate(CappedLDA(), X[:2], np.array([0, 1]), QUIET)
    assert "methods" not in facts
    assert facts["problem"]
    assert accuracy.summary(facts).startswith("No cross-validation: ")


def test_names_in_pictures_are_short_and_no_formulas():
    assert plain_name("a $") == r"a \$"
    assert len(plain_name("x" * 99)) == 22


def test_a_report_for_an_existing_model(dirty, in_tmp, capsys):
    """It says what the report of the fit says; the file, the command and the time are others."""
    X, y, _ = dirty
    np.savez("d.npz", X=X, y=y * 1.5 + 0.5)
    assert main(["fit", "d.npz", "--model", "m.npz", "--report", "f.html", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(["report", "m.npz", "d.npz", "--out", "r.html", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in ("classes", "flagged", "left_out", "epsilon", "accuracy", "parameters"):
        assert found[name] == expected[name]
    pages = [Path(name).read_text() for name in ("f.html", "r.html")]
    for part in (r"<table>.*?</table>", r"<img .*?>"):
        found = [re.findall(part, page) for page in pages]
        assert found[0] == found[1]
    assert all("classes in &#39;y&#39;" in page for page in pages)
    np.savez("unlabelled.npz", X=X)
    assert main(["report", "m.npz", "unlabelled.npz", "--out", "r.html"]) == 2
    assert "needs the classes" in capsys.readouterr().err
