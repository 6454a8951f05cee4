"""What the makers of products advise where a transaction spends its time: words and sources, never a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.stats import shares


@dataclass(frozen=True)
class Remedy:
    """Something that people do about a cause."""

    kind: str
    """A class of ``stats.shares``."""
    engine: str
    """Empty where it concerns all."""
    words: str
    source: str


_PG: Final = "https://www.postgresql.org/docs/current/"
_MARIADB: Final = "https://mariadb.com/kb/en/"
_FIREBIRD: Final = "https://www.firebirdsql.org/file/documentation/html/en/refdocs/fblangref50/firebird-50-language-reference.html"
_SQLITE: Final = "https://www.sqlite.org/"
_KERNEL: Final = "https://docs.kernel.org/"

_ROWS: Final = "Make transactions shorter; update the contended row last, or spread it over several rows"

_TABLE: Final = (
    Remedy(shares.CPU, "postgres", "Check the plans of the slowest statements: an index may be missing",
           _PG + "using-explain.html"),
    Remedy(shares.CPU, "mysql", "Check the plans of the slowest statements: an index may be missing",
           _MARIADB + "explain/"),
    Remedy(shares.CPU, "sqlite", "Check the plans of the slowest statements: an index may be missing",
           _SQLITE + "eqp.html"),
    Remedy(shares.QUEUE, "postgres", "Use a pooler, with fewer connections than clients",
           _PG + "runtime-config-connection.html"),
    Remedy(shares.QUEUE, "", "Use more CPUs, or fewer clients", _KERNEL + "scheduler/sched-stats.html"),
    Remedy(shares.FOREIGN, "", "Stop the other programs, or give server and clients dedicated CPUs",
           _KERNEL + "admin-guide/cgroup-v2.html#cpuset"),
    Remedy(shares.LOCK, "postgres", _ROWS,
           _PG + "explicit-locking.html#LOCKING-ROWS"),
    Remedy(shares.LOCK, "mysql", _ROWS,
           _MARIADB + "innodb-lock-modes/"),
    Remedy(shares.LOCK, "firebird", "Make transactions shorter; use WAIT with LOCK TIMEOUT or NO WAIT",
           _FIREBIRD + "#fblangref50-transacs-settransac"),
    Remedy(shares.LOCK, "sqlite", "WAL mode lets readers run next to the writer; BEGIN IMMEDIATE waits at the start",
           _SQLITE + "wal.html"),
    Remedy(shares.LATCH, "postgres", "The name of the wait event shows which part of the server it is",
           _PG + "monitoring-stats.html#WAIT-EVENT-TABLE"),
    Remedy(shares.LATCH, "mysql", "See the mutexes of InnoDB by name", _MARIADB + "show-engine-innodb-mutex/"),
    Remedy(shares.FLUSH, "postgres", "Move the log to a faster device; set commit_delay; or "
           "synchronous_commit=off if a crash may lose the last commits", _PG + "wal-async-commit.html"),
    Remedy(shares.FLUSH, "mysql", "Move the log to a faster device; or set innodb_flush_log_at_trx_commit=2 if a "
           "crash may lose the last commits", _MARIADB + "innodb-system-variables/#innodb_flush_log_at_trx_commit"),
    Remedy(shares.FLUSH, "sqlite", "Use WAL mode with synchronous=NORMAL if a power cut may lose the last commits",
           _SQLITE + "pragma.html#pragma_synchronous"),
    Remedy(shares.FLUSH, "firebird", "Use a faster device; without forced writes a power cut may corrupt the database",
           "https://www.firebirdsql.org/file/documentation/html/en/firebirddocs/gfix/firebird-gfix.html"),
    Remedy(shares.READ, "postgres", "Increase shared_buffers, or the memory for the page cache",
           _PG + "runtime-config-resource.html#GUC-SHARED-BUFFERS"),
    Remedy(shares.READ, "mysql", "Increase innodb_buffer_pool_size", _MARIADB + "innodb-buffer-pool/"),
    Remedy(shares.READ, "sqlite", "Increase cache_size or mmap_size", _SQLITE + "pragma.html#pragma_cache_size"),
    Remedy(shares.READ, "firebird", "Increase the page buffers", _FIREBIRD),
    Remedy(shares.WRITE, "postgres", "Space checkpoints further apart: max_wal_size and checkpoint_timeout",
           _PG + "wal-configuration.html"),
    Remedy(shares.WRITE, "mysql", "Increase innodb_log_file_size, and set innodb_io_capacity for the device",
           _MARIADB + "innodb-redo-log/"),
    Remedy(shares.NETWORK, "postgres", "Send fewer messages: use procedures, or pipelining in the client",
           _PG + "libpq-pipeline-mode.html"),
    Remedy(shares.NETWORK, "mysql", "Send fewer messages: use procedures, or several rows per statement",
           _MARIADB + "stored-procedure-overview/"),
    Remedy(shares.CLIENT, "", "Use more processes or threads in the client, or a faster driver: see dsbench "
           "doctor --calibrate", "docs/clients.md"),
)  # fmt: skip
_SAME: Final = {shares.CLIENT_QUEUE: shares.CLIENT, shares.CLIENT_TURN: shares.CLIENT}


def find_remedies(engine: str, kinds: Iterable[str]) -> list[Remedy]:
    """Those for the causes of an engine, in the order of ``kinds``, each once."""
    wanted = dict.fromkeys(_SAME.get(kind, kind) for kind in kinds)
    return [one for kind in wanted for one in _TABLE if one.kind == kind and one.engine in ("", engine)]
