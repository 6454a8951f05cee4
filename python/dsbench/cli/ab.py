"""``dsbench ab``: two targets, versions, settings or files against each other, until the ratio is known."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dsbench import spec
from dsbench.archive import try_out
from dsbench.cli import errors, options, run, terminal
from dsbench.cli.options import taking_settings, targets
from dsbench.cli.progress import ProgressOfRuns
from dsbench.format import counted
from dsbench.measure.interrupts import Stop
from dsbench.spec.words import GROUPS
from dsbench.stats.comparison import Verdict

EPILOG = (
    "Exit codes: 0 B is faster or better, or there is no difference; 3 B is slower or worse; 4 undecided; "
    "1 a run failed; 130 Ctrl-C. Examples: "
    "dsbench ab 'private:postgresql?shared_buffers=16MB' 'private:postgresql?shared_buffers=1GB' --scales 20 "
    "--one-database | "
    "dsbench ab private:postgresql@14 private:postgresql@15 --difference 3% | dsbench ab before.toml after.toml"
)
ELSEWHERE: Final = GROUPS
"""Headings whose options are in the help of ``dsbench run``."""
EXIT: Final = {Verdict.FASTER: 0, Verdict.ALIKE: 0, Verdict.SLOWER: 3, Verdict.OPEN: 4}
_FILES: Final = (".toml", ".zip", ".json")

Option = typer.Option


class VerdictForm(StrEnum):
    """What a verdict is printed as."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    BENCHER = "bencher"


_Side = partial(
    typer.Argument, help="TARGET of dsbench run, a TOML file, or an archive to repeat", autocompletion=targets,
    show_default=False,
)  # fmt: skip


@taking_settings
def command(
    a: Annotated[str, _Side(metavar="A")],
    b: Annotated[str, _Side(metavar="B")],
    *,
    difference: Annotated[
        str, Option(metavar="P%", help="Rates that differ by less count as equal")
    ] = "2%",
    blocks: Annotated[int, Option(min=3, max=1000, metavar="N", help="Fewest blocks of two pairs of runs")] = 3,
    max_blocks: Annotated[int, Option(min=3, max=1000, metavar="N", help="Blocks after which it ends undecided")] = 20,
    one_database: Annotated[
        bool, Option("--one-database", help="A and B share one database, loaded once for each block")
    ] = False,
    duet: Annotated[
        bool, Option("--duet", help="A and B at the same time, each on half of the CPUs")
    ] = False,
    resume: Annotated[
        bool, Option("--resume", help="Continue what --out holds, with the same options")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show the plan of both sides, its time and space; touch nothing")
    ] = False,
    trust: Annotated[
        bool, Option("--trust", help="Accept settings beyond tuning from files and archives")
    ] = False,
    of: options.Of = "rate",
    stage: options.Stage = "",
    group: options.Group = "",
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for the archives and the result")] = Path("ab"),
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON")] = False,
    form: Annotated[
        VerdictForm, Option("--as", help="text, markdown for a pull request, junit, or bencher")
    ] = VerdictForm.TEXT,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress")] = False,
    **given: Any,
) -> None:
    """Find out which of two servers or settings is faster, by runs in pairs, each A B or B A as drawn.

    The options of dsbench run apply to both, such as --clients and --scales: dsbench run --help. Each run has a fresh
    database and, if dsbench starts the server, a fresh server; with --one-database only the server is fresh. With
    --duet both sides of a pair run at the same time, so that what else the machine does meets both. A failure or Ctrl-C
    keeps the complete blocks, and --resume continues after them.
    """
    terminal.refuse_both(as_json, form)
    # Late: numerical libraries take a second, and help should not.
    from dsbench.exports import bencher, junit
    from dsbench.library.ab import look_ahead_of, refuse_incomparable, say_plan, versus, write
    from dsbench.library.pair import RATE
    from dsbench.measure.ahead import text_of
    from dsbench.read.choice import make_choice
    from dsbench.several.noise import say_of_ab

    asked = _specifications((a, b), {**given, "trust": trust})
    of_a, of_b = (one.spec for one in asked)
    share = spec.share("--difference", difference)
    choice = make_choice(of, stage, group)
    if max_blocks < blocks:
        raise spec.SpecError("--max-blocks", f"must be {blocks} or more, as --blocks is the minimum", "raise it")
    ahead = look_ahead_of(asked)
    plan = f"plan: {say_plan(ahead, blocks, max_blocks, duet=duet)}"
    if choice == RATE and not duet:
        known = say_of_ab([of_a, of_b], blocks, max_blocks, share, one_database=one_database)
        plan += f"\n{known}" * bool(known)
    if dry_run:
        refuse_incomparable(of_a, of_b, one_database=one_database)
        for name, one, after in zip("AB", asked, ahead, strict=True):
            print(f"{name}  {one.spec.target.redacted}\n{text_of(after)}\n")
        print(plan)
        return
    try_out(out)
    stop = Stop(signals=True)
    with ProgressOfRuns(quiet) as shown:
        shown.line(plan)
        found = versus(
            of_a, of_b, out, names=(_named(a), _named(b)), difference=share, blocks=blocks, max_blocks=max_blocks,
            one_database=one_database, resume=resume, duet=duet, choice=choice, observer=shown.of, stop=stop,
            told=shown.line,
        )  # fmt: skip
    files = write(found, out)
    others = {"junit": partial(junit, found), "bencher": partial(bencher, found)}
    if terminal.show_answer(found.document, found.tell, as_json, form, others):
        for path in files:
            if path.suffix == ".html":
                print(f"page: {path}")
    if found.error is not None:
        left = counted(max(blocks - len(found.blocks), 1), "block")
        words = f"{found.error}; {counted(len(found.blocks), 'complete block')} kept in {out}, at least {left} left"
        errors.tell(words, "continue with the same command and --resume")
        failed = errors.USAGE if found.error.usage else errors.FAILED
        sys.exit(failed if stop.signal is None else 128 + stop.signal)
    sys.exit(EXIT[found.ratio.verdict])


def _specification(letter: str, side: str, given: dict[str, Any]) -> spec.Merged:
    """What ``side`` asks for under the options that count for both; what is wrong with its file has its letter."""
    config = _file_of(side)
    try:
        return run.specification({**given, "target": None if config else side}, config)
    except spec.SpecError as error:
        if error.option != "--config":
            raise
        raise spec.SpecError(letter, error.problem, error.remedy) from None


def _specifications(sides: tuple[str, str], given: dict[str, Any]) -> list[spec.Merged]:
    """Both with as many clients on as large a database, where neither was said: those of the side that has fewer."""
    from dsbench.library.ab import even  # Late: as above.

    both = [_specification(letter, side, given) for letter, side in zip("AB", sides, strict=True)]
    unsaid = given["clients"] is None and given["scales"] is None and not any(map(_file_of, sides))
    alike = even([one.spec for one in both]) if unsaid else {}
    # Neither is a file then.
    return [_specification("", side, {**given, **alike}) for side in sides] if alike else both


def _file_of(side: str) -> Path | None:
    """The file or archive that ``side`` is, unless it is a target."""
    path = Path(side)
    return path if path.suffix in _FILES or ("://" not in side and path.is_dir()) else None


def _named(side: str) -> str:
    return spec.redact(side)
