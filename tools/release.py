"""Check what a release needs, and print what goes with it.

python3 tools/release.py check v0.1.0          # is the tree ready for this tag?
python3 tools/release.py notes                 # the changes of this version
python3 tools/release.py recipe SDIST          # the conda recipe, with the hash of the file
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments=None, root=ROOT):
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="exit with 1 if something is missing").add_argument("tag")
    commands.add_parser("notes", help="print the changes of this version")
    commands.add_parser("recipe", help="print the conda recipe").add_argument("sdist", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "check":
        found = problems(root, options.tag)
        print("\n".join(found) or f"{options.tag} can be released.")
        return 1 if found else 0
    print(notes(root) if options.command == "notes" else recipe(root, options.sdist), end="")
    return 0


def version(root):
    """Return the version of the sources."""
    return search(root / "src/cappedlda/_version.py", r'__version__ = "(.+?)"')


def search(path, pattern):
    """Return the first group of a pattern in a file, or None."""
    found = re.search(pattern, path.read_text("utf-8"), flags=re.MULTILINE)
    return found and found[1]


def problems(root, tag):
    """Return what keeps the sources from being released under a tag, a line for each."""
    current = version(root)
    found = []
    if tag != f"v{current}":
        found.append(f"The tag is {tag}, but src/cappedlda/_version.py says {current}.")
    changelog = root / "CHANGELOG.md"
    date = search(changelog, rf"^## {re.escape(current)} \((\d{{4}}-\d{{2}}-\d{{2}})\)$")
    if date is None:
        found.append(f'CHANGELOG.md has no section "{current} (YYYY-MM-DD)".')
    citation = root / "CITATION.cff"
    if search(citation, r"^version: (.+)$") != current:
        found.append(f"CITATION.cff has no line version: {current}.")
    if date is not None and search(citation, r"^date-released: (.+)$") != date:
        found.append(f"CITATION.cff has no line date-released: {date}.")
    if search(root / "conda/recipe.yaml", r'^  version: "(.+)"$') != current:
        found.append(f"conda/recipe.yaml does not say version: {current}.")
    return found


def notes(root):
    """Return the section of the changelog about this version, without its title."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    title = rf"^## {re.escape(version(root))}\b.*\n"
    _, found, rest = text.partition(re.search(title, text, flags=re.MULTILINE)[0])
    return re.split(r"^## ", rest, flags=re.MULTILINE)[0].strip() + "\n"


def recipe(root, sdist):
    """Return the conda recipe for a source distribution."""
    text = (root / "conda/recipe.yaml").read_text("utf-8")
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    return re.sub(r"sha256: \w+", f"sha256: {digest}", text)


if __name__ == "__main__":
    sys.exit(main())
