"""Large data: what files, chunks and a cluster cost against an array in memory.

    python benchmarks/scale.py --out docs/scale [--scratch DIR] [--quick] [--only memmap,dask,...]

Writes scale.json and scale.md. Ratios come from jobs that run in turn; those in one thread are
of processor time, those of a cluster of elapsed time. The large run writes a file of 20 GB to
the scratch folder and removes it.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from speed import machine
from suite.common import contaminated, interleaved, ratio_of

from cappedlda import CappedLDA
from cappedlda._data.chunks import ChunkRows
from cappedlda._data.kinds import training_rows
from cappedlda._data.record import Record
from cappedlda._rules.rule import Query
from cappedlda._util.tables import markdown_table
from cappedlda.sources import NpyFolder, ParquetFolder

LARGE_ROWS, LARGE_FEATURES = 10_000_000, 500
ENGINE_ROWS = 5_000_000


def measure_memmap(folder, quick):
    """One thread, in the page cache, against the array in memory; ratios of processor time."""
    import h5py

    n_rows, n = (200_000, 50) if quick else (1_000_000, 50)
    X, y, _ = contaminated(n_rows, n, 10)
    np.save(folder / "X.npy", X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    stored = h5py.File(folder / "X.h5", "w").create_dataset("X", data=X)
    model = CappedLDA(n_jobs=1)

    def chunks():
        for start in range(0, n_rows, 30_000):
            yield mapped[start : start + 30_000], y[start : start + 30_000]

    jobs = {
        "array": lambda: model.fit(X, y),
        "memmap": lambda: model.fit(mapped, y),
        "h5py": lambda: model.fit(stored, y),
        "chunks": lambda: model.fit_chunks(chunks),
    }
    times = interleaved(jobs, least=3)
    ratios = {name: ratio_of(times, name, "array") for name in ("memmap", "h5py", "chunks")}
    return {"rows": n_rows, "features": n, "ratios_to_array": ratios}


def measure_files(folder, quick):
    """All threads, in the page cache: elapsed and processor time of each source, and its peak."""
    n_rows, n, n_files = (500_000 if quick else 5_000_000), 30, 5
    write_files(folder, *contaminated(n_rows, n, 5)[:2], n_files)
    jobs = file_jobs(folder)
    times = interleaved(jobs, least=3, clock=elapsed_and_used)
    sources = {}
    for name in jobs:
        (elapsed, used), (unit, _) = np.transpose(times[name]), np.transpose(times[UNIT])
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(peak_of_file_job, (folder, name))
        sources[name] = {
            "seconds": elapsed.min(),
            "ratio": float(np.median(elapsed / unit)),
            "processor_seconds": used.min(),
            "extra_bytes": peak,
        }
    sizes = {"rows": n_rows, "features": n, "files": n_files}
    return {"machine": machine(), **sizes, "sources": sources}


UNIT = "array in memory"


def elapsed_and_used():
    return np.array([time.perf_counter(), time.process_time()])


def peak_of_file_job(folder, name):
    """Return the peak in a process of its own, that has used no memory before."""
    return peak_of(file_jobs(folder)[name])


def file_jobs(folder):
    """Return a fit to each kind of source."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    model, parquet = CappedLDA(), ParquetFolder(folder / "parquet", "y")

    def chunks():
        for start in range(0, len(y), 65_536):
            yield X[start : start + 65_536], y[start : start + 65_536]

    return {
        UNIT: lambda: model.fit(X, y),
        "memory map": lambda: model.fit(mapped, y),
        "chunks of the array": lambda: model.fit_chunks(chunks),
        "NpyFolder": lambda: model.fit_chunks(NpyFolder(folder)),
        "ParquetFolder": lambda: model.fit_chunks(parquet),
        "ParquetFolder, cache=True": lambda: model.fit_chunks(parquet, cache=folder),
    }


def write_files(folder, X, y, n_files):
    """Write the rows as a pair of .npy files, and as a folder of Parquet files."""
    import pyarrow as pa
    from pyarrow import parquet

    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    (folder / "parquet").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(y)), n_files)):
        columns = {f"x{j}": X[rows, j] for j in range(X.shape[1])}
        parquet.write_table(
            pa.table({**columns, "y": y[rows]}), folder / "parquet" / f"{part}.parquet"
        )


def measure_dask(folder, quick):
    """Two worker processes against one process with two threads; blocks are in their memory."""
    import dask
    import dask.array as da
    from distributed import Client

    n_rows, n, n_blocks = (400_000 if quick else 5_000_000), 50, 16
    X, y, _ = contaminated(n_rows, n, 10)
    np.save(folder / "X.npy", X)
    step = -(-n_rows // n_blocks)
    result = {"rows": n_rows, "features": n, "blocks": n_blocks}
    for n_workers in (2, 1):
        with Client(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ):
            blocks = [
                da.from_delayed(
                    dask.delayed(load_rows)(folder / "X.npy", start, start + step),
                    (min(step, n_rows - start), n),
                    np.float64,
                )
                for start in range(0, n_rows, step)
            ]
            on_workers = da.concatenate(blocks).persist()
            labels = da.from_array(y, chunks=step).persist()
            one, many = CappedLDA(n_jobs=n_workers), CappedLDA()
            jobs = {"array": lambda m=one: m.fit(X, y)}
            jobs["dask"] = lambda m=many, a=on_workers, b=labels: m.fit(a, b)
            times = interleaved(jobs, least=3, clock=time.perf_counter)
            result[f"workers_{n_workers}"] = {
                "ratio_to_as_many_threads": ratio_of(times, "dask", "array"),
                "seconds_dask": min(times["dask"]),
                "seconds_array": min(times["array"]),
            }
            same = np.max(np.abs(one.scalings_ - many.scalings_)) / np.max(np.abs(one.scalings_))
            result[f"workers_{n_workers}"]["difference_of_scalings"] = float(same)
            result["passes"] = one.n_passes_
            del on_workers, labels
    return result


def load_rows(path, start, stop):
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def measure_engines(folder, quick, engine_rows=ENGINE_ROWS):
    """Processor time of a pass and of a fit, and memory of the driver, each engine by itself."""
    n_rows, n, n_files = (400_000 if quick else engine_rows), 30, 16
    write_files(folder, *contaminated(n_rows, n, 5)[:2], n_files)
    found = {"rows": n_rows, "features": n, "files": n_files, "load": os.getloadavg()[0]}
    found["engines"] = {name: alone(cost_of_engine, folder, name) for name in ENGINES}
    return found


def measure_partitions(folder, quick):
    """Processor time of a pass and of a fit to rows in memory, by the number of partitions."""
    n_rows, n = (40_000 if quick else 400_000), 30
    write_files(folder, *contaminated(n_rows, n, 5)[:2], 4)
    found = {"rows": n_rows, "features": n, "load": os.getloadavg()[0]}
    found["costs"] = {
        name: {str(count): alone(cost_of_engine, folder, name, count) for count in (4, 40, 400)}
        for name in ("dask", "Spark")
    }
    return found


def alone(function, *arguments):
    """Return what a function gives in a process of its own, which may have children."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def cost_of_engine(folder, name, *n_partitions):
    """Return what a pass and a fit cost, and the memory that the fit takes."""
    with ENGINES[name](folder, *n_partitions) as (rows, fit):
        seconds, model = seconds_of_pass(rows), CappedLDA(n_jobs=2)
        java, others = children()
        before = sum(map(anonymous_memory, java))
        begin = processor_seconds()
        own, of_java, of_others = peaks_of(lambda: fit(model), ([os.getpid()], java, others))
        return {
            "seconds_of_a_pass": seconds,
            "seconds_of_a_fit": processor_seconds() - begin,
            "extra_bytes": own,
            "java_bytes": before,
            "extra_java_bytes": of_java,
            "extra_worker_bytes": of_others,
            "passes": model.n_passes_,
        }


def children():
    """Return the numbers of the process that is Spark's driver in Java, and of all others."""
    import psutil

    this = psutil.Process()
    found = this.children(recursive=True)
    java = [child.pid for child in found if child.name() == "java" and child.ppid() == this.pid]
    return java, [child.pid for child in found if child.pid not in java]


def seconds_of_pass(rows):
    """Return the seconds of the second pass; the first one begins workers and imports."""
    query = Query.of_all_rows(np.zeros((rows.n_classes, rows.shape[1])), np.ones(rows.shape[1]))
    rows.run(query)
    begin = processor_seconds()
    rows.run(query)
    return processor_seconds() - begin


def processor_seconds():
    """Seconds of this process and of all below it, those that have ended included."""
    import psutil

    total, this = 0.0, psutil.Process()
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


@contextmanager
def open_array(folder):
    X, y, model = np.load(folder / "X.npy"), np.load(folder / "y.npy"), CappedLDA()
    yield training_rows(model, X, y, None, 2)[0], lambda model: model.fit(X, y)


@contextmanager
def open_chunks(folder):
    source = ParquetFolder(folder / "parquet", "y")
    yield ChunkRows(source, n_jobs=2), lambda model: model.fit_chunks(source)


@contextmanager
def open_dask(folder, n_partitions=None):
    import dask.dataframe as dd
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None):
        frame = dd.read_parquet(folder / "parquet")
        if n_partitions is not None:
            frame = frame.repartition(npartitions=n_partitions).persist()
        rows, _ = training_rows(CappedLDA(), frame, "y", None, 1)
        yield rows, lambda model: model.fit(frame, "y")


@contextmanager
def open_spark(folder, n_partitions=None, master="local[2]", memory="2g"):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", memory)
    builder = builder.config("spark.local.dir", str(folder)).config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    with builder.config("spark.driver.host", "127.0.0.1").getOrCreate() as spark:
        frame = spark.read.parquet(str(folder / "parquet"))
        if n_partitions is not None:
            frame = frame.repartition(n_partitions).cache()
        rows, _ = training_rows(CappedLDA(), frame, "y", None, 1)
        yield rows, lambda model: model.fit(frame, "y")


@contextmanager
def open_spark_cluster(folder):
    """Executors are processes of their own, so the driver's Java can be told from theirs."""
    import pyspark

    home = folder / "spark"  # executors write their logs here
    home.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        (home / path.name).symlink_to(path)
    os.environ["SPARK_HOME"] = str(home)
    with open_spark(folder, master="local-cluster[2,1,1024]", memory="500m") as opened:
        yield opened


ENGINES = {
    "array": open_array,
    "chunks of Parquet": open_chunks,
    "dask": open_dask,
    "Spark": open_spark,
    "Spark, executors apart": open_spark_cluster,
}


def measure_records(folder, quick):
    """Size of a record, and the time to add two and to pack and unpack one."""
    rows = []
    for n in (50, 200, 1000):
        query = Query.of_all_rows(np.zeros((10, n)), np.ones(n))
        record, other = Record.empty(query), Record.empty(query)

        def add(record=record, other=other):
            record += other

        def pack(record=record):
            pickle.loads(pickle.dumps(record, protocol=5))

        times = interleaved({"add": add, "pack": pack}, seconds=0.3)
        size = len(pickle.dumps(record, protocol=5))
        query_size = len(pickle.dumps(query, protocol=5))
        rows.append({
            "features": n, "classes": 10, "record_bytes": size, "query_bytes": query_size,
            "seconds_to_add": float(np.median(times["add"])),
            "seconds_to_pack_and_unpack": float(np.median(times["pack"])),
        })  # fmt: skip
    return rows


def measure_overhead(folder, quick):
    """Elapsed time of a pass whose blocks hold next to nothing: graph, scheduler, tree."""
    import dask.array as da
    from distributed import Client

    from cappedlda._data import dask as dask_rows

    result = []
    with Client(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None):
        for n_blocks in (16, 64, 256):
            X = da.ones((10 * n_blocks, 2), chunks=(10, -1)).persist()
            y = da.from_array(np.tile([0, 1], 5 * n_blocks), chunks=10).persist()
            rows, _ = dask_rows.rows_from_dask(X, y, None)
            query = Query.of_all_rows(np.zeros((2, 2)), np.ones(2))
            times = interleaved(
                {"pass": lambda r=rows, q=query: r.run(q)}, least=5, clock=time.perf_counter
            )
            result.append({"blocks": n_blocks, "seconds": float(np.median(times["pass"]))})
    return result


def measure_large(folder, quick, large_rows=LARGE_ROWS):
    """Peak of the memory of the process that is not the mapped file, of one fit."""
    n_rows, n = (1_000_000, 200) if quick else (large_rows, LARGE_FEATURES)
    block, y_block, _ = contaminated(100_000, n, 10, dtype=np.float32)
    path = folder / "large.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n))
    rng = np.random.default_rng(1)
    for start in range(0, n_rows, len(block)):  # the same rows, each time somewhere else
        X[start : start + len(block)] = block + rng.normal(scale=0.1, size=n).astype(np.float32)
    X.flush()
    y = np.tile(y_block, n_rows // len(block))
    del X
    mapped = np.load(path, mmap_mode="r")
    model = CappedLDA()
    begin = time.perf_counter()
    try:
        extra_bytes = peak_of(lambda: model.fit(mapped, y))
    finally:
        path.unlink()
    return {
        "rows": n_rows,
        "features": n,
        "file_bytes": n_rows * n * 4,
        "extra_bytes": extra_bytes,
        "seconds": time.perf_counter() - begin,
        "passes": model.n_passes_,
        "status": model.status_,
    }


def peak_of(job):
    """Return by how many bytes the memory of this process rises, at its peak, while a job runs."""
    return peaks_of(job, [[os.getpid()]])[0]


def peaks_of(job, groups):
    """Return by how many bytes the memory of each group of processes rises while a job runs."""

    def used():
        return np.array([sum(map(anonymous_memory, group)) for group in groups])

    before = peaks = used()
    done = threading.Event()

    def watch():
        nonlocal peaks
        while not done.wait(0.02):
            peaks = np.maximum(peaks, used())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        job()
    finally:
        done.set()
        watcher.join()
    return (peaks - before).tolist()


def anonymous_memory(pid):
    """Bytes of a process that no file stands behind; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


PARTS = {
    "records": measure_records,
    "memmap": measure_memmap,
    "files": measure_files,
    "engines": measure_engines,
    "partitions": measure_partitions,
    "overhead": measure_overhead,
    "dask": measure_dask,
    "large": measure_large,
}


def as_text(found):
    """Return the figures as Markdown."""
    lines = [
        "Made by `python benchmarks/scale.py`; the figures are those of `scale.json`. "
        f"{found['machine']['processors']} processors, load of {found['machine']['load']:.1f} "
        "at the start.",
        "",
    ]
    if "memmap" in found:
        part = found["memmap"]
        lines += [
            f"## Files and chunks, {part['rows']:,} x {part['features']}, one thread",
            "",
        ]
        header = ["input", "processor time, over that of an array in memory"]
        lines += markdown_table(
            header, [[k, f"{v:.2f}"] for k, v in part["ratios_to_array"].items()]
        )
    if "files" in found:
        lines += text_of_files(found["files"])
    if "engines" in found:
        lines += text_of_engines(found["engines"])
    if "partitions" in found:
        lines += text_of_partitions(found["partitions"])
    if "dask" in found:
        part = found["dask"]
        lines += [
            "",
            f"## dask, {part['rows']:,} x {part['features']} in {part['blocks']} blocks, "
            f"{part['passes']} passes",
            "",
        ]
        header = ["workers", "elapsed time, over that of one process with as many threads"]
        rows = []
        for k in (1, 2):
            row = part[f"workers_{k}"]
            seconds = (f"{row[name]:.1f}" for name in ("seconds_dask", "seconds_array"))
            rows.append([k, f"{row['ratio_to_as_many_threads']:.2f}", *seconds])
        lines += markdown_table([*header, "dask, s", "array, s"], rows)
    if "overhead" in found:
        lines += ["", "## A pass without work, two workers", ""]
        rows = [[r["blocks"], f"{1e3 * r['seconds']:.0f}"] for r in found["overhead"]]
        lines += markdown_table(["blocks", "ms"], rows)
    if "records" in found:
        lines += [
            "",
            "## Records, 10 classes",
            "",
        ]
        header = ["features", "query, MB", "record, MB", "add two, ms", "pack and unpack, ms"]
        sizes = {"query_bytes": 1e-6, "record_bytes": 1e-6}
        sizes |= {"seconds_to_add": 1e3, "seconds_to_pack_and_unpack": 1e3}
        rows = [
            [r["features"], *(f"{r[name] * unit:.2f}" for name, unit in sizes.items())]
            for r in found["records"]
        ]
        lines += markdown_table(header, rows)
    if "large" in found:
        part = found["large"]
        lines += [
            "",
            "## One large file",
            "",
            f"A float32 memory map of {part['rows']:,} x {part['features']}, "
            f"{part['file_bytes'] / 1e9:.1f} GB: {part['passes']} passes, "
            f"{part['seconds']:.0f} s, and at its peak {part['extra_bytes'] / 1e6:.0f} MB of "
            "memory in addition to the file "
            f"({part['extra_bytes'] / part['rows']:.0f} bytes per row).",
        ]
    return "\n".join(lines) + "\n"


def text_of_files(part):
    """Return the lines about sources of files."""
    header = ["input", "elapsed, least, s", "elapsed over that of the array, median"]
    header += ["processor, s", "memory in addition to the data, MB"]
    rows = [
        [
            name,
            f"{source['seconds']:.2f}",
            f"{source['ratio']:.2f}",
            f"{source['processor_seconds']:.2f}",
            f"{source['extra_bytes'] / 1e6:.0f}",
        ]
        for name, source in part["sources"].items()
    ]
    title = f"## Sources of files, {part['rows']:,} x {part['features']} in {part['files']} files"
    where = f"{part['machine']['processor']}, {part['machine']['cores']} cores"
    load = f"load of {part['machine']['load']:.1f} at the end"
    return ["", title, "", f"Measured on {where}, {load}.", "", *markdown_table(header, rows)]


def text_of_engines(part):
    """Return the lines about engines."""
    header = ["engine", "a pass, s", "a fit, s", "passes after the sample", "this process, MB"]
    header += ["Spark's Java, MB", "workers, MB"]
    rows = []
    for name, cost in part["engines"].items():
        java = f"{in_mb(cost['java_bytes'])} + {in_mb(cost['extra_java_bytes'])}"
        rows.append([
            name,
            f"{cost['seconds_of_a_pass']:.2f}",
            f"{cost['seconds_of_a_fit']:.2f}",
            cost["passes"],
            in_mb(cost["extra_bytes"]),
            java if cost["java_bytes"] else "",
            in_mb(cost["extra_worker_bytes"]) if name in WITH_WORKERS else "",
        ])  # fmt: skip
    title = f"## Engines, {part['rows']:,} x {part['features']} in {part['files']} Parquet files"
    text = (
        "Processor time of all processes together, at a load of "
        f"{part['load']:.0f}. Memory is what the fit adds at its peak to the process that calls "
        "it, to Spark's driver in Java (after what it had before the fit), and to all other "
        "processes together. *Executors apart* is `local-cluster[2,1,1024]`, with 500 MB of heap "
        "for the driver; in `local[2]`, with 2 GB, the driver's Java does the work of the "
        "executors too."
    )
    return ["", title, "", text, "", *markdown_table(header, rows)]


WITH_WORKERS = ("dask", "Spark", "Spark, executors apart")


def in_mb(n_bytes):
    return f"{n_bytes / 1e6:.0f}"


def text_of_partitions(part):
    """Return the lines about how the costs grow with the partitions."""
    counts = list(next(iter(part["costs"].values())))
    rows = [
        [f"{name}, {what}", *(f"{costs[k]['seconds_of_' + key]:.2f}" for k in counts)]
        for what, key in (("a pass", "a_pass"), ("a fit", "a_fit"))
        for name, costs in part["costs"].items()
    ]
    title = f"## Partitions, {part['rows']:,} x {part['features']} in memory"
    text = f"Seconds of processor time of all processes together, at a load of {part['load']:.0f}."
    header = ["", *(f"{count} partitions" for count in counts)]
    return ["", title, "", text, "", *markdown_table(header, rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of scale.json and scale.md")
    parser.add_argument("--scratch", type=Path, help="folder for large files")
    parser.add_argument("--quick", action="store_true", help="small data, to try the command")
    parser.add_argument("--large-rows", type=int, default=LARGE_ROWS, help="multiple of 100,000")
    parser.add_argument("--engine-rows", type=int, default=ENGINE_ROWS, help="for the engines")
    parser.add_argument("--only", default=",".join(PARTS), help="some parts; others are kept")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "scale.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["machine"] = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
    for part in options.only.split(","):
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            settings = {
                "large": {"large_rows": options.large_rows},
                "engines": {"engine_rows": options.engine_rows},
            }
            found[part] = PARTS[part](Path(folder), options.quick, **settings.get(part, {}))
        print(part, json.dumps(found[part]), flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        (options.out / "scale.md").write_text(as_text(found))


if __name__ == "__main__":
    main()
