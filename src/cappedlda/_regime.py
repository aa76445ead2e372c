"""Regimes: every threshold on rows, features, classes and sizes, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Regime:
    """Thresholds at which a fit proceeds differently; rows carry the regime they are fitted in.

    Attributes
    ----------
    least_sample_rows : int
        Rows of the first sample. With fewer, the answer depends on which rows are drawn.
    larger_sample : int
        Factor by which the sample grows where the first is too small to tell whether a cloud does
        harm.
    sample_rows_per_class : int
        Rows of every class in the sample, if it has them.
    sample_worthwhile : float
        A sample is drawn only from at least this many times as many rows.
    overfit : float
        With more features than this per row of the sample, directions overfit it. Then as many
        further rows are drawn to set the caps.
    covariance_rows_per_feature : float
        With fewer rows, the initial estimate has no covariance, only the scale of each feature.
    least_class_weight : float
        A class of less weight has no fence, gap or ball of its own.
    unshrunk_rows_per_feature : float
        With this many rows or more, the scatter of the support is not shrunk. With fewer, the
        answer keeps the ridge of the iteration, and caps have no lower bound.
    most_dense_features : int
        A sparse X with more features has an implicit scatter instead of an n x n matrix.
    cache_features : int
        With this many features or more, the scatter of the last support is remembered: a pass
        that only projects is then much cheaper than one with a scatter.
    single_features : int
        With this many features or more, the initial estimate multiplies rows in single
        precision, which is enough to tell which of them are near.
    slab_elements, least_slab_rows : int
        A slab is the unit of threads and of summation. Its size depends only on the shape of X,
        and so does every bit of the result. Slabs of fewer rows would spend too much on their
        n x n partial sums.
    few_slabs : int
        Fewer slabs have one size and an even number, so that neither of two threads waits.
    slab_entries, slab_entries_per_feature : float
        The same for sparse products: least entries of a slab, and entries per feature where
        every slab has sums of its own.
    threaded_elements : int
        Initial estimates of fewer numbers use one thread: 5000 rows of 50 features gained
        nothing from two, 2000 rows of 256 did.
    piece_elements, piece_rows_per_feature, most_pieces : int
        The pieces of rows that its threads work on. Each makes a scatter of its own.
    column_blocks : int
        Largest number of blocks of columns for its medians.
    changed_products : int
        Moments that take this many products or more are updated by the rows that come and go.
    most_judged : int
        Rows times features (or classes) that are used to judge what to leave out. More rows
        hardly change the decision.
    most_border_rows : int
        Rows near a cap that a pass notes if it keeps no distances. Of more, it notes none.
    """

    least_sample_rows: int = 10_000
    larger_sample: int = 4
    sample_rows_per_class: int = 50
    sample_worthwhile: float = 3
    overfit: float = 0.02
    covariance_rows_per_feature: float = 4
    least_class_weight: float = 20.0
    unshrunk_rows_per_feature: float = 5
    most_dense_features: int = 1000
    cache_features: int = 256
    single_features: int = 256
    slab_elements: int = 1 << 20
    least_slab_rows: int = 3072
    few_slabs: int = 8
    slab_entries: float = 1 << 17
    slab_entries_per_feature: float = 4
    threaded_elements: int = 400_000
    piece_elements: int = 1 << 15
    piece_rows_per_feature: int = 2
    most_pieces: int = 4
    column_blocks: int = 8
    changed_products: int = 1 << 21
    most_judged: int = 1 << 21
    most_border_rows: int = 1 << 16

    def slab_rows(self, n):
        """Return the largest number of rows of n features that are worked on at a time."""
        return max(self.least_slab_rows, self.slab_elements // n)


REGIME = Regime()
