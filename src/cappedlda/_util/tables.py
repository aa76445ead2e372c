"""Tables as text: aligned for a terminal, or Markdown for a page."""

FORMATS = {"accuracy": "{:.3f}", "ms": "{:.1f}"}


def table(results):
    """Return dictionaries with equal keys as an aligned table."""
    header = list(results[0])
    rows = [header] + [[cell(name, result[name]) for name in header] for result in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    )


def cell(name, value):
    return "-" if value is None else FORMATS.get(name, "{}").format(value)


def markdown_table(header, rows):
    """Return a Markdown table as a list of lines; cells are what `str` makes of them."""
    cells = [header, *rows]
    head, *body = ("| " + " | ".join(map(str, row)) + " |" for row in cells)
    return [head, "|" + "---|" * len(header), *body]
