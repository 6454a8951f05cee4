"""What a database promises, tried out before its figures are believed: ``dsbench check --promises``."""

from dsbench.check.durable import DurabilityCheck, Round, durability
from dsbench.check.flushes import Flushes, flushes, flushes_of
from dsbench.check.forgetting import STORAGES
from dsbench.check.histories import CLIENTS, EVENTS, TRANSACTIONS, IsolationCheck
from dsbench.check.result import Checked, lines
from dsbench.check.trying import try_isolation, try_out

__all__ = [
    "CLIENTS",
    "EVENTS",
    "STORAGES",
    "TRANSACTIONS",
    "Checked",
    "DurabilityCheck",
    "Flushes",
    "IsolationCheck",
    "Round",
    "durability",
    "flushes",
    "flushes_of",
    "lines",
    "try_isolation",
    "try_out",
]
