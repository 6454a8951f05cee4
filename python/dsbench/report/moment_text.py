"""Where a run is, in words: for the terminal and for the browser."""

from __future__ import annotations

from dsbench.runner import Moment


def describe(moment: Moment) -> str:
    """One line about where the run is."""
    where = f"scale {moment.scale} ({moment.scale_number}/{moment.scales})"
    where += f", {moment.stage}" if moment.stage else ""
    where += f", {moment.threads} threads" if moment.threads else ""
    if moment.phase == "cycle":
        if moment.elapsed_s < 0:
            return f"{where}, cycle {moment.cycle}/{moment.cycles}: ramp-up, {-moment.elapsed_s:.0f} s left"
        return (
            f"{where}, cycle {moment.cycle}/{moment.cycles}: {moment.elapsed_s:.0f} s, {moment.rate_tps:,.0f} tps, "
            f"{moment.failed:,} failed"
        )
    if moment.phase in ("nodes", "prepare"):
        return f"{moment.done} of {moment.total} nodes {'are here' if moment.phase == 'nodes' else 'are ready'}"
    if moment.phase == "connect":
        return f"{where}, cycle {moment.cycle}/{moment.cycles}: {moment.done} of {moment.total} clients connected"
    phase = moment.phase.replace("_", " ")
    share = f" {100 * moment.done / moment.total:.0f} %" if moment.total else ""
    cycle = f", cycle {moment.cycle}/{moment.cycles}" if moment.cycle else ""
    return f"{where}{cycle}: {phase}{share}"


def clock(seconds: float) -> str:
    """A length of time in words: '42 s', '12 min', '3 h 10 min'."""
    if seconds < 99:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
