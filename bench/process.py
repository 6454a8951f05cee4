"""A load generator as a process: its output and its CPU time, by the kernel's own account."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class BenchError(Exception):
    """Why a measurement could not be made; the text says where, and what the program printed."""


@dataclass(frozen=True)
class Measured:
    """What one client reached in one measurement."""

    transactions: int
    rate_tps: float
    user_s: float
    system_s: float
    clients_user_s: float | None = None
    """CPU time outside of the kernel of the threads that make the load alone, where they tell it."""
    least: float | None = None
    """Transactions of the slowest client by the mean of all, where they tell it."""
    largest: float | None = None
    """Those of the fastest."""

    @property
    def cpu_us(self) -> float:
        """CPU time of the client per transaction in µs; that of the server is no part of it. nan without any."""
        return (self.user_s + self.system_s) / self.transactions * 1e6 if self.transactions else math.nan

    @property
    def user_us(self) -> float:
        """The part outside of the kernel, in the threads that make the load."""
        return (math.nan if self.clients_user_s is None else self.clients_user_s) / self.transactions * 1e6


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    output: str
    user_s: float
    system_s: float
    elapsed_s: float
    remarks: str
    """What it wrote to stderr."""


def run(command: Sequence[str], env: Mapping[str, str], limit_s: float = 300, folder: str | None = None) -> Ended:
    """Runs ``command`` to its end, in ``folder`` where one is named.

    ``BenchError`` when it fails or takes longer than ``limit_s``.
    """
    began = time.monotonic()
    before = _children()
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
            cwd=folder,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{command[0]}: {error}") from error
    after = _children()
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return Ended(done.stdout, after[0] - before[0], after[1] - before[1], time.monotonic() - began, done.stderr)


def _children() -> tuple[float, float]:
    """CPU time of all children that have been waited for: what wait4 reports, added up."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime
