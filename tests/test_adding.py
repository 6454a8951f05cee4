"""ARCHITECTURE.md says how an option is added: this adds one to a copy of the program, just so."""

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
def blocks() -> list[str]:
    """The code of the page: field, use, test."""
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Adding an option\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def add_field(file: Path, field: str) -> None:
    """Puts the field before the first validator of ``RunSpec``."""
    before, validator, after = file.read_text().partition("    @field_validator(")
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


def test_an_option_more_takes_three_files(blocks: list[str], tmp_path: Path) -> None:
    field, use, test = blocks
    package = tmp_path / "dsbench"
    # The core is large, and stays as it is.
    shutil.copytree(Path(dsbench.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "_core*.so"))
    for core in Path(dsbench.__file__).parent.glob("_core*.so"):
        (package / core.name).symlink_to(core)
    add_field(package / "spec/run.py", field)
    add_use(package / "runner/cycle.py", use)
    (tmp_path / "test_rest.py").write_text(test)

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "tests")])}
    asked = [str(ROOT / "tests/test_options.py"), str(tmp_path / "test_rest.py"), "-k", "rest or every_field"]
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *asked]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for name in (*MADE_FROM_THE_FIELD, "test_cycles_are_a_rest_apart"):
        assert f"::{name} PASSED" in done.stdout, done.stdout

    helped = subprocess.run([sys.executable, "-m", "dsbench", "run", "--help"], cwd=tmp_path, env=environment,
                            capture_output=True, text=True).stdout  # fmt: skip
    assert "--rest <float>" in helped
    assert "Seconds of rest before each cycle [0]." in " ".join(helped.split())
