"""What is written into a control group for a limit, in the words of version 1 and of version 2."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from dsbench import devices
from dsbench.dataclass import dataclass
from dsbench.spec import Limits, SpecError

_CONTROLLERS = frozenset({"memory", "cpu", "blkio", "io"})


@dataclass(frozen=True)
class Hierarchy:
    """One tree of groups."""

    version: int
    top: Path
    own: Path
    """The group of this process in it."""
    controllers: frozenset[str]
    """Those that it has, of ``memory``, ``cpu``, and ``blkio`` (version 1) or ``io`` (version 2)."""

    def parents(self) -> Iterator[Path]:
        """Groups that a new one may be made in: the own one, then those above it."""
        yield self.own
        if self.own != self.top:
            yield from (folder for folder in self.own.parents if folder.is_relative_to(self.top))


def hierarchies() -> list[Hierarchy]:
    """Those that are mounted here and have a controller of ours; none but on Linux."""
    try:
        member = Path("/proc/self/cgroup").read_text()
    except OSError:
        return []
    return list(among(devices.mounts(), member))


def among(mounts: list[devices.Mount], member: str) -> Iterator[Hierarchy]:
    """Those of ``mounts``; ``member`` is the text of ``/proc/PID/cgroup``."""
    groups: dict[str, str] = {}
    for line in member.splitlines():
        _, controllers, group = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), group)
    for mount in mounts:
        if mount.type == "cgroup":
            found = _CONTROLLERS & set(mount.options)
            if found:
                yield Hierarchy(1, mount.point, _inside(mount.point, groups.get(min(found), "/")), frozenset(found))
        elif mount.type == "cgroup2":
            found = _CONTROLLERS & set(_words(mount.point / "cgroup.controllers"))
            if found:
                yield Hierarchy(2, mount.point, _inside(mount.point, groups.get("", "/")), frozenset(found))


def _inside(top: Path, group: str) -> Path:
    """The folder of ``group``. In a container its path may be that of the host: then only the top is visible."""
    folder = top / group.lstrip("/")
    return folder if ".." not in folder.parts and folder.is_dir() else top


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


_PERIOD_US = 100_000
_NEEDS = {"memory": ("memory",), "cpus": ("cpu",), "read": ("blkio", "io"), "write": ("blkio", "io")}
"""Controllers by limit: either will do."""

_Written = tuple[str, str, bool]
"""A file, its text, and whether the group is of use without it."""


@dataclass
class Place:
    """Where one folder of a group is made, and with which limits."""

    hierarchy: Hierarchy
    controllers: frozenset[str]
    """Of the tree, those that this group needs."""
    written: list[_Written]
    parent: Path = field(init=False)
    _enabled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parent = self.hierarchy.own

    @property
    def version(self) -> int:
        return self.hierarchy.version

    @property
    def throttles(self) -> bool:
        """Whether it limits rates of the disk."""
        return bool(self.controllers & {"blkio", "io"})

    def choose(self, name: str) -> None:
        """Finds the nearest group above this process in which one may be made; ``OSError`` of the nearest if none."""
        refused: OSError | None = None
        # What is switched on for one server should be the last resort: others see it.
        for switch_on in (False, True):
            for parent in self.hierarchy.parents():
                self.parent = parent
                try:
                    if self._has_controllers(switch_on=switch_on):
                        (parent / name).mkdir()
                        return
                except OSError as error:
                    refused = refused or error
                self.undo()
                self._enabled = []
        raise refused or PermissionError(1, "controllers are not delegated", str(self.hierarchy.own))

    def _has_controllers(self, *, switch_on: bool) -> bool:
        if self.version == 1:
            return not switch_on
        file = self.parent / "cgroup.subtree_control"
        missing = sorted(self.controllers - set(file.read_text().split()))
        if missing and switch_on:
            file.write_text(" ".join(f"+{one}" for one in missing))
            self._enabled = missing
        return switch_on or not missing

    def make(self, name: str) -> None:
        """Makes the folder, where it is not there yet, and writes its limits. Raises ``OSError``."""
        path = self.parent / name
        path.mkdir(exist_ok=True)
        if self._enabled:
            (self.parent / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in self._enabled))
        for file, text, needed in self.written:
            try:
                (path / file).write_text(text)
            except OSError:
                if needed:
                    raise

    def undo(self) -> None:
        """Takes back what was switched on for this group."""
        if self._enabled:
            with contextlib.suppress(OSError):
                (self.parent / "cgroup.subtree_control").write_text(" ".join(f"-{one}" for one in self._enabled))

    def killed(self, name: str) -> int:
        """Processes that the kernel ended for want of memory."""
        file = {1: "memory.oom_control", 2: "memory.events"}[self.version]
        try:
            found = re.search(r"^oom_kill (\d+)$", (self.parent / name / file).read_text(), re.MULTILINE)
        except OSError:
            return 0
        return int(found[1]) if found else 0


def places(limits: Limits, hierarchies: Iterable[Hierarchy], disks: Iterable[str]) -> list[Place]:
    """One for each tree that has a part of ``limits``; ``disks`` are the numbers of those of the data, such as 8:0.

    ``SpecError`` names what no tree of this system has.
    """
    found: dict[Path, Place] = {}
    known, numbers = list(hierarchies), list(disks)
    for name in limits.described():
        wanted = set(_NEEDS[name])
        tree = next((one for one in known if one.controllers & wanted), None)
        if tree is None:
            problem = f"this system has no control groups that limit {name}"
            raise SpecError("--limit", problem, "omit it, or run on Linux with the controllers memory, cpu and io")
        place = found.setdefault(tree.top, Place(tree, frozenset(), []))
        place.controllers |= tree.controllers & wanted
        place.written += _written(name, limits, tree.version, numbers)
    return list(found.values())


def _written(name: str, limits: Limits, version: int, disks: Iterable[str]) -> list[_Written]:
    if name == "memory":
        # Without it what does not fit would go to the swap, which is no memory that was asked for.
        files = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") if version == 1 else ("memory.max", "")
        swap = (files[1], str(limits.memory), False) if version == 1 else ("memory.swap.max", "0", False)
        return [(files[0], str(limits.memory), True), swap]
    if name == "cpus":
        quota = round((limits.cpus or 0) * _PERIOD_US)
        if version == 2:
            return [("cpu.max", f"{quota} {_PERIOD_US}", True)]
        return [("cpu.cfs_period_us", str(_PERIOD_US), True), ("cpu.cfs_quota_us", str(quota), True)]
    rate = limits.read if name == "read" else limits.write
    # Each line is a write of its own, and counts beside those before it.
    if version == 2:
        return [("io.max", f"{disk} {name[0]}bps={rate}", True) for disk in disks]
    return [(f"blkio.throttle.{name}_bps_device", f"{disk} {rate}", True) for disk in disks]
