"""The data side: slabs, strides, threads, and BLAS kept to one of them."""

import _thread
import threading
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
import reference
from common import TOLERANCE, assert_close_record, assert_same_bits, make_classes, rows_of
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info

from cappedlda import CappedLDA
from cappedlda._data import base, jobs, threads
from cappedlda._data.record import Record
from cappedlda._data.threads import (
    effective_n_jobs,
    ordered_map,
    shared_threads,
    single_threaded_blas,
)
from cappedlda._regime import REGIME, Regime
from cappedlda._rules.rule import Query
from cappedlda._validation import encode, known_codes

# Slabs of 16 rows, so that small data have many.
SMALL_SLABS = {"slab_elements": 1, "least_slab_rows": 16}


@pytest.fixture
def problem(rng, dtype):
    """Rows X (205, 6), codes, weights, and a query that caps about half of them."""
    X, codes = make_classes(rng, [100, 60, 45], 6, dtype=dtype)
    W = rng.normal(size=(6, 2))
    centres = np.stack([X[codes == i].mean(axis=0) for i in range(3)]).astype(float)
    cap = np.median(reference.projected_norms(X, codes, W, centres)) * 1.01
    query = Query(W, centres, rng.uniform(0.5, 2, size=6), np.full(3, cap), 1.0, 0.05)
    return X, codes.astype(np.int32), rng.uniform(0, 2, size=205), query


@pytest.fixture
def two_blas_threads():
    """BLAS at two threads, whatever the machine has and earlier tests did."""

    def reset(n_threads):
        clear = getattr(OpenBLASController, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)
        for library, n in zip(libraries, n_threads, strict=True):
            library.set_num_threads(n)
        if clear is not None:
            clear(force=True)

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    reset([2] * len(libraries))
    yield
    reset(before)


def join_new_threads(before):
    """Check that every thread begun since then comes to its end."""
    for thread in set(threading.enumerate()) - before:
        thread.join(600)
        assert not thread.is_alive()


def blas_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 32, 205])
def test_slabs_cover_each_row_once(n_rows):
    rows = rows_of(np.zeros((n_rows, 3)), np.zeros(n_rows), **SMALL_SLABS)
    covered = np.concatenate([np.arange(n_rows)[slab] for slab in rows.slabs()])
    np.testing.assert_array_equal(covered, np.arange(n_rows))
    assert all(slab.stop - slab.start <= 16 for slab in rows.slabs())


@pytest.mark.parametrize(
    ("n_rows", "sizes"), [(16, [16]), (17, [9, 8]), (40, [10] * 4), (80, [14] * 5 + [10])]
)
def test_few_slabs_leave_neither_of_two_threads_waiting(n_rows, sizes):
    slabs = rows_of(np.zeros((n_rows, 3)), np.zeros(n_rows), **SMALL_SLABS).slabs()
    assert [slab.stop - slab.start for slab in slabs] == sizes


def test_slabs_of_real_size_bound_the_elements():
    X = np.broadcast_to(np.zeros(1), (10**7, 100))  # no memory behind it
    slabs = rows_of(np.zeros((1, 1)), np.zeros(1)).with_features(X).slabs()
    assert slabs[0].start == 0
    assert slabs[-1].stop == 10**7
    assert all(a.stop == b.start for a, b in zip(slabs, slabs[1:], strict=False))
    assert max(slab.stop - slab.start for slab in slabs) * 100 <= REGIME.slab_elements


def test_run_matches_reference_with_many_slabs(problem):
    X, codes, weight, query = problem
    distances = np.full(len(X), np.nan)
    record = rows_of(X, codes, weight, **SMALL_SLABS).run(query, distances)
    expected, expected_distances = reference.pass_record(X, codes, query, weight)
    rtol = TOLERANCE[X.dtype].pass_rtol
    expected.histograms = record.histograms  # its own test: see test_kernels
    assert_close_record(record, expected, rtol)
    np.testing.assert_allclose(distances, expected_distances, rtol=10 * rtol)
    assert record.weight == pytest.approx(weight.sum())


def test_the_weight_of_a_record_grows_with_it(problem):
    X, codes, weight, query = problem
    record, other = (rows_of(X, codes, weight).run(query) for _ in range(2))
    assert record.weight == pytest.approx(weight.sum())
    record += other
    assert record.weight == pytest.approx(2.0 * weight.sum())


def test_any_strides_give_the_record_of_a_c_ordered_copy(problem):
    X, codes, weight, query = problem
    expected = rows_of(X, codes, weight, **SMALL_SLABS).run(query)
    wide = np.zeros((2 * len(X), 3 * 6), X.dtype)
    wide[::2, 1::3] = X
    views = {
        "F order": np.asfortranarray(X),
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "slices": wide[::2, 1::3],
        "columns": np.hstack([X, X])[:, 6:],
    }
    for name, view in views.items():
        np.testing.assert_array_equal(view, X, err_msg=name)
        assert not view.flags.c_contiguous
        assert_same_bits(rows_of(view, codes, weight, **SMALL_SLABS).run(query), expected)
        # Rows of one slab are copied once, others slab by slab in each pass.
        assert rows_of(view, codes, weight).load().X.flags.c_contiguous, name
        assert rows_of(view, codes, weight, **SMALL_SLABS).load().X is view, name


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_records_do_not_depend_on_the_number_of_threads(problem, n_jobs):
    X, codes, weight, query = problem
    alone, together = np.empty(len(X)), np.empty(len(X))
    expected = rows_of(X, codes, weight, n_jobs=1, **SMALL_SLABS).run(query, alone)
    assert len(rows_of(X, codes, **SMALL_SLABS).slabs()) == 13
    assert_same_bits(
        rows_of(X, codes, weight, n_jobs=n_jobs, **SMALL_SLABS).run(query, together), expected
    )
    np.testing.assert_array_equal(together, alone)


def test_rows_are_taken_and_grouped_with_their_weights(problem):
    X, codes, weight, _ = problem
    rows = rows_of(X, codes, weight)
    np.testing.assert_allclose(rows.class_weights, [weight[codes == i].sum() for i in range(3)])
    means = [np.average(X[codes == i].astype(float), axis=0, weights=weight[codes == i])
             for i in range(3)]  # fmt: skip
    np.testing.assert_allclose(rows.class_means(), means, rtol=1e-12)
    some = rows.take(np.array([3, 1, 100]))
    np.testing.assert_array_equal(some.X, X[[3, 1, 100]])
    np.testing.assert_array_equal(some.codes, codes[[3, 1, 100]])
    np.testing.assert_array_equal(some.sample_weight, weight[[3, 1, 100]])
    np.testing.assert_array_equal(rows_of(X, codes).class_weights, [100, 60, 45])


@pytest.mark.parametrize("shared", [False, True])
def test_fits_at_once_share_the_cores(monkeypatch, shared):
    monkeypatch.setattr(threads, "_usable_cores", lambda: 4)

    def threads_of(n_jobs, share):
        caller, barrier = threading.get_ident(), threading.Barrier(share)

        def who(_):
            barrier.wait(30)  # as many threads as are due are at work at once
            return threading.get_ident()

        if shared:
            with shared_threads(n_jobs) as each:
                idents = set(each(who, range(4)))
        else:
            idents = set(ordered_map(who, range(4), n_jobs))
        return 1 if idents == {caller} else len(idents)

    for users, shares in ((1, {1: 1, 4: 4}), (2, {1: 1, 4: 2}), (4, {4: 1}), (9, {4: 1})):
        with ExitStack() as stack:
            for _ in range(users):
                stack.enter_context(single_threaded_blas())
            for n_jobs, share in shares.items():
                assert threads_of(n_jobs, share) == share


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("n_items", [0, 1, 2, 50])
def test_ordered_map_keeps_the_order(n_jobs, n_items):
    late_first = threading.Event()

    def work(item):
        if n_jobs > 1 and n_items > 1:
            # Item 0 ends after item 1: the order is not that of completion.
            if item == 1:
                late_first.set()
            assert item != 0 or late_first.wait(30)
        return item**2

    assert list(ordered_map(work, iter(range(n_items)), n_jobs)) == [i**2 for i in range(n_items)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ordered_map_does_not_run_ahead(n_jobs):
    begun = []
    results = ordered_map(begun.append, range(1000), n_jobs)
    next(results)
    results.close()
    assert len(begun) <= 2 * (n_jobs + 1)


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_an_error_in_a_worker_is_raised_and_leaves_no_thread(n_jobs):
    before = set(threading.enumerate())

    def work(item):
        if item == 5:
            raise ZeroDivisionError("item 5")
        return item

    with pytest.raises(ZeroDivisionError, match="item 5"):
        list(ordered_map(work, range(100), n_jobs))
    join_new_threads(before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_within_a_slab(problem, monkeypatch, n_jobs):
    X, codes, weight, query = problem
    X, codes, weight = np.tile(X, (8, 1)), np.tile(codes, 8), np.tile(weight, 8)
    make_record, done, before = jobs.PassJob.__call__, [], set(threading.enumerate())

    def interrupted(*arguments):
        done.append(1)
        if len(done) == 20:
            _thread.interrupt_main()
        return make_record(*arguments)

    monkeypatch.setattr(jobs.PassJob, "__call__", interrupted)
    rows = rows_of(X, codes, weight, n_jobs=n_jobs, **SMALL_SLABS)
    assert len(rows.slabs()) > 100
    with pytest.raises(KeyboardInterrupt):
        rows.run(query)
    # The slab of each thread, and what was handed out before the interrupt arrived.
    assert len(done) <= 20 + 2 * (n_jobs + 1)
    join_new_threads(before)


def test_an_interrupt_between_slabs_leaves_no_thread(problem, monkeypatch):
    X, codes, weight, query = problem
    before = set(threading.enumerate())

    def interrupted(self, other):
        raise KeyboardInterrupt

    monkeypatch.setattr(Record, "__iadd__", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        rows_of(X, codes, weight, n_jobs=2, **SMALL_SLABS).run(query)
    # A traceback may live long, as in an interactive session; the threads must not.
    assert caught.tb is not None
    join_new_threads(before)


def test_blas_is_single_threaded_inside_and_restored_after_nesting(two_blas_threads):
    with single_threaded_blas():
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_blas_is_restored_after_an_error(two_blas_threads):
    with pytest.raises(ZeroDivisionError), single_threaded_blas():
        raise ZeroDivisionError
    assert blas_threads() == {2}


@pytest.mark.parametrize("setter_is_main", [True, False])
def test_blas_is_restored_by_the_last_of_several_threads(two_blas_threads, setter_is_main):
    setter_in, other_in, setter_out = (threading.Event() for _ in range(3))
    seen = []

    def setter():
        with single_threaded_blas():
            seen.append(blas_threads())
            setter_in.set()
            assert other_in.wait(30)
        setter_out.set()

    def other():
        assert setter_in.wait(30)
        with single_threaded_blas():
            other_in.set()
            assert setter_out.wait(30)
            seen.append(blas_threads())

    here, there = (setter, other) if setter_is_main else (other, setter)
    thread = threading.Thread(target=there)
    thread.start()
    here()
    thread.join(600)
    assert seen == [{1}, {1}]
    assert blas_threads() == {2}


def test_blas_is_limited_by_one_thread_after_another(two_blas_threads):
    seen = []

    def use():
        with single_threaded_blas():
            seen.append(blas_threads())

    use()
    for _ in range(2):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(600)
    use()
    assert seen == [{1}] * 4
    assert blas_threads() == {2}


def test_number_of_threads():
    every = effective_n_jobs(None)
    assert every >= 1
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-1) == every
    assert effective_n_jobs(-10_000) == 1
    with pytest.raises(ValueError, match="n_jobs=0 .*None, a positive or a negative int"):
        effective_n_jobs(0)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_near_the_caps_tell_what_other_caps_keep(problem, spy, weighted):
    X, codes, weight, query = problem
    rows = rows_of(X, codes, weight if weighted else None, **SMALL_SLABS)
    passes = spy(rows, "reduce")

    def kept_weight(factors):
        caps = query.caps * factors
        expected = rows.run(replace(query, caps=caps)).kept[:, 1].sum()
        passes.clear()
        distances = base.BorderDistances(rows, query)
        assert distances.kept_weight(caps) == pytest.approx(expected, rel=1e-12)
        return len(passes)

    assert kept_weight(np.array([0.95, 1.0, 1.1])) == 1
    assert kept_weight(np.array([0.8, 1.0, 1.1])) == 2  # too far off to have been noted
    rows.regime = Regime(most_border_rows=2)
    assert kept_weight(np.array([0.95, 1.0, 1.1])) == 2  # too many to be noted


def test_a_class_without_a_cap_has_no_border(problem):
    X, codes, _, query = problem
    query = replace(query, caps=np.array([np.inf, *query.caps[1:]]))
    rows = rows_of(X, codes)
    assert (
        base.BorderDistances(rows, query).kept_weight(query.caps)
        == rows.run(query).kept[:, 1].sum()
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, float, "U9", object])
def test_labels_are_coded_by_table_or_search(rng, dtype):
    classes = np.unique(np.array([3, 5, 6, 100]).astype(str if dtype in ("U9", object) else dtype))
    classes = classes.astype(dtype)
    for size in (2, 500):  # few labels are searched for
        codes = rng.integers(4, size=size)
        np.testing.assert_array_equal(known_codes(classes[codes], classes), codes)
        for unknown in (4, 101, 0):
            y = classes[codes]
            y[1] = unknown if dtype not in ("U9", object) else str(unknown)
            with pytest.raises(ValueError, match=f"unknown labels .*{unknown}.*; the known"):
                known_codes(y, classes)


def test_words_are_encoded_as_their_sorted_values_are(rng):
    words = np.array(["b", "ä", "", "a b", "B"], object)[rng.integers(5, size=300)]
    classes, codes = encode(words)
    expected, inverse = np.unique(words.astype(str), return_inverse=True)
    assert classes.dtype == object
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)
    np.testing.assert_array_equal(known_codes(words, classes), codes)


def test_objects_that_are_no_words_are_encoded_by_their_order():
    numbers = np.array([3, 1.0, 1, True, 2], object)
    classes, codes = encode(numbers)
    np.testing.assert_array_equal(classes, [1, 2, 3])
    np.testing.assert_array_equal(codes, [2, 0, 0, 0, 1])
    np.testing.assert_array_equal(known_codes(numbers, classes), codes)
    lists = np.empty(3, object)
    lists[:] = [[2], [1], [2]]  # cannot be hashed
    np.testing.assert_array_equal(encode(lists)[1], [1, 0, 1])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_labels_without_gaps_are_coded_by_their_difference(rng, dtype):
    lowest = 0 if np.dtype(dtype).kind == "u" else -2
    classes = np.arange(lowest, lowest + 5, dtype=dtype)
    codes = rng.integers(5, size=500)
    found = known_codes(classes[codes][::2], classes)
    np.testing.assert_array_equal(found, codes[::2])
    assert found.dtype == np.int32
    assert len(known_codes(classes[:0], classes)) == 0
    for unknown in (5, 100, np.iinfo(dtype).max):
        y = classes[codes]
        y[7] = unknown
        with pytest.raises(ValueError, match=f"unknown labels .{unknown}.;"):
            known_codes(y, classes)


def test_a_source_may_use_the_memory_of_weights_again(rng):
    """Integers are copied, so threads work on them while the source fills its buffer anew."""
    X, y = rng.integers(-99, 99, size=(120_000, 40), dtype=np.int32), np.arange(120_000) % 2
    X[y == 1, 0] += 150
    weights = np.repeat([2.0, 8.0, 1.0, 5.0], 30_000)

    def chunks(buffer=None):
        for some in (slice(k, k + 30_000) for k in range(0, 120_000, 30_000)):
            if buffer is not None:
                buffer[:] = weights[some]
            yield X[some], y[some], weights[some] if buffer is None else buffer

    expected = CappedLDA(n_jobs=2).fit_chunks(chunks).coef_
    found = CappedLDA(n_jobs=2).fit_chunks(lambda: chunks(np.empty(30_000))).coef_
    np.testing.assert_array_equal(found, expected)
