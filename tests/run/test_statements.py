"""Times of each statement, attempts by a number, and figures in pgbench's words."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsbench
from dsbench.read.shown import read
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.statements import StatementsResult
from dsbench.spec import SpecError, merged

SCRIPT = "BEGIN;\nUPDATE t SET a = a + 1;\n\\sleep 1 ms\nEND;\n"


def _run(tmp_path: Path, target: str = "mock:?latency_ms=1", **asked: object) -> dsbench.Archive:
    own = tmp_path / "own.sql"
    own.write_text(SCRIPT)
    more = {"scales": (1,), "cycles": 2, "duration": 0.3, "clients": 2, "out": tmp_path / "out", **asked}
    return dsbench.run(target, script=str(own), **more)


def test_statements_have_times_in_the_archive_and_are_shown(tmp_path: Path) -> None:
    archive = _run(tmp_path, per_statement=True)
    rows = archive.table("statements").to_pylist()
    done = sum(archive.table("cycles")["committed"].to_pylist())
    texts = ["BEGIN", "UPDATE t SET a = a + 1", "\\sleep 1 ms", "END"]
    assert [(row["statement"], row["line"], row["text"]) for row in rows[:4]] == [
        (number, number, text) for number, text in enumerate(texts, start=1)
    ]
    assert all(sum(row["count"] for row in rows if row["text"] == text) == done for text in texts)
    assert all(row["min_ns"] >= 1_000_000 for row in rows if row["text"] in texts[1:3])
    buckets = archive.table("statement_buckets")
    assert sum(buckets["count"].to_pylist()) == sum(row["count"] for row in rows)
    (timed,) = archive.evaluate().of(StatementsResult).statement_times.values()
    assert timed[1].mean_ns == sum(row["sum_ns"] for row in rows if row["statement"] == 2) / done
    assert timed[1].times_ns[0.5] <= timed[1].times_ns[1.0] == max(r["max_ns"] for r in rows if r["statement"] == 2)
    told = read(archive.path, "statements").text
    assert "latency average ms" in told
    assert "UPDATE t SET a = a + 1" in told
    assert '<section id="statements"' in archive.read("report.html").decode()


def test_nothing_is_written_of_statements_that_nobody_asked_for(tmp_path: Path) -> None:
    archive = _run(tmp_path)
    assert not [name for name in archive.names() if name.startswith("statement")]
    assert "run scripts with --per-statement" in read(archive.path, "statements").text


def test_a_workload_without_statements_to_tell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dsbench.RunError, match="does not time its statements"):
        dsbench.run("mock:", scales=(1,), cycles=1, duration=0.1, clients=1, per_statement=True, out=tmp_path)


@pytest.mark.parametrize(("tries", "retries"), [(1, 0), (3, 2)])
def test_attempts_end_at_their_number(tries: int, retries: int, tmp_path: Path) -> None:
    failing = "mock:?latency_ms=1&fail_every=1"
    with pytest.raises(dsbench.RunError, match="no transaction succeeded") as ended:
        _run(tmp_path, failing, max_tries=tries, per_statement=True)
    assert ended.value.archive is not None
    archive = dsbench.open(ended.value.archive)
    (kind,) = archive.evaluate().of(KindsResult).kinds[1]
    assert kind.committed == 0
    assert archive.run.spec.retry == (tries > 1)
    rows = [row for row in archive.table("statements").to_pylist() if row["statement"] == 2]
    failed, retried = (sum(row[name] for row in rows) for name in ("failed", "retried"))
    assert failed > 0
    # A transaction that the end of the cycle cut short has fewer attempts.
    assert abs(retried - retries * failed) <= retries * 2 * 2
    assert failed + retried == kind.failed


def test_attempts_say_whether_they_are_repeated() -> None:
    assert merged({"max_tries": 5}).spec.tries == 5
    assert merged({"max_tries": 0}).spec.tries == 1
    assert merged({"max_tries": 1}).spec.tries == 1
    assert merged({"retry": True}).spec.tries == 0
    assert merged({}).spec.tries == 1
    with pytest.raises(SpecError, match="there is one attempt"):
        merged({"max_tries": 5, "retry": False})
