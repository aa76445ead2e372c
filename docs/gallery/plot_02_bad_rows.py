"""
Finding the bad rows of a table
===============================

The flags are useful by themselves, as a list of rows to check. Here some values of the iris data
have the decimal point in the wrong place.
"""

# %%
# Eight flowers get one measurement ten times too large.

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from cappedlda import CappedLDA
from cappedlda.plotting import DistanceDisplay

iris = load_iris(as_frame=True)
X, y = iris.data.copy(), iris.target_names[iris.target]
rng = np.random.default_rng(0)
rows = np.sort(rng.choice(len(X), size=8, replace=False))
columns = rng.integers(X.shape[1], size=8)
for row, column in zip(rows, columns, strict=True):
    X.iloc[row, column] *= 10

lda = CappedLDA().fit(X, y)
print("mistyped:", rows)
print("flagged: ", np.flatnonzero(lda.outliers_))

# %%
# `outlyingness` measures how far out a row is: above 1 it is flagged. It looks at a row in the
# discriminant space and in all features together, and takes the larger value.

report = pd.DataFrame(
    {
        "class": y,
        "projected": lda.outlyingness(X, y, space="projected"),
        "all features": lda.outlyingness(X, y, space="full"),
        "distance": lda.distances_,
        "weight": lda.weights_,
    }
)
print(report[lda.outliers_].round(2).to_string())

# %%
# The distance of every row from the centre of its class, divided by the largest distance that is
# not flagged. A class that spreads more than the others has a wider cap of its own: see `caps_`.

print("caps:", dict(zip(lda.classes_.tolist(), lda.caps_.round(2).tolist(), strict=True)))
display = DistanceDisplay.from_estimator(lda, X, y)

# %%
# Without labels, a row is measured from the class where it fits best. Check a row that fits no
# class before you classify it.

new = pd.DataFrame([[5.1, 3.5, 1.4, 0.2], [51.0, 3.5, 1.4, 0.2]], columns=X.columns)
print("predicted:   ", lda.predict(new))
print("outlyingness:", lda.outlyingness(new).round(2))
