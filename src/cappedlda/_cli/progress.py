"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
import time

SECONDS = 10.0  # between two plain lines


class Progress:
    """Tells what goes on, unless it is to be quiet."""

    def __init__(self, quiet=False):
        self._quiet = quiet
        self._stream = sys.stderr

    def say(self, text):
        """Print a line."""
        if not self._quiet:
            print(text, file=self._stream, flush=True)

    def count(self, parts, title, size):
        """Yield the parts while their sizes are added up and shown.

        Parameters
        ----------
        parts : iterable
        title : str
        size : callable
            Returns the number of rows in a part.
        """
        if self._quiet:
            yield from parts
            return
        bar = self._bar(title)
        if bar is None:
            yield from self._in_lines(parts, title, size)
            return
        with bar:
            for part in parts:
                yield part
                bar.update(size(part))

    def _bar(self, title):
        if not self._stream.isatty():
            return None
        try:
            from tqdm import tqdm
        except ImportError:
            return None
        return tqdm(desc=title, unit=" rows", unit_scale=True, file=self._stream, leave=False)

    def _in_lines(self, parts, title, size):
        done, last = 0, time.monotonic()
        for part in parts:
            yield part
            done += size(part)
            if time.monotonic() - last >= SECONDS:
                last = time.monotonic()
                self.say(f"{title}: {done} rows")
