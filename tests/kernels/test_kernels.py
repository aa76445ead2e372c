"""The compiled kernels against the obvious NumPy versions."""

import numpy as np
import pytest
import reference
from common import TOLERANCE, assert_close_record, make_classes
from hypothesis import given
from hypothesis import strategies as st

from cappedlda import _kernels
from cappedlda._data.fingerprint import checksum_keys
from cappedlda._data.jobs import PassJob, norm_histograms
from cappedlda._data.record import Record
from cappedlda._rules.rule import Gate, Query

BINS = _kernels.kernels.HISTOGRAM_BINS
QS = [0.5, 1.0, 1.5, 2.0]


@pytest.fixture(params=_kernels.BUILDS, autouse=True)
def kernels(request):
    """Every build that this machine can run."""
    with _kernels.using(_kernels.BUILDS[request.param]) as build:
        yield build


def make_query(rng, X, codes, d=2, q=1.0, cap=None, floor=0.05, **wanted):
    n = X.shape[1]
    c = int(codes.max(initial=0)) + 1
    W = rng.normal(size=(n, d)) / np.sqrt(n)
    centres = 2.0 + rng.normal(size=(c, n))
    if cap is None:  # about half of the rows, so that both branches run
        norms = reference.projected_norms(X, codes, W, centres)
        cap = np.median(norms) * 1.01 if len(norms) else 1.0
    scale = rng.uniform(0.5, 2.0, size=n)
    return Query(W, centres, scale, np.full(c, cap), q, floor, **wanted)


def run(X, codes, query, sample_weight=None):
    distances = np.full(len(X), np.nan)
    record = PassJob(query)(X, codes.astype(np.int32), sample_weight, distances)
    return record.mirror(), distances


def check_against_reference(X, codes, query, sample_weight=None):
    record, distances = run(X, codes, query, sample_weight)
    expected, expected_distances = reference.pass_record(X, codes, query, sample_weight)
    rtol = TOLERANCE[X.dtype].pass_rtol
    # Weight slides between neighbouring bins when a distance is rounded: 32 bins an octave.
    histograms, expected.histograms = expected.histograms, record.histograms
    assert_close_record(record, expected, rtol)
    np.testing.assert_allclose(record.histograms, histograms, atol=256 * rtol * len(X))
    np.testing.assert_allclose(distances, expected_distances, rtol=10 * rtol)
    return record


@pytest.mark.parametrize("n_rows", [0, 1, 2, 127, 128, 129, 300])
def test_pass_matches_reference_for_any_remainder(rng, dtype, n_rows):
    X, codes = make_classes(rng, [100, 100, 100], 5, dtype=dtype)
    query = make_query(rng, X, codes)
    record = check_against_reference(X[:n_rows], codes[:n_rows], query)
    assert record.weight == pytest.approx(n_rows)
    assert record.kept[:, 0].sum() <= n_rows


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 9])
def test_pass_matches_reference_for_any_exponent_and_width(rng, dtype, q, d):
    X, codes = make_classes(rng, [70, 90], 9, dtype=dtype)
    record = check_against_reference(X, codes, make_query(rng, X, codes, d=d, q=q))
    assert 0 < record.kept[:, 0].sum() < len(X)


def test_pass_matches_reference_over_several_panels(rng, dtype):
    # 2 MB of packed rows: several panels of a cache's size, and a remainder.
    X, codes = make_classes(rng, [900, 1100], 130, dtype=dtype)
    check_against_reference(X, codes, make_query(rng, X, codes, d=3, cap=np.inf))


def test_pass_matches_reference_for_huge_n(rng, dtype):
    X, codes = make_classes(rng, [4, 3], 1500, dtype=dtype)
    check_against_reference(X, codes, make_query(rng, X, codes, d=4))


def test_pass_matches_reference_for_one_feature(rng, dtype):
    X, codes = make_classes(rng, [40, 30], 1, dtype=dtype)
    check_against_reference(X, codes, make_query(rng, X, codes, d=1))


@pytest.mark.parametrize("n_classes", [1, 60])
def test_pass_matches_reference_for_one_and_many_classes(rng, dtype, n_classes):
    X, codes = make_classes(rng, [4] * n_classes, 6, dtype=dtype)
    check_against_reference(X, codes, make_query(rng, X, codes))


@pytest.mark.parametrize("q", QS)
def test_all_rows_capped_leave_only_the_objective(rng, dtype, q):
    X, codes = make_classes(rng, [80, 60], 4, dtype=dtype)
    record = check_against_reference(X, codes, make_query(rng, X, codes, q=q, cap=1e-4, floor=0.3))
    assert not record.scatter.any()
    assert not record.sums.any()
    assert not record.image_scatter.any()
    assert not record.kept.any()
    assert record.objective == pytest.approx(140 * (1e-8 + 0.09) ** (q / 2))


@pytest.mark.parametrize("q", QS)
def test_no_row_is_capped_by_infinity(rng, dtype, q):
    X, codes = make_classes(rng, [80, 60], 4, dtype=dtype)
    record = check_against_reference(X, codes, make_query(rng, X, codes, q=q, cap=np.inf))
    np.testing.assert_array_equal(record.kept, [[80, 80], [60, 60]])


def test_each_class_has_its_own_cap(rng, dtype):
    X, codes = make_classes(rng, [50, 50, 50], 4, dtype=dtype)
    query = make_query(rng, X, codes)
    query.caps[:] = [1e-6, query.caps[1], np.inf]
    record = check_against_reference(X, codes, query)
    assert record.kept[0, 0] == 0
    assert 0 < record.kept[1, 0] < 50
    assert record.kept[2, 0] == 50


def test_a_row_on_the_cap_is_kept():
    X = np.array([[3.0], [3.0000001]])
    query = Query(np.eye(1), np.zeros((1, 1)), np.ones(1), np.array([3.0]), 2.0, 0.0)
    record, _ = run(X, np.zeros(2, int), query)
    np.testing.assert_array_equal(record.kept, [[1, 1]])
    assert record.objective == 18.0


@pytest.mark.parametrize(
    "wanted", [{"scatter": False}, {"sums": False}, {"images": False}, {}], ids=str
)
def test_only_the_wanted_sums_are_made(rng, dtype, wanted):
    X, codes = make_classes(rng, [80, 60], 4, dtype=dtype)
    record = check_against_reference(X, codes, make_query(rng, X, codes, **wanted))
    assert record.scatter.shape == ((4, 4) if wanted.get("scatter", True) else (0, 0))
    assert record.sums.shape == ((2, 4) if wanted.get("sums", True) else (0, 0))
    assert record.image_scatter.shape == ((2, 2) if wanted.get("images", True) else (0, 0))


def test_sample_weights_of_any_size(rng, dtype):
    X, codes = make_classes(rng, [80, 60], 4, dtype=dtype)
    weight = rng.choice([0.0, 1e-3, 1.0, 7.5], size=140)
    query = make_query(rng, X, codes)
    record = check_against_reference(X, codes, query, weight)
    assert record.weight == pytest.approx(weight.sum())
    without, _ = run(X[weight > 0], codes[weight > 0], query, weight[weight > 0])
    assert_close_record(record, without, 1e-5 if dtype == np.float32 else 1e-12)


def test_read_only_and_memory_mapped_rows_give_the_same_bits(rng, dtype, tmp_path):
    X, codes = make_classes(rng, [80, 60], 4, dtype=dtype)
    query = make_query(rng, X, codes)
    expected, distances = run(X, codes, query)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    frozen = X.copy()
    frozen.setflags(write=False)
    codes.setflags(write=False)
    for same in (frozen, np.load(path, mmap_mode="r")):
        record, others = run(same, codes, query)
        np.testing.assert_array_equal(others, distances)
        np.testing.assert_array_equal(record.scatter, expected.scatter)
        assert record.objective == expected.objective


def test_rows_that_overflow_are_counted_and_capped(rng, dtype):
    X, codes = make_classes(rng, [30, 30], 3, dtype=dtype)
    X[7] = np.finfo(dtype).max
    query = make_query(rng, X, codes, d=2, cap=5.0)
    query.W[:] = np.sign(query.W[:, :1]) * 3.0  # every product overflows, with one sign or two
    record, _ = run(X, codes, query)
    others = np.arange(60) != 7
    without, _ = run(X[others], codes[others], query)
    assert record.not_finite == 1
    assert without.not_finite == 0
    np.testing.assert_allclose(record.scatter, without.scatter, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(record.kept, without.kept)
    assert record.histograms[:, -1].sum() == 1.0


@given(
    seed=st.integers(0, 10**6),
    cut=st.integers(0, 200),
    q=st.sampled_from(QS),
    width=st.sampled_from([np.float32, np.float64]),
)
def test_records_add_up_over_any_cut(seed, cut, q, width):
    rng = np.random.default_rng(seed)
    X, codes = make_classes(rng, [120, 80], 5, dtype=width)
    weight = rng.uniform(0.0, 2.0, size=200)
    query = make_query(rng, X, codes, q=q)
    whole, _ = run(X, codes, query, weight)
    total = Record.empty(query)
    for part in (slice(cut), slice(cut, None)):
        total += run(X[part], codes[part], query, weight[part])[0]
    # float32 panels are cut elsewhere, so their sums round differently.
    assert_close_record(total, whole, 1e-5 if width == np.float32 else 1e-12)


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_capped_weights_match_reference(rng, kernels, q, floor):
    distances = np.append(rng.exponential(size=200), [2.0, 1e-9, 1e9])
    caps = np.append(rng.exponential(size=200), [2.0, np.inf, np.inf])
    weights = np.full(203, np.nan)
    kernels.capped_weights(distances, caps, weights, q, floor)
    np.testing.assert_allclose(
        weights, reference.capped_weights(distances, caps, q, floor), rtol=1e-13
    )
    assert weights[200] > 0.0
    assert np.any(weights == 0.0)


def test_capped_weights_of_no_rows(kernels):
    weights = np.empty(0)
    kernels.capped_weights(np.empty(0), np.empty(0), weights, 1.0, 0.1)
    assert weights.size == 0


@pytest.mark.parametrize(("n_rows", "n", "d"), [(0, 3, 2), (1, 1, 1), (300, 5, 9), (131, 400, 21)])
def test_affine_images_match_reference(rng, kernels, dtype, n_rows, n, d):
    X, W, offset = (rng.normal(size=shape).astype(dtype) for shape in ((n_rows, n), (n, d), (d,)))
    images = np.full((n_rows, d), np.nan, dtype)
    total = kernels.affine_images(X, W, offset, images)
    expected = X.astype(float) @ W.astype(float) + offset
    # Sums of up to 400 products, about 20 in size.
    rounding = 400 * np.finfo(dtype).eps
    np.testing.assert_allclose(images, expected, rtol=0.0, atol=20 * rounding)
    assert total == pytest.approx(images.sum(dtype=float), abs=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_affine_images_of_bad_numbers_have_no_finite_sum(rng, kernels, dtype, bad):
    X = rng.normal(size=(140, 6)).astype(dtype)
    X[137, 4] = bad
    W = rng.normal(size=(6, 9)).astype(dtype)
    W[4] = 0.0
    assert not np.isfinite(kernels.affine_images(X, W, W[0], np.empty((140, 9), dtype)))


def test_histogram_matches_reference(rng, kernels):
    distances = np.concatenate(
        [
            np.exp(rng.uniform(-16, 16, size=500)),
            [0.0, 1e-300, 2.0**-20, 1.0, 1.0 + 1 / 64, 2.0**20, 2.0**20 * (1 + 1 / 64)],
            [2.0**20 * (1 + 1 / 32), 1e300, np.inf],
        ]
    )
    weights = rng.uniform(size=len(distances))
    codes = rng.integers(2, size=len(distances)).astype(np.int32)
    for given_weights in (weights, np.ones_like(weights)):
        histograms, expected = np.zeros((2, BINS)), np.zeros((2, BINS))
        kernels.add_to_histograms(distances, codes, given_weights, histograms)
        for distance, code, weight in zip(distances, codes, given_weights, strict=True):
            reference.deposit(expected[code], distance, weight)
        np.testing.assert_allclose(histograms, expected, rtol=1e-12, atol=1e-12)
    unweighted = np.zeros((2, BINS))
    kernels.add_to_histograms(distances, codes, None, unweighted)
    np.testing.assert_array_equal(unweighted, histograms)


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 9, 16, 33, 50])
def test_scaled_norms_match_their_definition(rng, dtype, kernels, n):
    X, codes = make_classes(rng, [30, 20], n, dtype=dtype)
    centres = rng.normal(size=(2, n)).astype(dtype)
    scale = rng.uniform(0.5, 2.0, size=n).astype(dtype)
    norms = np.empty(50)
    kernels.scaled_norms(X, codes.astype(np.int32), centres, 1 / scale, norms)
    expected = np.sqrt(np.mean(((X - centres[codes]) / scale).astype(float) ** 2, axis=1))
    np.testing.assert_allclose(norms, expected, rtol=TOLERANCE[X.dtype].pass_rtol)


@pytest.mark.parametrize("level", [0.5, 1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pass_gives_rows_beyond_the_gate_no_weight(rng, dtype, level, weighted):
    X, codes = make_classes(rng, [170, 130], 9, dtype=dtype)
    codes, query = codes.astype(np.int32), make_query(rng, X, codes)
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    fence = Gate(query.centres, query.scale, np.array([2.0, 3.0]))
    expected_ratios = np.empty(len(X))
    norm_histograms(X, codes, None, expected_ratios, centres=fence.centres, scale=fence.scale)
    expected_ratios /= fence.caps[codes]
    assert 0 < np.count_nonzero(expected_ratios <= 1.0) < len(X)
    inside = (expected_ratios <= level) * (1.0 if weight is None else weight)
    expected, ratios = PassJob(query)(X, codes, inside), np.full(len(X), np.nan)
    for known in (fence, None):  # the second time the ratios are read, not made
        record = PassJob(query, known, level)(X, codes, weight, None, ratios)
        np.testing.assert_array_equal(ratios, expected_ratios)
        for name in ("scatter", "sums", "kept", "histograms"):
            np.testing.assert_array_equal(getattr(record, name), getattr(expected, name))
    unseen = PassJob(query, fence, level)(X, codes, weight)
    np.testing.assert_array_equal(unseen.scatter, expected.scatter)


def checksums_of(kernels, X, codes, weight=None):
    """Return the checksums of two classes, and whether all numbers are finite."""
    checksums = np.zeros(2, np.uint64)
    finite = kernels.add_checksums(X, codes, weight, checksum_keys(X.shape[1]), checksums)
    return checksums, finite


WIDTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]


@pytest.mark.parametrize("n", WIDTHS)
def test_every_bit_of_a_row_changes_its_checksum(rng, dtype, kernels, n):
    X, codes = rng.normal(size=(6, n)).astype(dtype), np.array([0, 1, 1, 0, 1, 1], np.int32)
    expected, _ = checksums_of(kernels, X, codes)
    everywhere, _ = checksums_of(_kernels.BUILDS["baseline"], X, codes)
    np.testing.assert_array_equal(expected, everywhere)
    parts = [checksums_of(kernels, X[some], codes[some])[0] for some in np.split(np.arange(6), [2])]
    np.testing.assert_array_equal(sum(parts), expected)
    for place in range(n * X.itemsize // 4):
        for bit in (0, 13, 31):
            changed = X.copy()
            changed.view(np.uint32)[4, place] ^= np.uint32(1 << bit)
            found, _ = checksums_of(kernels, changed, codes)
            assert found[1] != expected[1]
            assert found[0] == expected[0]


@pytest.mark.parametrize("n", WIDTHS)
def test_exchanged_numbers_and_weights_change_the_checksum(rng, dtype, kernels, n):
    X, codes, weight = rng.normal(size=(4, n)).astype(dtype), np.zeros(4, np.int32), np.arange(4.0)
    expected, _ = checksums_of(kernels, X, codes, weight)
    order = [2, 0, 3, 1]
    np.testing.assert_array_equal(
        checksums_of(kernels, X[order], codes, weight[order])[0], expected
    )
    assert checksums_of(kernels, X, codes, weight[order])[0][0] != expected[0]
    if n > 1:
        exchanged = X.copy()
        exchanged[[0, 1], n - 1] = X[[1, 0], n - 1]
        assert checksums_of(kernels, exchanged, codes, weight)[0][0] != expected[0]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_checksums_tell_whether_all_numbers_are_finite(rng, dtype, kernels, n, bad):
    X, codes = rng.normal(size=(5, n)).astype(dtype), np.zeros(5, np.int32)
    X[0], X[1] = np.finfo(dtype).max, -np.finfo(dtype).max  # their sum would overflow
    assert checksums_of(kernels, X, codes)[1]
    assert checksums_of(kernels, X[:0], codes[:0])[1]
    for place in range(n):
        X[3, place], number = bad, X[3, place]
        assert not checksums_of(kernels, X, codes)[1]
        X[3, place] = number
