"""PostgreSQL out of the distribution's source package, with another size of its blocks: that is fixed when it is built.

The system's list of packages is left alone: one that names their sources lies in a folder of its own.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dsbench import caches, spec
from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError

BLOCKS: Final = (1, 2, 4, 8, 16, 32)
"""Sizes in KiB that PostgreSQL can be built with."""
FOLDER: Final = "{downloads}"
"""Stands for a folder that is there only while the commands run."""
_NEEDS: Final = ("gcc", "make", "bzip2")
_NEEDS_FROM_17: Final = (*_NEEDS, "bison", "flex", "perl")
"""Older releases have what these would make in their sources."""
_PACKAGES: Final = "gcc libc6-dev make bzip2 bison flex perl"
_PARTS: Final = (
    "src/backend", "src/timezone", "src/backend/utils/mb/conversion_procs", "src/backend/snowball",
    "src/interfaces/libpq", "src/pl/plpgsql/src", "src/bin/initdb", "src/bin/pg_ctl", "src/bin/psql",
)  # fmt: skip
"""What a server needs, and psql for whoever wants to look."""
_WITHOUT: Final = ("--without-readline", "--without-zlib", "--without-icu")
_APT_FOLDER: Final = Path("/etc/apt")
_APT: Final = (
    "-q", "-o", f"Dir::Etc::SourceList={FOLDER}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
    "-o", f"Dir::State::Lists={FOLDER}/lists", "-o", f"Dir::Cache={FOLDER}/cache",
)  # fmt: skip


@dataclass(frozen=True)
class Build:
    """How a server is built."""

    commands: tuple[tuple[str, ...], ...]
    sources: str
    """Lines of the list of source packages."""
    prefix: Path
    """Where it goes."""
    needs: tuple[str, ...]
    """Programs without which it cannot be built, and below the packages that have them."""
    packages: str = _PACKAGES


def checked(text: object, option: str = "--block-size") -> int:
    """A size of blocks in KiB out of 16, 16k, 16kB or 16384; ``SpecError`` where ``text`` is none."""
    found = re.fullmatch(r"(\d{1,6})\s*(k|kb|kib)?", str(text).strip(), re.IGNORECASE)
    number = int(found[1]) if found else 0
    number = number // 1024 if found and not found[2] and number >= 1024 and number % 1024 == 0 else number
    if number not in BLOCKS:
        known = ", ".join(map(str, BLOCKS))
        raise spec.SpecError(option, f"PostgreSQL has no blocks of {str(text)[:60]!r}", f"use one of {known} (KiB)")
    return number


def prefix(major: str, block: int) -> Path:
    """Where a build with blocks of ``block`` KiB lies."""
    return caches.servers() / f"postgresql-{major}-{block}k"


def block_of(home: Path) -> int | None:
    """The size of the blocks of a server in KiB, where it was built here; ``None`` for all others."""
    found = re.fullmatch(r"postgresql-\d+-(\d+)k", home.name)
    return int(found[1]) if found and caches.holds(home) else None


def plan(version: str | None, block: int, cpus: int) -> Build:
    """How the server of the distribution, or ``version`` of it, is built. ``ServerError`` where its source is not told.

    ``cpus`` is how many files are compiled at once.
    """
    major = version or _of_the_system()
    if not re.fullmatch(r"\d{1,3}", major):
        raise spec.SpecError("--version", f"{major[:60]!r} is not a release number", "use one such as 15")
    package, home = f"postgresql-{major}", prefix(major, block)
    known = "\n".join(_listed(package))
    if not known:
        remedy = f"omit --version, or build one yourself and add its folder of programs to PATH: {home}/bin"
        raise ServerError(f"the system's package manager (apt) has no source of {package}", remedy)
    options = " ".join((f"--prefix={home}", f"--with-blocksize={block}", *_WITHOUT))
    parts, own, make = " ".join(_PARTS), " ".join(_APT), f"nice make -s -j{cpus}"
    folders = ("mkdir", "-p", f"{FOLDER}/lists/partial", f"{FOLDER}/cache/archives/partial")
    steps = (
        # A mirror that has the packages of an update may lack its sources: then an older one is taken.
        f"cd {FOLDER} && for v in $(apt-cache {own} showsrc {package} | sed -n 's/^Version: //p' | sort -rVu); do "
        f"apt-get {own} source --download-only --tar-only {package}=$v && exit; done; exit 1",
        f"mkdir {FOLDER}/src && tar -xf {FOLDER}/{package}_*.orig.tar.* -C {FOLDER}/src --strip-components=1",
        f"cd {FOLDER}/src && nice ./configure -q {options}",
        # Made by one: parts that are compiled at the same time would make these headers twice.
        f"cd {FOLDER}/src && make -s -C src/backend generated-headers",
        f"cd {FOLDER}/src && for part in {parts}; do {make} -C $part install DESTDIR={FOLDER}/out || exit; done",
    )
    commands = (folders, ("apt-get", *_APT, "update"), *(("sh", "-c", step) for step in steps))
    return Build(commands, known + "\n", home, _NEEDS_FROM_17 if int(major) >= 17 else _NEEDS)


def _of_the_system() -> str:
    """Number of the release that the distribution has."""
    found = re.search(r"^Version: (\d+)", said("apt-cache", "show", "postgresql"), re.MULTILINE)
    if found is None:
        remedy = "specify it: --version 15; sources are available on Debian, Ubuntu and their derivatives only"
        raise ServerError("the system's package manager (apt) has no version of PostgreSQL", remedy)
    return found[1]


def _listed(package: str) -> Iterator[str]:
    """Sources of the places that have ``package``, in the way in which the system's own files name them."""
    policy = said("apt-cache", "policy", package)
    places = set(re.findall(r"^\s+-?\d+ (\w+://\S+?)/? ", policy, re.MULTILINE))
    files = [_APT_FOLDER / "sources.list", *sorted((_APT_FOLDER / "sources.list.d").glob("*"))]
    for file in files:
        if file.suffix in (".list", ".sources") and file.is_file():
            text = file.read_text(errors="replace")
            yield from _lines(text, places) if file.suffix != ".sources" else _stanzas(text, places)


def _lines(text: str, places: set[str]) -> Iterable[str]:
    """In the form of one line for each."""
    for line in text.splitlines():
        found = re.match(r"deb(\s+\[[^\]]*\])?\s+(\S+)\s+(.+)", line)
        if found and found[2].rstrip("/") in places:
            yield f"deb-src{found[1] or ''} {found[2]} {found[3]}"


def _stanzas(text: str, places: set[str]) -> Iterable[str]:
    """In the form of several lines for each, turned into lines of the other form."""
    for part in re.split(r"\n\s*\n", text):
        fields = {name.lower(): value.strip() for name, value in re.findall(r"^([A-Za-z-]+):(.*)$", part, re.MULTILINE)}
        key = f" [signed-by={fields['signed-by']}]" if fields.get("signed-by", "").startswith("/") else ""
        for place in fields.get("uris", "").split():
            if "deb" in fields.get("types", "").split() and place.rstrip("/") in places:
                for suite in fields.get("suites", "").split():
                    yield f"deb-src{key} {place} {suite} {fields.get('components', '')}"


def said(*command: str) -> str:
    """What ``command`` prints; nothing where it is not here."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    except OSError:
        return ""
