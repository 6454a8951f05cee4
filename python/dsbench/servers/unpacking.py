"""Unpacks what was downloaded: packages of Python and Java that hold a server, mostly as an archive within."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from dsbench.servers.errors import ServerError

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
                raise ServerError(f"{archive.name} holds no {product} server", "name another version")
            return put(home, into / f"{product}-{_version(product, archive, home)}")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        problem = f"{archive.name} cannot be unpacked into {into}: {error}"
        raise ServerError(problem, "see its space and rights, or name another place: DSBENCH_SERVERS") from None


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
