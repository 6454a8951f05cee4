"""Who takes part in a run: nodes that were admitted, that beat, that were lost and came back.

Values and rules only, without a network: ``coordinator`` tells it what happens. Times are monotonic seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dsbench.archive import LOCAL
from dsbench.cluster.bundle import number_of

_LONGEST_NAME: Final = 60


@dataclass
class Member:
    """One node, known by the name in its certificate."""

    member: str
    token: str
    """Random name of its process: a node that comes back keeps it, a second process has another."""
    name: str
    """As results show it: the host's name, or what the user gave."""
    facts: Mapping[str, Any]
    """Host, process, processors, versions."""
    number: int = -1
    """Its place among the nodes from 0, which gives its clients their numbers; -1 until all are there."""
    address: str = ""
    """Its connection, by the name that the scheduling has for it; empty while it is gone."""
    beat_s: float = 0.0
    totals: tuple[int, int, int] = (0, 0, 0)
    """Clients connected, transactions committed and failed of the cycle under way."""
    losses: list[str] = field(default_factory=list)
    """Why it was lost, each time."""

    @property
    def here(self) -> bool:
        """Whether it can take part in a cycle."""
        return bool(self.address)


class Roster:
    """The members of a run of ``nodes`` nodes."""

    def __init__(self, nodes: int, lease_s: float, versions: Mapping[str, str]) -> None:
        self.nodes = nodes
        self.lease_s = lease_s
        self._versions = dict(versions)
        self.members: dict[str, Member] = {}

    def enrol(self, member: str, token: str, name: str, facts: Mapping[str, Any], now_s: float) -> str:
        """Admits a node, or gives the reason why it is refused."""
        if differing := self._differing(facts.get("versions", {})):
            return differing
        known = self.members.get(member)
        if known is not None and known.token == token:
            return ""
        if known is not None and known.here and now_s - known.beat_s < self.lease_s:
            return f"its bundle {member} is in use by {known.name} (process {known.facts.get('pid')})"
        if known is None and len(self.members) >= self.nodes:
            return f"the run has its {self.nodes} nodes: {', '.join(m.name for m in self.members.values())}"
        fresh = Member(member, token, _plain(name), dict(facts), beat_s=now_s)
        if known is not None:
            # Another process in the place of one that died: it goes on with the same clients.
            fresh.number, fresh.name, fresh.losses = known.number, known.name, known.losses
        self.members[member] = fresh
        return ""

    def _differing(self, theirs: Mapping[str, str]) -> str:
        for what, ours in self._versions.items():
            if theirs.get(what) != ours:
                return f"it has {what} {theirs.get(what, 'of an unknown version')}, the coordinator has {ours}"
        return ""

    def settle(self) -> None:
        """All nodes are there: gives each its number and a name that no other has."""
        taken: set[str] = set()
        for number, member in enumerate(sorted(self.members.values(), key=lambda m: number_of(m.member))):
            member.number = number
            while member.name in taken:  # also one that another has chosen for itself
                member.name = f"{member.name}-{number_of(member.member)}"
            taken.add(member.name)

    def present(self, member: str, address: str, now_s: float) -> None:
        """The node is there, by the connection ``address``; its lease begins."""
        found = self.members[member]
        found.address, found.beat_s, found.totals = address, now_s, (0, 0, 0)

    def beat(self, member: str, address: str, totals: tuple[int, int, int], now_s: float) -> bool:
        """A sign of life from ``address``; False when the node has no place here any more."""
        found = self.members.get(member)
        if found is None or found.address != address or not found.here:
            return False
        found.beat_s, found.totals = now_s, totals
        return True

    def lose(self, member: str, why: str) -> None:
        """The node takes no part from now on, until it enrols again."""
        found = self.members[member]
        found.address = ""
        found.losses.append(why)

    def overdue(self, now_s: float) -> list[Member]:
        """Nodes whose lease has run out."""
        return [m for m in self.here if now_s - m.beat_s >= self.lease_s]

    def grant(self, seconds: float) -> None:
        """Prolongs all leases: the coordinator itself was away for so long, and could not hear any beat."""
        for member in self.here:
            member.beat_s += seconds

    @property
    def here(self) -> list[Member]:
        """Nodes that can take part in a cycle, by number."""
        return sorted((m for m in self.members.values() if m.here), key=lambda m: m.number)

    @property
    def complete(self) -> bool:
        """Whether all nodes of the run are here."""
        return len(self.here) == self.nodes

    def at(self, address: str) -> Member | None:
        """The node with the connection ``address``."""
        return next((m for m in self.here if m.address == address), None)

    def numbered(self) -> Iterable[Member]:
        """All members by number, also those that are gone."""
        return sorted(self.members.values(), key=lambda m: m.number)


def _plain(name: str) -> str:
    """``name`` as it may stand in the name of a file, whoever sent it, and apart from that of this machine."""
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_LONGEST_NAME].strip(".-") or "node"
    return f"{text}-node" if text == LOCAL else text
