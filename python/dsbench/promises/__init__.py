"""What a database promises, tried out before its figures are believed: ``dsbench check --promises``."""

from dsbench.promises.durable import Durability, Round, durability
from dsbench.promises.flushes import Flushes, flushes, flushes_of
from dsbench.promises.forgetting import STORAGES
from dsbench.promises.result import Checked, lines

__all__ = ["STORAGES", "Checked", "Durability", "Flushes", "Round", "durability", "flushes", "flushes_of", "lines"]
