"""Limits of memory: told at the start in one line, before anything is begun."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from dsbench.loading import loading
from dsbench.read.draw import render
from fixtures.program import Program, only_archive


@pytest.mark.parametrize("limit", [128 << 20, 136 << 20, 140 << 20, 150 << 20, 900_000 << 10])
def test_a_run_that_cannot_have_its_memory_ends_before_it_begins(dsbench: Program, tmp_path: Path, limit: int) -> None:
    """With parts of it some libraries end the program by a signal."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = dsbench("run", "private:sqlite", "--scales", "1", "--out", "out", preexec_fn=limited)
    assert done.returncode == 1, done.stderr
    assert [line.split(": ")[0] for line in done.stderr.splitlines() if not line.startswith("plan")] == ["error", "hint"]
    assert f"ulimit -v is {limit >> 10}" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_needs_no_addresses_for_drawing(dsbench: Program, tmp_path: Path) -> None:
    render.keep_script()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    done = dsbench("run", "private:sqlite", "--scales", "1", "--cycles", "1", "--duration", "1", "--out", "out", preexec_fn=limited)
    assert done.returncode == 0, done.stderr
    archive = only_archive(tmp_path / "out")
    assert "window.vegaEmbed" in (archive / "report.html").read_text()
    for words in ([str(archive)], [str(archive), "--fresh"], [f"{archive}.zip", "--out", "pictures", "--format", "png"]):
        drawn = dsbench("plot", *words, preexec_fn=limited)
        assert drawn.returncode == 1
        assert drawn.stderr.startswith("error: ulimit -v is 4194304: the diagram library reserves ")


@pytest.mark.parametrize("error", [MemoryError(), ImportError("x.so: failed to map segment from shared object")])
def test_a_part_that_cannot_be_loaded_is_one_error(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), loading():
        raise error
    assert capsys.readouterr().err == (
        f"error: dsbench cannot be loaded: {str(error) or 'no memory'}\nhint: allow it more memory: see ulimit -v\n"
    )


THREADS = """
import os, sys
from dsbench.__main__ import main
sys.argv[1:] = ["run", "--help"]
try:
    main()
except SystemExit:
    import numpy
    print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads cannot be counted here")
def test_the_program_computes_on_one_thread() -> None:
    """OpenBLAS tries for ever where it cannot have a buffer for each of its threads."""
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command, counts = [sys.executable, "-c", THREADS], []
    for wish in ({}, {"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "2"}):
        said = subprocess.run(command, env=others | wish, capture_output=True, text=True, check=True).stdout
        counts.append(int(said.split()[-1]))
    # On one CPU it has one thread whatever is wished.
    assert counts[0] == counts[1]
    assert counts[1] < counts[2] or len(os.sched_getaffinity(0)) == 1
