"""What a Firebird is asked before a run. Without a database there is no session: then little can be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dsbench.measure.preflight.facts import Asking, Fact, Fit, durability, way
from dsbench.measure.stack.rdbms import firebird as stack

SMALLEST: Final = "SELECT 1 FROM rdb$database"
_DATABASE: Final = (
    "SELECT rdb$get_context('SYSTEM', 'ENGINE_VERSION') AS version, mon$read_only AS closed,"
    " mon$forced_writes AS forced, current_user AS name FROM mon$database"
)


def facts(asking: Asking) -> Iterator[Fact]:
    """What the server is, and whether the database takes writes."""
    if asking.need.makes:
        words = "what the server allows is known once its database is made"
        yield Fact("server", Fit.UNKNOWN, words, "the user needs the right to make it: GRANT CREATE DATABASE TO USER …")
        return
    found = {name.lower(): value for name, value in asking.row(_DATABASE).items()}
    yield Fact("server", Fit.OK if found else Fit.UNKNOWN, f"Firebird {found.get('version', '')}".strip())
    yield from way(asking.target, SMALLEST)
    if found.get("closed") == "1":
        fit = Fit.REFUSED if asking.need.writes else Fit.OK
        yield Fact("writes", fit, "the database is read-only", "gfix -mode read_write" if fit is Fit.REFUSED else "")
    yield durability(stack.durability(found.get("forced", "")))
