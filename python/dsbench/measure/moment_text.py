"""Where a run is, in words: for the terminal and for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsbench.measure.events import Moment


def describe(moment: Moment) -> str:
    """One line about where the run is."""
    where = f"scale {moment.scale} ({moment.scale_number}/{moment.scales})"
    where += f", {moment.stage}" if moment.stage else ""
    where += f", {moment.threads} threads" if moment.threads else ""
    if moment.phase == "cycle":
        if moment.elapsed_s < 0:
            return f"{where}, cycle {moment.cycle}/{moment.cycles}: ramp-up, {-moment.elapsed_s:.0f} s left"
        parts = [f"{moment.elapsed_s:.0f} s", f"{moment.rate_tps:,.0f} tps", *_times(moment)]
        parts.append(f"{moment.failed:,} failed")
        if moment.cpus[1]:
            parts.append(f"CPUs {moment.cpus[1]:.1f} (own {moment.cpus[0]:.1f})")
        return f"{where}, cycle {moment.cycle}/{moment.cycles}: {', '.join(parts)}"
    if moment.phase in ("nodes", "prepare"):
        return f"{moment.done} of {moment.total} nodes {'are here' if moment.phase == 'nodes' else 'are ready'}"
    if moment.phase == "connect":
        return f"{where}, cycle {moment.cycle}/{moment.cycles}: {moment.done} of {moment.total} clients connected"
    phase = moment.phase.replace("_", " ")
    share = f" {100 * moment.done / moment.total:.0f} %" if moment.total else ""
    cycle = f", cycle {moment.cycle}/{moment.cycles}" if moment.cycle else ""
    return f"{where}{cycle}: {phase}{share}"


def _times(moment: Moment) -> list[str]:
    """The quantiles of the last second that is known."""
    named = zip(("p50", "p99"), moment.times[-1], strict=True) if moment.times else ()
    return [f"{name} {1e3 * time:.3g} ms" for name, time in named]


_BARS: Final = "▁▂▃▄▅▆▇█"


def course(rates: Sequence[float], width: int) -> str:
    """The last ``width`` seconds of a cycle as bars from 0 to the greatest rate, which stands behind them."""
    shown = rates[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return ""
    bars = "".join(_BARS[min(int(rate / top * len(_BARS)), len(_BARS) - 1)] for rate in shown)
    return f"{bars} {top:,.0f} tps at most"


def clock(seconds: float) -> str:
    """A length of time in words: '42 s', '12 min', '3 h 10 min'."""
    if seconds < 99:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
