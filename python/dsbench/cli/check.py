"""``dsbench check``: whether a database keeps the workload's conditions, and whether a target keeps its promises."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsbench import spec, workloads
from dsbench.archive.conditions import State, say_conditions, state_of
from dsbench.cli import errors, options
from dsbench.cli.options import completing
from dsbench.cli.progress import Counting
from dsbench.measure.interrupts import listening
from dsbench.measure.keeping import check_target
from dsbench.measure.loaders import Stopped

if TYPE_CHECKING:
    from dsbench.check import Checked
    from dsbench.check.trying import Watch

_DEFAULT: str = spec.RunSpec.model_fields["workload"].default
_ROUNDS, _THREADS = 5, 4
_WIDE = max(len(state) for state in State)
EPILOG = (
    "Examples: dsbench check postgresql://me@host/db --workload tpcb --scale 10 | "
    "dsbench check private:postgresql --promises | "
    "dsbench check 'private:postgresql?fsync=off' --durability --storage forgetful | "
    "dsbench check private:postgresql --isolation serializable | "
    "dsbench check 'private:postgresql?standbys=1' --isolation read-committed --reads standby | "
    "dsbench check 'private:postgresql?standbys=1&sync=on' --isolation serializable --event failover | "
    "dsbench check postgresql://me@host/db --durability --restart 'ssh host ./kill-and-start'"
)


def _storages(incomplete: str) -> list[str]:
    """Those whose names begin so."""
    from dsbench.check import STORAGES  # Late: a check of the consistency needs none of it.

    return completing(STORAGES)(incomplete)


def command(
    target: Annotated[
        str,
        typer.Argument(
            help="URL of the database, or private:PRODUCT"
        ),
    ],
    scale: Annotated[
        int | None, typer.Option(min=1, max=200_000, help="Scale of the database; not needed for a kept one")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help=f"Workload of the database [{_DEFAULT}, or that of a kept one]",
            autocompletion=completing([*workloads.names(), *spec.examples()]),
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the workload that it was loaded with; repeatable"),
    ] = None,
    promised: Annotated[
        bool,
        typer.Option("--promises", help="Test atomicity, consistency, isolation and durability"),
    ] = False,
    durable: Annotated[
        bool, typer.Option("--durability", help="Test durability alone: kill the server while it commits")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help=f"Number of kills [{_ROUNDS}]")
    ] = None,
    clients: Annotated[
        int | None, typer.Option(min=1, max=1000, help=f"Sessions [{_THREADS}; 8 with --isolation]")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="plain, forgetful (loses unflushed writes) or lying (loses flushed ones, too) [plain]",
            autocompletion=_storages,
        ),
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option(
            help="Search what clients of this level see for anomalies: read-committed, repeatable-read, serializable",
            metavar="LEVEL", autocompletion=completing(spec.ISOLATIONS),
        ),
    ] = None,
    transactions: Annotated[
        int | None, typer.Option(min=1, max=5_000_000, help="Transactions of --isolation to commit [20000]")
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            metavar="standby|HOST", help="With --isolation: half of the transactions read there; see dsbench run"
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(help="With --isolation, in its middle: restart, kill, switchover or failover of a private server"),
    ] = None,
    restart: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Kills and restarts your server [dsbench asks you to]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File of the result, for dsbench run --checked")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Check the consistency of a database that dsbench loaded, or test the ACID properties of a server."""
    where = spec.build({"target": {"url": target}, "reads": (reads or "") if isolation is not None else ""}).target
    if out is not None:
        _refuse_unwritable(out)
    if isolation is not None:
        populated = {"--scale": scale, "--workload": workload, "--set": given}
        others = {"--promises": promised, "--durability": durable, "--rounds": rounds, "--storage": storage}
        for option in (option for option, value in {**populated, **others, "--restart": restart}.items() if value):
            raise spec.SpecError(option, "--isolation uses its own tables and kills nothing", "omit it")
        _shown(_searched(where, isolation, clients, transactions, reads or "", event or ""), out, as_json)
        return
    own = {"--transactions": transactions, "--reads": reads, "--event": event}
    for option in (option for option, value in own.items() if value):
        raise spec.SpecError(option, "it needs --isolation", "add --isolation serializable, or omit it")
    if promised or durable:
        populated = {"--scale": scale, "--workload": workload, "--set": given}
        for option in (option for option, value in populated.items() if value):
            raise spec.SpecError(option, "--promises uses its own tables", "omit it")
        kind = storage or "plain"
        if kind not in (known := _storages("")):
            raise spec.SpecError("--storage", f"no storage called {kind[:60]!r}", f"use {', '.join(known)}")
        found = _tried(where, promised, rounds or _ROUNDS, clients or _THREADS, kind, restart or "")
        _shown(found, out, as_json)
        return
    tried = {"--rounds": rounds, "--clients": clients, "--storage": storage, "--restart": restart, "--out": out}
    for option in (option for option, value in tried.items() if value):
        raise spec.SpecError(option, "it needs --promises, --durability or --isolation", "add one of them, or omit it")
    _consistent(where, scale, workload, given, as_json)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """``SpecError`` where the file of the result cannot be written."""
    try:
        yield
    except OSError as error:
        raise spec.SpecError("--out", f"{out} cannot be written: {error.strerror}", "specify another file") from None


def _refuse_unwritable(out: Path) -> None:
    """Before the work, which may take long."""
    new = not out.exists()
    with _writing(out):
        out.open("ab").close()
        if new:
            out.unlink()


def _consistent(
    where: spec.Target, scale: int | None, workload: str | None, given: list[str] | None, as_json: bool
) -> None:
    named = {"workload": workload, "scales": scale and (scale,), "workload_settings": options.pairs(given or [])}
    asked = spec.with_file(named)
    if workload is not None:
        spec.known_workload(asked["workload"])
    if where.private is not None and where.directory is None:
        remedy = (
            "specify the URL of a database in which a run kept its tables, or the folder of a private server; or test "
            "the server itself: --promises"
        )
        raise spec.SpecError("TARGET", "a private server ends with its run: there is nothing to check", remedy)
    found = check_target(where, {name: value for name, value in asked.items() if value})
    if as_json:
        print(json.dumps([condition.described() for condition in found.conditions], indent=2))
    else:
        for condition in found.conditions:
            print(f"{condition.state.shown:{_WIDE}}  {condition.name}: {condition.detail}")
            if condition.remedy:
                print(f"{'':{_WIDE}}  hint: {condition.remedy}")
    if found.words:
        print(found.words, file=sys.stderr)
    print(say_conditions(found.conditions), file=sys.stderr)
    if state_of(found.conditions) is State.BROKEN:
        errors.tell("the database is not consistent")
        sys.exit(errors.FAILED)


def _tried(where: spec.Target, whole: bool, rounds: int, clients: int, kind: str, restart: str) -> Checked:
    """What ``dsbench.check`` finds; shows how far it is."""
    from dsbench import check

    return _watched(lambda watch, said: check.try_out(
        where, whole=whole, rounds=rounds, writers=clients, kind=kind, restart=restart, watch=watch, said=said,
    ))  # fmt: skip


def _searched(
    where: spec.Target, level: str, clients: int | None, transactions: int | None, reads: str, event: str
) -> Checked:
    """What a search for anomalies finds; shows how far it is."""
    from dsbench import check

    if level not in spec.ISOLATIONS:
        raise spec.SpecError("--isolation", f"no level called {level[:60]!r}", f"use {', '.join(spec.ISOLATIONS)}")
    if event and event not in check.EVENTS:
        raise spec.SpecError("--event", f"no event called {event[:60]!r}", f"use {', '.join(check.EVENTS)}")
    return _watched(lambda watch, _: check.try_isolation(
        where, level, clients=clients or check.CLIENTS, transactions=transactions or check.TRANSACTIONS,
        reads=reads, event=event, watch=watch,
    ))  # fmt: skip


def _watched(tried: Callable[[Watch, Callable[[str], None]], Checked]) -> Checked:
    """What a check finds that is shown how far it is."""
    shown = ("", -1)
    with Counting() as counting, listening() as stop:

        def watch(what: str, done: int, total: int, noun: str) -> None:
            nonlocal shown
            stop.check()
            if (noun, done) != shown:
                shown = noun, done
                counting.show(what, done, total, noun)

        try:
            return tried(watch, counting.say)
        except Stopped as stopped:
            errors.tell(str(stopped))
            sys.exit(128 + (stop.signal or 2))


def _shown(found: Checked, out: Path | None, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.described(), indent=2, ensure_ascii=False))
    else:
        from dsbench.check import lines

        print("\n".join(lines(found)))
    if out is not None:
        with _writing(out):
            found.write(out)
        if found.durability is not None:
            print(f"for a run: --checked {shlex.quote(str(out))}", file=sys.stderr)
    if found.failures:
        errors.tell("the target failed the test")
        sys.exit(errors.FAILED)
