"""Rows of dask arrays and frames, worked on where they are.

A pass is one graph and one round trip: a task for each block of rows, and a tree of sums.
"""

import copy
from functools import partial

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from cappedlda._data.array import ArrayRows, joined
from cappedlda._data.base import PerSample, measured, ranks_among
from cappedlda._data.blocks import (
    BlockRows,
    check_columns,
    check_features_of,
    check_numbers,
    checked_block,
    count_labels,
    without_samples,
)
from cappedlda._data.kinds import float_type, is_dask, is_dask_frame
from cappedlda._data.threads import single_threaded_blas
from cappedlda._regime import REGIME
from cappedlda._validation import (
    FLOATS,
    check_readable,
    check_text,
    known_codes,
    refuse_missing_labels,
)

# Records that are added in one task.
FAN_IN = 8


def rows_from_dask(X, y, sample_weight, regime=REGIME):
    """Return the rows of a dask array or frame, and the sorted classes.

    Of a frame, y and sample_weight may be the names of columns; the others are features.
    """
    if y is None:
        raise ValueError("y is None; give the labels of the rows.")
    example = None
    if is_dask_frame(X):
        names = [name for name in (y, sample_weight) if isinstance(name, str)]
        check_columns(X, names)
        features = [name for name in X.columns if name not in names]
        example = X[features]._meta
        X, y, sample_weight = arrays_of_frame(X, features, y, sample_weight)
    elif not has_known_chunks(X):
        raise ValueError(
            "X has blocks of unknown size; call X.compute_chunk_sizes() first, or give the frame "
            "that it came from."
        )
    check_features(X)
    y, sample_weight = aligned(y, X, "y"), aligned(sample_weight, X, "sample_weight")
    counts = tree_sum(blockwise(labels_of_block, None, y, sample_weight))
    rows = DaskRows(X, y, sample_weight, counts)
    rows.regime = regime
    rows.example = example
    rows.feature_names = None if example is None else list(example.columns)
    return rows, rows.classes


def arrays_of_frame(frame, features, y=None, sample_weight=None):
    """Return features, labels and weights of a frame as dask arrays.

    All are cut out of the same partitions: dask merges those of a file of which it reads few
    columns. Labels and weights may be names of columns, or columns of dask; those of another frame
    go by the order of rows, as arrays do, for which the lengths of partitions are counted.
    """
    frame, y = with_column(frame, y, "y")
    frame, sample_weight = with_column(frame, sample_weight, "sample_weight")
    dtype = type_of_features(frame._meta, features)
    given = [values for values in (y, sample_weight) if values is not None]
    named = [values for values in given if isinstance(values, str)]
    frame = frame[list(dict.fromkeys([*features, *named]))]
    array_of = arrays_of_columns(frame, counted=len(named) < len(given))
    columns = (array_of(v) if isinstance(v, str) else v for v in (y, sample_weight))
    return array_of(features, dtype), *columns


def with_column(frame, values, name):
    """Return a frame with labels or weights as a column, if it can have them, and its name."""
    if values is None or isinstance(values, str) or not hasattr(values, "to_dask_array"):
        return frame, values
    from dask.dataframe.dask_expr._expr import are_co_aligned

    if are_co_aligned(frame.expr, values.expr):
        column = f"{name} of cappedlda"  # of no feature
        return frame.assign(**{column: values}), column
    return frame, values


def type_of_features(example, features):
    """Return the type of the features of a frame without rows; all have to be numbers."""
    check_text(example[features])
    types = example[features].dtypes
    check_numbers({name: kind for name, kind in types.items() if kind.kind not in "fiub"})
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in types) else np.float64)


def columns_in(partition, names, dtype):
    """Return features as an array, or the column of one name as it is."""
    if isinstance(names, str):
        return np.asarray(partition[names])
    return partition[names].to_numpy(dtype, na_value=np.nan)


def arrays_of_columns(frame, counted):
    """Return what makes a dask array of columns of a frame, with a block for each partition."""
    import dask
    import dask.array as da

    partitions = frame.to_delayed()
    lengths = [np.nan] * len(partitions)
    if counted:
        lengths = dask.compute(*(dask.delayed(len)(part) for part in partitions))

    def array_of(names, dtype=None):
        example = columns_in(frame._meta, names, dtype)
        cut = shared(partial(columns_in, names=names, dtype=dtype))
        blocks = [
            da.from_delayed(cut(part), (length, *example.shape[1:]), meta=example)
            for part, length in zip(partitions, lengths, strict=True)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)

    return array_of


def shared(value):
    """Return a value as a task, so that it travels once to each worker."""
    from dask import delayed

    return delayed(value, traverse=False, pure=False)


def has_known_chunks(X):
    return not np.isnan(X.chunks[0]).any()


def check_features(X):
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; give rows and columns.")
    float_type(X.dtype)
    if X.numblocks[1] > 1:
        raise ValueError(
            f"X has {X.numblocks[1]} blocks of columns; call X.rechunk({{1: -1}}), so that each "
            "block has whole rows."
        )


def aligned(values, X, name):
    """Return labels or weights as a dask array with the blocks of X."""
    if values is None:
        return None
    if isinstance(values, str):
        raise ValueError(
            f"{name}={values!r} is a name, but X is an array, of which columns have none; give the "
            "frame, or an array with an entry for each row."
        )
    if not is_dask(values):
        import dask.array as da

        check_readable(values, name)
        values = np.asarray(values)
        check_length(values.shape, X, name)
        # They have to travel once: in the graph of each pass they would do so again and again.
        return da.from_array(values, chunks=(X.chunks[0],)).persist()
    if hasattr(values, "to_dask_array"):
        values = arrays_of_columns(values.to_frame(name), counted=True)(name)
    if has_known_chunks(X) and has_known_chunks(values):
        check_length(values.shape, X, name)
        return values.rechunk((X.chunks[0],))
    if values.ndim != 1 or values.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"X has {X.numblocks[0]} blocks of rows and {name} has {values.numblocks}; give {name} "
            "as the name of a column of a frame X, or compute the chunk sizes of both."
        )
    return values


def check_length(shape, X, name):
    if shape != (X.shape[0],):
        raise ValueError(f"X has {X.shape[0]} rows, but {name} has the shape {shape}.")


def blockwise(function, X, *columns, example=None, **settings):
    """Return one task for each block of rows: an array with a result per block.

    With an example, a block without rows, results have an entry for each row. The function gets X
    in a list of one, of which dask would otherwise make an array by copying it.
    """
    import dask.array as da

    meta = np.empty(0, dtype=object) if example is None else example
    operands = [] if X is None else [X, "ij"]
    for values in columns:
        operands += [values, None if values is None else "i"]
    return da.blockwise(
        function,
        "ik"[: meta.ndim],
        *operands,
        new_axes={"k": meta.shape[1]} if meta.ndim == 2 else {},
        concatenate=False,
        align_arrays=False,
        adjust_chunks={"i": 1} if example is None else None,
        dtype=meta.dtype,
        meta=meta,
        **settings,
    )


def tree_sum(results):
    """Return the sum of an array of results, in one round trip."""
    add, level = shared(_sum), list(results.to_delayed().ravel())
    while len(level) > 1:
        level = [add(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0].compute()[0]


def _sum(parts):
    """Return the sum of results, each in an array of one; None comes from an empty block."""
    first, *others = [part[0] for part in parts if part[0] is not None] or [None]
    total = copy.deepcopy(first)  # a task that is repeated must find what it was given
    for part in others:
        total += part
    return boxed(total)


def boxed(value):
    box = np.empty(1, dtype=object)
    box[0] = value
    return box


def labels_of_block(y, weight=None):
    y = np.asarray(y)
    refuse_missing_labels(y, "y, in one of its blocks,")
    if len(y):
        check_classification_targets(y)
    if weight is not None:
        weight = np.asarray(weight, np.float64)
        if not np.all((weight >= 0.0) & (weight < np.inf)):
            raise ValueError("sample_weight has negative, infinite or missing entries.")
    return boxed(count_labels(*np.unique(y, return_inverse=True), weight))


def job_on_block(X, y, weight, task):
    """Return what a job makes of a block, None for one without rows."""
    (X,), (make_rows, job) = X, task
    with single_threaded_blas():
        return boxed(checked_rows(make_rows, X, y, weight).reduce(job) if len(X) else None)


def checked_rows(make_rows, X, y, *more):
    if len(X) != len(y):
        raise ValueError(
            f"A block of X has {len(X)} rows, and that of y has {len(y)}; give y as the name "
            "of a column of a frame X, or compute the chunk sizes of both."
        )
    return make_rows(X, np.asarray(y), *more)


def pick_block(X, y, weight, make_rows, ranks, start):
    """Return the chosen rows of a block, or all of them."""
    rows = checked_rows(make_rows, X, y, weight, "row {}", start)
    return rows if ranks is None else rows.pick(ranks)


class DaskRows(BlockRows):
    """Rows of a dask array; labels and weights are in the same blocks."""

    def __init__(self, X, y, sample_weight, counts):
        super().__init__(counts, X.shape[1], float_type(X.dtype), y.dtype)
        self._X, self._y, self._weight = X, y, sample_weight

    def reduce(self, job):
        task = shared((self._maker(), job))
        total = tree_sum(blockwise(job_on_block, self._X, self._y, self._weight, task=task))
        self._is_checked = True
        return total

    def _gather(self, ranks):
        """Return in memory the rows of some ranks in each block, None for all."""
        import dask

        starts = np.cumsum(self._lengths) - self._lengths
        blocks = [self._X.to_delayed().ravel(), self._y.to_delayed()]
        blocks.append([None] * len(starts) if self._weight is None else self._weight.to_delayed())
        make_rows, pick = shared(self._maker()), shared(pick_block)
        parts = [
            pick(*block, make_rows, chosen, int(start))
            for *block, chosen, start in zip(*blocks, ranks, starts, strict=True)
        ]
        parts = dask.compute(*parts)
        self._is_checked = True
        return joined(parts)

    def pick(self, ranks):
        seen = np.cumsum(self._counts, axis=0) - self._counts
        return self._gather(
            [ranks_among(ranks, *block) for block in zip(seen, self._counts, strict=True)]
        )

    def load(self):
        return self._gather([None] * len(self._lengths))

    def per_sample(self, solution):
        rules = solution.flag_rule, solution.leave_out_rule, solution.norm, solution.weigh
        table = blockwise(
            measure_block,
            self._X,
            self._y,
            example=np.empty((0, 4)),
            rules=shared(rules),
            classes=self.classes,
        )
        table._chunks = (tuple(self._lengths), (4,))
        return PerSample(table[:, 0], table[:, 1], table[:, 2] > 0.0, table[:, 3] > 0.0)


def measure_block(X, y, rules, classes):
    (X,) = X
    if len(X) == 0:
        return np.empty((0, 4))
    X = check_array(X, dtype=FLOATS, order="C")
    rows = ArrayRows(X, known_codes(np.asarray(y), classes), len(classes))
    return np.column_stack(measured(rows, *rules))


def predicted(model, function, X, y, **settings):
    """Return lazily what a function of (model, X, y) gives for the rows of a dask collection."""
    if is_dask_frame(X):
        names = [y] if isinstance(y, str) else []
        features = list(getattr(model, "feature_names_in_", X.columns))
        check_columns(X, [*features, *names])
        X, y, _ = arrays_of_frame(X, features, y)
    check_features(X)
    check_features_of(model, X.shape[1])
    y = aligned(y, X, "y")
    example = np.zeros((1, X.shape[1]), float_type(X.dtype))
    labels = None if y is None else model.classes_[:1]
    example = function(model, example, labels, **settings)[:0]
    find, model = partial(function, **settings), shared(without_samples(model))
    return blockwise(predict_block, X, y, example=example, model=model, find=find, empty=example)


def predict_block(X, y, model, find, empty):
    (X,) = X
    if len(X) == 0:
        return empty
    return find(model, checked_block(model, X), y)
