"""Workload files and scripts of the user, with the files that they name, into the settings of the workload that takes
them: so a run, its nodes and its archive have their text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsbench import workloads
from dsbench.spec.words import SpecError, parsed_toml

_LONGEST: Final = 4_000_000
"""Bytes of a workload file, or of what it names."""
_SHIPPED: Final = Path(__file__).parent.parent / "examples"
_REMEDY: Final = "see docs/workload-files.md"
SCRIPTS: Final = ("script", "builtin", "define")
"""What may be said beside the options of a run, by name: lists of texts, or one of them."""
_LARGEST_SCALE: Final = 200_000
_LONGEST_SCRIPT: Final = 1_000_000
"""Bytes of a script."""


class Script(NamedTuple):
    """A script whose text is at hand."""

    name: str
    """With ``@WEIGHT`` behind it, where it has one."""
    text: str


def examples() -> dict[str, Path]:
    """The workload files that ship, by name: ``--workload ycsb-a``."""
    named = {path.stem: path for path in sorted(_SHIPPED.glob("*.toml"))}
    return {name: path for name, path in named.items() if not name.endswith("-base")}


def taking(setting: str) -> str:
    """The workload that has a setting of this name."""
    return next(name for name in workloads.names() if any(one.name == setting for one in workloads.find(name).settings))


def with_file(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` where a ``workload`` that is an example, or a file ``*.toml``, is put into the settings of the one
    that takes files. Raises ``SpecError`` for what cannot be read, or is none, with file, line and column."""
    named = values.get("workload")
    if not isinstance(named, str) or named in workloads.names():
        return dict(values)
    path = examples().get(named) or Path(named)
    if path.suffix != ".toml":
        return dict(values)
    taker = taking("file")
    settings = {**(values.get("workload_settings") or {}), "file": "\n".join(_bundle(path))}
    if found := workloads.refused(taker, {"file": settings["file"]}):
        problem, remedy = found
        raise SpecError("--workload", problem, remedy or _REMEDY)
    return {**values, "workload": taker, "workload_settings": settings}


def said(spec: Mapping[str, Any]) -> dict[str, Any]:
    """``spec``, as an archive tells it, where a file that ships is called by its name in place of its text."""
    settings = spec.get("workload_settings") or {}
    for name, path in examples().items() if "file" in settings else ():
        if settings["file"] == "\n".join(_bundle(path)):
            rest = {key: value for key, value in settings.items() if key != "file"}
            return {**spec, "workload": name, "workload_settings": rest}
    return dict(spec)


def named_as(brief: str) -> str:
    """What ``--workload`` takes for the file of which ``brief`` (``workloads.brief``) is kept."""
    shipped = (name for name, path in examples().items() if workloads.brief("\n".join(_bundle(path))) == brief)
    return next(shipped, brief.partition(" #")[0])


def _bundle(path: Path) -> Iterator[str]:
    """The file, then those that it names, each as the workload takes it: the length of its text, its name, its text.

    ``SpecError`` for one that lies outside of its folder, also by a link: archives would carry it to others.
    """
    folder = path.parent.resolve()
    found: dict[str, Path] = {}
    waiting = [(path.name, path, "")]
    while waiting:
        name, file, place = waiting.pop(0)
        text = _read(file, place)
        yield f"{len(text.encode())} {_printable(name)}\n{text}"
        if file.suffix != ".toml":
            continue
        for other in _named(_parsed(file, text)):
            beside = file.parent / other
            if not _lies_in(folder, beside):
                problem = f"{_place(file, text, other)}{other} is outside the folder of {path}"
                raise SpecError("--workload", problem, "move it into that folder, and use a relative path")
            if other not in found:
                found[other] = beside
                waiting.append((other, beside, _place(file, text, other)))
            elif found[other] != beside:
                problem = f"{file} refers to {other}, but there is another file of this name elsewhere"
                raise SpecError("--workload", problem, "rename one of them")


def _lies_in(folder: Path, path: Path) -> bool:
    with suppress(OSError, ValueError, RuntimeError):  # What is no path, or a link to itself, is told when it is read.
        return path.resolve().is_relative_to(folder)
    return True


def _named(value: Any, depth: int = 0, within: str = "") -> Iterator[str]:
    """Names of files: ``file`` of SQL, ``load`` of a table, ``base`` of the whole."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str) and (key in ("file", "load") or (key == "base" and depth == 0)):
                if within not in ("define", "words"):
                    yield inner
            elif isinstance(inner, Mapping):
                yield from _named(inner, depth + 1, key if depth == 0 else "")


def _place(file: Path, text: str, named: str) -> str:
    """``FILE:LINE:COLUMN: `` where ``text``, that of ``file``, names another file."""
    where = re.search(rf"""\b(?:file|load|base)\s*=\s*(["']{re.escape(named)}["'])""", text)
    if where is None:
        return f"{file}: "
    begins = where.start(1)
    return f"{file}:{text.count(chr(10), 0, begins) + 1}:{begins - text.rfind(chr(10), 0, begins)}: "


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return parsed_toml(text)
    except ValueError as error:
        words = str(error)
        where = re.search(r" \(at line (\d+), column (\d+)\)$", words)
        place = f"{path}:{where[1]}:{where[2]}: {words[:where.start()]}" if where else f"{path}: {words}"
        raise SpecError("--workload", place, _REMEDY) from None


def _read(path: Path, place: str) -> str:
    """The text of a file, which is named at ``place``; of a table in Parquet the same as CSV."""
    remedy = "specify a readable file in UTF-8: TOML, SQL, CSV, or Parquet"
    try:
        if path.suffix == ".parquet":
            raw = _as_csv(path)
        else:
            with path.open("rb") as opened:
                raw = opened.read(_LONGEST + 1)
        text = raw.decode().removeprefix("\ufeff")
    except (OSError, ValueError) as error:
        words = error.strerror or error if isinstance(error, OSError) else "it cannot be read in its format"
        raise SpecError("--workload", f"{place}{path}: {words}", remedy) from None
    if len(raw) > _LONGEST:
        problem = f"{place}{path} has more than {_LONGEST} bytes, the maximum for a file that the archive contains"
        raise SpecError("--workload", problem, "generate rows by a rule: rows = … and columns")
    return text


def _as_csv(path: Path) -> bytes:
    from pyarrow import csv, parquet  # slow to import, and few need it

    written = io.BytesIO()
    csv.write_csv(parquet.read_table(path), written)
    return written.getvalue()


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def placed(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``values`` out of a file in ``folder``, beside which lie the workload and the scripts that it names."""

    def place(named: object) -> object:
        if isinstance(named, list):
            return [place(one) for one in named]
        file = isinstance(named, str) and named.partition("@")[0].endswith((".toml", ".sql"))
        return str(folder / named) if file and isinstance(named, str) else named

    return {name: place(value) if name in ("workload", "script") else value for name, value in values.items()}


def with_scripts(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with ``script`` (files, each with ``@WEIGHT`` where it has one, or each a ``Script``), ``builtin`` and
    ``define`` (``NAME=VALUE``) put into the settings of the workload; a workload that ends in ``.sql`` is such a file.

    Another workload that is named beside files is the one on whose tables they work. Raises ``SpecError`` for a file
    that cannot be read.
    """
    values = with_file(values)
    rest = {name: value for name, value in values.items() if name not in SCRIPTS}
    files, builtin, defined = (_listed(name, values.get(name)) for name in SCRIPTS)
    workload = rest.get("workload")
    if isinstance(workload, str) and workload.endswith(".sql"):
        files, workload = [workload, *files], None
        del rest["workload"]
    if not (files or builtin or defined):
        return rest
    scripts = joined_scripts(one if isinstance(one, Script) else _read_script(one) for one in files)
    said = {"scripts": scripts, "builtin": ",".join(builtin), "define": "\n".join(defined)}
    settings = {name: text for name, text in said.items() if text or (name == "scripts" and files)}
    scripted = taking("scripts")
    inner = rest.get("workload_settings") or {}
    if workload == taking("file"):
        if files or builtin:
            remedy = "add it to the file: [transactions.NAME] with sql = { file = \"my.sql\" }"
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


def joined_scripts(scripts: Iterable[Script]) -> str:
    """Scripts as their workload takes them: of each the length of its text, its name with its weight, its text."""
    return "\n".join(f"{len(text.encode())} {_printable(name)}\n{text}" for name, text in scripts)


def parted_scripts(joined: str) -> list[Script]:
    """The same apart again; what is no such text ends them."""
    found, rest = list[Script](), joined.encode()
    while head := re.match(rb"(\d{1,9}) ([^\n]*)\n", rest):
        end = head.end() + int(head[1])
        found.append(Script(head[2].decode(), rest[head.end() : end].decode("utf-8", "replace")))
        rest = rest[end + 1 :]
    return found


def _listed(name: str, value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [f"{key}={text}" for key, text in value.items()]
    found = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(text, str | Script) for text in found):
        raise SpecError(f"--{name}", "must be text", "write a text, or a list of them")
    return found


def _read_script(named: str) -> Script:
    path, mark, weight = named.rpartition("@")
    file = Path(path if mark else named)
    remedy = "specify a readable SQL file in UTF-8, such as my.sql or my.sql@3"
    try:
        with file.open("rb") as opened:
            raw = opened.read(_LONGEST_SCRIPT + 1)
        text = raw.decode().rstrip()
    except OSError as error:
        raise SpecError("--script", f"could not open file \"{file}\": {error.strerror}", remedy) from None
    except UnicodeDecodeError:
        raise SpecError("--script", f"{file} is not text in UTF-8", remedy) from None
    if len(raw) > _LONGEST_SCRIPT:
        raise SpecError("--script", f"{file} has more than {_LONGEST_SCRIPT} bytes", remedy)
    return Script(file.name + mark + (weight if mark else ""), text)
