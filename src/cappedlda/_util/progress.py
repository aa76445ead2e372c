"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import nullcontext


class Progress:
    """Tells what goes on, unless it is quiet."""

    def __init__(self, quiet=False, seconds=10.0):
        self._quiet = quiet
        self._seconds = seconds  # between two plain lines
        self._stream = sys.stderr

    def say(self, text):
        if not self._quiet:
            print(text, file=self._stream, flush=True)

    def count(self, parts, title):
        """Yield the parts, tuples of arrays, while their rows are added up and shown."""
        if self._quiet:
            yield from parts
            return
        done, last = 0, time.monotonic()
        with self._bar(title) as bar:
            for part in parts:
                yield part
                n_rows = len(part[0])
                done += n_rows
                if bar is not None:
                    bar.update(n_rows)
                elif time.monotonic() - last >= self._seconds:
                    last = time.monotonic()
                    self.say(f"{title}: {done} rows")

    def _bar(self, title):
        if not self._stream.isatty():
            return nullcontext()
        try:
            from tqdm import tqdm
        except ImportError:
            return nullcontext()
        return tqdm(desc=title, unit=" rows", unit_scale=True, leave=False, file=self._stream)
