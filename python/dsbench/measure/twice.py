"""What a server says of itself, read around the cycles of each load stage: whether it stayed itself, in one state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dsbench.measure.journal import Journal
from dsbench.measure.stack.described import Database, StackQueries
from dsbench.measure.stack.rdbms import describe

_TOLD: Final = 4
"""Settings that are told one by one."""


class Twice:
    """The server of a run, which is described around the cycles of each load stage."""

    def __init__(self, journal: Journal, engine: str, queries: StackQueries, url: str) -> None:
        self._journal = journal
        self._from = engine, queries, url
        self._before = Database()

    def begin(self) -> None:
        """Before the cycles, and when the run itself has restarted the server."""
        self._before = describe(*self._from)

    def renew(self) -> list[str]:
        """After a planned outage: what changed by it, in words, which is no change from then on."""
        before, self._before = self._before, describe(*self._from)
        return list(find_changes(before, self._before))

    def end(self, scale: int) -> None:
        """After them: warns of what changed. A promise that was given up stands in ``run.json``."""
        after = describe(*self._from)
        if found := list(find_changes(self._before, after)):
            words = f"the server changed during the cycles of scale {scale}: {'; '.join(found)}"
            remedy = "not all cycles were measured on the same state of one server: repeat the scale"
            self._journal.warn("server-changed", words, remedy, scale)
            given_up = {one["switch"]: one for one in after.durability if not one["safe"]}
            kept = self._journal.record.durability
            noted = [given_up.get(one.switch) or one.model_dump() for one in kept]
            self._journal.note(durability=noted)


def find_changes(before: Database, after: Database) -> Iterator[str]:
    """What differs, in words: the server first, then what it promises, then its other settings. What one of both does
    not tell is no difference."""
    if not (before.version and after.version):
        return  # Whoever does not tell its version tells nothing.
    identity = {"version": before.version, **before.identity}, {"version": after.version, **after.identity}
    yield from _differing(*identity)
    promised = {one["switch"]: one["value"] for one in before.durability}
    now = {
        one["switch"]: f"{one['value']}: {one['meaning']}"
        for one in after.durability if one["value"] != promised.get(one["switch"])
    }  # fmt: skip
    yield from _differing(promised, now)
    default = "its default"
    names = {*before.settings, *after.settings} - set(promised)
    settings = ({name: of.settings.get(name, default) for name in sorted(names)} for of in (before, after))
    told = list(_differing(*settings))
    yield from told[:_TOLD]
    if len(told) > _TOLD:
        yield f"{len(told) - _TOLD} more settings changed"


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name, old in before.items():
        new = after.get(name, "")
        if old and new and old != new:
            yield f"{name} was {old}, and is {new}"
