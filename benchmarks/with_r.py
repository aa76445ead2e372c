"""CappedLDA beside the discriminants of R: MASS::lda and rrcov::Linda.

    apt install r-base-core r-cran-mass r-cran-rrcov
    python benchmarks/with_r.py --out docs/results/with_r.md

The sets, contaminations and seeds are those of `benchmarks/robustness.py`. R runs in one process
with the methods' own defaults. A method that fails on a set gets no result there, and the table
says how often.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from robust_data import CLEAN, simulated, toy
from robust_methods import METHODS, ORACLE, OURS
from robust_report import table, with_losses
from robustness import run_part

SETS = ("gauss 2 features", "gauss 20 features", "gauss unequal", "iris", "wine", "breast_cancer")
CELLS = [CLEAN, ("scatter", 0.1), ("scatter", 0.4), ("leverage", 0.1), ("leverage", 0.4)]
IN_R = {
    "MASS::lda": "MASS::lda(X, y)",
    "MASS::lda, mve": 'MASS::lda(X, y, method = "mve")',
    "MASS::lda, t": 'MASS::lda(X, y, method = "t")',
    "rrcov::Linda": "rrcov::Linda(X, y)",
    "rrcov::Linda, mrcd": 'rrcov::Linda(X, y, method = "mrcd")',
}
# Answers "fit|train|test|answer" with one line. Columns after the first are features.
SERVER = """
suppressMessages({library(MASS); library(rrcov)})
classes_of <- function(model, rows) {
  answer <- predict(model, rows)
  as.character(if (isS4(answer)) answer@classification else answer$class)
}
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  part <- strsplit(line, "|", fixed = TRUE)[[1]]
  status <- tryCatch({
    set.seed(0)
    train <- as.matrix(read.csv(part[2], header = FALSE))
    test <- as.matrix(read.csv(part[3], header = FALSE))
    X <- unname(train[, -1, drop = FALSE])
    y <- factor(train[, 1])
    found <- suppressWarnings(classes_of(eval(parse(text = part[1])), unname(test)))
    writeLines(found, part[4])
    "done"
  }, error = function(e) paste("failed:", gsub("\\n", " ", conditionMessage(e))))
  cat("status:", status, "\\n", sep = "")
  flush(stdout())
}
"""


class Server:
    """An R process that fits and predicts."""

    def __init__(self, folder):
        self._folder = Path(folder)
        script = self._folder / "server.R"
        script.write_text(SERVER)
        self._process = subprocess.Popen(
            ["Rscript", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def predict(self, expression, X, y, X_new):
        """Return the classes of new rows by a model that R makes of X and y."""
        train, test, answer = (self._folder / f"{name}.csv" for name in ("train", "test", "answer"))
        np.savetxt(train, np.column_stack([y, X]), delimiter=",")
        np.savetxt(test, X_new, delimiter=",")
        print(expression, train, test, answer, sep="|", file=self._process.stdin, flush=True)
        # Packages may print lines of their own.
        status = next((s for s in self._process.stdout if s.startswith("status:")), "R has ended")
        if status.strip() != "status:done":
            raise RuntimeError(status.strip())
        return np.array(answer.read_text().split(), dtype=float).astype(int)

    def close(self):
        """End the process."""
        self._process.communicate()


def in_r(server, expression):
    """Make a method of an R expression; it is fitted when it has to predict."""

    class Model:
        def __init__(self, X, y):
            self._rows = X, y

        def predict(self, X):
            return server.predict(expression, *self._rows, X)

    return lambda problem: (Model(problem.X, problem.y), None)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="with_r.md", help="the Markdown file to write")
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args(argv)
    sets = {name: data for name, data in (simulated() | toy()).items() if name in SETS}
    names = ["LDA", *IN_R, ORACLE, OURS]
    records = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        METHODS.update({name: in_r(server, expression) for name, expression in IN_R.items()})
        for name, (X, y) in sets.items():
            for split in range(options.splits):
                records += run_part(name, X, y, split, names, CELLS)
                print(f"{name}, split {split}", flush=True)
        server.close()
    Path(options.out).write_text(report(pd.DataFrame(records), options.splits))
    print(Path(options.out).read_text())


def report(frame, splits):
    """Return the page."""
    failed = frame[frame.get("error", pd.Series(index=frame.index)).notna()]
    frame.loc[failed.index, "accuracy"] = np.nan
    frame = with_losses(frame)
    frame["column"] = frame.model + " " + (100 * frame.share).map("{:.0f} %".format)
    lines = [
        "# Beside MASS and rrcov",
        "",
        "What each method loses of the accuracy of the oracle, LDA without the planted rows, in "
        f"points: mean and standard error over the sets {', '.join(SETS)}, {splits} splits of "
        "each. Test rows are clean. The default of CappedLDA was developed on these sets.",
        "",
        table(frame, "loss", "column"),
        "",
    ]
    for (method, data), rows in failed.groupby(["method", "data"]):
        lines.append(f"- {method} failed in {len(rows)} fits to {data}; they are not counted.")
    if len(failed):
        lines.append("")
    return "\n".join([*lines, f"{versions()}. Made by `python benchmarks/with_r.py`.", ""])


def versions():
    """Return the versions of R and of the packages."""
    packages = ", ".join(f'paste("{name}", packageVersion("{name}"))' for name in ("MASS", "rrcov"))
    code = f'cat(paste0("R ", getRversion()), {packages}, sep = ", ")'
    return subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
