"""The search of the number of clients with the greatest rate: few cycles, the right number, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.spec.checks import peak_numbers
from dsbench.stats.peak import in_words, next_number, peak


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
    found = peak(rates)
    assert found is not None
    assert (found.clients, found.sure) == (best, True)
    assert spent <= len(peak_numbers(64)) * 6 / 3
    assert "chance" not in in_words(found)


def test_a_noisy_peak_takes_all_cycles_and_is_called_unsure() -> None:
    rates, _ = searched(8, 0.2)
    found = peak(rates)
    assert found is not None
    assert not found.sure
    beside = [len(rates[n]) for n, _ in found.neighbours]
    assert min(beside, default=0) >= 6
    assert "neighbouring numbers of clients may be as good" in in_words(found)


def test_a_rate_that_still_rises_at_the_most_is_no_peak() -> None:
    rates, _ = searched(500, 0.005, most=16)
    found = peak(rates)
    assert found is not None
    assert (found.clients, found.at_the_end, found.sure) == (16, True, False)
    assert "the peak may be at more clients" in in_words(found)


def test_a_number_whose_fresh_cycles_are_below_its_neighbour_is_not_called_the_peak_alone() -> None:
    found = peak({3: [300.0, 302.0], 4: [310.0, 312.0, 284.0, 283.0, 280.0], 5: [200.0, 201.0]})
    assert found is not None
    assert (found.clients, found.fresh) == (4, 3)
    assert in_words(found).startswith("the peak is at 3 or 4 clients: 283 tps at 4 clients: 0.94")


def test_one_number_has_no_peak() -> None:
    assert peak({4: [10.0, 11.0]}) is None
    assert next_number((4,), {4: [1.0, 1.0]}, 2) is None
