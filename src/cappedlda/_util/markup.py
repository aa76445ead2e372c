"""HTML that cannot go wrong: text is escaped unless it is markup made here."""

import html

RIGHT = "text-align: right"  # notebooks have no style sheet of ours


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name, /, *content, **attributes):
    """Return an element; an attribute `class_` is written as class."""
    written = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    if name in ("img", "meta", "col"):
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(content):
    """Return strings, markup and lists of them as one piece of markup."""
    return Markup(
        "".join(
            item
            if isinstance(item, Markup)
            else join(item)
            if isinstance(item, list | tuple)
            else html.escape(str(item))
            for item in content
        )
    )


def table(header, rows, numbers=()):
    """Return a table; the columns in `numbers` are aligned at the right."""

    def cells(kind, row):
        return [
            tag(kind, item, class_="number", style=RIGHT) if j in numbers else tag(kind, item)
            for j, item in enumerate(row)
        ]

    head = tag("thead", tag("tr", cells("th", header)))
    body = tag("tbody", [tag("tr", cells("td", row)) for row in rows])
    return tag("div", tag("table", head, body), class_="wide")
