"""The rule by which rows count: how far a row is, in units of cap and gate."""

import math
from dataclasses import dataclass, replace

import numpy as np

from cappedlda._kernels import selection
from cappedlda._regime import REGIME
from cappedlda._rules.fences import fixed_point_caps, least_fence


def gate_caps(histograms, n_features, regime=REGIME):
    """Return caps on the size of whole rows, shape (c,)."""
    least = least_fence(n_features) / math.sqrt(n_features)
    start = np.full(len(histograms), least)
    return fixed_point_caps(histograms, start=start, regime=regime, least=least).caps


@dataclass(frozen=True)
class Gate:
    """A fence on the size of whole rows, in robust units of the features.

    A row far outside in any direction is out for good. In a direction that does not separate the
    classes, the cap would miss it, but it would inflate the scatter.
    """

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,)
    caps: np.ndarray  # (c,)

    def at(self, level):
        """Return the gate with other caps, multiples of these."""
        return Gate(self.centres, self.scale, level * self.caps)

    def ratios(self, rows):
        """Return the size of each row divided by the cap of its class."""
        return rows.norms(self.centres, self.scale)[0] / self.caps[rows.codes]


@dataclass
class Query:
    """What a pass over rows evaluates: the projection, the centres and the cap."""

    W: np.ndarray  # (n, d), of raw features
    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature in the scatter
    caps: np.ndarray  # (c,), largest distance of a kept row
    q: float  # exponent and floor of the capped norm
    floor: float
    scatter: bool = True  # whether the scatter and the class sums are wanted: without them
    sums: bool = True  # a pass only projects
    images: bool = True  # whether sums and scatter of the projected rows are wanted

    @classmethod
    def of_all_rows(cls, centres, scale, scatter=True):
        """Return a query that keeps every row with weight 2 (q = 2) and projects nothing."""
        c, n = centres.shape
        return cls(np.zeros((n, 1)), centres, scale, np.full(c, np.inf), 2.0, 0.0, scatter)


def within(distances, caps, codes):
    """Return which distances are at most the cap of their class; NaN is not."""
    kept = np.empty(len(distances), bool)
    selection.mark_within(distances, codes, caps, kept.view(np.uint8))
    return kept


def ratios_of(distances, caps, gate_ratios=None):
    """Return the larger ratio of each row, to its cap or to the gate, shape (N,)."""
    with np.errstate(invalid="ignore"):  # rows may be infinitely far
        ratios = distances / caps
    if gate_ratios is not None:
        np.maximum(ratios, gate_ratios, out=ratios)
    np.copyto(ratios, np.inf, where=np.isnan(ratios))
    return ratios


@dataclass(frozen=True)
class RowRule:
    """Which rows count: those within the cap of their class in a projection, and within a gate.

    Its methods take `ArrayRows`, and measure each row from the class that it has there.
    """

    W: np.ndarray  # (n, r), of raw features
    centres: np.ndarray  # (c, n)
    caps: np.ndarray  # (c,)
    gate: Gate | None

    def at(self, level):
        """Return the rule for a multiple of caps and gate."""
        gate = None if self.gate is None else self.gate.at(level)
        return replace(self, caps=level * self.caps, gate=gate)

    def distances(self, rows):
        """Return the distances of rows in the projection, computed as in a fit."""
        (n, _), c = self.W.shape, len(self.caps)
        wanted = {"scatter": False, "sums": False, "images": False}
        no_caps, distances = np.full(c, np.inf), np.empty(rows.shape[0])
        rows.run(Query(self.W, self.centres, np.ones(n), no_caps, 2.0, 0.0, **wanted), distances)
        return distances

    def contains(self, rows, distances=None):
        """Return which rows count; give their distances if they are known."""
        distances = self.distances(rows) if distances is None else distances
        inside = within(distances, self.caps, rows.codes)
        return inside if self.gate is None else inside & (self.gate.ratios(rows) <= 1.0)

    def images(self, X):
        """Return projected rows of an array or a sparse matrix; one that overflows is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            images = X @ self.W.astype(X.dtype, copy=False)
        images[~np.isfinite(images).all(axis=1)] = np.inf
        return images

    def ratios(self, rows, space="both"):
        """Return the larger of the ratios of rows to cap and gate: above 1 a row does not count.

        The `space` "projected" leaves out the gate, and "full" the cap.
        """
        codes, ratios = rows.codes, np.zeros(rows.shape[0])
        if space != "full":
            centres = self.centres @ self.W
            ratios = np.linalg.norm(self.images(rows.X) - centres[codes], axis=1) / self.caps[codes]
        if space == "projected" or self.gate is None:
            return ratios
        return np.maximum(ratios, self.gate.ratios(rows))

    def nearest(self, rows, space="both"):
        """Return the smallest ratio of each row over the classes, and the code of that class.

        The gate reads all features, so classes are tried in the order of their distances in the
        projection, until no further one can have a smaller ratio.
        """
        n_rows, gate = rows.shape[0], None if space == "projected" else self.gate
        projected = np.zeros((n_rows, len(self.caps)))
        if space != "full":
            images = self.images(rows.X)
            for i, (centre, cap) in enumerate(zip(self.centres @ self.W, self.caps, strict=True)):
                projected[:, i] = np.linalg.norm(images - centre, axis=1) / cap
        if gate is None:
            return projected.min(axis=1), projected.argmin(axis=1)
        order = np.argsort(projected, axis=1, kind="stable").T.astype(np.int32)
        least, codes = np.full(n_rows, np.inf), order[0].copy()
        for nearest in order:
            bounds = np.take_along_axis(projected, nearest[:, None], axis=1)[:, 0]
            (left,) = np.nonzero(~(bounds >= least))
            if len(left) == 0:
                break
            some = rows if len(left) == n_rows else rows.take(left)
            ratio = np.maximum(bounds[left], gate.ratios(some.labelled(nearest[left])))
            codes[left] = np.where(ratio < least[left], nearest[left], codes[left])
            least[left] = np.minimum(least[left], ratio)
        return least, codes
