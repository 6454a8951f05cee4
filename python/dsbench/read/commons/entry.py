"""An entry of a commons: an archive without what shows where it was made, and its figures in a small JSON.

A folder with entries::

    entries/20261123-postgresql-tpcb-07068b4690/entry.json     who, what, on what, which figures
    entries/20261123-postgresql-tpcb-07068b4690/archive.zip    run.json, the tables, results.csv

``archive.zip`` is an archive as any other. All of ``entry.json`` but ``about`` follows from it.
"""

from __future__ import annotations

import hashlib
import io
import ipaddress
import json
import re
import tempfile
import tomllib
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dsbench.archive import TABLES, Archive, ArchiveError, RunRecord
from dsbench.problem import Problem
from dsbench.read import tables
from dsbench.read.answer import highest, say
from dsbench.read.commons.audit import audit
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.naming import by_client, counted, limited, pacing, server, unsafe
from dsbench.read.subjects.energy import Energy
from dsbench.redaction import redact_words
from dsbench.spec import OPTIONS, plain
from dsbench.spec.price import HOW, Price, read_price

FORMAT: Final = 1
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
_LARGEST: Final = 2**20
"""Bytes of an ``entry.json``."""
_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""Of each file in the zip, so that the same archive gives the same digest."""
_SYSTEM: Final = ("/usr/", "/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/bin/", "/opt/")
_PATH: Final = re.compile(r"(?<![\w.:/*])/(?:[\w.@%+~-]+/)+[\w.@%+~-]*|(?<![\w.:/*])/(?:home|root|srv|data|mnt|tmp)\b")
_FILE: Final = re.compile(r"\b(sqlite):/{2,}([^\s\"'?]+)")
_ADDRESS: Final = re.compile(
    r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7})(?![\w:-]|\.\d)"
)
_AUTHORITY: Final = re.compile(r"\b([a-z][a-z0-9+.-]*)://(?:([^/?#@\s\"']*)@)?([^/?#\s\"']*)")
_HERE: Final = frozenset({"", "localhost", "local", "127.0.0.1", "[::1]", "::1", "0.0.0.0"})
_LARGEST_ARCHIVE: Final = 2**26
"""Bytes of an ``archive.zip``, which holds no trace."""
FILES: Final = frozenset({"entry.json", "archive.zip"})
PACKED: Final = frozenset({"run.json", "results.csv", *(f"{table}.parquet" for table in TABLES)})
"""What an ``archive.zip`` may hold."""
_UNSEEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Letters that nobody sees, or that turn the text beside them around."""
_LINE: Final = 80
"""Letters of a setting in the words of a group."""
_TOLD: Final = frozenset({
    "cycles", "shortest", "duration", "threads", "peak", "nodes", "isolation", "rate", "objective", "graduated", "load",
    "pace", "terminals", "ramp_up",
})  # fmt: skip
"""Options that the group, or a column of their own, tells."""
_SAME: Final = 1e-9
"""Relative difference of figures that were computed twice."""


class EntryError(Problem):
    """What cannot be published, or is no entry."""


class About(BaseModel):
    """What an archive cannot know: who measured, on which machine, at which price."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(default="", max_length=100)
    machine: str = Field(default="", max_length=100)
    """Its name in a shop or a rack: entries of one name are one machine."""
    price: Price | None = None
    """In a TOML also as a text, such as 1.2 EUR/h."""
    notes: str = Field(default="", max_length=2000)

    @field_validator("by", "machine", "notes")
    @classmethod
    def _seen(cls, value: str) -> str:
        if _UNSEEN.search(value):
            raise ValueError("holds letters that nobody sees")
        return value

    @field_validator("price", mode="before")
    @classmethod
    def _price_of_text(cls, value: object) -> object:
        return read_price(value) if isinstance(value, str) else value


class Entry(BaseModel):
    """The content of ``entry.json``."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    id: str = Field(pattern="^[0-9]{8}-[a-z0-9-]{1,60}-[0-9a-f]{10}$")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Of archive.zip."""
    about: About = About()
    hidden: tuple[str, ...] = ()
    measured: str
    dsbench: str
    sentence: str
    system: dict[str, Any]
    conditions: dict[str, Any]
    figures: dict[str, Any]

    def rendered(self) -> str:
        return json.dumps(self.model_dump(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass
class Hider:
    """Takes out of words what shows where a run was made, and remembers what that was."""

    kinds: Collection[str]
    machines: Mapping[str, str]
    """Name of each machine to what stands in its place."""
    found: dict[str, dict[str, str]] = field(default_factory=dict)
    """Kind to what was hidden and what stands there now."""

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
            text = _PATH.sub(self._path, text)
        if "addresses" in self.kinds:
            text = _ADDRESS.sub(self._address, text)
        if "host" in self.kinds:
            for name, now in self.machines.items():
                if name in text:
                    new = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", now, text)
                    text = new if new == text else self.note("host", name, now) and new
        return text

    def _authority(self, found: re.Match[str]) -> str:
        scheme, login, host = found[1], found[2], found[3]
        if scheme == "sqlite":
            return found[0]
        name, colon, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
        if login and "user" in self.kinds:
            login = self.note("user", login, "user")
        if "host" in self.kinds and name.lower() not in _HERE:
            name = self.note("host", name, "host")
        return f"{scheme}://{login + '@' if login else ''}{name}{colon}{port}"

    def _path(self, found: re.Match[str]) -> str:
        return found[0] if found[0].startswith(_SYSTEM) else self.note("paths", found[0], "/…")

    def _address(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]
        known = address.is_loopback or address.is_unspecified
        return found[0] if known else self.note("addresses", found[0], "address")

    def values(self, value: Any) -> Any:
        """JSON values with their words hidden."""
        if isinstance(value, str):
            return self.words(value)
        if isinstance(value, Mapping):
            return {self.words(str(name)): self.values(part) for name, part in value.items()}
        return [self.values(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Package:
    """What will be published."""

    entry: Entry
    archive: bytes
    hidden: Mapping[str, Mapping[str, str]]
    """Kind to what is hidden and what stands in its place."""


def read_about(path: Path) -> About:
    """Who measured, from a TOML; ``EntryError`` names what is wrong there."""
    try:
        return About.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EntryError(f"--about: {path} cannot be read: {error}", _ABOUT, usage=True) from None
    except ValidationError as error:
        raise EntryError(f"--about: {path}: {_first(error)}", _ABOUT, usage=True) from None


_ABOUT: Final = 'it has by, machine, notes and price, such as price = "0.34 USD/h"'


def describe_owner(
    path: Path | None, by: str, machine: str, price: str, currency: str, notes: str
) -> About:
    """What the options say of an entry, before what the TOML at ``path`` says; ``currency`` where ``price`` names
    none."""
    known = read_about(path) if path else About()
    given = {"by": by, "machine": machine, "notes": notes}
    values = known.model_dump() | {name: value for name, value in given.items() if value}
    try:
        if price.strip():
            if currency and not re.fullmatch("[A-Z]{3}", currency):
                raise EntryError("--currency: has to be three capital letters", "write for instance EUR", usage=True)
            values["price"] = read_price(price, currency)
    except ValueError as error:
        raise EntryError(f"--price: {error}", HOW, usage=True) from None
    try:
        return About.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        words = f"--{first['loc'][-1]}: {plain(first['msg'])}"
        raise EntryError(words, "see dsbench publish --help", usage=True) from None


def _first(error: ValidationError) -> str:
    one = error.errors()[0]
    return f"{'.'.join(str(part) for part in one['loc']) or 'all of it'}: {plain(one['msg'])}"


def prepare(path: Path, about: About, hide: Collection[str] = HIDDEN) -> Package:
    """The entry of the archive at ``path``; ``EntryError`` for one that a commons would refuse."""
    if unknown := set(hide) - set(HIDEABLE):
        words = f"--hide: {min(unknown)!r} is nothing that can be hidden"
        raise EntryError(words, f"name some of {', '.join(HIDEABLE)}", usage=True)
    source = Archive.open(path)
    if wrong := audit(source):
        words = f"{path}: {wrong[0].sentence}"
        raise EntryError(words, "nothing was written: leave it out, or measure again", usage=True)
    run = source.run
    names = {run.host: "host"} | {node.name: f"node-{number}" for number, node in enumerate(run.nodes, 1) if node.name}
    hider = Hider(hide, {name: now for name, now in names.items() if name and name != "local"})
    name = _name(run)
    content = pack(source, name, hider)
    if len(content) > _LARGEST_ARCHIVE:
        words = f"{path}: without its trace it has {len(content) >> 20} MiB, and an entry has {_LARGEST_ARCHIVE >> 20}"
        raise EntryError(words, "nothing was written: measure for less long, or without --per-statement", usage=True)
    digest = hashlib.sha256(content).hexdigest()
    entry_id = f"{name}-{digest[:10]}"
    if about.price is None:
        about = about.model_copy(update={"price": run.price})
    entry = Entry(id=entry_id, sha256=digest, about=about, hidden=tuple(sorted(hide)), **describe_packed(content))
    return Package(entry, content, hider.found)


def _slug(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:24] or "x"


def _product(run: RunRecord) -> str:
    said = server(run).lower()
    known = ("mariadb", "mysql", "postgresql", "firebird", "sqlite")
    return next((word for word in known if word in said), _slug(run.engine))


def _day(run: RunRecord) -> str:
    try:
        return datetime.fromisoformat(run.started).strftime("%Y%m%d")
    except ValueError:
        return "19700101"


def pack(source: Archive, name: str, hider: Hider) -> bytes:
    """A zip with run.json, the tables without the trace, and results.csv, with their words hidden."""
    described = json.loads(source.read("run.json"))
    described["name"] = name
    if "label" in hider.kinds and described.get("spec", {}).get("label"):
        described["spec"]["label"] = hider.note("label", described["spec"]["label"], "")
    for part in ("process", "files"):
        described.pop(part, None)
    described = hider.values(described)
    if "host" in hider.kinds and "host" in described:
        described["host"] = hider.note("host", source.run.host, "host") if source.run.host else ""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        def add(part: str, content: bytes) -> None:
            member = zipfile.ZipInfo(f"{name}/{part}", _DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(member, content)

        add("run.json", (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode())
        for table in TABLES:
            rows = source.table(table)
            if rows.num_rows:
                written = io.BytesIO()
                pq.write_table(_hide_rows(table, rows, hider), written, compression="zstd")
                add(f"{table}.parquet", written.getvalue())
        add("results.csv", tables.results_csv(evaluate(source)).encode())
    return made.getvalue()


def _hide_rows(table: str, rows: pa.Table, hider: Hider) -> pa.Table:
    for position, column in enumerate(rows.schema):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        values = rows[column.name].to_pylist()
        now: dict[Any, Any] = {value: hider.words(value) for value in set(values) if isinstance(value, str)}
        if table == "programs" and column.name == "program" and "programs" in hider.kinds:
            now = {value: hider.note("programs", value, "program") for value in now}
        if any(was != is_now for was, is_now in now.items()):
            hidden = pa.array([now.get(value, value) for value in values], kind)
            rows = rows.set_column(position, column, hidden.cast(column.type) if kind == column.type
                                   else hidden.dictionary_encode().cast(column.type))  # fmt: skip
    return rows


def describe_packed(content: bytes) -> dict[str, Any]:
    """``describe`` of the archive in a zip."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "archive.zip")
        file.write_bytes(content)
        return describe(Archive.open(file))


def describe(archive: Archive) -> dict[str, Any]:
    """What an ``entry.json`` says of its archive."""
    evaluation, run = evaluate(archive), archive.run
    return {
        "measured": run.started[:10],
        "dsbench": run.dsbench,
        "sentence": say(evaluation, run).replace(" on this machine", ""),
        "system": describe_system(run),
        "conditions": describe_conditions(evaluation, run),
        "figures": compute_figures(evaluation),
    }


def describe_system(run: RunRecord) -> dict[str, Any]:
    """The stack in a few words each; empty where the archive does not say."""
    virtual = run.item("operating system", "virtual machine")
    disks = [str(text) for layer in run.stack if layer.layer == "storage backend"
             for name, text in layer.items.items() if name.startswith("disk ")]  # fmt: skip
    return {
        "product": server(run) or run.engine,
        "engine": run.engine,
        "cpu": run.item("core", "CPU"),
        "cpus": run.cpus,
        "ram": run.item("core", "RAM"),
        "storage": "; ".join(disks),
        "file_system": run.item("file system", "type"),
        "os": run.item("operating system", "distribution"),
        "kernel": run.item("operating system", "kernel"),
        "architecture": run.item("operating system", "architecture"),
        "virtual": virtual if virtual != "none" else "",
        "transport": run.item("API", "transport"),
        "nodes": run.spec.nodes,
        "limits": limited(run),
    }


def describe_conditions(evaluation: Evaluation, run: RunRecord) -> dict[str, Any]:
    """What has to be equal where two rates are compared, and what is told beside them."""
    spec = run.spec
    return {
        "workload": spec.workload,
        "label": run.entry.label,
        "settings": dict(sorted(spec.workload_settings.items())),
        "profile": (spec.model_extra or {}).get("profile", ""),
        "cycles": _describe_cycles(evaluation, run),
        "durable": not unsafe(run),
        "not_durable": unsafe(run),
        "isolation": run.in_force,
        "pacing": _describe_pace(run),
        "client": by_client(run),
        "options": _describe_options(run),
        "scales": list(spec.scales) or [row.scale for row in evaluation.scales],
        "threads": list(spec.thread_numbers),
        "server_settings": {name: str(value) for name, value in sorted(run.settings.items())},
    }


def _describe_cycles(evaluation: Evaluation, run: RunRecord) -> str:
    """How many cycles of how many seconds, or by what the run decided that."""
    spec = run.spec
    timed = not evaluation.has_clients or "time" in evaluation.rows.groups["until"].to_pylist()
    asked = ""
    if spec.precision is not None and not spec.objective:
        asked = f"until {spec.precision:g} % of the {spec.precision_of}"
    if spec.peak:
        asked = ", ".join(part for part in (asked, "at a searched number of threads") if part)
    cycles = "cycles" if asked else counted(spec.cycles, "cycle")
    if timed and spec.shortest is not None:
        cycles += f" of {spec.shortest:g} s at least"
    elif timed and not spec.legs:
        cycles += f" of {spec.duration:g} s"
    return f"{cycles} {asked}".strip()


def _describe_pace(run: RunRecord) -> str:
    """When transactions start; with the objective of a search, and the legs of a load that changes."""
    spec, words = run.spec, pacing(run)
    if spec.objective:
        words += f" with {' and '.join(one.words for one in spec.objectives)}"
        words += ", then from it to idle" if spec.graduated else ""
    return f"{words}: {_shorten(spec.load)}" if spec.legs else words


def _shorten(text: str) -> str:
    """``text`` in one line; of a long one the beginning, and a digest by which it is told from others."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 20]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _describe_options(run: RunRecord) -> dict[str, str]:
    """Options that make the load another one and are not at their default, but for those that are told elsewhere."""
    asked = run.spec.described()
    return {
        name: str(asked[name]) for name, option in sorted(OPTIONS.items())
        if option.of_load and name not in _TOLD and asked.get(name) not in (None, "", option.default)
    }  # fmt: skip


def describe_group(entry: Entry) -> str:
    """What has to be equal for two entries to be ranked together, in words."""
    said = entry.conditions
    settings = ", ".join(f"{name} {_shorten(value)}" for name, value in said["settings"].items())
    scales = said["scales"]
    ladder = f"scale {scales[0]}" if len(scales) == 1 else f"scales {_shorten(', '.join(map(str, scales)))}"
    unit = (entry.figures.get("rate") or {}).get("unit", "")
    parts = [
        said["label"], settings, ladder, said["cycles"], said["isolation"].replace("-", " "), said["pacing"],
        "durable" if said["durable"] else "not durable", said["client"], unit,
    ]  # fmt: skip
    return " · ".join(part for part in parts if part)


def compute_figures(evaluation: Evaluation) -> dict[str, Any]:
    """The highest rate, the index and the curve of each series; times in nanoseconds, sizes in GB."""
    top = highest(evaluation)
    if top is None:
        return {}
    searched = evaluation.load.get(top.scale)
    plain = top.part.intervals.get(top.scale) if top.short == "tps" else None
    interval = searched.capacity if searched and searched.capacity else plain
    low, high = (_known(interval.low), _known(interval.high)) if interval else (None, None)
    low, high = (low, high) if low and high else (None, None)
    curve = top.part.response.get(top.scale) or top.part.frequency.get(top.scale)
    index = top.part.index
    dsi = index.dsi if index.dsi and not evaluation.staged and not evaluation.nopm and not evaluation.headline else None
    parts = list(evaluation.series.values()) or [evaluation]
    return {
        "rate": {"value": top.value, "unit": top.short, "scale": top.scale, "threads": top.part.threads,
                 "stage": top.part.stage, "low": low, "high": high},
        "p50_ns": _known(curve.told(0.5) if curve else None),
        "p99_ns": _known(curve.told(0.99) if curve else None),
        "failed": 1 - top.part.success_share.get(top.scale, 1.0),
        "dsi": {"value": dsi.value, "low": _known(dsi.low), "high": _known(dsi.high), "comparable": index.comparable}
        if dsi else None,
        "energy": _describe_energy(top.part.energy.get(top.scale)),
        "stages": _rates_of_stages(evaluation),
        "curves": [
            {"stage": part.stage, "threads": part.threads,
             "points": [[row.scale, _known(row.database_size_gb), _known(row.rate_median_tps)] for row in part.scales]}
            for part in parts if part.has_clients
        ],
    }  # fmt: skip


def _describe_energy(energy: Energy | None) -> dict[str, Any] | None:
    joules = _known(energy.joules_per_transaction) if energy else None
    return {"joules": joules, "watts": _known(energy.watts), "by": energy.of} if energy and joules else None


def _rates_of_stages(evaluation: Evaluation) -> dict[str, float | None]:
    """Of a run with stages, the rate of each at its largest scale, of what is measured there."""
    if not evaluation.staged:
        return {}
    last = {part.stage: part.own_rates for part in evaluation.series.values()}
    return {stage: _known(rates[max(rates)]) for stage, rates in last.items() if rates}


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None


def read_entry(folder: Path) -> Entry:
    """The entry in ``folder``; ``EntryError`` says what is wrong with its ``entry.json``."""
    path = folder / "entry.json"
    try:
        if folder.is_symlink() or path.is_symlink() or path.stat().st_size > _LARGEST:
            raise EntryError(f"{path} is a link, or larger than 1 MiB")
        entry = Entry.model_validate_json(path.read_bytes())
    except OSError as error:
        raise EntryError(f"{folder} has no entry.json: {error.strerror}") from None
    except ValidationError as error:
        raise EntryError(f"{path}: {_first(error)}") from None
    if entry.format != FORMAT:
        raise EntryError(f"{path} has format {entry.format}, this program reads {FORMAT}")
    if entry.id != folder.name:
        raise EntryError(f"{path} is the entry {entry.id}")
    return entry


def verify(folder: Path) -> Entry:
    """The entry in ``folder``, once every figure was computed again from its archive.

    ``EntryError`` with one sentence for the first thing that is wrong.
    """
    entry = read_entry(folder)
    path = folder / "archive.zip"
    if path.is_symlink() or not path.is_file():
        raise EntryError(f"{entry.id} has no archive.zip")
    if path.stat().st_size > _LARGEST_ARCHIVE:
        raise EntryError(f"{entry.id}: archive.zip is larger than {_LARGEST_ARCHIVE >> 20} MiB")
    if more := sorted(one.name for one in folder.iterdir() if one.name not in FILES):
        raise EntryError(f"{entry.id} holds {more[0]!r}, and an entry has entry.json and archive.zip only")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != entry.sha256 or digest[:10] != entry.id[-10:]:
        raise EntryError(f"{entry.id}: archive.zip is another one than was published: its digest differs")
    if any(_UNSEEN.search(word) for word in _words(entry.model_dump())):
        raise EntryError(f"{entry.id}: entry.json holds letters that nobody sees")
    if any(redact_words(word) != word for word in _words(entry.model_dump())):
        raise EntryError(f"{entry.id}: entry.json holds what looks like a password")
    try:
        if wrong := next(_contradictions(entry, Archive.open(path)), ""):
            raise EntryError(f"{entry.id}: {wrong}")
    except ArchiveError as error:
        raise EntryError(f"{entry.id}: {error}") from None
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, pa.ArrowException) as error:
        raise EntryError(f"{entry.id}: its tables cannot be evaluated: {error}") from None
    return entry


def _contradictions(entry: Entry, archive: Archive) -> Iterator[str]:
    """What in the archive cannot be true, and what the entry says that does not follow from it."""
    if more := sorted(set(archive.names()) - PACKED):
        yield f"archive.zip holds {more[0][:60]!r}, which no entry has"
        return
    yield from (wrong.sentence for wrong in audit(archive))
    for name, value in describe(archive).items():
        for where, mine, theirs in _differences(name, value, getattr(entry, name)):
            yield f"{where} is {theirs!r}, and its tables give {mine!r}"
    said = archive.read("results.csv").decode() if "results.csv" in archive.names() else ""
    if said != tables.results_csv(evaluate(archive)):
        yield "results.csv does not follow from its tables"
    if entry.id[:-11] != _name(archive.run):
        yield f"it should be called {_name(archive.run)}"


def _words(value: Any) -> Iterator[str]:
    """All texts in JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in [*value, *value.values()] if isinstance(value, Mapping) else value:
            yield from _words(part)


def _name(run: RunRecord) -> str:
    return f"{_day(run)}-{_product(run)}-{_slug(run.spec.workload)}"


def _differences(where: str, mine: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    """What differs: the name of the field, what follows from the tables, and what is said."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in sorted({*mine, *theirs}):
            yield from _differences(f"{where}.{name}", mine.get(name), theirs.get(name))
    elif isinstance(mine, list | tuple) and isinstance(theirs, list | tuple) and len(mine) == len(theirs):
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _differences(f"{where}.{number}", one, other)
    elif _is_number(mine) and _is_number(theirs):
        # Of what is no number or has no end, nothing is less than anything: both have to be finite.
        if not abs(mine - theirs) <= _SAME * max(abs(mine), abs(theirs)) < inf:
            yield where, mine, theirs
    elif mine != theirs or isinstance(mine, bool) != isinstance(theirs, bool):
        yield where, mine, theirs


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def list_entries(folder: Path) -> list[Path]:
    """The folders of the entries in a commons, in the order of their names."""
    within = folder / "entries"
    if not within.is_dir():
        words = f"{folder} is no commons: it has no folder entries"
        raise EntryError(words, f"make one: dsbench commons init {folder}", usage=True)
    return sorted(path for path in within.iterdir() if path.is_dir() and not path.name.startswith("."))


def write(package: Package, folder: Path) -> Path:
    """Writes the entry into the commons at ``folder``; gives its folder. ``EntryError`` where the run is there."""
    within = folder / "entries" / package.entry.id
    if within.exists():
        raise EntryError(f"{within} is there already", "nothing was written: this run is published", usage=True)
    try:
        within.mkdir(parents=True)
        (within / "archive.zip").write_bytes(package.archive)
        (within / "entry.json").write_text(package.entry.rendered(), "utf-8")
    except OSError as error:
        words = f"--to: cannot write to {folder}: {error.strerror}"
        raise EntryError(words, "name a folder that can be written", usage=True) from None
    return within
