"""Finds server programs of MariaDB and MySQL: what distributions and the user put where."""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dsbench import caches, spec
from dsbench.dataclass import dataclass
from dsbench.servers import acquire
from dsbench.servers.errors import Installation, ServerError
from dsbench.servers.process import ask


@dataclass(frozen=True)
class Product:
    """A member of the family."""

    key: str
    """As in ``private:mariadb``; also the scheme of its URLs."""
    name: str
    programs: tuple[str, ...]
    """What its server is called."""
    remedy: str


MARIADB = Product(
    "mariadb", "MariaDB", ("mariadbd", "mysqld"),
    "install one: dsbench servers install mariadb; or specify the folder of an unpacked one: ?basedir=FOLDER",
)  # fmt: skip
MYSQL = Product(
    "mysql", "MySQL", ("mysqld",),
    "install one: dsbench servers install mysql; or specify the folder of an unpacked one: ?basedir=FOLDER",
)  # fmt: skip

_PLACES = (
    "/usr/sbin",  # Debian, Ubuntu: not on the path of everybody
    "/usr/libexec",  # Red Hat and its like
    "/usr/local/mysql*/bin",  # archives of the projects
    "/usr/local/mariadb*/bin",
    "/opt/mysql*/bin",
    "/opt/mariadb*/bin",
    "/opt/homebrew/opt/m*/bin",
    "/usr/local/opt/m*/bin",
    "C:/Program Files/MySQL/MySQL Server */bin",
    "C:/Program Files/MariaDB */bin",
)
_BELOW_BASE = ("bin", "sbin", "libexec", "scripts")
_INSTALLERS = ("mariadb-install-db", "mysql_install_db")


@dataclass(frozen=True)
class MySQLBinaries:
    """The programs of one version."""

    product: Product
    server: Path
    version: str
    """Its numbers: ``10.11.19``, ``8.0.31``."""
    base: Path | None = None
    """Folder into which it was unpacked; ``None`` for an installed one, which knows its own."""

    @property
    def installer(self) -> Path | None:
        """The program that makes a data folder; ``None`` where the server does that itself."""
        if self.product is MYSQL:
            return None
        home = self.server.parent.parent
        folders = [self.server.parent, *(home / name for name in _BELOW_BASE)]
        beside = (folder / name for folder in folders for name in _INSTALLERS)
        on_path = (Path(path) for name in _INSTALLERS if self.base is None and (path := shutil.which(name)))
        return next((path for path in (*beside, *on_path) if path.is_file()), None)

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(int(number) for number in self.version.split("."))


def find(product: Product, wish: str | None, base: Path | None = None) -> MySQLBinaries:
    """The newest installed version, or the newest that fits ``wish`` (``10.11`` fits every 10.11.x).

    ``base`` is the folder of an unpacked one, and then the only place. One that ``dsbench servers install``
    unpacked is taken by its version, or when there is no other.
    """
    every = found(product, base)
    if wish is None:
        fitting = [b for b in every if base is not None or b.base is None] or every
    else:
        fitting = [b for b in every if b.version == wish or b.version.startswith(f"{wish}.")]
    if fitting:
        return fitting[0]
    if base is not None and not every:
        problem = f"basedir = {base} contains no {product.name} server"
        raise spec.SpecError("--set", problem, f"specify the folder above its bin/{product.programs[0]}")
    if not every:
        raise ServerError(f"no {product.name} server is installed here", product.remedy)
    have = ", ".join(b.version for b in every)
    if base is not None:
        problem = f"basedir = {base} contains {product.name} {have}, and not {wish}"
        raise spec.SpecError("TARGET.version", problem, "omit the version, or specify another folder")
    problem = f"no {product.name} {wish} is installed here"
    remedy = f"use one of {have}; or {acquire.how_to_get(product.key, wish or '')}"
    raise spec.NotHere("TARGET.version", problem, remedy)


def found(product: Product, base: Path | None = None) -> list[MySQLBinaries]:
    """All versions here, the newest first; of two the same, the one that comes first on the path."""
    distinct: dict[Path, MySQLBinaries] = {}
    places = [(path, base) for path in _candidates(product, base)]
    if base is None:
        places += [(path, home) for home in caches.unpacked(product.key) for path in _candidates(product, home)]
    for path, home in places:
        # Links such as /usr/bin/mysqld lead to the same program.
        server = path.resolve()
        version = _version(product, server) if server not in distinct else None
        if version is not None:
            distinct[server] = MySQLBinaries(product, server, version, home)
    return sorted(distinct.values(), key=lambda b: b.order, reverse=True)


def installations(product: Product) -> list[Installation]:
    """What ``found`` gives, or one line that says how to get one."""
    here = [Installation(product.key, f"{product.name} {b.version}", b.server.parent) for b in found(product)]
    return here or [Installation(product.key, "", None, product.remedy)]


def _candidates(product: Product, base: Path | None) -> Iterator[Path]:
    if base is not None:
        folders = [base / name for name in _BELOW_BASE]
    else:
        on_path = (shutil.which(name) for name in product.programs)
        yield from (Path(path) for path in on_path if path is not None)
        folders = [Path(p) for place in _PLACES for p in sorted(glob.glob(place))]  # noqa: PTH207 - they are absolute
    for folder in folders:
        for name in product.programs:
            yield from (path for path in (folder / name, folder / f"{name}.exe") if path.is_file())


def _version(product: Product, server: Path) -> str | None:
    said = ask(server, "--no-defaults", "--version")
    match = re.search(r"Ver (\d+(?:\.\d+)+)", said)
    is_mariadb = "mariadb" in said.lower()
    return match[1] if match and is_mariadb == (product is MARIADB) else None
