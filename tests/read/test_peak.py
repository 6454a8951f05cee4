"""The search of the number of clients with the greatest rate: few cycles, the right number, and how sure it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dsbench.read.answer import answer, highest
from dsbench.read.choice import make_choice
from dsbench.read.evaluation import evaluate
from dsbench.read.glance import best, sureness
from dsbench.read.subjects.checklist import _best
from dsbench.read.subjects.rate import peak_lines
from dsbench.several.bounds import of_evaluations
from dsbench.spec.checks import peak_numbers
from dsbench.stats.peak import in_words, next_number, peak
from dsbench.stats.precision import reach, spread
from fixtures.archives import MS, cycle_row, run_json, write


def test_numbers_rise_by_a_third_or_a_half_up_to_the_most() -> None:
    assert peak_numbers(16) == (1, 2, 3, 4, 6, 8, 12, 16)
    assert peak_numbers(10) == (1, 2, 3, 4, 6, 8, 10)
    assert peak_numbers(1) == (1,)


def searched(best: float, noise: float, most: int = 64, cycles: int = 6) -> tuple[dict[int, list[float]], int]:
    """Rates that were found of a server whose rate is 1000 at ``best`` clients and falls off on both sides."""
    random = np.random.default_rng(5)
    rates: dict[int, list[float]] = {}
    spent = 0
    while (n := next_number(peak_numbers(most), rates, cycles)) is not None:
        true = 1000 * np.exp(-0.5 * np.log(n / best) ** 2)
        rates.setdefault(n, []).append(float(true * random.normal(1, noise)))
        spent += 1
        assert spent < 100
    return rates, spent


@pytest.mark.parametrize("best", [1, 3, 8, 24])
def test_a_clear_peak_is_found_in_a_third_of_the_cycles_of_a_sweep(best: int) -> None:
    rates, spent = searched(best, 0.005)
    found = peak(rates, searched=True)
    assert found is not None
    assert (found.clients, found.sure) == (best, True)
    assert spent <= len(peak_numbers(64)) * 6 / 3
    assert "chance" not in in_words(found)


def test_a_noisy_peak_takes_all_cycles_and_is_called_unsure() -> None:
    rates, _ = searched(8, 0.2)
    found = peak(rates, searched=True)
    assert found is not None
    assert not found.sure
    beside = [len(rates[n]) for n, _ in found.neighbours]
    assert min(beside, default=0) >= 6
    assert "neighbouring numbers of clients may be as good" in in_words(found)


def test_a_rate_that_still_rises_at_the_most_is_no_peak() -> None:
    rates, _ = searched(500, 0.005, most=16)
    found = peak(rates, searched=True)
    assert found is not None
    assert (found.clients, found.at_the_end, found.sure) == (16, True, False)
    assert "the peak may be at more clients" in in_words(found)


def test_a_number_whose_fresh_cycles_are_below_its_neighbour_is_not_called_the_peak_alone() -> None:
    found = peak({3: [300.0, 302.0], 4: [310.0, 312.0, 284.0, 283.0, 280.0], 5: [200.0, 201.0]}, searched=True)
    assert found is not None
    assert (found.clients, found.fresh) == (4, 3)
    assert in_words(found).startswith("the peak is at 3 or 4 clients: 283 tps at 4 clients: 0.94")


def test_one_number_has_no_peak() -> None:
    assert peak({4: [10.0, 11.0]}, searched=True) is None
    assert next_number((4,), {4: [1.0, 1.0]}, 2) is None


def test_cycles_that_chose_the_best_do_not_tell_its_rate() -> None:
    """Two other numbers have five cycles, and not three as its neighbour: five of the best chose it. Its rate is the
    median of 150, 148 and 152, and 150 / 120 = 1.25, not 160 / 120."""
    rates = {1: [100.0] * 5, 2: [110.0] * 5, 6: [120.0] * 3, 8: [160.0] * 5 + [150.0, 148.0, 152.0]}
    found = peak(rates, searched=True)
    assert found is not None
    assert (found.clients, found.rate_tps, found.fresh) == (8, 150, 3)
    assert [(clients, ratio.value) for clients, ratio in found.neighbours] == [(6, 1.25)]
    again = {**rates, 8: [160.0] * 5}
    numbers = (1, 2, 6, 8)
    for cycle in (150.0, 148.0, 152.0):
        assert next_number(numbers, again, 3) == 8
        again[8] = [*again[8], cycle]
    assert next_number(numbers, again, 3) is None


def test_the_interval_of_few_fresh_cycles_has_the_scatter_of_all() -> None:
    """Eight cycles of the best tell their scatter, and three of them its rate: its variance is 8/3 times as large."""
    chosen, fresh = [1010.0, 990.0, 1000.0, 1005.0, 995.0], [985.0, 1001.0, 1003.0]
    other = [900.0, 905.0, 895.0, 902.0, 898.0]
    found = peak({4: other, 6: [*chosen, *fresh]}, searched=True)
    assert found is not None
    ((_, ratio),) = found.neighbours
    assert ratio.value == pytest.approx(1001 / 900)
    ours, theirs = spread(np.array([*chosen, *fresh])), spread(np.array(other))
    assert ours is not None
    assert theirs is not None
    half = reach([(1, replace(ours, variance=ours.variance * 8 / 3)), (1, theirs)])
    assert (ratio.low, ratio.high) == pytest.approx((1001 / 900 * np.exp(-half), 1001 / 900 * np.exp(half)))


def test_where_no_peak_was_searched_all_cycles_count() -> None:
    """Series that --precision ended after 5, 12 and 8 cycles: the last four of 2 clients are lower, and chose as well."""
    rates = {1: [100.0] * 5, 2: [150.0] * 8 + [120.0] * 4, 4: [140.0] * 8}
    found = peak(rates, searched=False)
    assert found is not None
    assert (found.clients, found.rate_tps, found.fresh) == (2, 150, 0)
    assert [ratio.value for _, ratio in found.neighbours] == pytest.approx([150 / 100, 150 / 140])
    assert "as the highest of several medians, it tends to be too high" in in_words(found)
    other = peak({**rates, 2: [150.0] * 5 + [130.0] * 7}, searched=False)
    assert other is not None
    assert (other.clients, other.rate_tps) == (4, 140), "130 at 2 clients, though not in their first eight cycles"


@pytest.mark.parametrize(("searched", "rate", "cycles", "first"), [(True, 720, 2, "1.32"), (False, 820, 4, "1.50")])
def test_the_first_screen_has_the_rate_of_the_peak(searched: bool, rate: int, cycles: int, first: str, tmp_path: Path) -> None:
    """720 / 545 = 1.32: the median of the last two cycles of 6 clients, as two of 4 clients chose them; 820 / 545 = 1.50
    has all four."""
    counts = {1: (185,), 3: (415,), 4: (550, 540), 6: (990, 835, 805, 635)}
    order = [(n, count) for n, found in counts.items() for count in found]
    rows = [cycle_row(1, at, [MS] * count, clients=n) for at, (n, count) in enumerate(order, 1)]
    # A list of numbers among which a peak is searched, or each of which is measured.
    asked = {"scales": [1], "cycles": 4, "duration": 1.0, "clients": list(counts), "peak": searched}
    archive = write(tmp_path, run_json(asked), {"cycles": rows})
    evaluation = evaluate(archive)
    (line,) = peak_lines(evaluation)
    assert line.startswith(f"scale 1: peak {rate} tps at 6 clients: {first} times the rate at 4")
    screen = answer(evaluation, archive.run)
    top, found = highest(evaluation), best(evaluation)
    assert top is not None
    assert found is not None
    assert (top.value, found.rate_tps) == (rate, rate)
    assert f" {rate} transactions per second with " in screen.sentence
    assert (screen.tiles[0].value, screen.tiles[0].note.split(" · ")[0]) == (f"{rate} tps", f"{cycles} cycles")
    assert make_choice("rate").read(evaluation).value == pytest.approx(rate)
    assert _best(archive.run, evaluation) == {1: (6, rate)}
    (bound,) = of_evaluations([(archive.run, evaluation)]).measured
    assert bound.peak == (6, rate)
    ends = "from 635 to 805" if searched else "from 635 to 990"
    assert sureness(found) == f"{cycles} cycles {ends} tps: too few for an interval"


def test_the_first_screen_has_the_number_of_clients_that_the_search_found(tmp_path: Path) -> None:
    """The median of the fresh cycles of 2 clients is below that of 1, which stays a lucky one."""
    order = [(1, 500), (1, 510), (2, 530), (2, 540), (2, 480), (2, 490)]
    rows = [cycle_row(1, at, [MS] * count, clients=n) for at, (n, count) in enumerate(order, 1)]
    asked = {"scales": [1], "cycles": 2, "duration": 1.0, "clients": [1, 2], "peak": True}
    archive = write(tmp_path, run_json(asked), {"cycles": rows})
    top = highest(evaluate(archive))
    assert top is not None
    assert (top.value, top.part.clients) == (485, 2)
    assert "the peak is at 1 or 2 clients: 485 tps at 2 clients: 0.96 times" in peak_lines(evaluate(archive))[0]
