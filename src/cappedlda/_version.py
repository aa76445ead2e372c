#!/usr/bin/env python3
"""The version, in one place; run as a script it tells the build."""

__version__ = "0.1.0"

if __name__ == "__main__":
    print(__version__)
