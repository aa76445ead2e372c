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
    sampled = f"a sample of {solution.n_sampled:,} rows" if solution.n_sampled else "all rows"
    norm = "" if solution.norm is None else f", q {solution.q:g}"
    print(f"started with {sampled}{norm}, shrinkage {solution.shrinkage:.3g}")


def pass_printer(rows):
    """Return a function that prints a line per pass over rows, perhaps with another weight."""
    begin, total = time.perf_counter(), rows.class_weights.sum()

    def print_pass(n_iter, method, kept, weight=total):
        objective = f"{method.objective_path[-1]:.6e}" if method.objective_path else "settling"
        print(
            f"pass {n_iter:3d}  objective {objective:>12}  kept {kept / weight:7.2%}  "
            f"change {method.change:8.1e}  time {time.perf_counter() - begin:7.2f} s"
        )

    return print_pass
