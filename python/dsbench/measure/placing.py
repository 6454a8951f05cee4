"""Where the clients of a run are to be, by trial: ``free`` and ``follow`` in short turns before its first cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from itertools import cycle as cycle_through
from math import log, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Final

from dsbench.archive import Archive, ArchiveError
from dsbench.archive.record import PlacementTried
from dsbench.measure.cycle import run_cycle
from dsbench.measure.loaders.results import NodePart, merge_whole
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.setting import ScaleContext
from dsbench.spec import RunSpec
from dsbench.spec.drivers import OWN
from dsbench.spec.run import TURN_RAMP_UP_S, turn_s

TRY: Final = "try"
FREE, FOLLOW = "free", "follow"
_BLOCKS: Final = ((FOLLOW, FREE, FREE, FOLLOW), (FREE, FOLLOW, FOLLOW, FREE))
"""Four turns, and the next four: whatever drifts evenly favours neither. The first shows whether there is anything to
try."""
_QUANTILES: Final = {4: 3.712, 6: 2.895, 8: 2.628, 10: 2.498}
"""After so many pairs of turns it is looked at: by how many of its standard errors a mean gain has to be above 0 to end
the trial. They are those of Student's t (98.3%) with one degree of freedom less than pairs: four looks together end
one trial of twenty with ``follow`` where nothing is different (decision 016 has the simulation)."""
_PAIRS: Final = max(_QUANTILES)
_NEGLIGIBLE: Final = 0.05
"""Gain, as a logarithm, that is not worth another turn where it is clear that there is not more. Where all turns have
not told, a mean gain above it decides: the wrong placement costs as much the one way as the other."""
_SHORTEST_S: Final = 2.0
"""Cycles below this have no trial: it would take longer than they do, or be too short to show anything."""


def place_clients(
    setting: ScaleContext, scale: int, cycle: PlannedCycle, count: Callable[[Sequence[NodePart]], None]
) -> ScaleContext:
    """``setting`` with the placement of the run, which its archive has from the first cycle on as if it was asked for.

    ``count`` hears what the trial left in the database.
    """
    spec, journal = setting.spec, setting.journal
    if spec.placement != TRY:
        return setting
    asked = journal.record.spec.described().get("placement")
    if asked == TRY:
        why_not = _find_obstacle(setting, cycle)
        tried = PlacementTried(why=why_not) if why_not else _try(setting, scale, cycle, count)
        asked = FOLLOW if not why_not and weigh(tried.follow_tps, tried.free_tps) == FOLLOW else FREE
        journal.note(spec=journal.record.spec.changed(placement=asked), placement_tried=tried)
    return replace(setting, spec=spec.model_copy(update={"placement": asked}))


def _find_obstacle(setting: ScaleContext, cycle: PlannedCycle) -> str:
    """Why nothing is tried; empty where it is."""
    spec = setting.spec
    reasons = {
        "the clients are on other machines": spec.nodes > 0,
        "the trial would write to existing tables": spec.existing,
        "another program makes the load": spec.driver != OWN,
        "transactions start at set times": bool(spec.rate or spec.searches or spec.load) or spec.pace != "none",
        "each transaction opens its own connection": spec.reconnect,
        "clients have several connections": spec.connections > 1,
        "the load ends by count": not cycle.stage.repeated or not cycle.stage.timed,
        f"cycles of less than {_SHORTEST_S:g} s are too short for a trial": spec.duration < _SHORTEST_S,
        "an embedded database runs in its clients' threads": setting.target.dialect.embedded,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _try(
    setting: ScaleContext, scale: int, cycle: PlannedCycle, count: Callable[[Sequence[NodePart]], None]
) -> PlacementTried:
    """Makes the turns, at the largest number of clients: with more clients than CPUs a placement can do most harm."""
    spec = setting.spec
    short = {"duration": turn_s(spec.duration), "ramp_up": TURN_RAMP_UP_S, "trace": False}
    clients = max(spec.client_numbers) if cycle.clients is not None else None
    turn = replace(cycle, number=0, clients=clients, stage=cycle.stage.uncleaned(), duration=None)
    rates: dict[str, list[float]] = {FREE: [], FOLLOW: []}
    for placement in chain.from_iterable(islice(cycle_through(_BLOCKS), _PAIRS // 2)):
        there = replace(setting, monitors=(), spec=spec.model_copy(update={**short, "placement": placement}))
        parts = run_cycle(there, scale, turn, recorded=False)
        count(parts)
        whole = merge_whole(parts)
        if placement == FOLLOW and not any(words.startswith(FOLLOW) for _group, words, _n in whole.placements):
            return PlacementTried(why=next((words for _group, words, _n in whole.placements), "no client could follow"))
        rates[placement].append(whole.total("committed") / short["duration"])
        if weigh(rates[FOLLOW], rates[FREE]):
            break
    return PlacementTried(free_tps=tuple(rates[FREE]), follow_tps=tuple(rates[FOLLOW]))


def weigh(follow: Sequence[float], free: Sequence[float]) -> str:
    """What the turns so far choose: ``follow`` where it is clearly better, ``free`` where it clearly is not, or where a
    turn ended no transaction, and after the last turn ``follow`` where it is better by more than what is negligible.
    Empty: more turns may tell. Turn n of the one is held against turn n of the other."""
    pairs = len(follow)
    if pairs != len(free):
        return ""
    if not all((*follow, *free)):
        return FREE
    if pairs not in _QUANTILES:
        return ""
    gains = [log(one / other) for one, other in zip(follow, free, strict=True)]
    gain, reach = mean(gains), _QUANTILES[pairs] * stdev(gains) / sqrt(pairs)
    if gain > reach or (pairs == _PAIRS and gain > _NEGLIGIBLE):
        return FOLLOW
    hopeless = gain + reach < _NEGLIGIBLE
    return FREE if hopeless or pairs == _PAIRS else ""


def describe(tried: PlacementTried) -> str:
    """The turns in words."""
    free, follow = (", ".join(f"{rate:,.0f}" for rate in rates) for rates in (tried.free_tps, tried.follow_tps))
    return f"in {len(tried.free_tps)} turns of each, free made {free} tps, follow {follow} tps"


def fix_placement(spec: RunSpec, archive: Path | None) -> RunSpec:
    """``spec`` with the placement that the run of ``archive`` found: runs that are compared have one. Unchanged where
    another placement is asked for, or there is no archive that can be read."""
    found = TRY
    if spec.placement == TRY and archive is not None:
        with suppress(ArchiveError):
            found = Archive.open(archive).run.spec.described().get("placement", TRY)
    return spec if found == TRY else spec.model_copy(update={"placement": found})
