"""What a run is asked to do: frozen values, checked once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from dsbench import workloads
from dsbench.redaction import redact_values, redact_words
from dsbench.spec import checks
from dsbench.spec.checks import PEAK_CLIENTS, PROBES
from dsbench.spec.drivers import DRIVERS, OWN, PEERS
from dsbench.spec.legs import Leg, legs
from dsbench.spec.objective import GRADES, ROUNDS, Objective, objectives
from dsbench.spec.target import Frozen, Target
from dsbench.spec.words import CLIENTS, PACE, RECORDS, SIZE, TRANSACTIONS, WORK, About, per_cent, seconds

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
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
_TURN_SHARE = 1 / 16
"""Of a cycle, for each turn of a trial of places, within the bounds before: the first eight take half a cycle."""
TURN_RAMP_UP_S = 0.1
"""Of each turn: clients look for their server ten milliseconds after they began, and again."""

_ENTRIES = {name: workloads.find(name) for name in workloads.names()}
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
            "URL of a database (postgresql://user@host/db, mysql://…, firebird://…, sqlite:///file.db), or "
            "private:PRODUCT[@VERSION][?SETTING=VALUE&…] for a server of dsbench's own: postgresql, mariadb, mysql, "
            "firebird, sqlite",
            WORK, "told", default="private:sqlite", flag="TARGET",
        ),
    ] = Target()
    workload: Annotated[
        str,
        About(
            f"{workloads.choices()}; a file of yours, FILE.toml or FILE.sql; or one that ships, such as ycsb-a. "
            "dsbench run --list tells what each is, and its settings",
            WORK, "told",
        ),
    ] = "tpcb"
    workload_settings: Annotated[
        dict[str, str],
        About(
            "Setting of the workload or of a private server; may be repeated",
            WORK, "load", metavar="NAME=VALUE", flag="--set",
        ),
    ] = Field(default_factory=dict)
    """Settings of the workload alone, by its own names."""
    limits: Annotated[
        dict[str, str],
        About(
            "Limit of a private server, its page cache included: memory=1GiB, read=50MiB/s and write=20MiB/s of its "
            "disk, cpus=1.5; may be repeated",
            WORK, "told", metavar="NAME=VALUE", flag="--limit",
        ),
    ] = Field(default_factory=dict)
    """What all processes of the server may use together; see ``Limits``."""
    storage: Annotated[
        dict[str, str],
        About(
            "File system that is made for the data of a private server: ext2, ext3, ext4, xfs, btrfs or f2fs with "
            "size=4GiB, block=1k, data=journal, barrier=off, cow=off, compress=zstd, nodesize=4k, age=70% …; on a "
            "file, or on device=/dev/sdb1 with --erase",
            WORK, "told", metavar="TYPE[?NAME=VALUE&…]", flag="--storage",
        ),
    ] = Field(default_factory=dict)
    """By name; see ``dsbench.spec.storage``. Empty: the file system that is there."""
    erase: Annotated[str, Field(max_length=4096)] = ""
    """The device whose content may be lost. It is consent given on the command line, so it is never stored."""
    profile: Annotated[
        str,
        About(
            "dsi: comparable figures, takes hours; dsi-fast: like dsi, accurate to about 3%, five times faster; "
            "quick: a minute, and the defaults of all that is not named; "
            "capacity: the highest rate with 99% below 20 ms, in five minutes; "
            "graduated: load from 100% to idle, with power or CPUs, in three minutes; "
            "cached, io-bound: the Insert Benchmark as published, with a database of a quarter of the server's memory, "
            "and of four times as much",
            WORK, "chance", default="quick",
        ),
    ] = ""
    """Name of the profile the values came from; empty when none was named."""
    label: Annotated[
        str,
        Field(max_length=60),
        About(
            "What the run is called in the archive's name, in tables, diagrams and comparisons",
            WORK, "chance", default="none",
        ),
    ] = ""
    scales: Annotated[
        tuple[int, ...],
        About(
            f"Sizes of the database, such as 1,2,5; what 1 means depends on the workload: one {_UNITS}",
            SIZE, "told", default=f"1,2,5; of tpcb with N clients: N and 2 N; of {_SMALL}: 1",
        ),
    ] = (1, 2, 5)
    """X_s: sizes of the database in the workload's unit of scale."""
    cycles: Annotated[int, Field(ge=1, le=10_000), About("Cycles per scale", SIZE, "load")] = 3
    """I; with ``precision`` the least."""
    precision: Annotated[
        Annotated[float, BeforeValidator(per_cent), Field(ge=0.1, le=50, allow_inf_nan=False)] | None,
        About(
            "Such as 2%: further cycles until the interval of the median rate lies within so much of it, at 95%",
            SIZE, "told", unit="%", metavar="P%", default="as many cycles as --cycles says",
        ),
    ] = None
    """In per cent."""
    precision_of: Annotated[
        PrecisionOf,
        About(
            "What --precision is for: rates, that of each scale, or index, their mean over lg scale, which is what the "
            "DSI is made of",
            SIZE, "told",
        ),
    ] = "rates"
    max_cycles: Annotated[
        int,
        Field(ge=1, le=10_000),
        About("With --precision: cycles after which a scale ends anyway", SIZE, "told", brief=True),
    ] = 40
    min_duration: Annotated[
        Annotated[int, Field(ge=1, le=86_400), BeforeValidator(seconds)] | None,
        About(
            "With --precision: seconds of a cycle at least, where one on trial of --duration shows that shorter ones "
            "stand for themselves",
            SIZE, "load", unit="s", default="all cycles have --duration", brief=True,
        ),
    ] = None
    """Cycles of a scale are as long as each other."""
    refine: Annotated[
        Refine,
        About(
            "none, or cutoff: further scales between those where the rate falls most, until they are 10% apart",
            SIZE, "told", brief=True,
        ),
    ] = "none"
    grow: Annotated[
        bool,
        About(
            "Add to the database of the scale before what a scale has more, where product and workload let it become "
            "as a fresh one",
            SIZE, "told",
        ),
    ] = False
    duration: Annotated[
        Seconds, About("Demanded duration of a cycle in seconds, or such as 10s, 1m", SIZE, "load", unit="s")
    ] = 4.0
    """D."""
    clients: Annotated[
        Clients,
        About(
            "Simulated clients; several, such as 10,20,40, run the cycles at each",
            CLIENTS, "load", default="4; SQLite, where one writes at a time: 1", several=True,
        ),
    ] = 4
    """J, per node. Given as several, it is the largest; all of them are ``several_clients``."""
    peak: Annotated[
        bool,
        About(
            f"Find the number of clients with the highest rate, up to --clients (else {PEAK_CLIENTS}), or among "
            "several: few cycles at each, --cycles at the best and its neighbours",
            CLIENTS, "load", brief=True,
        ),
    ] = False
    """Which of ``client_numbers`` are run depends on what the others showed."""
    several_clients: tuple[Clients, ...] = ()
    """Numbers of clients at each of which the cycles of every scale are run; empty with one number."""
    os_threads: Annotated[
        int,
        Field(ge=0, le=100_000),
        About(
            "Threads of the operating system that carry the clients of a node; 0: one per CPU where possible",
            CLIENTS, "load", brief=True,
        ),
    ] = 0
    """One per CPU is possible where engine and load allow it."""
    placement: Annotated[
        Placement,
        About(
            "CPUs of the clients: free, the system decides; follow, each runs where the server works for it, where "
            "that is known; pinned, a thread stays on one; try, follow where short turns before the first cycle show "
            "that it is faster, else free",
            CLIENTS, "load", brief=True,
        ),
    ] = "try"
    connections: Annotated[
        int, Field(ge=1, le=10_000), About("Connections of each client, used round robin", CLIENTS, "load")
    ] = 1
    """C."""
    nodes: Annotated[
        int,
        Field(ge=0, le=100_000),
        About(
            "Remote machines that make the load, with --clients each; 0 makes it here", CLIENTS, "load", brief=True
        ),
    ] = 0
    """N."""
    lease: Annotated[
        float,
        Field(ge=0.5, le=600, allow_inf_nan=False),
        BeforeValidator(seconds),
        About(
            "Seconds without contact before a node stops and the run goes on without it",
            CLIENTS, "told", unit="s", brief=True,
        ),
    ] = 6.0
    isolation: Annotated[
        Isolation,
        About(
            "read-committed, repeatable-read or serializable",
            TRANSACTIONS, "load", default=f"read-committed; {_LEVELS}; profiles dsi and dsi-fast: repeatable-read",
        ),
    ] = "read-committed"
    driver: Annotated[
        str,
        About(
            f"Who makes the load: own, dsbench's client; a driver of Python, in a process for each CPU: "
            f"{', '.join(DRIVERS)}, a version of one as in psycopg@3.1.18; or another program: {', '.join(PEERS)}",
            CLIENTS, "told", brief=True,
        ),
    ] = OWN
    """Population, check and monitors stay with dsbench's own."""
    call: Annotated[
        Call | None,
        About(
            "procedure: one round trip; or statements",
            TRANSACTIONS, "load", default="procedure where the engine has them",
        ),
    ] = None
    """``None``: procedure where the engine has them."""
    population: Annotated[
        Population, About("bulk: parallel fast load; procedure: as the paper does it", TRANSACTIONS, "told")
    ] = "bulk"
    retry: Annotated[
        bool,
        About("Run again what a collision or deadlock ended", TRANSACTIONS, "load", default=_RETRYING),
    ] = False
    """Run a transaction again that a serialization failure or a deadlock ended; the workload may have it as
    the default."""
    max_tries: Annotated[
        int,
        Field(ge=0, le=1_000_000),
        About(
            "Attempts of a transaction at most; above 1 it says --retry. 0: with --retry until it succeeds",
            TRANSACTIONS, "load", brief=True,
        ),
    ] = 0
    """With ``retry``."""
    exit_on_abort: Annotated[
        bool, About("End the run when an error of its script ends a client", TRANSACTIONS, "load", brief=True)
    ] = False
    """Else the other clients go on, and the run says at its end that it is incomplete."""
    prepare: Annotated[bool, About("Prepare statements once", TRANSACTIONS, "load")] = False
    reconnect: Annotated[bool, About("Open and close a connection per transaction", TRANSACTIONS, "load")] = False
    rate: Annotated[
        Annotated[float, Field(ge=0.001, le=10_000_000, allow_inf_nan=False)] | None,
        About(
            "Open loop: starts per second of all clients together", PACE, "load", unit="1/s", default="closed loop"
        ),
    ] = None
    """Demanded; ``None`` is the closed loop."""
    objective: Annotated[
        str,
        Field(max_length=400),
        About(
            "Search the highest rate of an open loop at which this holds: p99=20ms (response time from the intended "
            "start), KIND.p90=5s, failed=0.1%; several with commas. Within --precision (5%), in 30 times --duration at "
            "most, then --cycles cycles at that rate",
            PACE, "load", metavar="QUANTILE=TIME,…", default="none",
        ),
    ] = ""
    """See ``dsbench.spec.objective``."""
    graduated: Annotated[
        bool,
        About(
            "Load at 100%, 90% … 10% of the capacity, then idle, --cycles at each, as open loops. The capacity is "
            "that of --objective, else what the clients reach in closed loops: the mean of the last two of three",
            PACE, "load",
        ),
    ] = False
    load: Annotated[
        str,
        Field(max_length=20_000),
        About(
            "An open loop whose rate changes: legs such as '0s:100, 60s:500..2000, 90s:sine 100..900/10s, 120s:50x8, "
            "180s:end' (steps, a ramp, a sine, 8 sessions while the others idle), or a file with them. A cycle is as "
            "long as they are",
            PACE, "load", metavar="TIME:RATE,…|FILE", default="none",
        ),
    ] = ""
    """See ``dsbench.spec.legs``."""
    arrival: Annotated[Arrival, About("Of the open loop: poisson or constant", PACE, "load", brief=True)] = "poisson"
    pace: Annotated[
        Pace,
        About("none, or terminals: people who key in and think, as TPC-C has them", PACE, "load", brief=True),
    ] = "none"
    """``terminals``: people key in before and think after each transaction, as long as the workload says."""
    terminals: Annotated[
        Annotated[int, Field(ge=1, le=10_000_000)] | None,
        About("Terminals that the clients serve", PACE, "load", default="as many as the workload says"),
    ] = None
    """Terminals of all nodes together; ``None``: for each unit of scale as many as the workload says."""
    ramp_up: Annotated[
        float,
        Field(ge=0, le=86_400, allow_inf_nan=False),
        BeforeValidator(seconds),
        About("Seconds of load before each cycle that are not recorded", PACE, "load", unit="s", brief=True),
    ] = 0.0
    """The clock of the cycle starts after it."""
    find_ramp_up: Annotated[
        bool,
        About(
            "Find the ramp-up in the course of a cycle on trial, which is not counted, at each scale",
            PACE, "load", brief=True,
        ),
    ] = False
    trace: Annotated[bool, About("Keep the latency of every single transaction", RECORDS, "told")] = False
    per_statement: Annotated[
        bool,
        About(
            "Keep the times of each statement of scripts, for dsbench show --by statements", RECORDS, "told", brief=True
        ),
    ] = False
    """Costs two readings of the clock for each statement."""
    levels: Annotated[
        tuple[float, ...], About("Quantiles 0-1 of the confidence diagram", RECORDS, "told", brief=True)
    ] = LEVELS
    """Each has a column of its name from column 13 on."""
    probes: Annotated[
        str,
        About(
            "Storage tools that measure beside the data, before and after the cycles of each scale: none, all that are "
            "installed, or some of " + ",".join(PROBES) + "; postmark:2000, bonnie++:2048: on so many files",
            RECORDS, "told", metavar="TOOL,…", brief=True,
        ),
    ] = "none"
    samples: Annotated[
        Annotated[int, Field(ge=0, le=1000)] | None,
        About(
            "How often a second to look what the sessions of the load wait for; 0: not at all", RECORDS, "told",
            unit="1/s", brief=True, default="20, fewer where there are few CPUs",
        ),
    ] = None
    """Less often where a look is dear."""
    perf: Annotated[
        Literal["none", "calls", "profile", "stacks", "storage", "all"],
        About(
            "After the cycles of a load, one more that no rate counts, with Linux's perf beside it: none, calls (the "
            "system calls of server and clients by name), profile (where the kernel spends its time; and stacks, in "
            "one more), stacks (a flame graph of the server), storage (times of each request of the device), or all",
            RECORDS, "told", brief=True,
        ),
    ] = "none"
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 63),
        About("Seed of all random inputs; the same seed gives the same inputs", RECORDS, "chance", default="random"),
    ] = Field(default_factory=lambda: secrets.randbits(48))
    keep: Annotated[
        bool,
        About("Leave the database of the last scale on the target, for runs with --reuse", WORK, "chance", brief=True),
    ] = False
    reuse: Annotated[
        bool, About("Run on the database that --keep left, and leave it there again", WORK, "told", brief=True)
    ] = False
    """It has to be of the same workload, scale, settings and product."""
    existing: Annotated[
        bool,
        About(
            "Run scripts on tables that are there: nothing is made, cleared, vacuumed, marked or dropped but by them",
            WORK, "load", brief=True,
        ),
    ] = False
    """The tables belong to somebody else."""
    power: Annotated[
        str,
        Field(max_length=400),
        About(
            "Meter of the machine: a program, without a shell, that stays open and prints watts, a line for each "
            "reading; it is ended with the run. Else the CPUs' own counters are read where that is allowed",
            RECORDS, "told", default="none", metavar="COMMAND", brief=True,
        ),
    ] = ""
    price: Annotated[
        str,
        Field(max_length=60),
        About(
            "What the machine costs: 1.2 EUR/h, 250 USD/month, or a purchase with its years of use, 12000 EUR/3y; "
            "for transactions per unit of money",
            RECORDS, "told", default="none", metavar="AMOUNT/SPAN",
        ),
    ] = ""
    """See ``dsbench.spec.price``."""
    checked: Annotated[
        str,
        Field(max_length=4096),
        About(
            "File of dsbench check --out, whose verdict on the target stands beside the figures",
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
        if self.objective:
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
    def all_clients(self) -> int:
        """Clients of all nodes together."""
        return self.clients * max(self.nodes, 1)

    def at(self, clients: int) -> Self:
        """The same with one number of clients."""
        return self.model_copy(update={"clients": clients, "several_clients": ()})

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
