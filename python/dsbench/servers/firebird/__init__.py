"""Private Firebird: a server, or the engine in this process (embedded).

Distributions have version 3 as a server. All versions come as an engine from the package index; where a
server of theirs is installed below ``/opt/firebird`` it is taken instead.
"""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers.errors import Installation
from dsbench.servers.firebird import binaries, instance
from dsbench.servers.firebird.embedded import Embedded
from dsbench.servers.firebird.instance import FirebirdInstance
from dsbench.servers.limits import Group

__all__ = ["FirebirdInstance", "find", "installations", "refuse", "start"]


def start(
    target: spec.Target, base: Path, connections: int, group: Group | None = None  # noqa: ARG001
) -> FirebirdInstance | Embedded:
    """Makes a folder in ``base`` and starts the server, or the engine where the version comes as such.

    The setting ``embedded`` asks for the engine, ``basedir`` names the folder of an unpacked Firebird.
    Raises ``spec.SpecError`` and ``ServerError``; then nothing is left behind.
    """
    found = find(target)
    if isinstance(found, binaries.Engine):
        if group is not None:
            problem = ("this Firebird runs in dsbench's process: a limit would also apply to the clients and the "
                       "recorder")
            remedy = "use a server, such as private:firebird@3; or limit both: systemd-run --scope … dsbench run …"
            raise spec.SpecError("--limit", problem, remedy)
        return Embedded(found, base, target.settings)
    return FirebirdInstance(found, base, target.settings, group)


def find(target: spec.Target) -> binaries.FirebirdBinaries | binaries.Engine:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    folder, embedded = instance.choice(target.settings)
    return binaries.find(target.version, folder, embedded)


def refuse(target: spec.Target, connections: int) -> None:  # noqa: ARG001
    """``spec.SpecError`` or ``ServerError`` where ``target`` cannot be started."""
    found = find(target)
    instance.checked(target.settings, binaries.known_settings(found.root), found.name)


def installations() -> list[Installation]:
    """Servers and engines found here, the newest first, or one line that says how to get one."""
    every: list[binaries.FirebirdBinaries | binaries.Engine] = [*binaries.servers(), *binaries.engines()]
    here = [Installation("firebird", found.name, found.root) for found in every]
    return here or [Installation("firebird", "", None, binaries.REMEDY)]
