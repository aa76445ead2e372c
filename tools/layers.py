"""Check that the layers of the package are kept, by the contract in pyproject.toml.

This is import-linter on the folder `src`, also where an editable install hides it: its finder
gives a package without a folder.
"""

import sys

from importlinter.cli import lint_imports_command

if __name__ == "__main__":
    sys.meta_path = [f for f in sys.meta_path if "editable" not in type(f).__module__]
    sys.path.insert(0, "src")
    lint_imports_command(["--no-logo", "--no-cache"])
