"""What `speed.py` has measured, as tables beside what is wanted, and as a picture."""

import json
from itertools import product

import numpy as np
from suite.fits import TARGET_SHAPES

from cappedlda._tables import markdown_table

# What the project wants to reach, in units of X.T @ X.
PASS_TARGETS = {20: 2.4, 50: 1.8, 256: 1.25, 784: 1.08, 2048: 1.04}
FIT_TARGETS = dict(zip(TARGET_SHAPES, (8.0, 4.5, 4.5, 20.0, 6.0), strict=True))
Q2_SHARE = 0.7
CAPPED_SHARE = 0.85
FLOAT32_GAIN = 1.7  # from as many features on, as is the gain of two threads
THREADS_GAIN = 1.7
GAIN_FEATURES = 50
GEMM_SIZE = 1024  # of the square product that stands for the peak
OTHERS = tuple(product(("NumPy", "tabmat"), ("float64", "float32")))
PARTS = ("passes", "threads", "fits", "sample", "growth", "others", "lda")


def table(header, rows):
    """Return a Markdown table."""
    return "\n".join(markdown_table(header, rows)) + "\n"


def against(value, target, digits=2, at_least=False):
    """Return a value beside its target, and in bold which is missed."""
    missed = value < target if at_least else value > target
    text = f"**{value:.{digits}f}**" if missed else f"{value:.{digits}f}"
    return f"{text} ({target:.{digits}f})"


def gain_wanted(value, target, n, at_least=False):
    """Return a gain beside its target, which there is from a number of features on."""
    return against(value, target, at_least=at_least) if n >= GAIN_FEATURES else f"{value:.2f}"


def tabulate_passes(records):
    """Return the table of passes."""
    rows = []
    for record in records:
        n, ratios = record["n"], record["ratios"]
        others = (ratios.get(f"{other} {dtype} / pass {dtype}") for other, dtype in OTHERS)
        rows.append([
            str(n),
            against(ratios["pass float64 / gram float64"], PASS_TARGETS[n]),
            f"{ratios['sums float64 / gram float64']:.2f}",
            against(ratios["capped float64 / pass float64"], CAPPED_SHARE),
            gain_wanted(ratios["pass float64 / pass float32"], FLOAT32_GAIN, n, at_least=True),
            *("" if value is None else f"{value:.1f}" for value in others),
            f"{gemm_share(record, 'pass float64'):.0%}",
        ])  # fmt: skip
    header = [
        "n", "pass / X.T @ X (wanted)", "with class sums", "30 % capped / none (wanted)",
        "float64 / float32 (wanted)", *(f"{other} / pass, {dtype}" for other, dtype in OTHERS),
        "of gemm peak",
    ]  # fmt: skip
    return table(header, rows)


def tabulate_threads(records):
    """Return the table of passes on two threads."""
    rows = []
    for record in records:
        ratios = record["ratios"]
        others = (ratios.get(name) for name in ("NumPy", "tabmat"))
        rows.append([
            str(record["n"]),
            record["dtype"],
            gain_wanted(ratios["two"], 1.0 / THREADS_GAIN, record["n"]),
            *("" if value is None else f"{value:.1f}" for value in others),
        ])  # fmt: skip
    header = ["n", "type", "two threads / one (wanted)", "NumPy / pass", "tabmat / pass"]
    return table(header, rows)


def tabulate_fits(records):
    """Return the table of fits."""
    rows = []
    for record in records:
        target, ratios, passes = FIT_TARGETS[record["shape"]], record["ratios"], record["passes"]
        rows.append([
            record["shape"].replace("x", " x "),
            against(ratios["q=1"], target, 1),
            against(ratios["q=2"], Q2_SHARE * target, 1),
            f"{passes['q=1']}, {passes['q=2']}",
            f"{record['missed']:.2%}",
        ])  # fmt: skip
    header = [
        "rows x features x classes", "q = 1 (wanted)", "q = 2 (wanted)", "passes, q = 1, 2",
        "outliers missed",
    ]  # fmt: skip
    return table(header, rows)


def tabulate_sample(records):
    """Return the table of what a sample changes."""
    rows = [
        [
            record["shape"].replace("x", " x "),
            str(record["freedom"]),
            f"{record['angle']:.1e}",
            f"{record['error']:.1e}",
            f"{record['other_flags']:.3%}",
        ]
        for record in records
    ]
    header = ["rows x features x classes", "t", "angle", "to the true directions", "other flags"]
    return table(header, rows)


def tabulate_lda(records):
    """Return the table of scikit-learn's fits."""
    rows = []
    for record in records:
        ratios = ("fails" if v is None else f"{v:.1f}" for v in record["ratios"].values())
        rows.append([record["shape"].replace("x", " x "), *ratios])
    return table(["rows x features x classes", "svd", "eigen"], rows)


def tabulate_growth(records):
    """Return the tables of growth; that with the rows beside a line."""
    by = {name: [r for r in records if r["by"] == name] for name in ("rows", "features", "classes")}
    sizes, times = ([r[key] for r in by["rows"]] for key in ("rows", "milliseconds"))
    fixed, per_row = line_through(sizes, times)
    rows = []
    for r in by["rows"]:
        off = r["milliseconds"] / (fixed + per_row * r["rows"]) - 1.0
        rows.append([f"{r['rows']:,}", f"{r['ratio']:.1f}", f"{off:+.0%}"])
    line = f"{fixed:.0f} ms + {per_row * 1e6:.0f} ns per row"
    parts = [table(["rows", "fit / X.T @ X", f"off {line}"], rows)]
    for name in ("features", "classes"):
        cells = [[str(r[name]), f"{r['ratio']:.1f}"] for r in by[name]]
        parts.append(table([name, "fit / X.T @ X"], cells))
    return "\n".join(parts)


def line_through(x, y):
    """Return intercept and slope of the line that is nearest in relative terms."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    design = np.stack([1.0 / y, x / y], axis=1)
    return np.linalg.lstsq(design, np.ones(len(x)), rcond=None)[0]


def tabulate_others(records):
    """Return the table of all the rest."""
    rows = [[r["what"], against(r["value"], r["target"])] for r in records]
    return table(["what", "measured (wanted at most)"], rows)


def work(n):
    """Return the operations that a weighted product of one row takes: a triangle."""
    return n * (n + 1)


def gemm_rate(record, dtype):
    """Return operations per second of a square product."""
    return 2.0 * GEMM_SIZE**3 / record["seconds"][f"gemm {dtype}"]


def rate(record, name):
    """Return useful operations per second of one way to the weighted product."""
    return record["rows"] * work(record["n"]) / record["seconds"][name]


def gemm_share(record, name):
    """Return the useful operations of one way, over those of a square product."""
    return rate(record, name) / gemm_rate(record, name.split()[1])


def draw(records, path):
    """Draw the rates over the number of features, under the two ceilings."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    lines = {
        "gram": ("X.T @ X (no weights)", "#000000", "s--"),
        "pass": ("our pass", "#0072B2", "o-"),
        "NumPy": ("NumPy: X @ W, weights, product", "#E69F00", "^-"),
        "tabmat": ("NumPy's X @ W, tabmat's product", "#009E73", "v-"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
    widths = [record["n"] for record in records]
    for ax, dtype in zip(axes, ("float64", "float32"), strict=True):
        ax.plot(
            widths, [gemm_rate(r, dtype) / 1e9 for r in records], color="0.5", lw=3, alpha=0.5,
            label="ceiling: square product (gemm)",
        )  # fmt: skip
        ax.plot(
            widths, [rate(r, f"read {dtype}") / 1e9 for r in records], color="#CC79A7", lw=3,
            alpha=0.5, label="ceiling: reading X once",
        )  # fmt: skip
        for name, (label, colour, style) in lines.items():
            known = [r for r in records if f"{name} {dtype}" in r["seconds"]]
            rates = [rate(r, f"{name} {dtype}") / 1e9 for r in known]
            ax.plot([r["n"] for r in known], rates, style, color=colour, label=label)
        top = max(gemm_rate(r, "float32") for r in records) / 1e9
        ax.set(xscale="log", yscale="log", title=dtype, xlabel="features n", ylim=(None, 2 * top))
        ax.set_xticks(widths, [str(n) for n in widths])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("useful Gflop/s: n (n + 1) per row")
    axes[0].legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


TABULATE = {
    "passes": tabulate_passes,
    "threads": tabulate_threads,
    "fits": tabulate_fits,
    "sample": tabulate_sample,
    "lda": tabulate_lda,
    "growth": tabulate_growth,
    "others": tabulate_others,
}


def write(results, folder):
    """Write figures, tables and picture."""
    places = [
        [part, *map(str, results[part]["machine"].values())] for part in PARTS if part in results
    ]
    header = ["part", *next(iter(results.values()))["machine"]]
    (folder / "machine.md").write_text(table(header, places))
    (folder / "speed.json").write_text(json.dumps(results, indent=1) + "\n")
    for part in PARTS:
        known = part in results
        text = TABULATE[part](results[part]["records"]) if known else "Not measured yet.\n"
        (folder / f"{part}.md").write_text(text)
    if "passes" in results:
        draw(results["passes"]["records"], folder / "roofline.png")
