"""Regimes: every threshold on rows, features, classes and sizes, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Regime:
    """Thresholds at which a fit takes another way; rows carry the one they are fitted in.

    Attributes
    ----------
    least_sample_rows : int
        Rows of the first sample: with fewer the answer depends on which are drawn.
    sample_rows_per_class : int
        Rows of every class in the sample, if it has them.
    sample_worthwhile : float
        A sample is drawn from at least this many times its rows.
    overfit : float
        With more features than this per row of the sample, its directions fit it notably better
        than other rows: as many rows beside it are drawn to set the caps.
    covariance_rows_per_feature : float
        With fewer rows the initial estimate has no covariance, only the scale of each feature.
    least_class_weight : float
        A class of less weight has no fence, gap or ball of its own.
    unshrunk_rows_per_feature : float
        With as many rows the scatter of the support is not shrunk. With fewer the answer keeps
        the ridge of the iteration, and caps have no lower bound.
    most_dense_features : int
        A sparse X of more features gets an implicit scatter, no matrix of n x n.
    cache_features : int
        With as many features a pass that only projects costs a small part of one with a
        scatter, and the scatter of the last support is remembered.
    single_features : int
        With as many features the initial estimate multiplies rows in single precision, which
        tells as well which of them are near.
    slab_elements, least_slab_rows : int
        A slab is the unit of threads and of summation. Its size depends on the shape only, and
        so does every bit of the result. Slabs of fewer rows would spend too much on their
        partial sums of n x n.
    few_slabs : int
        Fewer slabs are of one size and even in number, so that neither of two threads waits.
    slab_entries, slab_entries_per_feature : float
        The same for sparse products: entries of a slab at least, and per feature where every
        slab has sums of its own.
    threaded_elements : int
        Initial estimates of fewer numbers use one thread: 5000 rows of 50 features gained
        nothing from two, 2000 rows of 256 did.
    piece_elements, piece_rows_per_feature, most_pieces : int
        The pieces of rows that its threads work on; each makes a scatter of its own.
    column_blocks : int
        Into this many blocks of columns its medians are divided, at most.
    changed_products : int
        Moments of as many products are changed by the rows that come and go, not made anew.
    most_judged : int
        Numbers, rows times features or classes, by which it is judged what to leave out: more
        rows hardly change the decision.
    most_border_rows : int
        Rows near a cap that a pass notes where no distances are kept; of more, none.
    """

    least_sample_rows: int = 10_000
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
