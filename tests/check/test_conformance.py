"""The conformance suite from Python, on the products that the tests of the engines do not start; and its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.check import conformance
from dsbench.check.conformance import SuiteResult
from dsbench.measure.loaders import Case, CoreError, TargetDatabase
from dsbench.spec import Target
from fixtures.thorough import mostly_thorough

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "url",
    mostly_thorough(
        [
            "private:postgresql@14",
            "private:postgresql@18",
            pytest.param("private:mysql@8.0", marks=pytest.mark.needs_mysql, id="mysql"),
            "private:firebird?ServerMode=Classic",
        ],
        "private:postgresql@18",
    ),
)
def test_versions_do_what_they_document(url: str) -> None:
    told: list[tuple[int, int]] = []
    outcome = conformance.conform(Target(url=url), lambda _what, done, total: told.append((done, total)))
    assert [f"{case.name}, {case.variant}: {case.outcome}, {case.detail}" for case in outcome.failures] == []
    assert url.partition("@")[2] in outcome.version
    assert any(case.name == "the server is killed in commit: unknown" for case in outcome.cases)
    assert told[0] == (0, told[-1][1])
    assert told[-1][0] == told[-1][1] > 60


def test_a_file_that_is_there_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    TargetDatabase(url).create("my own")
    with pytest.raises(CoreError, match="my own"):
        conformance.conform(Target(url=url), lambda *_: None)
    assert TargetDatabase(url).state() == ("marked", "my own")


def test_every_variant_here_is_looked_at() -> None:
    here = servers.variants()
    assert Target(url="private:sqlite") in here
    engines = [target.settings.get("storage_engine", "") for target in here if target.url == "private:mariadb"]
    assert {"", "RocksDB"} <= set(engines)
    modes = [target.settings.get("ServerMode") for target in here if target.url == "private:firebird"]
    assert {"Super", "SuperClassic", "Classic", None} <= set(modes), "three modes of the server, and the engine"


def _outcome(version: str, skew: str, **more: str) -> SuiteResult:
    cases = [
        Case("isolation", "write skew", "repeatable-read", "allowed", "allowed", ""),
        Case("isolation", "write skew", "serializable", skew, "aborts (serialization)", ""),
        Case("types", "NULL", "prepared", "holds", "holds", ""),
        Case("types", "NULL", "direct", more.get("direct", "holds"), "holds", more.get("why", "")),
        Case("losses", "a session is ended", "", "absent", "absent", ""),
    ]
    return SuiteResult("private:postgresql", version, "postgresql", tuple(cases))


def test_the_tables_hold_a_column_for_each_product_and_mark_what_is_wrong() -> None:
    one, two = _outcome("PostgreSQL 15", "aborts (serialization)"), _outcome("PostgreSQL 99", "allowed", direct="broken", why="lost")
    text = conformance.tables([one, two])
    assert "| schedule | level | PostgreSQL 15 | PostgreSQL 99 |" in text
    assert "| write skew | repeatable read | allowed | allowed |" in text
    assert "| write skew | serializable | aborts (serialization) | **allowed**, not aborts (serialization) |" in text
    assert "| types: NULL | direct | yes | **broken**, not holds |" in text
    assert "| losses: a session is ended |  | – | – |" in text
    assert "- PostgreSQL 99: types: NULL, direct: broken, documented: holds (lost)" in text
    assert "- PostgreSQL: PostgreSQL manual" in text
    assert "MyRocks" not in text.partition("Where it is documented")[2]
    assert "- types: NULL\n" in conformance.tables([one])
    same = conformance.tables([one, _outcome("PostgreSQL 16", "aborts (serialization)"), two])
    assert "| schedule | level | PostgreSQL 15, PostgreSQL 16 | PostgreSQL 99 |" in same
    assert "Not as documented" not in conformance.tables([one])


def test_the_page_keeps_what_was_written_by_hand() -> None:
    one = _outcome("PostgreSQL 15", "aborts (serialization)")
    first = conformance.page("# By hand\n\n", [one])
    assert first.startswith(f"# By hand\n\n{conformance.MARK}")
    assert conformance.page(first, [one]) == first


def test_the_page_of_the_documentation_is_whole() -> None:
    """Its second half is what ``dsbench servers conform --write`` left: every schedule and level, nothing amiss."""
    text = (ROOT / "docs/engines/conformance.md").read_text()
    _, mark, measured = text.partition(conformance.MARK)
    assert mark
    assert "Not as documented" not in measured
    assert len(re.findall(r"^\| (?:dirty read|phantom|write skew) \|", measured, re.MULTILINE)) >= 3
    for product in ("PostgreSQL 14", "PostgreSQL 18", "MySQL 8.0", "MariaDB", "ROCKSDB", "SQLite", "Firebird 3", "Firebird 5"):
        assert product in measured
