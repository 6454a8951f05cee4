"""Hits out of the server's counters and out of the times of transactions."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats import cache
from dsbench.stats.histogram import frequency, histogram
from dsbench.stats.values import Frequency, Resource


def of(times_us: np.ndarray) -> Frequency:
    values, counts = np.unique((times_us * 1000).astype(np.int64), return_counts=True)
    return frequency(histogram(values, values, counts), (0.5,))


def test_the_threshold_lies_between_the_hits_and_the_reads_of_a_disk() -> None:
    random = np.random.default_rng(1)
    # 9,000 hits around 60 µs and 1,000 reads around 8 ms.
    times = np.concatenate([random.lognormal(np.log(60), 0.3, 9000), random.lognormal(np.log(8000), 0.4, 1000)])
    found = cache.hits(of(times), [])
    assert 200_000 < found.valley_ns < 4_000_000
    assert found.found == pytest.approx(0.9, abs=0.002)
    assert found.usual == pytest.approx(0.9, abs=0.002)
    assert np.isnan(found.blocks)


def test_reads_of_a_fast_disk_show_where_a_millisecond_does_not() -> None:
    random = np.random.default_rng(2)
    times = np.concatenate([random.lognormal(np.log(40), 0.25, 6000), random.lognormal(np.log(300), 0.25, 4000)])
    found = cache.hits(of(times), [])
    assert found.usual > 0.999
    assert found.found == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("spread", [0.05, 0.5, 1.0])
def test_one_mode_has_no_threshold(spread: float) -> None:
    times = np.random.default_rng(3).lognormal(np.log(100), spread, 20_000)
    assert np.isnan(cache.hits(of(times), []).valley_ns)
    assert np.isnan(cache.valley_ns(of(times[:20]))), "too few to tell"


def test_the_servers_counters_make_a_share_of_blocks() -> None:
    def resource(name: str, per_s: float) -> Resource:
        return Resource(name, "blocks", 1.0, per_s, "server")

    assert cache.of_blocks([resource("blocks hit", 90), resource("blocks read", 10)]) == 0.9
    assert cache.of_blocks([resource("page fetches", 100), resource("page reads", 5)]) == 0.95
    assert np.isnan(cache.of_blocks([]))
