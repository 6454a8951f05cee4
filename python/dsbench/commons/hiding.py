"""Takes out of an archive's words what shows where a run was made."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.redaction import redact_words

HIDEABLE: Final = {
    "host": "names of machines",
    "user": "names of users in URLs",
    "paths": "paths outside the system's own folders",
    "addresses": "addresses outside this machine",
    "label": "the label of the run",
    "programs": "names of other programs that were busy",
}
"""What ``publish`` can hide, in words."""
HIDDEN: Final = ("host", "user", "paths", "addresses")
"""What it hides where nobody says otherwise."""
_SYSTEM: Final = ("/usr/", "/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/bin/", "/opt/")
_PATH: Final = re.compile(r"(?<![\w./*])/(?:[\w.@%+~=-]+/)+[\w.@%+~=-]*|(?<![\w./*])/(?:home|root|srv|data|mnt|tmp)\b")
_FOLDER: Final = re.compile(r"\b(directory|basedir|datadir|tmpdir)=(/[^&\"'\n]*)")
"""A folder in a URL, which may have spaces."""
_FILE: Final = re.compile(r"\b(sqlite):/{2,}([^\s\"'?]+)")
_ADDRESS: Final = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|"
    r"(?<![\w.:-])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:-]|\.\d)"
)
_AUTHORITY: Final = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*)://(?:([^/?#@\s\"']*)@)?([^/?#\s\"']*)")
_DOMAIN: Final = r"(?:(?:\.[A-Za-z][A-Za-z0-9-]*){2,}(?!\w))?"
"""After the name of a machine; a single word after its dot may be a setting, as in vm.swappiness."""
_HERE: Final = frozenset({"", "localhost", "local", "127.0.0.1", "[::1]", "::1", "0.0.0.0"})


@dataclass
class Hider:
    """Takes out of words what shows where a run was made, and remembers what that was."""

    kinds: Collection[str]
    machines: Mapping[str, str]
    """Name of each machine to what stands in its place."""
    found: dict[str, dict[str, str]] = field(default_factory=dict)
    """Kind to what was hidden and what stands there now."""
    _named: dict[str, str] = field(default_factory=dict)
    _hosts: dict[str, None] = field(default_factory=dict)
    """Those of URLs. A short one may be a word of its own, and is a host before a port alone."""

    def note(self, kind: str, was: str, now: str) -> str:
        self.found.setdefault(kind, {})[was] = now
        return now

    def words(self, text: str) -> str:
        """``text`` without what is to be hidden, and without passwords in any case."""
        text = redact_words(text)
        if "://" in text:
            text = _AUTHORITY.sub(self._authority, text)
        if "paths" in self.kinds and "/" in text:
            text = _FILE.sub(lambda found: f"{found[1]}:///{self.note('paths', found[2], '…')}", text)
            text = _FOLDER.sub(lambda found: f"{found[1]}={self._path(found[2])}", text)
            text = _PATH.sub(lambda found: self._path(found[0]), text)
        if "addresses" in self.kinds:
            text = _ADDRESS.sub(self._address, text)
        if "host" in self.kinds:
            for name, now in (*self.machines.items(), *self._named.items()):
                text = self._without(name, now, _DOMAIN, text)
            for name in self._hosts:
                text = self._without(name, "host", "" if "." in name else r"(?=:\d)", text)
        return text

    def _without(self, name: str, now: str, more: str, text: str) -> str:
        # In capitals as well. Debian is no machine that is called debian.
        for known in dict.fromkeys((name, name.upper())):
            if known in text:
                new = re.sub(rf"(?<![A-Za-z0-9]){re.escape(known)}{more}(?![A-Za-z0-9])", now, text)
                text = new if new == text else self.note("host", name, now) and new
        return text

    def _authority(self, found: re.Match[str]) -> str:
        scheme, login, host = found[1], found[2], found[3]
        if scheme.lower() == "sqlite":
            return found[0]
        name, colon, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
        if login and "user" in self.kinds:
            login = self.note("user", login, "user")
        if "host" in self.kinds and name.lower() not in _HERE:
            self._hosts[name] = None
            name = self.note("host", name, "host")
        return f"{scheme}://{login + '@' if login else ''}{name}{colon}{port}"

    def _path(self, path: str) -> str:
        return path if path.startswith(_SYSTEM) else self.note("paths", path, "/…")

    def _address(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]
        known = address.is_loopback or address.is_unspecified
        return found[0] if known else self.note("addresses", found[0], "address")

    def servers(self, text: str) -> str:
        """Hosts, with or without ports, such as ``db1:5432,db2``; each has a name of its own then."""
        return ",".join(self._server(one) for one in text.split(","))

    def _server(self, text: str) -> str:
        name, colon, port = text.rpartition(":") if re.search(r":\d+$", text) else (text, "", "")
        if "host" not in self.kinds or name.lower() in _HERE or name.startswith("/"):
            return self.words(text)
        self._named.setdefault(name, f"host-{len(self._named) + 1}")
        return f"{self.note('host', name, self._named[name])}{colon}{port}"

    def values(self, value: Any) -> Any:
        """JSON values with their words hidden."""
        if isinstance(value, str):
            return self.words(value)
        if isinstance(value, Mapping):
            return {self.words(str(name)): self.values(part) for name, part in value.items()}
        return [self.values(part) for part in value] if isinstance(value, list | tuple) else value
