"""The experiments of the paper: its tables and figures, run soundly.

- `methods`: the rows of the tables
- `protocol`: one trial of one method
- `tables`: data, noise and repeats of each table, and the figures of the paper
- `report`: results as JSON and Markdown; `figures`: pictures
- `run`: all of it, resumable
"""

from cappedlda.paper.experiments.methods import METHODS
from cappedlda.paper.experiments.run import reproduce
from cappedlda.paper.experiments.tables import TABLES

__all__ = ["METHODS", "TABLES", "reproduce"]
