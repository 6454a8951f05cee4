"""What is told of a run that goes on to programs that watch it: the same series to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from dsbench.measure.events import Moment, Observer
from dsbench.spec import RunSpec


@dataclass(frozen=True)
class Series:
    """One figure with its name."""

    name: str
    kind: Literal["gauge", "counter"]
    told: str
    """What it is."""
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


_KNOWN: Final[Mapping[str, tuple[Literal["gauge", "counter"], str]]] = {
    "info": ("gauge", "1, with what is run."),
    "scale": ("gauge", "Scale of the database."),
    "cycle": ("gauge", "Number of the cycle; 0 outside of cycles."),
    "threads": ("gauge", "Threads of each node."),
    "phase": ("gauge", "1, with what is done now."),
    "rate_tps": ("gauge", "Committed transactions per second of the cycle so far."),
    "committed_total": ("counter", "Transactions committed in cycles; at the end as many as the archive counts."),
    "failed_total": ("counter", "Attempts that failed in cycles."),
    "residence_p50_seconds": ("gauge", "Median residence time in the last second of the cycle."),
    "residence_p99_seconds": ("gauge", "99 % quantile of the residence times in the last second of the cycle."),
    "own_cpus": ("gauge", "CPUs that dsbench took in the last second of the cycle."),
    "machine_cpus": ("gauge", "CPUs of this machine that were busy in the last second of the cycle."),
}


def _counts(moment: Moment) -> bool:
    """Whether it is in a cycle of the archive: those on trial have the number 0."""
    return moment.phase == "cycle" and moment.cycle > 0


class Metrics:
    """An observer that hands on what it hears, and adds up what it has to tell."""

    def __init__(self, observer: Observer, spec: RunSpec) -> None:
        self._observer, self._spec = observer, spec
        self._moment = Moment(0, 0, 0, "starting")
        self._before = (0, 0)
        self._highest = (0, 0)
        self.trouble: Callable[[], str] = lambda: ""
        """Tells once what went wrong with sending them."""
        self.message, self.archive, self.scale_done = observer.message, observer.archive, observer.scale_done

    def moment(self, moment: Moment) -> None:
        """Keeps where the run is."""
        last = self._moment
        if _counts(last) and (moment.phase, moment.scale, moment.cycle) != ("cycle", last.scale, last.cycle):
            self._before = (self._before[0] + last.done, self._before[1] + last.failed)
        self._moment = moment
        self._observer.moment(moment)
        self.tell_trouble()

    def tell_trouble(self) -> None:
        """Says what keeps the figures from whom they are for, in the run's thread."""
        if words := self.trouble():
            self.message(f"warning: {words}")

    def series(self) -> list[Series]:
        """All of it; times and CPUs only while they are known."""
        moment, (committed, failed) = self._moment, self._before
        if _counts(moment):
            committed, failed = committed + moment.done, failed + moment.failed
        # What a node did that was lost is taken back at the end of its cycle; a counter never falls.
        self._highest = committed, failed = max(committed, self._highest[0]), max(failed, self._highest[1])
        labels = {"workload": self._spec.workload, "target": self._spec.target.redacted, "label": self._spec.label}
        values: dict[str, float] = {
            "info": 1, "scale": moment.scale, "cycle": moment.cycle, "threads": moment.threads or self._spec.threads,
            "phase": 1, "rate_tps": moment.rate_tps, "committed_total": committed, "failed_total": failed,
        }  # fmt: skip
        if moment.times:
            values["residence_p50_seconds"], values["residence_p99_seconds"] = moment.times[-1]
        if moment.cpus[1]:
            values["own_cpus"], values["machine_cpus"] = moment.cpus
        of = {"info": labels, "phase": {"phase": moment.phase}}
        return [Series(f"dsbench_{name}", *_KNOWN[name], value, of.get(name, {})) for name, value in values.items()]
