"""Class labels, as they stand in files and as a model knows them.

Files of several kinds write the same label in several ways (1, "1", 1.0, "1.000e+00"). Here a
label is the text that a reader sees, and what is written as a number with a decimal point but is
an integer is that integer. A model gets integers if all of its labels are integers.
"""

import re

import numpy as np

from cappedlda._cli.tables import is_missing

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?")
EXACT = 2.0**53  # larger integers are not told apart as numbers of floating point
MISSING, UNKNOWN = -1, -2


class Labels:
    """Numbers labels from 0, in the order in which they come, or by the classes of a model.

    Parameters
    ----------
    classes : array-like, optional
        The only labels; others are unknown. By default every label is welcome.
    """

    def __init__(self, classes=None):
        self._open = classes is None
        self._classes = classes
        known = [] if classes is None else np.asarray(classes).tolist()
        self._codes = {as_text(value): code for code, value in enumerate(known)}
        self._seen = {}  # the code of each value, as it is in the file

    def encode(self, values):
        """Return the number of each label, MISSING or UNKNOWN where there is none."""
        return np.array([self._code(value) for value in values.tolist()], dtype=np.int64)

    def _code(self, value):
        try:
            return self._seen[value]
        except KeyError:
            pass
        if is_missing(value):
            return MISSING
        text = as_text(value)
        if self._open:
            self._codes.setdefault(text, len(self._codes))
        return self._seen.setdefault(value, self._codes.get(text, UNKNOWN))

    def names(self):
        """Return the text of each label, in the order of their numbers."""
        return list(self._codes)

    def values(self):
        """Return the labels in the order of their numbers: integers, or else text.

        The labels of a model are as the model has them.
        """
        if not self._open:
            return np.asarray(self._classes)
        names = self.names()
        integers = all(INTEGER.fullmatch(name) for name in names)
        return np.array(names, dtype=np.int64 if integers and names else np.str_)


def as_text(value):
    """Return a label as a reader sees it: 1.0 is 1, and so is its text."""
    number = float(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else value
    if isinstance(number, float) and number.is_integer() and abs(number) < EXACT:
        return str(int(number))
    return str(value)
