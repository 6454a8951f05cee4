"""The bare limit: a loop of one send, one receive and one reading of the clock, without anything else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from bench.place import UNIX, Place
from bench.process import Measured, run

ROOT = Path(__file__).resolve().parent.parent


def possible() -> bool:
    """Whether it can be compiled here."""
    return shutil.which("cargo") is not None


def build() -> Path:
    """Compiles the loop; gives its program."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "dsbench-null", "--bin", "bare_select"]
    run([*command, "--manifest-path", str(ROOT / "Cargo.toml")], {}, limit_s=900)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "bare_select"


def measure(program: Path, place: Place, transport: str, clients: int, duration: float) -> Measured:
    """Runs the loop for ``duration`` seconds; it tells its own CPU time from start to end."""
    where = f"{place.folder}/.s.PGSQL.{place.port}" if transport == UNIX else f"127.0.0.1:{place.port}"
    rows = str(100_000 * place.scale)
    ended = run([str(program), where, str(clients), f"{duration:.3f}", rows], {})
    said = json.loads(ended.output)
    return Measured(said["transactions"], said["transactions"] / said["seconds"], ended.user_s, ended.system_s)
