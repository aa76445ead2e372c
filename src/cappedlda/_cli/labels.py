"""Class labels, as they stand in files and as a model knows them.

Files of several kinds write the same label in several ways (1, "1", 1.0, "1.000e+00"). Here a
label is the text that a reader sees, and what is written as a number with a decimal point but is
an integer is that integer. A model gets integers if all of its labels are integers.
"""

import re

import numpy as np

from cappedlda._model_file.recipe import as_text

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
MISSING, UNKNOWN = -1, -2


class Labels:
    """Numbers labels from 0, in the order in which they come, or by the classes of a model."""

    def __init__(self, classes=None):
        self._classes = classes  # None: every label is welcome
        known = [] if classes is None else np.asarray(classes).tolist()
        self._codes = {as_text(value): code for code, value in enumerate(known)}

    def encode(self, values):
        """Return the number of each label, MISSING or UNKNOWN where there is none."""
        from pandas import factorize

        codes, different = factorize(np.asarray(values, dtype=object))
        known = [self._code(as_text(value)) for value in different]
        return np.array([*known, MISSING], dtype=np.int64)[codes]

    def _code(self, text):
        if self._classes is None:
            self._codes.setdefault(text, len(self._codes))
        return self._codes.get(text, UNKNOWN)

    def names(self):
        """Return the text of each label, in the order of their numbers."""
        return list(self._codes)

    def values(self):
        """Return the labels in the order of their numbers, as a model has or is to have them."""
        if self._classes is not None:
            return np.asarray(self._classes)
        names = self.names()
        integers = all(INTEGER.fullmatch(name) for name in names)
        return np.array(names, dtype=np.int64 if integers and names else np.str_)
