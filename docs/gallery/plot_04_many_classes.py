"""
Many classes: handwritten digits
================================

The digits data have 1797 images of 64 pixels in ten classes. A tenth of the training images are
spoiled by wild values.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import ValidationCurveDisplay, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from cappedlda import CappedLDA
from cappedlda.noise import scatter
from cappedlda.plotting import ProjectionDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
dirty, _, planted = scatter(X_train, y_train, share=0.1, random_state=0)
# Some pixels at the border are empty in all good images, which the fit warns of.
warnings.filterwarnings("ignore", message="The features")
plain = LinearDiscriminantAnalysis().fit(dirty, y_train)
capped = CappedLDA().fit(dirty, y_train)
for model in (plain, capped):
    print(f"{type(model).__name__:<28} {model.score(X_test, y_test):.3f} right on clean test rows")

# %%
# The first two of nine directions, for the clean test images. The digits stand at the median of
# their class.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
for ax, model, name in zip(axes, (plain, capped), ("plain LDA", "CappedLDA"), strict=True):
    ProjectionDisplay.from_estimator(model, X_test, y_test, ax=ax, legend=ax is axes[-1])
    ax.set_title(name, pad=10)
plt.show()

# %%
# A fit to all clean images flags none. Here are the most unusual ones, with their label and their
# outlyingness, which would be above 1 if they were flagged.

clean = CappedLDA().fit(X, y)
outlyingness = clean.outlyingness(X, y)
figure, axes = plt.subplots(2, 6, figsize=(7.5, 3), layout="constrained")
for ax, row in zip(axes.flat, np.argsort(-outlyingness), strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[row]}: {outlyingness[row]:.2f}", fontsize="small")
    ax.axis("off")
plt.show()

# %%
# How many directions are needed? scikit-learn draws the accuracy of any classifier over their
# number, here that of the five nearest neighbours.

model = make_pipeline(CappedLDA(), KNeighborsClassifier())
options = {"param_name": "cappedlda__n_components", "param_range": range(1, 10)}
display = ValidationCurveDisplay.from_estimator(model, X, y, **options, cv=3, score_type="test")
display.ax_.set(xlabel="number of directions", ylabel="accuracy in cross-validation")
plt.show()
# sphinx_gallery_thumbnail_number = 2
