"""Durability: commits are acknowledged over several sessions, what keeps them is killed, and all are looked for."""

from __future__ import annotations

import contextlib
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from dsbench import servers
from dsbench.check.forgetting import Plain, storage
from dsbench.check.victims import Foreign, InProcess, PrivateServer, Victim, folder_of
from dsbench.children import Child
from dsbench.dataclass import dataclass
from dsbench.measure import stack
from dsbench.measure.beside import LedgerWriters
from dsbench.measure.loaders import NOTES_BYTES, CheckLedger, CoreError, LedgerContent, TargetDatabase
from dsbench.measure.stack import Switch
from dsbench.problem import Problem
from dsbench.servers import ServerError
from dsbench.servers.folder import Folder
from dsbench.spec import SpecError, Target

_FIRST_S: Final = 60.0
"""How long all writers may take to their first commit."""
_WORK_S: Final = (0.1, 0.7)
"""Between these lies the moment of the kill after that."""
_END_S: Final = 60.0

_OF_STORAGE: Final = frozenset({"file system", "mount option"})

Watch = Callable[[int, int], None]
"""Called before each round and while the user is waited for: rounds done, rounds in all. Raises ``Stopped``."""


@dataclass(frozen=True)
class Round:
    """One kill."""

    acknowledged: int
    """Commits that were acknowledged in this round."""
    lost: int
    """Of all rounds so far those that were still there before it, and are not after it."""
    extra: int
    """Commits that were sent and not acknowledged, and are there: both is right."""
    torn: int
    """Rows without their twin, and rows that were never sent, as far as they are new."""
    dropped_bytes: int | None
    """What the file system forgot; ``None`` on plain storage."""
    recovery_s: float
    problem: str = ""
    """Why the database did not come back; all its commits count as lost then."""


@dataclass(frozen=True)
class DurabilityCheck:
    """All kills of a check."""

    storage: str
    writers: int
    version: str
    """Product and version, as the database says it."""
    switches: tuple[Switch, ...] = ()
    """What decides in its settings whether a commit survives a loss of power."""
    rounds: tuple[Round, ...] = ()

    @property
    def acknowledged(self) -> int:
        return sum(one.acknowledged for one in self.rounds)

    @property
    def lost(self) -> int:
        """Acknowledged commits that were not there after a kill."""
        return sum(one.lost for one in self.rounds)

    @property
    def torn(self) -> int:
        """Transactions that were there in part."""
        return sum(one.torn for one in self.rounds)

    @property
    def holds(self) -> bool:
        """Whether every round kept everything whole."""
        return bool(self.rounds) and not self.lost and not self.torn and not any(one.problem for one in self.rounds)


@dataclass
class _Notes:
    """What the writers of all rounds sent and had acknowledged, by their numbers, and what was missed already."""

    sent: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[int, int] = field(default_factory=dict)
    missing: dict[int, int] = field(default_factory=dict)
    torn: int = 0

    def take(self, first: int, notes: bytes) -> int:
        """Adds the notes of a round; gives its acknowledged commits."""
        total = 0
        for at, (sent, acknowledged) in enumerate(struct.iter_unpack("<QQ", notes)):
            self.sent[first + at], self.acknowledged[first + at] = sent, acknowledged
            total += acknowledged
        return total

    def lost(self, missing: Mapping[int, int]) -> int:
        """How many of ``missing``, by writer, are missed for the first time."""
        new = sum(max(count - self.missing.get(writer, 0), 0) for writer, count in missing.items())
        self.missing |= missing
        return new


def durability(
    target: Target, *, rounds: int, writers: int, kind: str, restart: str, watch: Watch, said: Callable[[str], None]
) -> DurabilityCheck:
    """Kills ``target`` in every round while ``writers`` sessions commit, and counts what is there afterwards.

    ``kind`` is one of ``STORAGES``, ``restart`` a command for a server of the user's. Raises ``SpecError`` for what
    cannot be asked of the target, ``ServerError`` and ``CoreError`` where it cannot be worked with; what the check
    made is removed in every case.
    """
    found: list[Round] = []

    def look() -> None:
        watch(len(found), rounds)

    def tell(words: str) -> None:
        said(f"kill {len(found) + 1} of {rounds}: {words}")

    with _victim(target, writers, kind, restart, tell, look) as (victim, place), _noted() as file:
        _create(victim.url)
        try:
            version, switches = described(target, victim.url)
            notes = _Notes()
            for number in range(rounds):
                watch(number, rounds)
                found.append(_round(victim, place, notes, file, 1 + number * writers, writers))
                if found[-1].problem:
                    break
        finally:
            _drop(victim.url)
    return DurabilityCheck(kind, writers, version, switches, tuple(found))


@contextlib.contextmanager
def _victim(
    target: Target, writers: int, kind: str, restart: str, said: Callable[[str], None], look: Callable[[], None]
) -> Iterator[tuple[Victim, Plain]]:
    if target.private is None:
        if kind != "plain":
            raise SpecError("--storage", f"{kind} is for private servers", "use one: private:postgresql")
        with contextlib.closing(TargetDatabase(target.url)) as asked:
            dialect = asked.dialect
        if not dialect.keeps_data:
            raise SpecError("TARGET", "the engine keeps no data", "name a database")
        if not dialect.embedded and not restart and not sys.stdin.isatty():
            problem = "the server must be killed and restarted, and standard input is not a terminal"
            raise SpecError("--restart", problem, "specify a command for it")
        victim = InProcess(target.url) if dialect.embedded else Foreign(target.url, restart, said, look)
        yield victim, Plain(Path())
        return
    base = folder_of(target)
    servers.clean_for(target)
    home = Folder.create(base, "check")
    try:
        # A server of another user has its data inside.
        with storage(kind, home.path) as place:
            within = target.model_copy(update={"directory": place.folder})
            server = PrivateServer(within, writers + 4)
            try:
                yield server, place
            finally:
                server.close()
    finally:
        home.remove()


@contextlib.contextmanager
def _noted() -> Iterator[Path]:
    """A file for what the writers note, which outlives them; never on the storage that forgets."""
    home = Folder.create(Path(tempfile.gettempdir()).resolve(), "notes")
    try:
        yield home.path / "notes"
    finally:
        home.remove()


def _round(victim: Victim, place: Plain, notes: _Notes, file: Path, first: int, writers: int) -> Round:
    file.write_bytes(bytes(NOTES_BYTES * writers))
    place.ready()
    with Child(LedgerWriters, "the writers", shown=False) as child:
        child.ask("write", victim.url, str(file), first, writers)
        _begun(child, file, writers)
        victim.kill(child)
        _ended(child)
    dropped = place.forget()
    acknowledged = notes.take(first, file.read_bytes())
    began = time.monotonic()
    try:
        victim.recover()
        recovery_s = time.monotonic() - began
        return _counted(victim.url, notes, first, Round(acknowledged, 0, 0, 0, dropped, recovery_s))
    except (ServerError, CoreError) as error:
        lost, problem = notes.lost(notes.acknowledged), str(error).strip()
        return Round(acknowledged, lost, 0, 0, dropped, time.monotonic() - began, problem)


def _begun(child: Child, file: Path, writers: int) -> None:
    """Waits until every writer has had a commit acknowledged, and a while longer. ``ServerError`` where none comes."""
    deadline = time.monotonic() + _FIRST_S
    while not all(acknowledged for _, acknowledged in struct.iter_unpack("<QQ", file.read_bytes())):
        if child.has_answered:
            try:
                said = "\n".join(child.answer())
            except Problem as error:
                said = str(error)
            raise ServerError(f"the writers ended before they were killed: {said}", "try again")
        if time.monotonic() > deadline:
            raise ServerError(f"some of {writers} writers committed nothing in {_FIRST_S:.0f} s", "use fewer --clients")
        time.sleep(0.01)
    time.sleep(random.uniform(*_WORK_S))


def _ended(child: Child) -> None:
    """Waits until all writers have lost their sessions, or were killed."""
    deadline = time.monotonic() + _END_S

    def look() -> None:
        if time.monotonic() > deadline:
            problem = f"the sessions of the writers still exist {_END_S:.0f} s after the kill"
            raise ServerError(problem, "check that the restarted server is the one of TARGET")

    with contextlib.suppress(Problem):
        child.answer(look=look)


def _counted(url: str, notes: _Notes, first: int, before: Round) -> Round:
    """``before`` with what the database has of the ledger; ``first`` is the first writer of the round."""
    with _ledger(url) as ledger:
        found = ledger.found()
        missing = {writer: acked - ledger.kept(writer, acked) for writer, acked in _short(found, notes.acknowledged)}
    beyond = {writer: last - notes.acknowledged.get(writer, 0) for writer, (_, last) in found.rows.items()}
    unsent = sum(max(last - notes.sent.get(writer, 0), 0) for writer, (_, last) in found.rows.items())
    torn, notes.torn = found.halves + unsent - notes.torn, found.halves + unsent
    extra = sum(max(more, 0) for writer, more in beyond.items() if writer >= first)
    return replace(before, lost=notes.lost(missing), extra=extra, torn=max(torn, 0))


def _short(found: LedgerContent, acknowledged: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Writers whose rows are not 1, 2, 3 … up to the last acknowledged one at least, with that."""
    for writer, acked in acknowledged.items():
        rows, last = found.rows.get(writer, (0, 0))
        if rows != last or rows < acked:
            yield writer, acked


@contextlib.contextmanager
def _ledger(url: str) -> Iterator[CheckLedger]:
    target = TargetDatabase(url)
    try:
        yield CheckLedger(target)
    finally:
        target.close()


def _create(url: str) -> None:
    with _ledger(url) as ledger:
        ledger.create()


def described(target: Target, url: str) -> tuple[str, tuple[Switch, ...]]:
    """Product and version of the server at ``url``, and what decides whether a commit survives a loss of power."""
    with contextlib.closing(TargetDatabase(url)) as asked:
        name = asked.dialect.name
        directory = stack.data_directory(name, asked, target.model_copy(update={"url": url}))
        found = stack.describe(name, directory, asked, url)
    # The file system is the one of the check; it is told by itself.
    return found.server_version, tuple(one for one in found.durability if one["switch"] not in _OF_STORAGE)


def _drop(url: str) -> None:
    """Whatever ended the check: what carries our mark goes, where the database still answers."""
    with contextlib.suppress(CoreError), contextlib.closing(TargetDatabase(url)) as target:
        target.drop()
