"""The checklist: what a run answers, and what it warns of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dsbench.archive import Archive, RunRecord
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.page import page
from dsbench.read.shown import read
from dsbench.read.subjects.checklist import Answer, checklist
from fixtures import sample
from fixtures.archives import S, bucket_rows, cycle_row, run_json, write
from fixtures.sample import replace

KEPT = sorted((Path(__file__).parent.parent / "data/archives").glob("*.zip"))


def answers(run: RunRecord, evaluation: Evaluation) -> dict[str, Answer]:
    """The answers by the first words of their questions."""
    return {" ".join(one.question.split()[:3]): one for one in checklist(run, evaluation)}


def test_attempts_are_those_that_ended_with_intended_rollbacks() -> None:
    archive = Archive.open(next(one for one in KEPT if one.stem == "ch"))
    rows = archive.table("cycles").to_pylist()
    failed, attempts = (sum(row[name] for row in rows for name in names)
                        for names in (("failed",), ("committed", "rolled_back", "failed")))  # fmt: skip
    said = answers(archive.run, evaluate(archive))["Are deadlocks prevented,"].answer
    assert f"{failed:,} of {attempts:,} attempts failed" in said


def test_a_run_with_fsync_off_is_named_by_it() -> None:
    found, run = sample.evaluation(scales=(1, 2)), sample.run()
    logged = answers(run, found)["Is every commit"]
    assert logged.verdict == "beware"
    assert logged.answer.startswith("NOT DURABLE: fsync off: a power cut loses")
    shown = page(sample.replace(found, run=run, checklist=checklist(run, found)), run, {})
    assert '<section id="checklist"' in shown
    assert logged.answer in shown
    safe = sample.run(durability=[{"switch": "fsync", "value": "on", "safe": True, "meaning": "flushed"}])
    assert answers(safe, found)["Is every commit"].verdict == "good"
    assert answers(sample.run(durability=[]), found)["Is every commit"].verdict == "not known"


def test_a_short_interval_or_one_without_a_checkpoint_is_a_burst() -> None:
    found, run = sample.evaluation(scales=(1, 2)), sample.run()
    short = sample.replace(found, durations_s={1: np.full(3, 5.0), 2: np.full(3, 60.0)})
    for one, verdict in (
        (found, "told"),
        (short, "beware"),
        (replace(short, checkpoints={1: (2,), 2: ()}), "good"),
        (sample.replace(found, checkpoints={1: (), 2: ()}), "beware"),
    ):
        interval = answers(run, one)["Is the interval"]
        assert interval.verdict == verdict
        assert ("burst" in interval.answer) == (verdict == "beware")


def test_failures_count_by_whether_they_were_run_again() -> None:
    found = sample.evaluation(scales=(1, 2))
    assert answers(sample.run(), found)["Are deadlocks prevented,"].verdict == "beware"
    again = answers(sample.run(spec={"retry": True}), found)["Are deadlocks prevented,"]
    assert again.verdict == "good"
    assert "serialization 40001" in again.answer


def test_a_database_within_memory_is_told() -> None:
    found = sample.evaluation()
    size = answers(sample.run(), found)["How large is"]
    assert size.verdict == "good", "scale 2000 has 30 GB, the machine 16.7"
    assert size.answer.endswith("larger than memory at scale 2,000, 5,000 and 10,000")
    assert answers(sample.run(marks={"RAM": 10**12}), found)["How large is"].verdict == "beware"
    assert answers(sample.run(marks={}), found)["How large is"].verdict == "not known"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_archives_of_older_versions_are_answered(path: Path) -> None:
    archive = Archive.open(path)
    found = checklist(archive.run, evaluate(archive))
    shown = read(path, "checklist")
    assert [one["question"] for one in shown.document["checklist"]] == [one.question for one in found]
    for one in found:
        assert one.verdict in ("good", "beware", "told", "not known")
        assert (one.verdict == "not known") == ("not known" in one.answer)
        assert one.answer in shown.text


def test_tp1_is_asked_for_its_size_its_history_and_its_remote_share() -> None:
    found = sample.evaluation(scales=(1, 2))
    run = sample.run(spec={"workload": "tp1", "workload_settings": {"history": "partitioned", "before": "7"}})
    said = answers(run, found)
    assert "100 bytes of data in a branch, teller and account, 50 in a row of history" in said["How large are"].answer
    assert "scale 2 is sized for 2 tps, but the rate was 486 tps" in said["How large is"].answer
    history = "partitioned: 16 tables by branch (PostgreSQL, MariaDB, MySQL); 7 rows for each unit of scale before"
    assert said["How is the"].answer.startswith(history)
    assert said["How many transactions"].answer.startswith("none, as requested: ")
    remote = sample.run(spec={"workload": "tp1", "workload_settings": {"remote": "15"}})
    shown = answers(remote, sample.replace(found, remote_share={1: 0.2}))["How many transactions"]
    assert shown.verdict == "beware", "ten branches are there at scale 1"
    assert shown.answer.startswith("20.0% to 20.0% changed another branch's account")


def test_a_percentile_that_too_few_transactions_tell_is_no_answer(tmp_path: Path) -> None:
    """A p95 takes 100 transactions, five beyond it."""
    def said(*counts: int) -> str:
        rows = {"cycles": [cycle_row(at, 1, [at * S] * n) for at, n in enumerate(counts, 1)],
                "buckets": [row for at, n in enumerate(counts, 1) for row in bucket_rows(at, 1, [at * S] * n)]}  # fmt: skip
        asked = {"scales": list(range(1, len(counts) + 1)), "cycles": 1, "duration": 1.0}
        archive = write(tmp_path, run_json(asked, name=f"{counts}"), rows)
        return answers(archive.run, evaluate(archive))["Do 95% end"].answer

    assert said(99) == "not known: too few transactions"
    assert said(100, 99) == "95% end within 1 s; too few transactions in 1 of 2 series and scales"
    assert said(100, 100) == "95% end within 2 s"


def test_terminals_and_a_second_log_are_named() -> None:
    assert "no terminals" in answers(sample.run(spec={"workload": "tp1"}), sample.evaluation())["Are there terminals?"].answer
    asked = {"workload": "tp1", "workload_settings": {"terminal": "block"},
             "target": {"url": "private:postgresql", "settings": {"second_log": "/disk1"}}}  # fmt: skip
    said = answers(sample.run(spec=asked), sample.evaluation())
    assert said["Are there terminals?"].answer.startswith("one for each client, in block mode")
    assert "second log in /disk1" in said["Is the log"].answer


def test_the_way_to_the_server_and_a_second_log_are_asked_for() -> None:
    found, run = sample.evaluation(), sample.run()
    assert answers(run, found)["Is the log"].verdict == "not known"
    assert answers(sample.run(embedded=True), found)["How do transactions"].answer == "within the process of the client"
    stack = [{"layer": "API", "items": {"transport": "TCP with TLS"}},
             {"layer": "storage backend", "items": {"device": "md0 (raid1) on sda, sdb"}}]  # fmt: skip
    said = answers(sample.run(stack=stack), found)
    assert said["How do transactions"].answer == "TCP with TLS"
    assert said["Is the log"].verdict == "good"


def test_a_sweep_names_where_the_rate_was_highest() -> None:
    archive = Archive.open(next(path for path in KEPT if path.stem == "mock-clients"))
    swept = answers(archive.run, evaluate(archive))["Was the number"]
    assert swept.answer.startswith("swept: 2 and 4 clients; the highest rate at scale 1 with 4")
    assert swept.verdict == "beware", "more may be faster"
