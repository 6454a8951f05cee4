"""``dsbench servers``: which private servers there are, how to get more, and whether they behave as documented."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsbench import servers as rooms
from dsbench import spec
from dsbench.cli import errors
from dsbench.cli.options import completing
from dsbench.cli.progress import Counting
from dsbench.cli.usage import Grouped
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import CoreError
from dsbench.servers import acquire, sources

if TYPE_CHECKING:
    from dsbench.check.conformance import SuiteResult

app = typer.Typer(help="List and install the servers that dsbench starts, and compare them with their documentation.")
_command = partial(app.command, cls=Grouped)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON")]


@_command("list", epilog="Example: dsbench servers list")
def listed(as_json: AsJson = False) -> None:
    """List the products and versions that dsbench can start."""
    found = rooms.installations()
    if as_json:
        print(json.dumps([dataclasses.asdict(one) for one in found], indent=2, ensure_ascii=False, default=str))
        return
    width = max(len(one.product) for one in found) + len("private:")
    for one in found:
        place = f", {one.path}" if one.path else ""
        print(f"{'private:' + one.product:<{width}}  {one.version + place if one.version else 'none; ' + one.remedy}")


@_command(epilog="Examples: dsbench servers install mariadb | dsbench servers install postgresql --version 18 --yes "
             "| dsbench servers install postgresql --block-size 16")  # fmt: skip
def install(
    product: Annotated[
        str,
        typer.Argument(
            help="firebird, mariadb, mysql or postgresql; or a Python driver, such as psycopg",
            autocompletion=completing(acquire.PRODUCTS),
        ),
    ],
    version: Annotated[
        str | None, typer.Option(help="Version, such as 18 of postgresql [that of the system]")
    ] = None,
    block_size: Annotated[
        str | None,
        typer.Option(help="KiB of a PostgreSQL block, 1 to 32; builds from source"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands only")] = False,
) -> None:
    """Install a database server with the package manager, or unpack one into dsbench's own folder."""
    plan = acquire.plan(product, version, None if block_size is None else sources.checked(block_size))
    for line in plan.described():
        print(line)
    if dry_run:
        return
    if not yes and not _agreed():
        sys.exit(errors.FAILED)
    acquire.carry_out(plan, lambda command: print(f"+ {shlex.join(command)}", file=sys.stderr))
    for one in rooms.installations():
        if one.product == product:
            print(f"private:{product}: {one.version or 'still none found; ' + one.remedy}")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        errors.tell("this needs confirmation, and standard input is not a terminal", "add --yes to go ahead")
        return False
    return typer.confirm("Go ahead?", default=False, err=True)


@_command(epilog="Examples: dsbench servers conform | dsbench servers conform private:postgresql@18 --json")
def conform(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Targets of dsbench run [all private servers]"),
    ] = None,
    write: Annotated[Path | None, typer.Option(help="Page whose generated part gets the tables")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare servers with their documentation: types, isolation, errors, losses, bulk loads."""
    from dsbench.check import conformance  # Late: of these commands it alone needs the suite.

    if write is not None:
        _try_page(write)
    asked = targets or [target.in_one for target in rooms.variants()]
    # A process takes one client library of Firebird: several targets have a process each.
    outcomes = [_conform(asked[0])] if len(asked) == 1 else [_conform_apart(url) for url in asked]
    if as_json:
        print(json.dumps([dataclasses.asdict(outcome) for outcome in outcomes], indent=2, ensure_ascii=False))
    else:
        print(conformance.tables(outcomes), end="")
    if write is not None:
        write.write_text(conformance.page(write.read_text() if write.exists() else "# Engines\n\n", outcomes))
    wrong = sum(len(outcome.failures) for outcome in outcomes)
    if wrong:
        errors.tell(f"{wrong} cases are not as documented", "see above, and the manual of that version")
        sys.exit(errors.FAILED)


def _try_page(page: Path) -> None:
    """``SpecError`` where ``page`` cannot be written: better before the suite than after it."""
    problem = ""
    try:
        if page.is_dir():
            problem = f"{page} is a folder"
        elif not page.parent.is_dir():
            problem = f"{page.parent} is not a folder"
        elif not os.access(page if page.exists() else page.parent, os.W_OK):
            problem = f"{page} cannot be written"
    except OSError as error:
        problem = f"{page}: {error.strerror}"
    if problem:
        raise spec.SpecError("--write", problem, "specify a writable file, such as docs/engines/conformance.md")


def _conform(url: str) -> SuiteResult:
    from dsbench.check import conformance

    target = spec.build({"target": {"url": url}}).target
    try:
        with Counting() as progress:
            return conformance.conform(target, progress.show)
    except CoreError as error:
        remedy, usage = "see dsbench doctor, or use another target", error.kind == "configuration"
        raise RunError(f"{target.redacted}: {error}", remedy, usage=usage) from None


def _conform_apart(url: str) -> SuiteResult:
    """The same in another process, which shows its progress itself."""
    from dsbench.check.conformance import SuiteResult

    command = [sys.executable, "-m", "dsbench", "servers", "conform", url, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    try:
        return SuiteResult.of(json.loads(done.stdout)[0])
    except ValueError:
        words, usage = f"{spec.redact(url)}: the suite did not finish", done.returncode == errors.USAGE
        raise RunError(words, "see its messages above", usage=usage) from None
