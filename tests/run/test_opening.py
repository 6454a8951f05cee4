"""What a run says when it cannot go on: to resume is advised only where that can help."""

from __future__ import annotations

import pytest

from dsbench.generator import CoreError
from dsbench.run import opening


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
