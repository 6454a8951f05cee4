"""What a run says when it cannot go on: to resume is advised only where that can help."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dsbench.archive import Writer
from dsbench.generator import CoreError
from dsbench.runner import RunError, ladder, opening


@pytest.mark.parametrize(
    ("kinds", "usage"),
    [(("configuration",), True), ((None, "configuration"), True), (("disconnected",), False), ((None,), False)],
)
def test_what_was_asked_for_wrongly_is_not_to_be_resumed(kinds: tuple[str | None, ...], usage: bool) -> None:
    failures = [CoreError(kind, "", "so it is") if kind else None for kind in kinds]
    error = opening.ended("scale 1, cycle 2", "so it is", failures)
    assert str(error) == "scale 1, cycle 2: so it is"
    assert error.usage is usage
    assert ("--resume" in error.remedy) is not usage


def test_the_log_of_a_server_is_kept_without_its_password(tmp_path: Path) -> None:
    class Talkative:
        url = "mysql://root:ge%40heim@/?socket=/tmp/socket"

        def log_tail(self, _lines: int) -> list[str]:
            return ["login of root", "with ge@heim or ge%40heim"]

    climb = ladder._Ladder.__new__(ladder._Ladder)
    climb.__dict__.update(server=Talkative(), journal=SimpleNamespace(writer=Writer(tmp_path)))
    climb._keep_server_log("failed")
    assert (tmp_path / "server.log").read_text() == "login of root\nwith *** or ***\n"


@pytest.mark.parametrize(("code", "words"), [("28P01", "password"), ("3D000", "database in TARGET"), ("", "doctor")])
def test_a_server_that_refuses_is_nothing_that_the_doctor_finds(code: str, words: str) -> None:
    with pytest.raises(RunError) as told, opening.told("postgresql://me@host/db"):
        raise CoreError("setup", code, "no entry")
    assert words in told.value.remedy
    assert ("doctor" in told.value.remedy) is (code == "")
