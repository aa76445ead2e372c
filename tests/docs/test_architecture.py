"""The map of the package and the table of its thresholds are complete."""

import re
from dataclasses import asdict
from pathlib import Path

import cappedlda
from cappedlda._regime import Regime

PAGE = (Path(__file__).parents[2] / "docs/develop/architecture.md").read_text("utf-8")


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_map_names_every_module_and_folder():
    folder = Path(cappedlda.__file__).parent
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = names - {"_cli", "_kernels", "noise", "paper", "plotting"}
    for room in rooms:
        names |= {path.stem for path in (folder / room).glob("*.py")}
    names -= {"__init__", "__main__", "__pycache__"}
    assert names <= set(re.findall(r"`(\w+)`", section("The map")))


def test_the_table_has_every_threshold_with_its_value():
    found = {}
    for names, values in re.findall(r"^\| (`.*?) \| (.*?) \| ", section("Regimes"), re.MULTILINE):
        values = [float(value.replace(",", "")) for value in values.split(", ")]
        found |= dict(zip(re.findall(r"`(\w+)`", names), values, strict=True))
    assert found == asdict(Regime())
