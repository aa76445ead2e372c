"""
Pipelines, grid search, data frames
===================================

:class:`~cappedlda.CappedLDA` is a scikit-learn transformer and classifier. Use it wherever those
work.
"""

# %%
# As a classifier in cross-validation. Here the test parts are as dirty as the training parts, so
# nobody can classify some of their rows.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from cappedlda import CappedLDA
from cappedlda.noise import scatter

X, y = load_wine(return_X_y=True, as_frame=True)
values, _, planted = scatter(X, y, share=0.1, random_state=0)
dirty = pd.DataFrame(values, columns=X.columns)
for model in (LinearDiscriminantAnalysis(), CappedLDA()):
    scores = cross_val_score(model, dirty, y, cv=5)
    print(f"{type(model).__name__:<28} {scores.mean():.3f}")

# %%
# As a transformer before another classifier. Unusual rows still reach that classifier; use
# :class:`~cappedlda.OutlierRemover` if they should not.

pipeline = make_pipeline(CappedLDA(), KNeighborsClassifier())
print(f"directions, then neighbours    {cross_val_score(pipeline, dirty, y, cv=5).mean():.3f}")

# %%
# Parameters in a grid search.

search = GridSearchCV(
    CappedLDA(),
    {"epsilon": ["auto", 3.0, 5.0, 10.0], "shrinkage": ["few_rows", 0.1, 0.5]},
    cv=5,
).fit(dirty, y)
print(search.best_params_, f"{search.best_score_:.3f}")
table = pd.DataFrame(search.cv_results_).pivot_table(
    index="param_epsilon",
    columns="param_shrinkage",
    values="mean_test_score",
    aggfunc="mean",
    sort=False,
)
print(table.round(3).to_string())

# %%
# Data frames in, data frames out.

lda = CappedLDA().set_output(transform="pandas").fit(dirty, y)
Z = lda.transform(dirty)
print(Z.head(3).round(2))

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
Z[~lda.outliers_].plot.scatter(
    x="cappedlda0", y="cappedlda1", c=y[~lda.outliers_], colormap="viridis", colorbar=False, ax=ax
)
plt.show()
