"""What users and their programs rely on is still there, and archives show what they showed.

``tests/data/kept`` holds it. Two things are a contract: ``surface.json``, of which nothing may go, and what ``--json``
prints, which may not change. Texts, diagrams and pages are a convenience, which other tests keep.
After a change that is meant, write them again and read the difference: ``.venv/bin/python tests/test_kept_figures.py``, or
``.venv/bin/python tests/test_kept_figures.py pg trend`` for some of them.

Everything is done with what users have: the command line, and what ``import dsbench`` gives.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from enum import Enum
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import pytest
import typer

import dsbench
from dsbench import cli
from fixtures.thorough import mostly_thorough

DATA = Path(__file__).parent / "data"
KEPT = DATA / "kept"
ARCHIVES = sorted((DATA / "archives").glob("*.zip"))
VIEWS = ("runs", "scales", "settings", "trials", "measures", "dsi")


def called(*arguments: str | Path, exits: int = 0) -> str:
    """What the program prints. Paths read as from the folder of the data."""
    out, err = io.StringIO(), io.StringIO()
    said = mock.patch.object(sys, "argv", ["dsbench", *map(str, arguments)])
    with said, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == exits, err.getvalue()
    return out.getvalue().replace(f"{DATA}/", "").replace(str(DATA), "data")


def read_json(*arguments: str | Path, exits: int = 0) -> Any:
    return rounded(json.loads(called(*arguments, exits=exits)))


def rounded(value: Any) -> Any:
    """The same with 12 digits, as the last ones depend on the libraries and the processor."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.12g}") + 0.0 if isinstance(value, float) else value


def surface() -> dict[str, Any]:
    """Commands with their options and the words that these take, settings, exit codes, tables, names of the library."""
    group: Any = typer.main.get_command(cli.app)
    one = dsbench.open(ARCHIVES[0])
    return {
        "commands": dict(_commands("dsbench", group)),
        "settings": re.findall(r"^#?(\w+) =", called("run", "--example-config"), re.MULTILINE),
        "workloads": {
            workload["name"]: [f"{setting['name']}={setting['default']}" for setting in workload["settings"]]
            for workload in json.loads(called("run", "--list", "--json"))
        },
        "study templates": re.findall(r"^(\S+)", called("study", "templates"), re.MULTILINE),
        "tables": {
            name: columns.split(", ")
            if name in VIEWS
            else [f"{column.name}: {column.type}" for column in one.table(name).schema]
            for name, columns in views().items()
        },
        "library": sorted(dsbench.__all__),
    }


def views() -> dict[str, str]:
    """The views of ``query`` with their columns."""
    return dict(re.findall(r"^(\w+): .*\n  (.*)$", called("query", DATA), re.MULTILINE))


def _commands(name: str, command: Any) -> Iterator[tuple[str, list[str]]]:
    words = [word for param in command.params for word in (*param.opts, *param.secondary_opts)]
    kinds = [(param.opts[0], set(get_args(kind := param.type_descriptor.annotation)) or {kind}) for param in command.params]
    enums = [(option, one) for option, several in kinds for one in several if isinstance(one, type) and issubclass(one, Enum)]
    words += [f"{option}={word}" for option, kind in enums for word in kind]
    yield name, sorted(words)
    for below, one in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {below}", one)


def lost(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Places at which something of ``old`` is missing in ``new``."""
    if isinstance(old, dict):
        for key, value in old.items():
            yield from lost(value, new[key], f"{at} {key}") if key in new else [f"{at} {key}"]
    elif isinstance(old, list):
        yield from (f"{at} {value}" for value in old if value not in new)
    elif old != new:
        yield f"{at}: {old}, now {new}"


def shown(archive: Path) -> Any:
    return read_json("show", archive, "--json")


def written(archive: Path) -> tuple[str, Any]:
    """The texts of an archive, and what its page and its diagrams consist of: ``plot --fresh`` makes those of a folder."""
    show: Any = typer.main.get_command(cli.app)
    (_, words), *_ = _commands("dsbench show", show.commands["show"])
    ways = [word.removeprefix("--by=") for word in words if word.startswith("--by=")]
    texts = {f"show --by {way}": called("show", archive, "--by", way) for way in ways}
    with tempfile.TemporaryDirectory() as name, _undrawn():
        with zipfile.ZipFile(archive) as pack:
            pack.extractall(name)
        folder = Path(name, archive.stem)
        called("plot", folder, "--fresh")
        texts |= {path.name: path.read_text() for path in sorted(folder.glob("results*.[ct][sx][vt]"))}
        called("plot", folder, "--format", "gnuplot", "--out", Path(name, "gnuplot"))
        page = (folder / "report.html").read_text()
        parts = {
            "files": sorted(path.name for path in folder.iterdir()),
            "gnuplot": sorted(path.name for path in Path(name, "gnuplot").iterdir()),
            "diagrams": {path.name: _outline(path) for path in sorted(folder.glob("*.vl.json"))},
            "sections": re.findall(r'<section[^>]* id="([^"]*)"', page),
            "headings": re.findall(r"<(h[1-6])[^>]*>(.*?)</\1>", page, re.DOTALL),
        }
    return "".join(f"=== {title}\n{text.rstrip()}\n\n" for title, text in texts.items()), parts


def _undrawn() -> Any:
    """No pictures, which take most of the time."""
    return mock.patch.multiple("vl_convert", vegalite_to_svg=lambda *_, **__: "<svg/>", svg_to_pdf=lambda *_, **__: b"")


def _outline(path: Path) -> dict[str, Any]:
    """Rows of the data of a diagram, and one word for the whole of it."""
    spec = rounded(json.loads(path.read_text()))
    word = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
    return {"rows": {name: len(rows) for name, rows in spec["datasets"].items()}, "sha256": word}


def versus() -> Any:
    """What ``ab --resume`` prints where nothing is left to be done; archives of the study stand for its own."""
    with tempfile.TemporaryDirectory() as name, _undrawn():
        out = Path(name, "ab")
        out.mkdir()
        shutil.copy(KEPT / "ab.json", out)
        studied = cycle(sorted((KEPT / "study/archives").glob("*.zip")))
        for block in json.loads((KEPT / "ab.json").read_text())["blocks"]:
            for archive in block["archives"]:
                shutil.copy(next(studied), out / f"{archive}.zip")
        sides = ("mock:?latency_us=200", "mock:?latency_us=250")
        sizes = ("--scales", "1", "--cycles", "2", "--duration", "0.3", "--clients", "1", "--seed", "1", "--max-blocks", "4")
        return read_json("ab", *sides, *sizes, "--resume", "--out", out, "--json", "-q", exits=4)


def asked() -> Any:
    """Runs, scales and trials of ``query``, and how many rows of each archive each other view has."""
    whole = ("runs", "scales", "trials")
    rows = [f"SELECT * FROM {name} ORDER BY ALL" for name in whole]
    others = [name for name in views() if name not in whole]
    counts = [f"SELECT '{name}' AS of, archive, count(*) AS rows FROM {name} GROUP BY ALL" for name in others]
    found = {sql: read_json("query", DATA, sql, "--as", "json") for sql in rows}
    return found | {"counts": read_json("query", DATA, f"{' UNION ALL '.join(counts)} ORDER BY ALL", "--as", "json")}


TPCB = [path for path in ARCHIVES if path.stem in ("mock-clients", "pg", "sqlite-tpcb", "sqlite-clients")]
SEVERAL: dict[str, Callable[[], Any]] = {
    "compare": partial(read_json, "compare", *TPCB, "--json"),
    "compare-tpcc": partial(read_json, "compare", *(DATA / f"archives/{n}.zip" for n in ("mock-tpcc", "pg-tpcc")), "--json"),
    "trend": partial(read_json, "trend", DATA / "archives", "--json"),
    "trend-study": partial(read_json, "trend", KEPT / "study", "--json"),
    "bound": partial(read_json, "compare", "--bound", DATA / "archives/tp1.zip", KEPT / "parts/t1.zip", KEPT / "parts/t2.zip", "--json"),
    "study-rate": partial(read_json, "study", "show", KEPT / "study", "--json"),
    "study-p99": partial(read_json, "study", "show", KEPT / "study", "--of", "p99", "--json"),
    "ab": versus,
    "query": asked,
}
TEXTS: dict[str, Callable[[], str]] = {
    "compare": partial(called, "compare", *TPCB),
    "trend": partial(called, "trend", DATA / "archives"),
    "bound": partial(called, "compare", "--bound", DATA / "archives/tp1.zip", KEPT / "parts/t1.zip", KEPT / "parts/t2.zip"),
    "study": partial(called, "study", "show", KEPT / "study"),
}


def as_text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def test_nothing_that_users_rely_on_is_lost() -> None:
    assert list(lost(json.loads((KEPT / "surface.json").read_text()), surface())) == []


def test_a_loss_would_be_seen() -> None:
    assert list(lost({"a": ["--b"], "c": 1, "d": {}}, {"a": ["--e"], "c": 2})) == [" a --b", " c: 1, now 2", " d"]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["--version"]),
        (1, ["run", "postgresql://127.0.0.1:1/nothing"]),
        (2, ["show", "nothing.zip"]),
        (2, ["show", "--nothing"]),
        (2, ["nothing"]),
        (2, ["run", "--scales", "0"]),
    ],
)
def test_exit_codes(code: int, arguments: list[str], tmp_path: Path) -> None:
    with chdir(tmp_path):
        called(*arguments, exits=code)


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_an_archive_gives_programs_what_it_gave(archive: Path) -> None:
    assert as_text(shown(archive)) == (KEPT / f"{archive.stem}.json").read_text()


@pytest.mark.parametrize("name", SEVERAL)
def test_several_archives_give_programs_what_they_gave(name: str) -> None:
    assert as_text(SEVERAL[name]()) == (KEPT / f"several/{name}.json").read_text()


SHOWN_DAILY = [path for path in ARCHIVES if path.stem in ("insert", "mock-open", "pg")]


@pytest.mark.parametrize("archive", mostly_thorough(ARCHIVES, *SHOWN_DAILY), ids=lambda path: path.stem)
def test_an_archive_shows_people_what_it_showed(archive: Path) -> None:
    text, parts = written(archive)
    assert text == (KEPT / f"texts/{archive.stem}.txt").read_text()
    assert as_text(parts) == (KEPT / f"texts/{archive.stem}.json").read_text()


@pytest.mark.parametrize("name", TEXTS)
def test_several_archives_show_people_what_they_showed(name: str) -> None:
    assert TEXTS[name]() == (KEPT / f"several/{name}.txt").read_text()


def write_again(wanted: Callable[[str], bool]) -> None:
    for folder in ("several", "texts"):
        (KEPT / folder).mkdir(parents=True, exist_ok=True)
    if wanted("surface"):
        (KEPT / "surface.json").write_text(as_text(surface()))
    for archive in (path for path in ARCHIVES if wanted(path.stem)):
        (KEPT / f"{archive.stem}.json").write_text(as_text(shown(archive)))
        text, parts = written(archive)
        (KEPT / f"texts/{archive.stem}.txt").write_text(text)
        (KEPT / f"texts/{archive.stem}.json").write_text(as_text(parts))
    for name, make in SEVERAL.items():
        if wanted(name):
            (KEPT / f"several/{name}.json").write_text(as_text(make()))
    for name, show in TEXTS.items():
        if wanted(name):
            (KEPT / f"several/{name}.txt").write_text(show())


if __name__ == "__main__":
    write_again(lambda name: len(sys.argv) == 1 or name in sys.argv[1:])
