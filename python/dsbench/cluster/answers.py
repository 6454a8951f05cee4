"""What nodes may ask of the coordinator, one method for each operation of the wire.

``comm`` comes first where the caller matters, so that Dask passes the connection: a node is known by the certificate
at its other end, not by what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from dsbench.cluster import wire
from dsbench.cluster.clock import Estimate
from dsbench.cluster.turn import Turn
from dsbench.generator import now_ns

if TYPE_CHECKING:
    from dsbench.cluster.coordinator import Coordinator


class Answers:
    """The operations; all run on the coordinator's event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._own = coordinator

    def operations(self) -> Mapping[str, Callable[..., Coroutine[Any, Any, Any]]]:
        """Name on the wire to method."""
        methods = (
            self._enrol, self._clock, self._beat, self._order, self._ready, self._armed, self._result, self._failed,
        )  # fmt: skip
        return {wire.OPERATIONS + method.__name__.removeprefix("_"): method for method in methods}

    async def _enrol(self, comm: Any, token: str, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """May this node take part?"""
        own, member = self._own, wire.peer(comm)
        if own.goodbye:
            return {"refused": "", "goodbye": own.goodbye, "lease_s": own.lease_s}
        known = own.roster.members.get(member)
        if known is not None and known.here and known.token == token:
            await own.lose(member, "it joined again: its connection was lost")
        why = own.roster.enrol(member, token, name, facts, own.loop.time())
        if why:
            own.news.put(f"refused a node at {comm.peer_address}, {name} ({member}): {why}")
        return {"refused": why, "goodbye": "", "lease_s": own.lease_s}

    async def _clock(self) -> int:
        """What time is it there?"""
        return now_ns()

    async def _beat(self, comm: Any, token: str, key: str, totals: tuple[int, int, int]) -> dict[str, Any]:
        """A sign of life; is there anything the node should know?"""
        own, member, turn = self._own, wire.peer(comm), self._turn(key)
        # What is left of the last turn must not be taken for a part of this one.
        counted = (totals[0], totals[1], totals[2]) if turn is not None else (0, 0, 0)
        known = own.roster.beat(member, token, counted, own.loop.time())
        stop = "the turn is over" if turn is None else turn.stop or turn.missing.get(member, "")
        # With the key, because the answer may arrive when the node has begun with the next turn.
        return {"known": known, "key": key, "stop": stop, "goodbye": own.goodbye}

    async def _order(self, comm: Any, key: str) -> Mapping[str, Any] | None:
        """What is to be done in this turn? ``None``: nothing any more."""
        member, turn = wire.peer(comm), self._turn(key)
        return turn.orders[member] if turn is not None and turn.open_for(member) else None

    async def _ready(self, comm: Any, key: str, offset_ns: int, error_ns: int) -> int | None:
        """All clients are connected: when is the start? Answers when it is fixed; ``None``: there will be none."""
        member, turn = wire.peer(comm), self._turn(key)
        if turn is None or not turn.open_for(member):
            return None
        turn.ready[member] = Estimate(offset_ns, error_ns)
        async with self._own.changed:
            await self._own.changed.wait_for(
                lambda: turn.start_ns is not None or self._own.turn is not turn or not turn.open_for(member)
            )
        return turn.start_ns if turn.open_for(member) else None

    async def _armed(self, comm: Any, key: str, left_ns: int) -> bool:
        """All clients wait for the start: may they begin?"""
        turn = self._turn(key)
        return turn is not None and turn.arm(wire.peer(comm), left_ns)

    async def _result(self, comm: Any, key: str, data: bytes) -> None:
        """What the node did; whoever sends it again is thanked again."""
        own, member, turn = self._own, wire.peer(comm), self._turn(key)
        if turn is not None and turn.deliver(member, data):
            return
        if (key, member) not in ((known, who) for known, who, _ in own.late):
            own.late.append((key, member, data))
            own.news.put(f"node {own.roster.members[member].name} sent its part of {key} too late to count")

    async def _failed(self, comm: Any, key: str, why: str) -> None:
        """The node cannot do its part."""
        own, member, turn = self._own, wire.peer(comm), self._turn(key)
        if turn is not None and turn.open_for(member):
            turn.lose(member, why)
            own.news.put(f"node {own.roster.members[member].name} cannot take part in {key}: {why}")

    def _turn(self, key: str) -> Turn | None:
        """The turn under way, if it is this one."""
        turn = self._own.turn
        return turn if turn is not None and turn.key == key else None
