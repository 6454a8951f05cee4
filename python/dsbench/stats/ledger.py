"""The ledger of client time: c clients have c × D of it in a cycle of D, and each nanosecond is somewhere."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats, Ints

PARTS: Final = 100
"""Parts of a second of which is known whether a transaction ended in them."""
_HALF: Final = PARTS // 2
APART: Final = 10.0
"""Where half of the client time is in transactions that take so many times the median or more, quantiles over
transactions are those of few clients or of good moments. In a steady queue the two differ by 1.1 to 2.5."""


@dataclass(frozen=True)
class Gap:
    """The longest time of a cycle in which no transaction of any client ended."""

    cycle: int
    length_ns: float
    """Within 10 ms."""
    at_ns: float
    """Its begin, from the start of the cycle, within 10 ms."""
    seconds: int
    """Whole seconds of the cycle in which none ended."""
    missing: float
    """Transactions that it would have brought at the rate of the rest of the cycle; nan where nothing ended in that."""


@dataclass(frozen=True)
class Ledger:
    """Where the time of the clients went at one scale, over all cycles. Times in ns."""

    clients_ns: int
    """c × D, summed over the cycles."""
    ended_ns: int
    """In transactions that ended within their cycle: committed, rolled back or failed."""
    in_flight_ns: int
    """In transactions that were in flight at its end."""
    waiting_ns: int
    """Waiting for a turn, or with nothing left to do."""
    connecting_ns: int
    """Opening connections within a transaction."""
    in_flight: int
    """Transactions in flight at the ends of the cycles."""
    lasted: tuple[tuple[int, int], ...]
    """Cycle and whole time of the longest transaction that was in flight at its end; only cycles that had one."""
    longest_ns: int
    """The longest transaction that was done or in flight, from its intended start to its end."""
    longest_failed_ns: int
    """The longest that failed; 0 where none did."""
    half_ns: float
    """Half of the client time in transactions is in such as take at least so long; nan without any."""
    median_ns: float
    """Median of the residence times of the transactions."""
    worst_p99_ns: int
    """The 99% quantile of the client that has the greatest, in the median cycle; those in flight are in it."""
    idle: tuple[tuple[int, int], ...]
    """Cycle and clients that finished no transaction in it; only cycles that have some."""
    clients: int
    """Most in a cycle."""
    gaps: tuple[Gap, ...]
    """Of each cycle in order; empty where the seconds do not tell."""

    @property
    def own_ns(self) -> int:
        """Between transactions, in dsbench itself: what is left over."""
        known = self.ended_ns + self.in_flight_ns + self.waiting_ns + self.connecting_ns
        return self.clients_ns - known

    @property
    def transactions_ns(self) -> int:
        """In transactions, with the connections that these opened."""
        return self.ended_ns + self.in_flight_ns + self.connecting_ns

    @property
    def gap(self) -> Gap | None:
        """The longest of all cycles."""
        return max(self.gaps, key=lambda one: one.length_ns, default=None)

    @property
    def apart(self) -> bool:
        """Whether quantiles by transaction and by client time differ by ``APART`` or more."""
        return bool(self.half_ns >= APART * self.median_ns)


def weighted_quantile(times_ns: Floats, weights: Floats, share: float) -> float:
    """The least of ``times_ns`` such that those up to it have ``share`` (0-1) of the weight; nan without weight.

    With each transaction's duration as its weight it answers: at a random moment of a client's time, how long does the
    transaction take that it is in? (Length-biased sampling: Cox, "Renewal Theory", 1962, 5.4.)
    """
    order = np.argsort(times_ns)
    reached = np.cumsum(weights[order])
    if not reached.size or reached[-1] <= 0:
        return float("nan")
    return float(times_ns[order][np.searchsorted(reached, share * reached[-1])])


def busy_parts(second: Ints, first: Ints, later: Ints, duration_ns: int) -> NDArray[np.bool_]:
    """Whether a transaction ended in each hundredth of a second of a cycle. ``second``, ``first`` and ``later`` are the
    rows of the table ``seconds``, with a bit for each part of either half of the second."""
    parts = max(1, -(-duration_ns * PARTS // 10**9))
    found = np.zeros((int(second.max(initial=0)) + 1 + parts // PARTS + 1, PARTS), dtype=bool)
    bits = np.arange(_HALF)
    for column, words in ((0, first), (_HALF, later)):
        here = (words[:, np.newaxis] >> bits) & 1 > 0
        for at, row in zip(second.tolist(), here, strict=True):
            found[at, column : column + _HALF] |= row
    return found.reshape(-1)[:parts]


def find_gap(cycle: int, busy: NDArray[np.bool_], done: int) -> Gap:
    """The longest run of parts in which none of the transactions ended, of which ``done`` did in the cycle. Beside an
    end of the cycle a gap is known within one part, else within two: its middle is told."""
    part_ns = 10**9 / PARTS
    ends = np.flatnonzero(np.concatenate([[True], busy, [True]]))
    lengths = np.diff(ends) - 1
    inner = (ends[:-1] > 0).astype(int) + (ends[1:] <= busy.size)
    at = int(np.argmax(lengths + inner / 2))
    begin, length = int(ends[at]), int(lengths[at])
    whole = busy[: busy.size // PARTS * PARTS].reshape(-1, PARTS)
    seconds = int((~whole.any(axis=1)).sum())
    if not length:
        return Gap(cycle, 0.0, 0.0, seconds, 0.0)
    missing = done * length / (busy.size - length) if length < busy.size else float("nan")
    length_ns = (length + int(inner[at]) / 2) * part_ns
    return Gap(cycle, length_ns, max(0.0, begin - (begin > 0) / 2) * part_ns, seconds, missing)


def idle_clients(cycles: Ints, done: Ints, busy_ns: Ints, clients_ns: Ints) -> tuple[tuple[int, int], ...]:
    """Cycles with clients that were in transactions for most of their time and finished none, and how many these are.
    Arrays of the shape (cycles, nodes, clients)."""
    stuck = (done == 0) & (clients_ns > 0) & (2 * busy_ns > clients_ns)
    counts = stuck.sum(axis=(1, 2))
    return tuple((int(cycle), int(count)) for cycle, count in zip(cycles, counts, strict=True) if count)


