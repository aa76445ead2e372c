"""How robust is CappedLDA, told nothing? Data sets x contamination x share x method.

    python benchmarks/robustness.py --quick --out robustness
    python benchmarks/robustness.py --data DIR --out docs/robustness

(`--data` takes several folders. What the default costs on real data, set by set: harm.py.)

Training parts are contaminated with `cappedlda.noise`, test parts stay clean. The oracle is LDA
fitted without the planted rows. Written: robustness.md (summary), tables.md, robustness.json (one
row per data set, contamination and share) and robustness.png. Seeds depend on names only. Finished
parts are kept in records.jsonl of the folder: an interrupted run goes on, and `--report-only` makes
the tables from what there is. Delete that file after a change of the code.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed, parallel_config
from robust_data import (
    CLEAN,
    MODELS,
    SHARES,
    contaminate,
    from_folders,
    seed_of,
    simulated,
    toy,
    unseen,
)
from robust_methods import METHODS, SLOW, Problem, Unfit, lda_without
from robust_report import write_report
from sklearn.model_selection import train_test_split

QUICK_SETS = ("gauss 2 features", "gauss 20 features", "iris", "wine", "breast_cancer")
QUICK_CELLS = [CLEAN, ("scatter", 0.1), ("scatter", 0.4), ("leverage", 0.1), ("leverage", 0.4)]
ALL_CELLS = [CLEAN, *((model, share) for model in MODELS for share in SHARES)]
# The slow methods are fitted on the first split of sets with so few entries, not with 20 %.
MOST_ENTRIES_SLOW = 10_000
SLOW_CELLS = [cell for cell in ALL_CELLS if cell[1] != 0.2]


def one_fit(method, problem, test):
    """Accuracy on clean test rows, processor seconds, and which rows are flagged and left out.

    "recall" and "false" are shares of planted and clean rows flagged, "left" and "left clean" of
    those left out; "same rows" is the accuracy of plain LDA on the rows that were kept.
    """
    start = time.process_time()
    model, flagged = method(problem)
    record = {"seconds": time.process_time() - start}
    record["accuracy"] = float(np.mean(model.predict(test[0]) == test[1]))
    if flagged is not None:
        left_out = getattr(model, "left_out_", flagged)
        record["recall"], record["false"] = shares(flagged, problem.touched)
        record["left"], record["left clean"] = shares(left_out, problem.touched)
        same = lda_without(problem, left_out)[0].predict(test[0])
        record["same rows"] = float(np.mean(same == test[1]))
    return record


def shares(marked, touched):
    """Share of the planted and of the clean rows that are marked; None where there are none."""
    return (float(marked[rows].mean()) if rows.any() else None for rows in (touched, ~touched))


def run_part(name, X, y, split, methods, cells):
    """Fit methods on one split of one data set.

    Where a method is not made for the problem it counts as the LDA that a user would fall
    back on; who fails gets accuracy 0 and the text of the error.
    """
    warnings.simplefilter("ignore")
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y, random_state=split
    )
    records = []
    for model, share in cells:
        seed = seed_of(name, split, model, share)
        X_dirty, y_dirty, touched = contaminate(model, X_train, y_train, share, seed)
        problem = Problem(X_dirty, y_dirty, share, touched)
        key = {"data": name, "model": model, "share": share, "split": split}
        if model == "far leverage":
            key["distance"] = problem.cloud_distance
        for method in methods:
            try:
                result = one_fit(METHODS[method], problem, (X_test, y_test))
            except Unfit:
                result = one_fit(METHODS["LDA"], problem, (X_test, y_test)) | {"as LDA": True}
            except Exception as error:
                result = {"accuracy": 0.0, "seconds": 0.0, "error": repr(error)}
            records.append(key | {"method": method} | result)
    return records


def run(sets, methods, splits, cells, slow_cells, file, n_jobs):
    """Fit everything that the file does not have yet, small sets first; return all records."""
    small_first = sorted(sets, key=lambda name: sets[name][0].size)
    fast = [method for method in methods if method not in SLOW]
    slow = [method for method in methods if method in SLOW]
    parts = {}
    for split in range(splits):
        for name in small_first:
            parts[f"{name}, split {split}"] = (name, split, fast, cells)
    for name in small_first:
        if sets[name][0].size > MOST_ENTRIES_SLOW:
            break
        parts[f"{name}, slow methods"] = (name, 0, slow, slow_cells)
    parts = {key: part for key, part in parts.items() if part[2]}
    lines = file.read_text().splitlines() if file.exists() else []
    done = {part: records for part, records in map(json.loads, lines) if part in parts}
    missing = [key for key in parts if key not in done]

    def one(key):
        name, split, names, part_cells = parts[key]
        return key, run_part(name, *sets[name], split, names, part_cells)

    with parallel_config(backend="loky", inner_max_num_threads=1), file.open("a") as out:
        pool = Parallel(n_jobs, return_as="generator_unordered")
        for i, (key, records) in enumerate(pool(delayed(one)(key) for key in missing)):
            out.write(json.dumps([key, records]) + "\n")
            out.flush()
            done[key] = records
            print(f"{len(lines) + i + 1} of {len(parts)}: {key}", flush=True)
    return [record for records in done.values() for record in records]


def parse(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few sets and shares")
    parser.add_argument("--data", nargs="+", default=[], help="folders of .npz files (X, y)")
    parser.add_argument("--only", nargs="+", help="names of the data sets to use")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="methods to use")
    parser.add_argument("--splits", type=int, default=3, help="number of random splits")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", default="robustness", help="folder for the results")
    parser.add_argument("--report-only", action="store_true", help="fit nothing more")
    return parser.parse_args(argv)


def main(argv=None):
    """Run and write the report."""
    given = parse(argv)
    sets = simulated() | toy()
    if not given.quick:
        sets |= unseen() | from_folders(given.data)
    wanted = given.only or (QUICK_SETS if given.quick else sets)
    sets = {name: sets[name] for name in wanted}
    cells, slow_cells = (QUICK_CELLS, QUICK_CELLS) if given.quick else (ALL_CELLS, SLOW_CELLS)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "records.jsonl"
    methods = [] if given.report_only else given.methods or list(METHODS)
    if given.report_only:
        records = [
            record for line in file.read_text().splitlines() for record in json.loads(line)[1]
        ]
    else:
        records = run(sets, methods, given.splits, cells, slow_cells, file, given.n_jobs)
    print(write_report(records, sets, out))


if __name__ == "__main__":
    main()
