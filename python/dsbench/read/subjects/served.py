"""Which server served the transactions, where sessions may be of several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Result, Subject, computed
from dsbench.spec.outages import STANDBY

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


@dataclass(frozen=True)
class ServedBy:
    """What a server did for a group of clients at one scale, over all cycles."""

    group: str
    server: str
    """As the target names it; of a socket its port, where that is its own."""
    committed: int
    share: float
    """Of the committed transactions of the group, 0-1."""
    rate_tps: float
    """Per second of all cycles, those included in which it served nobody."""


def _read_served(evaluation: Evaluation) -> dict[int, tuple[ServedBy, ...]]:
    rows = evaluation.rows.of_cycles("served")
    by = ["scale", "group", "server"]
    sums = rows.group_by(by).aggregate([("committed", "sum")]).to_pylist()
    sums.sort(key=lambda row: [row[name] for name in by])
    groups: dict[tuple[int, str], int] = defaultdict(int)
    for row in sums:
        groups[row["scale"], row["group"]] += row["committed_sum"]
    found: dict[int, list[ServedBy]] = defaultdict(list)
    names = _named({row["server"] for row in sums})
    for row in sums:
        scale, group, committed = row["scale"], row["group"], row["committed_sum"]
        if scale in evaluation.rows.load and committed:
            seconds = float(evaluation.rows.load[scale].duration_s.sum())
            of_group = groups[scale, group]
            found[scale].append(
                ServedBy(group, names[row["server"]], committed, committed / of_group, committed / seconds)
            )
    return {scale: tuple(some) for scale, some in found.items()}


def _named(servers: Collection[str]) -> dict[str, str]:
    """Sockets by their ports, where these tell them apart."""
    ports = {server: server.rpartition(":")[2] for server in servers if server.startswith("/")}
    alike = len(set(ports.values())) < len(ports)
    return {server: server if alike or server not in ports else f"port {ports[server]}" for server in servers}


_COLUMNS: Final = (
    Column("clients", left=True), Column("server", left=True), Column("committed"), Column("share", "%", 100),
    Column("rate", "tps"),
)  # fmt: skip
_NOTE: Final = "A session is of the host of the target to which it connected."
_READS: Final = {"": "", STANDBY: " Clients that only read connect to a standby."}


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    any_found = False
    for heading, part in each_series(evaluation):
        for scale, served in part.of(ServedResult).served.items():
            any_found = True
            where = f"scale {scale}" + (f", {heading}" if heading else "")
            rows = [(one.group, one.server, one.committed, one.share, one.rate_tps) for one in served]
            yield Table(f"Transactions by server, {where}", _COLUMNS, rows)
    if any_found:
        reads = evaluation.run.spec.reads
        yield Sentence(_NOTE + _READS.get(reads, f" Clients that only read connect to {reads}."), "note")


class ServedResult(Result):
    served = computed(_read_served)
    """By scale: which server had the transactions of each group; empty where there was no choice."""


SUBJECT: Final = Subject(
    "served",
    "Servers", ServedResult,
    tell=_tell,
    nothing="The target names one server, and no client reads elsewhere.",
)
