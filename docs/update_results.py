"""Write the tables of reproduction.md from results/*.json: python docs/update_results.py.

Each stands between two comments, `results: <table>` and `end of results`; the text around
them is written by hand.
"""

import json
import re
from pathlib import Path

from cappedlda.paper.experiments import report

DOCS = Path(__file__).parent
SECTION = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def updated(text):
    """Return the page with its tables made anew."""

    def section(found):
        summary = json.loads((DOCS / "results" / f"{found[2]}.json").read_text("utf-8"))
        return f"{found[1]}\n{report.markdown_section(summary)}\n{found[3]}"

    return SECTION.sub(section, text)


if __name__ == "__main__":
    page = DOCS / "reproduction.md"
    page.write_text(updated(page.read_text("utf-8")), "utf-8")
