"""How a fitted discriminant measures rows: distances, flags, and what is unusual in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cappedlda._cutoffs.gate import Gate
from cappedlda._data.array import Measure, Support
from cappedlda._data.chunk_reader import ChunkReader
from cappedlda._data.samples import PerSample
from cappedlda._data.sparse import rows_of
from cappedlda._discriminant import LinearDiscriminant
from cappedlda._explain import explain
from cappedlda._fit.outlyingness import least_outlyingness, outlyingness
from cappedlda._model import cells
from cappedlda._typing import ArrayLike, Floats, MatrixLike
from cappedlda._validation import FLOATS, check_choice, check_masked, known_codes

# Attributes with an entry for each training row.
_PER_ROW = ("distances_", "weights_", "outliers_", "left_out_")


class MeasuringDiscriminant(LinearDiscriminant):
    """A discriminant that knows how far rows of its classes usually lie."""

    means_: Floats
    caps_: Floats
    _metric: Floats
    _metric_centres: Floats
    _gate: Gate | None
    _support_metric: Floats
    _support_centres: Floats
    _support_caps: Floats
    _support_gate: Floats | None
    _norm: tuple[float, float] | None
    _covariance: Floats | None

    if not TYPE_CHECKING:  # to type checkers every name would be an attribute

        def __getattr__(self, name):
            if name in _PER_ROW and "scalings_" in vars(self):
                raise AttributeError(
                    f"This model has no {name}: results for each training row are kept neither by "
                    "fit_chunks nor in a model file. Use measure_chunks(make_chunks), which gives "
                    "them chunk by chunk, or outlyingness(X, y) > 1 for flagged rows."
                )
            return object.__getattribute__(self, name)  # fails again, in its own words

    def measure_chunks(
        self, make_chunks: Callable[[], Iterable[tuple[Any, ...]]]
    ) -> Iterator[PerSample]:
        """Measure the rows of chunks, as `fit` measures its training rows.

        Parameters
        ----------
        make_chunks : callable
            Returns an iterator of chunks, as in `fit_chunks`.

        Returns
        -------
        samples : iterator of PerSample
            A tuple (distances, weights, outliers, left_out) of arrays of shape (rows,) for
            each chunk that has rows: what the attributes of these names are after `fit`.
        """
        check_is_fitted(self)
        return self._measured(ChunkReader(make_chunks))

    def _measured(self, reader):
        for number, chunk in enumerate(reader):
            if number == 0:  # the reader sees to it that the others have the same features
                validate_data(self, reader.example, reset=False, skip_check_array=True)
            X = check_array(np.asarray(chunk.X), dtype=FLOATS, input_name=f"X of {chunk.name}")
            yield self._measure(X, known_codes(chunk.y, self.classes_, f"y of {chunk.name}"))

    @property
    def covariance_(self) -> Floats:
        """Within-class covariance of the rows that are not left out."""
        check_is_fitted(self)
        if self._covariance is None:
            raise AttributeError(
                f"This {type(self).__name__} has no covariance_: only CappedLDA has one, of up to "
                "1000 features, or more if they are neither sparse nor more than the rows. Compute "
                "it from X[~left_out_]."
            )
        return self._covariance

    @property
    def _spread(self):
        """Robust unit of each feature within the classes, shape (n_features,), or None."""
        if self._gate is not None:
            return self._gate.scale
        if self._covariance is None:
            return None
        variances = np.diagonal(self._covariance)  # not robust, as the fit was not
        return np.sqrt(np.where(variances > 0.0, variances, np.finfo(float).tiny))

    @property
    def _measure(self):
        return Measure(self._usual, self._support, self._norm)

    @property
    def _usual(self):
        """Rows outside are flagged."""
        return Support(self._metric, self._metric_centres, self.caps_, self._gate)

    @property
    def _support(self):
        """Rows outside are left out."""
        gate = self._gate
        if gate is not None:
            gate = None if self._support_gate is None else replace(gate, caps=self._support_gate)
        return Support(self._support_metric, self._support_centres, self._support_caps, gate)

    def outlyingness(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        space: Literal["both", "projected", "full"] = "both",
    ) -> Floats:
        """Measure how far rows lie from the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row, if known.
        space : {"both", "projected", "full"}, default="both"
            "projected" measures in the discriminant space, "full" in all features with
            the robust scale of each, where rows are seen that hide outside the
            discriminant space; "both" takes the larger ratio.

        Returns
        -------
        ratio : ndarray of shape (n_samples,)
            Distance from the centre of the class in `y`, or without `y` from that of the
            class where it is least, over the largest distance of a row that is not flagged.
            Above 1 a row is unusual. All cells count, as for training rows: a row with a wrong
            cell is unusual. Missing cells are taken for what the others let expect.
        """
        check_choice("space", space, ("both", "projected", "full"))
        with np.errstate(over="ignore"):  # what is too far to be measured is infinitely far
            return self._by_rows("_outlyingness", X, y, space=space)

    def explain(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        n_features: int = 3,
        rows: Literal["all"] | ArrayLike | None = None,
    ) -> Any:
        """Tell why rows are flagged: what they are beyond, and which features put them there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class of each row. Without it a row is measured from the class where it fits best,
            and there is no column `left_out`.
        n_features : int, default=3
            Features to name for each row, at most all.
        rows : "all", array-like of int or bool, or None, default=None
            Which rows to explain, by position. None takes those that are flagged or left out.

        Returns
        -------
        table : DataFrame, or structured array without pandas, with a line for each such row
            Of polars if X is, else of pandas. The most outlying come first. Columns:

            - `row`: its index in a data frame, else its number from 0;
            - `class`, `predicted`: the given class, or the one it is measured from, and the one
              the model predicts;
            - `flagged`, `left_out`: as `outliers_` and `left_out_` are for training rows;
            - `beyond`: "cap" (of its class, in the discriminant space), "gate" (in all features
              together), "both", or "" if it is not flagged;
            - `outlyingness`: as `outlyingness` gives it;
            - `feature_1`, `value_1`, `usual_1`, `z_1`, `feature_2` and so on: the features that
              contribute most to the larger of the two distances, with the value of the row, the
              mean of its class among the rows that the fit trusts, and their difference in robust
              deviations within the classes. A feature that is unusual only together with others
              has a small `z`;
            - `wrong_cells`: the cells that do not fit the others of the row, in words, with what
              these let expect (see the method `wrong_cells`).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cappedlda import CappedLDA
        >>> X, y = load_iris(as_frame=True, return_X_y=True)
        >>> X.loc[7, "petal length (cm)"] = 15.0  # the decimal point is missing
        >>> table = CappedLDA().fit(X, y).explain(X, y, n_features=1)
        >>> table[["row", "class", "predicted", "beyond", "feature_1", "value_1"]]
           row  class  predicted beyond          feature_1  value_1
        0    7      0          0   both  petal length (cm)     15.0
        >>> table.loc[0, "wrong_cells"]
        'petal length (cm) 15, expected about 1.43'
        """
        check_is_fitted(self)
        return explain(self, X, y, n_features, rows)

    def _outlyingness(self, X, y, space):
        codes = None if y is None else self._codes(y, X.shape[0])
        return self._outlyingness_and_codes(X, codes, space)[0]

    def _outlyingness_and_codes(self, X, codes, space="both"):
        """Return the outlyingness of rows, and from which classes: the given or nearest ones."""
        X = cells.filled(self, X, codes)
        images = None if space == "full" else self._images(X)
        gate = None if space == "projected" else self._gate
        centres = self._usual.centres @ self._metric
        rows = rows_of(X, np.zeros(X.shape[0], np.int32), len(self.classes_))
        if codes is None:
            return least_outlyingness(rows, images, centres, self.caps_, gate)
        return outlyingness(rows.labelled(codes), images, centres, self.caps_, gate), codes

    def _images(self, X):
        """Return the images in which distances are measured; one that overflows is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            images = X @ self._metric.astype(X.dtype, copy=False)
        images[~np.isfinite(images).all(axis=1)] = np.inf
        return images

    def _codes(self, y, n_rows):
        check_masked(y, "y")
        y = column_or_1d(np.asarray(y))
        if len(y) != n_rows:
            raise ValueError(f"X has {n_rows} rows and y has {len(y)}; give one label per row.")
        return known_codes(y, self.classes_)
