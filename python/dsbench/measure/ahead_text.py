"""A run before it is made, as text."""

from __future__ import annotations

from collections.abc import Iterable

from dsbench.measure.ahead import Ahead, ScaleAhead, StageAhead
from dsbench.measure.moment_text import clock
from dsbench.spec import Merged, dsi_seconds


def text_of(ahead: Ahead) -> str:
    """Settings with their origins, the plan, its time and its space."""
    rows = [(one.name, _printable(one.shown) or "–", one.origin) for one in ahead.settings]
    wide = max(len(name) for name, _shown, _origin in rows)
    value = min(max(len(shown) for _name, shown, _origin in rows), 60)
    lines = ["settings"]
    lines += [f"  {name:{wide}}  {shown:{value}}  ({origin})" for name, shown, origin in rows]
    lines.append("plan")
    lines += [f"  {_scale(one)}" for one in ahead.scales]
    counted = any(stage.cycles and stage.cycle_s is None for one in ahead.scales for stage in one.stages)
    lines.append(f"time: {clock(ahead.load_s)} of load" + (", and what ends by count" if counted else ""))
    if any(ahead.populate_s):
        lines[-1] += f"; {_from_to(clock(seconds) for seconds in ahead.populate_s)} to populate; checks are not counted"
    if ahead.clean_s[1] >= 1:
        lines[-1] += f"; {_from_to(clock(seconds) for seconds in ahead.clean_s)} of VACUUM and ANALYZE before cycles"
    size = "not known" if ahead.size_bytes is None else _from_to(_gb(size) for size in ahead.size_bytes)
    known = ahead.free_bytes is not None
    free = f"{_gb(ahead.free_bytes or 0)} free in {ahead.where}" if known else "the server knows how much is free"
    when = "with the rows of its load" if ahead.scales[-1].loaded else "before its load"
    lines.append(f"space: {size} at scale {ahead.scales[-1].scale}, {when}; {free}")
    lines += [f"warning: {one}" for one in ahead.warnings]
    return "\n".join(lines)


def _printable(text: str) -> str:
    """``text`` of a script, say, which may hold what a terminal takes for commands."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def in_brief(asked: Merged) -> list[str]:
    """What will be done, in a line, and what is special about it, in another one."""
    spec = asked.spec
    several, cycles = spec.thread_numbers, f"{spec.cycles} cycle" + "s" * (spec.cycles != 1)
    threads = f"{', '.join(map(str, several))} thread" + "s" * (several != (1,))
    of = f" (profile {spec.profile})" if spec.profile else ""
    scales = "scales " if len(spec.scales) > 1 else "scale "
    lines = [f"plan{of}: {scales}{', '.join(map(str, spec.scales))}; {cycles} of {spec.duration:g} s; {threads}; "
             f"{spec.isolation}"]  # fmt: skip
    if asked.glimpse:
        hours = clock(dsi_seconds())
        lines.append(f"a first look; comparable figures: --profile dsi ({hours} and the time to populate)")
    elif asked.origins["isolation"] == f"profile {spec.profile}" and not spec.retry:
        lines.append(f"{spec.isolation}, as the paper has it: what the server ends for a collision counts as failed")
    return lines


def _scale(one: ScaleAhead) -> str:
    size = "" if one.size_bytes is None else f", {_from_to(_gb(size) for size in one.size_bytes)}"
    return f"scale {one.scale}: {one.rows:,} rows{size}: " + ", ".join(_stage(stage) for stage in one.stages)


def _stage(stage: StageAhead) -> str:
    if not stage.cycles:
        return stage.name
    threads = ",".join(str(number) for number in dict.fromkeys(stage.threads))
    took = f" of {stage.cycle_s:g} s" if stage.cycle_s is not None else ", ended by count,"
    cycles = "cycle" if stage.cycles == 1 else "cycles"
    return f"{stage.name} ({stage.cycles} {cycles}{took} with {threads} threads)"


def _from_to(texts: Iterable[str]) -> str:
    first, last = texts
    return first if first == last else f"{first} to {last}"


def _gb(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
