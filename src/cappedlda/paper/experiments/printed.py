"""The figures of the paper, as printed: percent right, and their deviation where given.

`printed.json` has a mean and a deviation, or null, for each of `COLUMNS`, by table and data set.
"""

import json
from importlib import resources

_PRINTED = json.loads(resources.files(__package__).joinpath("printed.json").read_text("utf-8"))
COLUMNS = tuple(_PRINTED["columns"])
UCI, UCI_NOISE = _PRINTED["uci"], _PRINTED["uci-noise"]  # the paper's Tables 3 and 5
ARTIFICIAL, COIL100, USPS = _PRINTED["artificial"], _PRINTED["coil100"], _PRINTED["usps"]
AVERAGE_RANKS = _PRINTED["average_ranks"]  # of each of COLUMNS, by table
