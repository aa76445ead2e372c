"""Pages show the pictures that their own examples draw.

The Python examples of each page that saves a picture run before the pages are read, in the
folder `pictures`; the page then shows ``pictures/name.png``.
"""

import contextlib
import doctest
import re
from pathlib import Path


def setup(app):
    """Draw before anything is read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw(app):
    """Run the examples of the pages that save a picture."""
    folder = Path(app.srcdir) / "pictures"
    folder.mkdir(exist_ok=True)
    for page in sorted(Path(app.srcdir).glob("**/*.md")):
        text = page.read_text("utf-8")
        names = re.findall(r'savefig\("(\w+\.png)"\)', text)
        if any(is_older(folder / name, page) for name in names):
            run(text, folder)


def is_older(picture, page):
    """Tell whether a picture has to be drawn anew."""
    return not picture.exists() or picture.stat().st_mtime < page.stat().st_mtime


def run(text, folder):
    """Run the examples of a page in a folder."""
    import matplotlib as mpl

    mpl.use("agg")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    names = {}
    with contextlib.chdir(folder), mpl.rc_context({"savefig.dpi": 160}):
        for example in doctest.DocTestParser().get_examples("".join(blocks)):
            exec(example.source, names)
