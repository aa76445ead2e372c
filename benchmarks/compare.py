"""Has a commit become slower than another? Compares the tracked ratios of two commits.

    python benchmarks/compare.py main~1 HEAD

Runs the asv suite (its `track_` benchmarks only) for both commits, in asv's own environments.
A ratio that is worse by more than the limit is measured again for both, twice at most, and the
best of each counts: what is only noise goes away, what is slower stays. Exit status 1 if any
stays worse.
"""

import argparse
import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
LIMIT = 0.10
ROUNDS = 3
# Below this, counts and shares (passes, missed outliers) are compared as differences.
SMALLEST = 0.01


def asv(*arguments):
    """Run asv in the folder of its configuration; return what it printed."""
    command = [sys.executable, "-m", "asv", *arguments]
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    # asv run says 2 when some benchmark failed: that is visible in the results.
    if done.returncode not in (0, 2):
        sys.exit(f"{done.stdout}\n{' '.join(command)} failed with status {done.returncode}.")
    return done.stdout


def commit_of(revision):
    """Return the full hash of a revision."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{revision!r} is no commit of this repository.")
    return done.stdout.strip()


def measured(commit, pattern):
    """Run the benchmarks that match the pattern; return {name and parameters: value}."""
    asv("run", "--quick", "--show-stderr", "--bench", pattern, f"{commit}^!")
    values = {}
    for path in (HERE / ".asv" / "results").glob(f"*/{commit[:8]}-*.json"):
        stored = json.loads(path.read_text())
        columns = stored["result_columns"]
        for name, row in stored["results"].items():
            entry = dict(zip(columns, row, strict=False))
            labels = product(*entry["params"])
            for label, value in zip(labels, entry["result"] or [], strict=False):
                full_name = f"{name}({', '.join(label)})"
                if re.search(pattern, full_name):  # the file has what other runs measured, too
                    values[full_name] = value
    return values


def is_worse(base, head):
    """Return whether a value is worse than it was by more than the limit."""
    return head > base * (1.0 + LIMIT) and head - base > SMALLEST


def keep_best(best, values):
    """Take over every value that is lower than the best so far."""
    for name, value in values.items():
        if value is not None and value == value:
            best[name] = min(value, best.get(name, value))


def compare(base, head, pattern):
    """Print the tracked values of two commits; return the names of those that are worse."""
    best = {base: {}, head: {}}
    worse = None
    for _ in range(ROUNDS):
        for commit in (base, head):
            keep_best(best[commit], measured(commit, pattern))
        both = sorted(best[base].keys() & best[head].keys())
        worse = [name for name in both if is_worse(best[base][name], best[head][name])]
        if not worse:
            break
        # asv matches names with their parameters: "name(20, 'float64')".
        pattern = "|".join(sorted({rf"^{name.partition('(')[0]}\b" for name in worse}))
    for name in both:
        mark = "  WORSE" if name in worse else ""
        print(f"{best[base][name]:10.3f} {best[head][name]:10.3f}  {name}{mark}")
    lost = sorted(best[base].keys() - best[head].keys())
    for name in lost:
        print(f"{best[base][name]:10.3f}     failed  {name}  WORSE")
    print(f"{len(both)} ratios compared, {len(worse) + len(lost)} worse by over {LIMIT:.0%}")
    return worse + lost


def main():
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("head", nargs="?", default="HEAD")
    parser.add_argument("--bench", default="track_", help="regular expression, as of asv run")
    given = parser.parse_args()
    asv("machine", "--yes")
    if compare(commit_of(given.base), commit_of(given.head), given.bench):
        sys.exit(1)


if __name__ == "__main__":
    main()
