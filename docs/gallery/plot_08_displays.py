"""
A tour of the displays
======================

`cappedlda.plotting` follows scikit-learn's Display convention: ``from_estimator`` computes and
draws, and ``plot`` draws again. You can change ``ax_``, ``figure_`` and the artists.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cappedlda import CappedLDA, CappedLDACV, CappedNormLDA
from cappedlda.noise import leverage, scatter
from cappedlda.plotting import (
    CellMapDisplay,
    ConvergenceDisplay,
    DistanceDisplay,
    DistanceDistanceDisplay,
    EpsilonPathDisplay,
    LoadingsDisplay,
    ProjectionDisplay,
)

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target_names[wine.target]
dirty, _, _ = leverage(X, y, share=0.1, random_state=0)
lda = CappedLDA().fit(dirty, y)

# %%
# Where the rows lie. Flagged rows are ringed, and rows far outside the view are drawn on its
# frame. The tolerance ellipses would hold 97.5 % of a normal class. The three most unusual rows
# are named.

display = ProjectionDisplay.from_estimator(lda, dirty, y, ellipses=0.975, n_labels=3)

# %%
# How far each row lies from its class. Rows above 1 are flagged, for their distance in the
# discriminant space (dots) or only in all features together (diamonds).

display = DistanceDisplay.from_estimator(lda, dirty, y)

# %%
# Both distances at once, with their limits. Rows at the upper left are unusual without disturbing
# the directions. Rows at the lower right are unusual only where the classes differ.

display = DistanceDistanceDisplay.from_estimator(lda, dirty, y, n_labels=3)

# %%
# Which single values do not fit the others of their row: red is above the expected value, blue
# below. A dot marks the values that `predict` ignores.

typos = X[:30].copy()
typos.iloc[4, 0] *= 10.0
typos.iloc[17, 9] = 0.0
display = CellMapDisplay.from_estimator(CappedLDA().fit(X, y), typos)

# %%
# The objective at each evaluation. It does not rise. ``CappedLDA`` stops once the kept rows are
# known; ``CappedNormLDA`` goes on to the minimum.

display = ConvergenceDisplay.from_estimator(CappedNormLDA().fit(dirty, y))

# %%
# Which features a direction uses.

figure, axes = plt.subplots(2, 1, figsize=(7, 6), layout="constrained")
for component, ax in enumerate(axes):
    LoadingsDisplay.from_estimator(
        lda, component=component, feature_names=X.columns, ax=ax, n_features=8
    )
plt.show()

# %%
# How much the cap matters: `CappedLDACV` tries multiples of the automatic one.

display = EpsilonPathDisplay.from_estimator(CappedLDACV(cv=3).fit(dirty, y))

# %%
# Displays take pipelines too, and draw into given axes. A display keeps its data, so you can draw
# it again in another way.

pipeline = make_pipeline(StandardScaler(), CappedLDA()).fit(X, y)
display = ProjectionDisplay.from_estimator(pipeline, X, y, legend=False)
display.ax_.set_title("wine, as it is")
plt.show()

# %%
# Many classes are named where they lie. You can show any two directions.

X, y = make_blobs(2000, 12, centers=20, cluster_std=2.5, random_state=1)
names = np.array([f"sort {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"])
many = CappedLDA().fit(X, names[y])
display = ProjectionDisplay.from_estimator(many, X, names[y], components=(0, 2))

# %%
# With many rows, dots become small and faint, and only a sample of the flagged rows is marked.

X, y = make_blobs(100_000, 10, centers=4, cluster_std=4.0, random_state=1)
X, y, _ = scatter(X, y, share=0.02, random_state=0)
large = CappedLDA().fit(X, y)
display = ProjectionDisplay.from_estimator(large, X, y, ellipses=0.975)
