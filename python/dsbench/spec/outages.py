"""Which events and reads fit to a run: what they need of its server, and what they make meaningless."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from dsbench.spec.drivers import find_driver
from dsbench.spec.events import events, write_events
from dsbench.spec.target import Target, is_sqlite
from dsbench.spec.words import SpecError, Unfit, misfit

if TYPE_CHECKING:
    from dsbench.spec.run import RunSpec

_AFTER_S: Final = 10.0
"""How much longer than its last event a cycle should be, to show how the server recovers."""
_SUSPECT_S: Final = 10.0
"""Until a cluster of Galera has agreed that a node is gone: by default five seconds, and time to do it."""


def event_is_known(value: str) -> str:
    """Its events can be read; written in one line."""
    return write_events(events(value))


def events_fit(spec: RunSpec) -> None:
    """``PydanticCustomError`` where what happens in a cycle does not fit to the rest of the run."""
    if not spec.event:
        return
    last = spec.events[-1]
    # What was sent into a network that was cut is sent again after up to the same time.
    end_s = last.end_s + (last.lasts_s if last.what == "partition" else 0.0)
    if end_s >= spec.duration:
        problem = f"{last.text} is not over within a cycle of {spec.duration:g} s"
        raise misfit("--event", problem, f"specify --duration {end_s + _AFTER_S:g} or more")
    wrong = {
        "--objective": bool(spec.objective), "--graduated": spec.graduated, "--peak": spec.peak,
        "--precision": spec.precision is not None, "--find-ramp-up": spec.find_ramp_up,
        "--driver": find_driver(spec.driver) is not None, "--keep": spec.keep, "--reuse": spec.reuse,
    }  # fmt: skip
    whys = {"--driver": "clients of other programs do not reconnect", "--keep": "its database may lack commits",
            "--reuse": "its database may lack commits"}  # fmt: skip
    for option in (option for option, said in wrong.items() if said):
        raise misfit("--event", whys.get(option, "outages are in the rates"), f"omit {option}, or --event")
    needing = [one for one in spec.events if one.needs_process]
    if needing and (spec.target.private is None or is_sqlite(spec.target)):
        whose = "SQLite runs in dsbench's process" if is_sqlite(spec.target) else "dsbench did not start this server"
        remedy = "use a private server, such as private:postgresql, or write command '…'"
        raise misfit("--event", f"{needing[0].text}: {whose}", remedy)
    _disk_fits(spec)
    cutting = next((one for one in spec.events if one.what == "partition"), None)
    if cutting is not None:
        _refuse_partition(spec.target, cutting.text)
    _standbys_fit(spec)


def _disk_fits(spec: RunSpec) -> None:
    filling = next((one for one in spec.events if one.what == "fill-disk"), None)
    if filling is not None and not spec.storage:
        problem = f"{filling.text}: dsbench fills no file system but its own"
        raise misfit("--event", problem, "add one: --storage 'ext4?size=4GiB'")
    if filling is not None and (spec.target.standbys or "pooler" in spec.target.settings):
        raise misfit("--event", f"{filling.text}: standbys and poolers lie on the same disk", "omit them")


def _standbys_fit(spec: RunSpec) -> None:
    taking = [one for one in spec.events if one.needs_standby]
    standbys, setting = spec.target.standbys, spec.target.standbys_setting
    if taking and not standbys:
        remedy = "write private:postgresql?standbys=1, private:mariadb?replicas=1; for servers of yours command '…'"
        raise misfit("--event", f"{taking[0].text}: the server has no standby", remedy)
    if setting == "galera" and any(after.at_s - before.at_s < _SUSPECT_S for before, after in pairwise(taking)):
        problem = f"{taking[-1].text}: within ten seconds the cluster still counts a node that was killed"
        raise misfit("--event", problem, "write a later time")
    if len(taking) > standbys:
        problem = f"{taking[-1].text}: no standby is left, as those that were the primary come back after the cycle"
        enough = len(taking) + 2 * (setting == "galera")
        raise misfit("--event", problem, f"write {setting}={enough}, or fewer such events")


def _refuse_partition(target: Target, event: str) -> None:
    """The server gets a network of its own, in which it is alone."""
    if target.private not in ("postgresql", "mariadb", "mysql"):
        problem = f"{event}: dsbench gives {target.private} no network of its own"
        raise misfit("--event", problem, "use private:postgresql, private:mariadb or private:mysql")
    there = {name.lower().replace("-", "_") for name in target.settings}
    for name in sorted(there & {"listen_addresses", "bind_address", "pooler", "standbys", "replicas", "galera"}):
        problem = f"{event}: the server is alone in a network of its own"
        raise misfit("--event", problem, f"omit {name}, or the event")


STANDBY: Final = "standby"
"""Of ``--reads``: a standby that the target names, or has."""
_HOSTS: Final = re.compile(r"[\w.%\[\]:-]+(,[\w.%\[\]:-]+)*", re.ASCII)


def reads_are_hosts(value: str) -> str:
    """Names of hosts, which go into a URL as they are."""
    if value and not _HOSTS.fullmatch(value):
        raise Unfit(f"cannot read {value[:60]!r}", "write standby, or hosts such as db2 or db2:5433,db3")
    return value


def refuse_reads(target: Target, reads: str, *, hands_over: bool) -> None:
    """``SpecError`` of ``--reads`` where ``target`` has no standby, or one that reads are not sent to, or not after one
    ``hands_over``."""
    kind = target.private or target.scheme
    if kind not in ("postgresql", "postgres", "mariadb", "mysql"):
        raise SpecError("--reads", f"{kind}: dsbench knows no standby of it", "omit --reads")
    if "," in reads and not kind.startswith("postgres"):
        problem = "of several hosts clients of MariaDB and MySQL take the one that takes writes"
        raise SpecError("--reads", problem, "name one host")
    if target.private is not None and reads != STANDBY:
        raise SpecError("--reads", "a private server has its standbys on this machine", "write --reads standby")
    if target.private is not None and not target.standbys_setting:
        remedy = "write private:postgresql?standbys=1 or private:mariadb?replicas=1"
        raise SpecError("--reads", "the server has no standby", remedy)
    if target.private is None and reads == STANDBY and not (kind.startswith("postgres") and target.has_several_hosts):
        raise SpecError("--reads", "the target names no standby", "write its host, such as --reads db2")
    if target.private == "mariadb" and hands_over:
        problem = "clients that read from MariaDB do not look for another server after a hand-over"
        raise SpecError("--reads", problem, "omit --reads, or the hand-over; PostgreSQL's do")


def reads_fit(spec: RunSpec) -> None:
    """The same of where clients read."""
    if not spec.reads:
        return
    try:
        refuse_reads(spec.target, spec.reads, hands_over=any(one.needs_standby for one in spec.events))
    except SpecError as error:
        raise misfit("--reads", error.problem, error.remedy) from None
    if spec.isolation == "serializable" and (spec.target.private or spec.target.scheme).startswith("postgres"):
        remedy = "add --isolation repeatable-read, or omit --reads"
        raise misfit("--reads", "standbys have no serializable transactions", remedy)
    if find_driver(spec.driver) is not None:
        raise misfit("--reads", "clients of other programs connect to one server", "omit --driver, or --reads")
