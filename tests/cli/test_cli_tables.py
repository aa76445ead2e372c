"""Tables of the command line: every format gives the same rows, and errors name the place."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from cappedlda._cli import main
from cappedlda._cli.formats import open_table
from cappedlda._cli.rows import MISSING, UNKNOWN, Labels
from cappedlda._cli.writing import write_table
from cappedlda._model_file.recipe import as_text

pd = pytest.importorskip("pandas")

NUMBERS = np.array([[1.5, -2.0], [3.0, 4e10], [np.nan, 6.0], [7.0, 8.0]])
LABELS = ["a b", "ß", "a b", "c"]
ARFF = """% made by hand
@RELATION r

@attribute x numeric
@Attribute 'y' real
@attribute\tlabel\t{'a b',ß,c}
@DATA
1.5,-2,'a b'
% a comment

3, 4e10, ß
?,6,'a b'
7,8,c
"""


@pytest.fixture
def frame():
    return pd.DataFrame({"x": NUMBERS[:, 0], "y": NUMBERS[:, 1], "label": LABELS})


def write_csv(frame, path):
    frame.to_csv(path, index=False)


def write_tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")


def write_parquet(frame, path):
    frame.astype({"label": "category"}).to_parquet(path, row_group_size=3)


def write_arff(frame, path):
    path.write_text(ARFF, encoding="utf-8")


@pytest.mark.parametrize("block_numbers", [1, 6, 1000], ids=["one row", "two rows", "all rows"])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", write_csv),
        ("t.csv.gz", write_csv),
        ("t.tsv", write_tsv),
        ("t.parquet", write_parquet),
        ("t.arff", write_arff),
    ],
)
def test_formats_agree(name, write, block_numbers, frame, tmp_path, limit):
    limit(block_numbers=block_numbers)
    write(frame, tmp_path / name)
    table = open_table(str(tmp_path / name))
    assert table.columns == ["x", "y", "label"]
    for _ in range(2):  # a table can be read again
        blocks = list(table.blocks(["y", "x"], ["label"]))
        assert [i for block in blocks for i in block.others.index] == list(range(4))
        np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), NUMBERS[:, ::-1])
        labels = [value for block in blocks for value in block.others.iloc[:, 0].tolist()]
        assert labels == LABELS


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_arrays(name, tmp_path):
    if name == "t.npy":
        np.save(tmp_path / name, NUMBERS.astype(np.float32))
    else:
        np.savez(tmp_path / name, X=NUMBERS.astype(np.float32), y=LABELS)
    table = open_table(str(tmp_path / name))
    assert table.columns == [0, 1]
    (block,) = table.blocks([0, 1], [1])
    assert block.X.dtype == np.float32
    np.testing.assert_array_equal(block.X, NUMBERS.astype(np.float32))
    np.testing.assert_array_equal(block.others[1], NUMBERS[:, 1].astype(np.float32))
    assert isinstance(table.array, np.memmap) == (name == "t.npy")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("name", ["t.csv", "t.arff"])
def test_other_encodings(name, encoding, frame, tmp_path):
    path = tmp_path / name
    text = ARFF if name == "t.arff" else frame.to_csv(index=False)
    path.write_bytes(text.replace("x", "größe").encode(encoding))
    table = open_table(str(path), encoding=encoding)
    assert table.columns == ["größe", "y", "label"]
    (block,) = table.blocks(["größe", "y"], ["label"])
    np.testing.assert_array_equal(block.X, NUMBERS)
    assert block.others.iloc[:, 0].tolist() == LABELS


def test_columns_without_names_are_told_apart(tmp_path):
    (tmp_path / "t.csv").write_text(",x,\n1,2,3\n")
    assert open_table(str(tmp_path / "t.csv")).columns == ["Unnamed: 0", "x", "Unnamed: 2"]


def test_csv_without_header_and_with_another_delimiter(frame, tmp_path):
    path = tmp_path / "t.data"
    frame.to_csv(path, index=False, header=False, sep=";")
    table = open_table(str(path), delimiter=";", header=False)
    assert table.columns == [0, 1, 2]
    (block,) = table.blocks([0, 1], [2])
    np.testing.assert_array_equal(block.X, NUMBERS)
    assert table.find("-1", "--target") == 2


def test_labels_of_csv_are_text_whatever_the_block(tmp_path, limit):
    limit(block_numbers=2)
    (tmp_path / "t.csv").write_text("x,y\n1,007\n2,1.0\n3,\n4,nan\n")
    blocks = open_table(str(tmp_path / "t.csv")).blocks(["x"], ["y"])
    values = [value for block in blocks for value in block.others.iloc[:, 0].tolist()]
    assert values[:2] == ["007", "1.0"]
    assert pd.isna(values[2:]).all()


def test_numbers_in_other_clothes(tmp_path):
    frame = pd.DataFrame({"flag": [True, None], "text": ["1", "2.5"], "int": [3, None]})
    frame = frame.astype({"flag": object, "int": "Int64"})
    frame.to_parquet(tmp_path / "t.parquet")
    (block,) = open_table(str(tmp_path / "t.parquet")).blocks(["flag", "text", "int"])
    np.testing.assert_array_equal(block.X, [[1.0, 1.0, 3.0], [np.nan, 2.5, np.nan]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "t.csv cannot be read as CSV: it is empty"),
        ("t.csv", b"x,y\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        ("t.csv", b"x,y\n1,2,3\n4,5,6\n", "cannot be read as CSV: Length of header"),
        (
            "t.csv.gz",
            gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:30],
            "t.csv.gz cannot be read as CSV: ",
        ),
        ("t.csv.xz", b"no archive", "t.csv.xz cannot be read as CSV: "),
        ("t.csv.gz", b"no archive", "t.csv.gz cannot be read as CSV: Not a gzipped file"),
        ("t.csv", b"x,\xff\n1,2\n", "t.csv is not text in utf-8; name its encoding"),
        ("t.csv", b"x,y\n1,2\n\xff,4\n", "t.csv is not text in utf-8; name its encoding"),
        ("t.arff", b"@attribute \xff real\n@data\n\xff\n", "t.arff is not text in utf-8"),
        ("t.csv", b"x,y,x\n1,2,3\n", "t.csv has two columns 'x'; rename one"),
        ("t.arff", b"@attribute x real\n" * 2 + b"@data\n1,2\n", "t.arff has two columns 'x'"),
        ("t.parquet", b"x,y\n", "t.parquet cannot be read as Parquet"),
        ("t.arff", b"x,y\n", "cannot be read as ARFF: it has no line @data"),
        ("t.arff", b"@data\n1,2\n", "cannot be read as ARFF: it has no line @attribute"),
        ("t.arff", b"@attribute x real\n@data\n{0 1}\n", "is sparse ARFF"),
        ("t.npy", b"x,y\n", "t.npy cannot be read: it is damaged, or"),
        ("t.npz", b"x,y\n", "t.npz cannot be read: it is damaged, or"),
        ("t.npz", b"PK\x03\x04x", "t.npz cannot be read: it is damaged"),
        ("t.xlsx", b"x", "t.xlsx cannot be read as a spreadsheet: File is not a zip file"),
        ("t.xls", b"x", "t.xls: .xls files are not read; save the table as .xlsx or .csv"),
        ("t.docx", b"x", "unknown kind of file; the suffix must be one of .csv"),
    ],
)
def test_other_content_is_refused(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        list(open_table(str(tmp_path / name)).blocks([0, 1]))


def test_arrays_that_are_no_tables(tmp_path):
    np.save(tmp_path / "line.npy", np.zeros(3))
    np.save(tmp_path / "text.npy", np.full((2, 2), "x"))
    np.savez(tmp_path / "t.npz", A=np.zeros((2, 2)))
    for name in ("line.npy", "text.npy"):
        with pytest.raises(ValueError, match="two-dimensional array of numbers"):
            open_table(str(tmp_path / name))
    with pytest.raises(ValueError, match="no array 'X'; it has 'A'"):
        open_table(str(tmp_path / "t.npz"))
    assert open_table(str(tmp_path / "t.npz"), key="A").columns == [0, 1]


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match="Python objects"):
        open_table(str(tmp_path / "t.npy"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("lable", "no column 'lable' for --target; did you mean 'label'"),
        ("LABEL", "no column 'LABEL' for --target; did you mean 'label'"),
        ("zzz", "it has 'x', 'y', 'label'"),
        ("3", "has 3 columns, numbered from 0: there is no column 3"),
    ],
)
def test_unknown_columns(column, message, frame, tmp_path):
    write_csv(frame, tmp_path / "t.csv")
    with pytest.raises(ValueError, match=message):
        open_table(str(tmp_path / "t.csv")).find(column, "--target")


def test_a_wrong_delimiter_is_suspected(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", sep="|", index=False)
    with pytest.raises(ValueError, match="give --delimiter"):
        open_table(str(tmp_path / "t.csv")).find("label", "--target")


def test_text_among_numbers(tmp_path, limit):
    limit(block_numbers=4)
    (tmp_path / "t.csv").write_text("x,my colour\n1,2\n3,4\n5,6\n7,red\n")
    message = r"column 'my colour', row 3 .*'red' is not a number.*--drop 'my colour'"
    with pytest.raises(ValueError, match=message):
        list(open_table(str(tmp_path / "t.csv")).blocks(["x", "my colour"]))


@pytest.mark.parametrize("module", ["pandas", "pyarrow"])
def test_missing_libraries_come_with_a_remedy(module, tmp_path, without):
    without(module)
    path = tmp_path / {"pandas": "t.csv", "pyarrow": "t.parquet"}[module]
    path.touch()
    with pytest.raises(ValueError, match=rf'needs {module}.*"cappedlda\[cli\]"'):
        open_table(str(path))


@pytest.mark.parametrize(
    ("values", "names", "kind"),
    [
        ([3, 1, 3], ["3", "1"], "i"),
        ([3.0, 1.0], ["3", "1"], "i"),
        (["3", "1", "-5"], ["3", "1", "-5"], "i"),
        (["3", "01"], ["3", "01"], "U"),
        ([0.5, 1.0], ["0.5", "1"], "U"),
        ([True, False], ["True", "False"], "U"),
        (["a", "3"], ["a", "3"], "U"),
    ],
)
def test_labels(values, names, kind):
    labels = Labels()
    codes = labels.encode(np.array(values, dtype=object))
    assert labels.names() == names
    assert labels.values().dtype.kind == kind
    assert [str(value) for value in labels.values()] == names
    assert [names[code] for code in codes] == [as_text(value) for value in values]


def test_labels_of_a_model():
    labels = Labels(np.array([1, 2]))
    found = labels.encode(np.array(["2", "1", None, "7", np.nan], dtype=object))
    assert found.tolist() == [1, 0, MISSING, UNKNOWN, MISSING]
    np.testing.assert_array_equal(labels.encode(np.array([2.0, 1.0])), [1, 0])


COLUMNS = pd.DataFrame(
    {
        "row": [0, 1, 2],
        "name": ["a", 'b,"c', "ß"],
        "ratio": [0.1, 1 / 3, 1e300],
        "flag": [True, False, True],
    }
)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "parquet", "npz"])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_what_is_written_comes_back(suffix, cut, tmp_path):
    path = tmp_path / f"out.{suffix}"
    write_table([COLUMNS[:cut], COLUMNS[cut:]], str(path), as_json=False)
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "json": lambda path: pd.read_json(path, precise_float=True),
        "parquet": pd.read_parquet,
        "npz": lambda path: dict(np.load(path, allow_pickle=False)),
    }[suffix]
    found = read(path)
    assert list(found) == list(COLUMNS)
    for name, column in COLUMNS.items():
        assert list(found[name]) == list(column), name


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "npz", "npy"])
def test_tables_without_rows(suffix, tmp_path):
    path = tmp_path / f"out.{suffix}"
    write_table([COLUMNS[:0].drop(columns="name")], str(path), as_json=False)
    if suffix == "csv":
        assert path.read_text() == "row,ratio,flag\n"
    elif suffix == "json":
        assert path.read_text() == "[]\n"
    elif suffix == "parquet":
        assert list(pd.read_parquet(path)) == ["row", "ratio", "flag"]


def test_an_array_leaves_the_row_numbers_out(tmp_path):
    for names, shape in ((["row", "ratio"], (3,)), (["row", "ratio", "flag"], (3, 2))):
        write_table([COLUMNS[names]], str(tmp_path / "out.npy"), as_json=False)
        assert np.load(tmp_path / "out.npy").shape == shape


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_a_failure_leaves_no_file(suffix, tmp_path):
    def frames():
        yield COLUMNS
        raise ValueError("row 7")

    with pytest.raises(ValueError, match="row 7"):
        write_table(frames(), str(tmp_path / f"out.{suffix}"), as_json=False)
    assert list(tmp_path.iterdir()) == []


def test_python_underscores_are_no_numbers(tmp_path):
    """Python reads 1_000 as 1000; a table does not."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n1_000,3\n")
    table = open_table(str(tmp_path / "a.csv"))
    with pytest.raises(ValueError, match="column 'a', row 1 .*'1_000' is not a number"):
        list(table.blocks(["a", "b"]))


@pytest.mark.parametrize("name", ["rot13", "hex", "undefined", "nonsense"])
def test_encodings_of_text_only(name, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "a.csv", "--target", "y", "--encoding", name])
    assert f"{name!r} is not an encoding; try utf-8" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1", "1.", "1.0", "1.000000", "+1.0", "1.0e+00", "1.00E0"])
def test_a_label_is_an_integer_however_it_is_written(text):
    """The same table as CSV, by NumPy or by hand, and as .npy has the same classes."""
    labels = Labels()
    labels.encode(np.array([text, "2"], dtype=object))
    assert labels.values().tolist() == [1, 2]
    assert Labels([1, 2]).encode(np.array([text], dtype=object)).tolist() == [0]


@pytest.mark.parametrize("text", ["1.10", "1e5", "0x1", "007", "1_0", "1.0.0", "nan", " 1"])
def test_other_labels_stay_text(text):
    labels = Labels()
    labels.encode(np.array([text, "2"], dtype=object))
    assert labels.values().tolist() == [text, "2"]


def test_an_npz_that_declares_too_much_is_one_line(tmp_path, capsys):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 20)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(8))
        archive.writestr("y.npy", header.getvalue() + bytes(8))
    assert main(["fit", str(tmp_path / "a.npz"), "--quiet"]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"cappedlda fit: {tmp_path / 'a.npz'} ")
    assert message.count("\n") == 1


ROWS = np.array([[1.5, 2.5, 0.0], [2.25, 3.0, 1.0], [-1.5, 1234.5, 0.0]])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a;b;c\n1,5;2,5;0\n2,25;3;1\n-1,5;1234,5;0\n", {}),
        ("a;b;c\n1.5;2.5;0\n2.25;3;1\n-1.5;1234.5;0\n", {}),
        ("a\tb\tc\n1,5\t2,5\t0\n2,25\t3\t1\n-1,5\t1234,5\t0\n", {}),
        ("a;b;c\n1,5;2,5;0\n2,25;3;1\n-1,5;1.234,5;0\n", {"decimal": ",", "thousands": "."}),
        ('a,b,c\n1.5,2.5,0\n2.25,3,1\n-1.5,"1,234.5",0\n', {"thousands": ","}),
        ("a b c\n1.5 2.5 0\n2.25 3 1\n-1.5 1234.5 0\n", {"delimiter": " "}),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_separators_and_decimal_commas_are_recognised(name, text, options, tmp_path):
    content = text.encode()
    (tmp_path / name).write_bytes(
        gzip.compress(content, mtime=0) if name.endswith("gz") else content
    )
    (block,) = open_table(str(tmp_path / name), **options).blocks(["a", "b", "c"])
    np.testing.assert_array_equal(block.X, ROWS)


def test_commas_are_no_decimals_where_points_are(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1.5;1,5\n")
    with pytest.raises(ValueError, match="column 'b', row 0 .*'1,5' is not a number"):
        list(open_table(str(tmp_path / "t.csv")).blocks(["a", "b"]))


def test_all_columns_of_text_are_named_at_once(tmp_path):
    (tmp_path / "t.csv").write_text("id,size,colour,y z\n1,2.5,red,a\n2,3.5,blue,b\n")
    message = "'red' is not a number, nor are values in 'y z'; encode the columns with --encode, or"
    with pytest.raises(ValueError, match=message) as caught:
        list(open_table(str(tmp_path / "t.csv")).blocks(["id", "size", "colour", "y z"]))
    assert "leave the columns out with --drop 'colour,y z'." in str(caught.value)


def test_names_with_commas_get_options_of_their_own(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b, c",d e\n1,2,3\n')
    table = open_table(str(tmp_path / "t.csv"))
    assert table.option("--drop", table.columns) == "--drop 'a,d e' --drop 'b, c'"
    assert table.option("--drop", ["b, c"]) == "--drop 'b, c'"


def test_names_with_commas_between_them(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b,c",d\n1,2,3\n')
    table = open_table(str(tmp_path / "t.csv"))
    assert table.find_all(["a,d"], "--drop") == ["a", "d"]
    assert table.find_all(["b,c", "0,2"], "--drop") == ["b,c", "a", "d"]
    with pytest.raises(ValueError, match="no column 'x' for --drop"):
        table.find_all(["a,x"], "--drop")
