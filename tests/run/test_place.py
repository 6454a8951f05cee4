"""Two runs on one target, on engines of every way to guard it: a lock, a mark, the sessions that are seen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.measure import place
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import HALF_OPEN, TAKEN, CoreError, TargetDatabase
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.opening import during
from dsbench.measure.run import execute
from dsbench.spec import RunSpec, Target, build
from fixtures.relay import Relay
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough
from fixtures.told import kept

PRODUCTS = ["private:postgresql", "private:mariadb", "private:firebird", "private:sqlite"]


@pytest.fixture(scope="module", params=mostly_thorough(PRODUCTS, "private:postgresql", "private:sqlite"))
def server(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    wanted = Target(url=request.param, version="3" if request.param == "private:firebird" else None)
    with servers.start(wanted, 20) as running:
        yield running


def _spec(url: str) -> RunSpec:
    return build({"target": {"url": url}, "scales": (1,), "cycles": 2, "duration": 0.5, "clients": 2, "seed": 7})


def test_a_second_run_is_refused_and_the_first_goes_on(server: servers.Server, tmp_path: Path) -> None:
    refused: list[str] = []

    class Second(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 1):
                with pytest.raises(RunError, match="using this target") as error:
                    execute(_spec(server.url), tmp_path / "second", Silent())
                refused.append(error.value.remedy)

    outcome = execute(_spec(server.url), tmp_path / "first", Second())
    assert (outcome.status, outcome.void_scales, len(refused)) == ("complete", (), 1)
    assert "specify another database" in refused[0]
    assert not (tmp_path / "second").exists(), "no archive was begun"
    assert TargetDatabase(server.url).state() == ("absent", "")


@unless_stalled
def test_a_run_from_another_host_is_seen(server: servers.Server, tmp_path: Path) -> None:
    """Its process is not here: what it holds at the server tells."""
    other = TargetDatabase(server.url)
    place.lock(other)
    other.create(json.dumps({"run": "far", "host": "elsewhere", "pid": 1, "process_started": 1.0}))
    other.fetch("select 1 as one from rdb$database" if server.url.startswith("firebird") else "select 1 as one")
    with pytest.raises(RunError, match="using this target"):
        execute(_spec(server.url), tmp_path / "refused", Silent())
    assert other.state()[0] == "marked", "nothing was dropped"
    other.close()
    outcome = execute(_spec(server.url), tmp_path / "next", Silent())
    assert outcome.status == "complete", "what it left when it died is dropped"


END_HOLDERS = {
    "postgres": "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted",
    "mysql": "KILL {0}",
}
"""By dialect: ends the session that holds the target."""
OWN_SESSION = {"postgres": "SELECT pg_backend_pid() AS id", "mysql": "SELECT connection_id() AS id"}


@pytest.fixture(params=mostly_thorough(["private:postgresql", "private:mariadb"], "private:postgresql"), scope="module")
def locking(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    with servers.start(Target(url=request.param), 20) as running:
        yield running


@pytest.fixture
def holder(locking: servers.Server) -> Iterator[tuple[TargetDatabase, TargetDatabase]]:
    """A target that a run holds, whose session was just ended, and another one of the same database."""
    with closing(TargetDatabase(locking.url)) as first, closing(TargetDatabase(locking.url)) as second:
        place.lock(first)
        number = first.fetch(OWN_SESSION[first.dialect.name])[0]["id"]
        second.fetch(END_HOLDERS[first.dialect.name].format(number))
        yield first, second


def seize(target: TargetDatabase) -> None:
    """Takes the lock once the server has let the session go that was ended."""
    give_up = time.monotonic() + 30
    while True:
        try:
            return place.lock(target)
        except RunError:
            assert time.monotonic() < give_up
            time.sleep(0.01)


def test_a_lost_session_is_opened_again_with_its_lock(holder: tuple[TargetDatabase, TargetDatabase]) -> None:
    first, second = holder
    first.hold()
    first.check_claim()
    with pytest.raises(RunError, match="another run of dsbench is using this target"):
        place.lock(second)


def test_a_lock_that_was_lost_to_another_run_is_told(holder: tuple[TargetDatabase, TargetDatabase]) -> None:
    first, second = holder
    seize(second)
    for ask in (first.hold, first.check_claim, lambda: first.fetch("SELECT 1"), lambda: place.make(first, "mark")):
        with pytest.raises(CoreError, match="another session holds the target now") as error:
            ask()
        assert (error.value.kind, error.value.code) == ("setup", TAKEN)
    assert second.state() == ("absent", "")


LISTENING = {"private:postgresql": "listen_addresses", "private:mariadb": "bind_address"}


@pytest.fixture
def postgresql_listening() -> Iterator[servers.Server]:
    listening = Target(url="private:postgresql", settings={"listen_addresses": "127.0.0.1"})
    with servers.start(listening, 20) as running:
        yield running


@pytest.fixture(params=mostly_thorough(LISTENING, "private:postgresql"), scope="module")
def networked(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    with servers.start(Target(url=request.param, settings={LISTENING[request.param]: "127.0.0.1"}), 20) as running:
        yield running


def test_what_the_server_has_of_a_lost_session_is_ended(networked: servers.Server) -> None:
    with Relay(networked.url) as relay, closing(TargetDatabase(relay.url)) as first, closing(TargetDatabase(networked.url)) as second:
        place.lock(first)
        number = first.fetch(OWN_SESSION[first.dialect.name])[0]["id"]
        with pytest.raises(RunError, match=rf"is using this target: session {number} from 127\.0\.0\.1:\d+$"):
            place.lock(second)
        for _ in range(2):
            assert relay.cut() >= 1
            first.hold()
            first.check_claim()
        assert first.fetch(OWN_SESSION[first.dialect.name])[0]["id"] != number
        with pytest.raises(RunError, match="another run of dsbench is using this target"):
            place.lock(second)


def test_a_run_goes_on_whose_sessions_are_lost_on_its_side_only(networked: servers.Server, tmp_path: Path) -> None:
    with Relay(networked.url) as relay:

        class Cuts(Silent):
            cut = 0

            def moment(self, moment: Moment) -> None:
                if moment.phase == "cycle" and moment.done and not self.cut:
                    self.cut = relay.cut()

        observer = Cuts()
        outcome = execute(_spec(relay.url), tmp_path, observer)
    assert observer.cut > 1
    assert (outcome.error, outcome.status, outcome.void_scales) == (None, "complete", ())


def test_a_lost_session_that_may_not_be_ended_is_named(postgresql_listening: servers.Server) -> None:
    """To the run that had it and to the next one."""
    with closing(TargetDatabase(postgresql_listening.url)) as super_user:
        super_user.fetch("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        super_user.fetch("REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC")
    address = postgresql_listening.url.partition("@")[2]
    plain = f"postgresql://plain:plain@{address}"
    with Relay(plain) as relay, closing(TargetDatabase(relay.url)) as first, closing(TargetDatabase(plain)) as second:
        place.lock(first)
        number = first.fetch(OWN_SESSION["postgres"])[0]["id"]
        relay.cut()
        where = rf"session {number} from 127\.0\.0\.1:\d+"
        with pytest.raises(CoreError, match=f"was lost, and still holds it, as the server has not noticed: {where}") as lost:
            first.hold()
        assert lost.value.code == HALF_OPEN
        with pytest.raises(RunError, match=where) as refused:
            place.lock(second)
        assert "terminate its session on the server" in refused.value.remedy
        with pytest.raises(RunError, match=r"cycle 1: lock: .* still holds it") as ended, during("cycle 1", first):
            first.check_claim()
        assert ended.value.remedy.startswith("terminate that session on the server")


def test_a_run_whose_target_was_taken_ends(postgresql: servers.Server, tmp_path: Path) -> None:
    """In the middle of a cycle, by monitors that notice that their session is gone."""
    with closing(TargetDatabase(postgresql.url)) as other:

        class Thief(Silent):
            taken = False

            def moment(self, moment: Moment) -> None:
                if moment.phase == "cycle" and not self.taken:
                    self.taken = True
                    other.fetch(END_HOLDERS["postgres"])
                    seize(other)

        long = build(
            {"target": {"url": postgresql.url}, "scales": (1,), "cycles": 1, "duration": 60, "clients": 2}
            | {"placement": "free"}
        )
        outcome = execute(long, tmp_path, Thief())
    assert (outcome.status, outcome.error is not None) == ("failed", True)
    assert outcome.error is not None
    assert str(outcome.error).startswith("scale 1, cycle 1: ")
    assert "another session holds the target now" in str(outcome.error)
    assert "when it has ended: dsbench run --resume ARCHIVE" in outcome.error.remedy


@pytest.mark.thorough
def test_a_private_firebird_is_described_before_its_load(tmp_path: Path) -> None:
    wanted = {"url": "private:firebird", "version": "3", "settings": {"page_size": "4096", "forced_writes": "off"}}
    spec = build({"target": wanted, "scales": (1,), "cycles": 1, "duration": 0.5, "clients": 1})
    outcome = execute(spec, tmp_path, Silent())
    described = json.loads((outcome.archive / "run.json").read_text())
    items = {name: value for layer in described["stack"] for name, value in layer["items"].items()}
    assert items["page size"] == "4 KiB"
    assert described["server_version"].startswith("Firebird 3.0")
    assert next(s["switch"] for s in described["durability"] if not s["safe"]) == "forced writes"
    assert described["marks"]["page_buffers"] > 0


def test_a_file_whose_folder_is_missing_is_refused_before_anything_begins(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/missing/a.db"
    with pytest.raises(RunError, match="missing is not a directory") as error:
        execute(_spec(url), tmp_path / "out", Silent())
    assert error.value.usage
    assert error.value.remedy.startswith("create it, and note")
    assert not (tmp_path / "out").exists()
