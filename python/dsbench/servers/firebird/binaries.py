"""Finds Firebird: servers that the distribution or the project put somewhere, and engines of the package index."""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import re
from pathlib import Path

from dsbench import caches, spec
from dsbench.dataclass import dataclass
from dsbench.servers import acquire
from dsbench.servers.errors import ServerError
from dsbench.servers.process import ask

REMEDY = (
    "install a server: apt install firebird3.0-server firebird3.0-utils libfbclient2;"
    " or an engine for this process: pip install firebird-embedded, apt install libtommath1"
)

_HOW_TO_EMBED = "install one: dsbench servers install firebird --version 5, and apt install libtommath1"

_PLACES = (
    # (root, server, isql); the root holds plugins, messages and firebird.conf
    ("/usr/lib/*/firebird/*", "/usr/sbin/firebird", "/usr/bin/isql-fb"),  # Debian, Ubuntu
    ("/opt/firebird", "/opt/firebird/bin/firebird", "/opt/firebird/bin/isql"),  # packages of the project
    ("/usr/local/firebird", "/usr/local/firebird/bin/firebird", "/usr/local/firebird/bin/isql"),
)
_SECURITY_SCRIPTS = ("/usr/share/firebird/{0}/security.sql", "{1}/misc/security.sql", "{1}/security.sql")


@dataclass(frozen=True)
class FirebirdBinaries:
    """The programs of one version, and the folder that they take their parts from."""

    root: Path
    program: Path
    isql: Path
    version: str
    """Its numbers: ``3.0.11``."""

    @property
    def name(self) -> str:
        """Product and version, as descriptions say it."""
        return f"Firebird {self.version}"

    @property
    def security_script(self) -> Path | None:
        """SQL that furnishes a security database; later versions do that by themselves."""
        short = ".".join(self.version.split(".")[:2])
        paths = (Path(pattern.format(short, self.root)) for pattern in _SECURITY_SCRIPTS)
        return next((path for path in paths if path.is_file()), None)


@dataclass(frozen=True)
class Engine:
    """A client library with the engine beside it, for this process."""

    root: Path
    version: str

    @property
    def name(self) -> str:
        """Product and version, as descriptions say it."""
        return f"Firebird {self.version} (embedded)"


def find(wish: str | None, base: Path | None = None, embedded: bool = False) -> FirebirdBinaries | Engine:
    """The newest server, else the newest engine, that fits ``wish`` (``3`` fits every 3.x).

    ``base`` is the folder of an unpacked Firebird, and then the only place; ``embedded`` takes an engine
    where there is a server, too.
    """
    every: list[FirebirdBinaries | Engine] = in_folder(base) if base is not None else [*servers(), *engines()]
    if base is not None and not every:
        remedy = "specify a folder with bin/firebird, or with libfbclient and plugins/"
        raise spec.SpecError("--set", f"basedir = {base} contains no Firebird", remedy)
    kept = [b for b in every if isinstance(b, Engine) or not embedded]
    fitting = [b for b in kept if wish is None or b.version == wish or b.version.startswith(f"{wish}.")]
    if fitting:
        return fitting[0]
    what = "engine of Firebird" if embedded else "Firebird"
    if not kept:
        raise ServerError(f"no {what} is installed here", _HOW_TO_EMBED if embedded else REMEDY)
    have = ", ".join(b.name for b in kept)
    how = acquire.how_to_get("firebird", wish or "")
    raise spec.NotHere("TARGET.version", f"no {what} {wish} is installed here", f"use one of {have}; or {how}")


def servers() -> list[FirebirdBinaries]:
    """All servers here, the newest first."""
    found = []
    for pattern, program, isql in _PLACES:
        if not (Path(program).is_file() and Path(isql).is_file()):
            continue
        version = _said(program)
        for root in sorted(Path(path) for path in glob.glob(pattern)):  # noqa: PTH207 - patterns are absolute
            # Debian keeps a folder for each version, the program is that of one.
            fits = re.fullmatch(r"[\d.]+", root.name) is None or version.startswith(f"{root.name}.")
            if version and fits and (root / "plugins").is_dir():
                found.append(FirebirdBinaries(root, Path(program), Path(isql), version))
    return sorted(found, key=lambda server: _order(server.version), reverse=True)


def engines() -> list[Engine]:
    """Those that were unpacked, and that of the Python package ``firebird-embedded``, the newest first."""
    unpacked = (engine for home in caches.unpacked("firebird") for engine in in_folder(home))
    # One version may be there in both ways.
    every = {engine.version: engine for engine in [*unpacked, *_of_the_package()] if isinstance(engine, Engine)}
    return sorted(every.values(), key=lambda engine: _order(engine.version), reverse=True)


def _of_the_package() -> list[Engine]:
    """One version of it can be installed."""
    try:
        version = importlib.metadata.version("firebird-embedded")
        found = importlib.util.find_spec("firebird.embedded")
    except (importlib.metadata.PackageNotFoundError, ModuleNotFoundError):
        return []
    places = [Path(place) / "runtime" for place in (found.submodule_search_locations or [])] if found else []
    # The fourth number counts the packages made of one Firebird.
    return [Engine(place, ".".join(version.split(".")[:3])) for place in places if place.is_dir()]


def in_folder(base: Path) -> list[FirebirdBinaries | Engine]:
    """What an unpacked Firebird is: a server with its programs, an engine, or nothing."""
    program, isql = base / "bin/firebird", base / "bin/isql"
    if program.is_file() and isql.is_file() and (version := _said(str(program))):
        return [FirebirdBinaries(base, program, isql, version)]
    places = (base, base / "runtime", base / "firebird/embedded/runtime")
    roots = [place for place in places if (place / "plugins").is_dir() and libraries(place)]
    return [Engine(root, version) for root in roots[:1] if (version := _written_in(libraries(root)[0]))]


def libraries(root: Path) -> list[Path]:
    """The client library in an engine's root; none when it is no such root."""
    return [path for folder in (root, root / "lib") for path in sorted(folder.glob("libfbclient.so*"))]


def known_settings(root: Path) -> set[str]:
    """Names that the ``firebird.conf`` of an installation describes, in lower case; none when it has none."""
    try:
        text = (root / "firebird.conf").read_text(errors="replace")
    except OSError:
        return set()
    return {name.lower() for name in re.findall(r"^#?\s?([A-Za-z]\w+)[ \t]*=", text, re.MULTILINE)}


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _said(program: str) -> str:
    """``3.0.11`` of ``Firebird TCP/IP server version LI-V3.0.11.33637 Firebird 3.0``."""
    match = re.search(r"-[VT](\d+\.\d+\.\d+)\.\d+", ask(program, "-z"))
    return match[1] if match else ""


def _written_in(library: Path) -> str:
    """``4.0.7`` of ``LI-V4.0.7.3271 Firebird 4.0``, ``3.0.11`` of ``LI-V6.3.11.3363737 Firebird 3.0``, without loading
    it: a process takes one library only."""
    try:
        match = re.search(rb"[A-Z]I-[VT]\d+\.\d+\.(\d+)\.\d+ Firebird (\d+\.\d+)", library.read_bytes())
    except OSError:
        return ""
    return f"{match[2].decode()}.{match[1].decode()}" if match else ""
