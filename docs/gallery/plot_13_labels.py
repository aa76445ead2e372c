"""
Finding wrong labels
====================

People type labels, and some are wrong. Here we replace 5 % of the labels of handwritten digits.
`label_noise="auto"` looks for them.
"""

# %%
# Some images get the label of another digit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda.plotting import LabelsDisplay

X, right = load_digits(return_X_y=True)
X, X_new, right, right_new = train_test_split(X, right, test_size=0.3, random_state=0)
rng = np.random.default_rng(0)
wrong = rng.random(len(right)) < 0.05
y = np.where(wrong, (right + rng.integers(1, 10, len(right))) % 10, right)

lda = CappedLDA(label_noise="auto").fit(X, y)
called = lda.mislabelled_
print(f"wrong labels: {wrong.sum()}, of these left out of the fit: {wrong[lda.left_out_].sum()}")
print(f"called wrong: {called.sum()}, of these rightly: {wrong[called].sum()}")
print(f"suggested labels that are right: {np.mean((lda.suggested_labels_ == right)[called]):.1%}")

# %%
# Most of these rows are so far from their class that the fit leaves them out. Among the other rows,
# wrong labels are too rare to distinguish from chance (`label_status_` is "none"). Still,
# `label_quality_` ranks all rows. If you check the first hundred of 1257 images, you find the
# wrong labels.

first = np.argsort(lda.label_quality_)[:100]
print(f"wrong labels among the first 100: {np.sum(wrong[first])}")

# %%
# The first of them, with the given label and the suggested label.

figure, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for ax, row in zip(axes.flat, first, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[row]}, or {lda.suggested_labels_[row]}?", fontsize=9)
    ax.axis("off")

# %%
# Rows worth checking in the discriminant plane, for three of the classes. A row far inside
# another class is not proof of a wrong label, but it is worth a look.

pair = np.isin(y, [3, 8, 9])
small = CappedLDA(label_noise="auto").fit(X[pair], y[pair])
display = LabelsDisplay.from_estimator(small, X[pair], y[pair], n_rows=10)

# %%
# On new images nothing is gained here: the robust fit has already left out the harmful rows.

plain = CappedLDA().fit(X, y)
for name, model in {"None": plain, "auto": lda}.items():
    print(f"label_noise={name}: accuracy on new rows {model.score(X_new, right_new):.1%}")
plt.show()
