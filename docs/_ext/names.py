"""Names of the library in plain code spans link to the API reference.

Pages say `CappedLDA` as any Markdown does, which GitHub shows too, instead of a role that only
sphinx understands. The first mention of a name on a page becomes the link.
"""

import importlib

from docutils import nodes
from sphinx import addnodes

MODULES = (
    "cappedlda",
    "cappedlda.noise",
    "cappedlda.onnx",
    "cappedlda.paper",
    "cappedlda.paper.datasets",
    "cappedlda.paper.experiments",
    "cappedlda.plotting",
    "cappedlda.sources",
)


def setup(app):
    """Register the transformation of pages."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def targets():
    """Return the full name behind each text that is linked."""
    found = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            if name[0] != "_":
                found.setdefault(name, f"{module}.{name}")
                found[f"{module}.{name}"] = f"{module}.{name}"
    return found


def link_names(app, doctree):
    """Make the first mention of each name a reference; pages in Markdown only."""
    if app.env.doc2path(app.env.docname).suffix != ".md":
        return
    known = targets()
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        # A method is looked for at its class.
        owner, _, method = name.rpartition(".")
        full = known.get(name) or (owner in known and f"{known[owner]}.{method}")
        if full and not isinstance(literal.parent, nodes.reference | addnodes.pending_xref):
            known.pop(name, None)
            reference = addnodes.pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=full,
                refdoc=app.env.docname,
                refexplicit=True,
                refwarn=False,
            )
            literal.replace_self(reference)
            reference += literal
