"""Does nearly the same data give nearly the same answer? Spread of the accuracy over five fits.

    python benchmarks/stability.py --data DIR... --out docs/robustness

Small sets: five random 95 % subsets of the training rows, beside the same for LDA without the
planted rows (the oracle). Large sets, of which a sample is drawn: all training rows, five seeds.
Training rows (60 %) are clean or spoiled as in harm.py; test rows are clean. Seeds are fixed.
Written: stability.md.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from robust_data import contaminate, long_sets, read_folder, seed_of
from robust_report import as_table, code_state
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA

KINDS = [
    ("clean", 0.0),
    ("far scatter", 0.3),
    ("far leverage", 0.1),
    ("far leverage", 0.3),
    ("Cauchy tails", 0.2),
]
FITS, LEFT_OUT = 5, 0.05
# Small sets have rows and numbers between these; of the training rows of large ones a sample is
# drawn.
LEAST_ROWS, MOST_NUMBERS, LARGE_ROWS = 400, 1e5, 50_000
# Points of spread beyond the oracle's, or over seeds, that a user would notice.
NOTICED_BESIDE, NOTICED = 2.0, 1.0
PAGE = """# The same answer for nearly the same data

Written by `{command}`, with the
library's code at commit {state}. Spread is the largest less the smallest accuracy of {fits} fits,
in points.

## Small sets: without 5 % of the rows

{n_small} sets ({folders}), of at least {least_rows} rows. The oracle is LDA without the planted
rows.

{small}

CappedLDA spreads {ratio:.2f} times as much as the oracle; by more than {beside:g} points more in
{share:.0f} % of {problems} problems. The worst: {worst}.

## Large sets: another seed of the sample

{large}
"""


def spread(scores):
    """Points between the best and the worst."""
    return 100.0 * (max(scores) - min(scores))


def on_subsets(X, y, planted, test):
    """Spread of CappedLDA and of the oracle over subsets of the training rows."""
    ours, oracle = [], []
    for seed in range(FITS):
        some, _ = train_test_split(
            np.arange(len(y)), test_size=LEFT_OUT, stratify=y, random_state=seed
        )
        good = some[~planted[some]]
        ours.append(CappedLDA(n_jobs=1).fit(X[some], y[some]).score(*test))
        oracle.append(LinearDiscriminantAnalysis().fit(X[good], y[good]).score(*test))
    return {"ours": spread(ours), "oracle": spread(oracle)}


def over_seeds(X, y, _, test):
    """Spread of CappedLDA over seeds of the sample."""
    fits = (CappedLDA(n_jobs=1, random_state=seed).fit(X, y) for seed in range(FITS))
    return {"ours": spread([model.score(*test) for model in fits])}


def small_sets(folder):
    """Yield name, X and y of the small sets of a folder."""
    for name, (X, y) in long_sets(folder).items():
        if len(X) >= LEAST_ROWS and X.size <= MOST_NUMBERS:
            yield name, X, y


def large_sets(folder):
    """Yield name, X and y of the large sets of a folder; rows with gaps are dropped."""
    for name, X, y in read_folder(folder):
        whole = np.isfinite(X).all(axis=1)
        if len(X) >= LARGE_ROWS:
            yield name, X[whole], y[whole]


def records_of(name, X, y, measure):
    """Yield the spread for each kind of dirt."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    for model, share in KINDS:
        found = contaminate(model, X, y, share, seed_of(name, model, share))
        dirt = model if share == 0.0 else f"{model} {share:.0%}"
        known = {"data": name, "small": measure is on_subsets, "dirt": dirt}
        yield known | measure(*found, (X_test, y_test))


def table_of(frame, columns):
    """Mean spread by kind of dirt."""
    grid = [["training rows", "sets", *columns]]
    for dirt, part in frame.groupby("dirt", sort=False):
        grid.append([dirt, str(len(part)), *(f"{part[c].mean():.2f}" for c in columns)])
    return as_table(grid)


def large_part(frame):
    """Text on the spread over seeds."""
    if frame.empty:
        return "None of the sets is large enough for a sample."
    worst = frame.nlargest(3, "ours")
    named = ", ".join(f"{r.data} {r.dirt} {r.ours:.1f}" for r in worst.itertuples())
    return (
        f"{table_of(frame, ['ours'])}\n\nMore than {NOTICED:g} point in "
        f"{100 * (frame.ours > NOTICED).mean():.0f} % of {len(frame)} problems. The worst: {named}."
    )


def page(frame, folders, command):
    """Return the report."""
    small = frame[frame.small]
    beside = small.ours - small.oracle
    worst = small.loc[beside.nlargest(3).index]
    return PAGE.format(
        command=command,
        state=code_state(),
        fits=FITS,
        n_small=small.data.nunique(),
        folders=", ".join(folders),
        least_rows=LEAST_ROWS,
        small=table_of(small, ["ours", "oracle"]),
        ratio=small.ours.mean() / small.oracle.mean(),
        beside=NOTICED_BESIDE,
        share=100.0 * (beside > NOTICED_BESIDE).mean(),
        problems=len(small),
        worst=", ".join(f"{r.data} {r.dirt} {r.ours:.1f}" for r in worst.itertuples()),
        large=large_part(frame[~frame.small]),
    )


def main(argv=None):
    """Run the fits and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", nargs="+", required=True, help="folders of .npz files with X, y")
    parser.add_argument("--out", default="stability", help="folder for the results")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    records = []
    for folder in given.data:
        for sets, measure in ((small_sets, on_subsets), (large_sets, over_seeds)):
            for data in sets(folder):
                records += records_of(*data, measure)
    folders = [Path(folder).name for folder in given.data]
    command = "python benchmarks/stability.py --data DIR... --out docs/robustness"
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    text = page(pd.DataFrame(records), folders, command)
    (out / "stability.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
