from __future__ import annotations

from math import ceil, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.stats import histogram as hist

LEVELS = (0.001, 0.07, 0.5, 0.68, 0.87, 0.95, 0.99, 0.997, 0.999, 1.0)


def bounds(value: int) -> tuple[int, int]:
    """The recorder's layout: 2048 sub-buckets, the width doubling with every doubling of the value."""
    shift = max(value.bit_length() - 11, 0)
    low = value >> shift << shift
    return low, low + (1 << shift) - 1


def recorded(values: list[int]) -> hist.Histogram:
    """What a recorder leaves of ``values``: buckets cut at their extremes, which are exact."""
    pairs = [bounds(value) for value in values]
    low = np.array([max(low, min(values)) for low, _ in pairs], dtype=np.int64)
    high = np.array([min(high, max(values)) for _, high in pairs], dtype=np.int64)
    return hist.histogram(low, high, np.ones(len(values), dtype=np.int64), min_ns=min(values), max_ns=max(values))


TIMES = st.lists(st.integers(1, 2**42), min_size=1, max_size=60)
# Times close together fall into few buckets, which the extremes cut in every way.
CLOSE = st.lists(st.integers(10**6, 10**6 + 5000), min_size=1, max_size=60)


@given(st.lists(st.one_of(TIMES, CLOSE), min_size=1, max_size=4))
def test_quantiles_of_merged_parts_are_within_the_bound(parts: list[list[int]]) -> None:
    merged = hist.merge(recorded(part) for part in parts)
    pooled = sorted(value for part in parts for value in part)
    assert merged.count == len(pooled)
    for level in LEVELS:
        # One integer of width is one ns: below 2048 ns buckets are exact, above the bound holds.
        truth = pooled[max(ceil(round(level * len(pooled), 9)), 1) - 1]
        assert hist.quantile_ns(merged, level) == pytest.approx(truth, rel=hist.RELATIVE_ERROR)
    assert hist.quantile_ns(merged, 1.0) == pooled[-1]


def same(one: hist.Histogram, other: hist.Histogram) -> bool:
    arrays = ("low_ns", "high_ns", "counts")
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays) and (
        (one.min_ns, one.max_ns) == (other.min_ns, other.max_ns)
    )


@given(st.one_of(TIMES, CLOSE), st.one_of(TIMES, CLOSE), st.one_of(TIMES, CLOSE))
def test_merging_is_addition(a: list[int], b: list[int], c: list[int]) -> None:
    one, two, three = recorded(a), recorded(b), recorded(c)
    assert same(hist.merge([hist.merge([one, two]), three]), hist.merge([one, hist.merge([two, three])]))
    assert same(hist.merge([one, two]), hist.merge([two, one]))
    assert same(hist.merge([one, hist.EMPTY]), one)


@given(st.lists(st.integers(1, 2047), min_size=1), st.lists(st.integers(1, 2047), min_size=1))
def test_merged_is_pooled(a: list[int], b: list[int]) -> None:
    # Exact below 2048 ns, where no bucket can be cut.
    assert same(hist.merge([recorded(a), recorded(b)]), recorded(a + b))


def test_the_value_is_the_midpoint_of_the_bucket() -> None:
    # 2^20 lies in [2^20, 2^20 + 1023]: midpoint 2^20 + 511.5.
    low, high = bounds(2**20 + 3)
    assert (low, high) == (2**20, 2**20 + 1023)
    found = hist.histogram(np.array([low]), np.array([high]), np.array([10]), min_ns=2**20, max_ns=2**20 + 900)
    assert hist.quantile_ns(found, 0.5) == 2**20 + 511.5
    assert hist.quantile_ns(found, 1.0) == 2**20 + 900
    narrow = hist.histogram(np.array([low]), np.array([high]), np.array([10]), min_ns=2**20, max_ns=2**20 + 100)
    assert hist.quantile_ns(narrow, 0.5) == 2**20 + 100


def test_rank_is_that_of_the_decimal_the_user_wrote() -> None:
    # 0.07 * 100 is 7.000000000000001 in binary; the 7th of 1, 2, 3 … is 7.
    values = np.arange(1, 101)
    assert hist.quantile_ns(hist.histogram(values, values, np.ones(100, dtype=np.int64)), 0.07) == 7


def test_a_maximum_above_the_buckets_is_kept() -> None:
    found = hist.histogram(np.array([10, 20]), np.array([10, 20]), np.array([5, 1]), min_ns=10, max_ns=20)
    assert hist.quantile_ns(found, 0.9) == 20
    assert hist.quantile_ns(found, 0.8) == 10


@given(st.lists(CLOSE, min_size=1, max_size=4))
def test_buckets_of_a_merged_histogram_do_not_overlap(parts: list[list[int]]) -> None:
    merged = hist.merge(recorded(part) for part in parts)
    assert np.all(merged.low_ns <= merged.high_ns)
    assert np.all(merged.low_ns[1:] > merged.high_ns[:-1])


def test_pieces_of_one_bucket_become_one_again() -> None:
    low, high = np.array([1024, 1030, 1041, 2000]), np.array([1050, 1040, 1055, 2000])
    found = hist.histogram(low, high, np.array([1, 2, 4, 8]))
    assert (found.low_ns.tolist(), found.high_ns.tolist()) == ([1024, 2000], [1055, 2000])
    assert found.counts.tolist() == [7, 8]


def test_nothing_has_no_quantile() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert hist.histogram(none, none, none) is hist.EMPTY
    assert hist.merge([]) is hist.EMPTY
    assert isnan(hist.quantile_ns(hist.EMPTY, 0.5))


@given(st.one_of(TIMES, CLOSE))
def test_the_distribution_falls_to_zero_and_is_exact_at_its_points(values: list[int]) -> None:
    curve = hist.frequency(recorded(values), (0.5,))
    assert np.all(np.diff(curve.residence_ns) > 0)
    assert np.all(np.diff(curve.longer) < 0)
    assert (curve.residence_ns[-1], curve.longer[-1]) == (max(values), 0)
    truth = [np.mean(np.array(values) > at) for at in curve.residence_ns]
    assert curve.longer == pytest.approx(truth, abs=1e-12)
    assert curve.count == len(values)
