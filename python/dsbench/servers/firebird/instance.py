"""One private Firebird server: what is special about it among private servers."""

from __future__ import annotations

import re
import secrets
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from dsbench.dataclass import dataclass
from dsbench.servers.firebird.binaries import FirebirdBinaries, known_settings
from dsbench.servers.folder import PREFIX
from dsbench.servers.limits import Group
from dsbench.servers.process import network_host
from dsbench.servers.server import OwnProcess
from dsbench.servers.settings import check_port, wrong
from dsbench.spec.target import parameters_joined

OF_THE_DATABASE = (
    "charset", "page_size", "page_buffers", "forced_writes", "sweep_interval", "wait", "auto_undo",
    "wire_crypt", "wire_compression",
)  # fmt: skip
"""Settings by the names of the URL's parameters, which the engine knows (and refuses)."""

DSBENCH = ("basedir", "embedded")
"""Settings that dsbench reads itself, to choose what it starts."""

MODES = {"super": "Super", "superclassic": "SuperClassic", "classic": "Classic"}

_OWN = {
    "securitydatabase", "databaseaccess", "ipcname", "authserver", "authclient", "usermanager", "remotepipename",
    "rootdirectory", "remoteservicename", "redirection", "guardianoption", "providers", "remoteaccess", "include",
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of one private Firebird."""

    conf: dict[str, str]
    """Of ``firebird.conf``, by their names there, in the case that the user wrote."""
    url: dict[str, str]
    """Of the database and its sessions."""

    def get(self, name: str, default: str) -> str:
        """A setting of ``firebird.conf``, whatever its case."""
        return next((value for known, value in self.conf.items() if known.lower() == name.lower()), default)


def choice(settings: Mapping[str, str]) -> tuple[Path | None, bool]:
    """The folder of an unpacked Firebird, if one is named, and whether the engine in this process is wanted."""
    own = {name.lower(): value for name, value in settings.items() if name.lower() in DSBENCH}
    embedded = own.get("embedded", "off").lower()
    if embedded not in ("on", "off"):
        raise wrong(f"embedded is {embedded!r}", "use on, or off")
    return (Path(own["basedir"]) if "basedir" in own else None), embedded == "on"


def checked(settings: Mapping[str, str], known: set[str], product: str) -> Settings:
    """``settings``, sorted and checked. ``known`` are the names of ``firebird.conf`` in lower case.

    Firebird itself says nothing of a name that it does not know, nor of most wrong values. Raises ``SpecError``.
    """
    conf, url = {}, {}
    for name, value in settings.items():
        if name.lower() in DSBENCH:
            continue
        if not value.isprintable() or not value.strip():
            raise wrong(f"{name} has the value {value!r}", "specify it in one line")
        if name.lower() in OF_THE_DATABASE:
            url[name.lower()] = value
        elif name.lower() in _OWN:
            raise wrong(f"{name} is set by dsbench itself", "omit it")
        elif not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or (known and name.lower() not in known):
            raise wrong(
                f"{product} has no setting {name!r}",
                f"use a name of firebird.conf, or one of the database: {', '.join((*OF_THE_DATABASE, *DSBENCH))}",
            )
        else:
            conf[name] = _value(name, value)
    return Settings(conf, url)


def _value(name: str, value: str) -> str:
    lowered = name.lower()
    if lowered == "servermode":
        if value.lower() not in MODES:
            raise wrong(f"ServerMode is {value!r}", f"use one of {', '.join(MODES.values())}")
        return MODES[value.lower()]
    if lowered == "remoteserviceport":
        check_port("RemoteServicePort", value)
    return {"on": "true", "off": "false"}.get(value.lower(), value)


def conf(settings: Mapping[str, str]) -> str:
    """Lines of ``firebird.conf``."""
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


_PARTS = ("plugins", "intl", "tzdata", "lib", "UDF", "firebird.msg", "plugins.conf")
"""What a root takes over from the installed one, where it is there."""

_SHARED_LOG = "/var/log/firebird/firebird{0}.log"
"""Compiled into Debian's server: no setting, variable or option leads it elsewhere."""


class FirebirdInstance(OwnProcess):
    """A running private Firebird server: reached by TCP on its own port, with a password made for it."""

    PORT = "RemoteServicePort"
    # Firebird gives its sessions 5 s. One of version 3 in six hears no SIGTERM at all, when others start beside it: its
    # thread that waits for one ends at once where it runs before the main thread has made what it waits at.
    PATIENCE_S = 6.0
    ORPHANED = getattr(signal, "SIGKILL", None)

    def __init__(
        self, binaries: FirebirdBinaries, base: Path, settings: Mapping[str, str], group: Group | None = None
    ) -> None:
        self.version = binaries.name
        self._binaries = binaries
        self._settings = checked(settings, known_settings(binaries.root), self.version)
        self._bind = self._settings.get("RemoteBindAddress", "127.0.0.1")
        self._host = network_host(self._bind) or "127.0.0.1"
        # The caller's variables could also log the programs in as somebody.
        super().__init__(base, "fb", "firebird", ("FIREBIRD", "ISC_"), {}, group)

    def _furnish(self, root: Path) -> Path:
        self._root = root
        for name in _PARTS:
            if (self._binaries.root / name).exists():
                (root / name).symlink_to(self._binaries.root / name)
        for name in ("lock", "tmp", "security"):
            self._given_away(root / name)
        (root / "databases.conf").write_text("")
        self._env |= {"FIREBIRD": str(root), "FIREBIRD_LOCK": str(root / "lock"), "FIREBIRD_TMP": str(root / "tmp")}
        return self._given_away(root / "data")

    def _logs(self) -> list[Path]:
        short = ".".join(self._binaries.version.split(".")[:2])
        return [Path(_SHARED_LOG.format(short)), self._root / "firebird.log"]

    def _own(self, lines: list[str]) -> list[str]:
        return own_lines(lines, self._root, self._port)

    def _start(self) -> None:
        # Twenty characters: what Srp of version 3 takes account of.
        password = secrets.token_urlsafe(15)
        self._configure(port=0)
        self._secure(password)
        port = self._launch(self._host, self._settings.get("RemoteServicePort", ""))
        place = f"{self._host}:{port}/{quote(str(self.directory / 'run.fdb'))}"
        self.url = f"firebird://sysdba:{password}@{place}{parameters_joined(self._settings.url)}"

    def _configure(self, port: int) -> None:
        own = {
            "ServerMode": "Super",
            "TempDirectories": str(self._root / "tmp"),
            # The client decides whether to encrypt: by default it does.
            "WireCrypt": "Enabled",
        }
        asked = {name.lower() for name in self._settings.conf}
        lines = {name: value for name, value in own.items() if name.lower() not in asked} | self._settings.conf
        lines |= {"RemoteBindAddress": self._bind, "RemoteServicePort": str(port), "IpcName": f"DSBENCH{port}"}
        lines |= {"SecurityDatabase": str(self._root / "security/security.fdb"), "DatabaseAccess": "Full"}
        srp = "Srp" if self._binaries.version.startswith("3.") else "Srp256, Srp"
        lines |= {"AuthServer": srp, "UserManager": "Srp"}
        path = self._root / "firebird.conf"
        path.write_text(conf(_once(lines)))
        path.chmod(0o644)

    def _secure(self, password: str) -> None:
        """Makes the security database and its one user, by the engine in the process of isql.

        The password travels in a file that only the server's user can read, and that goes at once.
        """
        database, script = self._root / "security/security.fdb", self._root / "security/secret.sql"
        furnish = self._binaries.security_script
        self._write_secret(
            script,
            f"create database '{database}';\ncommit;\n"
            + (f"in {furnish};\ncommit;\n" if furnish is not None else "")
            + f"create user sysdba password '{password}' using plugin Srp;\ncommit;\n",
        )
        try:
            self._use([self._binaries.isql, "-q", "-b", "-user", "sysdba", "-i", script], hidden=password)
        finally:
            script.unlink(missing_ok=True)

    def _serves(self, host: str | None, port: int, command: Sequence[str | Path] | None = None) -> bool:
        # Before it starts: afterwards one could not tell whose server answers there.
        return not _listens(self._host, port) and super()._serves(host, port, command)

    def _command(self, port: int) -> list[str | Path]:
        self._port = port
        self._configure(port)
        # The root is in the environment, too; in the command line whoever looks for this server finds it.
        return [self._binaries.program, "-e", self._root]

    def _ready(self) -> bool:
        return _listens(self._host, self._port)


def _once(lines: Mapping[str, str]) -> dict[str, str]:
    """Each setting once, whatever its case; the last one counts."""
    last = {name.lower(): (name, value) for name, value in lines.items()}
    return dict(last.values())


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


_FOREIGN = re.compile(rf'^\s+Database:? "?/|/{PREFIX}\w+-[^/\s]+/', re.MULTILINE)
"""A database, or the folder of a private server."""
_SERVER = re.compile(r"server host = .*, address = \S*/(\d+)")
"""What a client says of its server. What a server says of a client has the client's port only."""


def own_lines(lines: Sequence[str], root: Path, port: int) -> list[str]:
    """``lines`` without the entries that name another server: its folder, a database outside ``root``, or a server's
    port that is not ``port``. An entry that names none of these may be of any server, and is kept."""
    entries: list[list[str]] = [[]]
    for line in lines:
        if not line[:1].isspace():
            entries.append([])
        entries[-1].append(line)
    return [line for entry in entries if _may_be_of("\n".join(entry), root, port) for line in entry]


def _may_be_of(entry: str, root: Path, port: int) -> bool:
    if f"{root}/" in entry:
        return True
    server = _SERVER.search(entry)
    return int(server[1]) == port if server else _FOREIGN.search(entry) is None
