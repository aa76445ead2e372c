"""A guard against slower code that a busy machine cannot fool: it counts, it does not time.

    python benchmarks/guard.py              # check against benchmarks/guard.json
    python benchmarks/guard.py --update     # write what is measured now to it

Counted are the machine instructions of the fused pass and of fits (by valgrind's tool callgrind,
on x86-64), the calls that the code of cappedlda makes in a small fit, and the passes and reads of
all rows that fits of fixed problems take. A count more than the margin above its
figure fails the check; a rise that is wanted is a new figure in the same commit. What cannot be
counted here, or was made with other versions of what it depends on, is said and not compared.
"""

import argparse
import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIGURES = Path(__file__).with_name("guard.json")
MARGIN = 0.03
# The same code in every library, on any machine that has AVX2. Valgrind knows no AVX-512.
ENVIRONMENT = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
MARKS = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
void begin(void) { CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""

# Rows, features and classes of what most people fit.
COUNTED_FITS = ("1000x10x3", "5000x50x10")

# What else than our code the counts depend on: they are only compared if it is the same.
DEPENDS = {
    "pass_instructions": ("kernels", "compiler"),
    "fit_instructions": ("kernels", "compiler", "interpreter", "numpy", "scipy", "scikit-learn"),
    "calls": ("python",),
    "passes": (),
    "reads": (),
}

# ---------------------------------------------------------------------------------------------
# What is counted. These functions run in processes of their own, some under valgrind.
# ---------------------------------------------------------------------------------------------


def passes():
    """Return the passes whose instructions are counted, by name."""
    from suite.passes import PassProblem

    rows = {20: 8_000, 50: 4_000, 256: 800}
    problems = {
        f"n={n} {dtype}{' sums' * sums}": PassProblem(rows[n], n, dtype, capped=0.3, sums=sums)
        for n, dtype, sums in (
            (20, "float64", False),
            (20, "float64", True),
            (50, "float64", False),
            (50, "float32", False),
            (256, "float64", False),
        )
    }
    return {name: problem.run for name, problem in problems.items()}


def small_fit():
    """Return a fit of the iris data."""
    from suite.fits import SmallFit

    problem = SmallFit()
    problem.setup("iris")
    return problem.fit


def fits():
    """Return the fits whose instructions are counted, by name."""
    from suite.fits import FitProblem

    return {"iris": small_fit(), **{shape: FitProblem(shape).fit for shape in COUNTED_FITS}}


def run_marked(marks):
    """Run everything whose instructions are counted, between marks that callgrind sees."""
    kinds = {"pass": passes(), "fit": fits()}
    jobs = {f"{kind}/{name}": job for kind in kinds for name, job in kinds[kind].items()}
    for job in jobs.values():
        job()
        job()
    gc.collect()
    gc.disable()
    library = ctypes.CDLL(marks)
    library.start()  # once: valgrind translates all code again
    for name, job in jobs.items():
        library.begin()
        job()
        library.end(name.encode())


def count_calls():
    """Return the number of calls that the package's own code makes in a small fit.

    Those inside NumPy and scikit-learn are not counted: another version may make others.
    """
    import cappedlda

    home = str(Path(cappedlda.__file__).parent)
    fit = small_fit()
    fit()
    count = 0

    def see(frame, event, _):
        nonlocal count
        caller = frame.f_back if event == "call" else frame
        if event in ("call", "c_call") and caller is not None:
            count += caller.f_code.co_filename.startswith(home)

    sys.setprofile(see)
    fit()
    sys.setprofile(None)
    return {"iris": count}


def count_reads():
    """Return the passes of fits of fixed problems, and how often they read each row."""
    from suite.fits import FitProblem

    from cappedlda._data import jobs
    from cappedlda._kernels import kernels

    seen = 0

    class CountingKernels:
        def __getattr__(self, name):
            kernel = getattr(kernels, name)

            def counted(X, *rest):
                nonlocal seen
                seen += len(X)
                return kernel(X, *rest)

            return counted if name in ("fused_pass", "scaled_norms") else kernel

    counting = CountingKernels()
    jobs.kernels_for = lambda n_features: counting
    counts = {"passes": {}, "reads": {}}
    for shape in ("3000x20x5", "60000x20x5"):  # all rows at once; a sample of them first
        problem = FitProblem(shape)
        seen = 0
        counts["passes"][shape] = problem.fit().n_passes_
        counts["reads"][shape] = round(seen / len(problem.X), 2)
    return counts


# ---------------------------------------------------------------------------------------------
# Counting
# ---------------------------------------------------------------------------------------------


def in_process(function, *arguments, under=()):
    """Run a function of this file in a process of its own; return what it returned."""
    from cappedlda._kernels import BUILDS

    kernels = {"CAPPEDLDA_KERNELS": "avx2"} if "avx2" in BUILDS else {}
    places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    code = f"import json, guard; print(json.dumps(guard.{function}(*{arguments!r})))"
    done = subprocess.run(
        [*under, sys.executable, "-c", code],
        env={**os.environ, **ENVIRONMENT, **kernels, "PYTHONPATH": os.pathsep.join(places)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def why_no_instructions():
    """Return why instructions cannot be counted here, or None."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"the figures are of x86-64, this machine is {platform.machine()}"
    for program in ("valgrind", "cc"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian, Ubuntu: apt install valgrind gcc)"
    return None


def count_instructions():
    """Return the instructions of each job of `run_marked`."""
    with tempfile.TemporaryDirectory() as folder:
        source, marks, out = (Path(folder) / name for name in ("marks.c", "marks.so", "out"))
        source.write_text(MARKS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", marks, source], check=True)
        tool = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no"]
        tool += [f"--callgrind-out-file={out}", f"--log-file={folder}/log"]
        in_process("run_marked", str(marks), under=tool)
        counts = {"pass": {}, "fit": {}}
        for path in sorted(Path(folder).glob("out.*")):
            text = path.read_text()
            name = re.search(r"^desc: Trigger: Client Request: (.*?)/(.*)$", text, re.MULTILINE)
            if name:
                total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
                counts[name[1]][name[2]] = int(total[1])
    return {"pass_instructions": counts["pass"], "fit_instructions": counts["fit"]}


def versions():
    """Return what the counts may depend on beside our own code."""
    from cappedlda._kernels import kernels, passes

    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "kernels": kernels.name,
        "compiler": compiler_of(Path(passes.__file__).read_bytes()),
        "python": ".".join(platform.python_version_tuple()[:2]),
        # Two builds of the same version differ in instructions by several percent.
        "interpreter": f"{platform.python_version()} of {platform.python_build()[1]}",
        **{name: importlib.metadata.version(name) for name in packages},
    }


def compiler_of(library):
    """Return the name and major version of the compiler that a shared library names."""
    found = re.search(rb"(GCC): \(.*?\) (\d+)\.|(clang) version (\d+)\.", library)
    return "unknown" if found is None else b" ".join(filter(None, found.groups())).decode()


def measure():
    """Return all counts by group, without those that are impossible here."""
    counts = {"calls": in_process("count_calls"), **in_process("count_reads")}
    reason = why_no_instructions()
    if reason is None:
        counts |= count_instructions()
    else:
        print(f"NOT COUNTED: instructions, because {reason}.")
    return {group: counts[group] for group in DEPENDS if group in counts}


# ---------------------------------------------------------------------------------------------
# Comparing
# ---------------------------------------------------------------------------------------------


def check(figures, counts, here):
    """Print every count beside its figure; return the names of those that rose."""
    risen, compared, total = [], 0, 0
    for group, wanted in DEPENDS.items():
        if group not in figures:
            print(
                f"NO FIGURES: {group}; make them with --update. Measured now: {counts.get(group)}"
            )
            continue
        total += len(figures[group])
        if group not in counts:
            continue
        made_with = figures["made_with"]
        other = [
            f"{key} {made_with[key]} -> {here[key]}"
            for key in wanted
            if made_with[key] != here[key]
        ]
        if other:
            print(
                f"NOT COMPARED: {group}, whose figures were made with another environment "
                f"({', '.join(other)}); measured now: {counts[group]}"
            )
            continue
        for name, figure in figures[group].items():
            count = counts[group][name]
            change = count / figure - 1.0
            too_much = change > MARGIN
            print(f"{group:18} {name:22} {count:>12} {change:+8.2%}{'  ROSE' * too_much}")
            compared += 1
            if too_much:
                risen.append(f"{group} {name}")
    print(f"guard: compared {compared} of {total} figures, {len(risen)} rose by over {MARGIN:.0%}")
    return risen


def main():
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the counts as new figures")
    update = parser.parse_args().update
    counts, here = measure(), in_process("versions")
    if update:
        if set(counts) != set(DEPENDS):
            sys.exit("The figures stay as they are: not everything could be counted here.")
        FIGURES.write_text(json.dumps({"made_with": here, **counts}, indent=2) + "\n")
        return
    if check(json.loads(FIGURES.read_text()), counts, here):
        sys.exit(
            "Something costs more than before. If that is wanted, say so in the commit that "
            "does it, with new figures: python benchmarks/guard.py --update"
        )


if __name__ == "__main__":
    main()
