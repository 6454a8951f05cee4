"""Energy by the counters of CPUs and memory, in a made-up sysfs, and by a meter that is a program of this test."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.measure.monitors import Sampler
from dsbench.measure.monitors.energy import Meter, Rapl
from dsbench.read.choice import make_choice
from dsbench.read.subjects.energy import EnergyResult
from dsbench.spec import RunSpec
from dsbench.spec.trust import risks
from dsbench.stats.resources import gains
from fixtures.program import Program

SECOND = 1_000_000_000


def _zone(root: Path, zone: str, name: str, energy_uj: int, range_uj: int = 1_000_000_000) -> Path:
    folder = root / zone
    folder.mkdir(parents=True)
    for file, text in (("name", name), ("energy_uj", energy_uj), ("max_energy_range_uj", range_uj)):
        (folder / file).write_text(f"{text}\n")
    return folder / "energy_uj"


def test_packages_and_memory_count_and_what_lies_in_them_does_not(tmp_path: Path) -> None:
    counters = [
        _zone(tmp_path, "intel-rapl:0", "package-0", 100), _zone(tmp_path, "intel-rapl:1", "package-1", 200),
        _zone(tmp_path, "intel-rapl:0:1", "dram", 50),
    ]  # fmt: skip
    twice = [
        _zone(tmp_path, "intel-rapl:0:0", "core", 70), _zone(tmp_path, "intel-rapl:0:2", "uncore", 1),
        _zone(tmp_path, "intel-rapl:2", "psys", 900), _zone(tmp_path, "intel-rapl-mmio:0", "package-0", 100),
    ]  # fmt: skip
    monitor = Rapl.readable(tmp_path)
    assert monitor is not None
    assert monitor.sample()[0] == ("energy", "J total", 0.0)
    for file, gained_uj in zip(counters, (3_000_000, 4_000_000, 500_000), strict=True):
        file.write_text(str(int(file.read_text()) + gained_uj))
    for file in twice:
        file.write_text("999999999")
    assert {name: value for name, _, value in monitor.sample()} == {
        "energy": 7.5, "energy of CPU packages": 7.0, "energy of memory": 0.5,
    }  # fmt: skip


def test_a_counter_that_begins_anew_goes_on(tmp_path: Path) -> None:
    counter = _zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000, range_uj=10_000_000)
    monitor = Rapl.readable(tmp_path)
    assert monitor is not None
    for now_uj, joules in ((9_500_000, 0.5), (1_500_000, 2.5), (500_000, 11.5)):
        counter.write_text(str(now_uj))
        assert monitor.sample() == [("energy", "J total", pytest.approx(joules))]


def test_without_a_counter_that_can_be_read_there_is_no_monitor(tmp_path: Path) -> None:
    assert Rapl.readable(tmp_path) is None
    _zone(tmp_path, "intel-rapl:0:0", "core", 1)
    assert Rapl.readable(tmp_path) is None
    _zone(tmp_path, "intel-rapl:0", "package-0", 1).unlink()
    assert Rapl.readable(tmp_path) is None


def _program(path: Path, code: str) -> str:
    path.write_text(code)
    return f"{sys.executable} {path}"


_STEADY = """import os, time
open({pid!r}, 'w').write(str(os.getpid()))
print('watts')
while True:
    print('50.0 W', flush=True)
    time.sleep(0.05)
"""


def test_a_meter_is_read_as_long_as_the_run_and_ended_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = _program(tmp_path / "meter.py", _STEADY.format(pid=str(pid)))
    archive = dsbench.run("mock:", scales=(1,), cycles=2, duration=0.5, clients=1, power=command, out=tmp_path)
    assert not Path(f"/proc/{pid.read_text()}").exists()
    found = archive.evaluate()
    # By the meter's own clock, whatever the machine does besides.
    assert found.of(EnergyResult).energy[1].watts == pytest.approx(50.0, rel=1e-6)
    assert found.of(EnergyResult).energy[1].of == "a meter"
    assert found.of(EnergyResult).energy[1].joules_per_transaction > 0
    chosen = make_choice("joules-per-transaction").read(found).value
    assert chosen == pytest.approx(found.of(EnergyResult).energy[1].joules_per_transaction, rel=1e-12)
    assert '<section id="energy"' in (archive.path / "report.html").read_text()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('no sensor'); raise SystemExit(3)", "exited with status 3: 'no sensor'"),
        ("import time\nprint('abc', flush=True)\nprint('-5', flush=True)\nprint('nan', flush=True)", "status 0: 'nan'"),
    ],
)
def test_a_meter_that_fails_is_one_clear_warning(code: str, why: str, tmp_path: Path) -> None:
    command = _program(tmp_path / "meter.py", code)
    archive = dsbench.run("mock:", scales=(1,), cycles=3, duration=0.1, clients=1, power=command, out=tmp_path)
    (said,) = [one.message for one in archive.run.warnings if one.code == "monitor"]
    assert why in said
    assert archive.evaluate().of(EnergyResult).energy == {}


def _open_meter(now_ns: list[int]) -> Meter:
    meter = Meter("cat", clock=lambda: now_ns[0])
    meter._process = type("Open", (), {"poll": lambda _: None})()  # type: ignore[assignment]
    return meter


def test_a_meter_that_falls_silent_is_no_reading() -> None:
    now_ns = [0]
    meter = _open_meter(now_ns)
    meter._take("100\n")
    now_ns[0] = 2 * SECOND
    assert meter.sample() == [("energy", "J total", 200.0)]
    meter._take("10\n")
    now_ns[0] = 4 * SECOND
    assert meter.sample() == [("energy", "J total", 220.0)]
    now_ns[0] = 13 * SECOND
    assert meter.sample() == []
    assert len(meter.notes) == 1


def test_a_reading_that_comes_after_a_sample_does_not_change_its_time() -> None:
    now_ns = [0]
    meter = _open_meter(now_ns)
    meter._take("40\n")
    now_ns[0] = SECOND
    assert meter.sample() == [("energy", "J total", 40.0)]
    now_ns[0] = SECOND + 20_000_000
    meter._take("40\n")
    assert meter.read_ns == SECOND, "the sample is of then, and the reading counts from the next one on"
    now_ns[0] = 2 * SECOND
    assert meter.sample() == [("energy", "J total", 80.0)]
    assert meter.read_ns == 2 * SECOND


def test_power_is_that_of_the_meter_however_long_the_sampler_waits_for_a_cpu() -> None:
    """The second sample is asked for after 2.00 s and made after 2.03 s, as on a machine without an idle CPU: 50 W for
    2.03 s are 101.5 J, and 101.5 J in 2.00 s would be 50.75 W."""
    now_ns, asked = [5 * SECOND], [0]
    meter = _open_meter(now_ns)
    meter._take("50\n")

    def look() -> int:
        """The clock of the sampler, which from the second time on waits for 30 ms after it has looked."""
        seen = now_ns[0]
        asked[0] += 1
        now_ns[0] += 30_000_000 if asked[0] > 1 else 0
        return seen

    sampler = Sampler([meter], clock=look)
    sampler._origin_ns = 5 * SECOND
    sampler._take([meter])
    now_ns[0] = 7 * SECOND
    sampler._take([meter])
    first, second = sampler._rows
    assert (first["at_ns"], first["value"]) == (0, 0.0)
    assert (second["at_ns"], second["value"]) == (2 * SECOND + 30_000_000, 101.5)
    found = gains(np.array([0, 0]), np.array([first["at_ns"], second["at_ns"]]), np.array([0.0, 101.5]), 2 * SECOND)
    assert found.gain[0] / found.span_s[0] == pytest.approx(50.0, rel=1e-12)


def test_counters_of_cpus_are_dated_in_the_middle_of_their_reading(tmp_path: Path) -> None:
    counter = _zone(tmp_path, "intel-rapl:0", "package-0", 0)
    monitor = Rapl.readable(tmp_path)
    assert monitor is not None
    ticks = iter([10 * SECOND, 10 * SECOND + 4_000, 12 * SECOND, 12 * SECOND + 20_000])
    monitor._clock = lambda: next(ticks)
    sampler = Sampler([monitor])
    sampler._take([monitor])
    counter.write_text("100000000")
    sampler._take([monitor])
    assert [(row["at_ns"], row["value"]) for row in sampler._rows] == [(10 * SECOND + 2_000, 0.0), (12 * SECOND + 10_000, 100.0)]


def test_what_a_meter_has_started_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    inner = _program(tmp_path / "inner.py", _STEADY.format(pid=str(pid)))
    meter = Meter(_program(tmp_path / "outer.py", f"import subprocess\nsubprocess.run({inner.split()!r})"))
    meter.start()
    try:
        assert meter.sample()
    finally:
        meter.end()
    for _ in range(600):  # A signal takes its time to be heard.
        if _has_ended(pid.read_text()):
            return
        time.sleep(0.05)
    pytest.fail("it goes on")


def _has_ended(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_meter_that_is_not_here_is_refused(called: Program, tmp_path: Path) -> None:
    done = called("run", "mock:", "--power", "no-such-meter --x", "--out", str(tmp_path))
    assert (done.returncode, "--power" in done.stderr, "no-such-meter" in done.stderr) == (2, True, True), done.stderr
    assert not list(tmp_path.iterdir())


def test_the_command_of_a_stranger_is_not_run(tmp_path: Path) -> None:
    spec = RunSpec(power="touch evil").described()
    assert risks(spec) == ("power = 'touch evil': a command",)
    assert risks({"run": {"power": "touch evil"}})
    assert risks({"factor": [{"name": "x", "path": "power", "levels": ["touch evil"]}]})
    assert risks(RunSpec().described()) == ()
