"""Events in a cycle on real servers: clients reconnect, nothing is lost, and the outage is what they saw of it."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from math import inf, isfinite
from pathlib import Path

import psutil
import pytest

from dsbench.archive import Archive
from dsbench.archive.conditions import State
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import Outcome, execute
from dsbench.read.answer import say
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.outage import EventResult, OutageResult
from dsbench.spec import SpecError, build
from dsbench.spec.events import Event, events, write_events
from dsbench.stats.outages import LEAST_NS
from fixtures.kept import data_of, servers_of
from fixtures.program import Program
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough


def test_events_are_read_and_written_as_one_line() -> None:
    found = events("20s:restart, 40: kill\n1m:stop 1.5s, 90s:command 'echo \"a, b\"; false'")
    assert found == (
        Event(20, "restart"), Event(40, "kill"), Event(60, "stop", 1.5), Event(90, "command", command='echo "a, b"; false'),
    )  # fmt: skip
    assert write_events(found) == "20s:restart, 40s:kill, 60s:stop 1.5s, 90s:command 'echo \"a, b\"; false'"
    assert events(write_events(found)) == found
    assert [one.words for one in found][2:] == ["stop of 1.5 s", "command 'echo \"a, b\"; false'"]
    assert events("") == ()
    quoted = Event(1, "command", command="it's")
    assert events(write_events((quoted,))) == (quoted,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("restart", "cannot read 'restart'"), ("5s:reboot", "cannot read '5s:reboot'"), ("x:kill", "write TIME:EVENT"),
        ("5s:stop", "how long the server is suspended"), ("5s:fill-disk", "how long the disk is full"), ("5s:stop 0s", "how long"), ("5s:kill 3s", "write 5s:kill alone"),
        ("5s:command", "in quotation marks"), ("5s:command reboot now", "in quotation marks"),
        ("5s:command 'a", "a quotation mark is missing"), ("5s:command ' '", "in one line"),
        ("9s:kill, 5s:restart", "in order of time"), ("1s:stop 5s, 5s:kill", "comes before 1s:stop 5s is over"),
        (", ".join(["1s:kill"] * 101), "has 101 events"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_told(text: str, why: str) -> None:
    with pytest.raises(SpecError) as refused:
        build({"target": {"url": "private:postgresql"}, "duration": 60, "event": text})
    assert refused.value.option == "--event"
    assert why in f"{refused.value}: {refused.value.remedy}"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"target": {"url": "private:sqlite"}}, "SQLite runs in dsbench's process"),
        ({"target": {"url": "postgresql://localhost/x"}}, "dsbench did not start this server"),
        ({"event": "1s:fill-disk 1s"}, "dsbench fills no file system but its own"),
        ({"duration": 3}, "is not over within a cycle of 3 s"), ({"peak": True}, "outages are in the rates"),
        ({"objective": "p99=20ms"}, "outages are in the rates"), ({"driver": "pgbench"}, "do not reconnect"),
    ],
)  # fmt: skip
def test_an_event_that_does_not_fit_is_refused(more: dict[str, object], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        build({"target": {"url": "private:postgresql"}, "event": "2s:restart, 3s:kill", "duration": 9, **more})


def test_clients_are_patient_where_an_outage_is_planned() -> None:
    target = {"target": {"url": "private:postgresql"}}
    assert build(target).patience_s == 5
    assert build({**target, "event": "1s:kill"}).patience_s == 60
    assert build({**target, "event": "1s:kill", "patience": "2m"}).patience_s == 120


def test_a_hand_over_needs_a_standby_each() -> None:
    one, two = ({"url": f"private:postgresql?standbys={number}"} for number in (1, 2))
    build({"target": one, "event": "1s:failover", "duration": 9})
    build({"target": two, "event": "1s:failover, 3s:switchover", "duration": 9})
    with pytest.raises(SpecError, match="no standby is left"):
        build({"target": one, "event": "1s:failover, 3s:switchover", "duration": 9})
    with pytest.raises(SpecError, match="the server has no standby"):
        build({"target": {"url": "private:postgresql"}, "event": "1s:failover", "duration": 9})


def test_no_password_of_a_command_is_archived_and_a_redacted_one_is_not_run(dsbench: Program, tmp_path: Path) -> None:
    spec = build({"target": {"url": "mock:"}, "event": "1s:command 'PGPASSWORD='\"'\"'a b'\"'\"' psql'"})
    told = spec.described()["event"]
    assert "a b" not in told
    assert spec.events[0].command == "PGPASSWORD='a b' psql"
    (tmp_path / "run.toml").write_text(f"target = 'mock:'\nevent = {json.dumps(told)}\n")
    done = dsbench("run", "--config", str(tmp_path / "run.toml"), "--trust")
    assert done.returncode == 2
    assert "its command contained a password" in done.stderr


def test_a_server_in_this_process_has_nothing_to_kill(dsbench: Program) -> None:
    done = dsbench("run", "private:firebird@5?embedded=on", "--event", "1s:kill", "--duration", "3")
    assert done.returncode == 2
    assert "--event: 1s:kill: Firebird" in done.stderr
    assert "runs in dsbench's process" in done.stderr


def run(target: str, event: str, out: Path, **more: object) -> Outcome:
    asked = {"scales": (4,), "cycles": 1, "duration": 5.0, "clients": 4, "event": event, "seed": 1, "samples": 0, **more}
    return execute(build({"target": {"url": target}, **asked}), out, Silent())


def seen(outcome: Outcome) -> tuple[EventResult, ...]:
    assert (outcome.status, outcome.error, outcome.void_scales) == ("complete", None, ()), outcome.error
    return evaluate(Archive.open(outcome.archive)).of(OutageResult).events[4]


DONE = ("committed", "rolled back")


def judge_by_trace(outcome: Outcome, events: Sequence[EventResult]) -> list[EventResult]:
    """Holds what is said of the ``events`` of one cycle against every transaction of it: each that was longer than what
    clients waited before the first one is there, with its length. Gives those; a busy machine stands still by itself."""
    (cycle,) = {one.cycle for one in events}
    rows = [row for row in Archive.open(outcome.archive).table("trace").to_pylist() if row["cycle"] == cycle]
    rows.sort(key=lambda row: row["ended_ns"])
    done = [0, *(row["ended_ns"] for row in rows if row["outcome"] in DONE)]
    wanted = list(accumulate((row["intended_ns"] for row in reversed(rows)), min))[::-1]
    ends = [row["ended_ns"] for row in rows]
    # Where a failed transaction is the last one, what it wanted did not come within the cycle.
    until = [*done, inf] if bisect_right(ends, done[-1]) < len(ends) else done
    gaps = [(max(a, wanted[bisect_right(ends, a)]), b) for a, b in pairwise(until) if b > a]
    first_ns = min(one.outage.at_ns for one in events)
    usual_ns = max((b - a for a, b in gaps if b <= first_ns), default=0)
    lengths: dict[int, float] = {}
    for began, ended in gaps:
        met = [one for one in events if began <= one.outage.at_ns < ended]
        before = [one for one in events if one.outage.at_ns <= began <= one.done_ns + 1e9]
        for one in met or before[-1:]:
            lengths[one.number] = max(lengths.get(one.number, 0), ended - began)
    longer = [one for one in events if lengths.get(one.number, 0) > max(usual_ns, LEAST_NS)]
    for one in events:
        if one in longer:
            assert one.outage.length_ns == pytest.approx(lengths[one.number], abs=1e6)
            last_ns = [max((row["ended_ns"] for row in rows if row["client"] == client and row["outcome"] in DONE), default=0)
                       for client in {row["client"] for row in rows}]  # fmt: skip
            assert one.outage.longest is not None
            assert isfinite(one.outage.all_ns) or min(last_ns) < one.outage.longest.ended_ns, "every client came back"
        else:
            assert one.outage.longest is None
    return longer


PRODUCTS = [
    pytest.param("private:postgresql", "postgres", id="postgresql"),
    pytest.param("private:firebird@3", "firebird", id="firebird"),
    pytest.param("private:mariadb", "mariadbd", id="mariadb"),
    pytest.param("private:mysql@8.0", "mysqld", id="mysql", marks=pytest.mark.needs_mysql),
]


@pytest.mark.parametrize(("target", "program"), mostly_thorough(PRODUCTS, "postgresql", "firebird"))
@unless_stalled
def test_a_server_comes_back_and_nothing_acknowledged_is_lost(target: str, program: str, tmp_path: Path) -> None:
    before = data_of(os.getpid())
    outcome = run(target, "1s:stop 1s, 3s:restart, 9s:kill", tmp_path, duration=14.0, trace=True)
    stop, restart, kill = found = seen(outcome)
    assert [(one.number, one.text, one.error) for one in found] == [
        (1, "stop of 1 s", ""), (2, "restart", ""), (3, "kill", ""),
    ]  # fmt: skip
    assert stop.done_ns - stop.outage.at_ns >= 1e9
    # On a busy machine a client reads an answer that came before only when the server has stood still for a while.
    assert stop.outage.length_ns >= 0.5e9
    longer = judge_by_trace(outcome, found)
    assert stop in longer
    for one in (one for one in (restart, kill) if one in longer):
        assert one.outage.longest is not None
        assert one.outage.all_ns >= one.outage.length_ns
        assert any(gap.began_ns <= one.done_ns for gap in one.outage.gaps), "nobody is served before the server takes sessions"
    commits = evaluate(Archive.open(outcome.archive)).of(OutageResult).commits[4]
    assert commits.lost == 0
    assert commits.lost_at_most is not None
    assert commits.unknown is not None
    assert 0 <= commits.lost_at_most <= commits.unknown
    if program == "postgres":
        assert "start of the server was" in kill.changed
    assert data_of(os.getpid()) == before


def test_a_command_is_run_and_one_that_fails_is_told(tmp_path: Path) -> None:
    made = tmp_path / "made"
    # What it leaves behind has its output open for longer than the run.
    left = f"1s:command 'echo $((6*7)) > {made}; sleep 300 & echo $! >> {made}'"
    outcome = run("private:postgresql", f"{left}, 2s:command 'echo no such host; exit 3'", tmp_path)
    first, second = seen(outcome)
    answer, pid = made.read_text().split()
    psutil.Process(int(pid)).kill()
    assert answer == "42"
    assert (first.error, second.error) == ("", "it ended with 3: no such host")
    warned = [one.message for one in Archive.open(outcome.archive).run.warnings if one.code == "event"]
    assert warned == [f"scale 4, cycle 1: {second.text} failed: it ended with 3: no such host"]


HAND_OVERS = [
    pytest.param("private:postgresql?standbys=1&sync=on", "failover", id="postgresql-failover"),
    pytest.param("private:postgresql?standbys=1&sync=off", "switchover", id="postgresql-switchover"),
    pytest.param("private:mariadb?replicas=1&sync=on", "failover", id="mariadb-failover"),
    pytest.param("private:mariadb?replicas=1&sync=off", "switchover", id="mariadb-switchover"),
]


@pytest.mark.parametrize(
    ("target", "event"), mostly_thorough(HAND_OVERS, "postgresql-failover", "mariadb-failover")
)
@unless_stalled
def test_a_standby_takes_over_and_the_primary_comes_back(
    target: str, event: str, tmp_path: Path
) -> None:
    before = data_of(os.getpid())
    # At full rate a standby on a busy machine is seconds behind, and applies all of it before it takes over.
    outcome = run(target, f"2s:{event}", tmp_path, cycles=2, duration=12.0, rate=200, trace=True)
    found = seen(outcome)
    assert [(one.cycle, one.text, one.error) for one in found] == [(1, event, ""), (2, event, "")]
    assert all("port " in one.changed for one in found), "another server answers"
    for each in found:
        judge_by_trace(outcome, [each])
    commits = evaluate(Archive.open(outcome.archive)).of(OutageResult).commits[4]
    assert commits.lost == 0, "a standby had all that was acknowledged"
    assert data_of(os.getpid()) == before


@pytest.mark.parametrize("target", mostly_thorough([
    "private:postgresql?standbys=2&sync=on", "private:mariadb?replicas=2&sync=on", "private:mariadb?galera=4",
]))  # fmt: skip
@unless_stalled
def test_two_standbys_take_over_one_after_the_other(target: str, tmp_path: Path) -> None:
    # A node that was killed belongs to Galera for five seconds more.
    outcome = run(target, "2s:failover, 20s:switchover", tmp_path, cycles=2, duration=30.0)
    found = seen(outcome)
    assert [(one.cycle, one.text, one.error) for one in found] == [
        (cycle, event, "") for cycle in (1, 2) for event in ("failover", "switchover")
    ]  # fmt: skip
    assert evaluate(Archive.open(outcome.archive)).of(OutageResult).commits[4].lost == 0


def test_a_standby_that_ended_fails_the_run(tmp_path: Path) -> None:
    class Killer(Silent):
        """Kills the standby in the first cycle."""

        done = False

        def moment(self, moment: Moment) -> None:
            if moment.phase == "cycle" and moment.done and not self.done:
                self.done = True
                receiver = next(one for one in servers_of(os.getpid(), "postgres") if "walreceiver" in " ".join(one.cmdline()))
                standby = receiver.parent()
                assert standby is not None
                standby.kill()

    asked = {"scales": (1,), "cycles": 2, "duration": 2.0, "clients": 2, "samples": 0}
    outcome = execute(build({"target": {"url": "private:postgresql?standbys=1"}, **asked}), tmp_path, Killer())
    assert outcome.status == "failed"
    assert "scale 1: a standby ended" in str(outcome.error)
    assert Archive.open(outcome.archive).table("cycles").num_rows, "finished cycles stay"


def test_what_an_asynchronous_standby_did_not_have_is_lost_to_the_row(tmp_path: Path) -> None:
    """The standby stands still while the primary commits, then the primary is killed: its tail is nowhere else."""

    class Planter(Silent):
        """Suspends the receiver of the standby in the cycle, until the primary is dead."""

        receiver: psutil.Process | None = None
        sender: psutil.Process

        def moment(self, moment: Moment) -> None:
            if moment.phase == "cycle" and moment.done and self.receiver is None:
                named = {" ".join(one.cmdline()): one for one in servers_of(os.getpid(), "postgres")}
                self.sender = next(one for name, one in named.items() if "walsender" in name)
                self.receiver = next(one for name, one in named.items() if "walreceiver" in name)
                self.receiver.suspend()
            elif self.receiver is not None and not self.sender.is_running():
                with suppress(psutil.NoSuchProcess):
                    self.receiver.resume()

    planter = Planter()
    asked = {"scales": (4,), "cycles": 1, "duration": 6.0, "clients": 4, "event": "3s:failover", "samples": 0}
    outcome = execute(build({"target": {"url": "private:postgresql?standbys=1"}, **asked}), tmp_path, planter)
    assert len(seen(outcome)) == 1
    archive = Archive.open(outcome.archive)
    commits = evaluate(archive).of(OutageResult).commits[4]
    assert commits.lost > 0
    conditions = archive.run.checks[4]
    (counted,) = [one.commits for one in conditions if one.commits is not None]
    assert commits.lost == counted.acknowledged - counted.found
    assert {one.state for one in conditions} == {State.HOLDS, State.NOT_MADE}, "what is left is consistent"
    assert any("commits were lost in an outage" in one.detail for one in conditions)
    assert f" of {commits.acknowledged:,} acknowledged commits are lost" in say(evaluate(archive), archive.run)


def test_a_full_disk_fails_transactions_and_loses_none(tmp_path: Path) -> None:
    before = data_of(os.getpid())
    storage = "ext4?size=1GiB"
    outcome = run("private:postgresql", "2s:fill-disk 2s", tmp_path, duration=12.0, storage=storage)
    (full,) = seen(outcome)
    assert (full.text, full.error) == ("fill-disk of 2 s", "")
    errors = Archive.open(outcome.archive).table("errors").to_pylist()
    refused = sum(row["count"] for row in errors if row["code"] == "53100")
    assert refused or full.outage.length_ns > 1e9, "there was no room: statements failed, or the server had ended"
    assert evaluate(Archive.open(outcome.archive)).of(OutageResult).commits[4].lost == 0
    assert data_of(os.getpid()) == before
