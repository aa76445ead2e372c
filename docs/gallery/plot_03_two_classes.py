"""
Two classes, one direction
==========================

With two classes there is one discriminant direction. The breast cancer data have 569 tumours
and 30 features. We move a tenth of the training rows of each class beyond the other class, where
they do most harm to a discriminant.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda.noise import leverage
from cappedlda.plotting import LoadingsDisplay, ProjectionDisplay

cancer = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    cancer.data,
    cancer.target_names[cancer.target],
    test_size=0.4,
    stratify=cancer.target,
    random_state=0,
)
dirty, _, planted = leverage(X_train, y_train, share=0.1, random_state=0)
plain = LinearDiscriminantAnalysis().fit(dirty, y_train)
capped = CappedLDA().fit(dirty, y_train)
found = (capped.outliers_ & planted).sum()
print(f"{found} of {planted.sum()} planted rows flagged, {capped.outliers_.sum() - found} others")

# %%
# With one direction, each class gets its own strip.

figure, axes = plt.subplots(2, 1, figsize=(7.5, 5.2), layout="constrained")
for ax, model, name in zip(axes, (plain, capped), ("plain LDA", "CappedLDA"), strict=True):
    ProjectionDisplay.from_estimator(
        model, dirty, y_train, flagged=planted, flag_name="planted", ax=ax
    )
    ax.set_title(f"{name}: {model.score(X_test, y_test):.0%} right on clean test rows", pad=10)
plt.show()

# %%
# The scores rank the tumours. The curve shows every possible threshold.

figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
for model, name in ((plain, "plain LDA"), (capped, "CappedLDA")):
    RocCurveDisplay.from_estimator(model, X_test, y_test, pos_label="malignant", name=name, ax=ax)
plt.show()

# %%
# The features behind the direction. Loadings are per deviation of the feature within the classes,
# so you can compare features in different units.

display = LoadingsDisplay.from_estimator(capped, feature_names=cancer.feature_names)
