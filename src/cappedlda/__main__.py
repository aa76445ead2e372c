"""Run the command line with ``python -m cappedlda``."""

import sys

from cappedlda._cli import main

if __name__ == "__main__":
    sys.exit(main())
