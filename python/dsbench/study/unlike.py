"""Trials of the same levels on servers that are not alike.

These differences are not factors of the study, yet they affect the rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.several.settings import OF_SERVER, SAYS_NOTHING, described
from dsbench.read.stats.comparison import differing
from dsbench.study.paths import HOST
from dsbench.study.plan import Trial
from dsbench.study.spec import Factor

_OF_TARGET: Final = (
    "server", "durability.", "setting.", "RDBMS.", "API.", "driver.", "application.dsbench", OF_SERVER,
    "spec.target.version",
)  # fmt: skip
"""How names begin that tell of the server and its client; the others are those of the machine, or of the work."""
_SETTING: Final = "target.settings."

Unlike = Mapping[str, tuple[str, str]]
"""Name to its value in the first trial of the same levels, and in this one; empty text where there is none."""


def unlike(factors: Sequence[Factor], made: Sequence[tuple[Trial, RunRecord]]) -> dict[int, Unlike]:
    """By number of a trial, what of its target differs from that of the first one with the same levels.

    The host is no level here, as its machine may differ and its server may not; trials of one combination are set
    beside the first of them in the order of ``made``. Settings that a factor sets are left out: what rules compute is
    for each machine its own.
    """
    hosts = [at for at, factor in enumerate(factors) if factor.path == HOST]
    set_by = {path.removeprefix(_SETTING) for factor in factors for level in factor.resolved for path in level.sets}
    known = described([run for _, run in made])
    firsts: dict[tuple[str, ...], Mapping[str, str]] = {}
    found: dict[int, Unlike] = {}
    for (trial, run), values in zip(made, known, strict=True):
        target = {name: value for name, value in values.items() if _counts(name, set_by)}
        if not hosts:
            target["machine"] = run.host
        key = tuple(level for at, level in enumerate(trial.levels) if at not in hosts)
        apart = differing([firsts.setdefault(key, target), target])
        if apart:
            found[trial.number] = {name: (there, here) for name, (there, here) in apart.items()}
    return found


def _counts(name: str, set_by: set[str]) -> bool:
    return name.startswith(_OF_TARGET) and name not in SAYS_NOTHING and name.rpartition(".")[2] not in set_by
