"""Shares of a transaction's time out of what was seen: they add up, and name no cause that nobody saw."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pyarrow as pa
import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.read.blocks import Part, Table
from dsbench.read.evaluation import evaluate
from dsbench.read.glance import best
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.why import FOREIGN, Why, name_causes
from dsbench.read.subjects.why.looks import read_log_use, read_looks
from dsbench.several.causes import say_change
from dsbench.stats import shares
from dsbench.stats.shares import StateSeen, Threads, What, divide, summarise
from fixtures.archives import STORED


def parts(seen: StateSeen) -> dict[str, float]:
    found = divide(seen)
    assert sum(found.values()) == pytest.approx(seen.in_progress)
    assert all(value >= 0 for value in found.values())
    return {what.kind: value for what, value in found.items()}


def test_clients_that_wait_for_their_turn_have_no_transaction_in_progress() -> None:
    """Of two inserters in step one waits for the other a fifth of the time; the rest of it is what the ledger counts."""
    archive = Archive.open(STORED / "insert.zip")
    part = next(part for key, part in evaluate(archive).series.items() if key.stage == "l.i2")
    load = part.rows.load[2]
    ledger = sum(int(load[name].sum()) for name in ("ended_ns", "in_flight_ns", "connecting_ns")) / int(load.duration_ns.sum())
    (seen,) = read_looks(part)[2].cycles.values()
    assert ledger < 1.6
    assert seen.in_progress == pytest.approx(ledger, rel=0.05)


def test_without_anything_seen_all_is_not_known() -> None:
    assert parts(StateSeen(8.0)) == {shares.UNKNOWN: 8.0}


def test_sessions_without_a_wait_are_on_a_cpu_or_before_it() -> None:
    server = Threads({"running": 4.0}, ran=1.0, queued=3.0, count=8.0)
    found = parts(StateSeen(8.0, waiting={What(shares.LOCK, "Lock:tuple", "branches"): 2.0}, active=4.0, server=server))
    assert found[shares.LOCK] == 2.0
    assert (found[shares.CPU], found[shares.QUEUE]) == (1.0, 3.0)
    assert found[shares.UNKNOWN] == 2.0


def test_sessions_that_wait_for_a_cpu_before_they_say_so_are_counted_by_the_kernel() -> None:
    """PostgreSQL shows them as idle until they run: 2.4 active where the kernel had 7.5 on CPUs and before them."""
    server = Threads({"running": 5.9, "idle": 9.1}, ran=1.6, queued=5.9, count=15.0)
    found = parts(StateSeen(8.0, waiting={}, active=2.4, server=server, client_cpu=0.1))
    assert (found[shares.CPU], found[shares.QUEUE]) == (pytest.approx(1.6), pytest.approx(5.9))
    assert found[shares.UNKNOWN] == pytest.approx(0.4)


def test_who_waits_for_a_quota_waits_for_no_other_program() -> None:
    """One CPU of four waiting threads was denied to them for 0.8 of the time; what is left waits for those that ran."""
    server = Threads({}, ran=1.0, queued=3.0, throttled=0.8)
    found = parts(StateSeen(4.0, waiting={}, active=4.0, server=server, foreign=0.5))
    assert found == pytest.approx({shares.CPU: 1.0, shares.QUEUE: 1.1, shares.QUOTA: 0.8, shares.FOREIGN: 1.1})
    denied = Threads({}, ran=1.0, queued=3.0, throttled=9.0)
    assert parts(StateSeen(4.0, waiting={}, active=4.0, server=denied, foreign=0.5)) == pytest.approx({shares.CPU: 1.0, shares.QUOTA: 3.0})
    own = parts(StateSeen(2.0, client=Threads({}, ran=0.5, queued=1.0, count=2.0, throttled=0.4), client_cpu=0.5, foreign=1.0))
    assert (own[shares.QUOTA], own[shares.FOREIGN]) == (pytest.approx(0.4), pytest.approx(0.6))


def test_parts_that_come_to_more_than_the_whole_shrink_alike_on_both_sides() -> None:
    """Else a server that is always before a CPU would leave no time for its client."""
    server, client = Threads({}, ran=1.0, queued=1.0, count=2.0), Threads({}, ran=0.4, queued=0.1, count=2.0)
    found = parts(StateSeen(2.0, waiting={}, active=2.0, server=server, client=client, client_cpu=0.4))
    assert found == pytest.approx({shares.CPU: 0.8, shares.QUEUE: 0.8, shares.CLIENT: 0.32, shares.CLIENT_QUEUE: 0.08})


def test_who_waits_for_a_cpu_waits_for_those_that_have_it() -> None:
    server = Threads({}, ran=1.0, queued=3.0)
    found = parts(StateSeen(4.0, waiting={}, active=4.0, server=server, foreign=2 / 3))
    assert found == pytest.approx({shares.CPU: 1.0, shares.QUEUE: 1.0, shares.FOREIGN: 2.0})


def test_what_the_server_does_not_tell_is_what_its_threads_do() -> None:
    """MariaDB tells no flush without its performance schema; its threads are in fsync."""
    server = Threads({"running": 1.0, "flush": 3.0, "lock": 2.0}, ran=0.9, queued=0.1, count=8.0)
    found = parts(StateSeen(8.0, waiting={What(shares.LOCK, "row", "branches"): 2.0}, active=4.0, server=server))
    assert found[shares.LOCK] == 2.0
    assert found[shares.FLUSH] == 3.0
    assert shares.LATCH not in found


def test_a_client_that_is_busy_lets_replies_wait() -> None:
    client = Threads({"running": 0.9, "idle": 0.1}, ran=0.9, queued=0.0, count=1.0)
    found = parts(StateSeen(10.0, waiting={}, active=1.0, server=Threads({}, 1.0, 0.0), client=client, client_cpu=0.9))
    assert found[shares.CLIENT] == pytest.approx(0.9)
    assert found[shares.CLIENT_TURN] == pytest.approx(0.9 * 8.1)
    assert found[shares.UNKNOWN] == pytest.approx(0.1 * 8.1)


def test_threads_that_wait_for_a_lock_of_their_program_are_the_clients() -> None:
    client = Threads({"lock": 60.0, "running": 1.0, "idle": 3.0}, ran=1.0, count=64.0)
    found = parts(StateSeen(64.0, waiting={}, active=1.0, server=Threads({}, 1.0), client=client, client_cpu=1.0))
    assert found[shares.CLIENT_TURN] > 59


def test_a_network_has_as_much_as_its_round_trips_take() -> None:
    found = parts(StateSeen(8.0, waiting={}, active=0.5, server=Threads({}, 0.5), network=7.0, client_cpu=0.2))
    assert found[shares.NETWORK] == 7.0
    assert found[shares.UNKNOWN] == pytest.approx(0.3)


def test_without_samples_waits_in_the_server_are_not_guessed() -> None:
    server = Threads({"running": 1.0, "idle": 7.0}, ran=0.8, queued=0.2, count=8.0)
    found = parts(StateSeen(8.0, server=server, client=Threads({}, 0.5, 0.0, 1.0), client_cpu=0.5))
    assert found == pytest.approx({shares.CPU: 0.8, shares.QUEUE: 0.2, shares.CLIENT: 0.5, shares.UNKNOWN: 6.5})


def test_in_an_embedded_database_a_sleep_waits_for_the_lock() -> None:
    threads = Threads({"sleep": 6.0, "running": 1.0, "flush": 1.0}, ran=1.0, count=8.0)
    found = parts(StateSeen(8.0, client=threads, embedded=True))
    assert found == pytest.approx({shares.LOCK: 6.0, shares.CPU: 1.0, shares.FLUSH: 1.0})


def test_estimates_that_exceed_the_whole_are_made_to_fit() -> None:
    found = parts(StateSeen(2.0, waiting={What(shares.FLUSH): 3.0}, active=1.0, client_cpu=0.5))
    assert found == pytest.approx({shares.FLUSH: 4 / 3, shares.CPU: 4 / 9, shares.CLIENT: 2 / 9})


def test_intervals_are_over_the_cycles() -> None:
    one, other = {What(shares.CPU): 3.0, What(shares.LOCK): 1.0}, {What(shares.CPU): 2.0, What(shares.LOCK): 2.0}
    cpu, lock = summarise([one, other], 8e6)
    assert (cpu.kind, cpu.share, cpu.time_ns) == (shares.CPU, 0.625, 5e6)
    assert (lock.low, lock.high) == (0.0, 1.0)
    alone = summarise([one], 8e6)[0]
    assert alone.low != alone.low


def test_a_change_is_told_by_what_it_takes() -> None:
    before, after = {"flush": 1.9, "server CPU": 0.5}, {"flush": 0.3, "server CPU": 0.52}
    assert say_change(before, after) == "a transaction takes 0.82 ms instead of 2.4 ms: 0.3 ms instead of 1.9 ms flush"
    assert say_change({}, after) == ""
    noisy, calm = {"flush": 1.0, FOREIGN: 6.6}, {"flush": 1.1, FOREIGN: 1.8}
    assert say_change(noisy, calm).startswith("a transaction takes, without waits for other programs, 1.1 ms instead of 1 ms")
    assert FOREIGN not in say_change(noisy, {"flush": 3.0, FOREIGN: 0.0}), "what others took is no finding about a side"
    assert say_change(after, after).endswith("no part of it changed by a tenth of that")


def test_the_sentence_names_the_largest_causes_and_what_is_not_known() -> None:
    waits = {What(shares.LOCK, "a", "branch"): 3.0, What(shares.LOCK, "b", "teller"): 2.0, What(shares.FLUSH): 2.0}
    parts_ = summarise([{**waits, What(shares.CPU): 0.9, What(shares.QUEUE): 0.6, What(shares.UNKNOWN): 1.0}], 1e6)
    why = Why(1e6, True, 1, name_causes(parts_), parts_, "", ())
    assert why.sentence == "53% locks on branch and teller, 21% flush, 16% server CPU, 11% not known"
    assert sum(why.by_part.values()) == pytest.approx(1.0)


def test_of_many_scales_the_one_of_the_first_screen_is_open_and_the_others_wait_behind_a_line(tmp_path: Path) -> None:
    scales = (1, 2, 3, 4, 5, 6)
    archive = dsbench.run("mock:", scales=scales, cycles=1, duration=0.2, clients=1, out=tmp_path)
    evaluation = archive.evaluate()
    found = best(evaluation)
    assert found is not None
    blocks = list(find_subject("why").tell(evaluation))
    assert isinstance(blocks[0], Table)
    assert [row[0] for row in blocks[0].rows] == list(scales)
    assert all(sum(row[2:]) == pytest.approx(1.0, abs=0.03) for row in blocks[0].rows), "what is not shown is small"
    opened, rest, *advice = (one for one in blocks if isinstance(one, Part))
    # Once for all places, where a cause is known.
    assert [one.title for one in advice] in ([], ["Usual remedies"])
    assert (opened.title, opened.folded) == (f"Scale {found.row.scale:,}", False)
    assert rest.title == "The other 5, one by one"
    assert all(isinstance(one, Part) and one.folded for one in (rest, *rest.blocks))


def test_how_full_innodbs_log_is_is_told_by_seconds_of_the_cycles() -> None:
    def row(at_s: int, metric: str, value: float, scale: int = 1) -> dict[str, object]:
        return {"scale": scale, "cycle": 1, "at_ns": at_s * 10**9, "monitor": "server", "metric": metric, "value": value}

    ages = [row(at, "checkpoint_age", age) for at, age in ((-1, 1.0), (1, 90.0), (2, 95.0), (3, 10.0))]
    most = [row(at, "checkpoint_max_age", 100.0) for at in (-1, 1, 2, 3)]
    other = [row(1, "checkpoint_age", 1.0, 2), row(4, "checkpoint_age", 1.0)]
    assert read_log_use(pa.Table.from_pylist(ages + most + other), 1) == 0.9
    assert isnan(read_log_use(pa.Table.from_pylist(ages), 1))
