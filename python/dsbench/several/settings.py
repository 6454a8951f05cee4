"""Everything that was set or found at a run, by dotted names: what tells runs apart, and what they are called by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.read.naming import server, subject
from dsbench.spec import OPTIONS
from dsbench.workloads import brief

SAYS_NOTHING: Final = frozenset({
    *(f"spec.{name}" for name, option in OPTIONS.items() if option.about.compared == "chance"),
    "spec.target.directory", "file system.free", "RDBMS.database before the run", "RDBMS.version",
})  # fmt: skip
"""What may differ between two runs of the same thing and says nothing about either, or stands elsewhere."""
OF_WORKLOAD: Final = "spec.workload_settings."
OF_SERVER: Final = "spec.target.settings."
_LISTING: Final = frozenset({"postgres", "mysql"})
"""Engines whose ``settings`` are all those that are not at the product's default."""
_NO_VARIABLES: Final = frozenset({"storage_engine", "listen_addresses", "bind_address", "port", "block_size", "pooler"})
"""Settings of private servers that are none of the product's, or that no archive lists."""


def described(runs: Sequence[RunRecord]) -> list[dict[str, str]]:
    """Dotted names to values for each run; a default that was written out is the default."""
    found = [_of_run(run) for run in runs]
    named = {name for values in found for name in values if name.startswith(OF_WORKLOAD)}
    for run, values in zip(runs, found, strict=True):
        for setting in run.workload.settings:
            if OF_WORKLOAD + setting.name in named:
                values.setdefault(OF_WORKLOAD + setting.name, setting.default)
    return found


def _of_run(run: RunRecord) -> dict[str, str]:
    defaults = {name: option.default for name, option in OPTIONS.items() if option.default is not None}
    asked = {**defaults, "retry": run.workload.defaults.retries, **run.spec.described()}
    found = {"server": server(run), "dsbench": run.dsbench, **flat(asked, "spec.")}
    found |= {name: brief(value) for name, value in found.items() if name.startswith(OF_WORKLOAD)}
    for name in [name for name in found if name.startswith(OF_SERVER) and _at_default(run, name)]:
        del found[name]
    # What was in force counts, not what was asked for.
    in_force = {"isolation": run.isolation, "call": run.call}
    found |= {f"spec.{name}": value for name, value in in_force.items() if value}
    found |= {f"durability.{switch.switch}": str(switch.value) for switch in run.durability}
    found |= {f"setting.{name}": str(value) for name, value in sorted(run.settings.items())}
    for layer in run.stack:
        found |= {f"{layer.layer}.{name}": str(value) for name, value in layer.items.items()}
    return found


def _at_default(run: RunRecord, name: str) -> bool:
    """Whether the server lists no other value than its default for a setting that it was given."""
    setting = name.removeprefix(OF_SERVER).lower().replace("-", "_")
    known = {other.lower() for other in run.settings}
    of_pooler = setting.startswith("pgbouncer.")
    return run.engine in _LISTING and bool(known) and setting not in known | _NO_VARIABLES and not of_pooler


def flat(values: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """Dotted names, each behind ``prefix``, to the text of their values."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = "" if value is None else str(list(value) if isinstance(value, tuple) else value)
    return found


def product(run: RunRecord) -> str:
    """The server's product, by which settings are called."""
    return server(run).partition(" ")[0]


def labels(
    runs: Sequence[RunRecord], described: Sequence[Mapping[str, str]], differences: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Each once: the run's own label, or server and workload, then the settings that tell them apart, those that
    were asked for first, then the time."""
    mixed = "spec.workload" in differences
    names = [run.spec.label or (subject(run) if mixed else server(run)) for run in runs]
    asked = [name for name in differences if name.startswith("spec.") and not name.startswith("spec.target.url")]
    asked = [name for name in asked if name not in ("spec.workload", "spec.scales", "spec.target.version")]
    # Another client is another measurement; what the database was set to says more of it than how long it was measured.
    for name in sorted(asked, key=lambda name: (name != "spec.driver", not name.startswith(OF_SERVER))):
        short = name.rpartition(".")[2]
        names = _told_apart(names, [f"{short} {values[name]}" if values.get(name) else "" for values in described])
    # What the server was set to by others says more than the time of day.
    for name in (name for name in differences if name.startswith(("durability.", "setting."))):
        short = name.partition(".")[2]
        names = _told_apart(names, [f"{short} {values[name]}" if values.get(name) else "" for values in described])
    for layout in ("%Y-%m-%d", "%H:%M", "%H:%M:%S"):
        names = _told_apart(names, [_moment(run, layout) for run in runs])
    seen: Counter[str] = Counter()
    for label in names:
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label} ({seen[label]})"


def _told_apart(names: Sequence[str], words: Sequence[str]) -> list[str]:
    """``names`` with ``words`` behind those that are there more than once, where these words differ."""
    twice = {label for label, count in Counter(names).items() if count > 1}
    apart = {label for label in twice if len({w for n, w in zip(names, words, strict=True) if n == label}) > 1}
    return [f"{n}, {w}" if n in apart and w else n for n, w in zip(names, words, strict=True)]


def _moment(run: RunRecord, layout: str) -> str:
    try:
        return datetime.fromisoformat(run.started).strftime(layout)
    except ValueError:
        return ""
