"""
Choosing epsilon
================

``epsilon`` is the distance beyond which a row no longer counts, in robust within-class standard
deviations of the projected data. ``"auto"`` learns it from the data. This example tries a range of
values, on clean and on dirty training rows.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda.noise import leverage

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
dirty, _, planted = leverage(X_train, y_train, share=0.2, random_state=0)
path = np.geomspace(1.0, 40.0, 15)


def walk(rows, epsilons):
    """Return accuracy on clean test rows and share of flagged rows for each epsilon."""
    found = []
    for epsilon in epsilons:
        with warnings.catch_warnings():
            # A cap this small may ask for a class to be kept whole; that is part of the story.
            warnings.simplefilter("ignore")
            lda = CappedLDA(epsilon=epsilon).fit(rows, y_train)
        found.append((lda.score(X_test, y_test), lda.outliers_.mean()))
    return np.transpose(found)


# %%
# A cap that is too small throws good rows away. Without a cap (``inf``), the planted rows turn the
# directions. Between the two there is a wide range where the answer hardly changes, and the
# automatic cap lies in it.

figure, axes = plt.subplots(2, 1, figsize=(7, 5.4), sharex=True, layout="constrained")
for rows, name, color in ((X_train, "clean", "#0072B2"), (dirty, "20 % moved", "#D55E00")):
    accuracy, flagged = walk(rows, path)
    axes[0].plot(path, accuracy, "o-", ms=4, color=color, label=name)
    axes[1].plot(path, flagged, "o-", ms=4, color=color, label=name)
    auto = CappedLDA().fit(rows, y_train)
    uncapped = CappedLDA(epsilon=np.inf).fit(rows, y_train)
    print(
        f"{name:<10} auto: epsilon_ = {auto.epsilon_:.2f}, "
        f"accuracy {auto.score(X_test, y_test):.3f}; "
        f"inf: accuracy {uncapped.score(X_test, y_test):.3f}"
    )
    for ax in axes:
        ax.axvline(auto.epsilon_, color=color, ls="--", lw=1)
axes[0].set(xscale="log", ylabel="accuracy on clean test rows")
axes[1].set(xlabel="epsilon (dashed: chosen by auto)", ylabel="share of rows flagged")
axes[0].legend(frameon=False)
plt.show()

# %%
# Even a large finite cap helps here, because of the gate: it leaves out rows that are far off in
# all features together. With ``epsilon=inf`` there is neither gate nor cap, only plain LDA.
