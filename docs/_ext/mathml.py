"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def setup(app):
    """Register the renderer; `html_math_renderer = "mathml"` chooses it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_math(writer, node):
    """Write a formula within a line."""
    writer.body.append(f'<span class="formula">{mathml(node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_math_block(writer, node):
    """Write a formula on a line of its own."""
    writer.body.append(f'<div class="formula">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def mathml(node, as_block):
    """Return the MathML of a formula; what docutils cannot parse is a warning."""
    try:
        return tex2mathml(node.astext().strip(), as_block=as_block)
    except MathError as error:
        logger.warning("The formula %r: %s", node.astext(), error, location=node)
        return ""
