"""What a fit prints of its progress: a line per pass, and lines within a long one."""

import time
from contextlib import closing

# Seconds between two lines; what is done by then prints nothing.
INTERVAL = 2.0


def watch(results, n_rows, step):
    """Yield the results of slabs of `step` rows; print every few seconds how many are done."""
    begin = last = time.perf_counter()
    with closing(results):
        for number, result in enumerate(results, 1):
            yield result
            now, done = time.perf_counter(), number * step
            if now - last >= INTERVAL and done < n_rows:
                last = now
                print(
                    f"    {done:,} of {n_rows:,} rows ({done / n_rows:.0%})  "
                    f"time {now - begin:7.2f} s",
                    flush=True,
                )


def print_decisions(solution):
    """Print what a fit has decided for itself."""
    sampled = f"a sample of {solution.n_sampled:,} rows" if solution.n_sampled else "all rows"
    norm = "" if solution.norm is None else f", q {solution.q:g}"
    print(f"started with {sampled}{norm}, shrinkage {solution.shrinkage:.3g}")


class PassReport:
    """Prints one line per pass over rows of some weight, kept or not."""

    def __init__(self, weight):
        self._weight = weight
        self._start = time.perf_counter()

    def over(self, rows):
        """Return the report on passes over other rows."""
        report = PassReport(rows.class_weights.sum())
        report._start = self._start
        return report

    def __call__(self, n_iter, method, kept):
        """Print what a pass of a method has found, given the weight that it kept."""
        kept = kept / self._weight
        objective = f"{method.objective_path[-1]:.6e}" if method.objective_path else "settling"
        print(
            f"pass {n_iter:3d}  objective {objective:>12}  kept {kept:7.2%}  "
            f"change {method.change:8.1e}  time {time.perf_counter() - self._start:7.2f} s"
        )
