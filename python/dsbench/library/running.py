"""Runs from their specification to their sealed archive."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbench.archive import ArchiveError, Writer, claimed
from dsbench.dataclass import dataclass
from dsbench.library.archive import Archive
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.joining import Joining
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer, Silent, moment_around
from dsbench.measure.run import Outcome, execute
from dsbench.measure.run import resume as go_on
from dsbench.redaction import HIDDEN
from dsbench.spec import OPTIONS, RunSpec, SpecError, Target, merged, refuse_unused
from dsbench.spec.trust import refuse, risks

if TYPE_CHECKING:
    from dsbench.read.shown import Shown


@dataclass(frozen=True)
class Finished:
    """A run that is over, with its report."""

    outcome: Outcome
    shown: Shown | None
    """Its results for people and programs; ``None`` where no report was wanted."""
    problem: str = ""
    """Why the archive, or its report, is not whole; empty when it is."""


def specify(
    target: str | Target | None = None, *,
    config: str | Path | None = None, settings: Mapping[str, str] | None = None, trust: bool = False, **options: Any,
) -> RunSpec:
    """The specification of a run, as the command line makes it.

    ``target`` is the URL of a database or private:PRODUCT[@VERSION]; ``config`` a TOML file, or the archive of a run to
    repeat (folder, zip or run.json), over which ``options`` win; ``settings`` are those of the workload or of a private
    server by name, as ``--set`` has them. ``options`` have the names of ``dsbench run --help`` with ``_`` for ``-``:
    ``scales=(1, 10)``, ``duration=20`` (s), ``profile="dsi"``. Where no profile is named, quick says
    what is left open. ``trust`` takes over from ``config`` what does more than tune, too.
    Raises ``SpecError``, whose ``option`` is what is wrong and whose ``remedy`` says what to do.
    """  # fmt: skip
    path = None if config is None else Path(config)
    return merged(options, target=target, settings=settings, config=path, earlier=earlier(path), trust=trust).spec


def run(
    spec: RunSpec | Target | str | None = None, *,
    out: str | Path = "archives", observer: Observer | None = None, stop: Stop | None = None,
    joining: Joining | None = None, report: bool = True, **options: Any,
) -> Archive:
    """Makes a run and gives its archive, which is sealed in the folder ``out``.

    ``spec`` is a specification, or else the target of ``specify``, which takes the ``options``. ``observer`` hears
    how the run goes on. ``stop`` ends it early from any thread; then the archive has the status "cut-short". Without
    a ``stop``, Ctrl-C and SIGTERM end the run if it is in the main thread, and ``RunError`` is raised. ``joining``
    says how remote nodes come in. Without a ``report`` the archive has no page, no diagrams and no results.txt:
    ``dsbench plot`` writes them.

    Raises ``SpecError`` for what cannot be asked, and ``RunError`` when the run failed: its ``archive`` is the path
    of what it left, readable and sealed, and ``None`` where nothing was begun. A scale whose check failed raises
    nothing: it is in ``evaluate().void_scales``.
    """  # fmt: skip
    if not isinstance(spec, RunSpec):
        spec = specify(spec, **options)
    elif options:
        remedy = "change the specification: spec.model_copy(update={…}), or pass the options to specify()"
        raise SpecError(", ".join(options), "a specification is complete", remedy)
    return _archive(perform(spec, Path(out), observer or Silent(), stop, joining, report=report), stop)


def resume(
    archive: str | Path | Archive, target: str | None = None, *,
    observer: Observer | None = None, stop: Stop | None = None, joining: Joining | None = None, trust: bool = False,
) -> Archive:
    """Goes on with a run that was cut short or failed: finished cycles stay, the missing ones are made.

    ``target`` is its URL again, where that holds a password, which no archive keeps; ``trust`` is that of
    ``specify``. All else is as for ``run``.
    """  # fmt: skip
    path = archive.path if isinstance(archive, Archive) else Path(archive)
    return _archive(going_on(path, target, observer or Silent(), stop, joining, trust=trust), stop)


def _archive(finished: Finished, stop: Stop | None) -> Archive:
    """The archive of a run that did what its caller wanted; raises its error otherwise."""
    outcome = finished.outcome
    wanted = outcome.status == "cut-short" and stop is not None and stop.signal is None
    if outcome.error is not None and not wanted:
        raise outcome.error
    if finished.problem:
        raise ArchiveError(finished.problem, f"free up space, then dsbench plot --fresh {outcome.archive}")
    return Archive.open(outcome.archive)


def perform(
    spec: RunSpec, out: Path, observer: Observer, stop: Stop | None = None, joining: Joining | None = None,
    *, report: bool = True,
) -> Finished:
    """Makes a run and seals its archive, however it ends. Raises ``RunError`` where nothing was begun.

    Without a ``report`` nothing is evaluated and nothing drawn.
    """
    if report:
        _load_report()
    # Until the archive is sealed: a signal that comes then finds a run that is over, and lets it be written.
    with listening(stop) as stop, ExitStack() as held:
        return _finished(execute(spec, out, _Writing(observer, report, held), joining, stop), observer, report)


def going_on(
    path: Path, target: str | None, observer: Observer, stop: Stop | None = None, joining: Joining | None = None,
    *, trust: bool = False, report: bool = True,
) -> Finished:
    """Goes on with the run of the archive at ``path``, or with its sealing where nothing else is left, and seals it."""
    if report:
        _load_report()
    with listening(stop) as stop, claimed(path):  # Before anything is read that another one may be writing.
        if not trust:
            described = Archive.open(path).run.spec.described()
            if target is not None:  # It takes the place of that in the archive, whose settings are for its product.
                product = Target(url=described["target"].pop("url")).private
                described["target"] |= {"url": f"private:{product}"} if product else {}
            refuse(risks(described), str(path), "--resume")
        again = None
        if target is not None:
            asked = Archive.open(path).spec
            kept = {name: value for name, value in asked.target.settings.items() if HIDDEN not in value}
            again = Target(**{**asked.target.model_dump(), "settings": kept, "url": target})
            refuse_unused(again, asked.workload)
        return _finished(go_on(path, again, _Writing(observer, report), joining, stop), observer, report)


def _load_report() -> None:
    """Loads what writes the report, before anything is begun: a lack of memory shows now, and not after the load."""
    try:
        from dsbench.read.draw import render
    except ModuleNotFoundError:
        raise
    except (ImportError, MemoryError) as error:
        words = f"the library for the report cannot be loaded: {str(error) or 'no memory'}"
        raise RunError(words, "allow it more memory: see ulimit -v") from None
    render.keep_script()


def _finished(outcome: Outcome, observer: Observer, report: bool) -> Finished:
    if (error := outcome.error) is not None:
        error.archive = outcome.archive
        described = Archive.open(outcome.archive).run.spec.described()
        trust = " --trust" if "--resume ARCHIVE" in error.remedy and risks(described) else ""
        remedy = error.remedy.replace("--resume ARCHIVE", f"--resume ARCHIVE{trust}")
        error.remedy = remedy.replace("ARCHIVE", str(outcome.archive))
    if report:
        observer.moment(moment_around("report"))
        from dsbench.read import finish  # Late: a run without a report, and one that fails to begin, need none of it.

        shown = finish.write(outcome.archive)
        return Finished(outcome, shown, shown.problem)
    try:
        Writer(outcome.archive).seal()
    except ArchiveError as error:
        return Finished(outcome, None, str(error))
    return Finished(outcome, None)


class _Writing:
    """An observer that also writes the tables as scales are done, so that they are readable while others run.

    Without a ``report`` it writes none. A new archive is claimed until ``held`` is closed.
    """

    def __init__(self, observer: Observer, report: bool, held: ExitStack | None = None) -> None:
        self._observer, self._report, self._held = observer, report, held
        self.moment, self.message = observer.moment, observer.message

    def archive(self, path: Path) -> None:
        """The archive was created, or is there again."""
        if self._held is not None:
            self._held.enter_context(claimed(path))
        self._observer.archive(path)

    def scale_done(self, path: Path) -> None:
        if self._report:
            from dsbench.read import finish  # Late: as above.

            finish.write_tables(path)
        self._observer.scale_done(path)


def earlier(config: Path | None) -> dict[str, Any] | None:
    """Settings by name of the archive ``config``, a folder, zip or ``run.json``; ``None`` where it is a TOML file.

    Names that this version does not know are left out: they are those of another one. ``SpecError`` where there is
    no archive.
    """
    if config is None or not (config.is_dir() or config.suffix in (".zip", ".json")):
        return None
    try:
        asked = Archive.open(config).run.spec.described()
    except ArchiveError as error:
        raise SpecError("--config", str(error), error.remedy) from None
    values = {name: value for name, value in asked.items() if name in OPTIONS}
    target = dict(values.get("target", {}))
    # A password that stood in the authority may come from where it came before; in the query it cannot.
    target["url"] = str(target.get("url", "")).replace(":***@", "@")
    return {**values, "target": {name: value for name, value in target.items() if value is not None}}
