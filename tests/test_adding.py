"""docs/adding.md says how things are added: this adds them to a copy of the program, just so."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dsbench

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parent.parent
MADE_FROM_THE_FIELD = (
    "test_every_field_is_in_the_table", "test_an_option_says_what_it_is[rest]",
    "test_help_of_the_command_line_has_it[rest]",
    "test_a_file_takes_it_by_its_name_and_by_that_of_its_option[rest]", "test_the_command_repeats_the_run[rest-None]",
    "test_the_command_repeats_the_run[rest-dsi]", "test_an_older_archive_without_it_still_has_a_command[rest]",
    "test_a_comparison_tells_that_it_differs[rest]", "test_a_wrong_value_is_told_by_its_option[rest]",
    "test_bounds_of_the_table_are_those_that_are_kept[rest]",
)  # fmt: skip


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the program. The core is large, and stays as it is."""
    copy = tmp_path / "dsbench"
    # With what is compiled, but for files that others are just writing.
    shutil.copytree(Path(dsbench.__file__).parent, copy, ignore=shutil.ignore_patterns("_core*.so", "*.pyc.*"))
    for core in Path(dsbench.__file__).parent.glob("_core*.so"):
        (copy / core.name).symlink_to(core)
    return copy


def blocks(title: str) -> list[str]:
    """The code of a section of the page, in its order: definition, use, test."""
    section = (ROOT / "docs/adding.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```(?:python|rust)\n(.*?)```", section, re.DOTALL)


def python(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with the copy of the program."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT / "tests")])}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True)


def assert_passed(package: Path, asked: list[str], names: tuple[str, ...]) -> None:
    """The tests ``asked`` for hold on the copy, those called ``names`` among them."""
    done = python(
        package, "-m", "pytest", "-v", "-o", "addopts=", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *asked
    )
    assert done.returncode == 0, done.stdout
    for name in names:
        assert f"::{name} PASSED" in done.stdout, done.stdout


def add_field(file: Path, field: str) -> None:
    """Puts the field before the first validator of ``RunSpec``."""
    before, validator, after = file.read_text().partition("    _scales_rise = field_validator(")
    assert validator
    file.write_text(f"{before}{field}\n{validator}{after}")


def add_use(file: Path, use: str) -> None:
    """Puts the imports of ``use`` to the others, and its statements at the beginning of its function."""
    *imports, function = ast.parse(use).body
    assert isinstance(function, ast.FunctionDef)
    lines = file.read_text().splitlines()
    (there,) = [node for node in ast.parse(file.read_text()).body
                if isinstance(node, ast.FunctionDef) and node.name == function.name]  # fmt: skip
    assert ast.dump(there.args) == ast.dump(function.args), "the page shows the function as it is"
    statements = ["    " + ast.unparse(statement) for statement in function.body]
    docstring = there.body[0].end_lineno or 0
    at = lines.index("from __future__ import annotations") + 1
    lines[docstring:docstring] = statements
    lines[at:at] = [ast.unparse(node) for node in imports]
    file.write_text("\n".join(lines) + "\n")


def add_line(file: Path, line: str, *, last_of: str) -> None:
    """Puts ``line`` behind the line that begins with ``last_of``, which has to be the last of its brackets."""
    before, found, after = file.read_text().rpartition(f"{line[: len(line) - len(line.lstrip())]}{last_of}")
    rest, _, following = after.partition("\n")
    assert found, "the page shows the line as deep as the others are"
    assert following.lstrip()[0] in ")}", "the page says that it comes last"
    file.write_text(f"{before}{found}{rest}\n{line}{following}")


def test_an_option_more_takes_three_files(package: Path) -> None:
    field, use, test = blocks("Adding an option")
    add_field(package / "spec/run.py", field)
    add_use(package / "measure/cycle.py", use)
    (package.parent / "test_rest.py").write_text(test)

    asked = [str(ROOT / "tests/test_options.py"), "test_rest.py", "-k", "rest or every_field"]
    assert_passed(package, asked, (*MADE_FROM_THE_FIELD, "test_cycles_are_a_rest_apart"))
    helped = python(package, "-m", "dsbench", "run", "--help").stdout
    assert "--rest TIME" in helped
    assert "Seconds of rest before each cycle [0 s]" in " ".join(helped.split())


def test_an_option_of_the_load_takes_two_files(package: Path, tmp_path: Path) -> None:
    field, asked, use, test = blocks("Adding an option of the load")
    add_field(package / "spec/run.py", field)
    names = tuple(name.replace("[rest", "[reopen") for name in MADE_FROM_THE_FIELD)
    assert_passed(package, [str(ROOT / "tests/test_options.py"), "-k", "reopen or every_field"], names)

    core = tmp_path / "core"
    shutil.copytree(ROOT / "crates/core", core / "crates/core")
    shutil.copy(ROOT / "Cargo.lock", core)
    whole = (ROOT / "Cargo.toml").read_text()
    (core / "Cargo.toml").write_text(re.sub(r"members = \[.*\]", 'members = ["crates/core"]', whole))
    file = core / "crates/core/src/load/fill.rs"
    head, options, rest = file.read_text().partition("pub struct Options {\n")
    fields, end, rest = rest.partition("}\n")
    text = re.sub(r"/// [^\n]+\nconst PROMPT: .*\n", "", f"{head}{options}{fields}{asked}{end}{rest}")
    text, uses = re.subn(r" *pause: self.pause\(PROMPT.*\n", use, text)
    assert uses == 1
    file.write_text(f"{text.removesuffix('}' + chr(10))}\n{test}}}\n")

    own = {"CARGO_TARGET_DIR": str(core / "target"), "RUSTFLAGS": "-D warnings", "CARGO_PROFILE_DEV_DEBUG": "0"}
    command = ["cargo", "test", "--offline", "--package", "dsbench-core", "--lib", "fill::"]
    done = subprocess.run(command, cwd=core, env={**os.environ, **own}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a_lost_connection_is_tried_as_often_as_the_run_says ... ok" in done.stdout


def test_a_column_more_takes_two_files(package: Path) -> None:
    column, value, test = blocks("Adding a column")
    add_line(package / "archive/columns.py", column, last_of='ArchiveColumn("ramp_up_ns"')
    add_line(package / "measure/rows.py", value, last_of='"ramp_up_ns"')
    (package.parent / "test_kinds_of_groups.py").write_text(test)

    asked = [str(ROOT / "tests/test_columns.py"), "test_kinds_of_groups.py"]
    assert_passed(package, asked, ("test_every_column_says_what_it_is[groups]", "test_groups_tell_their_kinds"))
    shown = python(package, "-c", f"import runpy; print(runpy.run_path({str(ROOT / 'scripts/make-docs')!r})['columns']())")
    assert "| `kinds` | uint32, kinds | Kinds of transactions that the group runs. |" in shown.stdout


def test_a_subject_more_takes_one_file_and_one_line(package: Path) -> None:
    subject, line, test = blocks("Adding a subject")
    (package / "read/subjects/retries.py").write_text(subject)
    registry = package / "read/subjects/__init__.py"
    before, brackets, after = registry.read_text().partition(")  # fmt: skip")
    registry.write_text(f"{before}{line}\n{brackets}{after}")
    (package.parent / "test_retries.py").write_text(test)

    assert_passed(package, ["test_retries.py"], ("test_retries_are_told",))
    kept = ROOT / "tests/data/archives/pg.zip"
    shown = python(package, "-m", "dsbench", "show", str(kept), "--by", "retries").stdout
    assert shown.strip() == "No transaction was repeated."
