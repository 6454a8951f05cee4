"""Entries of a ``firebird.log`` that several servers write to, as those of Debian do.

An entry is a line with host and date, then indented lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dsbench.servers.folder import PREFIX

_FOREIGN = re.compile(rf'^\s+Database:? "?/|/{PREFIX}\w+-[^/\s]+/', re.MULTILINE)
"""A database, or the folder of a private server."""
_SERVER = re.compile(r"server host = .*, address = \S*/(\d+)")
"""What a client says of its server. What a server says of a client has the client's port only."""


def own_lines(lines: Sequence[str], root: Path, port: int) -> list[str]:
    """``lines`` without the entries that name another server: its folder, a database outside ``root``, or a server's
    port that is not ``port``. An entry that names none of these may be of any server, and is kept."""
    entries: list[list[str]] = [[]]
    for line in lines:
        if not line[:1].isspace():
            entries.append([])
        entries[-1].append(line)
    return [line for entry in entries if _may_be_of("\n".join(entry), root, port) for line in entry]


def _may_be_of(entry: str, root: Path, port: int) -> bool:
    if f"{root}/" in entry:
        return True
    server = _SERVER.search(entry)
    return int(server[1]) == port if server else _FOREIGN.search(entry) is None
