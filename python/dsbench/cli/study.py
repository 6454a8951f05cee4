"""``dsbench study``: many runs over factors, interleaved, and what the factors do."""

from __future__ import annotations

import json
import sys
import time
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsbench.archive import claimed
from dsbench.cli import errors, papers, terminal
from dsbench.cli.options import Group, Of, Stage
from dsbench.cli.progress import Progress
from dsbench.cli.usage import Grouped
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Moment, Observer, format_time
from dsbench.spec import RunSpec, SpecError, parsed_toml
from dsbench.spec.trust import refuse, risks

if TYPE_CHECKING:
    from dsbench.study import Estimate, Study, Trial

app = typer.Typer(help="Vary several settings in interleaved runs, and find which of them matter.")
_command = partial(app.command, cls=Grouped)

Folder = Annotated[Path, typer.Argument(help="Folder of the study")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON")]


@_command(epilog="Examples: dsbench study templates clients > clients.toml | dsbench study run clients.toml | "
             "dsbench study run studies/clients | dsbench study run clients --set run.cycles=2")  # fmt: skip
def run(
    file: Annotated[
        Path, typer.Argument(help="TOML file, template, or the folder of a study to continue")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the study [studies/NAME]"),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE",
            help="Change a key of the file, such as run.cycles=2; repeatable",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask each server, show the trials, make nothing")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeat failed trials, too")] = False,
    erase: Annotated[
        str, typer.Option(metavar="DEVICE", help="Confirm that its storage may erase this device")
    ] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Accept settings beyond tuning from the file")
    ] = False,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress")] = False,
) -> None:
    """Run the remaining trials of a study, and show the effects."""
    from dsbench import study as room  # Late: numerical libraries take their time.
    from dsbench.library.apart import conduct, tried
    from dsbench.study.estimate import ahead_of

    study, ahead = _begun(file, out, changes or [], again, trust)
    study = tried(study, (lambda _words: None) if quiet else _say, again=again)
    expected = room.estimate(study, ahead, again=again)
    if dry_run:
        document = {"folder": str(study.folder), "estimate": expected.described(), "trials": _rows(study)}
        print(json.dumps(document, indent=2, ensure_ascii=False) if as_json else ahead_of(study, expected, whole=True))
        return
    if not quiet:
        print(ahead_of(study, expected, whole=False), file=sys.stderr)
    stop = Stop(signals=True)
    study = conduct(study, _Watch(expected, quiet=quiet), stop, again=again, erase=erase)
    if stop.signal is not None:
        left = len(study.counted("planned"))
        trusted = " --trust" if trust else ""
        errors.tell(f"stopped, {left} trials are left", f"continue with: dsbench study run {study.folder}{trusted}")
        sys.exit(128 + stop.signal)
    _shown(study, study.folder, as_json)
    if not study.counted("done"):
        sys.exit(errors.FAILED)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _begun(
    file: Path, out: Path | None, changes: list[str], again: bool, trust: bool
) -> tuple[Study, dict[Any, Any]]:
    from dsbench import study as room  # Late: as above.

    if not file.is_dir():
        spec = room.read(file, changes)
        folder = out or Path("studies", spec.folder_name)
        if not trust and file.exists():
            by_set = set(risks(spec.model_dump(mode="json"))).difference(risks(parsed_toml(file.read_text("utf-8"))))
            refuse((one for one in room.risks_of(spec, folder) if one not in by_set), str(file), "FILE")
        return room.begin(spec, folder, again=again)
    if out is not None or changes:
        option = "--out" if out is not None else "--set"
        raise SpecError(option, f"{file} is the folder of a study already", f"omit {option}")
    spec = room.again(file)
    if not trust:
        refuse(room.risks_of(spec, file), str(file), "FILE")
    return room.begin(spec, file, again=again)


@_command(epilog="Examples: dsbench study show studies/clients --out page | dsbench study show studies/clients "
             "--of p99 | dsbench study show studies/insert --stage l.i1")  # fmt: skip
def show(
    folder: Folder,
    of: Of = "",
    stage: Stage = "",
    group: Group = "",
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR,FACTOR",
            help="Draw these two factors [the largest interactions]; repeatable"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a page, diagrams and tables to this folder")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the effects of a study: intervals, interactions, share of variance, resources.

    --of, --stage and --group override the settings of, stage and group of the study's file. The default measure is the
    rate. Without a stage, all stages are shown side by side.
    """
    from dsbench import study as room  # Late: as above.

    _shown(room.load(folder), out, as_json, of, stage, group, [_two(text) for text in pair or ()])


@_command(epilog="Examples: dsbench study add studies/clients --level clients=32 --level clients=64 | "
             "dsbench study add studies/clients --repeat 2")  # fmt: skip
def add(
    folder: Folder,
    level: Annotated[
        list[str] | None, typer.Option(metavar="FACTOR=VALUE", help="Another level of a factor; repeatable")
    ] = None,
    repeat: Annotated[int, typer.Option(help="Blocks of the new trials [as many as the study has]")] = 0,
) -> None:
    """Add levels or blocks to a study, for dsbench study run."""
    from dsbench import study as room  # Late: as above.
    from dsbench.study.estimate import added

    if not level and repeat < 1:
        raise SpecError("--level", "nothing to add", "specify --level FACTOR=VALUE, or --repeat 2")
    study = room.load(folder)
    levels: dict[str, list[Any]] = {}
    for text in level or ():
        name, mark, value = text.partition("=")
        if not mark:
            raise SpecError("--level", f"{text!r} is not a FACTOR=VALUE", "write, for example, --level clients=32")
        levels.setdefault(name, []).append(room.value_of(value))
    extended = room.extend(study, levels, max(repeat, 0))
    with claimed(folder):
        room.store(extended)
    print(added(study, extended))


@_command(epilog="Examples: dsbench study merge here/studies/clients there/studies/clients --out studies/hosts | "
             "dsbench study merge hdd=runs/a.zip ssd=runs/b.zip --out studies/disks")  # fmt: skip
def merge(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="[HOST=]FOLDER...",
            help="Studies of one file, or archives of the same work, named after their machines",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the new study, which gets copies")],
    as_json: AsJson = False,
) -> None:
    """Merge studies of several machines into one with the factor host."""
    from dsbench import study as room  # Late: as above.

    parts = [text.partition("=") if "=" in text and not Path(text).exists() else ("", "=", text) for text in folders]
    study = room.merge([(name, Path(path)) for name, _mark, path in parts], out)
    _shown(study, study.folder, as_json)


@_command(epilog="Example: dsbench study best studies/buffers > best.toml && dsbench study run best.toml")
def best(
    folder: Folder,
    likely: Annotated[
        bool, typer.Option("--likely", help="Include levels that may be better by chance alone")
    ] = False,
    vary: Annotated[
        list[str] | None, typer.Option(metavar="FACTOR", help="Factor that the new study varies; repeatable")
    ] = None,
    of: Of = "",
    stage: Stage = "",
    group: Group = "",
) -> None:
    """Print a study that compares the best levels of all factors, combined, with the references."""
    from dsbench import study as room  # Late: as above.

    print(room.best(room.outcomes(room.load(folder), of, stage, group), likely=likely, vary=vary or ()), end="")


def _two(text: str) -> tuple[str, str]:
    first, comma, second = (part.strip() for part in text.partition(","))
    if not (first and comma and second) or "," in second:
        raise SpecError("--pair", f"{text[:60]!r} are not two factors", "write, for example, --pair clients,isolation")
    return first, second


def _templates(incomplete: str) -> list[str]:
    """For a shell that completes a name."""
    from dsbench import study as room  # Late: as above.

    return [name for name in room.templates() if name.startswith(incomplete)]


@_command(epilog="Examples: dsbench study templates | dsbench study templates isolation > isolation.toml")
def templates(
    name: Annotated[
        str | None, typer.Argument(help="Template to print", autocompletion=_templates)
    ] = None,
) -> None:
    """List the templates of studies, or print one as a file."""
    from dsbench import study as room  # Late: as above.

    if name is not None:
        print(room.template(name), end="")
        return
    found = {known: tomllib.loads(text) for known, text in room.templates().items()}
    width = max(map(len, found))
    for known, values in found.items():
        print(f"{known:{width}}  {values.get('about', values['name'])}")


def _shown(
    study: Study, out: Path | None, as_json: bool, of: str = "", stage: str = "", group: str = "",
    pairs: Sequence[tuple[str, str]] = (),
) -> None:
    from dsbench import study as room  # Late: as above.
    from dsbench.several import files
    from dsbench.study import shown  # Late: its drawing libraries take a second.

    found = room.outcomes(study, of, stage, group, pairs)
    if out is not None:
        files.write(out, lambda: shown.files(found))
    if as_json:
        print(files.as_json(shown.document(found)))
    else:
        print(f"{found.study.spec.name}\n")
        terminal.show(shown.tell(found))
        if out is not None:
            print(f"page: {out / 'results.html'}")


def _rows(study: Study) -> list[dict[str, Any]]:
    names = [factor.name for factor in study.factors]
    return [
        {"trial": one.number, "block": one.block, **dict(zip(names, one.levels, strict=True)), "status": one.status,
         "reason": one.reason} for one in study.trials
    ]  # fmt: skip


class _Watch:
    """Shows a study: the trial, the run, and the time that is left of the whole."""

    def __init__(self, expected: Estimate, *, quiet: bool) -> None:
        self._expected_s = sum(expected.time_s) / 2
        self._trials = expected.trials
        self._quiet = quiet
        self._began = time.monotonic()
        self._done = 0
        self._reasons: dict[str, int] = {}
        """To the first trial that ended by it."""
        self._progress: Progress | None = None

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        """A line for the trial, and its progress."""
        left = max(self._trials - self._done, 1)
        if not self._quiet:
            what = ", ".join(
                f"{factor.name} {level}" for factor, level in zip(study.factors, trial.levels, strict=True)
            )
            place = f"trial {trial.number} of {len(study.trials)}, block {trial.block}"
            print(f"{place}: {what} (about {format_time(self._left_s(left))} left)", file=sys.stderr, flush=True)
        self._progress = _OfTrial(spec, before=f"trial {trial.number}/{len(study.trials)}: ", quiet=self._quiet)
        return self._progress.__enter__()

    def ended(self, trial: Trial) -> None:
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
        self._done += 1
        if trial.status != "done" and not self._quiet:
            first = self._reasons.setdefault(trial.reason, trial.number)
            why = trial.reason if first == trial.number else f"as trial {first}"
            print(f"trial {trial.number}: {trial.status}: {why}", file=sys.stderr, flush=True)

    def _left_s(self, left: int) -> float:
        """By what the trials took so far; before the first by the estimate."""
        return (time.monotonic() - self._began) / self._done * left if self._done else self._expected_s


class _OfTrial(Progress):
    """The progress of one trial: a live line on a terminal, nothing elsewhere, where the trials' lines are enough."""

    def moment(self, moment: Moment) -> None:
        """Shows where the run is."""
        if self.alive:
            super().moment(moment)

    def message(self, text: str) -> None:
        """Nothing: it is in the archive's log."""


_command("papers", epilog=papers.EPILOG)(papers.command)
