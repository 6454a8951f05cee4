"""A workload on a target: its steps and its cycles."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dsbench import _core
from dsbench.generator.core import CoreError, errors
from dsbench.generator.cycle import POLL_S, Cycle, Watch
from dsbench.generator.target import Target
from dsbench.spec import RunSpec

Counted = tuple[list[int], int, list[tuple[str, int]]]
"""Committed transactions per kind, commits of unknown end, the clients' sums by name."""

UNCOUNTED: Final = _core.UNCOUNTED
"""As the number of commits of unknown end: nobody knows how many there are."""


@dataclass(frozen=True)
class Condition:
    """One condition of a check, with the numbers that were found."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class StepResult:
    """What a step took, and the conditions where it was a check."""

    duration_ns: int
    conditions: tuple[Condition, ...] = ()


class Bench:
    """A workload at one scale on one target."""

    def __init__(
        self, target: Target, workload: str, scale: int, call: str | None, settings: Mapping[str, str] | None = None
    ) -> None:
        """``settings``: those of this workload alone, by name; ``CoreError`` of kind "configuration" for others."""
        with errors():
            self._core = _core.Bench(target._core, workload, scale, call, dict(settings or {}))
        self.scale = scale
        self.kinds = self._core.kinds()
        self.rows = self._core.rows()
        self.call = self._core.call()

    def refuse(self, spec: RunSpec) -> None:
        """``CoreError`` of kind "configuration" for what ``spec`` wants and engine or workload do not have."""
        with errors():
            self._core.refuse(spec.population == "procedure", spec.pace == "terminals")

    def draws(self, seed: int, client: int, count: int) -> list[str]:
        """The inputs ``client`` draws for transactions 0..count, in words."""
        return _core.draws(self._core, seed, client, count)

    def step(self, name: str, watch: Watch) -> StepResult:
        """Runs "create", "primary_key", "foreign_key" or "clean"."""
        with errors():
            return _wait(self._core.step(name), watch)

    def populate(self, by_procedure: bool, parts: int, watch: Watch) -> StepResult:
        """Writes all rows, in parallel parts unless by procedure."""
        with errors():
            return _wait(self._core.populate(by_procedure, parts), watch)

    def check(self, counted: Counted | None, watch: Watch) -> StepResult:
        """Checks the workload's conditions against what the cycles counted; ``None``: within the database alone."""
        with errors():
            return _wait(self._core.check(counted), watch)

    def cycle(self, spec: RunSpec, seed: int, trace: Path | None, first_client: int = 0, nodes: int = 1) -> Cycle:
        """Opens the connections of a cycle; it starts when ``Cycle.start`` says so."""
        terminals = self._terminals(spec, first_client, nodes)
        # A thread without a terminal has nothing to do.
        threads = spec.threads if terminals is None else max(min(spec.threads, len(terminals)), 1)
        options = {
            "threads": threads,
            "carriers": spec.carriers,
            "connections": spec.connections,
            "first_client": first_client if terminals is None else terminals.start,
            "terminals": None if terminals is None else len(terminals),
            "clients": spec.terminals_at(self.scale) or spec.threads * nodes,
            "ramp_up_ns": round(spec.ramp_up * 1e9),
            "duration_ns": round(spec.duration * 1e9),
            "patience_ns": 5_000_000_000,
            "isolation": spec.isolation,
            "prepare": spec.prepare,
            "retry": spec.retry,
            "reconnect": spec.reconnect,
            "rate": spec.rate,
            "arrival": spec.arrival,
            "seed": seed,
            "trace": trace,
        }
        with errors():
            return Cycle(self._core.cycle(options), threads, len(self.kinds), trace)

    def _terminals(self, spec: RunSpec, first_client: int, nodes: int) -> range | None:
        """The terminals of the node whose first client would be ``first_client``, out of those of all nodes."""
        total = spec.terminals_at(self.scale)
        if total is None:
            return None
        node = first_client // spec.threads
        mine = range(node * total // nodes, (node + 1) * total // nodes)
        if not mine:
            raise CoreError("configuration", "", f"--terminals {total}: fewer than the {nodes} nodes that share them")
        return mine


def _wait(task: _core.Task, watch: Watch) -> StepResult:
    """Waits for a step. An interruption ends its statements before it goes on upwards."""
    try:
        while not task.finished():
            watch(*task.progress())
            time.sleep(POLL_S)
    except BaseException:
        task.abandon()
        # The step was ended on purpose: its complaint about that is no news.
        with suppress(_core.CoreError):
            task.join()
        raise
    conditions, duration_ns = task.join()
    return StepResult(duration_ns, tuple(Condition(*c) for c in conditions))
