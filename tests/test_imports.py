"""What import-linter cannot see: the compiled core has two importers, and commands load when they are used."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import dsbench
from dsbench import cli
from fixtures.stalled import unless_stalled


def imports(file: Path) -> set[str]:
    """Names that a module imports, absolute and relative, with their last parts."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module or ''}.{alias.name}" for alias in node.names} | {node.module or ""}
    return found


def test_only_the_generator_and_the_workloads_import_the_core() -> None:
    package = Path(dsbench.__file__).parent
    importers = {
        file.relative_to(package).parts[0]
        for file in package.rglob("*.py")
        if any(name.split(".")[-1] == "_core" for name in imports(file))
    }
    assert importers == {"measure", "workloads.py"}


MAIN = (
    "import sys; from dsbench.__main__ import main\n"
    "try: main()\nfinally: print('loaded', *sys.modules, file=sys.stderr)"
)
"""The program, which says in its last line what it has loaded."""


@pytest.mark.parametrize("words", ["--version", "--help", "show --help", "complete dsbench s"])
def test_what_says_little_loads_little(words: str) -> None:
    heavy = {"numpy", "pyarrow", "scipy", "altair", "distributed", "rich", "dsbench.spec", "dsbench._core"}
    if words.startswith("--"):  # About a command's parameters the library of the command line asks pydantic.
        heavy |= {"pydantic", "dsbench.dataclass"}
    line = words.removeprefix("complete ")
    completing = {"COMP_WORDS": line, "COMP_CWORD": "1", "_DSBENCH_COMPLETE": "complete_bash"} if line != words else {}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *([] if completing else words.split())], env={**os.environ, **completing},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert heavy & set(done.stderr.split()) == set()
    assert "dsbench" in done.stdout if not completing else done.stdout.split() == ["study", "show", "servers"]


def test_a_run_says_what_it_will_do_before_it_loads_what_makes_it() -> None:
    program = "import sys, dsbench.cli.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "pyarrow", "scipy", "altair", "distributed", "rich", "dsbench.measure.run"} & set(loaded) == set()


READING = {"read", "several", "study"}
DRAWING = {"jinja2", "vl_convert", "altair", "scipy", "dsbench.read.page", "dsbench.read.html", "dsbench.read.draw"}
READ = Path(__file__).parent / "data" / "archives" / "mysql.zip"


def loaded_by(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_what_is_shown_draws_nothing_and_measures_nothing() -> None:
    loaded = loaded_by("show", str(READ))
    assert "dsbench.read.shown" in loaded
    assert (DRAWING | {"rich", "psutil"}) & loaded == set()
    assert [name for name in loaded if name.startswith(("dsbench.measure", "dsbench.servers", "dsbench.library"))] == []


@unless_stalled
def test_a_run_without_a_report_whose_log_is_no_terminal_loads_nothing_that_reads_draws_or_moves(tmp_path: Path) -> None:
    words = ("--scales", "1", "--cycles", "1", "--duration", "0.1", "--clients", "1", "--report", "none")
    loaded = loaded_by("run", "private:sqlite", *words, "--out", str(tmp_path))
    assert "dsbench.measure.run" in loaded
    assert (DRAWING | {"rich", "http.server", "pyarrow.compute", "pyarrow.dataset"}) & loaded == set()
    assert [name for name in loaded if name.startswith(tuple(f"dsbench.{room}." for room in READING))] == []


def test_specifications_and_archives_are_described_before_their_checks_are_built() -> None:
    """A check of all fields of a run takes longer to build than most commands take for the rest."""
    program = (
        "import dsbench.spec, dsbench.archive.record as record\n"
        "kinds = [dsbench.spec.RunSpec, record.RunRecord, record.Machine]\n"
        "print(*(kind.__pydantic_complete__ for kind in kinds))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_every_command_is_listed_with_its_sentence() -> None:
    group: Any = typer.main.get_command(cli.app)
    named = [list(pair) for commands in cli.COMMANDS.values() for pair in commands.items()]
    for name, _sentence in named:
        assert group.commands[name].get_short_help_str()
    helped = group.get_help(group.make_context("dsbench", [], resilient_parsing=True))
    listed = helped.partition("exit.\n")[2].splitlines()
    assert [line[2:].split(maxsplit=1) for line in listed if line.startswith("  ")][-len(named) :] == named, "a line each"
    assert [line for line in listed if line and not line.startswith(" ")] == [f"{heading}:" for heading in cli.COMMANDS]


def test_what_makes_load_loads_no_arrow() -> None:
    """Processes of drivers and nodes start often; pyarrow takes memory, time and a thread of its own."""
    program = "import sys, dsbench.measure.loaders; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"pyarrow", "scipy", "altair", "distributed"} & set(done.stdout.split()) == set()


def test_a_run_enters_no_module_that_reads_and_none_of_nodes() -> None:
    program = "import sys, dsbench.measure.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rooms = ("read", "several", "study", "check", "commons", "library", "measure.nodes")
    assert [name for name in done.stdout.split() if name.startswith(tuple(f"dsbench.{room}" for room in rooms))] == []


def test_commands_and_pages_load_the_commons_and_the_checks_when_they_are_asked_for() -> None:
    """So that each of these packages can be taken out."""
    program = (
        "import sys, importlib, pkgutil, dsbench.cli, dsbench.web, dsbench.library\n"
        "for package in (dsbench.cli, dsbench.web):\n"
        "    for one in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'): importlib.import_module(one.name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"dsbench.cli.commons", "dsbench.web.pages.commons", "dsbench.web.making"} <= loaded
    assert [name for name in loaded if name.startswith(("dsbench.commons", "dsbench.check"))] == []
