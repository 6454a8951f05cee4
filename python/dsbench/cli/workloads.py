"""``dsbench run --list``: what can be run, with kinds, rules and settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from dsbench import spec, workloads
from dsbench.workloads import Entry, Kind

_OWN = (
    "Your own transactions: --script FILE or --builtin NAME (docs/scripts.md), --workload FILE.toml "
    "(docs/workload-files.md)"
)


def show(name: str | None, *, as_json: bool) -> None:
    """Prints each workload with its unit of scale, its kinds of transactions and its settings, or the one of ``name``.
    ``SpecError`` where there is none."""
    shipped = spec.examples()
    if name is not None and name not in shipped:
        spec.known_workload(name, option="--workload")
    every = workloads.names() if as_json else workloads.offered()
    named = [name] if name is not None else [*every, *shipped]
    entries = [_shipped(one) if one in shipped else workloads.find(one) for one in named]
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    print("\n\n".join("\n".join([*_lines(entry), *_file(shipped.get(entry.name))]) for entry in entries))
    if name is None:
        print(f"\n{_OWN}")


def _shipped(name: str) -> Entry:
    """What a workload file that ships says of itself, under its own name."""
    settings = spec.with_file({"workload": name})["workload_settings"]
    return replace(workloads.find(spec.taking("file"), settings), name=name, settings=())


def _file(path: Path | None) -> Iterator[str]:
    if path is not None:
        yield f"  file: {path}"


def _lines(entry: Entry) -> Iterator[str]:
    notes = [entry.label, entry.meaning.disclaimer]
    yield f"{entry.name} ({', '.join(note for note in notes if note)})"
    yield f"  {entry.about}"
    yield f"  scale: 1 is one {entry.unit.name}, {entry.unit.about}"
    yield f"  figure: {entry.headline.label}, {entry.headline.about}"
    call = "procedure if the engine has them" if entry.defaults.call == "procedure" else entry.defaults.call
    retry = "--retry" if entry.defaults.retries else "--no-retry"
    yield f"  by default: {retry}, --call {call}"
    if entry.defaults.terminals_per_unit is not None:
        yield f"  --pace terminals: {entry.defaults.terminals_per_unit} for each {entry.unit.name}"
    yield from (f"  kind {kind.name}{_rules(kind)}" for kind in entry.kinds)
    for setting in entry.settings:
        yield f"  --set {setting.name}=VALUE: {setting.takes} [{setting.default}]; {setting.help}"


def _rules(kind: Kind) -> str:
    parts = [
        f"at least {kind.least_share:.0%} of the mix" if kind.least_share is not None else "",
        f"90% within {kind.limit_s:g} s" if kind.limit_s is not None else "",
        f"{kind.keying_s:g} s keying time, {kind.mean_think_s:g} s think time" if kind.keying_s is not None else "",
    ]
    return ": " * any(parts) + ", ".join(part for part in parts if part)
