"""Paths into the specification of a run: what a factor may set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dsbench.spec import OPTIONS, SpecError, Target
from dsbench.spec import storage as storage_words

HOST: Final = "host"
"""The machine of a trial: a factor of studies that were merged."""
HISTORY: Final = "history.runs"
"""Runs that are made on the database before the one that counts."""
THEN: Final = "history.then"
"""What happens to its file system after them: one of ``AFTERWARDS``."""
AFTERWARDS: Final = ("nothing", "defragment", "restart")
DATABASE: Final = "history.database"
"""Whether each of them works on the database of the one before, or makes new ones on its file system."""
DATABASES: Final = ("kept", "new")
BEFORE_WORKLOAD: Final = "history.workload"
"""Their workload, where it is not that of the run that counts."""
BEFORE_CLIENTS: Final = "history.clients"
"""Their number of clients, where it is not that of the run that counts."""
_HISTORY: Final = (HISTORY, THEN, DATABASE, BEFORE_WORKLOAD, BEFORE_CLIENTS)
STORAGE: Final = "storage"
"""Its path may stand alone: then the level is the whole of it, ``ext4?data=journal``, but for ``_WHERE``."""
_WHERE: Final = ("device", "size")
"""Of a storage: where it is made. That of the run stays where a level does not say it."""
_APART: Final = ("keep", "label", "target")
_TABLES: Final = tuple(name for name, one in OPTIONS.items() if one.kind == "object" and name != "target")
"""Options that are names with values."""
_OF_TARGET: Final = ("url", "product", "version", "directory", "settings", "block_size")
_BLOCKS: Final = {"postgresql": "block_size", "mariadb": "innodb_page_size", "mysql": "innodb_page_size",
                  "firebird": "page_size", "sqlite": "page_size"}  # fmt: skip
"""By product: the setting that says how large the blocks of a database are."""


def check(path: str, key: str) -> None:
    """``SpecError`` at ``key`` where ``path`` leads nowhere."""
    first, _, rest = path.partition(".")
    name = first.replace("-", "_")
    known = (
        path in (*_HISTORY, HOST)
        or (name == "target" and (not rest or rest in _OF_TARGET or rest.startswith("settings.")))
        or (name == STORAGE and (not rest or rest.replace("_", "-") in storage_words.NAMES))
        or (name in OPTIONS and name not in (*_APART, STORAGE) and (rest != "") == (name in _TABLES))
    )
    if not known:
        names = ", ".join(name for name in OPTIONS if name not in (*_APART, *_TABLES))
        tables = ", ".join(f"{name}.NAME" for name in _TABLES)
        more = f"{STORAGE}, {tables}, {', '.join(_HISTORY)}"
        remedy = f"use target.product, target.version, target.block_size, target.settings.NAME, {more} or {names}"
        raise SpecError(key, f"{path!r} is not a setting of a run", remedy)


def put(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets ``path`` in the settings of a run, whose target is a table."""
    first, _, rest = path.partition(".")
    name = first.replace("-", "_")
    if path == HOST:
        remedy = "run its trials there, and join them: dsbench study merge"
        raise SpecError(HOST, f"no run on this machine has {value}", remedy)
    if name == "target":
        _put_target(values["target"], rest or "url", value)
    elif name == STORAGE:
        before = storage_words.values_of(values.get(name, {}))
        said = {rest: value} if rest else storage_words.values_of(value)
        where = {} if set(_WHERE) & set(said) else {key: before[key] for key in _WHERE if key in before}
        values[name] = {**(before if rest else where), **said}
    elif rest and path not in _HISTORY:
        values[name] = {**values.get(name, {}), rest: value}
    else:
        values[path if path in _HISTORY else name] = value


def _put_target(target: dict[str, Any], name: str, value: Any) -> None:
    if name == "product":
        name, value = "url", f"private:{value}"
    if name == "settings" and isinstance(value, Mapping):
        target["settings"] = {**target.get("settings", {}), **value}
    elif name.startswith("settings."):
        target["settings"] = {**target.get("settings", {}), name.removeprefix("settings."): value}
    else:
        target[name] = str(value) if name == "version" else value


def with_blocks(target: dict[str, Any]) -> dict[str, Any]:
    """``target`` with the setting of its product for ``block_size``, such as 16k, where it has one."""
    said = target.pop("block_size", None)
    if said is None:
        return target
    product = Target.model_validate(target).private
    if product not in _BLOCKS:
        raise SpecError("target.block_size", f"{product or 'TARGET'} is not a private server", "use private:PRODUCT")
    if not (size := storage_words.bytes_of(str(said))):
        raise SpecError("target.block_size", f"{str(said)[:60]!r} is not a size", "write, for example, 16k")
    return {**target, "settings": {**target.get("settings", {}), _BLOCKS[product]: str(size)}}
