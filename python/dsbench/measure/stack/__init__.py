"""The system stack of a run, layer by layer (the paper, section 3.2), and what it promises to keep.

Nothing here names a person, a serial number or a password. What a system does not tell is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import psutil

from dsbench import control_groups, spec
from dsbench.measure import drivers
from dsbench.measure.stack import machine, rdbms, storage
from dsbench.measure.stack.described import Described, Items, StackLayer, StackQueries, Switch, size
from dsbench.spec.drivers import Peer, find_driver

__all__ = ["Described", "StackLayer", "StackQueries", "Switch", "behind",
           "by_client", "data_directory", "describe", "fall_short", "find_apart",
           "find_process"]  # fmt: skip

POOLER: Final = "pooler"
"""The layer of what is between server and driver."""
_ROUNDED = 0.01
"""The kernel takes whole pages and milliseconds."""
_ELSEWHERE = "the server runs on another machine, which is not visible from here"


def data_directory(engine: str, queries: StackQueries, target: spec.Target) -> Path | None:
    """Where ``target`` keeps its data on this machine; ``None`` when that is elsewhere or not told."""
    return rdbms.directory(engine, queries, target.url)


def find_process(engine: str, queries: StackQueries, url: str) -> int | None:
    """A process of the server, where it runs here; ``None`` where that is elsewhere or not told."""
    return rdbms.describe(engine, queries, url).pid


def find_apart(directory: Path | None) -> dict[str, Path]:
    """Where parts of the data below ``directory`` lie elsewhere, by its links; none where it is closed to us."""
    found: dict[str, Path] = {}
    if directory is not None:
        for name, pattern in (("log", "pg_wal"), ("tablespace", "pg_tblspc/*")):
            with contextlib.suppress(OSError):
                links = [path for path in directory.glob(pattern) if path.is_symlink()]
                found |= {name if name == "log" else f"{name} {path.name}": path.resolve() for path in links}
    return found


_NOTHING: Final[Mapping[str, Path]] = MappingProxyType({})


def describe(
    engine: str, directory: Path | None, queries: StackQueries, url: str = "", apart: Mapping[str, Path] = _NOTHING
) -> Described:
    """All layers, from the processor to dsbench itself.

    ``directory`` holds the data (see ``data_directory``), and folders ``apart`` hold parts of it, by name.
    ``url`` is that of the target; an embedded engine keeps settings there that show in no query before the database
    exists.
    """
    database = rdbms.describe(engine, queries, url)
    server, here = database.pid, database.here
    layers = [
        _layer("core", machine.describe_core(server) if here else {"client": machine.model(), "server": _ELSEWHERE}),
        _layer(
            "storage backend", _of_data(here, directory, lambda data: storage.describe_backend(data, server, apart))
        ),
        _layer("operating system", machine.describe_system() if here else {"server": _ELSEWHERE}),
        _layer("file system", _of_data(here, directory, lambda data: storage.describe_file_system(data, apart))),
        _layer("RDBMS", database.items),
        _layer("API", database.api),
        _layer("driver", database.driver),
        _layer("application", machine.describe_application()),
    ]
    ram = control_groups.memory(server) or psutil.virtual_memory().total
    memory = {"RAM": ram, "swap": psutil.swap_memory().total} if here else {}
    return Described(
        layers=[layer for layer in layers if layer["items"]],
        settings=dict(database.settings),
        durability=[*database.durability, *(storage.durability(directory, apart) if here else ())],
        marks={name: size for name, size in {**memory, **database.marks}.items() if size > 0},
        server_version=database.version,
        server_pid=server,
    )


def by_client(layers: Sequence[StackLayer], client: str) -> list[StackLayer]:
    """``layers`` with the client that makes the load in place of dsbench's own."""
    other = find_driver(client)
    if other is None:
        return list(layers)
    program: Items = {}
    if isinstance(other, Peer):
        program = {"its results": other.whole, "not reported": ", ".join(other.untold)}
    said = {
        "API": {} if program else {"interface": "Python's DB-API 2.0"},
        "driver": {"client": drivers.version(other), **program, "population and check": "dsbench's own client"},
    }
    return [_layer(layer["layer"], {**layer["items"], **said.get(layer["layer"], {})}) for layer in layers]


def behind(layers: Sequence[StackLayer], items: Items) -> list[StackLayer]:
    """``layers`` with that of a pooler before the server, where there are ``items`` of it."""
    at = next((at for at, one in enumerate(layers) if one["layer"] == "API"), len(layers))
    return [*layers[:at], *([_layer(POOLER, items)] if items else []), *layers[at:]]


def fall_short(limits: spec.Limits, pid: int | None) -> Iterator[str]:
    """Where others are in force for the process ``pid`` than were asked for, such as those of a container."""
    asked, memory, cpus = limits.described(), control_groups.memory_limit(pid), control_groups.cpu_limit(pid)
    if limits.memory is not None and (memory is None or abs(memory - limits.memory) > _ROUNDED * limits.memory):
        yield f"memory={asked['memory']} was requested, and {size(memory) if memory else 'all'} is in effect"
    if limits.cpus is not None and (cpus is None or abs(cpus - limits.cpus) > _ROUNDED * limits.cpus):
        yield f"cpus={asked['cpus']} was requested, and {f'{cpus:g}' if cpus else 'all'} is in effect"


def _layer(name: str, items: Items) -> StackLayer:
    return {"layer": name, "items": items}


def _of_data(here: bool, directory: Path | None, items: Callable[[Path], Items]) -> Items:
    """What is known of the place of the data, or why nothing is."""
    if not here:
        return {"server": _ELSEWHERE}
    return items(directory) if directory is not None else {}
