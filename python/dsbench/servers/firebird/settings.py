"""Settings of a private Firebird: what goes into ``firebird.conf``, and what into the URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dsbench.servers.settings import check_port, wrong

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
    "rootdirectory", "remoteservicename", "redirection", "guardianoption", "providers", "remoteaccess",
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
            raise wrong(f"{name} has the value {value!r}", "give it in one line")
        if name.lower() in OF_THE_DATABASE:
            url[name.lower()] = value
        elif name.lower() in _OWN:
            raise wrong(f"{name} is set by dsbench itself", "leave it out")
        elif not re.fullmatch(r"[A-Za-z]\w*", name) or (known and name.lower() not in known):
            raise wrong(
                f"{product} has no setting {name!r}",
                f"use the names of firebird.conf, or of the database: {', '.join((*OF_THE_DATABASE, *DSBENCH))}",
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
