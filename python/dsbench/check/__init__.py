"""What a database promises, tried out before its figures are believed: ``dsbench check --promises``."""

from dsbench.check.durable import DurabilityCheck, Round, durability
from dsbench.check.flushes import Flushes, flushes, flushes_of
from dsbench.check.forgetting import STORAGES
from dsbench.check.result import Checked, lines
from dsbench.check.trying import try_out

__all__ = [
    "STORAGES",
    "Checked",
    "DurabilityCheck",
    "Flushes",
    "Round",
    "durability",
    "flushes",
    "flushes_of",
    "lines",
    "try_out",
]
