"""
Large data: float32, memory maps, threads
=========================================

With 30,000 rows or more, a fit converges on a sample of 10,000 rows, and then makes a few passes
over all of them. The rows may be float32, and may stay on disk. The data are generated, and the
times were measured on the machine that built this page.
"""

# %%
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from cappedlda import CappedLDA

rng = np.random.default_rng(0)
n_rows, n_features, n_classes = 200_000, 30, 6
means = 1.5 * rng.normal(size=(n_classes, n_features))
y = rng.integers(n_classes, size=n_rows)
X = (rng.normal(size=(n_rows, n_features)) + means[y]).astype(np.float32)
planted = rng.random(n_rows) < 0.1
X[planted] += 20 * rng.normal(size=(planted.sum(), n_features)).astype(np.float32)

# %%
# float32 rows are multiplied in float32 and summed in float64. They are never converted as a whole.

start = time.perf_counter()
lda = CappedLDA().fit(X, y)
print(f"{time.perf_counter() - start:.2f} s, {lda.n_passes_} passes over {n_rows} rows")
print(f"found {lda.outliers_[planted].mean():.2%} of the planted rows")
print(f"flagged {lda.outliers_[~planted].mean():.2%} of the others")

double = CappedLDA().fit(X.astype(np.float64), y)
print("rows flagged differently with float64:", np.sum(lda.outliers_ != double.outliers_))

# %%
# A memory map is read piece by piece in each pass.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    from_disk = CappedLDA().fit(mapped, y)
    del mapped
print("same as from memory:", np.array_equal(from_disk.scalings_, lda.scalings_))

# %%
# The number of threads changes the time, but not a single bit of the result.

one, two = (CappedLDA(n_jobs=n).fit(X, y) for n in (1, 2))
print("same with one and two threads:", np.array_equal(one.scalings_, two.scalings_))

# %%
# Time over the number of rows: the work on the sample stays the same, the passes grow.

sizes = [50_000, 100_000, 150_000, 200_000]
seconds = []
for size in sizes:
    start = time.perf_counter()
    CappedLDA(n_jobs=1).fit(X[:size], y[:size])
    seconds.append(time.perf_counter() - start)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(sizes, seconds, "o-", color="#0072B2")
ax.set(xlabel="rows", ylabel="seconds, one thread", ylim=(0, None))
plt.show()
