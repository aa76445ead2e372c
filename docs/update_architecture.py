"""Write the tables of develop/architecture.md from the code: python docs/update_architecture.py.

Each stands between two comments, `generated: <table>` and `end of table`. The layers are those of
the contract in pyproject.toml, and what they hold is the first line of each docstring.
"""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import cappedlda
from cappedlda._regime import Regime

DOCS = Path(__file__).parent
PACKAGE = Path(cappedlda.__file__).parent
PAGE = DOCS / "develop" / "architecture.md"
SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def first_line(path):
    """Return the first line of the docstring of a module, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def layers():
    """Return a line for each layer, from the command line down to what knows nothing."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    names = [name.strip() for line in contract["layers"] for name in line.split("|")]
    lines = ["| layer | what it is | modules |", "|---|---|---|"]
    for name in names:
        folder, file = PACKAGE / name, PACKAGE / f"{name}.py"
        if folder.is_dir():
            inner = sorted(
                {path.name.partition(".")[0] for path in folder.iterdir() if is_module(path)}
            )
            modules = ", ".join(f"`{module}`" for module in inner)
            lines.append(f"| `{name}` | {first_line(folder / '__init__.py')} | {modules} |")
        elif not name.startswith("__"):
            lines.append(f"| `{name}` | {first_line(file)} | |")
    return lines


def is_module(path):
    """Whether a file is a module, perhaps a compiled one, or a folder a package."""
    if path.is_dir():
        return (path / "__init__.py").exists()
    return path.suffix in (".py", ".so", ".pyd") and not path.stem.startswith("__")


def regimes():
    """Return a line for each threshold, from the docstring of `Regime`."""
    lines = ["| threshold | value | what it decides |", "|---|---|---|"]
    text, values = inspect.getdoc(Regime) + "\n", Regime()
    for names, about in re.findall(r"^([\w, ]+) : \w+\n((?:    .*\n)+)", text, re.MULTILINE):
        names = names.split(", ")
        shown = ", ".join(f"{getattr(values, name):,}" for name in names)
        listed = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {listed} | {shown} | {' '.join(about.split())} |")
    return lines


TABLES = {"layers": layers, "regimes": regimes}


def updated(text):
    """Return the page with its tables made anew."""

    def section(found):
        return found[1] + "\n".join(TABLES[found[2]]()) + f"\n{found[3]}"

    return SECTION.sub(section, text)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
