"""Rows that find out how they lie to a gate while a pass reads them."""

import numpy as np
import pytest
from common import make_classes, rows_of

from cappedlda import CappedLDA, CappedNormLDA
from cappedlda._data.array import GatedRows
from cappedlda._rules.rule import Gate, Query, RowRule

MANY_SLABS = {"slab_elements": 512, "least_slab_rows": 64}


@pytest.fixture(params=[None, "weighted"])
def rows(rng, request):
    X, codes = make_classes(rng, [300, 200], 4)
    X[::9] *= 10.0
    weight = None if request.param is None else rng.integers(0, 3, 500).astype(float)
    return rows_of(X, codes, weight, **MANY_SLABS)


@pytest.fixture
def gate(rows):
    centres = np.stack([rows.X[rows.codes == i].mean(axis=0) for i in (0, 1)])
    return Gate(centres, np.ones(4), np.array([3.0, 2.0]))


def query(gate, scatter):
    return Query(np.eye(4, 2), gate.centres, gate.scale, np.array([4.0, 5.0]), 2.0, 0.0, scatter)


@pytest.mark.parametrize("level", [1.0, 2.0, np.inf])
def test_a_pass_has_the_rows_within_the_gate(rows, gate, level):
    gated, measured = rows.gated(gate), rows.measured(gate)
    assert isinstance(gated, GatedRows)
    for scatter in (True, False):  # the second pass knows the sizes of all rows
        record, seen = gated.within_gate(level).evaluate(query(gate, scatter))
        expected, also_seen = measured.within_gate(level).evaluate(query(gate, scatter))
        np.testing.assert_array_equal(record.scatter, expected.scatter)
        np.testing.assert_array_equal(record.histograms, expected.histograms)
        caps = np.array([2.0, 3.0])
        assert seen.kept_weight(caps) == also_seen.kept_weight(caps)
        np.testing.assert_array_equal(seen.inside(caps, level), also_seen.inside(caps, level))
    np.testing.assert_array_equal(gated.gate_ratio, measured.gate_ratio)


def test_the_first_pass_checks_all_numbers(rows, gate):
    rows.X[321, 2] = np.nan
    with pytest.raises(ValueError, match="first in row 321"):
        rows.gated(gate).run(query(gate, True))


def test_numbers_outside_the_sample_are_checked(rng):
    X, y = make_classes(rng, [16_000, 16_000], 3)
    for model in (CappedLDA(), CappedNormLDA(), CappedNormLDA(centres="mean")):
        for row in (17, 15_003, 31_998):
            spoiled = X.copy()
            spoiled[row, 1] = np.inf
            with pytest.raises(ValueError, match=f"first in row {row}"):
                model.fit(spoiled, y)


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("level", [0.5, 1.5, np.inf])
def test_a_rule_at_a_level_has_the_rows_within_as_many_caps_and_gates(rows, gate, level, gated):
    X, codes, caps = rows.X, rows.codes, np.array([1.0, 1.2])
    rule = RowRule(np.eye(4, 2), gate.centres, caps, gate if gated else None)
    steps = X - gate.centres[codes]
    ratio = np.linalg.norm(steps[:, :2], axis=1) / caps[codes]
    if gated:
        sizes = np.linalg.norm(steps / gate.scale, axis=1) / np.sqrt(4)
        ratio = np.maximum(ratio, sizes / gate.caps[codes])
    found = rule.at(level).contains(rows)
    np.testing.assert_array_equal(found, ratio <= level)
    assert found.any()
    assert found.all() == (level == np.inf)
    np.testing.assert_array_equal(rule.contains(rows), ratio <= 1.0)  # which is unchanged
