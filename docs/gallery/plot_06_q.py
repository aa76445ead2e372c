"""
q = 1 against q = 2
===================

``q`` is the exponent of the norm that ``CappedNormLDA`` minimises. With ``q=1``, its default and
the paper's choice, a row counts by its distance. With ``q=2`` it counts by the squared distance up
to the cap, and not at all beyond it: trimmed discriminant analysis. The smaller ``q``, the less
rows count that are far out but still inside the cap.
"""

# %%
# Weights over distances, on the breast cancer data.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from cappedlda import CappedNormLDA
from cappedlda.noise import scatter

X, y = load_breast_cancer(return_X_y=True)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for q, color in ((1.0, "#0072B2"), (1.5, "#009E73"), (2.0, "#D55E00")):
    lda = CappedNormLDA(q=q).fit(X, y)
    ax.plot(lda.distances_, lda.weights_, ".", ms=4, color=color, label=f"q = {q}")
ax.set(xlabel="distance from the centre of the class", ylabel="weight", ylim=(-0.1, 5))
ax.legend(frameon=False)
plt.show()

# %%
# The values of ``q`` differ in which rows are kept, and in the number of passes over the data.

for name, load in (("wine", load_wine), ("cancer", load_breast_cancer), ("digits", load_digits)):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    dirty, _, planted = scatter(X_train, y_train, share=0.2, random_state=0)
    for q in (1.0, 1.5, 2.0):
        lda = CappedNormLDA(q=q, max_iter=500).fit(dirty, y_train)
        print(
            f"{name:<7} q = {q}: accuracy {lda.score(X_test, y_test):.3f}, "
            f"found {(lda.outliers_ & planted).sum():3d} of {planted.sum():3d}, "
            f"false {np.sum(lda.outliers_ & ~planted):2d}, passes {lda.n_passes_:2d}"
        )
