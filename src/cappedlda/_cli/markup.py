"""HTML of reports; the pieces are common to all of the package."""

from cappedlda._markup import Markup, join, table, tag

__all__ = ["Markup", "join", "table", "tag"]
