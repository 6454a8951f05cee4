"""A private MariaDB cluster of Galera: nodes on this machine, each of which takes writes; clients use the first."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from glob import glob
from pathlib import Path
from typing import Final

from dsbench import spec
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.mysql.asked import CLIENT, LOOPBACK, AskedMember, MariaDBGroup, program
from dsbench.servers.mysql.binaries import MARIADB, MySQLBinaries
from dsbench.servers.mysql.instance import find
from dsbench.servers.process import free_port
from dsbench.servers.replication import Member
from dsbench.servers.settings import elsewhere, wrong

GALERA: Final = "galera"
_FEWEST, _MOST = 3, 9
_LIBRARIES: Final = ("/usr/lib*/galera*/libgalera_smm.so", "/usr/lib*/*/galera*/libgalera_smm.so")
_TOOLS: Final = (CLIENT, "rsync", "wsrep_sst_rsync")
_SETTINGS: Final = {"binlog_format": "row", "innodb_autoinc_lock_mode": "2"}
"""What Galera demands."""
_AGREE_S, _LOOK_S = 60.0, 0.2
_STATE: Final = (
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
    "WHERE VARIABLE_NAME IN ('WSREP_LOCAL_STATE_COMMENT', 'WSREP_READY') ORDER BY VARIABLE_NAME"
)

_VIEW: Final = (
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
    "WHERE VARIABLE_NAME IN ('WSREP_CLUSTER_SIZE', 'WSREP_CLUSTER_STATUS') ORDER BY VARIABLE_NAME"
)


def parted(settings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Of ``settings`` those of each node, and how many; 0 without Galera. ``SpecError`` for what cannot be."""
    given = {name.lower().replace("-", "_"): value for name, value in settings.items()}
    rest = {name: value for name, value in settings.items() if name.lower() != GALERA}
    if GALERA not in given:
        return rest, 0
    number = given[GALERA]
    if not (number.isdecimal() and _FEWEST <= int(number[:3]) <= _MOST):
        raise wrong(f"{GALERA} is {number!r}", f"use a number of nodes from {_FEWEST} to {_MOST}, or omit it")
    for name in given:
        if name in ("port", "storage_engine", "bind_address", "skip_networking", *elsewhere(settings)):
            raise wrong(f"{name} and {GALERA} exclude each other", "omit one of them")
        if name in _SETTINGS or (name.startswith("wsrep_") and name not in ("wsrep_slave_threads", "wsrep_sync_wait")):
            raise wrong(f"{name} is set by dsbench for {GALERA}", "omit it")
    # Other nodes are reached over the network only.
    return {"bind_address": LOOPBACK, **_SETTINGS, **rest}, int(number)


def check_programs(found: MySQLBinaries) -> None:
    """``ServerError`` where something is missing that makes nodes."""
    missing = [name for name in _TOOLS if program(found, name) is None]
    if _library() is None:
        missing.append("libgalera_smm.so")
    if missing:
        remedy = "install them: apt-get install galera-4 rsync mariadb-client"
        raise ServerError(f"{GALERA} needs {', '.join(missing)}, which cannot be found", remedy)


def _library() -> Path | None:
    found = sorted(path for pattern in _LIBRARIES for path in glob(pattern))  # noqa: PTH207 - they are absolute
    return Path(found[-1]) if found else None


class _Node(AskedMember):
    START_TIMEOUT_S = 600.0
    """It may get all data from another one."""
    UNLOGGED = "SET SESSION wsrep_on=OFF"
    _number: int
    _groups: list[int]
    """By node: the port by which the others reach it."""
    _begins = False
    """Whether it makes the cluster when it starts."""

    def _options(self, port: int) -> list[str]:
        if not port:  # Its settings are asked for.
            return super()._options(port)
        places = ",".join(f"{LOOPBACK}:{group}" for group in self._groups)
        transfer, state = free_port(), free_port()
        provider = f"gmcast.listen_addr=tcp://{LOOPBACK}:{self._groups[self._number]};ist.recv_addr={LOOPBACK}:{state}"
        wsrep = {
            "on": "ON", "provider": _library(), "cluster-name": "dsbench", "cluster-address": f"gcomm://{places}",
            "node-address": LOOPBACK, "node-name": f"node{self._number + 1}", "provider-options": provider,
            "sst-method": "rsync", "sst-receive-address": f"{LOOPBACK}:{transfer}",
        }  # fmt: skip
        begins = ["--wsrep-new-cluster"] if self._begins else []
        return [*super()._options(port), *(f"--wsrep-{name}={value}" for name, value in wsrep.items()), *begins]

    def follow(self, leader: Member) -> None:
        """Nodes are alike."""

    def copy(self, leader: Member) -> None:
        """The cluster gives it what it lacks."""

    def follows(self, leader: Member) -> bool:  # noqa: ARG002
        try:
            return self.sql(_STATE).split() == ["Synced", "ON"]
        except ServerError:  # it has ended
            return False

    def received(self) -> int:
        return 0

    def promote(self, *, others: bool) -> None:
        """``GaleraCluster`` waits for the others."""

    def wait_for(self, *, others: bool) -> None:
        """A commit waits for the cluster in any case."""


class _Other(_Node):
    def __init__(
        self, first: _Node, number: int, target: spec.Target, base: Path, connections: int, group: Group | None
    ) -> None:
        self._first, self._number, self._groups = first, number, first._groups
        super().__init__(MARIADB, target, base, connections, group)

    def _start(self) -> None:
        self._password = self._first._password
        super()._start()


class GaleraCluster(MariaDBGroup, _Node):
    """All nodes."""

    SETTING, NAME = GALERA, "node"

    def __init__(
        self, target: spec.Target, base: Path, connections: int, number: int, grouped: Callable[[], Group | None]
    ) -> None:
        check_programs(find(MARIADB, target))
        self._number, self._groups = 0, [free_port() for _ in range(number)]
        self._grouped, self._target, self._connections, self._base = grouped, target, connections, base
        self._lead()
        super().__init__(MARIADB, target, base, connections, grouped())

    def _start(self) -> None:
        self._begins = True
        super()._start()
        self._begins = False
        self._keep_command()
        for number in range(1, len(self._groups)):
            try:
                group = self._grouped()
                self._others.append(_Other(self, number, self._target, self._base, self._connections, group))
                self._wait()
            except ServerError as error:
                raise self._blamed(error) from error
        self._name_all()
        self._note_others("other Galera")

    def _blamed(self, error: ServerError) -> ServerError:
        """``error`` of a node that could not join, or what the nodes said that ended before it."""
        gone = [one for one in self._members if not one.is_running]
        if not gone:
            return error
        said = "\n".join(line for one in gone for line in one.log_tail(40))
        return ServerError(f"{len(gone)} of {len(self._groups)} nodes of {self.version} ended:\n{said}", error.remedy)

    def _hand_over(self, *, kill: bool) -> None:
        """The next one takes writes as soon as the cluster has agreed on who is left."""
        super()._hand_over(kill=kill)
        assert isinstance(self._leader, _Node)
        left, give_up = str(len(self._groups) - len(self._away)), time.monotonic() + _AGREE_S
        while self._leader.sql(_VIEW).split() != [left, "Primary"]:
            if time.monotonic() > give_up:
                words = f"{left} nodes of {self.version} did not agree within {_AGREE_S:.0f} s that the others are gone"
                raise ServerError(words, "see their logs")
            time.sleep(_LOOK_S)

    def settle(self, check: Callable[[], None] = lambda: None) -> None:
        super().settle(check)
        # Clients use the first that is there.
        self._leader = self
