"""What decides whether a figure may be compared: the questions of McDonell's checklist (AUUGN 8, 1987, section 4),
answered for a run of any workload from what its archive knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from dsbench import workloads
from dsbench.archive import RunRecord
from dsbench.archive.conditions import say_conditions
from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.naming import listed, pacing, way
from dsbench.read.subject import Result, Subject, computed
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.rate import RateResult

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

Verdict = Literal["good", "beware", "told", "not known"]
"""``told``: an answer that is neither good nor bad in itself."""

NOT_KNOWN: Final = "not known"
_BURST_S: Final = 30.0
"""After so long Linux writes a changed page of its cache (vm.dirty_expire_centisecs): the sync of today."""
_SHOWN: Final = 8
"""So many settings are named, others counted."""


@dataclass(frozen=True)
class Answer:
    """One question, as this run answers it."""

    question: str
    answer: str
    source: str
    """What of the archive tells."""
    verdict: Verdict


def checklist(run: RunRecord, evaluation: Evaluation) -> tuple[Answer, ...]:
    """Every question with its answer, in the order of the list; what the archive does not tell is ``not known``."""
    parts = tuple(evaluation.series.values()) or (evaluation,)
    found = [
        _rows(run), _sizes(run, evaluation), _history(run), _logging(run), _duplexed(run), _promised(run),
        _deadlocks(run, parts), _noticed(run), _interval(run, parts), _rate(run), _concurrency(run, evaluation),
        _file_system(run), _tuning(run), _terminals(run), _way(run), _remote(run, parts), _within(parts),
    ]  # fmt: skip
    return tuple(found)


def _unknown(question: str, source: str, why: str = "") -> Answer:
    return Answer(question, f"{NOT_KNOWN}: {why}" if why else NOT_KNOWN, source, "not known")


def _keeps_nothing(run: RunRecord) -> bool:
    return run.engine == "mock"


def _rows(run: RunRecord) -> Answer:
    question, source = "How large are the rows?", "the workload"
    entry = run.workload
    inserted = [f"{one.row_bytes:g} bytes of data in a row of {one.name}" for one in entry.kinds if one.row_bytes]
    words = entry.data.row_data or workloads.find(entry.name).data.row_data or ", ".join(inserted)
    least, most = entry.data.row_bytes
    stored = f"{least} to {most} bytes each on disk with keys, by product" if most else ""
    said = "; ".join(part for part in (words, stored) if part)
    return Answer(question, said, source, "told") if said else _unknown(question, source)


def _sizes(run: RunRecord, evaluation: Evaluation) -> Answer:
    question, source = "How large is the database compared with memory?", "table phases, run.json: marks"
    sizes = {row.scale: row.database_size_gb
        for row in evaluation.of(RateResult).scales if np.isfinite(row.database_size_gb)}
    if _keeps_nothing(run):
        return Answer(question, "the engine keeps no data", source, "told")
    if not sizes:
        return _unknown(question, source, "no database was measured")
    least, most = min(sizes.values()), max(sizes.values())
    size = f"{least:.3g} GB" if least == most else f"{least:.3g} to {most:.3g} GB"
    ram = float(run.marks.get("RAM", np.nan)) / 1e9
    caches = "".join(f", {name} {bytes_ / 1e9:.3g} GB" for name, bytes_ in run.marks.items() if name not in _MEMORY)
    if not np.isfinite(ram):
        return Answer(question, f"{size}{caches}; the memory of its machine is {NOT_KNOWN}", source, "not known")
    fitting = [scale for scale, gb in sizes.items() if gb <= ram]
    against = f"{size} compared with RAM {ram:.3g} GB{caches}{_rated(run, evaluation)}"
    if len(fitting) == len(sizes):
        fits = "every scale fits into memory, so reads do not reach the storage"
        return Answer(question, f"{against}: {fits}", source, "beware")
    beyond = listed(scale for scale in sizes if scale not in fitting)
    return Answer(question, f"{against}: larger than memory at scale {beyond}", source, "good")


def _rated(run: RunRecord, evaluation: Evaluation) -> str:
    """What the database is made for and what was made, where a unit of scale is that of one transaction per second
    (point 2 of the list); the parts of such a workload ask for no size."""
    rates = {scale: rate for scale, (_, rate) in _best(run, evaluation).items() if rate > scale}
    if run.workload.unit.name != _RATED or not run.workload.meaning.parts or not rates:
        return ""
    scale = max(rates)
    return f", scale {scale:,} is sized for {scale:,} tps, but the rate was {rates[scale]:,.0f} tps"


_MEMORY: Final = frozenset({"RAM", "swap"})
_RATED: Final = "rated tps"
"""The unit of scale of a workload whose database has to grow with the rate."""


def _history(run: RunRecord) -> Answer:
    question = "How is the history organized?"
    if setting := next((one for one in run.workload.settings if one.name == "history"), None):
        given = run.spec.workload_settings
        value = str(given.get("history", setting.default))
        meaning = next((part for part in setting.help.split("; ") if part.startswith(f"{value}: ")), value)
        begun = f"; {given.get('before', '0')} rows for each unit of scale before the first transaction"
        return Answer(question, meaning + begun, "the workload's settings", "told")
    words = run.workload.data.history
    known = bool(run.workload.kinds)
    if not words and not known:
        return _unknown(question, "the workload")
    return Answer(question, words or "its transactions write no history", "the workload", "told")


def _logging(run: RunRecord) -> Answer:
    question, source = "Is every commit logged and flushed?", "run.json: durability"
    if _keeps_nothing(run):
        return Answer(question, "the engine keeps no data", source, "told")
    if not run.durability:
        return _unknown(question, source, "the server reports no durability settings")
    shown = ", ".join(f"{one.switch} {one.value}" for one in run.durability)
    if not run.unsafe:
        return Answer(question, f"yes, as its settings promise: {shown}", source, "good")
    named = "; ".join(f"{one.switch} {one.value}: {one.meaning}" for one in run.unsafe)
    return Answer(question, f"NOT DURABLE: {named}", source, "beware")


def _duplexed(run: RunRecord) -> Answer:
    """The list's last point names a log on two devices."""
    question, source = "Is the log written to two devices?", "run.json: stack"
    if _keeps_nothing(run):
        return Answer(question, "the engine keeps no data", source, "told")
    if copy := run.spec.target.settings.get("second_log"):
        words = f"each commit waits for a second log in {copy}; whether that is on another device is not recorded"
        return Answer(question, words, "run.json: spec.target", "told")
    device = run.item("storage backend", "device")
    if any(level in device for level in ("(raid1)", "(raid10)")):
        return Answer(question, f"the device of the data is a mirror: {device}", source, "good")
    return _unknown(question, source, "no mirror is visible below the data; mirroring within the disk is not visible")


def _promised(run: RunRecord) -> Answer:
    question, source = "Was it tested that commits survive?", "run.json: promised"
    found = run.promised
    if found is None:
        why = "test the target: dsbench check TARGET --durability --out FILE, then dsbench run --checked FILE"
        return _unknown(question, source, why)
    words = f"checked on {found.at[:10]}: {found.verdict}"
    doubts = [f"with other settings than here: {', '.join(found.differs)}"] if found.differs else []
    doubts += [found.suspicion] if found.suspicion else []
    good = found.holds and not doubts
    return Answer(question, "; but ".join([words, *doubts]), source, "good" if good else "beware")


def _count_attempts(part: Evaluation) -> int:
    if part.has_clients:
        return sum(load.attempts for load in part.rows.load.values())
    return sum(row.transactions + row.failed for row in part.of(RateResult).scales)


def _deadlocks(run: RunRecord, parts: tuple[Evaluation, ...]) -> Answer:
    question = "Are deadlocks prevented, or their transactions resubmitted?"
    source = "table errors, run.json: spec.retry"
    failed = sum(row.failed for part in parts for row in part.of(RateResult).scales)
    attempts = sum(map(_count_attempts, parts))
    if not attempts:
        return _unknown(question, source, "no cycle was finished")
    if not failed:
        why = "; the engine allows one writing transaction at a time" if run.dialect.single_writer else ""
        return Answer(question, f"no attempt failed{why}", source, "good")
    classes: Counter[str] = Counter()
    for part in parts:
        for errors in part.of(ErrorsResult).errors.values():
            classes.update(errors)
    named = ", ".join(f"{name} {count:,}" for name, count in classes.most_common(3))
    what = f"{failed:,} of {attempts:,} attempts failed" + (f" ({named})" if named else "")
    if run.spec.retry:
        return Answer(question, f"{what} and were retried", source, "good")
    return Answer(question, f"{what} and were not retried (--retry)", source, "beware")


def _noticed(run: RunRecord) -> Answer:
    question, source = "Are lost updates detected?", "run.json: checks"
    if _keeps_nothing(run):
        return Answer(question, "the engine keeps no data", source, "told")
    if run.broken:
        return Answer(question, f"conditions are VIOLATED at scale {listed(run.broken)}", source, "beware")
    if run.spec.existing:
        words = "the tables are not dsbench's: no condition for them is known"
        return Answer(question, words, source, "told")
    unchecked = [scale for scale in run.spec.scales if scale not in run.checks]
    if not run.checks:
        return Answer(question, "no scale was checked", source, "beware")
    made = say_conditions(one for found in run.checks.values() for one in found)
    held = f"{made}, on the whole database at scale {listed(sorted(run.checks))}"
    if unchecked:
        held += f"; not checked at scale {listed(unchecked)}"
    return Answer(question, held, source, "beware" if unchecked or run.unmade else "good")


def _interval(run: RunRecord, parts: tuple[Evaluation, ...]) -> Answer:
    """A rating over less than the server or the system needs to write its changed pages is a burst."""
    question, source = "Is the interval long enough for a checkpoint or a sync?", "tables cycles, groups and monitors"
    by_scale: dict[int, list[float]] = {}
    for part in parts:
        for scale, seconds in part.of(RateResult).durations_s.items():
            by_scale.setdefault(scale, []).extend(seconds.tolist())
    lengths = [seconds for seconds in by_scale.values() if seconds]
    if not lengths:
        return _unknown(question, source, "no cycle was finished")
    cycles, shortest, stretch = sum(map(len, lengths)), min(map(min, lengths)), min(map(sum, lengths))
    length = f"{counted(cycles, 'cycle')}, the shortest of {shortest:.3g} s, {stretch:.3g} s in all at a scale"
    if _keeps_nothing(run):
        return Answer(question, f"{length}; the engine writes nothing", source, "told")
    counted_in = [found for part in parts for found in part.of(MachineResult).checkpoints.values()]
    if begun := sum(len(found) for found in counted_in):
        return Answer(question, f"{length}; the server began a checkpoint in {begun} of them", source, "good")
    if counted_in:
        burst = f"{length}; the server began no checkpoint in any: a burst rating, which may not be sustained"
        return Answer(question, burst, source, "beware")
    if stretch < _BURST_S:
        why = f"less than the {_BURST_S:.0f} s after which the system writes back its cache: a burst rating"
        return Answer(question, f"{length}; {why}, which may not be sustained", source, "beware")
    return Answer(question, f"{length}; the server counts no checkpoints", source, "told")


def _rate(run: RunRecord) -> Answer:
    headline = run.workload.headline
    words = (
        "committed transactions that ended within a cycle, divided by its duration (--duration; for cycles that "
        "end by count, the time from the first start to the last end); a scale has the median of its cycles"
    )
    if headline.label != "tps":
        words = f"{headline.about}; tps: {words}"
    return Answer(f"What does {headline.label} mean?", words, "the workload, docs/method.md", "told")


def _concurrency(run: RunRecord, evaluation: Evaluation) -> Answer:
    question, source = "Was the number of clients chosen or swept?", "run.json: spec.clients, table cycles"
    numbers = run.spec.client_numbers
    nodes = f" on each of {run.spec.nodes} nodes" if run.spec.nodes > 1 else ""
    if len(numbers) < 2:
        clients = counted(numbers[0], "client") + nodes
        return Answer(question, f"chosen: {clients}; another number may be faster", source, "told")
    best = _best(run, evaluation)
    if not best:
        return _unknown(question, source, "no cycle was finished")
    told = ", ".join(f"at scale {scale} with {clients:,}" for scale, (clients, _) in best.items())
    swept = f"swept: {listed(numbers)} clients{nodes}; the highest rate {told}"
    if any(clients == max(numbers) for clients, _ in best.values()):
        return Answer(question, f"{swept}, the maximum: more may be faster", source, "beware")
    return Answer(question, swept, source, "good")


def _best(run: RunRecord, evaluation: Evaluation) -> dict[int, tuple[int, float]]:
    """By scale, the clients with the highest median rate, and that rate in tps; of a search what it found."""
    if run.spec.peak:
        return {x: (one.clients, one.rate_tps) for x, one in evaluation.of(RateResult).peaks.items()}
    found: dict[int, tuple[int, float]] = {}
    for part in tuple(evaluation.series.values()) or (evaluation,):
        for row in part.of(RateResult).scales:
            if row.rate_median_tps > found.get(row.scale, (0, -1.0))[1]:
                found[row.scale] = part.clients, row.rate_median_tps
    return dict(sorted(found.items()))


def _file_system(run: RunRecord) -> Answer:
    question, source = "Which file system holds the data?", "run.json: stack"
    if _keeps_nothing(run):
        return Answer(question, "the engine keeps no data", source, "told")
    kind = run.item("file system", "type")
    if not kind:
        return _unknown(question, source, run.item("file system", "server"))
    block, device = run.item("file system", "block size"), run.item("storage backend", "device")
    parts = [kind, run.item("file system", "options"), block and f"blocks of {block}", device and f"on {device}"]
    unsafe = [one for one in run.unsafe if one.switch in ("file system", "mount option")]
    return Answer(question, "; ".join(part for part in parts if part), source, "beware" if unsafe else "told")


def _tuning(run: RunRecord) -> Answer:
    asked = run.spec.described()
    sent = {"procedure": "procedures", "statements": "statements"}.get(run.call or asked.get("call") or "", NOT_KNOWN)
    prepared = "yes" if asked.get("prepare") else "no"
    ways = [f"isolation {run.in_force}", f"sent as {sent}", f"prepared: {prepared}", f"placement {asked['placement']}"]
    settings = {**run.settings, **run.spec.target.settings}
    named = [f"{name} {value}" for name, value in islice(sorted(settings.items()), _SHOWN)]
    more = f" and {len(settings) - _SHOWN} more" if len(settings) > _SHOWN else ""
    server = f"not at default: {', '.join(named)}{more}" if named else "the server reports no other settings"
    return Answer("Which tuning options are in effect?", "; ".join([*ways, server]), "run.json: settings, spec", "told")


def _terminals(run: RunRecord) -> Answer:
    simulated = run.spec.pace == "terminals"
    asked = next((one for one in run.workload.settings if one.name == "terminal"), None)
    kind = run.spec.workload_settings.get("terminal", asked.default) if asked else ""
    if asked and kind != asked.default:
        words = (f"one for each client, in {kind} mode, without keying and think times; local sockets replace their "
                 "lines")
        return Answer("Are there terminals?", words, "the workload's settings", "told")
    words = pacing(run) + ("" if simulated else ": no terminals, without keying and think times")
    return Answer("Are there terminals?", words, "run.json: spec", "told")


def _way(run: RunRecord) -> Answer:
    question, source = "How do transactions reach the server?", "run.json: stack"
    if _keeps_nothing(run):
        return Answer(question, "they do not leave the client", source, "told")
    found = way(run)
    nodes = f", from {counted(run.spec.nodes, 'remote node')}" if run.spec.nodes else ""
    return Answer(question, f"{found}{nodes}", source, "told") if found else _unknown(question, source)


def _remote(run: RunRecord, parts: tuple[Evaluation, ...]) -> Answer:
    question, source = "How many transactions reach another branch or unit of scale?", "table cycles"
    remote = run.workload.remote
    if remote is None:
        asked = next((one for one in run.workload.settings if one.name == "remote"), None)
        words = f"none, as requested: {asked.help}" if asked else "the workload has no rule for it"
        return Answer(question, words, "the workload", "told")
    # Where a unit of scale has several branches, there are others at scale 1 as well.
    shares = [share for part in parts
        for scale, share in part.of(ErrorsResult).remote_share.items() if scale > 1 or share]
    if not shares:
        return _unknown(question, source, "there is one unit only, or no cycle was finished")
    least, most = min(shares), max(shares)
    inside = remote.least <= least and most <= remote.most
    words = f"{least:.1%} to {most:.1%} {remote.what}; required are {remote.least:.0%} to {remote.most:.0%}"
    return Answer(question, words, source, "good" if inside else "beware")


def _within(parts: tuple[Evaluation, ...]) -> Answer:
    """Response times count where there are any: the list asks for 95% within a second, as people see it."""
    question, source = "Do 95% end within a second?", "table buckets"
    curves = [curve for part in parts
        for curve in (part.of(LatencyResult).response or part.of(LatencyResult).frequency).values()]
    times = [time_s for curve in curves if isfinite(time_s := curve.told(0.95) / 1e9)]
    if not times:
        return _unknown(question, source, "too few transactions" if curves else "")
    worst, few = max(times), len(curves) - len(times)
    without = f"; too few transactions in {few} of {len(curves)} series and scales" if few else ""
    return Answer(question, f"95% end within {worst:.3g} s{without}", source, "good" if worst <= 1 else "beware")


_NOTE: Final = (
    "The questions are those of K. J. McDonell's list of pitfalls (AUUG Newsletter, 1987). Stated: neither "
    "good nor bad, but must be the same for figures that are compared."
)
_COLUMNS: Final = tuple(Column(name, left=True) for name in ("question", "answer", "source", "verdict"))
_VERDICTS: Final = {"beware": "attention", "told": "stated"}


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """A question and its answer, with the verdict."""
    found: Sequence[Answer] = evaluation.of(ChecklistResult).checklist
    rows = [(one.question, one.answer, one.source, _VERDICTS.get(one.verdict, one.verdict))
            for one in found]  # fmt: skip
    wrong = frozenset(at for at, one in enumerate(found) if one.verdict == "beware")
    yield Table("Whether the figures can be compared", _COLUMNS, rows, wrong)
    yield Sentence(_NOTE, "note")


def _read(evaluation: Evaluation) -> tuple[Answer, ...]:
    return checklist(evaluation.run, evaluation)


class ChecklistResult(Result):
    checklist = computed(_read, whole=_read)


SUBJECT: Final = Subject(
    "checklist", "Checklist", ChecklistResult, tell=_tell,
)
