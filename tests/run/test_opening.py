"""What a run says when it cannot go on: to resume is advised only where that can help."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dsbench.archive import Writer
from dsbench.measure import opening, run
from dsbench.measure.cycle_log import say_where
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.spec import build


@pytest.mark.parametrize(
    ("kinds", "usage"),
    [(("configuration",), True), ((None, "configuration"), True), (("disconnected",), False), ((None,), False)],
)
def test_what_was_asked_for_wrongly_is_not_to_be_resumed(kinds: tuple[str | None, ...], usage: bool) -> None:
    failures = [CoreError(kind, "", "so it is") if kind else None for kind in kinds]
    error = opening.explain_cycle("scale 1, cycle 2", "so it is", failures)
    assert str(error) == "scale 1, cycle 2: so it is"
    assert error.usage is usage
    assert ("--resume" in error.remedy) is not usage


def test_the_log_of_a_server_is_kept_without_its_password(tmp_path: Path) -> None:
    class Talkative:
        url = "mysql://root:ge%40heim@/?socket=/tmp/socket"

        def log_tail(self, _lines: int) -> list[str]:
            return ["login of root", "with ge@heim or ge%40heim"]

    made = run._Run.__new__(run._Run)
    spec = build({"target": {"url": Talkative.url}})
    made.__dict__.update(spec=spec, server=Talkative(), journal=SimpleNamespace(writer=Writer(tmp_path)))
    made._keep_server_log("failed")
    assert (tmp_path / "server.log").read_text() == "login of root\nwith *** or ***\n"


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        ("postgresql://me@host/db", "28P01", "password"), ("postgresql://me@host/db", "3D000", "database in TARGET"),
        ("postgresql://me@host/db", "", "that the server is running"), ("sqlite:///a.db", "", "right file"),
        ("private:firebird", "", "doctor"),
    ],
)  # fmt: skip
def test_the_doctor_is_asked_about_this_machine_only(target: str, code: str, words: str) -> None:
    with pytest.raises(RunError) as told, opening.explain_errors(target):
        raise CoreError("setup", code, "no entry")
    assert words in told.value.remedy
    assert ("doctor" in told.value.remedy) is target.startswith("private:")


@pytest.mark.parametrize("under_way", [False, True])
def test_an_error_with_a_remedy_is_shown_with_that_one(under_way: bool) -> None:
    target = cast("TargetDatabase", SimpleNamespace(state=list))
    where = opening.during("scale 1", target) if under_way else opening.explain_errors("scale 1")
    with pytest.raises(RunError) as shown, where:
        raise CoreError("setup", "42501", 'no right to "a; b" (42501)', "grant it")
    assert (str(shown.value), shown.value.remedy) == ('scale 1: no right to "a; b" (42501)', "grant it")


def test_a_server_that_is_gone_has_the_run_resumed() -> None:
    def gone() -> None:
        raise CoreError("setup", "", "no server", "start it")

    target = cast("TargetDatabase", SimpleNamespace(state=gone))
    for code, remedy in (("", opening.KEPT), ("53300", "fewer clients; then: dsbench run --resume ARCHIVE")):
        with pytest.raises(RunError) as shown, opening.during("scale 1", target):
            raise CoreError("setup", code, "refused", "fewer clients")
        assert shown.value.remedy == remedy


def test_a_full_disk_is_nothing_that_a_server_says() -> None:
    failed = CoreError("other", "13", "commit: database or disk is full (13)")
    error = opening.explain_cycle("scale 1, cycle 1", f"load: the last one: {failed}", [failed])
    assert error.remedy.startswith("free up space on the disk of the database")
    with pytest.raises(RunError) as told, opening.during("scale 1, populate", cast("TargetDatabase", SimpleNamespace(state=list))):
        raise failed
    assert told.value.remedy == error.remedy


def test_a_loop_before_the_cycles_has_no_number() -> None:
    assert [say_where(2, number) for number in (0, 3)] == ["scale 2, before the cycles", "scale 2, cycle 3"]
