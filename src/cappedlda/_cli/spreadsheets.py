"""Tables in spreadsheets: .xlsx files, read by pandas and openpyxl."""

import warnings
from zipfile import BadZipFile

from cappedlda._cli.tables import Notation, Table, refuse_repeated


class SheetTable(Table):
    """A sheet of an .xlsx file, which is held in memory: it has a million rows at most."""

    def __init__(self, label, frame, names, notation=None):
        self._frame = frame
        super().__init__(label, names, len(frame.columns), notation)

    def _columns(self, wanted, text, n_rows):
        for start in range(0, len(self._frame), n_rows):
            rows = self._frame.iloc[start : start + n_rows]
            yield {j: rows.iloc[:, j].to_numpy() for j in wanted}


def sheet_table(
    path, sheet=None, *, header=True, na=(), decimal=None, thousands=None, notation=None
):
    """Return the table in a sheet; by default in the first one.

    Parameters
    ----------
    path : str
    sheet : str, optional
        The name of the sheet.
    header : bool
        Whether the first row has the names of the columns.
    na : list of str
        Text that stands for a missing value, besides the usual.
    decimal, thousands : str, optional
        How numbers are written in cells of text.
    notation : Notation, optional
        The same, if neither is given.
    """
    cells = read_cells(path, sheet, na)
    # Rows and columns that only have a format are none.
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if cells.empty:
        raise ValueError(f"{path} cannot be read as a spreadsheet: the sheet is empty")
    names = None
    if header:
        first = cells.iloc[0]
        names = [
            f"Unnamed: {j}" if missing else str(name)
            for j, (name, missing) in enumerate(zip(first, first.isna(), strict=True))
        ]
        refuse_repeated(path, names)
        cells = cells.iloc[1:]
    if decimal or thousands or notation is None:
        notation = Notation(decimal or ".", thousands)
    return SheetTable(path, cells.infer_objects(), names, notation)


def read_cells(path, sheet, na):
    """Return the cells of a sheet as a data frame without names."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # styles that it does not know
        try:
            with pd.ExcelFile(path, engine="openpyxl") as book:
                if sheet is not None and sheet not in book.sheet_names:
                    known = ", ".join(map(repr, book.sheet_names))
                    raise UnknownSheetError(f"{path} has no sheet {sheet!r}; it has {known}.")
                chosen = 0 if sheet is None else sheet
                return pd.read_excel(book, sheet_name=chosen, header=None, na_values=list(na))
        except UnknownSheetError:
            raise
        except (BadZipFile, ValueError, KeyError, OSError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"{path} cannot be read as a spreadsheet: {reason}") from None


class UnknownSheetError(ValueError):
    """A sheet that the file does not have."""
