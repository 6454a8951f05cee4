"""What fills a new commons: runs of the products at hand, published and checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.commons.repository import begin
from dsbench.commons.site import check

SCRIPT = Path(__file__).parents[2] / "scripts/first-entries"


@pytest.mark.thorough
def test_first_entries_are_measured_once_and_hold(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    begin(folder)
    words = ("--products", "sqlite", "--workloads", "select,tpcb", "--clients", "2", "--cycles", "1", "--duration", "0.3")
    command = [sys.executable, str(SCRIPT), str(folder), *words, "--archives", str(tmp_path / "archives"), "--by", "Ada"]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    found = check(folder)
    assert found.refused == ()
    assert sorted(entry.conditions["workload"] for entry in found.sound) == ["select", "tpcb"]
    assert {entry.about.by for entry in found.sound} == {"Ada"}
    assert all("shared virtual machine" in entry.about.notes for entry in found.sound)
    published = [Archive.open(folder / "entries" / entry.id / "archive.zip") for entry in found.sound]
    assert [archive.run.spec.label for archive in published] == ["", ""]
    assert len(list((tmp_path / "archives").glob("*.zip"))) == 2
