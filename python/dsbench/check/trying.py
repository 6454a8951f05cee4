"""All that a target promises, tried out: one thing after another."""

from __future__ import annotations

from collections.abc import Callable

from dsbench.check.conformance import conform
from dsbench.check.durable import durability
from dsbench.check.flushes import flushes_of
from dsbench.check.histories import isolation
from dsbench.check.result import Checked
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import CoreError
from dsbench.spec import Target

_REMEDY = "see dsbench doctor, or use another target"

Watch = Callable[[str, int, int, str], None]
"""Called before each part: what is tried out, parts done, parts in all, and what they are. Raises ``Stopped``."""


def try_out(
    target: Target, *, whole: bool, rounds: int, writers: int, kind: str, restart: str, watch: Watch,
    said: Callable[[str], None],
) -> Checked:  # fmt: skip
    """Kills ``target`` as ``durability`` does, and looks at its flushes; ``whole``: after all that it promises else.

    Raises what ``durability`` does, and ``RunError`` for what the target answers.
    """
    try:
        suite = conform(target, lambda what, done, total: watch(what, done, total, "cases")) if whole else None
        killed = durability(
            target, rounds=rounds, writers=writers, kind=kind, restart=restart,
            watch=lambda done, total: watch(target.redacted, done, total, "kills"), said=said,
        )  # fmt: skip
        flushed = flushes_of(target)
    except CoreError as error:
        raise RunError(f"{target.redacted}: {error}", _REMEDY, usage=error.usage) from None
    return Checked(
        target=target.redacted, version=suite.version if suite is not None else killed.version, suite=suite,
        settings=dict(target.settings), durability=killed, flushes=flushed,
    )  # fmt: skip


def try_isolation(
    target: Target, level: str, *, clients: int, transactions: int, reads: str = "", event: str = "", watch: Watch
) -> Checked:
    """Searches what clients of ``target`` see for anomalies, as ``isolation`` does; raises the same, and ``RunError``
    for what the target answers."""
    try:
        found = isolation(
            target, level, clients=clients, transactions=transactions, reads=reads, event=event,
            watch=lambda done, total: watch(target.redacted, done, total, "transactions"),
        )  # fmt: skip
    except CoreError as error:
        raise RunError(f"{target.redacted}: {error}", _REMEDY, usage=error.usage) from None
    return Checked(target=target.redacted, version=found.version, settings=dict(target.settings), isolation=found)
