"""Runs before the one that counts: how many, which work they do, what follows them, and where all of them are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dsbench import workloads
from dsbench.dataclass import dataclass
from dsbench.spec import OPTIONS, SCRIPTS, Merged, RunSpec, SpecError, examples, merged
from dsbench.spec.words import LOAD, TRANSACTIONS
from dsbench.study.paths import AFTERWARDS, BEFORE_CLIENTS, BEFORE_WORKLOAD, DATABASE, DATABASES, HISTORY, THEN

_MOST: Final = 1000
_MOST_CLIENTS: Final = 100_000
_OF_WORK: Final = frozenset(
    [*(name for name, one in OPTIONS.items() if one.about.group in (TRANSACTIONS, LOAD)), *SCRIPTS,
     "workload_settings", "driver", "profile"]
)  # fmt: skip
"""Settings of a run that say what its workload does, and how: none of another workload's."""


@dataclass(frozen=True)
class History:
    """What a combination of levels says of the runs before."""

    runs: int = 0
    then: str = AFTERWARDS[0]
    """What happens to their file system after them."""
    database: str | None = None
    """One of ``DATABASES``; ``None`` where nobody says it."""
    workload: str = ""
    """Empty for that of the run that counts."""
    clients: int | None = None
    """``None`` for those of the run that counts."""

    @classmethod
    def take(cls, values: dict[str, Any]) -> History:
        """Takes what is no setting of a run out of ``values``. ``SpecError`` names what is wrong."""
        runs, then, database = (values.pop(name, None) for name in (HISTORY, THEN, DATABASE))
        workload, clients = (values.pop(name, None) for name in (BEFORE_WORKLOAD, BEFORE_CLIENTS))
        if runs is not None and not _is_whole(runs, 0, _MOST):
            raise SpecError(HISTORY, "must be a whole number of runs", f"use 0 to {_MOST}")
        _refuse_other(THEN, then, AFTERWARDS, "an action")
        _refuse_other(DATABASE, database, DATABASES, "a valid choice")
        _refuse_other(BEFORE_WORKLOAD, workload, (*workloads.offered(), *examples()), "a workload")
        if clients is not None and not _is_whole(clients, 1, _MOST_CLIENTS):
            raise SpecError(BEFORE_CLIENTS, "must be a whole number of clients", f"use 1 to {_MOST_CLIENTS}")
        for key, said in {BEFORE_WORKLOAD: workload, BEFORE_CLIENTS: clients}.items():
            if said is not None and runs is None:
                raise SpecError(key, "there are no runs before the one that counts", f"add {HISTORY} = 1 or more")
        return cls(runs or 0, then or AFTERWARDS[0], database, workload or "", clients)

    def before(self, values: Mapping[str, Any], counted: RunSpec) -> Merged | None:
        """What the runs before are asked to do, where that is not the same as ``counted``, which ``values`` ask for.

        ``SpecError`` where it cannot be asked for.
        """
        other = self._is_other(values, counted)
        if not self.runs or not (other or self.clients):
            return None
        kept = {name: value for name, value in values.items() if name not in (_OF_WORK if other else ("peak",))}
        # Where clients are to be is tried by the run that counts; a ladder may depend on the workload and the clients.
        kept |= {"scales": list(counted.scales), "placement": values.get("placement", "free")}
        if other:
            kept |= {"workload": self.workload, "cycles": counted.cycles, "duration": counted.duration}
        if self.clients:
            kept["clients"] = self.clients
        try:
            return merged(kept, target=counted.target)
        except SpecError as error:
            raise SpecError(BEFORE_WORKLOAD if other else BEFORE_CLIENTS, str(error), error.remedy) from None

    def keeps(self, values: Mapping[str, Any], counted: RunSpec) -> bool:
        """Whether all runs are made on one database. ``SpecError`` where they cannot be and are asked to."""
        other = self._is_other(values, counted)
        if other and self.runs and self.database == DATABASES[0]:
            problem = f"runs of {self.workload} before have no database in common with the one that counts"
            raise SpecError(DATABASE, problem, f"omit it, or {BEFORE_WORKLOAD}")
        # A ladder has a database for each scale, one after another: what its runs wear is the file system.
        several = other or len(counted.scales) > 1
        return (self.database or DATABASES[several]) == DATABASES[0]

    def refuse(self, spec: RunSpec, kept: bool, sharing: bool) -> None:
        """``SpecError`` where runs cannot follow each other on one database or one file system."""
        if self.then != AFTERWARDS[0] and not (self.runs and spec.storage):
            problem = "it acts on a file system that dsbench creates for the runs"
            raise SpecError(THEN, problem, f"add {HISTORY} = 1 or more, and run.storage")
        for key in [HISTORY] * bool(self.runs) + ["same_database"] * sharing:
            if spec.target.private is None or spec.target.directory is not None:
                raise SpecError(key, "it needs a private server without a directory", "use private:PRODUCT")
            if len(spec.scales) > 1 and (key != HISTORY or kept):
                remedy = "specify one: scales = [10]" + (f', or {DATABASE} = "new"' if key == HISTORY else "")
                raise SpecError(key, "a kept database has one scale", remedy)
        if self.runs and not kept and not spec.storage:
            problem = "new databases wear the file system, and without run.storage all trials share one"
            alone = "specify one scale for a kept database" if not self.workload else f"omit {BEFORE_WORKLOAD}"
            raise SpecError(HISTORY, problem, f"add run.storage, or {alone}")
        if sharing and self.runs:
            raise SpecError("same_database", f"it cannot be combined with {HISTORY}", "omit one of them")

    def _is_other(self, values: Mapping[str, Any], counted: RunSpec) -> bool:
        """Whether the runs before have a workload of their own."""
        scripted = any(name in values for name in SCRIPTS)
        return self.workload != "" and (scripted or self.workload != values.get("workload", counted.workload))


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _refuse_other(key: str, value: object, known: tuple[str, ...], what: str) -> None:
    """``SpecError`` for a value that is said and not known."""
    if value is not None and value not in known:
        raise SpecError(key, f"{str(value)[:60]!r} is not {what}", f"use one of {', '.join(known)}")
