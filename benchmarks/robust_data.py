"""The data sets of the robustness table, and how they are contaminated.

`simulated`, `toy` and the folders were looked at while the default was developed. `unseen` was
written before any method was run on it, to check on data not used during development.

`MODELS` are the kinds of dirt of `cappedlda.noise`. `HARM` are those of benchmarks/harm.py: their
distances are in deviations of all rows, classes together, so they differ in how far they lie from
a class.
"""

import zlib
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from cappedlda import noise

MODELS = {
    "scatter": noise.scatter,
    "leverage": noise.leverage,
    "cluster": noise.cluster,
    "dirty class": noise.dirty_class,
    "heavy tails": noise.heavy_tails,
    "swapped labels": noise.swap_labels,
    "feature noise": noise.feature_noise,
}
# Every planted row lies far outside its class; in the other models some or all do not.
GROSS = ("scatter", "leverage", "dirty class")
SHARES = (0.1, 0.2, 0.4)
CLEAN = ("clean", 0.0)
# Fewer rows than this do not bear an LDA, or take longer than the rest together.
LEAST_PER_CLASS, LEAST_PER_FEATURE, MOST_WORK = 8, 5, 2e7
# Folders whose sets were used to develop the default.
DEVELOPMENT = ("data", "data2", "data4")
CONFIRMING = "data3"  # looked at once per decision
# Other forms of data sets that are in the folder too.
VARIANTS = (
    "coil100_32x32",
    "usps_8x8",
    "echo_survival",
    "waveform_2class",
    "cmc_2class",
    "heartc_num",
)


def contaminate(model, X, y, share, seed):
    """Dirty copy of (X, y), and which rows are dirty."""
    if model == "clean":
        return X, y, np.zeros(len(y), dtype=bool)
    X, y, touched = (MODELS | HARM)[model](X, y, share=share, random_state=seed)
    return X, y, touched if touched.ndim == 1 else touched.any(axis=1)


def replaced(rows_of_class):
    """Make a kind of dirt: some rows of each class become rows_of_class(rng, count, facts)."""

    def plant(X, y, *, share, random_state):
        rng = np.random.default_rng(random_state)
        X, touched = X.copy(), np.zeros(len(y), dtype=bool)
        labels = np.unique(y)
        means = [X[y == label].mean(axis=0) for label in labels]
        scale = X.std(axis=0)
        centre, scale = X.mean(axis=0), np.where(scale > 0, scale, 1.0)
        for i, label in enumerate(labels):
            rows = rng.permutation(np.flatnonzero(y == label))
            rows = rows[: round(share * len(rows))]
            touched[rows] = True
            own, other = means[i], means[(i + 1) % len(labels)]
            X[rows] = rows_of_class(rng, X[rows], own, other, centre, scale)
        return X, y, touched

    return plant


def on_sphere(rng, rows, own, other, centre, scale):
    """Rows all around the data, 10 deviations per feature away."""
    u = rng.normal(size=rows.shape)
    length = np.linalg.norm(u, axis=1, keepdims=True)
    return centre + 10 * np.sqrt(rows.shape[1]) * scale * u / length


def beyond_next_class(rng, rows, own, other, centre, scale):
    """A cloud behind the next class, five times as far as the two classes are apart."""
    return other + 5 * (other - own) + scale * rng.normal(size=rows.shape)


def in_a_corner(rng, rows, own, other, centre, scale):
    """A tight cluster, 8 deviations away in each feature."""
    corner = np.sign(rng.normal(size=len(scale)))
    return centre + scale * (8 * corner + 0.2 * rng.normal(size=rows.shape))


def cauchy(rng, rows, own, other, centre, scale):
    """Independent Cauchy features around the mean of the class, three deviations wide."""
    return own + 3 * scale * rng.standard_t(1.0, rows.shape)


def in_other_units(rng, rows, own, other, centre, scale):
    """The same rows in units that are a thousand times smaller."""
    return 1000 * rows


HARM = {
    "far scatter": replaced(on_sphere),
    "far leverage": replaced(beyond_next_class),
    "corner cluster": replaced(in_a_corner),
    "Cauchy tails": replaced(cauchy),
    "units x 1000": replaced(in_other_units),
}


def seed_of(*key):
    """Make a seed that depends on the names only, not on the order of the runs."""
    return zlib.crc32(repr(key).encode())


def gaussian(seed, counts, n, distance=3.0, smooth=0.0, spreads=None, groups=1):
    """Gaussian classes; smooth > 0 correlates neighbouring features (a spectrum)."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(smooth ** abs(np.subtract.outer(np.arange(n), np.arange(n))))
    spreads = np.ones(len(counts)) if spreads is None else spreads
    X, y = [], []
    for label, (count, spread) in enumerate(zip(counts, spreads, strict=True)):
        steps = rng.normal(size=(groups, n)) * distance / np.sqrt(2 * min(n, 2 * len(counts)))
        means = np.where(np.arange(n) < 2 * len(counts), steps, 0)
        rows = means[rng.integers(groups, size=count)] + spread * rng.normal(size=(count, n))
        X.append(rows @ factor.T)
        y.append(np.full(count, label))
    return np.concatenate(X), np.concatenate(y)


def simulated():
    """Gaussian sets: small, wide, correlated, grouped, unbalanced, unequal, many classes."""
    return {
        "gauss 2 features": gaussian(0, [40, 40], 2),
        "gauss 20 features": gaussian(1, [150] * 3, 20),
        "gauss wide": gaussian(2, [80] * 3, 100, distance=5),
        "gauss spectra": gaussian(3, [200] * 3, 200, smooth=0.98),
        "gauss 1000 features": gaussian(4, [150] * 2, 1000, distance=8, smooth=0.9),
        "gauss grouped": gaussian(5, [200] * 3, 10, distance=6, groups=2),
        "gauss unbalanced": gaussian(6, [360, 40], 5),
        "gauss unequal": gaussian(7, [150] * 3, 5, distance=5, spreads=[1, 2, 3]),
        "gauss 50 classes": gaussian(8, [40] * 50, 30, distance=12),
    }


def toy():
    """Load the data sets that come with scikit-learn."""
    loaders = ("iris", "wine", "breast_cancer", "digits")
    return {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in loaders}


def read_folder(folder):
    """Yield name, X and y of the .npz files of a folder."""
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as file:
            yield path.stem, file["X"].astype(float), file["y"]


def from_folders(folders, most_rows=1500):
    """Load the sets of folders; gaps filled with medians, long sets cut, variants left out."""
    found = {}
    for name, X, y in (part for folder in folders for part in read_folder(folder)):
        if name in VARIANTS:
            continue
        X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
        if len(X) > most_rows:
            X, _, y, _ = train_test_split(X, y, train_size=most_rows, stratify=y, random_state=0)
        found[name] = X, y
    return found


def long_sets(folder):
    """Load the sets of a folder that bear an LDA; rows with gaps are dropped."""
    found = {}
    for name, X, y in read_folder(folder):
        whole = np.isfinite(X).all(axis=1)
        X, y = X[whole], y[whole]
        in_classes = np.unique(y, return_counts=True)[1].min() >= LEAST_PER_CLASS
        per_feature = 0.6 * len(X) >= LEAST_PER_FEATURE * X.shape[1]
        if in_classes and per_feature and X.size * X.shape[1] <= MOST_WORK:
            found[name] = X, y
    return found


def unseen():
    """Sets that were not used in development: generators, shapes and seeds of their own."""

    def classification(seed, rows, n, classes, **given):
        return datasets.make_classification(
            rows, n, n_classes=classes, n_redundant=0, flip_y=0.0, random_state=seed, **given
        )

    return {
        "new: 2 classes": classification(101, 300, 8, 2, n_informative=4, n_clusters_per_class=1),
        "new: 5 classes": classification(102, 600, 15, 5, n_informative=8, n_clusters_per_class=1),
        "new: grouped": classification(103, 500, 12, 3, n_informative=5, n_clusters_per_class=2),
        "new: unbalanced": classification(
            104, 600, 6, 3, n_informative=4, n_clusters_per_class=1, weights=[0.75, 0.15, 0.1]
        ),
        "new: repeated features": datasets.make_classification(
            400, 30, n_informative=6, n_redundant=18, n_classes=3, n_clusters_per_class=1,
            flip_y=0.0, random_state=105,
        ),
        "new: 100 classes": datasets.make_blobs(
            3000, n_features=20, centers=100, cluster_std=2.0, random_state=106
        ),
        "new: curves": curves(107, 400, 120),
        "new: skewed": skewed(108, 500, 10),
        "new: small": gaussian(109, [20, 20, 20], 6, distance=5),
        "new: wide": gaussian(110, [60, 60], 90, distance=6, smooth=0.5),
    }  # fmt: skip


def curves(seed, rows, n):
    """Spectra of 4 substances: sums of peaks of random height, a slope and little noise."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.0, 1.0, n)
    peaks = np.exp(
        -0.5 * ((grid - rng.uniform(0.1, 0.9, (8, 1))) / rng.uniform(0.02, 0.1, (8, 1))) ** 2
    )
    mixes = rng.uniform(0.5, 1.5, (4, 8))
    y = np.arange(rows) % 4
    heights = mixes[y] * rng.lognormal(0.0, 0.25, (rows, 8))
    return heights @ peaks + rng.normal(0, 0.3, (rows, 1)) * grid + rng.normal(
        0, 0.03, (rows, n)
    ), y


def skewed(seed, rows, n):
    """Three classes of lognormal features, every third one rounded to few levels."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    X = np.exp(0.5 * (rng.normal(size=(rows, n)) + rng.normal(size=(3, n))[y]))
    X[:, ::3] = np.round(X[:, ::3])
    return X, y
