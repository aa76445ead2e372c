"""Progress within a pass over the rows, which may take long."""

import time
from contextlib import closing

# Seconds between two lines; what is done by then prints nothing.
INTERVAL = 2.0


class Progress:
    """Prints how many rows of a pass are done, every few seconds.

    Parameters
    ----------
    n_rows : int
    """

    def __init__(self, n_rows):
        self._n_rows = n_rows

    def watch(self, results, step):
        """Yield the results of slabs of so many rows, the last of which may be shorter."""
        begin = last = time.perf_counter()
        with closing(results):
            for number, result in enumerate(results, 1):
                yield result
                now, done = time.perf_counter(), number * step
                if now - last >= INTERVAL and done < self._n_rows:
                    last = now
                    print(
                        f"    {done:,} of {self._n_rows:,} rows ({done / self._n_rows:.0%})  "
                        f"time {now - begin:7.2f} s",
                        flush=True,
                    )
