"""Engines that give rows in batches: the examples of the guide, each as a program of its own."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import ENGINES, make_classes, missing_for, spoil

from cappedlda import CappedLDA

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "large.md"
BLOCKS = re.findall(r"```python\n((?:import|from) (\w+).*?)```", PAGE.read_text("utf-8"), re.DOTALL)
EXAMPLES = {engine: example for example, engine in BLOCKS}

# How an engine is to begin here, with few threads, and files in a folder; else as in the guide.
BEGIN = {
    "pyspark": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = spark.config("spark.driver.host", "127.0.0.1").config("spark.local.dir", TEMPORARY)
spark = spark.config("spark.driver.memory", "600m").config("spark.log.level", "OFF").getOrCreate()
""",
    "ray": """
import ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, _temp_dir=TEMPORARY)
""",
}
END = {
    "pyspark": "table.to_pandas().to_parquet('read.parquet')\n",  # it reads files as it likes
}


def test_every_engine_has_an_example():
    assert EXAMPLES.keys() == set(ENGINES)


@pytest.mark.parametrize("engine", [name for name in ENGINES if not missing_for(name)])
def test_batches_give_what_an_array_gives(engine, rng, tmp_path):
    """Bit for bit: rows come in their order, in other pieces than the files have."""
    X, y = make_classes(rng, [20_000, 15_000, 5_000], 4)
    X = spoil(rng, X, rng.random(len(y)) < 0.05)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    (tmp_path / "folder").mkdir()
    for k, start in enumerate(range(0, len(y), 15_000)):
        part = frame.iloc[start : start + 15_000]
        part.to_parquet(tmp_path / "folder" / f"{k}.parquet", index=False, row_group_size=4_000)
    example = EXAMPLES[engine].replace("65_536", "7_000")
    with tempfile.TemporaryDirectory() as folder:  # of a short name, as Ray needs it for sockets
        begin = f"TEMPORARY = {folder!r}\n{BEGIN.get(engine, '')}"
        program = f"{begin}\nfrom cappedlda import CappedLDA\n{example}\n{END.get(engine, '')}"
        program += "import numpy as np\nnp.save('found.npy', lda.scalings_)"
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    if engine in END:
        read = pd.read_parquet(tmp_path / "read.parquet")
        X, y = read[list("abcd")].to_numpy(), read["label"].to_numpy()
        assert sorted(X[:, 0]) == sorted(frame["a"])
    expected = CappedLDA().fit(X, y)
    assert expected.n_sampled_ > 0
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected.scalings_)
