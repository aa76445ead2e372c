"""What `speed.py` has measured: tables for users, one beside the targets, and pictures."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np

from cappedlda._util.tables import markdown_table

# What the project wants to reach, in units of X.T @ X; for developers.
PASS_TARGETS = {20: 2.4, 50: 1.8, 256: 1.25, 784: 1.08, 2048: 1.04}
FIT_TARGETS = {
    "500000x50x10": 3.0,
    "120000x256x10": 2.0,
    "50000x784x10": 2.0,
    "200000x20x5": 6.0,
    "100000x50x10 t, 3 degrees of freedom": 4.5,
    "100000x50x10 log-normal": 4.5,
}
CAPPED_SHARE = 0.85
FLOAT32_GAIN = 1.7  # from as many features on, as is the gain of two threads
THREADS_GAIN = 1.7
GAIN_FEATURES = 50
GEMM_SIZE = 1024  # of the square product that stands for the peak
OTHERS = tuple(product(("NumPy", "tabmat"), ("float64", "float32")))
PARTS = ("seconds", "middle", "passes", "threads", "fits", "sample", "growth", "others", "lda")
# A time that is extrapolated: bytes of a file, if those measured are this near to a line.
FAR_BYTES = 20e9
LINEAR = 0.1
NOT_MEASURED = "Not measured yet.\n"
# Pages with tables between comments, as <!-- avx512 fits --> and <!-- end -->.
PAGES = tuple(
    Path(__file__).parents[1] / "docs" / name for name in ("speed.md", "develop/benchmarks.md")
)


def table(header, rows):
    """Return a Markdown table."""
    return "\n".join(markdown_table(header, rows)) + "\n"


def shape_text(record):
    """Return the shape of a record as a text, with the rows that were measured."""
    shape, *kind = record["shape"].split(" ", 1)
    return " ".join([" x ".join([str(record["rows"]), *shape.split("x")[1:]]), *kind])


def is_whole(record):
    """Return whether all rows of a shape were measured, not a tenth."""
    return record["shape"].startswith(f"{record['rows']}x")


def two_digits(number):
    """Return a number rounded to two digits that count."""
    return float(f"{number:.2g}")


def seconds_text(seconds):
    """Return seconds with two digits that count."""
    return f"{two_digits(seconds):g}"


def tabulate_seconds(records):
    """Return the table of seconds for users, with the time of a large file."""
    arrays = [r for r in records if r["kind"] == "array"]
    names = list(arrays[0]["seconds"]) if arrays else []
    rows = [
        [
            f"{r['rows']:,} x {r['features']}",
            f"{two_digits(r['rows'] * r['features'] * 8e-6):g} MB",
            *(seconds_text(r["seconds"][name]) for name in names),
        ]
        for r in arrays
    ]
    maps = [r for r in records if r["kind"] == "map"]
    rows += [
        [
            f"{r['rows']:,} x {r['features']}, memory map",
            f"{r['bytes'] * 1e-9:.2g} GB",
            seconds_text(r["seconds"]["CappedLDA"]),
            *[""] * (len(names) - 1),
        ]
        for r in maps
    ]
    text = table(["rows x features", "size", *(f"{name}, s" for name in names)], rows)
    return text + "\n" + far_text(maps)


def far_text(maps):
    """Return a sentence on the time of a file of 20 GB, extrapolated if that is allowed."""
    if len(maps) < 2:
        return ""
    sizes, times = ([f(r) for r in maps] for f in (lambda r: r["bytes"], seconds_of_map))
    fixed, per_byte = line_through(sizes, times)
    off = max(abs(t / (fixed + per_byte * b) - 1.0) for b, t in zip(sizes, times, strict=True))
    measured = f"{min(sizes) * 1e-9:.2g} to {max(sizes) * 1e-9:.2g} GB"
    if off > LINEAR:
        return f"From {measured} the time does not grow linearly ({off:.0%} off a line).\n"
    return (
        f"From {measured} the time grows linearly, within {off:.0%}. A file of "
        f"{FAR_BYTES * 1e-9:.0f} GB would take {fixed + per_byte * FAR_BYTES:.0f} s: that is "
        "extrapolated, and holds as long as the disk keeps up.\n"
    )


def seconds_of_map(record):
    """Return the seconds of a fit to a memory map."""
    return record["seconds"]["CappedLDA"]


def tabulate_passes(records):
    """Return the table of passes."""
    rows = []
    for record in records:
        ratios = record["ratios"]
        others = (ratios.get(f"{other} {dtype} / pass {dtype}") for other, dtype in OTHERS)
        rows.append([
            str(record["n"]),
            f"{ratios['pass float64 / gram float64']:.2f}",
            f"{ratios['sums float64 / gram float64']:.2f}",
            f"{ratios['capped float64 / pass float64']:.2f}",
            f"{ratios['pass float64 / pass float32']:.2f}",
            *("" if value is None else f"{value:.1f}" for value in others),
            f"{gemm_share(record, 'pass float64'):.0%}",
        ])  # fmt: skip
    header = [
        "n", "pass / X.T @ X", "with class sums", "30 % capped / none", "float64 / float32",
        *(f"{other} / pass, {dtype}" for other, dtype in OTHERS), "of gemm peak",
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
            f"{ratios['two']:.2f}",
            *("" if value is None else f"{value:.1f}" for value in others),
        ])  # fmt: skip
    return table(["n", "type", "two threads / one", "NumPy / pass", "tabmat / pass"], rows)


def tabulate_fits(records):
    """Return the table of fits."""
    rows = []
    for record in records:
        ratios, passes = record["ratios"], record["passes"]
        rows.append([
            shape_text(record),
            *(f"{ratio:.1f}" for ratio in ratios.values()),
            ", ".join(map(str, passes.values())),
            "" if record["missed"] is None else f"{record['missed']:.2%}",
        ])  # fmt: skip
    header = ["rows x features x classes", *records[0]["ratios"], "passes", "outliers missed"]
    return table(header, rows)


def tabulate_sample(records):
    """Return the table of what a sample changes."""
    rows = [
        [
            shape_text(record),
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
        rows.append([shape_text(record), *ratios])
    return table(["rows x features x classes", "svd", "eigen"], rows)


def tabulate_middle(records):
    """Return the table of sizes that most data have."""
    rows = [[shape_text(r), *(f"{v:.2f}" for v in r["ratios"].values())] for r in records]
    header = ["rows x features x classes", "10 % outliers: fit / LDA", "clean: fit / LDA"]
    return table(header, rows)


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
    return table(["what", "ratio"], [[r["what"], f"{r['value']:.2f}"] for r in records])


def tabulate_targets(results):
    """Return what is measured beside what developers want; what is missed is bold."""
    rows = []

    def compare(what, value, target):
        missed = "**" * (value > target)
        rows.append([what, f"{missed}{value:.2f}{missed}", f"{target:.2f}"])

    for r in results.get("passes", {"records": []})["records"]:
        n, ratios = r["n"], r["ratios"]
        compare(f"pass / X.T @ X, n = {n}", ratios["pass float64 / gram float64"], PASS_TARGETS[n])
        capped = ratios["capped float64 / pass float64"]
        compare(f"pass with 30 % capped / none, n = {n}", capped, CAPPED_SHARE)
        if n >= GAIN_FEATURES:
            gain = ratios["pass float64 / pass float32"]
            compare(f"pass in float32 / float64, n = {n}", 1.0 / gain, 1.0 / FLOAT32_GAIN)
    for r in results.get("threads", {"records": []})["records"]:
        if r["n"] >= GAIN_FEATURES:
            what = f"pass on two threads / on one, n = {r['n']}, {r['dtype']}"
            compare(what, r["ratios"]["two"], 1.0 / THREADS_GAIN)
    for r in results.get("fits", {"records": []})["records"]:
        if r["shape"] in FIT_TARGETS and is_whole(r):
            what = f"fit / X.T @ X, {shape_text(r)}"
            compare(what, next(iter(r["ratios"].values())), FIT_TARGETS[r["shape"]])
    for r in results.get("middle", {"records": []})["records"]:
        if is_whole(r):
            compare(f"fit / LDA (svd), {shape_text(r)}", r["ratios"]["dirty"], r["target"])
    for r in results.get("others", {"records": []})["records"]:
        if r["target"] is not None:
            compare(r["what"], r["value"], r["target"])
    return table(["what", "measured", "wanted at most"], rows)


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


def pyplot():
    """Return matplotlib's pyplot, without a screen."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    return plt


def draw_seconds(records, path):
    """Draw seconds over the number of rows, for the fits of one number of features."""
    plt = pyplot()
    styles = {
        "CappedLDA": ("#0072B2", "o-"),
        "LDA (eigen)": ("#E69F00", "^-"),
        "LDA (svd)": ("#009E73", "v-"),
    }
    features = max(r["features"] for r in records)
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, (colour, style) in styles.items():
        points = [
            (r["rows"], r["seconds"][name])
            for r in records
            if r["features"] == features and name in r["seconds"]
        ]
        label = name if name == "CappedLDA" else f"scikit-learn {name}, not robust"
        ax.plot(*zip(*sorted(points), strict=True), style, color=colour, label=label)
    ax.set(xscale="log", yscale="log", xlabel=f"rows of {features} features", ylabel="seconds")
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw(records, path):
    """Draw the rates over the number of features, under the two ceilings."""
    plt = pyplot()
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
    "seconds": tabulate_seconds,
    "middle": tabulate_middle,
    "passes": tabulate_passes,
    "threads": tabulate_threads,
    "fits": tabulate_fits,
    "sample": tabulate_sample,
    "lda": tabulate_lda,
    "growth": tabulate_growth,
    "others": tabulate_others,
}


def tables_of(results):
    """Return the text of each table by name: the parts, the targets, the machine and the date."""
    known = [part for part in PARTS if part in results]
    names = list(dict.fromkeys(name for part in known for name in results[part]["machine"]))
    places = [[part, *(str(results[part]["machine"].get(n, "")) for n in names)] for part in known]
    texts = {
        part: TABULATE[part](results[part]["records"]) if part in results else NOT_MEASURED
        for part in PARTS
    }
    texts["machine"] = table(["part", *names], places)
    texts["targets"] = tabulate_targets(results)
    texts["date"] = date_text([results[part]["machine"] for part in known])
    return texts


def date_text(machines):
    """Return a sentence on when and where something was measured."""
    dates, places = ({m.get(key) for m in machines} for key in ("date", "processor"))
    dates = sorted(filter(None, dates)) or ["a day that was not noted"]
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"Measured on {when}: {' and '.join(sorted(filter(None, places)))}.\n"


def renewed(page, kernels, texts):
    """Return the text of a page with the tables of one kind of kernels between its comments."""

    def text_of(match):
        return f"{match[1]}\n\n{texts[match[2]].strip()}\n\n<!-- end -->"

    return re.sub(rf"(<!-- {kernels} (\w+) -->).*?<!-- end -->", text_of, page, flags=re.DOTALL)


def write(results, folder, pages=()):
    """Write figures and pictures to a folder, and the tables into pages, or beside them."""
    texts = tables_of(results)
    (folder / "speed.json").write_text(json.dumps(results, indent=1) + "\n")
    for page in pages:
        page.write_text(renewed(page.read_text(), folder.name, texts))
    if not pages:
        (folder / "tables.md").write_text("\n".join(f"## {n}\n\n{texts[n]}" for n in texts))
    if "passes" in results:
        draw(results["passes"]["records"], folder / "roofline.png")
    if "seconds" in results:
        draw_seconds(results["seconds"]["records"], folder / "seconds.png")
