"""``python -m bench.isolation FOLDER``: the anomalies that occur on every product here, at every level.

Checks that FOLDER has are not made again; ``--write`` puts the table into docs/check.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from bench.tables import put

PAGE: Final = Path(__file__).parent.parent / "docs" / "check.md"
LEVELS: Final = ("read-committed", "repeatable-read", "serializable")
_STANDBY: Final = ("--reads", "standby")
ASKED: Final[dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "PostgreSQL": ("private:postgresql", LEVELS, ()),
    "PgBouncer, transactions": (
        "private:postgresql?pooler=pgbouncer&pgbouncer.pool_mode=transaction", ("serializable",), (),
    ),
    "PostgreSQL, reads from a standby": ("private:postgresql?standbys=1", LEVELS[:2], _STANDBY),
    "the same, `sync=remote_apply`": ("private:postgresql?standbys=1&sync=remote_apply", LEVELS[:2], _STANDBY),
    "MariaDB": ("private:mariadb", LEVELS, ()),
    "MariaDB, reads from a replica": ("private:mariadb?replicas=1", LEVELS[:1], _STANDBY),
    "Galera, reads from another node": ("private:mariadb?galera=3", LEVELS[:1], _STANDBY),
    "MySQL": ("private:mysql", LEVELS, ()),
    "Firebird": ("private:firebird@3?DeadlockTimeout=1", LEVELS, ("--transactions", "3000")),
    "SQLite": ("private:sqlite", LEVELS[2:], ()),
}  # fmt: skip
"""By name: target, levels, further options."""


def made(folder: Path, name: str, level: str) -> dict[str, Any]:
    """The check, which is made where the folder does not have it."""
    target, _, more = ASKED[name]
    file = folder / f"{name.replace(' ', '-').replace('`', '')}-{level}.json"
    if not file.exists():
        words = ["check", target, "--isolation", level, *more, "--out", str(file)]
        done = subprocess.run([sys.executable, "-m", "dsbench", *words], stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"error: dsbench {' '.join(words)} ended with {done.returncode}")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def row(name: str, level: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    check = found["isolation"]
    judged, stale = check["found"], check["found"]["stale"]
    anomalies = ", ".join(f"{one['name']} {one['count']:,}" for one in judged["anomalies"]) or "none"
    late = f"{stale['reads']:,} of {judged['reads']:,}" if stale["reads"] else "none"
    late += f", {stale['median_ns'] / 1e6:.2g} ms" if stale["reads"] else ""
    verdict = "ok" if found["holds"] else "**BROKEN**"
    documented = "" if check["guarantee"] == level.replace("-", " ") else f" ({check['guarantee']})"
    return (f"| {name} | {level.replace('-', ' ')}{documented} | {judged['committed']:,} | {judged['aborted']:,} "
            f"| {anomalies} | {late} | {verdict} |")  # fmt: skip


def main() -> None:
    """Makes the checks that are missing and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.isolation", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "| server | level | committed | rolled back | anomalies | stale reads, median | verdict |",
        "|---|---|--:|--:|---|---|---|",
    ]
    for name, (_, levels, _) in ASKED.items():
        lines += [row(name, level, made(asked.folder, name, level)) for level in levels]
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.write:
        put(PAGE, "isolation", text)


if __name__ == "__main__":
    main()
