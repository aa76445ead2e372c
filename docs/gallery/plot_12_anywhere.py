"""
The same fit: an array, a file, a cluster
=========================================

Wherever the rows are, the call and the answer stay the same: for an array in memory, for a mapped
file, and for blocks on the workers of a cluster. Only the input changes.
"""

# %%
import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from cappedlda import CappedLDA

rng = np.random.default_rng(0)
y = rng.integers(4, size=60_000)
X = rng.normal(size=(60_000, 12)) + 2 * rng.normal(size=(4, 12))[y]
planted = rng.random(len(y)) < 0.1
X[planted] += 15 * rng.normal(size=(planted.sum(), 12))

# %%
# **An array.**

in_memory = CappedLDA().fit(X, y)
print(f"found {in_memory.outliers_[planted].mean():.2%} of the planted rows")

# %%
# **A file**, which may be larger than memory. The result is the same, bit for bit.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "X.npy"
np.save(path, X)
from_disk = CappedLDA().fit(np.load(path, mmap_mode="r"), y)
print("same directions:", np.array_equal(from_disk.scalings_, in_memory.scalings_))
print("same rows flagged:", np.array_equal(from_disk.outliers_, in_memory.outliers_))

# %%
# **A cluster.** Here it consists of two processes on this machine.
# ``Client("scheduler-address:8786")`` would use one that runs elsewhere. The blocks travel to the
# workers once. Then each block sends back a small matrix in each pass. Sums of blocks are rounded
# differently, so the directions agree to about 14 digits.

client = Client(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
blocks = da.from_array(X, chunks=(10_000, -1)).persist()
labels = da.from_array(y, chunks=10_000).persist()
on_cluster = CappedLDA().fit(blocks, labels)
print("largest difference:", f"{np.abs(on_cluster.scalings_ - in_memory.scalings_).max():.0e}")
print("rows flagged differently:", int((on_cluster.outliers_ != in_memory.outliers_).sum()))

# %%
# Results for each row stay on the cluster until you ask for them.

print(on_cluster.outliers_)
some = on_cluster.transform(blocks[::100]).compute()
client.close()
folder.cleanup()

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
kept = ~in_memory.outliers_[::100]
ax.scatter(*some[kept, :2].T, c=y[::100][kept], cmap="viridis", s=12)
ax.scatter(*some[~kept, :2].T, marker="x", color="0.6", s=12, label="flagged")
ax.set(xlabel="first direction", ylabel="second direction", xlim=(-15, 15), ylim=(-15, 15))
ax.legend()
plt.show()
