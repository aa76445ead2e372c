"""What a release needs agrees, and the tools that make one do what they say."""

import json
import os
import re
import runpy
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import cappedlda

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import publish_docs  # noqa: E402
import release  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def text(name):
    return (ROOT / name).read_text("utf-8")


def compact(requirement):
    return requirement.replace(" ", "")


@pytest.mark.parametrize("name", ["CITATION.cff", "conda/recipe.yaml"])
def test_version_and_addresses_are_those_of_the_project(name):
    found = re.search(r'^ *version: "?([\d.]+)', text(name), flags=re.MULTILINE)
    assert found[1] == cappedlda.__version__
    addresses = re.findall(r"https://[\w.]*github[^\s)]*", text(name))
    urls = PROJECT["urls"]
    assert set(addresses) == {urls["Homepage"], urls["Documentation"]}


@pytest.mark.parametrize("name", ["README.md", "docs/install.md", "docs/pypi.md"])
def test_links_to_the_repository_and_the_documentation_are_right(name):
    addresses = re.findall(r"https://[\w.]*github\.(?:com|io)/[^\s)>\"]*", text(name))
    known = (PROJECT["urls"]["Homepage"], PROJECT["urls"]["Documentation"])
    assert [address for address in addresses if not address.startswith(known)] == []


def test_the_page_on_pypi_has_no_relative_links():
    page = text(PROJECT["readme"])
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) >= 5
    assert all(link.startswith("https://") for link in links)
    pages = [re.search(r"/stable/(.+)\.html$", link) for link in links]
    sources = [f"docs/{found[1]}.md" for found in pages if found]
    assert [name for name in sources if not (ROOT / name).exists()] == []


def test_the_recipe_asks_for_what_the_package_needs():
    _, _, run = text("conda/recipe.yaml").partition("  run:\n")
    wanted = re.findall(r"^    - (.+)$", run.partition("\ntests:")[0], flags=re.MULTILINE)
    assert {compact(line) for line in wanted} == {"python", *PROJECT["dependencies"]}


def test_the_same_meson_is_wanted_everywhere():
    found = {
        name: re.search(rf"meson{between}>=(1[.0-9]*)", text(name))[1]
        for name, between in {
            "pyproject.toml": "",
            "meson.build": "_version: '",
            "conda/recipe.yaml": " ",
        }.items()
    }
    assert {version.removesuffix(".0") for version in found.values()} == {"1.9"}, found


def test_the_systems_are_named():
    systems = [line for line in PROJECT["classifiers"] if line.startswith("Operating System")]
    assert len(systems) == 3
    assert "Operating System :: OS Independent" not in systems  # there is compiled code
    assert "Programming Language :: Python :: 3.14" in PROJECT["classifiers"]


@pytest.mark.parametrize(("without_gil", "limited"), [(0, "true"), (None, "true"), (1, "false")])
def test_free_threaded_python_is_built_for_without_the_limited_api(
    monkeypatch, capsys, without_gil, limited
):
    monkeypatch.setitem(sysconfig.get_config_vars(), "Py_GIL_DISABLED", without_gil)
    runpy.run_path(str(ROOT / "tools/limited_api.py"))
    assert capsys.readouterr().out.strip() == limited


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permission")
@pytest.mark.parametrize("name", ["tools/limited_api.py", "src/cappedlda/_version.py"])
def test_meson_runs_its_scripts_with_its_own_python(name):
    """It looks for one in the path if they are executable."""
    assert f"run_command('{name}'" in text("meson.build")
    assert not os.access(ROOT / name, os.X_OK)


@pytest.fixture
def tree(tmp_path):
    """A tree that can be released as 1.2.0."""
    files = {
        "src/cappedlda/_version.py": '__version__ = "1.2.0"\n',
        "CHANGELOG.md": "# Changes\n\n## 1.2.0 (2030-04-05)\n\n- New.\n\n## 1.1.0\n\n- Old.\n",
        "CITATION.cff": "title: x\nversion: 1.2.0\ndate-released: 2030-04-05\n",
        "conda/recipe.yaml": 'context:\n  version: "1.2.0"\nsource:\n  sha256: 000\n',
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return tmp_path


def test_a_complete_tree_can_be_released(tree, capsys):
    assert release.main(["check", "v1.2.0"], tree) == 0
    assert "can be released" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        ("src/cappedlda/_version.py", "1.2.0", "1.3.0", "The tag is v1.2.0"),
        ("CHANGELOG.md", "2030-04-05", "unreleased", "no section"),
        ("CITATION.cff", "version: 1.2.0", "version: 1.1.0", "no line version: 1.2.0"),
        ("CITATION.cff", "2030-04-05", "2030-04-04", "no line date-released: 2030-04-05"),
        ("conda/recipe.yaml", "1.2.0", "1.1.0", "recipe.yaml does not say"),
    ],
)
def test_what_is_missing_is_named(tree, capsys, name, old, new, complaint):
    path = tree / name
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    assert release.main(["check", "v1.2.0"], tree) == 1
    assert complaint in capsys.readouterr().out


def test_notes_are_the_changes_of_this_version(tree, capsys):
    release.main(["notes"], tree)
    assert capsys.readouterr().out == "- New.\n"


def test_the_recipe_has_the_hash_of_the_file(tree, capsys):
    (tree / "x.tar.gz").write_bytes(b"abc")
    release.main(["recipe", str(tree / "x.tar.gz")], tree)
    sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert f"sha256: {sha256_of_abc}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "folder"), [("main", "dev"), ("v0.1.0", "0.1"), ("v0.10.3", "0.10"), ("fix-v1", "dev")]
)
def test_folder_of_a_version(name, folder, capsys):
    publish_docs.main(["--name", name])
    assert capsys.readouterr().out.strip() == folder


def test_versions_are_published_beside_each_other(tmp_path):
    html, pages = tmp_path / "html", tmp_path / "pages"
    html.mkdir()
    pages.mkdir()
    for name in ("main", "v0.9.0", "v0.10.0", "v0.9.1"):
        (html / "index.html").write_text(name, "utf-8")
        publish_docs.main([str(html), str(pages), "--name", name])
    found = {path.parent.name: path.read_text("utf-8") for path in pages.glob("*/index.html")}
    assert found == {"dev": "main", "0.9": "v0.9.1", "0.10": "v0.10.0", "stable": "v0.10.0"}
    versions = json.loads((pages / "switcher.json").read_text("utf-8"))
    assert [version["name"] for version in versions] == ["dev", "0.10 (stable)", "0.9"]
    assert [version["preferred"] for version in versions] == [False, True, False]
    assert versions[1]["url"] == PROJECT["urls"]["Documentation"] + "/0.10/"
    assert "url=stable/" in (pages / "index.html").read_text("utf-8")


def test_a_site_without_releases_leads_to_the_branch(tmp_path):
    html, pages = tmp_path / "html", tmp_path / "pages"
    html.mkdir()
    publish_docs.publish(html, pages, "dev", "https://example.org")
    assert "url=dev/" in (pages / "index.html").read_text("utf-8")
