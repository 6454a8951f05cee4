"""Firebird, as a session in its database sees it. Without a database there is no session, and no answer."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import psutil

from dsbench.measure.stack.described import Database, Items, StackQueries, Switch, present, rows, shown, size, switch
from dsbench.spec import Target

_HIDDEN = re.compile("password|secret|token|keyholder")
"""Settings with such a word in their name are shown as ``***``."""

_PLACES = {
    "securitydatabase", "databaseaccess", "ipcname", "remoteserviceport", "remoteservicename", "remotebindaddress",
    "remotepipename", "rootdirectory", "tempdirectories", "udfaccess", "externalfileaccess", "authserver", "authclient",
    "usermanager", "audittraceconfigfile", "providers",
}  # fmt: skip
"""Settings that say where things are and who may come in: they differ everywhere and change no figure."""

_DATABASE = (
    "select d.mon$database_name as path, d.mon$page_size as page_size, d.mon$page_buffers as buffers,"
    " d.mon$ods_major || '.' || d.mon$ods_minor as structure, d.mon$forced_writes as forced_writes,"
    " d.mon$sweep_interval as sweep_interval, d.mon$reserve_space as reserve, d.mon$sql_dialect as dialect,"
    " d.mon$backup_state as backup, d.mon$read_only as read_only, d.mon$crypt_page as crypted,"
    " d.mon$creation_date as created,"
    " rdb$get_context('SYSTEM', 'ENGINE_VERSION') as version, r.rdb$character_set_name as charset"
    " from mon$database d cross join rdb$database r"
)
_SESSION = (
    "select mon$server_pid as pid, mon$remote_protocol as protocol, mon$client_version as client,"
    " mon$remote_version as wire from mon$attachments where mon$attachment_id = current_connection"
)
_WIRE = (
    "select rdb$get_context('SYSTEM', 'WIRE_ENCRYPTED') as encrypted,"
    " rdb$get_context('SYSTEM', 'WIRE_COMPRESSED') as compressed from rdb$database"
)
# Threads of the engine's own that work beside the sessions: only a shared cache has them.
_WORKERS = "select count(*) as number from mon$attachments where mon$system_flag = 1"
_SET = "select rdb$config_name as name, rdb$config_value as setting from rdb$config where rdb$config_is_set"

_USUAL = ("/etc/firebird/{0}/firebird.conf", "/opt/firebird/firebird.conf", "/usr/local/firebird/firebird.conf")


def describe(queries: StackQueries, url: str) -> Database:  # noqa: ARG001
    """Version, settings, promises and sizes; what the login may not see is left out."""
    database, session = _one(queries, _DATABASE), _one(queries, _SESSION)
    pid, embedded = process(queries), not session.get("protocol")
    version = f"Firebird {database['version']}" if database.get("version") else ""
    set_here = settings(queries, pid, database.get("version", ""))
    mode = "" if embedded else _mode(queries, set_here)
    return Database(
        version=f"{version} (embedded)" if version and session and embedded else version,
        here=pid is not None or embedded,
        pid=None if embedded else pid,
        items=_items(version, database, mode),
        identity={"creation of the database": database.get("created", ""), "database": database.get("path", "")},
        settings=set_here,
        durability=durability(database.get("forced_writes", "")),
        marks=_marks(database, mode),
        api=_api(session, _one(queries, _WIRE)),
        driver=present({"client": session.get("client", ""), "client interface": "C (isc_*), loaded on demand"}),
    )


def directory(queries: StackQueries, url: str) -> Path | None:
    """The folder of the database's file, when that is on this machine."""
    database = _one(queries, _DATABASE)
    if database.get("path") and (process(queries) is not None or not _one(queries, _SESSION).get("protocol")):
        return Path(database["path"]).resolve().parent
    file = Target(url=url).file
    return file.resolve().parent if file is not None else None


def process(queries: StackQueries) -> int | None:
    """Process id of the server that has the session, when it is one of this machine; else ``None``.

    A process with the session's number and Firebird's name runs here, or it is this one: then the
    engine is embedded.
    """
    try:
        pid = int(_one(queries, _SESSION)["pid"])
        return pid if pid == os.getpid() or psutil.Process(pid).name() in ("firebird", "fbserver") else None
    except (KeyError, ValueError, psutil.Error):
        return None


def settings(queries: StackQueries, pid: int | None, version: str) -> dict[str, str]:
    """Settings that somebody made, without secrets and places.

    Version 4 and later tell them; before, they are read from the file of a server that runs here.
    """
    told = [(row["NAME"], row["SETTING"]) for row in rows(queries, _SET)]
    found = told or (_written(pid, version) if pid is not None else [])
    return shown([(name, value) for name, value in found if name.lower() not in _PLACES], _HIDDEN)


def durability(forced_writes: str) -> list[Switch]:
    """What a power cut does to committed transactions; nothing where nothing is known."""
    meanings = {
        "0": (False, "pages are written when the operating system decides: a power cut loses commits and may "
              "corrupt the database, which relies on the order of its writes"),
        "1": (True, "every page is written through to the storage, in the required order, before a commit is reported"),
    }  # fmt: skip
    if forced_writes not in meanings:
        return []
    of_value = meanings[forced_writes]
    return [switch("forced writes", "on" if of_value[0] else "off", {"": of_value})]


def _items(version: str, database: dict[str, str], mode: str) -> Items:
    sweep = database.get("sweep_interval", "")
    return present(
        {
            "version": version,
            "server mode": mode,
            "page size": size(int(database["page_size"])) if database.get("page_size") else "",
            "page buffers": _buffers(database, mode),
            "structure on disk": database.get("structure", ""),
            "automatic sweep": "never" if sweep == "0" else sweep and f"every {sweep} transactions",
            "space for versions": {"1": "kept free in each page", "0": "none"}.get(database.get("reserve", ""), ""),
            "character set": database.get("charset", "").strip(),
            "encryption": "pages are encrypted" if database.get("crypted", "0") not in ("", "0") else "",
            "physical backup": {"1": "under way", "2": "being merged"}.get(database.get("backup", ""), ""),
            "read only": {"1": "yes"}.get(database.get("read_only", ""), ""),
        }
    )


def _buffers(database: dict[str, str], mode: str) -> str:
    pages = database.get("buffers", "")
    if not pages:
        return ""
    whose = {"Classic": " for each session", "SuperClassic": " for each session", "Super": " for all sessions"}
    return f"{pages} ({size(_cache_bytes(database))}){whose.get(mode, '')}"


def _cache_bytes(database: dict[str, str]) -> int:
    return int(database.get("buffers") or 0) * int(database.get("page_size") or 0)


def _marks(database: dict[str, str], mode: str) -> dict[str, int]:
    """The page cache, where there is one for all sessions: of one that each session has, no curve knows."""
    return {"page_buffers": _cache_bytes(database)} if mode in ("Super", "") else {}


def _mode(queries: StackQueries, known: dict[str, str]) -> str:
    """How the server shares its work: by its settings, else by what can be seen."""
    named = next((value for name, value in known.items() if name.lower() == "servermode"), "")
    if named:
        return {"super": "Super", "superclassic": "SuperClassic", "classic": "Classic"}.get(named.lower(), named)
    workers = _one(queries, _WORKERS).get("number", "")
    return {"": "", "0": "Classic or SuperClassic"}.get(workers, "Super")


def _api(session: dict[str, str], wire: dict[str, str]) -> Items:
    protocol = session.get("protocol", "")
    if not session:
        return {}
    if not protocol:
        return {"interface": "Firebird's C library, with the engine in the process of the load generator"}
    # P15 is version 15; later versions of Firebird add letters for what WIRE tells.
    version = re.match(r"P(\d+)", session.get("wire", ""))
    how = [words for words in ("encrypted", "compressed") if wire.get(words, "").upper() == "TRUE"]
    return {
        "interface": "Firebird wire protocol" + (f", version {version[1]}" if version else ""),
        "transport": ", ".join([re.sub(r"^TCP.*", "TCP", protocol), *how]),
    }


def _written(pid: int, version: str) -> list[tuple[str, str]]:
    """Lines of the ``firebird.conf`` that a server of this machine was started with."""
    paths = [Path(pattern.format(".".join(version.split(".")[:2]))) for pattern in _USUAL]
    with suppress(psutil.Error):
        root = psutil.Process(pid).environ().get("FIREBIRD")
        paths = [Path(root) / "firebird.conf"] if root else paths
    for path in paths:
        with suppress(OSError):
            return re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", path.read_text(errors="replace"), re.MULTILINE)
    return []


def _one(queries: StackQueries, sql: str) -> dict[str, str]:
    """The one row of a query, by names in lower case; nothing when it is refused."""
    found = rows(queries, sql)
    return {name.lower(): cell for name, cell in found[0].items()} if found else {}
