"""What a file of somebody else may have run here: it is named, and done only when it is asked for again.

A private server is a program of this machine. Some of its settings name other programs, libraries and files that it
loads, executes or writes, and its superuser's statements can do the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dsbench.redaction import redact_words
from dsbench.spec.files import examples, said
from dsbench.spec.target import parameters_in
from dsbench.spec.words import SpecError

_NAMES: Final = re.compile(
    # PostgreSQL
    r".*_command|.*_librar(y|ies)|jit_provider|dynamic_library_path|extension_(destdir|control_path)|log_destination|"
    r"logging_collector|primary_conninfo|event_source|.*[._](on_\w*init|start_proc)|"
    # all: files and folders
    r"(.*_)?(file|filename|dir)|\w*(keyfile|directory|directories)|(base|data|bin)dir|(.*_)?tmpdir|include\w*|"
    # MySQL and MariaDB, whose options may be abbreviated
    r"plug\w*|early\w*|init\w*|wsrep\w*|keyring\w*|component[\w.]*|authentication_\w*|\w*audit\w*|file_key_management\w*|"
    r"secure_file\w*|local_infile|language|log_bin\w*|relay_log\w*|log_error\w*|log_basename|log_tc|log_isam|chroot|debug|"
    r"pid_file|socket|skip_grant\w*|feedback\w*|malloc_lib|ledir|\w*_provider|defaults\w*|master_\w*|innodb_directories|"
    # Firebird
    r"providers|\w*plugin|authserver|authclient|usermanager|\w*access|securitydatabase|redirection|guardianoption|client_library|"
    # what sessions say to PostgreSQL
    r"options"
)
"""Settings of servers, in lower case with ``_``."""
_OF_A_CLIENT: Final = ("client_library", "options")
"""The same in the URL of a database that is there; files that its client reads are no programs."""
_WORD: Final = re.compile(r"(on|off|true|false|yes|no|\d+(\.\d+)?)?", re.IGNORECASE)
"""Values that name nothing."""
_PATH: Final = re.compile(r"""(^|[\s;:,=|'"(])(~|\.{0,2})/|\\""")
_LONGEST: Final = 100


class Untrusted(SpecError):
    """Something would be executed that nobody here has asked for."""


def risks(values: Any) -> tuple[str, ...]:
    """What ``values``, the settings of a run or a study as JSON, would have executed, loaded or written; in words."""
    return tuple(dict.fromkeys(_within("", values)))


def refuse(values: Any, whence: str, option: str) -> None:
    """``SpecError`` that names ``option`` where ``values``, which come from ``whence``, have such risks."""
    if found := risks(values):
        more = f"; and {len(found) - 5} more" if found[5:] else ""
        shown = "; ".join(redact_words(one) for one in found[:5]) + more
        problem = f"{whence} has what this machine, or a server, would run, load or write: {shown}"
        raise Untrusted(option, problem, "look at it; if you trust where it comes from, add --trust")


def loads_library(url: str) -> bool:
    """Whether ``url`` names a library that the client, this process, would load."""
    return any(name == "client_library" for name, _ in parameters_in(url.partition("?")[2]))


def _within(name: str, value: Any, *, settings: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "workload_settings" in value:
            value = said(value)  # What ships is no file of others.
        if isinstance(path := value.get("path"), str):
            yield from _levels(path, value.get("levels"))
        inside = settings or name == "settings"
        for key, part in value.items():
            yield from _within(_last(str(key)), part, settings=inside or str(key).startswith("target.settings."))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _within(name, part, settings=settings)
    elif value is not None:
        yield from _named(name, str(value), settings=settings)


def _levels(path: str, levels: Any) -> Iterator[str]:
    """Of a factor of a study, whose ``path`` names the setting that its levels are of."""
    for level in levels if isinstance(levels, list | tuple) else ():
        yield from _within(_last(path), level, settings=path.startswith("target.settings."))


def _last(path: str) -> str:
    """What ``path``, of a factor or within a level of a study, sets."""
    return path.removeprefix("target.").removeprefix("settings.")


def _named(name: str, text: str, *, settings: bool) -> Iterator[str]:
    text = f"private:{text}" if name == "product" else text
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    plain = re.sub(r"^(loose|maximum)_", "", name.strip().lower().replace("-", "_"))
    if name in ("script", "scripts") and text:
        yield "statements of a script"
    elif name == "file" and "\n" in text:
        yield "statements of a workload file"
    elif name == "workload" and text.endswith((".toml", ".sql")) and text not in examples():
        yield f"the file {shown}"
    elif (name == "nodes" and not text.isdecimal()) or (name == "power" and text):
        yield f"the command {shown!r}"
    elif name != "directory" and not _WORD.fullmatch(text) and (
        _NAMES.fullmatch(plain) or (settings and (_PATH.search(text) or not text.isprintable()))
    ):  # fmt: skip
        yield f"{name} = {shown!r}"
    if "?" in text and re.match(r"[A-Za-z0-9]+:", text):
        private = text.startswith("private:")
        for key, part in parameters_in(text.partition("?")[2]):
            if private or key in _OF_A_CLIENT:
                yield from _named(key, part, settings=private)
