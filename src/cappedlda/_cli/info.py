"""`cappedlda info`: what is installed."""

import json
import platform
from importlib import metadata
from pathlib import Path

from cappedlda import __version__
from cappedlda._cli.arguments import JSON, Command

PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "pandas", "pyarrow"),
    *("openpyxl", "jinja2", "shtab", "tqdm", "dask"),
)


def info(args):
    """Show what is installed, for bug reports."""
    facts = collect_info()
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    libraries = facts.pop("blas")
    for name, value in facts.items():
        print(f"{name:<14} {'not installed' if value is None else value}")
    for library in libraries:
        print("blas           {name} {version}, {threads} threads, {file}".format(**library))


def collect_info():
    import scipy.linalg  # noqa: F401  (loads its BLAS)
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    from cappedlda._kernels import kernels

    return {
        "cappedlda": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: installed_version(name) for name in PACKAGES},
        "kernels": kernels.name,
        "usable cores": cpu_count(),
        "blas": [
            {
                "name": library["internal_api"],
                "version": library["version"],
                "threads": library["num_threads"],
                "file": Path(library["filepath"]).name,
            }
            for library in threadpool_info()
            if library["user_api"] == "blas"
        ],
    }


def installed_version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


COMMAND = Command(info, (JSON,))
