"""What the tables of an archive hold: each column once, with its type, unit, sentence and how it adds up.

Plain data without a library: the core's counters, the files, the evaluation and the documentation follow it.
"""

from __future__ import annotations

from typing import Final, Literal

from dsbench.dataclass import dataclass

Type = Literal["uint32", "uint64", "int64", "double", "string"]
"""Names of Arrow."""

Adds = Literal["sum", "min", "max", ""]
"""How the values of several kinds, clients and nodes become one; empty where they do not."""


@dataclass(frozen=True)
class ArchiveColumn:
    """A column of a table."""

    name: str
    type: Type
    sentence: str
    """What a value says, for people."""
    unit: str = ""
    """Empty for names, and for numbers that count nothing."""
    adds: Adds = ""
    few: bool = False
    """Text of which a table holds few different values: it is kept as a dictionary."""


@dataclass(frozen=True)
class ArchiveTable:
    """A table of the archive."""

    name: str
    sentence: str
    columns: tuple[ArchiveColumn, ...]

    def named(self, adds: Adds) -> tuple[str, ...]:
        """Names of the columns that add up in that way, in order."""
        return tuple(column.name for column in self.columns if column.adds == adds)


LOCAL: Final = "local"
"""Name of the node that is the machine of ``dsbench run`` itself."""
KEPT_PAUSES: Final = 256
"""Pauses of a client that are kept, beside its last one: as many as the core has room for."""
ONLY_STAGE: Final = "load"
"""Name of the stage where a run has one."""

_SCALE = ArchiveColumn("scale", "uint32", "Size of the database, X_s.")
_STAGE = ArchiveColumn("stage", "string", "Stretch of the run on one database.", few=True)
_CYCLE = ArchiveColumn("cycle", "uint32", "Number of the cycle, from 1; several numbers of clients are numbered on.")
_GROUP = ArchiveColumn("group", "string", "Clients of a stage that do the same.", few=True)
_KEY = (
    _SCALE,
    _STAGE,
    _CYCLE,
    ArchiveColumn("node", "string", "Machine that made load; local is the one of dsbench run."),
    ArchiveColumn("clients", "uint32", "Clients on each node in the cycle.", "clients"),
)
_KIND = ArchiveColumn("kind", "string", "Kind of transaction.")
_STATEMENT = ArchiveColumn("statement", "uint32", "Number of the statement among those of all scripts, from 1.")
_NAMED_STATEMENT = (
    _STATEMENT,
    ArchiveColumn("line", "uint32", "Line in its script, from 1."),
    ArchiveColumn("text", "string", "Text of the statement, in one line.", few=True),
)


_COUNTERS: Final = (
    ArchiveColumn(
        "committed", "uint64", "M_inj: committed and ended within the demanded duration.", "transactions", "sum"
    ),
    ArchiveColumn("rows", "uint64", "Rows that these worked on; 0 where the workload counts none.", "rows", "sum"),
    ArchiveColumn("rolled_back", "uint64", "Rolled back on purpose, counted as done.", "transactions", "sum"),
    ArchiveColumn(
        "failed", "uint64", "E_inj: attempts that failed, those that were retried included.", "attempts", "sum"
    ),
    ArchiveColumn("retries", "uint64", "Of `failed`, those after which it was tried again.", "attempts", "sum"),
    ArchiveColumn("unknown", "uint64", "The connection was lost in commit.", "transactions", "sum"),
    ArchiveColumn("in_flight", "uint64", "Ended after the demanded duration: not counted.", "transactions", "sum"),
    ArchiveColumn(
        "commits_after_window", "uint64", "Those of in_flight that the database keeps.", "transactions", "sum"
    ),
    ArchiveColumn(
        "commits_before_window", "uint64", "Committed in the ramp-up: not counted, but the database keeps them.",
        "transactions", "sum",
    ),
    ArchiveColumn("skipped_starts", "uint64", "Open loop: starts that were due and never made.", "transactions", "sum"),
    ArchiveColumn(
        "remote", "uint64", "Committed on another branch's account, early and late ones included.",
        "transactions", "sum",
    ),
    ArchiveColumn(
        "residence_ns", "uint64", "R_inj: sum of the residence times of the committed and the rolled back.",
        "ns", "sum",
    ),
    ArchiveColumn(
        "response_ns", "uint64", "The same from the intended start; equal in the closed loop.", "ns", "sum"
    ),
    ArchiveColumn("failed_ns", "uint64", "Time spent in transactions that did not succeed.", "ns", "sum"),
    ArchiveColumn("residence_min_ns", "uint64", "Least residence time; 0 where nothing was counted.", "ns", "min"),
    ArchiveColumn("residence_max_ns", "uint64", "Longest residence time.", "ns", "max"),
    ArchiveColumn(
        "first_start_ns", "uint64", "First start of a counted transaction; 0 where nothing was counted.", "ns", "min"
    ),
    ArchiveColumn(
        "last_end_ns", "uint64", "Last counted end, 0 where there is none: L_inj = last_end_ns - first_start_ns.",
        "ns", "max",
    ),
    ArchiveColumn(
        "cpu_ns", "uint64", "CPU time with that of the ramp-up; clients on one carrier have equal shares.", "ns", "sum"
    ),
    ArchiveColumn(
        "moves", "uint64", "How often it moved to another CPU to follow its server, with the ramp-up.", "moves", "sum"
    ),
    ArchiveColumn(
        "messages_sent", "uint64", "Sends on the wire of the transactions that ended, failed ones and logins of "
        "--reconnect included; 0 where the client does not count them.", "messages", "sum",
    ),
    ArchiveColumn("messages_received", "uint64", "The same of receives that brought something.", "messages", "sum"),
    ArchiveColumn(
        "ended_ns", "uint64", "Client time within the duration of the transactions that ended in it, failed ones "
        "included, without connecting_ns.", "ns", "sum",
    ),
    ArchiveColumn("in_flight_ns", "uint64", "The same of those that were in flight at its end.", "ns", "sum"),
    ArchiveColumn(
        "in_flight_max_ns", "uint64", "Whole time of the longest of these, from its intended start to its end.", "ns",
        "max",
    ),
    ArchiveColumn(
        "connecting_ns", "uint64", "Client time within the duration in which its transactions opened connections: "
        "logins of --reconnect, and connections that were lost.", "ns", "sum",
    ),
    ArchiveColumn(
        "waiting_ns", "uint64", "Client time within the duration in which it waited for its turn, or had nothing left "
        "to do.", "ns", "sum",
    ),
    ArchiveColumn(
        "client_ns", "uint64", "Client time in all: the duration of the cycle. What the five before it leave of it "
        "went by between transactions, in dsbench.", "ns", "sum",
    ),
    ArchiveColumn(
        "client_p99_ns", "uint64", "99th percentile of the residence times of all transactions of the client, "
        "including the one in flight, within 3%.", "ns", "max",
    ),
)  # fmt: skip
"""What the core counts, in its order."""

COUNTERS: Final = tuple(column.name for column in _COUNTERS)
"""Names of what the core counts by client and kind, in its order."""

_TABLES: Final = (
    ArchiveTable(
        "cycles",
        "One row per cycle, node, client and kind. Starts and ends count from the cycle's start.",
        (
            *_KEY,
            _GROUP,
            ArchiveColumn("client", "uint32", "Number of the client on its node, from 0."),
            _KIND,
            *_COUNTERS,
        ),
    ),
    ArchiveTable(
        "groups",
        "One row per cycle and group of clients: who made its load, and how long.",
        (
            _SCALE,
            _STAGE,
            _CYCLE,
            _GROUP,
            ArchiveColumn("clients", "uint32", "Clients of the group on each node.", "clients"),
            ArchiveColumn("connections", "uint32", "Connections of each client.", "connections"),
            ArchiveColumn("all_clients", "uint32", "Clients of the group on all nodes.", "clients", "sum"),
            ArchiveColumn(
                "pacing", "string", "closed; in-step: closed, no client far ahead of that of another group; poisson or "
                "constant: starts at a rate; terminals: people who key in and think.", few=True,
            ),
            ArchiveColumn(
                "rate_per_s", "double", "Demanded starts of all clients together; empty without a rate.", "1/s"
            ),
            ArchiveColumn(
                "rows_per_s", "double", "Demanded rows of all clients together, if the rate is in rows.", "rows/s"
            ),
            ArchiveColumn("until", "string", "What ends it: time, transactions, rows or group.", few=True),
            ArchiveColumn("until_count", "uint64", "How many transactions or rows; empty for other ends."),
            ArchiveColumn("until_of", "string", "Whose they are: each, all, or the name of a group; empty for time."),
            ArchiveColumn(
                "duration_ns", "uint64", "Demanded, where time is the end; else measured from the first start to the "
                "last counted end over all nodes.", "ns", "max",
            ),
            ArchiveColumn(
                "placement", "string", "Where its clients ran: free, follow or pinned, with the reason if it is not "
                "the requested one; each with its clients if there are several.", few=True,
            ),
            ArchiveColumn(
                "level", "double", "Of a graduated load, per cent of the capacity: 100 to 10, and 0 when idle; empty "
                "for others.", "%",
            ),
            ArchiveColumn(
                "paused_ns", "uint64", "How long within the cycle the load generator was suspended, if "
                "longer than 0.25 s; of several nodes the longest time.", "ns", "max",
            ),
            ArchiveColumn("ramp_up_ns", "uint64", "Load before the cycle's start, which is not recorded.", "ns"),
        ),
    ),
    ArchiveTable(
        "buckets",
        "Histogram of residence times: how many lie between two bounds, both inclusive.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            ArchiveColumn(
                "measure", "string", "residence: from the first attempt; response: from the intended start, "
                "in the open loop only; failed: from the first attempt, of those that did not succeed.",
            ),
            ArchiveColumn("low_ns", "uint64", "Shortest time of the bucket.", "ns"),
            ArchiveColumn("high_ns", "uint64", "Longest time of the bucket.", "ns"),
            ArchiveColumn("count", "uint64", "Transactions in it.", "transactions", "sum"),
        ),
    ),
    ArchiveTable(
        "statements",
        "Only with --per-statement: the statements of scripts, each as it was executed in a cycle.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            *_NAMED_STATEMENT,
            ArchiveColumn("count", "uint64", "Executions without an error.", "statements", "sum"),
            ArchiveColumn("failed", "uint64", "Errors that ended their transaction.", "statements", "sum"),
            ArchiveColumn(
                "retried", "uint64", "Errors after which the transaction was tried again.", "statements", "sum"
            ),
            ArchiveColumn("sum_ns", "uint64", "Sum of the times of the executions without an error.", "ns", "sum"),
            ArchiveColumn("min_ns", "uint64", "Least of these times; 0 where there is none.", "ns", "min"),
            ArchiveColumn("max_ns", "uint64", "Longest of these times.", "ns", "max"),
        ),
    ),
    ArchiveTable(
        "statement_buckets",
        "Only with --per-statement: how many executions of a statement lie between two bounds, both inclusive.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            _STATEMENT,
            ArchiveColumn("low_ns", "uint64", "Shortest time of the bucket.", "ns"),
            ArchiveColumn("high_ns", "uint64", "Longest time of the bucket.", "ns"),
            ArchiveColumn("count", "uint64", "Executions in it.", "statements", "sum"),
        ),
    ),
    ArchiveTable(
        "statement_rows",
        "What statements of scripts found that read or change rows, each alone in its command.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            *_NAMED_STATEMENT,
            ArchiveColumn("executions", "uint64", "Executions without an error.", "statements", "sum"),
            ArchiveColumn("rows", "uint64", "Rows that it read or changed.", "rows", "sum"),
            ArchiveColumn("empty", "uint64", "Executions without a row.", "statements", "sum"),
        ),
    ),
    ArchiveTable(
        "seconds",
        "The course of a cycle, per second of its demanded duration. Its times are residence times; in an open "
        "loop they are response times, from the intended start.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            ArchiveColumn("second", "uint32", "Second since the cycle's start: 0, 1, 2 …", "s"),
            ArchiveColumn("count", "uint64", "Transactions that ended in it.", "transactions", "sum"),
            ArchiveColumn("failed", "uint64", "Attempts that failed in it.", "attempts", "sum"),
            ArchiveColumn("p50_ns", "uint64", "Median of their times.", "ns"),
            ArchiveColumn("p99_ns", "uint64", "99th percentile of their times.", "ns"),
            ArchiveColumn("max_ns", "uint64", "Longest of their times.", "ns", "max"),
            ArchiveColumn("busy", "uint64", "A bit for each 1/100 s of its first half in which a transaction ended."),
            ArchiveColumn("busy_later", "uint64", "The same of its second half."),
            ArchiveColumn("under_way", "uint64", "Transactions under way during all of it.", "transactions", "sum"),
            ArchiveColumn("oldest_ns", "uint64", "Age at its end of the oldest of them.", "ns", "max"),
        ),
    ),
    ArchiveTable(
        "pauses",
        f"Only with --event: the longest times in which a client finished no transaction, {KEPT_PAUSES} of each client "
        "at most, and its last one.",
        (
            *_KEY,
            _GROUP,
            ArchiveColumn("client", "uint32", "Number of the client on its node, from 0."),
            ArchiveColumn(
                "began_ns", "uint64", "End of the transaction before it, since the cycle's start; 0 where there was "
                "none.", "ns",
            ),
            ArchiveColumn(
                "wanted_ns", "uint64", "Intended start of the transaction after it, or of the first one that failed; "
                "empty where the client wanted none.", "ns",
            ),
            ArchiveColumn(
                "ended_ns", "uint64", "End of the transaction after it; empty where there was none.", "ns"
            ),
        ),
    ),
    ArchiveTable(
        "served",
        "Only where sessions may be of several servers: which of them committed the transactions of a group.",
        (
            *_KEY,
            _GROUP,
            ArchiveColumn("server", "string", "Host and port, or socket, as the target names it.", few=True),
            ArchiveColumn(
                "committed", "uint64", "Transactions that count, as in the table cycles.", "transactions", "sum"
            ),
        ),
    ),
    ArchiveTable(
        "events",
        "Only with --event: what happened to the server in each cycle.",
        (
            _SCALE,
            _STAGE,
            _CYCLE,
            ArchiveColumn("number", "uint32", "Number of the event within the cycle, from 1."),
            ArchiveColumn(
                "event", "string", "restart, kill, stop, partition, fill-disk, switchover, failover or command.",
                few=True,
            ),
            ArchiveColumn("text", "string", "The same with its time or its command.", few=True),
            ArchiveColumn("at_ns", "uint64", "When it began, since the cycle's start.", "ns"),
            ArchiveColumn(
                "done_ns", "uint64", "When the server took sessions again, was no longer suspended or cut off, or the "
                "command had ended; empty where the event failed.", "ns",
            ),
            ArchiveColumn("error", "string", "Why it failed; empty where it did not."),
            ArchiveColumn(
                "changed", "string", "What the server says of itself after the cycle that it did not say before; with "
                "the last event of a cycle.",
            ),
        ),
    ),
    ArchiveTable(
        "monitors",
        "Samples of the system under test, about one per second; sizes before and after a cycle only.",
        (
            *_KEY,
            ArchiveColumn("at_ns", "int64", "Since the cycle's start; negative before it.", "ns"),
            ArchiveColumn("monitor", "string", "What was watched, such as os, device, client, server_tasks."),
            ArchiveColumn("metric", "string", "Name of the counter or gauge."),
            ArchiveColumn("unit", "string", "Unit of the value; it ends in total for a counter that only grows."),
            ArchiveColumn("value", "double", "The counter or gauge at that time."),
        ),
    ),
    ArchiveTable(
        "machine",
        "What each machine did around a cycle, from the connected clients to the last end: CPU times are sums over all "
        "CPUs, empty is what cannot be known there.",
        (
            *_KEY,
            ArchiveColumn("span_ns", "uint64", "How long was looked at.", "ns"),
            ArchiveColumn("cpus", "uint32", "CPUs of the machine.", "CPUs"),
            ArchiveColumn(
                "run_ns", "uint64", "CPU time of dsbench with its nodes here, and of an embedded database.", "ns"
            ),
            ArchiveColumn("server_ns", "uint64", "CPU time of the database server.", "ns"),
            ArchiveColumn("kernel_ns", "uint64", "CPU time of the kernel's own threads and of interrupts.", "ns"),
            ArchiveColumn("others_ns", "uint64", "CPU time of all other programs.", "ns"),
            ArchiveColumn(
                "unseen_ns", "uint64", "Part of others_ns of programs that cannot be named: hidden or gone.", "ns"
            ),
            ArchiveColumn("stolen_ns", "uint64", "CPU time that the host gave to others.", "ns"),
            ArchiveColumn("idle_ns", "uint64", "CPU time that was not used.", "ns"),
            ArchiveColumn(
                "cpu_pressure_ns", "uint64", "Time in which some thread of any process waited for a CPU (PSI).", "ns"
            ),
            ArchiveColumn("io_pressure_ns", "uint64", "The same for storage.", "ns"),
            ArchiveColumn("memory_pressure_ns", "uint64", "The same for memory.", "ns"),
            ArchiveColumn("queued_ns", "uint64", "How long the server's threads, added up, waited for a CPU.", "ns"),
            ArchiveColumn("device", "string", "Block device of the data; empty where there is none to see.", few=True),
            ArchiveColumn("device_bytes", "uint64", "Read and written on it, by all processes.", "bytes"),
            ArchiveColumn("device_read_bytes", "uint64", "The read part of device_bytes.", "bytes"),
            ArchiveColumn("own_bytes", "uint64", "Read and written by dsbench and the server, on any device.", "bytes"),
            ArchiveColumn("own_written_bytes", "uint64", "The written part of own_bytes.", "bytes"),
        ),
    ),
    ArchiveTable(
        "programs",
        "Programs that used a machine around a cycle and are neither dsbench nor the database: those that used most.",
        (
            *_KEY,
            ArchiveColumn("program", "string", "The kernel's name of it; arguments are not looked at."),
            ArchiveColumn("pid", "uint32", "Its process."),
            ArchiveColumn("part", "string", "itself; children: those that ended meanwhile.", few=True),
            ArchiveColumn("cpu_ns", "uint64", "CPU time.", "ns"),
            ArchiveColumn(
                "io_bytes", "uint64", "Read from storage and written; empty where it may not be known.", "bytes"
            ),
        ),
    ),
    ArchiveTable(
        "phases",
        "What is timed around the cycles.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("cycle", "uint32", "Cycle after a clean or a restart; 0 for what concerns the whole scale."),
            ArchiveColumn(
                "phase", "string", "create or, of a database that grows, reset; populate, primary_key, foreign_key, "
                "reuse, clean, restart, check or drop; of a stage of statements its name, and a row for each piece "
                "that was timed by itself.",
            ),
            ArchiveColumn("duration_ns", "uint64", "How long it took.", "ns"),
            ArchiveColumn("rows", "uint64", "Rows that populate wrote, or that statements went through.", "rows"),
            ArchiveColumn(
                "size_bytes", "uint64", "Size of the database, measured after foreign_key, reuse and a stage of "
                "statements; of restart what the page cache had of the server's files. Null: not known.", "bytes",
            ),
        ),
    ),
    ArchiveTable(
        "nodes",
        "Only with remote nodes: how each took part in each cycle. The other tables have its rows when state is "
        "complete.",
        (
            *_KEY,
            ArchiveColumn(
                "state", "string", "complete; partial: known but not counted; lost: it may have committed; absent."
            ),
            ArchiveColumn("why", "string", "Why it is not complete."),
            ArchiveColumn("clock_offset_ns", "int64", "Clock of dsbench run minus the node's.", "ns"),
            ArchiveColumn("clock_error_ns", "uint64", "Half of the shortest round trip.", "ns"),
            ArchiveColumn("clock_drift_ns", "int64", "Offset after the cycle minus offset before it.", "ns"),
            ArchiveColumn("armed_before_ns", "uint64", "How long before the start all its clients were armed.", "ns"),
            ArchiveColumn(
                "start_late_ns", "uint64", "First start of a transaction after the agreed start; empty in the open "
                "loop.", "ns",
            ),
            ArchiveColumn("paused_ns", "uint64", "How long its process was suspended within the cycle.", "ns"),
        ),
    ),
    ArchiveTable(
        "errors",
        "Failed attempts by kind of transaction and class of error.",
        (
            *_KEY,
            _GROUP,
            _KIND,
            ArchiveColumn("error", "string", "Kind of error, in dsbench's word."),
            ArchiveColumn("code", "string", "The engine's own code."),
            ArchiveColumn("count", "uint64", "Attempts that failed so.", "attempts", "sum"),
            ArchiveColumn("example", "string", "One of the messages."),
        ),
    ),
    ArchiveTable(
        "sums",
        "What the workload's clients added up over a cycle, such as the lines of all orders. Transactions that ended "
        "before the cycle's clock started or after its end are included.",
        (
            *_KEY,
            ArchiveColumn("name", "string", "The workload's name for it."),
            ArchiveColumn("value", "int64", "The sum.", "", "sum"),
        ),
    ),
    ArchiveTable(
        "statistics",
        "Statistics that the database keeps of itself, around the cycles of each load stage and number of clients.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("clients", "uint32", "Clients of each node; empty: as the groups of the stage have them."),
            ArchiveColumn("segment", "uint32", "Number of the population within the run."),
            ArchiveColumn("moment", "string", "before the first of these cycles, or after the last."),
            ArchiveColumn("object", "string", "A table, a level of MyRocks, or empty for the whole."),
            ArchiveColumn("metric", "string", "The database's name for it."),
            ArchiveColumn("unit", "string", "Unit of the value."),
            ArchiveColumn("value", "double", "The statistic."),
        ),
    ),
    ArchiveTable(
        "probes",
        "Only with --probes: results of disk benchmarks beside the data, around the cycles of each load stage.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("cycle", "uint32", "Last cycle that was made before; 0 before the first."),
            ArchiveColumn("moment", "string", "before the first cycle of the stage, or after the last."),
            ArchiveColumn("tool", "string", "dd, fio, bonnie++ or postmark."),
            ArchiveColumn("test", "string", "What it did."),
            ArchiveColumn("unit", "string", "Unit of the value."),
            ArchiveColumn("value", "double", "What it found; more is faster."),
        ),
    ),
    ArchiveTable(
        "kernel",
        "Only with --perf: samples of perf during one more cycle after those of a load stage, which is in no other "
        "table.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("clients", "uint32", "Clients of that cycle on each node.", "clients"),
            ArchiveColumn(
                "what", "string", "calls: system calls of this name; part: seconds of CPU time in this part of the "
                "kernel, or in the code of programs; function: seconds in this function of the kernel.", few=True,
            ),
            ArchiveColumn("of", "string", "server, run (the clients) or others.", few=True),
            ArchiveColumn("name", "string", "Of the system call, of the part or of the function."),
            ArchiveColumn("value", "double", "Calls, or seconds."),
            ArchiveColumn("committed", "uint64", "Transactions that the cycle committed.", "transactions"),
        ),
    ),
    ArchiveTable(
        "stacks",
        "Only with --perf: stacks of server processes that were on a CPU, during one more cycle after those of a load "
        "stage; for an embedded database, those of the clients. In the folded format of flame graph tools.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("clients", "uint32", "Clients of that cycle on each node.", "clients"),
            ArchiveColumn("of", "string", "server, or run: the clients, for an embedded database.", few=True),
            ArchiveColumn(
                "stack", "string", "Name of the thread and its functions from the outermost on, with ; between. "
                "[file]: functions without a name; _[k] ends those of the kernel. Empty for all stacks beyond the most "
                "frequent ones.",
            ),
            ArchiveColumn("samples", "uint64", "How often it was seen.", "samples", "sum"),
            ArchiveColumn("committed", "uint64", "Transactions that the cycle committed.", "transactions"),
        ),
    ),
    ArchiveTable(
        "device_times",
        "Only with --perf: requests of the data disks by all processes, from the time the kernel passed them to the "
        "device to their end, during one more cycle after those of a load stage. Number of requests between two "
        "times, both inclusive.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("clients", "uint32", "Clients of that cycle on each node.", "clients"),
            ArchiveColumn("device", "string", "The kernel's name of the disk.", few=True),
            ArchiveColumn(
                "operation", "string", "read, write, forced write (past the device's cache, FUA) or flush (of it).",
                few=True,
            ),
            ArchiveColumn("low_ns", "uint64", "Least time.", "ns"),
            ArchiveColumn("high_ns", "uint64", "Longest time.", "ns"),
            ArchiveColumn("count", "uint64", "Requests that took as long.", "requests", "sum"),
            ArchiveColumn("committed", "uint64", "Transactions that the cycle committed.", "transactions"),
        ),
    ),
    ArchiveTable(
        "samples",
        "Where the sessions of the load were, looked at many times a second: one row per second, state, wait and "
        "statement. Sessions divided by looks are the sessions that were there on average.",
        (
            _SCALE,
            _STAGE,
            _CYCLE,
            ArchiveColumn("second", "uint32", "Second since the cycle's start: 0, 1, 2 …", "s"),
            ArchiveColumn(
                "state", "string", "active: in a statement, on a CPU or waiting for one; waiting: in a statement that "
                "waits for what class names; idle in transaction: the server waits for the client's next statement; "
                "idle: no transaction is open.", few=True,
            ),
            ArchiveColumn(
                "class", "string", "What is waited for. Empty for active sessions; otherwise lock: a row, a "
                                   "transaction, a "
                "table; latch: a lock within the server; flush: making writes durable; read and write: of "
                "data; client: the next statement, or the network; other.", few=True,
            ),
            ArchiveColumn(
                "wait", "string", "The product's own name of it, such as IO:WALSync; empty where there is none.",
                few=True,
            ),
            ArchiveColumn("on", "string", "Of a lock the table; empty where it cannot be known.", few=True),
            ArchiveColumn(
                "statement", "string", "The statement, without its values, or what the product has in its place; "
                "empty where it has none. Of idle sessions the last.", few=True,
            ),
            ArchiveColumn(
                "blocker", "string", "State of the session that holds the lock; empty where it cannot be known.",
                few=True,
            ),
            ArchiveColumn(
                "sessions", "uint64", "Sessions that were seen so, added up over the looks.", "sessions", "sum"
            ),
            ArchiveColumn(
                "looks", "uint32", "How often was looked in that second, the same in all of its rows.", "looks"
            ),
        ),
    ),
    ArchiveTable(
        "server_statements",
        "What the server counted of each statement in a cycle: those that took most time.",
        (
            _SCALE,
            _STAGE,
            _CYCLE,
            ArchiveColumn("source", "string", "View of the server that has it, such as pg_stat_statements.", few=True),
            ArchiveColumn("statement", "string", "The statement, without its values.", few=True),
            ArchiveColumn("calls", "uint64", "Executions.", "statements", "sum"),
            ArchiveColumn("time_ns", "uint64", "Time of all of them; empty where the server takes none.", "ns", "sum"),
            ArchiveColumn("rows", "uint64", "Rows that they gave or changed.", "rows", "sum"),
            ArchiveColumn("blocks_hit", "uint64", "Blocks or pages found in the server's memory.", "blocks", "sum"),
            ArchiveColumn("blocks_read", "uint64", "Blocks or pages that were not there.", "blocks", "sum"),
            ArchiveColumn("lock_ns", "uint64", "Time in which they waited for locks.", "ns", "sum"),
        ),
    ),
    ArchiveTable(
        "plans",
        "How the server would execute each statement of the workload, before and after the cycles of a load stage.",
        (
            _SCALE,
            _STAGE,
            ArchiveColumn("segment", "uint32", "Number of the population within the run."),
            ArchiveColumn("moment", "string", "before the first cycle of the stage, or after the last.", few=True),
            ArchiveColumn("number", "uint32", "Number of the statement among those of the workload, from 1."),
            ArchiveColumn("statement", "string", "The statement, with placeholders in place of its values.", few=True),
            ArchiveColumn("fingerprint", "string", "Of the shape of the plan, without costs and numbers."),
            ArchiveColumn("plan", "string", "The plan as the server explains it; empty with the reason in problem."),
            ArchiveColumn("problem", "string", "Why there is none."),
        ),
    ),
)  # fmt: skip

TABLES: Final = {table.name: table for table in _TABLES}
"""Name to table, in the order of the documentation."""
