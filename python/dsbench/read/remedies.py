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

_ROWS: Final = "Shorter transactions; the row that all change last; or spread it over several rows"

_TABLE: Final = (
    Remedy(shares.CPU, "postgres", "Look at the plans of the statements that take most: an index may be missing",
           _PG + "using-explain.html"),
    Remedy(shares.CPU, "mysql", "Look at the plans of the statements that take most: an index may be missing",
           _MARIADB + "explain/"),
    Remedy(shares.CPU, "sqlite", "Look at the plans of the statements that take most: an index may be missing",
           _SQLITE + "eqp.html"),
    Remedy(shares.QUEUE, "postgres", "Fewer connections than clients of the load, by a pooler",
           _PG + "runtime-config-connection.html"),
    Remedy(shares.QUEUE, "", "More CPUs, or fewer clients at a time", _KERNEL + "scheduler/sched-stats.html"),
    Remedy(shares.FOREIGN, "", "End the other programs, or give server and clients CPUs of their own",
           _KERNEL + "admin-guide/cgroup-v2.html#cpuset"),
    Remedy(shares.LOCK, "postgres", _ROWS,
           _PG + "explicit-locking.html#LOCKING-ROWS"),
    Remedy(shares.LOCK, "mysql", _ROWS,
           _MARIADB + "innodb-lock-modes/"),
    Remedy(shares.LOCK, "firebird", "Shorter transactions; WAIT with LOCK TIMEOUT or NO WAIT",
           _FIREBIRD + "#fblangref50-transacs-settransac"),
    Remedy(shares.LOCK, "sqlite", "WAL lets readers go on beside the writer; BEGIN IMMEDIATE waits at the start",
           _SQLITE + "wal.html"),
    Remedy(shares.LATCH, "postgres", "The name of the wait says which part of the server it is",
           _PG + "monitoring-stats.html#WAIT-EVENT-TABLE"),
    Remedy(shares.LATCH, "mysql", "The mutexes of InnoDB by name", _MARIADB + "show-engine-innodb-mutex/"),
    Remedy(shares.FLUSH, "postgres", "The log on a faster device; commit_delay; or synchronous_commit=off where a "
           "crash may lose the last commits", _PG + "wal-async-commit.html"),
    Remedy(shares.FLUSH, "mysql", "The log on a faster device; or innodb_flush_log_at_trx_commit=2 where a crash may "
           "lose the last commits", _MARIADB + "innodb-system-variables/#innodb_flush_log_at_trx_commit"),
    Remedy(shares.FLUSH, "sqlite", "WAL with synchronous=NORMAL where a power cut may lose the last commits",
           _SQLITE + "pragma.html#pragma_synchronous"),
    Remedy(shares.FLUSH, "firebird", "A faster device; without forced writes a power cut may break the database",
           "https://www.firebirdsql.org/file/documentation/html/en/firebirddocs/gfix/firebird-gfix.html"),
    Remedy(shares.READ, "postgres", "More shared_buffers, or memory for the page cache",
           _PG + "runtime-config-resource.html#GUC-SHARED-BUFFERS"),
    Remedy(shares.READ, "mysql", "A larger innodb_buffer_pool_size", _MARIADB + "innodb-buffer-pool/"),
    Remedy(shares.READ, "sqlite", "A larger cache_size or mmap_size", _SQLITE + "pragma.html#pragma_cache_size"),
    Remedy(shares.READ, "firebird", "More page buffers", _FIREBIRD),
    Remedy(shares.WRITE, "postgres", "Checkpoints further apart: max_wal_size and checkpoint_timeout",
           _PG + "wal-configuration.html"),
    Remedy(shares.WRITE, "mysql", "A larger innodb_log_file_size, and innodb_io_capacity for the device",
           _MARIADB + "innodb-redo-log/"),
    Remedy(shares.NETWORK, "postgres", "Fewer messages: procedures, or pipelining of the client",
           _PG + "libpq-pipeline-mode.html"),
    Remedy(shares.NETWORK, "mysql", "Fewer messages: procedures, or several rows in a statement",
           _MARIADB + "stored-procedure-overview/"),
    Remedy(shares.CLIENT, "", "More processes or threads of the client, or a faster driver: see dsbench doctor "
           "--calibrate", "docs/clients.md"),
)  # fmt: skip
_SAME: Final = {shares.CLIENT_QUEUE: shares.CLIENT, shares.CLIENT_TURN: shares.CLIENT}


def find_remedies(engine: str, kinds: Iterable[str]) -> list[Remedy]:
    """Those for the causes of an engine, in the order of ``kinds``, each once."""
    wanted = dict.fromkeys(_SAME.get(kind, kind) for kind in kinds)
    return [one for kind in wanted for one in _TABLE if one.kind == kind and one.engine in ("", engine)]
