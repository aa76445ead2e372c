"""How sphinx builds the documentation: `make docs`. Nothing here needs a network."""

import os
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import cappedlda  # noqa: E402

HERE = Path(__file__).parent
with open(HERE.parent / "pyproject.toml", "rb") as file:
    URLS = tomllib.load(file)["project"]["urls"]
# The folder that this is published in, beside those of other versions; see tools/publish_docs.py.
PUBLISHED_AS = os.environ.get("CAPPEDLDA_DOCS_VERSION")

project = "cappedlda"
release = version = cappedlda.__version__
html_title = f"cappedlda {release}"

extensions = [
    "mathml",
    "myst_parser",
    "names",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "_templates",
    "gallery",
    "pypi.md",  # the page on PyPI
    "speed/*/*",  # parts of speed.md
    "scale/*.md",  # part of guide/scale.md
    "examples/**/GALLERY_HEADER.rst",
]
# References in docstrings need not be cited in the text.
suppress_warnings = ["ref.citation"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "tasklist"]
myst_heading_anchors = 3

# The button copies what is typed: without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

default_role = "obj"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
# scikit-learn's own methods, whose documentation points into scikit-learn's.
autodoc_default_options = {
    "exclude-members": "fit_transform, get_feature_names_out, get_metadata_routing, get_params, "
    "score, set_fit_request, set_output, set_params, set_score_request, set_transform_request"
}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "doc_module": ("cappedlda",),
    "backreferences_dir": "api/generated/backreferences",
    "inspect_global_variables": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}

WIDE = ["speed", "reproduction", "develop/constants"] + [
    path.relative_to(HERE).with_suffix("").as_posix()
    for folder in ("cells", "develop/ablation", "labels", "results", "robustness")
    for path in (HERE / folder).rglob("*.md")
]

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_baseurl = f"{URLS['Documentation']}/stable/"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_show_copyright = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "cappedlda"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "icon_links": [
        {"name": "Repository", "url": URLS["Homepage"], "icon": "fa-brands fa-github"},
    ],
    # Pages of wide tables have no side bars.
    "secondary_sidebar_items": {"**": ["page-toc"]} | dict.fromkeys(WIDE, []),
    "footer_start": [],
    "footer_end": [],
}
html_sidebars = dict.fromkeys(["index", "install", "tutorial", "changelog", *WIDE], [])

# The menu of versions reads a file from the network, so only published pages have it.
if PUBLISHED_AS:
    html_theme_options["switcher"] = {
        "json_url": f"{URLS['Documentation']}/switcher.json",
        "version_match": PUBLISHED_AS,
    }
    html_theme_options["check_switcher"] = False
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher", "navbar-icon-links"]
    html_theme_options["show_version_warning_banner"] = True
