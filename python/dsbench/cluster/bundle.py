"""What a machine needs to take part in a run, in one small file: where the coordinator is, whom to trust, who it is.

``invite`` writes a folder of them: one for the coordinator, one for each node. A bundle holds a private key, so
the files are for their owner alone (0600), and no password of a database.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic_core import from_json

from dsbench.cluster.certificates import COORDINATOR, Credentials, issue, wrong_part
from dsbench.cluster.errors import ClusterError

FORMAT: Final = 1
PORT: Final = 8786
VALID: Final = timedelta(days=3)
SUFFIX: Final = ".bundle"

_LONGEST: Final = 100_000
_TIME: Final = TypeAdapter(AwareDatetime)
_ELSEWHERE: Final = ("192.0.2.1", 9)
"""An address for documentation: no packet is sent, the system only says which of ours would face it."""


def _host(text: str) -> str:
    if not text or any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError("no host")
    text.encode("idna")
    return text


def _moment(text: str) -> str:
    _TIME.validate_python(text)
    return text


@checked(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Bundle:
    """One member's place in a cluster."""

    run: str
    """Random name of the invitation that it belongs to."""
    member: Annotated[str, Field(pattern=r"^(coordinator|node-[1-9][0-9]{0,8})$")]
    """``coordinator`` or ``node-1``, ``node-2`` …"""
    host: Annotated[str, AfterValidator(_host)]
    port: Annotated[int, Field(ge=1, le=65535)]
    """Where the coordinator listens."""
    expires: Annotated[str, AfterValidator(_moment)]
    """ISO 8601"""
    trusted: str
    certificate: str
    key: str = field(repr=False)

    @property
    def address(self) -> str:
        """The coordinator's address, as it is said."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tls://{host}:{self.port}"

    @property
    def expired(self) -> bool:
        """Whether its certificate is not valid any more."""
        return datetime.now(UTC) >= _TIME.validate_python(self.expires)

    def write(self, path: Path) -> None:
        """Writes the file for its owner alone; it must not be there yet."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)


@dataclass(frozen=True)
class Invitation:
    """The bundles of one run in a folder."""

    folder: Path
    coordinator: Bundle

    @property
    def bundles(self) -> list[Path]:
        """The files for the nodes, by their number."""
        return sorted(self.folder.glob(f"node-*{SUFFIX}"), key=lambda path: number_of(path.stem))

    def spend(self) -> None:
        """Forgets the coordinator's key: the bundles of the nodes open nothing any more."""
        (self.folder / f"{COORDINATOR}{SUFFIX}").unlink(missing_ok=True)

    def forget(self) -> None:
        """Deletes all bundles: whoever needs one has it in memory, and a program that is killed leaves no key."""
        for path in self.folder.glob(f"*{SUFFIX}"):
            path.unlink(missing_ok=True)


def number_of(member: str) -> int:
    """3 of ``node-3``; 0 of what is no node's name."""
    text = member.removeprefix("node-")
    return int(text) if text.isdecimal() else 0


def invite(folder: Path, nodes: int, host: str = "", port: int = PORT, valid: timedelta = VALID) -> Invitation:
    """Writes the bundles of a new cluster into ``folder``, which must not hold any yet."""
    run, expires = secrets.token_hex(8), (datetime.now(UTC) + valid).isoformat(timespec="seconds")
    names = [f"node-{number}" for number in range(1, nodes + 1)]
    host = host or own_address()

    def bundle(who: Credentials) -> Bundle:
        return Bundle(run, who.member, host, port, expires, who.trusted, who.certificate, who.key)

    try:
        coordinator, *others = (bundle(who) for who in issue(names, valid))
    except ValidationError:
        problem = f"nodes cannot find {host!r}, port {port}"
        raise ClusterError(problem, "name a host with --address", usage=True) from None
    try:
        if any(folder.glob(f"*{SUFFIX}")):
            raise ClusterError(f"{folder} holds bundles already", "name another with --out, or delete them", usage=True)
        _make(folder)
        for member in (coordinator, *others):
            member.write(folder / f"{member.member}{SUFFIX}")
    except OSError as error:
        problem = f"cannot write to {folder}: {error.strerror}"
        raise ClusterError(problem, "name another with --out", usage=True) from None
    return Invitation(folder, coordinator)


def _make(folder: Path) -> None:
    """The folder, for its owner alone; a new one keeps its keys out of a repository that it may lie in."""
    if folder.is_dir() and any(folder.iterdir()):
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("# Keys: whoever has them can join the run.\n*\n")


def invitation(folder: Path) -> Invitation:
    """The invitation that ``invite`` left in ``folder``."""
    path = folder / f"{COORDINATOR}{SUFFIX}"
    remedy = "make a new one: dsbench cluster invite --nodes N --out DIR"
    try:
        if path.exists():
            return Invitation(folder, read(path))
        used = any(folder.glob(f"*{SUFFIX}"))
    except OSError as error:  # a name that no file can have
        raise ClusterError(f"{folder}: {error.strerror}", remedy, usage=True) from None
    what = "its bundles were used for a run that has ended" if used else "no invitation"
    raise ClusterError(f"{folder}: {what}", remedy, usage=True)


def read(path: Path) -> Bundle:
    """A bundle from its file; ``-`` reads it from standard input."""
    remedy = "name the file that dsbench cluster invite wrote"
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
            text = file.read(_LONGEST)
    except OSError as error:
        raise ClusterError(f"{path}: {error.strerror}", remedy, usage=True) from None
    try:
        values = from_json(text)
        if not isinstance(values, dict) or "format" not in values:
            raise ClusterError(f"{path} is no bundle", remedy, usage=True)
        if values.pop("format") != FORMAT:
            problem = f"{path} was made by another version of dsbench"
            raise ClusterError(problem, "use one version on all machines", usage=True)
        found = Bundle(**values)
        wrong = wrong_part(Credentials(found.member, found.certificate, found.key, found.trusted))
    except ValidationError as error:
        wrong = str(error.errors(include_input=False, include_url=False)[0]["loc"][0]) or "one field"
    except ValueError:
        raise ClusterError(f"{path} is no bundle", remedy, usage=True) from None
    if wrong:
        raise ClusterError(f"{path} is no bundle: its {wrong} is wrong", remedy, usage=True)
    if found.expired:
        raise ClusterError(f"{path} expired at {found.expires}", "make a new one: dsbench cluster invite", usage=True)
    return found


def read_of_node(path: Path) -> Bundle:
    """A bundle by which a machine may join."""
    found = read(path)
    if not number_of(found.member):
        problem = f"{path} is the bundle of the {found.member}, not of a node"
        raise ClusterError(problem, "give dsbench node a file node-N.bundle; the other one stays here", usage=True)
    return found


def own_address() -> str:
    """The address by which other machines most likely reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
