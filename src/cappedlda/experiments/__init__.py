"""The experiments of the paper: its tables and figures, run soundly.

- `methods`: the rows of the tables
- `protocol`: one trial of one method
- `tables`: data, noise and repeats of each table; `paper` has the printed figures
- `report`: results as JSON and Markdown; `figures`: pictures
- `run`: all of it, resumable
"""

from cappedlda.experiments.methods import METHODS
from cappedlda.experiments.run import reproduce
from cappedlda.experiments.tables import TABLES

__all__ = ["METHODS", "TABLES", "reproduce"]
