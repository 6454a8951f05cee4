"""Scripts of the user, from their files into the settings of the workload that takes them: so a run, its nodes and
its archive have their text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dsbench import workloads
from dsbench.spec.files import taking, with_file
from dsbench.spec.words import SpecError

NAMES: Final = ("script", "builtin", "define")
"""What may be said beside the options of a run, by name: lists of texts, or one of them."""

_LARGEST_SCALE: Final = 200_000

_LONGEST: Final = 1_000_000
"""Bytes of a script."""


def with_scripts(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with ``script`` (files, each with ``@WEIGHT`` where it has one), ``builtin`` and ``define``
    (``NAME=VALUE``) put into the settings of the workload; a workload that ends in ``.sql`` is such a file.

    Another workload that is named beside files is the one on whose tables they work. Raises ``SpecError`` for a file
    that cannot be read.
    """
    values = with_file(values)
    rest = {name: value for name, value in values.items() if name not in NAMES}
    files, builtin, defined = (_listed(name, values.get(name)) for name in NAMES)
    workload = rest.get("workload")
    if isinstance(workload, str) and workload.endswith(".sql"):
        files, workload = [workload, *files], None
        del rest["workload"]
    if not (files or builtin or defined):
        return rest
    said = {"scripts": "\n".join(map(_read, files)), "builtin": ",".join(builtin), "define": "\n".join(defined)}
    settings = {name: text for name, text in said.items() if text or (name == "scripts" and files)}
    scripted = taking("scripts")
    inner = rest.get("workload_settings") or {}
    if workload == taking("file"):
        if files or builtin:
            remedy = "put it into the file: [transactions.NAME] with sql = { file = \"my.sql\" }"
            raise SpecError("--script" if files else "--builtin", "a workload file has its own transactions", remedy)
        return {**rest, "workload_settings": {**inner, "define": settings["define"]}}
    if workload not in (None, scripted):
        settings["tables"] = str(workload)
    return {**rest, "workload": scripted, "workload_settings": {**inner, **settings}}


def said_scale(settings: Mapping[str, Any]) -> int:
    """The scale of tables that are there where nobody counts it: of ``--define scale=N``, else 1, as in pgbench."""
    lines = str(settings.get("define", "")).splitlines()
    said = [text for name, _, text in (line.partition("=") for line in lines) if name == "scale"]
    return int(said[-1]) if said and said[-1].isdecimal() and 0 < int(said[-1]) <= _LARGEST_SCALE else 1


def needs_pgbench(workload: str, settings: Mapping[str, str]) -> bool:
    """Whether a builtin script is among those of the workload under ``settings``: without any it is one."""
    takes = any(one.name == "builtin" for one in workloads.find(workload).settings)
    return takes and (bool(settings.get("builtin")) or not settings.get("scripts"))


def _listed(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={text}" for key, text in value.items()]
    found = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(text, str) for text in found):
        raise SpecError(f"--{name}", "has to be text", "write a text, or a list of them")
    return found


def _read(named: str) -> str:
    """A script as the workload takes it: the length of its text, its name with its weight, its text."""
    path, mark, weight = named.rpartition("@")
    file = Path(path if mark else named)
    remedy = "name a readable file of SQL, in UTF-8, such as my.sql or my.sql@3"
    try:
        with file.open("rb") as opened:
            raw = opened.read(_LONGEST + 1)
        text = raw.decode().rstrip()
    except OSError as error:
        raise SpecError("--script", f"could not open file \"{file}\": {error.strerror}", remedy) from None
    except UnicodeDecodeError:
        raise SpecError("--script", f"{file} is no text in UTF-8", remedy) from None
    if len(raw) > _LONGEST:
        raise SpecError("--script", f"{file} has more than {_LONGEST} bytes", remedy)
    name = "".join(letter if letter.isprintable() else "?" for letter in file.name) + mark + (weight if mark else "")
    return f"{len(text.encode())} {name}\n{text}"
