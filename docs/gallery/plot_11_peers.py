"""
Comparison with common alternatives
===================================

Plain LDA, LDA with a robust covariance, and outlier filters before LDA, on three data sets with a
fifth of the training rows spoiled. This small study runs when this page is built;
``benchmarks/robustness.py`` is the large one.
"""

# %%
# The filters look at each class by itself, and need the share of bad rows. We give them the true
# share, which in practice nobody knows. CappedLDA does not get it.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.covariance import EllipticEnvelope, MinCovDet
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA, noise

SHARE = 0.2
SPLITS = 2


def filtered(detector):
    """Return a method: filter each class, then plain LDA on what is left."""

    def fit(X, y):
        keep = np.zeros(len(y), dtype=bool)
        for label in np.unique(y):
            keep[y == label] = detector.fit_predict(X[y == label]) > 0
        return LinearDiscriminantAnalysis().fit(X[keep], y[keep])

    return fit


methods = {
    "plain LDA": LinearDiscriminantAnalysis().fit,
    "LDA, MinCovDet": LinearDiscriminantAnalysis(
        solver="lsqr", covariance_estimator=MinCovDet(random_state=0)
    ).fit,
    "EllipticEnvelope, LDA": filtered(EllipticEnvelope(contamination=SHARE, random_state=0)),
    "IsolationForest, LDA": filtered(
        IsolationForest(n_estimators=50, contamination=SHARE, random_state=0)
    ),
    "CappedLDA": CappedLDA().fit,
}
loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
models = {"clean": None, "scatter": noise.scatter, "leverage": noise.leverage}

records = []
for data, load in loaders.items():
    X, y = load(return_X_y=True)
    for split in range(SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=split
        )
        for dirt, spoil in models.items():
            dirty = X_train
            if spoil is not None:
                dirty, _, _ = spoil(X_train, y_train, share=SHARE, random_state=split)
            for name, fit in methods.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # MinCovDet on small classes
                    accuracy = fit(dirty, y_train).score(X_test, y_test)
                records.append({"data": data, "dirt": dirt, "method": name, "accuracy": accuracy})
frame = pd.DataFrame(records)
table = frame.pivot_table(index="method", columns="dirt", values="accuracy", sort=False)
print((100 * table).round(1).to_string())

# %%
# Accuracy on clean test rows, averaged over data sets and splits. In the column for clean training
# rows, the filters still throw a fifth of them away.

figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
for ax, dirt in zip(axes, models, strict=True):
    colors = ["#0072B2" if name == "CappedLDA" else "#999999" for name in table.index]
    bars = ax.barh(table.index, 100 * table[dirt], color=colors)
    ax.bar_label(bars, fmt="%.1f", padding=2, fontsize="small")
    ax.set(title=dirt, xlim=(0, 128), xticks=(0, 50, 100), xlabel="accuracy (%)")
axes[0].invert_yaxis()
plt.show()
