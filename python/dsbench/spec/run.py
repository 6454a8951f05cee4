"""What a run is asked to do: frozen values, checked once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from dsbench import workloads
from dsbench.redaction import redact_values, redact_words
from dsbench.spec import checks, outages
from dsbench.spec.checks import PEAK_CLIENTS, PROBES
from dsbench.spec.drivers import DRIVERS, OWN, PEERS
from dsbench.spec.events import Event, events, write_events
from dsbench.spec.legs import Leg, legs
from dsbench.spec.objective import GRADES, ROUNDS, Objective, objectives
from dsbench.spec.target import Frozen, Target
from dsbench.spec.words import CLIENTS, LOAD, OUTAGES, PACE, RECORDS, SIZE, TRANSACTIONS, WORK, About, per_cent, seconds

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
ISOLATIONS: Final[tuple[Isolation, ...]] = get_args(Isolation)
Call = Literal["procedure", "statements"]
Population = Literal["bulk", "procedure"]
Arrival = Literal["poisson", "constant"]
Placement = Literal["try", "free", "follow", "pinned"]
Refine = Literal["none", "cutoff"]
PrecisionOf = Literal["rates", "index"]
Pace = Literal["none", "terminals"]

DSI_SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
LEVELS = (0.5, 0.68, 0.87, 0.95, 0.99, 0.997)
"""Confidence levels of the paper, section 3.4, as quantiles 0-1."""


_TURN_S = (0.25, 1.0)
_SUDDEN_S, _PLANNED_S = 5.0, 60.0
"""How long clients try to reconnect, without and with events."""
_TURN_SHARE = 1 / 16
"""Of a cycle, for each turn of a trial of places, within the bounds before: the first eight take half a cycle."""
TURN_RAMP_UP_S = 0.1
"""Of each turn: clients look for their server ten milliseconds after they began, and again."""

_ENTRIES = {name: workloads.find(name) for name in workloads.names()}
_NAMES = ", ".join(name for name in _ENTRIES if name in workloads.offered())
_UNITS = " or ".join(dict.fromkeys(entry.unit.name for entry in _ENTRIES.values()))
_LEVELS = ", ".join(f"{name}: {level}" for name, entry in _ENTRIES.items() if (level := entry.defaults.isolation))
_SMALL = ", ".join(name for name, entry in _ENTRIES.items() if entry.defaults.quick_scales == (1,))
_RETRYING = ", ".join(name for name, entry in _ENTRIES.items() if entry.defaults.retries) + ": yes, others: no"

Seconds = Annotated[float, Field(gt=0, le=86_400 * 7, allow_inf_nan=False), BeforeValidator(seconds)]
Clients = Annotated[int, Field(ge=1, le=100_000)]


class RunSpec(Frozen):
    """One run: one workload against one target over a ladder of scales (the paper, section 2.4)."""

    target: Annotated[
        Target,
        About(
            "URL, or private:PRODUCT for a server that dsbench starts",
            WORK, "told", default="private:sqlite", flag="TARGET",
            more="A URL: postgresql://user@host/db, mysql://…, firebird://…, sqlite:///file.db. A private server: "
            "private:PRODUCT[@VERSION][?SETTING=VALUE&…] with postgresql, mariadb, mysql, firebird or sqlite;"
            " dsbench removes it at the end",
        ),
    ] = Target()
    workload: Annotated[
        str,
        About(
            f"{_NAMES}; or FILE",
            WORK, "told", metavar="NAME",
            more="dsbench run --list describes each, and its settings. FILE.toml and FILE.sql are workloads of "
            "yours; ycsb-a and others ship with dsbench",
        ),
    ] = "tpcb"
    workload_settings: Annotated[
        dict[str, str],
        About(
            "Setting of the workload or of a private server; repeatable",
            WORK, "load", metavar="NAME=VALUE", flag="--set",
        ),
    ] = Field(default_factory=dict)
    """Settings of the workload alone, by its own names."""
    limits: Annotated[
        dict[str, str],
        About(
            "Limit of a private server: memory=1GiB, cpus=1.5; repeatable",
            WORK, "told", metavar="NAME=VALUE", flag="--limit",
            more="memory includes the page cache. read=50MiB/s and write=20MiB/s limit its disk",
        ),
    ] = Field(default_factory=dict)
    """What all processes of the server may use together; see ``Limits``."""
    storage: Annotated[
        dict[str, str],
        About(
            "File system for the data of a private server, such as ext4",
            WORK, "told", metavar="TYPE[?…]", flag="--storage",
            more="ext2, ext3, ext4, xfs, btrfs or f2fs, with settings as in 'ext4?size=4GiB&block=1k': "
            "data=journal, barrier=off, cow=off, compress=zstd, nodesize=4k, age=70% … It is made in a file, "
            "or on device=/dev/sdb1 with --erase",
        ),
    ] = Field(default_factory=dict)
    """By name; see ``dsbench.spec.storage``. Empty: the file system that is there."""
    erase: Annotated[str, Field(max_length=4096)] = ""
    """The device whose content may be lost. It is consent given on the command line, so it is never stored."""
    profile: Annotated[
        str,
        About(
            "quick, dsi, dsi-fast, capacity, graduated, cached or io-bound",
            WORK, "chance", default="quick", metavar="NAME",
            more="quick: a minute. dsi: figures to compare with others, hours. dsi-fast: accurate to about 3%, "
            "in half the time of dsi. capacity: the highest rate with 99% below 20 ms, about six minutes. "
            "graduated: load from 100% to idle, with power or CPU use, three minutes. cached, io-bound: the "
            "Insert Benchmark as published, with a database of a quarter of the server's memory, and of four "
            "times as much. An option that you give overrides the profile",
        ),
    ] = ""
    """Name of the profile the values came from; empty when none was named."""
    label: Annotated[
        str,
        Field(max_length=60),
        About(
            "Name of the run in its archive, in tables and in diagrams",
            WORK, "chance", default="none", metavar="TEXT",
        ),
    ] = ""
    scales: Annotated[
        tuple[int, ...],
        About(
            "Sizes of the database, in units of the workload",
            SIZE, "told", default="by workload",
            more=f"A unit is one {_UNITS}. Default: 1,2,5; tpcb with N > 1 clients: N and 2 N, at most 16 and "
            f"32; {_SMALL}: 1",
        ),
    ] = (1, 2, 5)
    """X_s: sizes of the database in the workload's unit of scale."""
    cycles: Annotated[int, Field(ge=1, le=10_000), About("Measured cycles at each scale", SIZE, "load")] = 3
    """I; with ``precision`` the least."""
    precision: Annotated[
        Annotated[float, BeforeValidator(per_cent), Field(ge=0.1, le=50, allow_inf_nan=False)] | None,
        About(
            "Add cycles until the interval of the rate is this narrow, such as 2%",
            SIZE, "told", unit="%", metavar="P%", default="none",
            more="Cycles are added until the confidence interval (95%) of the median rate lies within this share "
            "of it, from --cycles up to --max-cycles",
        ),
    ] = None
    """In per cent."""
    precision_of: Annotated[
        PrecisionOf,
        About(
            "What to measure with --precision: rates, or the index",
            SIZE, "told",
            more="rates: that of each scale. index: their mean over the logarithm of the scale, from which the DSI"
            " is made",
        ),
    ] = "rates"
    max_cycles: Annotated[
        int,
        Field(ge=1, le=10_000),
        About("Most cycles of a scale with --precision", SIZE, "told", brief=True),
    ] = 40
    min_duration: Annotated[
        Annotated[int, Field(ge=1, le=86_400), BeforeValidator(seconds)] | None,
        About(
            "Allow cycles as short as this with --precision",
            SIZE, "load", unit="s", default="--duration", brief=True,
            more="Cycles are shorter than --duration where a trial cycle of that length shows that shorter ones "
            "give the same rate",
        ),
    ] = None
    """Cycles of a scale are as long as each other."""
    refine: Annotated[
        Refine,
        About(
            "none, or cutoff: add scales where the rate falls most",
            SIZE, "told", brief=True,
            more="Scales are added until they are 10% apart",
        ),
    ] = "none"
    grow: Annotated[
        bool,
        About(
            "Grow the database of the previous scale instead of loading",
            SIZE, "told",
            more="Where product and workload allow it",
        ),
    ] = False
    duration: Annotated[
        Seconds, About("Length of a cycle, such as 10s or 1m", SIZE, "load", unit="s")
    ] = 4.0
    """D."""
    clients: Annotated[
        Clients,
        About(
            "Simulated clients; several: the cycles run with each number",
            CLIENTS, "load", default="4; SQLite: 1", several=True,
            more="SQLite lets one client write at a time, so its default is 1",
        ),
    ] = 4
    """J, per node. Given as several, it is the largest; all of them are ``several_clients``."""
    peak: Annotated[
        bool,
        About(
            "Find the number of clients with the highest rate",
            LOAD, "load", brief=True,
            more=f"Few cycles at each number, up to --clients (else {PEAK_CLIENTS}) or among several; --cycles "
            "cycles at the best number and its neighbours",
        ),
    ] = False
    """Which of ``client_numbers`` are run depends on what the others showed."""
    several_clients: tuple[Clients, ...] = ()
    """Numbers of clients at each of which the cycles of every scale are run; empty with one number."""
    os_threads: Annotated[
        int,
        Field(ge=0, le=100_000),
        About("Threads that run the clients; 0: one per CPU if possible", CLIENTS, "load", brief=True),
    ] = 0
    """One per CPU is possible where engine and load allow it."""
    placement: Annotated[
        Placement,
        About(
            "CPUs of the clients: try, free, follow or pinned",
            CLIENTS, "load", brief=True,
            more="free: the system decides. follow: a client runs on the CPU of its server process, where that is "
            "known. pinned: a thread stays on one CPU. try: follow if short turns before the first cycle show"
            " that it is faster, else free",
        ),
    ] = "try"
    connections: Annotated[
        int, Field(ge=1, le=10_000), About("Connections of each client, used in turn", CLIENTS, "load")
    ] = 1
    """C."""
    nodes: Annotated[
        int,
        Field(ge=0, le=100_000),
        About(
            "Remote machines that make the load; 0: this machine",
            CLIENTS, "load", brief=True,
            more="Each has --clients clients",
        ),
    ] = 0
    """N."""
    lease: Annotated[
        float,
        Field(ge=0.5, le=600, allow_inf_nan=False),
        BeforeValidator(seconds),
        About("Silence after which the run continues without a node", CLIENTS, "told", unit="s", brief=True),
    ] = 6.0
    isolation: Annotated[
        Isolation,
        About(
            "read-committed, repeatable-read or serializable",
            TRANSACTIONS, "load", default="by workload",
            more=f"Default: read-committed; {_LEVELS}; profiles dsi and dsi-fast: repeatable-read",
        ),
    ] = "read-committed"
    driver: Annotated[
        str,
        About(
            "Client program: own, a Python driver, pgbench or sysbench",
            CLIENTS, "told", brief=True, metavar="NAME",
            more=f"own: dsbench's client. Python drivers, in a process for each CPU: {', '.join(DRIVERS)}; with a "
            f"version as in psycopg@3.1.18. Other programs: {', '.join(PEERS)}",
        ),
    ] = OWN
    """Population, check and monitors stay with dsbench's own."""
    call: Annotated[
        Call | None,
        About("procedure (one round trip) or statements", TRANSACTIONS, "load", default="procedure if possible"),
    ] = None
    """``None``: procedure if the engine has them."""
    population: Annotated[
        Population, About("bulk: parallel load; procedure: row by row, as in the paper", TRANSACTIONS, "told")
    ] = "bulk"
    retry: Annotated[
        bool,
        About(
            "Retry transactions after serialization failures and deadlocks",
            TRANSACTIONS, "load", default="by workload",
            more=f"Default: {_RETRYING}",
        ),
    ] = False
    """Run a transaction again that a serialization failure or a deadlock ended; the workload may have it as
    the default."""
    max_tries: Annotated[
        int,
        Field(ge=0, le=1_000_000),
        About(
            "Attempts of a transaction with --retry; 0: until it succeeds",
            TRANSACTIONS, "load", brief=True,
            more="A number above 1 implies --retry",
        ),
    ] = 0
    """With ``retry``."""
    exit_on_abort: Annotated[
        bool, About("End the run when an error of its script ends a client", TRANSACTIONS, "load", brief=True)
    ] = False
    """Else the other clients go on, and the run says at its end that it is incomplete."""
    prepare: Annotated[bool, About("Prepare each statement once", TRANSACTIONS, "load")] = False
    reconnect: Annotated[bool, About("Open a new connection for each transaction", TRANSACTIONS, "load")] = False
    rate: Annotated[
        Annotated[float, Field(ge=0.001, le=10_000_000, allow_inf_nan=False)] | None,
        About(
            "Open loop: transactions per second of all clients",
            LOAD, "load", unit="1/s", default="closed loop",
            more="Without any option of this group each client starts its next transaction when the last one ends:"
            " a closed loop",
        ),
    ] = None
    """Demanded; ``None`` is the closed loop."""
    objective: Annotated[
        str,
        Field(max_length=400),
        About(
            "Find the highest rate that keeps this, such as p99=20ms",
            LOAD, "load", metavar="p99=TIME,…", default="none",
            more="Response times count from the intended start. With several --clients: the most that keep it, in "
            "closed loops, whose times count from the first attempt. KIND.p90=5s is about one kind of transactions, "
            "failed=0.1% about failures; several with commas. The search ends within --precision (5%) or "
            "after 30 times --duration; then --cycles cycles follow at that rate",
        ),
    ] = ""
    """See ``dsbench.spec.objective``."""
    graduated: Annotated[
        bool,
        About(
            "100%, 90% … 10% of the capacity, then idle",
            LOAD, "load",
            more="Open loops with --cycles cycles at each level. The capacity is that of --objective, else what "
            "the clients reach in closed loops: the mean of the last two of three",
        ),
    ] = False
    load: Annotated[
        str,
        Field(max_length=20_000),
        About(
            "Open loop whose rate changes, such as '0s:100, 60s:end'",
            LOAD, "load", metavar="LEGS|FILE", default="none",
            more="Legs such as '0s:100, 60s:500..2000, 90s:sine 100..900/10s, 120s:50x8, 180s:end' (steps, a ramp,"
            " a sine, 8 sessions while the others idle), or a file with them. A cycle lasts as long as the "
            "legs",
        ),
    ] = ""
    """See ``dsbench.spec.legs``."""
    arrival: Annotated[Arrival, About("Open loop: poisson or constant intervals", PACE, "load", brief=True)] = "poisson"
    pace: Annotated[
        Pace,
        About("none, or terminals: users key in and think, as in TPC-C", LOAD, "load", brief=True),
    ] = "none"
    """``terminals``: people key in before and think after each transaction, as long as the workload says."""
    terminals: Annotated[
        Annotated[int, Field(ge=1, le=10_000_000)] | None,
        About("Terminals of --pace terminals", PACE, "load", default="by workload"),
    ] = None
    """Terminals of all nodes together; ``None``: for each unit of scale as many as the workload says."""
    ramp_up: Annotated[
        float,
        Field(ge=0, le=86_400, allow_inf_nan=False),
        BeforeValidator(seconds),
        About("Load before each cycle that is not measured", PACE, "load", unit="s", brief=True),
    ] = 0.0
    """The clock of the cycle starts after it."""
    find_ramp_up: Annotated[
        bool,
        About(
            "Find the ramp-up by a trial cycle at each scale",
            PACE, "load", brief=True,
            more="The trial is not counted",
        ),
    ] = False
    event: Annotated[
        str,
        Field(max_length=20_000),
        About(
            "Outages in each cycle, such as '20s:restart, 40s:stop 5s'",
            OUTAGES, "load", metavar="TIME:EVENT,…", default="none",
            more="restart: the server stops in order and starts again. kill: its processes are killed, and it starts"
            " again. stop 5s: they are suspended so long. partition 5s: nothing goes through the network between the "
            "server and its clients. fill-disk 5s: the disk of --storage is full."
            " switchover, failover: a standby takes over from a primary that stops in order, or is killed (?standbys=1,"
            " ?replicas=1). These need a private server. command 'LINE': a line for"
            " the shell, for a server of yours. Clients reconnect; dsbench show --by outage has the lengths",
        ),
    ] = ""
    """See ``dsbench.spec.events``."""
    patience: Annotated[
        Annotated[float, BeforeValidator(seconds), Field(ge=0, le=86_400, allow_inf_nan=False)] | None,
        About(
            "Time to reconnect before the run ends",
            OUTAGES, "load", unit="s", default="5 s; with --event 60 s", brief=True,
        ),
    ] = None
    """See ``patience_s``."""
    reads: Annotated[
        str,
        Field(max_length=1000),
        About(
            "Where clients that only read connect: standby, or HOST",
            CLIENTS, "load", metavar="standby|HOST", default="none", brief=True,
            more="They are those of select, the queries of insert and ch, and groups with role = 'read' in workload "
            "files. standby: of a private server (?standbys=1, ?replicas=1, ?galera=3), or of the hosts in a URL of "
            "PostgreSQL. HOST[:PORT],…: a standby of yours, with the login and database of TARGET",
        ),
    ] = ""
    """See ``dsbench.measure.reading``."""
    trace: Annotated[bool, About("Record the latency of every transaction", RECORDS, "told")] = False
    per_statement: Annotated[
        bool,
        About(
            "Record the latency of each statement of scripts",
            RECORDS, "told", brief=True,
            more="dsbench show --by statements shows them",
        ),
    ] = False
    """Costs two readings of the clock for each statement."""
    levels: Annotated[
        tuple[float, ...],
        About("Percentiles of the confidence diagram", RECORDS, "told", brief=True, metavar="Q,Q,…"),
    ] = LEVELS
    """Each has a column of its name from column 13 on."""
    probes: Annotated[
        str,
        About(
            f"Disk benchmarks: none, all, or {','.join(PROBES)}",
            RECORDS, "told", metavar="TOOL,…", brief=True,
            more="They measure beside the data, before and after the cycles of each scale. postmark:2000 and "
            "bonnie++:2048 use so many files",
        ),
    ] = "none"
    samples: Annotated[
        Annotated[int, Field(ge=0, le=1000)] | None,
        About(
            "Samples of wait events per second; 0: none",
            RECORDS, "told", unit="1/s", brief=True, default="20 or fewer",
        ),
    ] = None
    """Less often where a look is dear."""
    perf: Annotated[
        Literal["none", "calls", "profile", "stacks", "storage", "all"],
        About(
            "Linux perf: none, calls, profile, stacks, storage or all",
            RECORDS, "told", brief=True,
            more="A cycle more after those of a load, which no rate counts. calls: system calls of server and "
            "clients by name. profile: where the kernel spends its time, and stacks in one cycle more. "
            "stacks: a flame graph of the server. storage: times of each request to the device",
        ),
    ] = "none"
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 63),
        About(
            "Seed of all random inputs",
            RECORDS, "chance", default="random",
            more="The same seed gives the same inputs",
        ),
    ] = Field(default_factory=lambda: secrets.randbits(48))
    keep: Annotated[
        bool,
        About("Keep the database of the last scale, for --reuse", WORK, "chance", brief=True),
    ] = False
    reuse: Annotated[
        bool, About("Run on the database that --keep left, and keep it again", WORK, "told", brief=True)
    ] = False
    """It has to be of the same workload, scale, settings and product."""
    existing: Annotated[
        bool,
        About(
            "Run scripts on existing tables; dsbench creates nothing",
            WORK, "load", brief=True,
            more="It neither clears, vacuums, marks nor drops anything either: the scripts alone change your "
            "tables",
        ),
    ] = False
    """The tables belong to somebody else."""
    power: Annotated[
        str,
        Field(max_length=400),
        About(
            "Program that prints the watts of the machine",
            RECORDS, "told", default="none", metavar="COMMAND", brief=True,
            more="It is started without a shell, stays open, prints a line for each reading, and ends with the "
            "run. Without it the counters of the CPUs are read where that is allowed",
        ),
    ] = ""
    price: Annotated[
        str,
        Field(max_length=60),
        About(
            "Price of the machine, such as 1.2 EUR/h or 12000 EUR/3y",
            RECORDS, "told", default="none", metavar="AMOUNT/SPAN",
            more="Also 250 USD/month. A purchase has its years of use. For transactions per unit of money",
        ),
    ] = ""
    """See ``dsbench.spec.price``."""
    checked: Annotated[
        str,
        Field(max_length=4096),
        About(
            "File of dsbench check --out, for the report",
            RECORDS, "chance", default="none", metavar="FILE", brief=True,
        ),
    ] = ""

    _scales_rise = field_validator("scales")(checks.scales_rise)
    _clients_as_a_list = model_validator(mode="before")(checks.clients_as_a_list)
    _defaults_of_the_workload = model_validator(mode="before")(checks.defaults_of_the_workload)
    _defaults_of_the_target = model_validator(mode="before")(checks.defaults_of_the_target)
    _several_clients_rise = field_validator("several_clients")(checks.several_clients_rise)
    _workload_settings_as_text = field_validator("workload_settings", mode="before")(checks.workload_settings_as_text)
    _limits_in_one_way = field_validator("limits", mode="before")(checks.limits_in_one_way)
    _storage_in_one_way = field_validator("storage", mode="before")(checks.storage_in_one_way)
    _probes_are_known = field_validator("probes")(checks.probes_are_known)
    _driver_is_known = field_validator("driver")(checks.driver_is_known)
    _lasts_as_its_load = model_validator(mode="before")(checks.lasts_as_its_load)
    _load_is_known = field_validator("load")(checks.load_is_known)
    _reads_are_hosts = field_validator("reads")(outages.reads_are_hosts)
    _event_is_known = field_validator("event")(outages.event_is_known)
    _objective_is_known = field_validator("objective")(checks.objective_is_known)
    _power_is_a_command = field_validator("power")(checks.power_is_a_command)
    _price_is_known = field_validator("price")(checks.price_is_known)
    _label_is_a_line = field_validator("label")(checks.label_is_a_line)
    _levels_rise = field_validator("levels")(checks.levels_rise)
    _trace_is_local = field_validator("trace")(checks.trace_is_local)
    _sizes_fit_together = model_validator(mode="after")(checks.sizes_fit_together)
    _fits_together = model_validator(mode="after")(checks.fits_together)
    _changes_nothing = model_validator(mode="after")(checks.changes_nothing)

    @property
    def grows(self) -> bool:
        """Whether databases grow where they can: procedures write whole branches, from the first on."""
        return self.grow and self.population == "bulk"

    @property
    def searches(self) -> bool:
        """Whether the highest rate with the objective is searched; several numbers of clients are judged by it."""
        return bool(self.objective) and not self.several_clients

    @property
    def client_numbers(self) -> tuple[int, ...]:
        """Numbers of clients in the order in which they are run; one at least."""
        return self.several_clients or (self.clients,)

    @property
    def tries(self) -> int:
        """Attempts of a transaction at most; 0: as many as it needs."""
        return self.max_tries if self.retry else 1

    @property
    def largest(self) -> int:
        """Cycles of a series at most."""
        levels = len(GRADES) if self.graduated else 1
        if self.searches:
            return self.max_cycles + self.cycles * (levels if self.graduated else ROUNDS)
        if self.graduated:
            return self.cycles * levels
        return self.cycles if self.precision is None else self.max_cycles

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What the rate that is searched has to keep; empty where none is."""
        return objectives(self.objective)

    @property
    def legs(self) -> tuple[Leg, ...]:
        """Of a load whose rate changes; none of another one."""
        return legs(self.load)

    @property
    def events(self) -> tuple[Event, ...]:
        """What happens to the server in each cycle, in order of time."""
        return events(self.event)

    @property
    def patience_s(self) -> float:
        """How long a client tries to reconnect: longer where outages are planned."""
        return self.patience if self.patience is not None else _PLANNED_S if self.event else _SUDDEN_S

    @property
    def keeps_pauses(self) -> bool:
        """Whether it is recorded how long clients finished nothing."""
        return bool(self.event)

    @property
    def bears_failures(self) -> bool:
        """Whether clients go on for as long as their patience while statements fail: a disk is filled."""
        return any(one.what == "fill-disk" for one in self.events)

    @property
    def reads_elsewhere(self) -> bool:
        """Whether groups that only read connect to another server."""
        return bool(self.reads)

    @property
    def all_clients(self) -> int:
        """Clients of all nodes together."""
        return self.clients * max(self.nodes, 1)

    def at(self, clients: int) -> Self:
        """The same with one number of clients, which searches nothing where the whole does not."""
        objective = self.objective if self.searches else ""
        return self.model_copy(update={"clients": clients, "several_clients": (), "objective": objective})

    def terminals_at(self, scale: int) -> int | None:
        """Terminals of all nodes together at ``scale``; ``None`` without keying and thinking times."""
        per_unit = workloads.find(self.workload).defaults.terminals_per_unit
        return terminals_of({"pace": self.pace, "terminals": self.terminals}, scale, per_unit)

    def described(self) -> dict[str, Any]:
        """The specification as it is archived: JSON values, no password; ``clients`` a list where there are several."""
        data = self.model_dump(mode="json", exclude={"several_clients", "erase"})
        data["clients"] = list(self.several_clients) or self.clients
        for name in ("target", "workload_settings"):
            data[name] = redact_values(data[name])
        data["power"] = redact_words(data["power"])
        data["event"] = write_events(tuple(one.redacted for one in self.events))
        return data


def turn_s(duration: float) -> float:
    """How long each turn of a trial of places lasts, beside cycles of ``duration`` seconds."""
    shortest, longest = _TURN_S
    return min(max(duration * _TURN_SHARE, shortest), longest)


def terminals_of(spec: Mapping[str, Any], scale: int, per_unit: int | None) -> int | None:
    """``RunSpec.terminals_at`` of a specification as ``run.json`` holds it.

    ``per_unit``: the workload's default for each unit of scale.
    """
    if spec.get("pace", "none") == "none":
        return None
    return int(spec.get("terminals") or (per_unit or 0) * scale) or None
