"""What programs have of dsbench: runs that are watched and stopped, and archives."""

from __future__ import annotations

import base64
import inspect
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dsbench
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.rate import RateResult
from fixtures.stalled import unless_stalled

ROOT = Path(__file__).parent.parent
FAST = "mock:?latency_us=500"
TINY: dict[str, Any] = {"scales": (1, 2), "cycles": 2, "duration": 0.3, "clients": 2, "seed": 1}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> dsbench.Archive:
    return dsbench.run(FAST, **TINY, out=tmp_path_factory.mktemp("archives"))


class Hears(dsbench.Silent):
    def __init__(self) -> None:
        self.moments: list[dsbench.Moment] = []
        self.rates: list[list[float]] = []
        self.handlers: set[Any] = set()
        self.done: list[Path] = []
        self.path: Path | None = None

    def archive(self, path: Path) -> None:
        self.path = path

    def moment(self, moment: dsbench.Moment) -> None:
        self.moments.append(moment)
        self.rates.append(list(moment.seconds))
        self.handlers.add(signal.getsignal(signal.SIGTERM))

    def scale_done(self, path: Path) -> None:
        self.done.append(path)
        assert (path / "results.txt").is_file()


def test_the_page_shows_what_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/library.md", "exec"), names)
    assert len(list((tmp_path / "archives").glob("*.zip"))) == 2


def test_a_run_gives_its_sealed_archive(archive: dsbench.Archive) -> None:
    assert archive.status == "complete"
    assert archive.path.with_name(archive.name + ".zip").is_file()
    assert (archive.path / "report.html").is_file()
    # Where the clients were is what the run found, for there is nothing to try in so short a cycle.
    assert archive.spec == dsbench.specify(FAST, **TINY, placement="free")
    assert sorted(archive.evaluate().of(RateResult).cycle_rates) == [1, 2]
    assert archive.table("cycles").num_rows == 2 * 2 * 2
    packed = dsbench.open(str(archive.path) + ".zip")
    assert packed.table("cycles").equals(archive.table("cycles"))
    assert "with 2 clients at scale" in str(packed)


@unless_stalled
def test_an_observer_hears_rates_second_by_second(tmp_path: Path) -> None:
    hears = Hears()
    spec = dsbench.specify(FAST, scales=(1,), cycles=1, duration=2.5, clients=2)
    left = dsbench.TimeLeft(spec)
    archive = dsbench.run(spec, out=tmp_path, observer=hears)
    assert (hears.path, hears.done) == (archive.path, [archive.path])
    cycle = [moment for moment in hears.moments if moment.phase == "cycle"]
    # What happens between two looks is taken as even, so that a second is only known so well.
    rates = hears.rates[hears.moments.index(cycle[-1])]
    assert len(rates) == 2
    measured = archive.evaluate().of(CourseResult).seconds[1][:, 0]
    assert rates == pytest.approx(list(measured[:2]), rel=0.5)
    assert cycle[-1].rate_tps == pytest.approx(cycle[-1].done / cycle[-1].elapsed_s)
    assert hears.moments[0].rate_tps == 0
    assert 0 <= left.seconds(cycle[-1]) < 2.5


def test_a_run_is_stopped_from_another_thread(tmp_path: Path) -> None:
    stop, found = dsbench.Stop(), []
    hears = Hears()

    def make() -> None:
        found.append(dsbench.run(FAST, **{**TINY, "duration": 60}, out=tmp_path, observer=hears, stop=stop))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=make)
    thread.start()
    while not any(moment.phase == "cycle" for moment in hears.moments):
        thread.join(0.05)
        assert thread.is_alive()
    stop.request("enough")
    thread.join(60)
    (archive,) = found
    assert (archive.status, archive.run.reason) == ("cut-short", "enough")
    assert archive.path.with_name(archive.name + ".zip").is_file()
    assert hears.handlers == {before}
    # The wish stays: another run that has the same stop ends as soon.
    assert dsbench.run(FAST, **{**TINY, "duration": 60}, out=tmp_path / "next", stop=stop).status == "cut-short"


def test_signals_are_heard_unless_the_caller_stops_the_run(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    for stop, theirs in ((None, False), (dsbench.Stop(), True), (dsbench.Stop(signals=True), False)):
        hears = Hears()
        dsbench.run(FAST, **TINY, out=tmp_path / str(stop), observer=hears, stop=stop)
        assert (hears.handlers == {before}) == theirs
        assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_ends_the_run_and_raises_what_it_left(tmp_path: Path) -> None:
    class Signals(dsbench.Silent):
        def moment(self, moment: dsbench.Moment) -> None:
            if moment.phase == "cycle" and moment.cycle == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(dsbench.RunError, match="SIGINT") as stopped:
        dsbench.run(FAST, **TINY, out=tmp_path, observer=Signals())
    assert stopped.value.archive is not None
    assert str(stopped.value.archive) in stopped.value.remedy
    assert dsbench.open(stopped.value.archive).status == "cut-short"
    assert dsbench.resume(stopped.value.archive).status == "complete"


def test_a_failed_run_raises_and_leaves_what_it_measured(tmp_path: Path) -> None:
    class Breaks(dsbench.Silent):
        def moment(self, moment: dsbench.Moment) -> None:
            if moment.phase == "check":
                raise dsbench.RunError("the disk is on fire", "put it out")

    with pytest.raises(dsbench.RunError, match="on fire") as failed:
        dsbench.run(FAST, **TINY, out=tmp_path, observer=Breaks())
    assert failed.value.archive is not None
    left = dsbench.open(failed.value.archive)
    assert (left.status, left.table("cycles").num_rows) == ("failed", 4)


def test_where_nothing_was_begun_there_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(dsbench.RunError) as refused:
        dsbench.run("postgresql://nobody@127.0.0.1:1/x", **TINY, out=tmp_path)
    assert refused.value.archive is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "option"),
    [({"cycle": 3}, "cycle"), ({"cycles": 0}, "--cycles"), ({"workload": "tpcz"}, "--workload"),
     ({"settings": {"mxi": "1"}, "target": "mock:"}, "--set"), ({"profile": "fast"}, "--profile")],
)  # fmt: skip
def test_what_cannot_be_asked_is_named(options: dict[str, Any], option: str) -> None:
    with pytest.raises(dsbench.SpecError) as refused:
        dsbench.specify(**options)
    assert refused.value.option == option


def test_a_whole_specification_takes_no_options() -> None:
    with pytest.raises(dsbench.SpecError, match="cycles"):
        dsbench.run(dsbench.specify(FAST), cycles=3)


def test_a_specification_merges_profile_file_target_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'workload = "tpcc"\nduration = 5\nclients = "2,4"\n[target]\nurl = "private:postgresql"\nversion = "18"\n'
        '[target.settings]\nfsync = "off"\n'
    )
    spec = dsbench.specify(config=file, duration=7, settings={"affinity": "off", "work_mem": "8MB"}, profile="dsi")
    assert (spec.duration, spec.several_clients, spec.cycles, spec.profile) == (7, (2, 4), 10, "dsi")
    assert spec.workload_settings == {"affinity": "off"}
    assert spec.target == dsbench.Target(
        url="private:postgresql", version="18", settings={"fsync": "off", "work_mem": "8MB"}
    )
    assert dsbench.specify(dsbench.Target(url="mock:")).profile == "quick"
    assert dsbench.specify("mock:", cycles=1).profile == "quick"
    whole = {"scales": (1,), "cycles": 1, "duration": 1, "clients": 1}
    assert dsbench.specify("mock:", **whole).profile == ""


def test_a_table_that_is_none_is_refused(archive: dsbench.Archive) -> None:
    with pytest.raises(dsbench.ArchiveError, match="cycle") as refused:
        archive.table("cycle")
    assert "cycles" in refused.value.remedy
    assert archive.table("nodes").num_rows == 0


def test_data_frames_come_from_packages_that_may_be_missing(
    archive: dsbench.Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"pip install {package}, or take the Arrow table"):
            getattr(archive, package)("cycles")
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: table))  # type: ignore[arg-type]
    assert archive.polars("cycles").equals(archive.table("cycles"))


def test_a_notebook_shows_summary_and_diagrams_that_load_nothing(archive: dsbench.Archive) -> None:
    shown = archive._repr_mimebundle_()
    assert shown["text/plain"] == archive.summary()
    html = shown["text/html"]
    pictures = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert [base64.b64decode(picture).decode() for picture in pictures] == list(archive.diagrams().values())
    assert list(archive.diagrams()) == ["rate", "cycle", "freq", "conf"]
    assert "populate [s]" in html
    assert not re.search(r"<script|<link|@import|https?://", html)
    assert archive._repr_html_() == html
    assert set(archive._repr_mimebundle_(include={"text/html"})) == {"text/html"}
    assert set(archive._repr_mimebundle_(exclude={"text/html"})) == {"text/plain"}


def test_every_public_name_is_there_and_documented() -> None:
    for name in dsbench.__all__:
        found = getattr(dsbench, name)
        assert inspect.getdoc(found), name
        assert name in dir(dsbench)
        for method, member in inspect.getmembers(found, inspect.isfunction):
            if not method.startswith("_") and member.__module__.startswith("dsbench"):
                assert inspect.getdoc(member), f"{name}.{method}"
    assert callable(dsbench.run)
    with pytest.raises(AttributeError, match="runs"):
        _ = dsbench.runs  # type: ignore[attr-defined]


def test_importing_it_takes_no_time() -> None:
    asked = "import sys, dsbench; print([name for name in sys.modules if name.startswith(('dsbench.', 'pyarrow'))])"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout.strip() == "['dsbench.release']"
