"""Put built documentation beside that of other versions.

    python3 tools/publish_docs.py --name v0.1.0               # prints 0.1, the folder's name
    python3 tools/publish_docs.py HTML PAGES --name v0.1.0

HTML is what `make docs` built, PAGES the folder that is published, with a folder for each version:
"dev" for the branch main, "0.1" for all tags v0.1.*, and "stable", a copy of the newest of these.
switcher.json lists them for the menu of versions, index.html leads to the stable one.
"""

import argparse
import json
import re
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REDIRECT = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>cappedlda</title>
<meta http-equiv="refresh" content="0; url={folder}/">
<a href="{folder}/">cappedlda documentation</a>
</html>
"""


def main(arguments=None):
    """Publish, or print the name of the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path, nargs="?", help="what was built")
    parser.add_argument("pages", type=Path, nargs="?", help="what is published")
    parser.add_argument("--name", required=True, help="branch or tag")
    options = parser.parse_args(arguments)
    if options.html is None:
        print(folder_of(options.name))
    elif options.pages is None:
        parser.error("say where to publish: HTML PAGES")
    else:
        publish(options.html, options.pages, folder_of(options.name), site())


def folder_of(name):
    """Return the folder of a branch or a tag: 0.1 for v0.1.3, dev for what is no release."""
    found = re.fullmatch(r"v(\d+\.\d+)(\.\d+)*", name)
    return found[1] if found else "dev"


def site():
    """Return the address of the documentation."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["urls"]["Documentation"].rstrip("/")


def publish(html, pages, folder, address):
    """Replace the documentation of a version, and renew what leads to it."""
    replace(html, pages / folder)
    releases = sorted(filter(is_release, pages.iterdir()), key=number, reverse=True)
    if releases:
        replace(releases[0], pages / "stable")
    versions = [entry("dev", "dev", address)] if (pages / "dev").is_dir() else []
    versions += [
        entry(path.name, f"{path.name} (stable)" if path == releases[0] else path.name, address)
        for path in releases
    ]
    for version in versions:
        version["preferred"] = version["name"].endswith("(stable)")
    (pages / "switcher.json").write_text(json.dumps(versions, indent=2) + "\n", "utf-8")
    start = "stable" if releases else "dev"
    (pages / "index.html").write_text(REDIRECT.format(folder=start), "utf-8")
    (pages / ".nojekyll").touch()  # folders that begin with _ are wanted


def replace(source, target):
    """Make the target a copy of the source."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def is_release(path):
    """Tell whether a folder is that of a release."""
    return path.is_dir() and re.fullmatch(r"\d+\.\d+", path.name) is not None


def number(path):
    """Return the version of a folder as numbers, which 0.10 is after 0.9 by."""
    return tuple(map(int, path.name.split(".")))


def entry(version, name, address):
    """Return what the menu of versions says about one."""
    return {"name": name, "version": version, "url": f"{address}/{version}/"}


if __name__ == "__main__":
    main()
