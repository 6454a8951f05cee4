"""What a run is asked to do: frozen values, checked once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from dsbench import workloads
from dsbench.spec.target import Frozen, Target, setting_text

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
Call = Literal["procedure", "statements"]
Population = Literal["bulk", "procedure"]
Arrival = Literal["poisson", "constant"]
Pace = Literal["none", "terminals"]

DSI_SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
LEVELS = (0.5, 0.68, 0.87, 0.95, 0.99, 0.997)
"""Confidence levels of the paper, section 3.4, as quantiles 0-1."""

Seconds = Annotated[float, Field(gt=0, le=86_400 * 7, allow_inf_nan=False)]
Threads = Annotated[int, Field(ge=1, le=100_000)]


class RunSpec(Frozen):
    """One run: one workload against one target over a ladder of scales (the paper, section 2.4)."""

    target: Target = Target()
    workload: str = "tpcb"
    workload_settings: dict[str, str] = Field(default_factory=dict)
    """Settings of the workload alone, by its own names."""
    scales: tuple[int, ...] = (1, 2, 5)
    """X_s: sizes of the database in the workload's unit of scale."""
    cycles: Annotated[int, Field(ge=1, le=10_000)] = 10
    """I: cycles per scale."""
    duration: Seconds = 60.0
    """D: demanded duration of a cycle in seconds."""
    threads: Threads = 16
    """J: simulated clients per node. Given as several, it is the largest; all of them are ``thread_steps``."""
    thread_steps: tuple[Threads, ...] = ()
    """Numbers of threads at each of which the cycles of every scale are run; empty with one number."""
    carriers: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Threads of the operating system that carry the clients of a node; 0: one per CPU, where engine and load allow."""
    connections: Annotated[int, Field(ge=1, le=10_000)] = 1
    """C: connections of each thread, used round robin."""
    nodes: Annotated[int, Field(ge=0, le=100_000)] = 0
    """N: remote nodes; 0 makes the load on this machine."""
    lease: Annotated[float, Field(ge=0.5, le=600, allow_inf_nan=False)] = 6.0
    """Seconds after which a node without word from the run stops its load, and the run goes on without it."""
    isolation: Isolation = "repeatable-read"
    call: Call | None = None
    """``None``: procedure where the engine has them."""
    population: Population = "bulk"
    retry: bool = False
    """Run a transaction again that a serialization failure or a deadlock ended; the workload may have it as
    the default."""
    prepare: bool = False
    reconnect: bool = False
    rate: Annotated[float, Field(ge=0.001, le=10_000_000, allow_inf_nan=False)] | None = None
    """Demanded starts per second of all clients together (open loop); ``None`` is the closed loop."""
    arrival: Arrival = "poisson"
    pace: Pace = "none"
    """``terminals``: people key in before and think after each transaction, as long as the workload says."""
    terminals: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Terminals of all nodes together, served by the threads; ``None``: for each unit of scale as many as the workload
    says."""
    ramp_up: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 0.0
    """Seconds of load before the clock of each cycle starts, which are not recorded."""
    trace: bool = False
    """Keep every residence time, not only the histogram."""
    levels: tuple[float, ...] = LEVELS
    """Quantiles 0-1 of the confidence diagram and of columns 13-18."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = Field(default_factory=lambda: secrets.randbits(48))
    profile: str = ""
    """Name of the profile the values came from; empty when none was named."""

    @field_validator("scales")
    @classmethod
    def _scales_rise(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value:
            raise ValueError("needs at least one scale, such as 1,2,5")
        if any(x < 1 or x > 21_474 for x in value):
            raise ValueError("each scale lies between 1 and 21474")
        if list(value) != sorted(set(value)):
            raise ValueError("scales must rise, each only once, such as 1,2,5")
        return value

    @model_validator(mode="before")
    @classmethod
    def _several_threads(cls, values: object) -> object:
        """``threads`` as a list are steps; a list of one number is that number."""
        if not isinstance(values, dict) or not isinstance(values.get("threads"), list | tuple):
            return values
        steps = tuple(values["threads"])
        if not steps or any(not isinstance(step, int) for step in steps):
            raise _misfit("--threads", "needs whole numbers, such as 10,20,40")
        return {**values, "threads": max(steps), "thread_steps": steps if len(steps) > 1 else ()}

    @model_validator(mode="before")
    @classmethod
    def _retry_of_the_workload(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        workload = values.get("workload", cls.model_fields["workload"].default)
        return {"retry": workloads.find(str(workload)).retries, **values}

    @field_validator("thread_steps")
    @classmethod
    def _steps_rise(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("several numbers of threads must rise, each only once, such as 10,20,40")
        return value

    @field_validator("workload_settings", mode="before")
    @classmethod
    def _workload_settings_as_text(cls, value: object) -> object:
        return {str(k): setting_text(v) for k, v in value.items()} if isinstance(value, dict) else value

    @field_validator("levels")
    @classmethod
    def _levels_rise(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if len(value) != len(LEVELS) or any(not 0 < q < 1 for q in value) or list(value) != sorted(set(value)):
            raise ValueError(f"needs {len(LEVELS)} rising quantiles between 0 and 1")
        return value

    @field_validator("trace")
    @classmethod
    def _trace_is_local(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("nodes"):
            raise ValueError("a trace is kept of load on this machine only: leave --trace or --nodes out")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.reconnect and self.connections > 1:
            words = "connections above 1 mean nothing with reconnect: leave one of them out"
            raise _misfit("--reconnect", words)
        if self.pace == "terminals" and self.rate is not None:
            raise _misfit("--pace", "people at terminals set the rate: leave out --rate, or --pace terminals")
        if self.terminals is not None and self.pace == "none":
            words = "there are terminals only with --pace terminals: add it, or leave --terminals out"
            raise _misfit("--terminals", words)
        for rule in workloads.find(self.workload).rules:
            if self.workload_settings.get(rule.setting) == rule.value and getattr(self, rule.option) != rule.needs:
                raise _misfit("--set", rule.why)
        return self

    @property
    def steps(self) -> tuple[int, ...]:
        """Numbers of threads in the order in which they are run; one at least."""
        return self.thread_steps or (self.threads,)

    def at(self, threads: int) -> Self:
        """The same with one number of threads."""
        return self.model_copy(update={"threads": threads, "thread_steps": ()})

    def terminals_at(self, scale: int) -> int | None:
        """Terminals of all nodes together at ``scale``; ``None`` when nobody keys in and thinks."""
        per_unit = workloads.find(self.workload).terminals_per_unit
        return terminals_of({"pace": self.pace, "terminals": self.terminals}, scale, per_unit)

    def described(self) -> dict[str, Any]:
        """The specification as it is archived: JSON values, no password; ``threads`` a list where there are several."""
        data = self.model_dump(mode="json", exclude={"thread_steps"})
        data["threads"] = list(self.thread_steps) or self.threads
        data["target"]["url"] = self.target.redacted
        return data


def _misfit(option: str, problem: str) -> PydanticCustomError:
    """An error about how settings fit together; ``option`` is where it can be mended."""
    # The braces of a message would be taken for places to fill in.
    return PydanticCustomError("misfit", "{problem}", {"option": option, "problem": problem})


def threads_of(spec: Mapping[str, Any]) -> tuple[int, ...]:
    """The numbers of threads in a specification as ``run.json`` holds it."""
    threads = spec.get("threads", 1)
    return tuple(int(step) for step in threads) if isinstance(threads, list) else (int(threads),)


def terminals_of(spec: Mapping[str, Any], scale: int, per_unit: int | None) -> int | None:
    """``RunSpec.terminals_at`` of a specification as ``run.json`` holds it, also of an older version.

    ``per_unit``: those for each unit of scale that the workload has when nobody says how many.
    """
    if spec.get("pace", "none") == "none":
        return None
    return int(spec.get("terminals") or (per_unit or 0) * scale) or None
