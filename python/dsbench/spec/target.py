"""The database that a run is made against. Nothing else takes its URL apart.

The rules are those of the engines in Rust (``crates/engines/src/url.rs``), which refuse what is wrong; here it is read
as far as it goes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Self
from urllib.parse import quote, unquote, urlencode

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dsbench.redaction import redact, redact_words, secrets_of
from dsbench.spec.words import Unfit

OTHERWISE: Final = {"postgres": "postgresql", "pg": "postgresql", "sqlite3": "sqlite"}
"""Private products by what they are called as well."""
_POSTGRESQL: Final = ("postgresql", "postgres")
"""Schemes whose parameters override what stands before the question mark, as libpq has it."""
_PASSWORDS: Final = {
    **dict.fromkeys(_POSTGRESQL, "PGPASSWORD"), **dict.fromkeys(("mysql", "mariadb"), "MYSQL_PWD"),
    "firebird": "ISC_PASSWORD",
}  # fmt: skip
"""By scheme: the variable of the environment in which a password may stand."""
_STANDBYS: Final = {"postgresql": ("standbys",), "mariadb": ("replicas", "galera")}
"""By private product: settings that say how many servers there are beside one, or with it."""
_PLACING: Final = ("host", "hostaddr", "port", "socket", "target_session_attrs", "load_balance_hosts")
"""Parameters that say where a server is, or which of several."""
_HERE: Final = ("", "localhost", "127.0.0.1", "::1")


class _Parts(NamedTuple):
    """A URL taken apart, decoded; what is not said is empty."""

    scheme: str
    user: str
    password: str
    host: str
    port: str
    path: str
    parameters: dict[str, str]


def _parts(url: str) -> _Parts:
    head, _, query = url.partition("?")
    scheme, separator, rest = head.partition("://")
    if not separator:
        scheme, _, path = head.partition(":")
        return _Parts(scheme, "", "", "", "", unquote(path), dict(parameters_in(query)))
    authority, _, path = rest.partition("/")
    login, _, place = authority.rpartition("@")
    user, _, password = login.partition(":")
    places = [_place(one) for one in place.split(",")]
    host, port = (",".join(parts) if any(parts) else "" for parts in zip(*places, strict=True))
    user, password, path = map(unquote, (user, password, path))
    return _Parts(scheme, user, password, host, port, path, dict(parameters_in(query)))


def _place(text: str) -> tuple[str, str]:
    """The host and the port of one server, decoded."""
    host, _, port = text.removeprefix("[").partition("]:" if text.startswith("[") else ":")
    return unquote(host.removesuffix("]") if text.startswith("[") else host), unquote(port)


def parameters_in(query: str) -> list[tuple[str, str]]:
    """The names and values of ``NAME=VALUE&…``, decoded; a plus sign is itself."""
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return [(unquote(name), unquote(value)) for name, _, value in pairs]


def parameters_joined(values: Mapping[str, str]) -> str:
    """What ``parameters_in`` reads: ``?NAME=VALUE&…``, empty without any."""
    query = urlencode(values, quote_via=quote, safe="/:,")
    return f"?{query}" if query else ""


def with_parameter(url: str, name: str, value: str) -> str:
    """``url`` with this value of a parameter, in place of another."""
    head, _, query = url.partition("?")
    return head + parameters_joined({**dict(parameters_in(query)), name: value})


def with_hosts(url: str, hosts: str) -> str:
    """``url`` with ``hosts``, such as ``db2,db3:5433``, in place of its own: the same login, database and settings."""
    head, _, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    place, slash, path = rest.partition("/")
    login, at, _ = place.rpartition("@")
    kept = {name: value for name, value in parameters_in(query) if name not in _PLACING}
    return f"{scheme}://{login}{at}{hosts}{slash}{path}{parameters_joined(kept)}"


class Frozen(BaseModel):
    """Values that do not change, which refuse unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Target(Frozen):
    """The database addressed by a URL, with the settings of a private server where dsbench starts one.

    ``url`` may hold a password: use ``redacted`` for whatever is written or shown. Its parts are decoded; what it does
    not say is empty, the port 0.
    """

    url: Annotated[str, Field(max_length=4096)] = "private:sqlite"
    settings: dict[str, str] = Field(default_factory=dict)
    """Server settings applied to a private server, by the server's own names."""
    version: str | None = None
    """Version of the private server that is wanted; ``None`` takes the newest that the system has: one that was
    unpacked beside it is taken only by its version."""
    directory: Path | None = None
    """Where a private server keeps its data; ``None`` is a new folder in the temporary directory."""

    @model_validator(mode="before")
    @classmethod
    def _private_in_one(cls, value: object) -> object:
        """``private:postgresql@18?work_mem=8MB`` is a URL, a version and settings in one word."""
        if not isinstance(value, dict) or not str(value.get("url", "")).startswith("private:"):
            return value
        head, _, query = str(value["url"]).partition("?")
        url, at, version = head.partition("@")
        product = url.removeprefix("private:")
        url = f"private:{OTHERWISE.get(product, product)}"
        settings = dict(parameters_in(query))
        if at and value.get("version") not in (None, version):
            raise Unfit(f"{value['url']} has one version, the setting version another", "omit one of them")
        given = value.get("settings") or {}
        merged = {**settings, **given} if isinstance(given, dict) else given
        found = {**value, "url": url, "version": version if at else value.get("version"), "settings": merged}
        if isinstance(merged, dict) and "directory" in merged:
            found |= {"settings": {k: v for k, v in merged.items() if k != "directory"}}
            found["directory"] = merged["directory"]
        return found

    @property
    def private(self) -> str | None:
        """Product of a private server (``postgresql`` …), ``None`` for a server of the user's."""
        return self.url.removeprefix("private:") if self.url.startswith("private:") else None

    @property
    def standbys_setting(self) -> str:
        """The setting of a private server that says how many others there are; empty without one."""
        given = {name.lower() for name in self.settings}
        return next((name for name in _STANDBYS.get(self.private or "", ()) if name in given), "")

    @property
    def standbys(self) -> int:
        """How many servers beside a private one can take over."""
        setting = self.standbys_setting
        said = next((value for name, value in self.settings.items() if name.lower() == setting), "")
        # Two nodes of Galera have no majority once one of them is killed.
        return max(int(said) - 2 * (setting == "galera"), 0) if said.isdecimal() else 0

    @property
    def in_one(self) -> str:
        """URL, version, directory and settings in one word, as ``url`` takes it; of a private server only."""
        where = {} if self.directory is None else {"directory": str(self.directory)}
        version = f"@{self.version}" if self.version else ""
        return self.url + version + parameters_joined({**where, **self.settings})

    @property
    def scheme(self) -> str:
        """``postgresql``, ``mysql``, ``firebird``, ``sqlite``, ``mock``, ``private`` …"""
        return _parts(self.url).scheme

    @property
    def parameters(self) -> dict[str, str]:
        """What stands behind the question mark."""
        return _parts(self.url).parameters

    @property
    def user(self) -> str:
        """The user of the login."""
        return self._part("user", _parts(self.url).user)

    @property
    def password(self) -> str:
        """The password of the login."""
        return self._part("password", _parts(self.url).password)

    @property
    def host(self) -> str:
        """Host name, address, or folder of a unix socket."""
        return self._part("host", _parts(self.url).host)

    @property
    def port(self) -> int:
        """The port of the server."""
        text = self._part("port", _parts(self.url).port)
        return int(text) if text.isdecimal() else 0

    @property
    def database(self) -> str:
        """What stands behind the first slash after the host: a name, or the path of a file."""
        return self._part("dbname", _parts(self.url).path)

    def _part(self, parameter: str, written: str) -> str:
        return self.parameters.get(parameter, written) if self.scheme in _POSTGRESQL else written

    @property
    def file(self) -> Path | None:
        """The file of a database that is opened in this process."""
        path = self.database
        if not path or self.host or self.port or self.scheme not in ("sqlite", "firebird"):
            return None
        # A path of Firebird is absolute, also where the URL has no fourth slash.
        rooted = self.scheme == "firebird" and not re.match("[A-Za-z]:", path)
        return Path("/" + path.lstrip("/") if rooted else path)

    @property
    def has_several_hosts(self) -> bool:
        """Whether the URL names more than one host, of which each session takes the first that fits."""
        place = self.url.partition("://")[2].partition("?")[0].partition("/")[0].rpartition("@")[2]
        named = (place, self.parameters.get("host", ""), self.parameters.get("hostaddr", ""))
        return any("," in text for text in named)

    @property
    def is_server(self) -> bool:
        """Whether the URL names a server of the user's."""
        return self.scheme in _PASSWORDS and self.file is None

    @property
    def is_here(self) -> bool:
        """Whether the URL names no other machine."""
        return all(host in _HERE or host.startswith("/") for host in self.host.split(","))

    @property
    def redacted(self) -> str:
        """The URL without its password, in the authority and in the query alike."""
        return redact(self.url)

    @property
    def secrets(self) -> list[str]:
        """The passwords of URL and settings, in all their spellings."""
        return secrets_of(self.url, self.settings)

    @property
    def password_of_environment(self) -> str:
        """The password that the environment has for this scheme."""
        return os.environ.get(_PASSWORDS.get(self.scheme, ""), "")

    def with_password(self, password: str, *, anew: bool = False) -> Self:
        """The same with ``password`` in the URL, unless it has one; ``anew`` in place of the one that it has there."""
        scheme, separator, rest = self.url.partition("://")
        if not password or not separator or (self.password and not anew):
            return self
        login, at, _ = re.split("[/?]", rest, maxsplit=1)[0].rpartition("@")
        user, _, _ = login.partition(":")
        rest = rest[len(login) + len(at) :]
        return self.model_copy(update={"url": f"{scheme}://{user}:{quote(password, safe='')}@{rest}"})

    def without_password(self, words: str) -> str:
        """``words`` of a driver or an error, which may quote what it was given."""
        in_environment = (os.environ.get(name, "") for name in _PASSWORDS.values())
        return redact_words(words, (*self.secrets, *in_environment))

    @field_validator("settings", mode="before")
    @classmethod
    def _settings_as_text(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {str(k): setting_text(v) for k, v in value.items()}


def is_sqlite(target: object) -> bool:
    """Whether ``target``, as a run is asked for it and perhaps still wrong, is a database of SQLite."""
    target = Target() if target is None else target
    url = target.get("url", Target().url) if isinstance(target, Mapping) else getattr(target, "url", target)
    return re.match(r"(private:)?sqlite3?\b", str(url)) is not None


def setting_text(value: object) -> str:
    """A value of a configuration file as servers and workloads take it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
