"""The wheel: what is in it, and that it works where nothing else of this project is."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECK = ROOT / "scripts/check-wheel"
METADATA = "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: THIRD-PARTY.md\n"
WELL_NAMED = "dsbench_db-1-cp311-abi3-manylinux_2_17_x86_64.whl"


def _library(*sections: bytes) -> bytes:
    """An ELF file with nothing but names of sections, and with a string such as Rust's reader of backtraces has."""
    names = b"\0".join([b"", b".shstrtab", *sections, b""])
    header = b"\x7fELF\2\1".ljust(0x28, b"\0") + struct.pack("<Q", 0x40) + bytes(10) + struct.pack("<HHH", 0x40, 1, 0)
    section = bytes(0x18) + struct.pack("<QQ", 0x80, len(names)) + bytes(0x18)
    return header + section + names + b"\0.debug_types.dwo\0"


def _succeed(*command: str | Path, cwd: Path) -> str:
    """What the command prints. It finds this checkout neither by its folder nor by its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _built(folder: Path) -> Path:
    """A wheel of what the checkout has compiled already.

    ``make wheel`` optimizes over the borders of crates and links with Zig, which takes minutes. Maturin packs a wheel
    of the profile ``release`` in seconds: names, metadata and files are the same, the machine code alone differs.
    """
    build = [sys.executable, "-m", "maturin", "build", "--profile", "release", "--locked", "--out", folder]
    _succeed(*build, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.thorough
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel = _built(tmp_path / "dist")
    _succeed(sys.executable, CHECK, wheel, ROOT, cwd=tmp_path)
    _succeed(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    programs = tmp_path / "venv/bin"
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check"]
    _succeed(*pip, "install", "--no-compile", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    # The hint on missing extras: pip needs no index to find dsbench itself.
    _succeed(*pip, "install", "--dry-run", "--no-deps", "--no-index", "dsbench-db[cluster,drivers]", cwd=tmp_path)

    assert _succeed(programs / "dsbench", "--version", cwd=tmp_path) == "dsbench 0.1.0\n"
    run = ["run", "private:sqlite", "--scales", "1", "--cycles", "1", "--duration", "0.5", "--out", "out"]
    _succeed(programs / "dsbench", *run, cwd=tmp_path)
    (archive,) = tmp_path.glob("out/*.zip")
    assert any(name.endswith("report.html") for name in zipfile.ZipFile(archive).namelist())
    assert "transactions per second" in _succeed(programs / "dsbench", "show", archive, cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "files", "fault"),
    [
        (WELL_NAMED, {}, ""),
        (WELL_NAMED, {"dsbench/_core.abi3.so": _library() + b"at /home/me/.cargo/x.rs"}, "_core.abi3.so holds the path /home/me"),
        (WELL_NAMED, {"dsbench/_core.abi3.so": _library(b".debug_line")}, "holds what only a debugger needs"),
        (WELL_NAMED, {"d.dist-info/METADATA": b"License-Expression: MIT\n"}, "do not name the licence"),
        (WELL_NAMED, {"d.dist-info/licenses/THIRD-PARTY.md": None}, "lacks licenses/THIRD-PARTY.md"),
        (WELL_NAMED, {"d.dist-info/sboms/sbom.cdx.json": None}, "lacks sboms/sbom.cdx.json"),
        ("dsbench_db-1-cp311-cp311-linux_x86_64.whl", {}, "for one Python or one distribution alone"),
    ],
)
def test_a_wheel_with_a_fault_is_refused(tmp_path: Path, name: str, files: dict[str, bytes | None], fault: str) -> None:
    whole = {"d.dist-info/METADATA": METADATA.encode(), "dsbench/_core.abi3.so": _library()}
    whole |= {f"d.dist-info/licenses/{licence}": b"text" for licence in ("LICENSE", "THIRD-PARTY.md")}
    whole["d.dist-info/sboms/sbom.cdx.json"] = b"{}"
    with zipfile.ZipFile(tmp_path / name, "w") as wheel:
        for path, content in (whole | files).items():
            if content is not None:
                wheel.writestr(path, content)
    done = subprocess.run([sys.executable, CHECK, tmp_path / name, "/home/me", "/"], capture_output=True, text=True)
    assert done.returncode == (1 if fault else 0)
    assert fault in done.stderr
    assert done.stderr.count("error:") == done.returncode


def test_the_notices_are_those_of_what_is_linked() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/make-notices", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
