"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
import time


class Progress:
    """Tells what goes on, unless it is quiet."""

    def __init__(self, quiet=False, seconds=10.0):
        self._quiet = quiet
        self._seconds = seconds  # between two plain lines
        self._stream = sys.stderr

    def say(self, text):
        """Print a line."""
        if not self._quiet:
            print(text, file=self._stream, flush=True)

    def count(self, parts, title, size=lambda part: 1, *, done=0, total=None, tell=None):
        """Yield the parts while their sizes are added up and shown."""
        if self._quiet:
            yield from parts
            return
        bar = self._bar(title, done, total)
        if bar is None:
            yield from self._in_lines(parts, title, size, done, total, tell)
            return
        with bar:
            for part in parts:
                yield part
                bar.update(size(part))

    def _bar(self, title, done, total):
        if not self._stream.isatty():
            return None
        try:
            from tqdm import tqdm
        except ImportError:
            return None
        options = {"unit": " rows", "unit_scale": total is None, "file": self._stream}
        return tqdm(desc=title, initial=done, total=total, leave=total is not None, **options)

    def _in_lines(self, parts, title, size, done, total, tell):
        begin = last = time.monotonic()
        first = done
        for part in parts:
            yield part
            done += size(part)
            now = time.monotonic()
            if tell is not None:
                left = 0.0 if total is None else (now - begin) / (done - first) * (total - done)
                self.say(f"{title}: {tell(part, done, left)}")
            elif now - last >= self._seconds:
                last = now
                self.say(f"{title}: {done} rows")
