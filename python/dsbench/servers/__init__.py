"""Private database servers: started for a run in a folder of their own, configured, stopped and removed.

Adding a product: one module (or package) with ``start`` and ``installations``, and one line in ``_PRODUCTS``.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

from dsbench import devices, spec
from dsbench.children import can_die_with_us
from dsbench.servers import folder, process
from dsbench.servers.errors import Installation, ServerError
from dsbench.servers.limits import Group, planned
from dsbench.servers.network import Network
from dsbench.servers.server import Server
from dsbench.servers.settings import elsewhere

__all__ = [
    "Installation",
    "Server",
    "ServerError",
    "account",
    "clean_for",
    "dies_with_us",
    "drop",
    "find",
    "installations",
    "products",
    "refuse",
    "stale",
    "start",
    "variants",
]


_PRODUCTS = {
    "sqlite": "dsbench.servers.sqlite",
    "postgresql": "dsbench.servers.postgresql",
    "mariadb": "dsbench.servers.mariadb",
    "mysql": "dsbench.servers.mysql",
    "firebird": "dsbench.servers.firebird",
}


_VARIANTS: dict[str, tuple[dict[str, str], ...]] = {
    "mariadb": ({}, {"innodb_snapshot_isolation": "on"}, {"storage_engine": "RocksDB"}),
    "firebird": tuple({"ServerMode": mode} for mode in ("Super", "SuperClassic", "Classic")),
}
"""Of products whose transactions depend on a setting."""


_UNLIMITED: Final = spec.Limits()
_LISTENS: Final = {"postgresql": "listen_addresses", "mariadb": "bind_address", "mysql": "bind_address"}
"""The setting of a product that says at which address it listens."""


def products() -> list[str]:
    """Names of all private servers, whether they can be started here or not."""
    return list(_PRODUCTS)


def start(
    target: spec.Target, connections: int, *, keep: bool = False, reuse: bool = False,
    limits: spec.Limits = _UNLIMITED, on: Path | None = None, network: bool = False,
) -> Server:  # fmt: skip
    """Starts the private server that ``target`` names, ready for ``connections`` sessions at once.

    ``reuse``: on the data that another one kept; ``keep``: it will be asked to keep its own. ``limits``: what its
    processes may use together. ``on``: where its folder is made in place of ``base_directory``. ``network``: clients
    reach it by a network of its own, which can be cut. Folders that killed runs left in the same place are removed
    first. Raises ``spec.SpecError`` for a
    setting that cannot be and ``ServerError`` when the server is not to be had; neither leaves anything behind.
    """
    product = _known(target)
    clean_for(target)
    base = on or base_directory(target)
    home = _home(target, base, keep=keep, reuse=reuse) if keep or reuse else None
    begin: Callable[[spec.Target, Path, int, Group | None], Server] = _module(product).start
    folders = (base, *elsewhere(target.settings).values())
    if not network:
        return begin(target, home or base, connections, planned(limits, *folders))
    own = Network()
    try:
        listening = {**target.settings, _LISTENS[product]: own.address}
        target = target.model_copy(update={"settings": listening})
        server = begin(target, home or base, connections, planned(limits, *folders, network=own))
        server.notes.append("clients reach the server by TCP through a network of its own, not by a socket")
        return server
    except BaseException:
        own.close()
        raise


def find(target: spec.Target) -> None:
    """``spec.SpecError`` or ``ServerError`` where the programs of the private server ``target`` are not here; nothing
    is started."""
    _module(_known(target)).find(target)


def refuse(target: spec.Target, connections: int) -> None:
    """``spec.SpecError`` or ``ServerError`` where the programs of the private server ``target`` are not here, or do not
    take its settings; they are asked, and nothing is started."""
    _module(_known(target)).refuse(target, connections)


def _known(target: spec.Target) -> str:
    product = target.private or ""
    if product not in _PRODUCTS:
        known = ", ".join(f"private:{name}" for name in _PRODUCTS)
        raise spec.SpecError("TARGET", f"no private server called {product[:60]!r}", f"use one of {known}")
    return product


def _home(target: spec.Target, base: Path, *, keep: bool, reuse: bool) -> Path | None:
    """The kept folder of the product in ``base``, where it is reused."""
    home, option = folder.kept_in(base, target.private or ""), "--reuse" if reuse else "--keep"
    if listening := {"listen_addresses", "bind_address"} & {name.lower().replace("-", "_") for name in target.settings}:
        problem = f"with {', '.join(listening)} a private server has a password for one run only: it cannot be kept"
        raise spec.SpecError(option, problem, "omit the setting, or keep it on a server of your own")
    if target.standbys:
        problem = f"with {target.standbys_setting} the data is in several folders: it cannot be kept"
        raise spec.SpecError(option, problem, "omit the setting, or keep it on a server of your own")
    if apart := list(elsewhere(target.settings)):
        problem = f"with {', '.join(apart)} the data is in several folders: it cannot be kept"
        raise spec.SpecError(option, problem, "omit the setting, or keep them on a server of your own")
    if reuse and home is None:
        problem = f"no database of {target.url} is kept in {base}"
        raise spec.SpecError(option, problem, "create one with --keep, or specify its folder")
    if keep and not reuse and home is not None:
        problem = f"a database of {target.url} is kept in {base} already"
        raise spec.SpecError(option, problem, f"run on it: --reuse; or drop it: dsbench drop '{target.in_one}'")
    return home if reuse else None


def drop(target: spec.Target, agreed: Callable[[str], bool]) -> str:
    """Removes what a private server kept in the folder that ``target`` names, once ``agreed`` has seen what it is.

    Gives what was removed, empty where that is nothing. ``ServerError`` while a run works on it.
    """
    if target.directory is None:
        remedy = f"specify the folder in which it was kept: {target.url}?directory=FOLDER"
        raise spec.SpecError("TARGET", "a private server ends with its run: there is nothing to drop", remedy)
    base = base_directory(target)
    folder.clean(base)
    home = folder.kept_in(base, target.private or "")
    words = f"{home}: a database that {folder.kept_as(home)} kept" if home else ""
    if home is None or not agreed(words):
        return ""
    if not folder.drop(home):
        raise ServerError(f"{home} could not be removed", "check who may write there, and remove it by hand")
    return words


def base_directory(target: spec.Target) -> Path:
    """The folder in which a private server makes its own: the one named, else the temporary directory."""
    if target.directory is None:
        return Path(tempfile.gettempdir()).resolve()
    if not target.directory.is_dir():
        raise spec.SpecError("TARGET.directory", f"{target.directory} is not a folder", "create it, or name another")
    return target.directory.resolve()


def installations() -> list[Installation]:
    """What private servers can be started from here, every product once at least."""
    found: list[Installation] = []
    for product in _PRODUCTS:
        find: Callable[[], list[Installation]] = _module(product).installations
        found += find()
    return found


def variants() -> list[spec.Target]:
    """Every private server that can be started from here, by version and by the settings that make another of it."""
    found = []
    for one in installations():
        numbers = re.search(r"\d+(?:\.\d+)+", one.version)
        version = numbers[0] if numbers and one.path is not None else None
        if "blocks of" in one.version:  # The same product: it is named by its setting block_size.
            continue
        embedded = "embedded" in one.version
        every = ({"embedded": "on"},) if embedded else _VARIANTS.get(one.product, ({},))
        if one.version:
            found += [spec.Target(url=f"private:{one.product}", version=version, settings=more) for more in every]
    return found


def account(base: Path) -> str:
    """The user that private servers in ``base`` run under; empty when it is the one who runs dsbench.

    Raises ``ServerError`` when the superuser finds no user to step down to.
    """
    user = process.unprivileged(base, "postgres")
    return user.name if user is not None else ""


def dies_with_us() -> bool:
    """Whether the operating system ends a private server when dsbench is killed."""
    return can_die_with_us()


def stale(base: Path) -> list[Path]:
    """Folders that dead runs of this user left in ``base``."""
    return folder.stale(base)


def clean_for(target: spec.Target) -> None:
    """Removes those folders, and ends a server that still works in one, wherever a run on ``target`` makes folders and
    a file system that forgets was left mounted; ``SpecError`` where a private server's is none."""
    bases = {Path(tempfile.gettempdir()).resolve(), *([base_directory(target)] if target.private else [])}
    # Those of logs and tablespaces come after those of their servers, which may run yet.
    for base in bases:
        folder.clean(base)
    bases = set(elsewhere(target.settings).values()) if target.private else set()
    bases |= {point.parents[1] for point in devices.forgetful() if len(point.parents) > 1}
    for base in bases:
        folder.clean(base)
    # Somebody may have removed the folder with its mark, as far as it went: that nothing serves a mount tells as much.
    for point in devices.forgetful():
        if not (point.parent / folder.MARK).exists() and devices.is_dead(point):
            devices.detach_forgetful(point)


def _module(product: str) -> ModuleType:
    return importlib.import_module(_PRODUCTS[product])
