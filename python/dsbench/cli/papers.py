"""``dsbench study papers``: lists the experiments of the five papers, says what they take, and runs one."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from textwrap import fill
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import typer

from dsbench.cli import errors
from dsbench.dataclass import dataclass
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.moments import format_time
from dsbench.papers import MADE, NOT, PART, UNTRIED, WHERE, Item, Paper, Size, find, paper_of, papers
from dsbench.problem import Problem

if TYPE_CHECKING:
    from dsbench.study import Study

EPILOG = (
    "Examples: dsbench study papers | dsbench study papers 003 | dsbench study papers 000 fig-8 | "
    "dsbench study papers 000 fig-8 --small | "
    "dsbench study papers 000 fig-8 --small --dry-run"
)
_RECORD: Final = "papers.json"
"""In a folder of an item: which of its commands are done."""
_LOG: Final = "output.txt"
_LOOK_S: Final = 0.1
"""How often the wish to stop is looked for."""


def command(
    paper: Annotated[str | None, typer.Argument(help="Number of a paper, 000 to 004 [all]")] = None,
    item: Annotated[str | None, typer.Argument(help="Figure, table or experiment of it, such as fig-8")] = None,
    small: Annotated[
        bool, typer.Option("--small", help="Run it in minutes: small scales, short cycles")
    ] = False,
    hour: Annotated[
        bool, typer.Option("--hour", help="Run it as a small machine can in an hour; for ten of the items")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Run it at full size: hours or days")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show commands, time and space; touch nothing")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the result [papers/PAPER-ITEM]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """List the experiments of five papers and their commands, or run one of them."""
    given: dict[Size, bool] = {"small": small, "hour": hour, "full": full}
    sizes = [size for size, is_given in given.items() if is_given]
    if len(sizes) > 1:
        named = ", ".join(f"--{size}" for size in sizes)
        raise Problem(f"{named}: these exclude each other", "use one of them", usage=True)
    wanted = sizes[0] if sizes else None
    if wanted is None and (dry_run or out is not None):
        option = "--dry-run" if dry_run else "--out"
        raise Problem(f"{option}: it needs a size", "add --small, --hour or --full", usage=True)
    if wanted and item is None:
        raise Problem(f"--{wanted}: it runs one item only", f"specify one: {WHERE}", usage=True)
    if item is None:
        chosen = list(papers().values()) if paper is None else [paper_of(paper)]
        print(_as_json([_described(one) for one in chosen]) if as_json else _listed(chosen))
        return
    one = find(paper or "", item)
    if as_json:
        print(_as_json(one.described()))
    elif wanted is None:
        print("\n".join(_about(one)))
    elif one.why:
        raise Problem(f"{one.paper} {one.id} cannot be reproduced here: {one.why}", WHERE, usage=True)
    elif wanted not in one.sizes:
        having = ", ".join(f"{each.paper} {each.id}" for of in papers().values() for each in of.items if each.hour)
        raise Problem(f"--hour: {one.paper} {one.id} has no such size", f"use --small, or one of {having}", usage=True)
    elif dry_run:
        lines, needs = _planned(one, wanted, out)
        print("\n".join(lines))
        _refuse_unfit(one, needs)
    else:
        _make(one, wanted, out or Path("papers", one.folder))


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _described(paper: Paper) -> dict[str, Any]:
    return {"number": paper.number, "author": paper.author, "title": paper.title, "year": paper.year,
            "items": [item.described() for item in paper.items]}  # fmt: skip


def _listed(chosen: list[Paper]) -> str:
    lines = []
    for paper in chosen:
        made = sum(item.mark == MADE for item in paper.items)
        lines.append(f"{paper.number}  {paper.named}: {made} of {len(paper.items)}")
        width = max(len(item.id) for item in paper.items)
        for item in paper.items:
            more = f" ({', '.join(item.names[1:])})" if len(item.names) > 1 else ""
            head = f"  {item.mark} {item.id:{width}}  "
            text = f"{item.shows}{more}" + (f" {item.reason}" if item.reason else "")
            lines.append(fill(head + text, 110, subsequent_indent=" " * len(head), break_on_hyphens=False))
        lines.append("")
    lines.append(f"{MADE} reproduced here, {PART} in part, {UNTRIED} planned and not yet tried, {NOT} not; "
                 "dsbench study papers 000 fig-8 shows the commands for one, --small runs them")  # fmt: skip
    return "\n".join(lines)


def _about(item: Item) -> Iterator[str]:
    paper = paper_of(item.paper)
    yield f"{paper.number} {item.id}: {paper.named}"
    yield item.shows
    if item.says:
        yield f"The paper: {item.says}"
    if item.why:
        yield f"{NOT} not reproduced here: {item.why}"
        return
    if item.reason:
        yield f"{item.mark} {item.reason}"
    for size in item.sizes:
        took = f" ({format_time(item.seconds)} on two busy CPUs)" if size == "small" and item.seconds else ""
        yield f"\n--{size}{took}:"
        yield from (f"  dsbench {line}" for line in (*item.commands(size), *item.shown(size)))
    yield f"\ndiagram or table: {item.picture}"
    yield f"made with: dsbench study papers {item.paper} {item.id} --small, in papers/{item.folder}"


def _planned(item: Item, size: Size, out: Path | None) -> tuple[list[str], list[Needs]]:
    """What would be done in words, and what each command needs: its runs and studies take as long at least."""
    folder = out or Path("papers", item.folder)
    record = _read_record(folder)
    lines, every = [f"folder: {folder}"], []
    for line in item.commands(size):
        done = line in record.get("done", ())
        needs = None if done else estimated(line)
        lines.append(f"dsbench {line}" + (": done already" if done else ""))
        if needs is not None:
            every.append(needs)
            lines.append(f"  {_range(needs.time_s)}")
    lines += [f"dsbench {line}" for line in item.shown(size)]
    lines.append(f"diagram or table: {folder / item.picture}")
    if every:
        time_s = sum(one.time_s[0] for one in every), sum(one.time_s[1] for one in every)
        without = ", without the disk benchmarks" if any(one.probes for one in every) else ""
        lines.append(f"time: {_range(time_s)}{without}")
    if sizes := [one.size_bytes for one in every if one.size_bytes is not None]:
        free = min((one.free_bytes for one in every if one.free_bytes is not None), default=None)
        more = f"; {free / 1e9:.3g} GB free" if free is not None else ""
        lines.append(f"space: up to {max(sizes) / 1e9:.3g} GB{more}")
    return lines, every


def _refuse_unfit(item: Item, every: Sequence[Needs]) -> None:
    """``Problem`` where one of the runs cannot be made here."""
    lacking = next((needs.refused for needs in every if needs.refused), "")
    if lacking:
        smaller = " or ".join(f"--{size}" for size in item.sizes if size != "full")
        raise Problem(f"{item.paper} {item.id}: {lacking}", f"set TMPDIR to a folder with more space, or use {smaller}")


def _range(time_s: tuple[float, float]) -> str:
    least, most = map(format_time, time_s)
    return f"about {least}" if least == most else f"{least} to {most}"


@dataclass(frozen=True)
class Needs:
    """What a command line takes."""

    time_s: tuple[float, float]
    """On a fast and on a slow machine."""
    size_bytes: int | None
    """Of its largest database; ``None`` where it is not known."""
    free_bytes: int | None
    refused: str
    """Why one of its runs cannot be made here; empty where nothing shows."""
    probes: bool
    """Whether it has disk benchmarks, which are in no time."""


def estimated(line: str) -> Needs | None:
    """What a command line takes; ``None`` of one that takes no time to speak of.

    What a line asks for is parsed and planned as the command itself does it, and an error is raised as it is there. No
    server is started.
    """
    words, _file = split(line)
    context = parsed(words)
    given = context.params
    if context.info_name == "study run":
        from dsbench import study

        if not _is_known(given["file"]):
            return None
        spec = study.read(given["file"], given["changes"] or ())
        planned, found = study.begin(spec, Path("papers-not-made"))
        _refuse_single(planned)
        expected = study.estimate(planned, found)
        refused = next((one.refused for one in found.values() if one.refused), "")
        return Needs(expected.time_s, expected.size_bytes, expected.free_bytes, refused,
                     any(one.probes for one in found.values()))  # fmt: skip
    if context.info_name == "run":
        if given["example_config"] or given["config"]:
            return None
        from dsbench.cli.run import specification
        from dsbench.measure.ahead import look_ahead

        ahead = look_ahead(specification(given, None))
        most = ahead.size_bytes[1] if ahead.size_bytes else None
        return Needs(ahead.time_s, most, ahead.free_bytes, ahead.refused, ahead.probes)
    return None


def _refuse_single(planned: Study) -> None:
    """``Problem`` where what is not installed leaves a factor with one level: nothing would be compared."""
    from dsbench.study.estimate import reasons

    made = [trial.levels for trial in planned.trials if trial.status != "left out"]
    left_out = "; ".join(reason.removeprefix("--set: ") for reason in reasons(planned, "left out"))
    for number, factor in enumerate(planned.factors):
        if left_out and len(factor.resolved) > 1 and len({levels[number] for levels in made}) < 2:
            raise Problem(f"only one level of the factor {factor.name} can be made here: {left_out}",
                          "install what is missing, and start again", usage=True)  # fmt: skip


def _is_known(file: Path) -> bool:
    """Whether a study's file is there before any command is done."""
    from dsbench import study

    return str(file) in study.templates()


def split(line: str) -> tuple[list[str], str]:
    """The arguments of a command line, and the file that keeps what it prints; empty where none does."""
    words = shlex.split(line)
    if ">" in words:
        at = words.index(">")
        return words[:at], words[at + 1]
    return words, ""


def parsed(words: list[str]) -> Any:
    """The context of a command with what its options were given; the parser's error where it does not take them."""
    chosen, name, rest = _command(words[0]), words[0], words[1:]
    if hasattr(chosen, "commands"):
        name, chosen, rest = f"{name} {rest[0]}", chosen.commands[rest[0]], rest[1:]
    return chosen.make_context(name, list(rest))


@lru_cache
def _command(name: str) -> Any:
    from dsbench.cli import app

    group: Any = typer.main.get_command(app)
    return group.commands[name]


def _make(item: Item, size: Size, folder: Path) -> None:
    """Runs the commands that are not done, then those that show the result."""
    from dsbench.archive import try_out  # Late: most of this command reads and writes no archive.

    record = _read_record(folder)
    if record.get("size", size) != size:
        problem = f"--out: {folder} contains the item in the size {record['size']}"
        raise Problem(problem, f"specify another --out FOLDER, or add --{record['size']}", usage=True)
    if not record and folder.is_dir() and any(folder.iterdir()):
        raise Problem(f"--out: {folder} contains other files", "specify a new --out FOLDER", usage=True)
    done = list(record.get("done", ()))
    left = [line for line in item.commands(size) if line not in done]
    _refuse_unfit(item, [needs for line in left if (needs := estimated(line))])  # Now, and not after hours.
    try_out(folder)
    _write_record(folder, item, size, done)
    began = time.monotonic()
    for number, line in enumerate(left, 1):
        _tell(f"{item.paper} {item.id}, command {number} of {len(left)}: dsbench {line}")
        _run(line, folder, item, size)
        done.append(line)
        _write_record(folder, item, size, done)
    if left:
        _tell(f"made in {format_time(time.monotonic() - began)}")
    for line in item.shown(size):
        _tell(f"dsbench {line}")
        _run(line, folder, item, size, shown=True)
    if item.says:
        _tell(f"The paper: {item.says}")
    _draw(folder, item.picture)
    paths = sorted(folder.glob(item.picture))
    for path in paths:
        print(f"made: {path}")
    if not paths:
        raise Problem(f"{item.paper} {item.id}: its commands made no {item.picture}", f"see {folder / _LOG}")


def _draw(folder: Path, picture: str) -> None:
    """Draws the diagrams of the runs of which ``picture`` is one."""
    if not picture.endswith(".svg"):
        return
    from dsbench.read import finish  # Late: most of this command reads no archive.

    for archive in {source.parent for source in folder.glob(str(Path(picture).with_name("results-*.vl.json")))}:
        if (archive / "run.json").is_file():
            finish.plot(archive, None, fresh=False)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run(line: str, folder: Path, item: Item, size: Size, *, shown: bool = False) -> None:
    """One command, as a process of its own. What it prints is shown, or kept in a file."""
    words, file = split(line)
    arguments = [one for word in words for one in _matches(word, folder)]
    if words[0] == "run" and not file and "--out" in words:
        _put_aside(folder / words[words.index("--out") + 1])
    sys.stdout.flush()
    own = [sys.executable, "-m", "dsbench", *arguments]
    again = f"dsbench study papers {item.paper} {item.id} --{size} --out {shlex.quote(str(folder))}"
    with listening() as stop:
        if shown:
            code = _wait(own, folder, stop)
        else:
            with (folder / (file or _LOG)).open("w" if file else "a", encoding="utf-8") as output:
                code = _wait(own, folder, stop, output)
    if stop.signal is not None:
        errors.tell("stopped; finished commands are kept", f"continue with: {again}")
        sys.exit(128 + stop.signal)
    if code not in (0, 3, 4) or (code and words[0] not in ("ab", "trend")):
        raise Problem(f"dsbench {line}: it ended with {code}", f"see {folder / _LOG}; finished commands are kept: "
                                                               f"{again}")


def _wait(command: list[str], folder: Path, stop: Stop, output: IO[str] | None = None) -> int:
    """Its exit code. A signal is passed on: the command ends its servers and seals its archive before this ends."""
    with subprocess.Popen(command, cwd=folder, stdout=output, start_new_session=True) as child:
        told = False
        try:
            while (code := _look(child)) is None:
                if stop.signal is not None and not told:
                    child.send_signal(stop.signal)
                    told = True
        except BaseException:  # Somebody asked a second time.
            child.terminate()
            raise
    return code


def _look(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def _put_aside(made: Path) -> None:
    """A run that was cut short leaves an archive; that of the next one is to stand alone in the folder."""
    if made.is_dir():
        free = next(place for n in range(1, 1000) if not (place := made.with_name(f"{made.name}.cut-{n}")).exists())
        made.rename(free)


def _matches(word: str, folder: Path) -> list[str]:
    """The paths of a glob, and the word itself where it is none: as a shell has it."""
    if "*" not in word or " " in word:
        return [word]
    before, mark, pattern = word.rpartition("=")
    return [f"{before}{mark}{path.relative_to(folder)}" for path in sorted(folder.glob(pattern))] or [word]


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / _RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_record(folder: Path, item: Item, size: Size, done: list[str]) -> None:
    record = {"paper": item.paper, "size": size, "done": done}
    (folder / _RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
