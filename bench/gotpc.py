"""go-tpc, where it is installed: its TPC-C on PostgreSQL and on MariaDB or MySQL, over TCP."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from bench.process import BenchError, Ended, Measured, run

NAME = "gotpc"
"""Of the database that it fills."""


def available() -> bool:
    """Whether it is on the PATH."""
    return shutil.which("go-tpc") is not None


@dataclass(frozen=True)
class Server:
    """Where it connects to."""

    driver: str
    """``postgres`` or ``mysql``."""
    port: int
    user: str
    password: str = ""

    def command(self, action: str, warehouses: int, threads: int) -> list[str]:
        """The command line of one action."""
        program = shutil.which("go-tpc")
        if program is None:
            raise BenchError("go-tpc is not on the PATH: install it to compare with it")
        parameters = "sslmode=disable" if self.driver == "postgres" else "tls=false"
        return [
            program, "tpcc", action, "-d", self.driver, "-H", "127.0.0.1", "-P", str(self.port), "-U", self.user,
            "-p", self.password, "-D", NAME, "--conn-params", parameters, "--warehouses", str(warehouses),
            "-T", str(threads),
        ]  # fmt: skip


def prepare(server: Server, warehouses: int, threads: int, foreign_keys: bool) -> Ended:
    """Fills its tables, keys included, without a check."""
    keys = ["--use-fk"] if foreign_keys else []
    return run([*server.command("prepare", warehouses, threads), "--no-check", *keys], {}, limit_s=900)


def measure(server: Server, warehouses: int, threads: int, duration: float) -> Measured:
    """Runs its mix without think times at read committed; ``Measured`` counts New-Orders."""
    command = [*server.command("run", warehouses, threads), "--time", f"{duration:.0f}s", "--isolation", "2"]
    load = run([*command, "--output", "plain", "--interval", "1h", "--ignore-error"], {}, limit_s=duration + 120)
    found = re.search(r"\[Summary\] NEW_ORDER - Takes\(s\): ([\d.]+), Count: (\d+), TPM: ([\d.]+)", load.output)
    if found is None:
        raise BenchError(f"go-tpc said:\n{load.output}")
    return Measured(int(found[2]), float(found[3]) / 60, load.user_s, load.system_s)
