"""ImageDisplay: directions, patterns or the reasons of rows, as images or channel x time maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from cappedlda._model.discriminant import check_new
from cappedlda._model.explain import contributions
from cappedlda._model.summary import direction_name
from cappedlda._validation import check_choice
from cappedlda.plotting._common import last_step

KINDS = ("patterns", "directions", "reasons")
MOST_IMAGES = 8


class ImageDisplay:
    """Values of features as images: pixels, or channels x time.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width)
    titles : sequence of str
        One for each image.

    Attributes
    ----------
    figure_, ax_, images_
        Figure, axes of the first image, and all images.
    channel_sums : ndarray of shape (n_images, height)
        Sums over each line of an image. For reasons, how much each channel contributes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cappedlda import CappedLDA
    >>> from cappedlda.plotting import ImageDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> lda = CappedLDA(n_components=2).fit(X, y)
    >>> display = ImageDisplay.from_estimator(lda, shape=(8, 8))
    >>> display.titles
    ['direction 1', 'direction 2']
    >>> X[3, 16:24] = 99.0  # a broken line
    >>> reasons = ImageDisplay.from_estimator(lda, X[[3]], y[[3]], shape=(8, 8), kind="reasons")
    >>> int(reasons.channel_sums[0].argmax())
    2
    """

    def __init__(self, images: ArrayLike, *, titles: Sequence[str]) -> None:
        self.images = np.asarray(images)
        self.titles = titles
        self.channel_sums = self.images.sum(axis=2)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        shape: tuple[int, int],
        kind: Literal["patterns", "directions", "reasons"] = "patterns",
    ) -> Self:
        """Draw what a fitted model knows about features, in their shape.

        Parameters
        ----------
        estimator : fitted CappedLDA, or a pipeline that ends with one
        X : array-like of shape (n_samples, n_features), default=None
            Rows to explain, for ``kind="reasons"``; the first eight are drawn.
        y : array-like of shape (n_samples,), default=None
            Classes of these rows; None takes the nearest.
        shape : tuple of two int
            Lines and columns of the image whose pixels, line by line, are the features.
        kind : {"patterns", "directions", "reasons"}, default="patterns"
            "patterns" are `covariance_` times `scalings_`: how the features change along a
            direction. "directions" are `scalings_`, which also cancel what features share.
            "reasons" are the parts of the squared distance of a row from its class.

        Returns
        -------
        display : ImageDisplay
        """
        check_choice("kind", kind, KINDS)
        model, X = last_step(estimator, X)
        n_features = model.scalings_.shape[0]
        if len(shape) != 2 or int(np.prod(shape)) != n_features:
            raise ValueError(
                f"shape={shape!r} does not fit n_features={n_features}; give two numbers whose "
                "product it is."
            )
        if (X is None) == (kind == "reasons"):
            given = "None" if X is None else "rows"
            raise ValueError(
                f'kind={kind!r} does not go with X={given}; give rows for kind="reasons" only.'
            )
        if kind == "reasons":
            parts = contributions(model, check_new(model, X), y)[:MOST_IMAGES]
            titles = [f"row {i}" for i in range(len(parts))]
        else:
            W = model.scalings_ if kind == "directions" else model.covariance_ @ model.scalings_
            parts = W.T[:MOST_IMAGES]
            titles = [direction_name(k) for k in range(len(parts))]
        return cls(parts.reshape(-1, *shape), titles=titles).plot()

    def plot(self, **image_args: Any) -> Self:
        """Draw the images side by side, each on its own scale.

        Parameters
        ----------
        **image_args : dict
            Passed to `imshow`.

        Returns
        -------
        self : ImageDisplay
        """
        from matplotlib import pyplot as plt

        count = len(self.images)
        size = (2.2 * count + 0.4, 2.6)
        self.figure_ = plt.figure(figsize=size, layout="constrained")
        axes = self.figure_.subplots(1, count, squeeze=False)
        self.ax_, self.images_ = axes[0, 0], []
        for ax, image, title in zip(axes[0], self.images, self.titles, strict=True):
            most = np.abs(image).max() or 1.0
            options = {"cmap": "RdBu_r", "vmin": -most, "vmax": most, "aspect": "auto"}
            self.images_.append(ax.imshow(image, **(options | image_args)))
            ax.set_title(title, fontsize="medium")
            ax.set(xticks=[], yticks=[])
        return self
