"""The data sets of the paper: generators, and loaders from a local folder or OpenML; and texts.

`DATASETS` is the table of all that `load_dataset` knows. The library carries no data.
"""

from cappedlda.paper.datasets._catalogue import DATASETS, DatasetInfo, load_dataset
from cappedlda.paper.datasets._generators import (
    ArtificialData,
    TextData,
    make_artificial,
    make_monks3,
    make_waveform,
    make_zipf_text,
)

__all__ = [
    "DATASETS",
    "ArtificialData",
    "DatasetInfo",
    "TextData",
    "load_dataset",
    "make_artificial",
    "make_monks3",
    "make_waveform",
    "make_zipf_text",
]
