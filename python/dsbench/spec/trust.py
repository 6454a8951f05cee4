"""What a file of somebody else may ask for: to tune. Whatever is more is named, and done once it is asked for again.

A private server is a program of this machine. Settings of it can name other programs, libraries, files and addresses,
its superuser's statements can do what the server can, and a database that is there is somebody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from dsbench import workloads
from dsbench.redaction import HIDDEN, redact, redact_words
from dsbench.spec.drivers import NAMES as DRIVERS
from dsbench.spec.events import events
from dsbench.spec.files import SCRIPTS, examples, said
from dsbench.spec.options import OPTIONS
from dsbench.spec.outages import STANDBY
from dsbench.spec.storage import NAMES as OF_STORAGE
from dsbench.spec.storage import values_of
from dsbench.spec.target import parameters_in, setting_text
from dsbench.spec.tuning import TUNING, normal, tunes
from dsbench.spec.words import SpecError

_PLAIN: Final = frozenset(
    ["limits", "profile", "label", "objective", "price", "probes", "several_clients", "history", "host"]
)
"""Options of a run, and paths of a study, with words that are checked elsewhere, or with text for people. Those with
numbers, switches and words of a list need not be named."""
_OF_STORAGE: Final = frozenset(OF_STORAGE) - {"device", "mount", "mkfs"}
_TEXT: Final = re.compile(r"[\w\s=:;,.@%+-]*")
"""Of a setting of a workload: no path can be in it."""
_LEGS: Final = re.compile(r"\s*\d+(\.\d+)?\s*[a-z]{0,3}\s*:.*", re.DOTALL)
_MOCK: Final = re.compile(r"mock:(\?[\w=&.,-]*)?", re.ASCII)
_PATH: Final = re.compile(r"""(^|[\s;:,=|'"(])(~|\.{0,2})/|\\|\$\(""")
_LONGEST: Final = 100


def _never(_text: str) -> bool:
    return False


def _commands_nothing(text: str) -> bool:
    try:
        return all(one.what != "command" for one in events(text))
    except ValueError:
        return False


_WORDS: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    "workload": (lambda text: text in workloads.names() or text in examples(), "a file"),
    "driver": (lambda text: text in DRIVERS, "code to load"),
    "load": (_LEGS.fullmatch, "a file"),
    "nodes": (str.isdecimal, "a command"), "reads": (lambda text: text == STANDBY, "an address"),
    "power": (_never, "a command"), "event": (_commands_nothing, "a command"),
    "checked": (_never, "a file"), "address": (_never, "an address"),
}  # fmt: skip
"""Other options: what tells a value that tunes, and what any other one is."""
_KINDS: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r".*(address(es)?|_host|host_?name|conninfo)|.*_url|remote_?pipe.*|redirection", "an address"),
        (r"(.*_)?port|remote\w*(port|name)", "a port"),
        (r".*(plug|librar|provider|component|malloc_lib|udf|client_library).*", "code to load"),
        (r".*(_command|_cmd|start_proc|on_\w*init|init_connect|init_(slave|replica)|wsrep\w*|guardianoption|debug\w*)",
         "a program or statements to run"),
        (r".*(grant|auth|user|password|passwd|secret|privilege|role|ssl|tls|krb|securitydatabase|hba|ident_|networking).*",
         "access to the server"),
        (r".*(dir|dirs|directory|directories|path|paths|file|filename|files|access|socket|basename|_priv|include\w*)",
         "files"),
        (r"(general_|slow_)?(query_)?log.*|.*(audit|trace).*|relay_log.*", "a log"),
    )
)  # fmt: skip
"""What a setting that does more than tune is about, by its name; the first that fits."""


class Untrusted(SpecError):
    """A file asks for more than tuning, which nobody here has asked for."""


class _Asked(NamedTuple):
    """One value of a run, or of the runs of a study."""

    path: str
    """``clients``, ``target.settings.fsync``."""
    text: str


def risks(values: Any) -> tuple[str, ...]:
    """What ``values``, the settings of a run or a study as JSON, ask for beside tuning; in words."""
    asked = list(_asked(values))
    products = _products(asked)
    found = (risk for one in asked for risk in _of(one, products))
    return tuple(dict.fromkeys(redact_words(one) for one in found))


def refuse(found: Iterable[str], whence: str, option: str) -> None:
    """``Untrusted`` that names ``option`` where ``whence`` has the risks ``found``."""
    if named := list(found):
        more = f"; and {len(named) - 5} more" if named[5:] else ""
        problem = f"{whence} does more than tune: {'; '.join(named[:5])}{more}"
        raise Untrusted(option, problem, "check it; if you trust its source, add --trust")


def loads_library(url: str) -> bool:
    """Whether ``url`` names a library that the client, this process, would load."""
    return any(name == "client_library" for name, _ in parameters_in(url.partition("?")[2]))


def _asked(values: Any) -> Iterator[_Asked]:
    """The values of a run, of a study, of one of its factors, or of several of these."""
    if isinstance(values, list | tuple):
        for one in values:
            yield from _asked(one)
    elif isinstance(values, Mapping) and ("factor" in values or "run" in values):
        yield from _flat("", values.get("run", {}))
        yield from _asked(values.get("factor", ()))
        for name in ("nodes", "address"):
            yield from _flat(name, values.get(name, ()))
    elif isinstance(values, Mapping) and {"name", "levels"} <= values.keys():
        for level in values["levels"]:
            if not isinstance(level, Mapping) or "name" not in level:
                yield from _flat(str(values.get("path", "")), level)
                continue
            for key in set(level) - {"name", "rules", "number"}:
                yield from _flat("", level[key])
    elif isinstance(values, Mapping):
        yield from _flat("", values)


def _flat(path: str, value: Any) -> Iterator[_Asked]:
    if isinstance(value, Mapping):
        if "workload_settings" in value:
            value = said(value)  # What ships is no file of others.
        for key, part in value.items():
            yield from _flat(f"{path}.{key}" if path else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _flat(path, part)
    elif value is not None:
        first, dot, rest = path.partition(".")
        yield _Asked(f"{first.replace('-', '_')}{dot}{rest}", setting_text(value))


def _products(asked: Iterable[_Asked]) -> list[str]:
    """Those that the settings may belong to."""
    named = [f"private:{one.text}" if one.path == "target.product" else one.text
             for one in asked if one.path in ("target", "target.url", "target.product")]  # fmt: skip
    return [found[1] for text in named if (found := re.match(r"private:(\w+)", text))] or list(TUNING)


def _of(asked: _Asked, products: list[str]) -> Iterator[str]:
    """The risks of one value."""
    (first, _, rest), text = asked.path.partition("."), asked.text
    if first == "target":
        yield from _of_target(rest, text, products)
    elif first == "storage":
        pairs = {rest.replace("_", "-"): text} if rest else values_of(text)
        yield from (f"{_shown(f'storage {name}', value)}: a device, or options of a program"
                    for name, value in pairs.items() if name not in _OF_STORAGE)  # fmt: skip
    elif first == "workload_settings" or first in SCRIPTS:
        yield from _of_workload(rest or first, text)
    elif first in _WORDS:
        tunes_only, words = _WORDS[first]
        if text and not tunes_only(text):
            yield f"{_shown(first, text)}: {words}"
    elif not _is_plain(first):
        yield f"{_shown(asked.path, text)}: {_about(first, text)}"


def _is_plain(name: str) -> bool:
    option = OPTIONS.get(name)
    return name in _PLAIN or (option is not None and (option.kind not in ("string", "object") or option.choices != ()))


def _of_target(name: str, text: str, products: list[str]) -> Iterator[str]:
    if name in ("", "url", "product"):
        yield from _of_url(f"private:{text}" if name == "product" else text)
    elif name.startswith("settings."):
        yield from _of_setting(name.removeprefix("settings."), text, products)
    elif name in ("version", "block_size"):
        if not re.fullmatch(r"[\w.+-]*", text):
            yield f"{_shown(name, text)}: {_about(name, text)}"
    elif text:
        yield f"{_shown(name, text)}: {_about(name, text)}"


def _of_url(url: str) -> Iterator[str]:
    head, _, query = url.partition("?")
    if found := re.fullmatch(r"private:(\w+)(@[\w.+-]*)?", head):
        for name, value in parameters_in(query):
            yield from _of_setting(name, value, [found[1]])
    elif not _MOCK.fullmatch(url):
        # With its password or without, it is the same one.
        yield f"{_shown('target', redact(url).replace(f':{HIDDEN}@', '@'))}: an existing database, or an address"


def _of_setting(name: str, value: str, products: list[str]) -> Iterator[str]:
    if not any(tunes(product, name, value) for product in products):
        known = {normal(product, name) for product in products} | {name.lower()}
        yield f"{_shown(name, value)}: {_about(min(known, key=len), value)}"


def _of_workload(name: str, text: str) -> Iterator[str]:
    if name in ("script", "scripts", "file"):
        if text:
            yield "statements of a workload file" if name == "file" else "statements of a script"
    elif not _TEXT.fullmatch(text):
        yield f"{_shown(name, text)}: {_about(name, text)}"


def _about(name: str, value: str) -> str:
    """What a setting that does more than tune is about."""
    if _PATH.search(value):
        return "files"
    plain = name.lower().replace("-", "_")
    return next((words for pattern, words in _KINDS if pattern.fullmatch(plain)), "not a known tuning setting")


def _shown(name: str, text: str) -> str:
    return f"{name} = {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'!r}"
