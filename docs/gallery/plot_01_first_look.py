"""
A first look: wine with a few wrong rows
========================================

Some rows of a table are wrong, because of a mixed-up unit or a broken sensor. Plain linear
discriminant analysis turns its directions towards them. :class:`~cappedlda.CappedLDA` detects them
and leaves them out of the fit.
"""

# %%
# The wine data have 13 measurements of 178 wines from three growers. We train on half of them, and
# move a tenth of the training rows far away. The test rows stay clean.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from cappedlda import CappedLDA
from cappedlda.noise import scatter
from cappedlda.plotting import ProjectionDisplay

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
dirty, _, planted = scatter(X_train, y_train, share=0.1, random_state=0)
print(f"{planted.sum()} of {len(dirty)} training rows are now wrong")

# %%
# You use both estimators in the same way.

plain = LinearDiscriminantAnalysis().fit(dirty, y_train)
capped = CappedLDA().fit(dirty, y_train)
for model in (plain, capped):
    accuracy = model.score(X_test.to_numpy(), y_test)
    print(f"{type(model).__name__:<28} {accuracy:.3f} right on clean test rows")

# %%
# `CappedLDA` also shows which rows are unusual.

print("flagged:", np.flatnonzero(capped.outliers_))
print("planted:", np.flatnonzero(planted))

# %%
# The picture shows the training rows. Rings and triangles mark the planted rows. The background
# shows the predicted class.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
for ax, model, name in zip(axes, (plain, capped), ("plain LDA", "CappedLDA"), strict=True):
    ProjectionDisplay.from_estimator(
        model,
        dirty,
        y_train,
        flagged=planted,
        flag_name="planted",
        ax=ax,
        legend=ax is axes[-1],
    )
    ax.set_title(f"{name}: {model.score(X_test.to_numpy(), y_test):.0%} right", pad=10)
plt.show()
