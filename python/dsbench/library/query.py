"""SQL over all archives below a folder: DuckDB looks at their tables as views."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dsbench.archive import Archive, ArchiveError, RunRecord
from dsbench.archive.columns import TABLES
from dsbench.dataclass import dataclass
from dsbench.format import finite
from dsbench.read.choice import choose, is_of_run, list_stages, read_unit, read_values
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subject import Measure
from dsbench.read.subjects import measures
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.spec import OPTIONS, printed
from dsbench.stats.values import result_columns
from dsbench.study import Study, load


@dataclass(frozen=True)
class Found:
    """What lies below a folder."""

    archives: tuple[Archive, ...]
    folders: tuple[Path, ...]
    """Of studies."""
    problems: tuple[str, ...]
    """Archives that cannot be read, in words."""

    @cached_property
    def studies(self) -> tuple[Study, ...]:
        """The studies themselves. ``ArchiveError`` where one cannot be read."""
        return tuple(load(folder) for folder in self.folders)


def find(folder: Path) -> Found:
    """Everything below ``folder``, or the archive that it is; a zip counts where its folder is not beside it.

    ``ArchiveError`` where there is nothing.
    """
    folders = {path.parent for path in folder.rglob("run.json")}
    zips = set(folder.rglob("*.zip") if folder.is_dir() else [folder])
    packed = {path for path in zips if path.with_name(path.name.removesuffix(".zip")) not in folders}
    archives, problems = [], []
    for path in sorted(folders | packed):
        try:
            archive = Archive.open(path)
            _ = archive.run
            archives.append(archive)
        except ArchiveError as error:
            problems.append(str(error))
    if not archives:
        problem = problems[0] if problems else f"no archive in or below {folder}"
        raise ArchiveError(problem, "name a folder in which runs left archives, or a study's", usage=True)
    return Found(tuple(archives), tuple(sorted(p.parent for p in folder.rglob("study.json"))), tuple(problems))


Row = dict[str, Any]


def names() -> dict[str, str]:
    """Name of each view to what a row of it is."""
    made = {
        "runs": "An archive: when and where it was made, its server, and every option of the run by its name.",
        "scales": "A scale of an archive, at one of its numbers of clients: the columns of results.csv.",
        "settings": "A setting of a server, a workload or the system below them, by archive.",
        "trials": "A trial of a study, with a column for each factor.",
        "measures": "A measure (docs/studies.md) of an archive, stage, group of clients, number of clients and scale: "
        "the group '' is the measured clients, or all; scale is empty for one value of a whole run.",
        "dsi": "The DSI of an archive at one of its numbers of clients, with its interval over the cycles.",
    }
    return made | {name: table.sentence for name, table in TABLES.items()}


def views(names: Sequence[str], found: Found) -> dict[str, pa.Table]:
    """The rows of each, as an Arrow table. An archive is evaluated once for all of them."""
    rows: dict[str, list[Row]] = {name: [] for name in names if name not in TABLES}
    evaluated = [name for name in rows if name in _EVALUATED]
    for name in rows.keys() & _MADE.keys():
        rows[name] += _MADE[name](found)
    for archive in found.archives if evaluated else ():
        evaluation = evaluate(archive)
        for name in evaluated:
            rows[name] += _EVALUATED[name](archive, evaluation)
    tables = {name: [_with_archive(one, one.table(name)) for one in found.archives] for name in names if name in TABLES}
    kept = {name: pa.concat_tables(some, promote_options="default") for name, some in tables.items()}
    return {
        name: kept[name].unify_dictionaries() if name in kept else _table(rows[name], columns(name, found))
        for name in names
    }


def _with_archive(archive: Archive, rows: pa.Table) -> pa.Table:
    column = pa.array([archive.name] * rows.num_rows, pa.string())
    return rows.add_column(0, "archive", column)


def _table(rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
    """Of rows that may lack columns; columns of mixed types are text."""
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array[Any]:
    try:
        found: pa.Array[Any] = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        found = pa.array([None if value is None else str(value) for value in values], pa.string())
    return found


def _runs(found: Found) -> Iterator[Row]:
    for archive in found.archives:
        run = archive.run
        yield {
            "archive": archive.name, "path": str(archive.path), "status": run.status, "started": run.started,
            "ended": run.ended, "host": run.host, "cpus": run.cpus, "engine": run.engine,
            "server_version": run.server_version, "in_force": run.in_force, "durable": not run.unsafe,
            **_options(run),
        }  # fmt: skip


def _options(run: RunRecord) -> Row:
    asked = run.spec.described()
    found: Row = {"target": run.spec.target.url, "version": run.spec.target.version}
    for name, option in OPTIONS.items():
        value = asked.get(name)
        if option.kind != "object":
            found[name] = printed(value) if isinstance(value, list) else value
    return found | {"clients": run.spec.clients}


def _scales(archive: Archive, evaluation: Evaluation) -> Iterator[Row]:
    for part in evaluation.series.values() or [evaluation]:
        for row in part.of(RateResult).scales:
            nopm = part.of(KindsResult).nopm.get(row.scale)
            yield {
                "archive": archive.name, "stage": part.stage, "clients": part.clients,
                "connections": part.of(RateResult).connections, **row.cells(),
                "nopm": nopm.median if nopm else None,
                "void": row.scale in part.of(RateResult).void_scales,
            }  # fmt: skip


def _measures(archive: Archive, evaluation: Evaluation) -> Iterator[Row]:
    for stage, groups in list_stages(evaluation).items():
        for group in ("", *(groups if len(groups) > 1 else ())):
            for part in choose(evaluation, stage, group):
                key = {"archive": archive.name, "stage": stage, "group": group, "clients": part.clients}
                yield from _of_part(key, part, measures(), alone=True)
    whole = {name: how for name, how in measures().items() if how.in_stage and is_of_run(how, evaluation)}
    key = {"archive": archive.name, "stage": "", "group": "", "clients": evaluation.clients}
    yield from _of_part(key, choose(evaluation)[-1], whole, alone=False) if whole else ()


def _of_part(key: Row, part: Evaluation, known: Mapping[str, Measure], *, alone: bool) -> Iterator[Row]:
    for name, how in known.items():
        unit = read_unit(how, part)
        for scale, value in read_values(how, part, alone=alone).items():
            yield {**key, "scale": scale or None, "measure": name, "unit": unit, "value": finite(value),
                   "more_is_better": how.more}  # fmt: skip


def _dsi(archive: Archive, evaluation: Evaluation) -> Iterator[Row]:
    for part in evaluation.series.values() or [evaluation]:
        index = part.own.of(RateResult).index
        if index.dsi is not None:
            yield {
                "archive": archive.name, "stage": part.stage, "clients": part.clients,
                "connections": part.of(RateResult).connections, "dsi": index.dsi.value,
                "low": finite(index.dsi.low),
                "high": finite(index.dsi.high), "lowest_scale": index.lowest_scale,
                "highest_scale": index.highest_scale, "comparable": index.comparable,
            }  # fmt: skip


def _settings(found: Found) -> Iterator[Row]:
    for archive in found.archives:
        run = archive.run
        parts: dict[str, Iterable[tuple[str, Any]]] = {
            "server": run.settings.items(),
            "asked of server": run.spec.target.settings.items(),
            "workload": run.spec.workload_settings.items(),
            "limits": (run.spec.described().get("limits") or {}).items(),
            "storage": run.spec.storage.items(),
            "durability": ((switch.switch, switch.value) for switch in run.durability),
            **{layer.layer: layer.items.items() for layer in run.stack},
        }
        for of, values in parts.items():
            for name, value in values:
                yield {"archive": archive.name, "part": of, "name": str(name), "value": str(value)}


def _trials(found: Found) -> Iterator[Row]:
    for study in found.studies:
        columns = _factors(study)
        for trial in study.trials:
            levels = {
                column: numbers.get(level, level)
                for (column, numbers), level in zip(columns, trial.levels, strict=True)
            }
            yield {
                "study": study.spec.name, "trial": trial.number, "block": trial.block, "status": trial.status,
                "archive": trial.archive or None, "reason": trial.reason, **levels,
            }  # fmt: skip


_TAKEN: Final = ("study", "trial", "block", "status", "archive", "reason")


def _factors(study: Study) -> list[tuple[str, Mapping[str, Any]]]:
    """For each factor its column, and by level the number that it is, where all of them are numbers."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for factor in study.factors:
        name = re.sub(r"\W+", "_", factor.name.lower()).strip("_") or "factor"
        levels = factor.resolved
        numbers = (
            {level.name: level.number for level in levels} if all(one.number is not None for one in levels) else {}
        )
        found.append((f"{name}_" if name in _TAKEN else name, numbers))
    return found


_MADE: Final[Mapping[str, Callable[[Found], Iterator[Row]]]] = {"runs": _runs, "settings": _settings, "trials": _trials}
"""Views of what the archives and studies say themselves."""
_EVALUATED: Final[Mapping[str, Callable[[Archive, Evaluation], Iterator[Row]]]] = {
    "scales": _scales, "measures": _measures, "dsi": _dsi,
}  # fmt: skip
"""Views of what is found in an archive."""
_COLUMNS: Final = {
    "settings": ("archive", "part", "name", "value"),
    "measures": ("archive", "stage", "group", "clients", "scale", "measure", "unit", "value", "more_is_better"),
    "dsi": ("archive", "stage", "clients", "connections", "dsi", "low", "high", "lowest_scale", "highest_scale",
            "comparable"),
}  # fmt: skip


def columns(name: str, found: Found) -> list[str]:
    """The columns of a view, whether or not it has rows; no archive is evaluated for it."""
    if name in TABLES:
        return ["archive", *(column.name for column in TABLES[name].columns)]
    if name in _COLUMNS:
        return list(_COLUMNS[name])
    if name == "scales":
        results = (column for one in found.archives for column in result_columns(one.run.spec.levels))
        return list(dict.fromkeys(("archive", "stage", "clients", "connections", *results, "nopm", "void")))
    if name == "runs":
        return list(next(_runs(found)))
    return list(dict.fromkeys((*_TAKEN, *(column for row in _trials(found) for column in row))))


class QueryError(Exception):
    """A query that cannot be answered; ``remedy`` says what to do, ``usage`` whether its words are wrong."""

    def __init__(self, problem: str, remedy: str, *, usage: bool = True) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.usage = usage


@dataclass(frozen=True)
class QueryAnswer:
    """The rows that a query gives."""

    heads: list[str]
    """Names of the columns; of several with one name the second is called ``name_1``, the third ``name_2``."""
    rows: list[list[Any]]


def ask(found: Found, sql: str) -> QueryAnswer:
    """The rows that ``sql`` gives. ``QueryError`` has DuckDB's words where it refuses."""
    duckdb = _duckdb()
    with duckdb.connect(":memory:") as connection:
        for name, rows in views(_needed(sql), found).items():
            connection.register(name, rows)
        for setting in (
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        try:
            result = connection.sql(sql)
            return QueryAnswer([], []) if result is None else _answer(result.to_arrow_table())
        except duckdb.Error as error:
            problem = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise QueryError(problem, "dsbench query FOLDER shows the views with their columns") from None


def _answer(table: pa.Table) -> QueryAnswer:
    heads: list[str] = []
    for name in table.column_names:
        count = 0
        while (head := f"{name}_{count}" if count else name) in heads or (count and head in table.column_names):
            count += 1
        heads.append(head)
    columns = [_values(head, column) for head, column in zip(heads, table.columns, strict=True)]
    return QueryAnswer(heads, [list(row) for row in zip(*columns, strict=True)])


def _values(head: str, column: pa.ChunkedArray[Any]) -> list[Any]:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError, pa.ArrowException) as error:
        words = f"the column {head} has values of type {column.type} that cannot be shown: {error}"
        raise QueryError(words, "convert them to text: CAST(… AS VARCHAR)") from None


def described(found: Found) -> dict[str, list[str]]:
    """Name of each view to the names of its columns."""
    return {name: columns(name, found) for name in names()}


def _needed(sql: str) -> list[str]:
    """The views that a query may name: those that it does not are not read. All, where it asks what there is."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    listing = words & {"show", "tables", "information_schema", "describe", "summarize"}
    return [name for name in names() if name in words or listing]


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        remedy = "pip install 'dsbench-db[query]', or read the tables by dsbench.open(…).table(…)"
        raise QueryError(f"DuckDB is not installed ({error})", remedy, usage=False) from None
