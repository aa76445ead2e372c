"""Data that are not an array in memory: time against one that is."""

import tempfile
import time
from pathlib import Path

import numpy as np

from cappedlda import CappedLDA
from cappedlda.sources import ParquetFolder

from .common import contaminated, ratio


class Files:
    """A memory map in the page cache, and chunks of it."""

    timeout = 600

    def setup(self):
        self.X, self.y, _ = contaminated(400_000, 50, 10)
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "X.npy"
        np.save(path, self.X)
        self.mapped = np.load(path, mmap_mode="r")
        self.model = CappedLDA(n_jobs=1)

    def teardown(self):
        self._folder.cleanup()

    def chunks(self):
        for start in range(0, len(self.y), 30_000):
            rows = slice(start, start + 30_000)
            yield self.mapped[rows], self.y[rows]

    def track_memmap_to_array(self):
        """Return fit time of a memory map / of an array, one thread; the aim is 1.15."""
        return ratio(
            lambda: self.model.fit(self.mapped, self.y), lambda: self.model.fit(self.X, self.y)
        )

    def track_chunks_to_array(self):
        """Return fit time of chunks / of an array, one thread; the aim is 1.2."""
        return ratio(
            lambda: self.model.fit_chunks(self.chunks), lambda: self.model.fit(self.X, self.y)
        )


class Parquet:
    """A folder of Parquet files, against a memory map of the same rows; needs pyarrow."""

    timeout = 600
    params = ([False, True],)
    param_names = ("cache",)

    def setup(self, cache):
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise NotImplementedError("pyarrow is not installed") from error
        X, self.y, _ = contaminated(400_000, 30, 5)
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        np.save(folder / "X.npy", X)
        self.mapped = np.load(folder / "X.npy", mmap_mode="r")
        columns = {f"x{j}": X[:, j] for j in range(30)}
        parquet.write_table(pa.table({**columns, "y": self.y}), folder / "rows.parquet")
        self.source = ParquetFolder(folder, "y")
        self.model = CappedLDA()

    def teardown(self, cache):
        if hasattr(self, "_folder"):  # asv calls it also where pyarrow is missing
            self._folder.cleanup()

    def track_parquet_to_memmap(self, cache):
        """Return elapsed fit time of Parquet / of a memory map."""
        return ratio(
            lambda: self.model.fit_chunks(self.source, cache=cache),
            lambda: self.model.fit(self.mapped, self.y),
            least=3,
            clock=time.perf_counter,
        )


class Cluster:
    """Two worker processes with the blocks in their memory; needs the extra `dask`."""

    timeout = 900

    def setup(self):
        try:
            import dask.array as da
            from distributed import Client
        except ImportError as error:
            raise NotImplementedError("dask is not installed") from error
        self.X, self.y, _ = contaminated(1_000_000, 50, 10)
        self.client = Client(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        step = -(-len(self.y) // 16)
        self.blocks = da.from_array(self.X, chunks=(step, -1)).persist()
        self.labels = da.from_array(self.y, chunks=step).persist()

    def teardown(self):
        if hasattr(self, "client"):  # asv calls it also where dask is missing
            self.client.close()

    def track_dask_to_array(self):
        """Return elapsed fit time of 16 blocks on two workers / of an array with two threads."""
        model = CappedLDA(n_jobs=2)
        return ratio(
            lambda: model.fit(self.blocks, self.labels),
            lambda: model.fit(self.X, self.y),
            least=3,
            clock=time.perf_counter,
        )
