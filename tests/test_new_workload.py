"""A workload is its folder and two lines: the example of docs/workloads.md is compiled in a copy of the crates."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dsbench import workloads

ROOT = Path(__file__).parent.parent
PROGRAM = 'fn main() { dsbench_workloads::names().iter().for_each(|name| println!("{name}")) }\n'
MANIFEST = """[package]
name = "names"
edition = "2021"

[dependencies]
dsbench-workloads.workspace = true
"""


@pytest.mark.thorough
def test_the_example_of_the_documentation_becomes_a_workload(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    page = (ROOT / "docs/workloads.md").read_text()
    blocks = dict(re.findall(r"`(crates/\S+)`[^`]*(?:`REGISTRY`)?[^`]*:\n\n```\w+\n(.*?)```", page, re.DOTALL))
    module, line = blocks.pop("crates/workloads/src/lib.rs").splitlines()
    for path, text in blocks.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    library = tmp_path / "crates/workloads/src/lib.rs"
    text = library.read_text().replace("pub mod entry;", f"{module}\npub mod entry;", 1)
    library.write_text(re.sub(r"(&\[&Entry\] =\s*&\[)", rf"\1\n{line}\n", text, count=1))
    assert set(_names(tmp_path)) == {*workloads.names(), "counter"}


def _names(workspace: Path) -> list[str]:
    """What a small program in the workspace prints: the names of its workloads. Nothing is optimized, for speed."""
    program = workspace / "crates/names"
    (program / "src").mkdir(parents=True)
    (program / "Cargo.toml").write_text(MANIFEST)
    (program / "src/main.rs").write_text(PROGRAM)
    manifest = workspace / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace('members = [', 'members = ["crates/names", '))
    own = {"CARGO_TARGET_DIR": str(workspace / "target"), "RUSTFLAGS": "-D warnings", "CARGO_PROFILE_DEV_DEBUG": "0"}
    command = ["cargo", "run", "--quiet", "--offline", "--package", "names"]
    done = subprocess.run(command, cwd=workspace, env={**os.environ, **own}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
