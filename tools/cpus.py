"""Test the installed package as other processors would run it.

    make test-cpus                      # or, with an environment that has the package and pytest
    python tools/cpus.py [--short]

First the compiled modules are disassembled: AVX instructions may occur only in functions whose
name ends in that of their target. Then every module is imported, the kernels are compared with the
reference, both types of numbers are fitted and the demo of the command line is run: natively with
every build that this processor can run, and as other processors by qemu-x86_64 (Debian, Ubuntu:
apt install qemu-user). The inner loops for NEON are compared with slow ones if qemu-aarch64 and a
cross compiler are installed (apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross). What could
not be run is said. The short form imports and fits as two emulated processors only.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from cappedlda._kernels import BUILDS, passes

ROOT = Path(__file__).resolve().parents[1]
EMULATOR = "qemu-x86_64"
# Models of processors, and the build that each must choose; `max`, all that qemu can do, is free.
MODELS = {"Nehalem": "baseline", "Haswell": "avx2", "max": None}
SHORT = ("Nehalem", "Haswell")

IMPORT_AND_FIT = """
import importlib, pkgutil, sys
import numpy as np
from sklearn.datasets import load_iris
import cappedlda
from cappedlda._kernels import kernels

assert sys.argv[1] in ("", kernels.name), kernels.name
modules = [module.name for module in pkgutil.walk_packages(cappedlda.__path__, "cappedlda.")]
for name in modules:
    if name != "cappedlda.__main__":
        importlib.import_module(name)
X, y = load_iris(return_X_y=True)
for dtype in (np.float32, np.float64):
    accuracy = cappedlda.CappedLDA().fit(X.astype(dtype), y).score(X.astype(dtype), y)
    assert accuracy > 0.95, (dtype, accuracy)
print(f"build {kernels.name}, {len(modules)} modules")
"""


class Run(NamedTuple):
    """An emulated processor, or None for this one, and the build that it uses, or None for any."""

    model: str | None
    build: str | None

    def command(self):
        """Return what comes before the name of the program."""
        return [] if self.model is None else [EMULATOR, "-cpu", self.model]

    def environment(self):
        """Return the variable that asks for the build; an emulated processor must choose itself.

        OpenBLAS does not: on some machines it takes the emulated processor for a newer one.
        """
        if self.model is None:
            return {"CAPPEDLDA_KERNELS": self.build}
        return {"OPENBLAS_CORETYPE": self.model} if self.model in SHORT else {}

    def __str__(self):
        return " ".join(self.command()) or f"this processor, {self.build}"


def main():
    """Run everything; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="import and fit as two processors")
    short = parser.parse_args().short
    compiled = check_instructions(Path(passes.__file__).parent)
    runs = emulated_runs(SHORT if short else MODELS)
    runs += [] if short else [Run(None, build) for build in BUILDS]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(run, *check) for run in runs for check in checks(run, Path(folder), short)]
        results = list(pool.map(lambda job: passed(*job), jobs))
        results += [] if short else check_neon(Path(folder))
    for name in sorted(compiled - {run.build for run in runs}):
        print(f"NOT RUN: the build {name}.")
    if not all(results):
        sys.exit("A check failed: see above.")


def emulated_runs(models):
    """Return a run for each model of a processor, if they can be emulated here."""
    if platform.machine() not in ("x86_64", "AMD64"):
        print(f"NOT RUN: other processors, because this machine is {platform.machine()}.")
        return []
    if shutil.which(EMULATOR) is None:
        print(f"NOT RUN: other processors, because there is no {EMULATOR} (apt install qemu-user).")
        return []
    return [Run(model, MODELS[model]) for model in models]


def checks(run, folder, short):
    """Yield the name of each check, and the arguments of Python for it."""
    yield "import and fit", ["-c", IMPORT_AND_FIT, run.build or ""]
    if not short:
        tests = "tests/kernels/test_kernels.py"
        yield "kernels", ["-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
        yield "demo", ["-m", "cappedlda", "demo", "--out", str(folder / "demo.png")]


def passed(run, what, arguments):
    """Run one check, print how it ended, and return whether it passed."""
    start = time.perf_counter()
    done = subprocess.run(
        [*run.command(), sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **run.environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines() or [""]
    ended = "FAILED" if done.returncode else "passed"
    seconds = time.perf_counter() - start
    print(f"{ended}: {run}, {what}, {seconds:.0f} s: {lines[-1].strip()}", flush=True)
    if done.returncode:
        print(*lines[-30:], f"(exit status {done.returncode})", sep="\n", flush=True)
    return done.returncode == 0


def check_neon(folder):
    """Compare the loops for NEON with slow ones; return whether they agree, if that can be seen."""
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    for program in (compiler, emulator):
        if shutil.which(program) is None:
            print(f"NOT RUN: the loops for NEON, because there is no {program}.")
            return []
    kernels = ROOT / "src" / "cappedlda" / "_kernels"
    sources = [kernels / "tiles.c", ROOT / "tools" / "check_tiles.c"]
    options = ["-O3", "-fno-math-errno", "-static", "-DTARGET=neon", "-DTILES=1", f"-I{kernels}"]
    subprocess.run([compiler, *options, *sources, "-lm", "-o", folder / "check"], check=True)
    done = subprocess.run([emulator, folder / "check"], stdout=subprocess.PIPE, text=True)
    print(f"{'FAILED' if done.returncode else 'passed'}: {emulator}, {done.stdout.strip()}")
    return [done.returncode == 0]


# ---------------------------------------------------------------------------------------------
# Instructions
# ---------------------------------------------------------------------------------------------


def check_instructions(folder):
    """Check which functions use which registers; return the targets that were compiled."""
    if platform.machine() != "x86_64" or shutil.which("objdump") is None:
        print("NOT CHECKED: instructions; that takes x86-64 and objdump (apt install binutils).")
        return {*BUILDS}
    libraries = sorted(folder.glob("*.so"))
    functions = [function for library in libraries for function in disassembled(library)]
    targets = {name.rpartition("_")[2] for name, _ in functions if name.startswith("deposit_")}
    wrong = [name for name, text in functions if not is_allowed(name, text)]
    ymm, zmm = (sum(register in text for _, text in functions) for register in ("%ymm", "%zmm"))
    print(
        f"instructions: {len(libraries)} modules, {len(functions)} functions, {ymm} with ymm and "
        f"{zmm} with zmm registers, {len(wrong)} of them misplaced"
    )
    if wrong or "baseline" not in targets:
        sys.exit(f"Instructions that a processor may lack are in {wrong or 'unnamed functions'}.")
    return targets


def disassembled(library):
    """Yield the name of each function of a library, and its instructions."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        head = re.match(r"[0-9a-f]+ <(.*)>:\n", part)
        if head:
            yield head[1], part[head.end() :]


def is_allowed(function, instructions):
    """Return whether a function of this name may have these instructions."""
    name, _, added = function.partition(".")  # by the compiler: a clone is chosen as it is loaded
    if name.endswith("_avx512") or added.startswith("avx512f"):
        return True
    if name.endswith("_avx2") or added.startswith("avx2"):
        return not re.search(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])|%k[1-7]", instructions)
    return not re.search(r"%[yz]mm|:\tv(?!err|erw)", instructions)


if __name__ == "__main__":
    main()
