"""Make docs/_static/report.png: the upper part of a report as a browser shows it.

Run ``python docs/report_picture.py``; it needs Chromium (or Chrome) and Pillow.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).parent / "_static" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = "1120,1300"
COMMANDS = (
    "demo --csv wine.csv",
    "fit wine.csv --target cultivar --model wine.npz --report wine.html",
)


def main():
    """Make the report in a temporary folder and take its picture."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"No browser found; tried {', '.join(BROWSERS)}.")
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            argv = [sys.executable, "-m", "cappedlda", *command.split()]
            subprocess.run(argv, cwd=folder, check=True)
        shot = Path(folder) / "shot.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        page = Path(folder, "wine.html").as_uri()
        argv = [browser, *options, f"--window-size={SIZE}", f"--screenshot={shot}", page]
        subprocess.run(argv, check=True, capture_output=True)
        with Image.open(shot) as image:
            colours = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=0)
            colours.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
