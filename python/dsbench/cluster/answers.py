"""What the coordinator does with what comes through the door, one method for each operation of the protocol.

A node is known by the certificate at its end of the connection, not by what it says, and everything here
touches that one node alone. ``frames`` has checked types and sizes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from dsbench.cluster.clock import Estimate
from dsbench.cluster.door import Guest
from dsbench.cluster.errors import plain
from dsbench.cluster.frames import ProtocolError
from dsbench.cluster.turn import Turn
from dsbench.generator import now_ns

if TYPE_CHECKING:
    from dsbench.cluster.coordinator import Coordinator

LARGEST_ERROR_NS: Final = 500_000_000
"""Of a clock that may take part: the others would have to wait forty times as long for the start."""


class Answers:
    """The operations; all run on the coordinator's event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._own = coordinator
        self._operations: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "clock": self._clock, "beat": self._beat, "order": self._order, "ready": self._ready,
            "armed": self._armed, "failed": self._failed, "done": self._done,
        }  # fmt: skip

    async def answer(self, guest: Guest, operation: str, fields: Mapping[str, Any]) -> Any:
        """The answer to an enrolled node."""
        return await self._operations[operation](guest, **fields)

    async def enrol(self, guest: Guest, token: str, name: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """May this node take part?"""
        own, member = self._own, guest.member
        if not own.may_join(member):
            raise ProtocolError("it asks to join too often")
        if own.goodbye:
            return {"refused": "", "goodbye": own.goodbye, "lease_s": own.lease_s}
        known = own.roster.members.get(member)
        if known is not None and known.here and known.token == token:
            await own.lose(member, "it joined again: its connection was lost")
        facts = {**facts, "host": plain(facts["host"]), "system": plain(facts["system"])}
        why = plain(own.roster.enrol(member, token, name, facts, own.loop.time()))
        if why:
            own.log("nodes refused", f"refused a node, {plain(name, 60)} ({member}): {why}")
        else:
            own.joined(guest)
        return {"refused": why, "goodbye": "", "lease_s": own.lease_s}

    def wants(self, member: str, token: str, key: str) -> bool:
        """Whether the node's result of the turn ``key`` is still to come; whoever sends it again is thanked again."""
        known = self._own.roster.members.get(member)
        return known is not None and known.token == token and (key, member) in self._own.owed

    def take(self, member: str, key: str, data: bytes) -> None:
        """What the node did."""
        own, turn = self._own, self._turn(key)
        if (key, member) not in own.owed:
            return
        own.owed.discard((key, member))
        if turn is None or not turn.deliver(member, data):
            own.late.append((key, member, data))
            name = own.roster.members[member].name
            own.log(f"news of {member}", f"node {name} sent its part of {key} too late to count")

    def left(self, guest: Guest) -> None:
        """Its connection has ended."""
        self._own.left(guest)

    async def _clock(self, _guest: Guest) -> int:
        """What time is it there?"""
        return now_ns()

    async def _beat(self, guest: Guest, key: str, totals: list[int]) -> dict[str, Any]:
        """A sign of life; is there anything the node should know?"""
        own, member, turn = self._own, guest.member, self._turn(key)
        # What is left of the last turn must not be taken for a part of this one.
        counted = (totals[0], totals[1], totals[2]) if turn is not None else (0, 0, 0)
        known = own.roster.beat(member, guest.address, counted, own.loop.time())
        stop = "the turn is over" if turn is None else turn.stop or turn.missing.get(member, "")
        # With the key, because the answer may arrive when the node has begun with the next turn.
        return {"known": known, "key": key, "stop": stop, "goodbye": own.goodbye}

    async def _order(self, guest: Guest, key: str) -> Mapping[str, Any] | None:
        """What is to be done in this turn? ``None``: nothing any more."""
        member, turn = guest.member, self._turn(key)
        return turn.orders[member] if turn is not None and turn.open_for(member) else None

    async def _ready(self, guest: Guest, key: str, offset_ns: int, error_ns: int) -> int | None:
        """All clients are connected: when is the start? Answers when it is fixed; ``None``: there will be none."""
        member, turn = guest.member, self._turn(key)
        if turn is None or not turn.open_for(member):
            return None
        if error_ns > LARGEST_ERROR_NS:
            turn.lose(member, f"its clock is known within {error_ns / 1e6:.0f} ms only")
            return None
        turn.ready[member] = Estimate(offset_ns, error_ns)
        async with self._own.changed:
            await self._own.changed.wait_for(
                lambda: turn.start_ns is not None or self._own.turn is not turn or not turn.open_for(member)
            )
        return turn.start_ns if turn.open_for(member) else None

    async def _armed(self, guest: Guest, key: str, left_ns: int) -> bool:
        """All clients wait for the start: may they begin?"""
        turn = self._turn(key)
        return turn is not None and turn.arm(guest.member, left_ns)

    async def _failed(self, guest: Guest, key: str, why: str) -> None:
        """The node cannot do its part."""
        own, member, turn = self._own, guest.member, self._turn(key)
        if turn is not None and turn.open_for(member):
            turn.lose(member, plain(why))
            name = own.roster.members[member].name
            own.log(f"news of {member}", f"node {name} cannot take part in {key}: {plain(why)}")

    async def _done(self, guest: Guest, key: str) -> None:
        """The node is free for the next turn."""
        self._own.free(guest, key)

    def _turn(self, key: str) -> Turn | None:
        """The turn under way, if it is this one."""
        turn = self._own.turn
        return turn if turn is not None and turn.key == key else None
