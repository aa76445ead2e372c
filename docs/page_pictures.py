"""Make the pictures of the pages by their own examples, in docs/_static.

Run ``python docs/page_pictures.py`` after an example of a page that saves a picture has changed.
The pictures are part of the repository, so that the pages can be read there too.
"""

import contextlib
import doctest
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from cappedlda._cli import main as cappedlda

DOCS = Path(__file__).parent
PICTURES = DOCS / "_static"
DPI = 110  # below 100 kB a picture


def main():
    """Run the examples of the pages that save a picture."""
    for page in sorted(DOCS.glob("**/*.md")):
        text = page.read_text("utf-8")
        if "savefig(" in text:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                run(text)
                for name in re.findall(r'savefig\("(.*?)"', text):
                    shutil.copy(name, PICTURES)


def run(text):
    """Run the commands of a page, whose files its examples may read, and then its examples."""
    import matplotlib as mpl

    mpl.use("agg")
    for command in re.findall(r"^\$ cappedlda (.*)$", text, flags=re.MULTILINE):
        cappedlda(shlex.split(command))
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    names = {}
    with mpl.rc_context({"savefig.dpi": DPI}):
        for example in doctest.DocTestParser().get_examples("".join(blocks)):
            exec(example.source, names)


if __name__ == "__main__":
    main()
