"""Processes are killed and disks are full: a file is whole, or the old one is there."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from common import make_classes, spoil

from cappedlda import CappedLDA, load_model, save_model
from cappedlda.paper.experiments import reproduce

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
WRITING = {
    "model": ("fit d.npz --model {out}", "out.npz"),
    "report": ("fit d.npz --report {out}", "out.html"),
    "csv": ("predict m.npz d.npz --out {out}", "out.csv"),
    "json": ("outliers m.npz d.npz --all --out {out}", "out.json"),
    "npy": ("transform m.npz d.npz --out {out}", "out.npy"),
    "parquet": ("transform m.npz d.npz --out {out}", "out.parquet"),
    "npz": ("predict m.npz d.npz --proba --out {out}", "out.npz"),
    "demo": ("demo --out {out}", "out.png"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    rng = np.random.default_rng(0)
    X, y = make_classes(rng, [2000, 2000, 2000], 8)
    X = spoil(rng, X, np.arange(len(y)) % 20 == 0)
    np.savez(folder / "d.npz", X=X, y=y)
    save_model(CappedLDA().fit(X, y), folder / "m.npz")
    return folder


def start(folder, line, **options):
    argv = [sys.executable, "-m", "cappedlda", *line.split()]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(argv, cwd=folder, **pipes, **options)


def stop_when_writing(process, folder, out, number):
    """Send a signal once the unfinished file is there; return whether it came to that."""
    while process.poll() is None:
        if list(folder.glob(f".{out}.*.part")):
            process.send_signal(number)
            process.wait(timeout=600)
            return True
        time.sleep(0.0005)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["model", "csv", "npz"])
def test_a_killed_command_leaves_the_old_file(name, number, folder):
    """What was there stays whole, or the new file is complete; only SIGKILL may leave a part."""
    line, out = WRITING[name]
    path = folder / out
    path.write_bytes(b"old")
    process = start(folder, line.format(out=out))
    stop_when_writing(process, folder, out, number)
    process.communicate(timeout=600)
    assert path.read_bytes() == b"old" or process.returncode == 0 or is_whole(path)
    parts = list(folder.glob(f".{out}.*.part"))
    if number == signal.SIGKILL:
        for part in parts:
            part.unlink()
    else:
        assert parts == []
    path.unlink()


def is_whole(path):
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return len(dict(archive)) > 1
    return path.read_text().count("\n") == 6001


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_the_old_file(name, folder):
    line, out = WRITING[name]
    path = folder / out
    path.write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    process = start(folder, line.format(out=out), preexec_fn=limit)
    err = process.communicate(timeout=600)[1]
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(f"cappedlda {line.split()[0]}: {out}: ")
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert path.read_bytes() == b"old"
    assert list(folder.glob(f".{out}.*")) == []
    path.unlink()


FEW = "reproduce artificial --quick --methods 1-NN LDA RDA"


def test_an_interrupted_run_of_experiments_goes_on(folder, tmp_path):
    """Rows that are done are whole, and are not run again."""
    process = start(folder, f"{FEW} --n-jobs 1 --out {tmp_path}")
    rows = tmp_path / "rows" / "artificial"
    while process.poll() is None and len(list(rows.glob("*.json"))) < 2:
        time.sleep(0.002)
    process.kill()
    process.communicate(timeout=600)
    for part in rows.glob(".*.part"):
        part.unlink()
    before = {path: path.stat().st_mtime_ns for path in rows.glob("*.json")}
    assert len(before) >= 2
    options = {"methods": FEW.split()[-3:], "quick": True, "n_jobs": 1, "verbose": False}
    assert reproduce(["artificial"], out=tmp_path, **options)
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


def test_saved_models_survive_a_crash_while_saving(folder, monkeypatch):
    """The old model is readable whatever happens before the new one is complete."""
    path = folder / "saved.npz"
    lda = load_model(folder / "m.npz")
    save_model(lda, path)
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        save_model(lda, path)
    assert load_model(path).classes_.tolist() == [0, 1, 2]
    assert sorted(Path(folder).glob(".*.part")) == []
