"""Build the wheel and the source distribution, check them, and test them on every Python here.

    make wheel                                # or
    python3 tools/wheel.py [--python 3.12] [--no-tests]

The source distribution holds what is committed; the wheel is built from it, not from the
tree. The oldest Python from 3.11 on builds: an abi3 wheel serves that one and all later.
The tests run in new environments, in a folder that has tests and documentation but no sources.
"""

import argparse
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
OLDEST_LINUX = "manylinux_2_17"
OLD_GLIBC = ROOT / "tools" / "old_glibc.h"
PROBE = """
import ensurepip, json, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
print(json.dumps([list(sys.version_info[:2]), os.path.exists(header), sys.executable]))
"""


def main(arguments=None):
    """Do all of it; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="test on this version only, as 3.12")
    parser.add_argument("--no-tests", action="store_true", help="only build and check")
    options = parser.parse_args(arguments)
    pythons = find_pythons()
    if not pythons:
        sys.exit("No Python from 3.11 on with venv and headers was found.")
    with tempfile.TemporaryDirectory(prefix="cappedlda-wheel-") as folder:
        sdist, wheel = build(pythons[min(pythons)], Path(folder))
        if options.no_tests:
            return
        chosen = {
            version: python
            for version, python in pythons.items()
            if options.python is None or ".".join(map(str, version)) in options.python
        }
        if not chosen:
            sys.exit(f"None of the versions {options.python} was found; there are {list(pythons)}.")
        check_pure(unpack_tests(sdist, Path(folder) / "outside"))
        for version, python in sorted(chosen.items()):
            test(python, version, wheel, Path(folder))
    print(f"{sdist.name} and {wheel.name} are in dist/")


def find_pythons():
    """Return the usable interpreters by version, the first found of each."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], OLDEST[1] + 10)] + ["python3"]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    candidates = [os.path.join(folder, name) for name in names for folder in folders]
    for pattern in (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3"):
        candidates += sorted(glob.glob(str(Path.home() / pattern)))
    found = {}
    for candidate in candidates:
        if not os.access(candidate, os.X_OK):
            continue
        probe = subprocess.run([candidate, "-c", PROBE], capture_output=True, check=False)
        if probe.returncode:
            continue  # a launcher without an interpreter, or one without venv
        version, has_headers, executable = json.loads(probe.stdout)
        if has_headers and tuple(version) >= OLDEST:
            found.setdefault(tuple(version), executable)
    return found


def build(python, folder):
    """Build both distributions, repair the wheel, check them; return their paths in dist/."""
    say(f"building with {python}")
    if run("git", "-C", ROOT, "status", "--porcelain", capture_output=True, text=True).stdout:
        print("There are changes that are not committed: they are not in the distributions.")
    tools = new_environment(python, folder / "tools", *extra("wheel"))
    built, dist = folder / "built", ROOT / "dist"
    flags = {"CFLAGS": f"{os.environ.get('CFLAGS', '')} -include {OLD_GLIBC}"}
    variables = {**os.environ, **(flags if sys.platform == "linux" else {})}
    run(tools / "python", "-m", "build", "--outdir", built, ROOT, env=variables)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    shutil.copy(sdist, dist)
    if sys.platform == "linux":
        say("repairing")
        oldest = f"{OLDEST_LINUX}_{platform.machine()}"  # or it fails
        repair = ("repair", "--plat", oldest, "--wheel-dir", dist, wheel)
        run(tools / "auditwheel", *repair, path=tools)
    else:
        shutil.copy(wheel, dist)  # nothing but the C library is linked
    (wheel,) = dist.glob("*.whl")
    say("checking")
    run(tools / "abi3audit", "--strict", "--report", wheel, stdout=subprocess.DEVNULL)
    run(tools / "check-wheel-contents", wheel)
    run(tools / "twine", "check", "--strict", dist / sdist.name, wheel)
    return dist / sdist.name, wheel


def unpack_tests(sdist, folder):
    """Unpack the source distribution without its sources."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    shutil.rmtree(top / "src")
    return top


def check_pure(folder):
    """Nothing that could be imported in place of the installed package may be left."""
    left = [str(path) for path in folder.rglob("cappedlda*") if path.is_dir()]
    if left:
        sys.exit(f"The folder of the tests still has {left}.")


def test(python, version, wheel, folder):
    """Install the wheel in a new environment and run the tests there."""
    name = ".".join(map(str, version))
    say(f"testing on Python {name}")
    environment = new_environment(python, folder / name, f"{wheel}[test]")
    (outside,) = (folder / "outside").iterdir()
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    run(environment / "python", "-m", "pytest", "-q", cwd=outside, env=variables)
    shutil.rmtree(folder / name)


def new_environment(python, folder, *requirements):
    """Return the folder of programs of a new virtual environment."""
    run(python, "-m", "venv", folder)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", *requirements)
    return programs


def extra(name):
    """Return the requirements of an extra."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["optional-dependencies"][name]


def run(program, *arguments, path=None, **options):
    """Run a program; end with its failure."""
    if path is not None:
        options["env"] = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    command = [str(program), *map(str, arguments)]
    result = subprocess.run(command, check=False, **options)
    if result.returncode:
        sys.exit(f"This failed with status {result.returncode}: {' '.join(command)}")
    return result


def say(text):
    """Print a headline."""
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    main()
