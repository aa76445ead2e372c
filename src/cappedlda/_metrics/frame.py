"""The frame of the MM iteration: what stays fixed while its objective has to fall."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cappedlda._kernels import algebra
from cappedlda._metrics import linalg
from cappedlda._rules.fences import FLAG_LEVEL, REACH, Fences
from cappedlda._rules.rule import Query, RowRule

# A class that would keep less than this share of its weight is uncapped. It is a little
# less than a tenth: one row of ten is enough, however the sums are rounded.
MIN_KEPT = 0.1 * (1.0 - 1e-9)


class Objective(NamedTuple):
    """What is minimised: a capped norm of the distances, and a ridge."""

    q: float = 1.0
    epsilon: float | str = "auto"
    ridge: float = 1e-4  # relative to the mean weighted within-class variance of the features
    multiplier: float = 1.0  # of an automatic epsilon
    reach: float = REACH  # of the fences that an automatic epsilon follows

    @property
    def flag_level(self):
        """Multiple of caps and gate beyond which rows are flagged: a cap that is given flags."""
        if self.epsilon == np.inf:
            return np.inf
        return FLAG_LEVEL if self.epsilon == "auto" else 1.0

    def multiplied(self, multiplier):
        """Return the objective with a multiple of the automatic epsilon; inf is no cap at all."""
        epsilon = np.inf if multiplier == np.inf else "auto"
        return self._replace(epsilon=epsilon, multiplier=multiplier)

    def distance(self, other):
        """Return how much another objective differs: in q first, then in the multiplier."""
        return abs(self.q - other.q), abs(1.0 / self.multiplier - 1.0 / other.multiplier)


@dataclass(frozen=True)
class Frame:
    """Centres, units and caps of the classes, and the directions in which rows are measured.

    All but the directions stays fixed while the majorizing loop runs, which only begins with these.
    """

    centres: np.ndarray  # (c, n)
    scale: np.ndarray  # (n,), unit of each feature
    priors: np.ndarray  # (c,)
    n_features: int  # number of raw features, of which the n coordinates may be a rotation
    B: np.ndarray  # (n, c), scaled deviations of the class centres
    W: np.ndarray | None = None  # (n, r), the directions, in scaled features
    epsilon: float = np.inf  # the cap of the distances
    # (c,), the cap of each class: at least epsilon, and inf for an uncapped class
    caps: np.ndarray | None = None
    fences: Fences | None = None  # what the caps are multiples of
    floor: float = 0.0
    gamma: float = 0.0  # the ridge
    K: np.ndarray | None = None  # (r, c), where the projection sends the class centres
    least: np.ndarray | None = None  # (n,), see `InitialEstimate`

    @classmethod
    def of(cls, centres, scale, priors, n_features, least=None):
        """Return a frame without caps."""
        B = linalg.between_factor(centres, priors, scale)
        fences = Fences.at(np.inf, np.full(len(centres), np.inf))
        caps = fences.epsilon, fences.caps, fences
        return cls(centres, scale, priors, n_features, B, None, *caps, least=least)

    def query(self, level=1.0, scatter=False):
        """Return a query for the rows within a multiple of the caps, with equal weights."""
        W, wanted = self.W / self.scale[:, None], {"scatter": scatter, "sums": scatter}
        caps = self.centres, self.scale, level * self.caps
        return Query(W, *caps, 2.0, 0.0, **wanted, images=False)

    def rule(self, gate, level=1.0):
        """Return the rule for the rows within a multiple of the caps and of a gate."""
        gate = None if gate is None or level == np.inf else gate.at(level)
        return RowRule(self.W / self.scale[:, None], self.centres, level * self.caps, gate)

    def changed(self, **others):
        frame = object.__new__(Frame)
        frame.__dict__.update(self.__dict__, **others)
        return frame

    def raise_variances(self, A):
        """Give the features of a system the least variances that rows are measured by."""
        if self.least is not None and A.matrix is not None:
            variances = np.maximum(A.matrix.diagonal(), (self.least / self.scale) ** 2)
            A.matrix.flat[:: len(variances) + 1] = variances

    def recentred(self, centres):
        B = linalg.between_factor(centres, self.priors, self.scale)
        return self.changed(centres=centres, B=B)

    def with_cap(self, epsilon, floor):
        fences = Fences.at(epsilon, np.full(len(self.centres), epsilon))
        return self.with_fences(fences, floor=floor)

    def with_fences(self, fences, multiplier=1.0, **others):
        """Return the frame with a multiple of fences as caps, and with other changes."""
        epsilon, caps = fences.times(multiplier)
        return self.changed(epsilon=epsilon, caps=caps, fences=fences, **others)

    def without_caps_on(self, whole):
        if not np.count_nonzero(whole):
            return self
        fences = self.fences._replace(caps=np.where(whole, np.inf, self.fences.caps))
        return self.changed(caps=np.where(whole, np.inf, self.caps), fences=fences)

    @property
    def uncapped(self):
        """Classes without a cap although there is one."""
        return np.isinf(self.caps) & (self.epsilon < np.inf)

    @property
    def any_uncapped(self):
        """Whether there are such classes."""
        return self.epsilon < np.inf and np.inf in self.caps.tolist()


def vanishing(record):
    """Return the classes of which a record kept hardly anything."""
    return record.kept[:, 1] < MIN_KEPT * record.class_weights


def kept_covariance(record, unbiased=False, consistency=1.0):
    """Return the pooled covariance of the kept images about the means of their classes.

    It is divided by what a cap leaves of a variance, its `consistency_factor`.
    """
    freedom = record.freedom if unbiased else record.kept_weight
    means = np.empty(record.image_sums.shape)
    algebra.means_of(record.image_sums, record.kept[:, 1], means)
    about_means = record.image_scatter - means.T.dot(record.image_sums)
    return about_means / (consistency * (freedom or 1.0))
