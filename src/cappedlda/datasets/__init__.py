"""The data sets of the paper: generators, and loaders from a local folder or OpenML.

`DATASETS` is the table of all that `load_dataset` knows. The library carries no data.
"""

from cappedlda.datasets._catalogue import DATASETS, DatasetInfo, dataset_names, load_dataset
from cappedlda.datasets._generators import (
    ArtificialData,
    make_artificial,
    make_monks3,
    make_waveform,
)

__all__ = [
    "DATASETS",
    "ArtificialData",
    "DatasetInfo",
    "dataset_names",
    "load_dataset",
    "make_artificial",
    "make_monks3",
    "make_waveform",
]
