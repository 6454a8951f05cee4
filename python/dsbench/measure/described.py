"""What a run notes of its target, its server and its machine before the first cycle."""

from __future__ import annotations

import platform
from dataclasses import asdict

from dsbench import servers
from dsbench.measure import promised, stack
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import Target
from dsbench.measure.stack import Described
from dsbench.spec import Limits, RunSpec


def noted(
    spec: RunSpec, target: Target, server: servers.Server | None, journal: Journal, described: Described
) -> None:
    """Puts it into ``run.json``; warns of another version than that of the beginning, of what the server said of its
    settings, and of limits that fall short."""
    version = described.server_version or (server.version if server else "")
    before = journal.record.server_version
    if before not in ("", version):
        words = f"resumed on {version}, begun on {before}"
        journal.warn("resumed", words, "repeat the run on one version")
    journal.note(
        engine=target.dialect.name,
        dialect=asdict(target.dialect),
        embedded=target.dialect.embedded,
        # With one writer at a time every level comes out as the strictest.
        isolation="serializable" if target.dialect.single_writer else spec.isolation,
        server_version=version,
        stack=stack.by_client(described.layers, spec.client),
        settings=described.settings,
        durability=described.durability,
        marks=described.marks,
    )
    if spec.checked and journal.record.promised is None:
        host = platform.node() if server or target.dialect.embedded else ""
        checked = promised.read(spec.checked)
        journal.note(promised=promised.noted(checked, version, described.durability, host))
    if target.pooled:
        words = f"a pooler of {target.pooled} stands before the server: its time is part of the figures"
        journal.warn("pooler", words, "name the server itself as TARGET to measure it alone")
    for note in server.notes if server else []:
        journal.warn("server", note, "see dsbench doctor")
    pids = server.pids() if server else []
    for words in stack.fall_short(Limits.of(spec.limits), pids[0] if pids else None):
        journal.warn("limits", words, "see the limits around dsbench, such as those of its container")
