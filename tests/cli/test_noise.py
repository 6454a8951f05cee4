"""``dsbench noise``: equal runs on this machine, what is kept of them, and who says so later."""

from __future__ import annotations

import itertools
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsbench import caches, study
from dsbench.cli import noise as command
from dsbench.library import ab
from dsbench.library import noise as library
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer, Silent
from dsbench.measure.run import Outcome
from dsbench.several import noise, relative
from dsbench.several.compare import read
from dsbench.spec import RunSpec, SpecError, merged
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program
from fixtures.stalled import unless_stalled


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What is kept is kept here."""
    monkeypatch.setattr(caches, "folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "noise"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[RunSpec]:
    """Runs that are only asked for, of about 500 transactions in each cycle."""
    asked: list[RunSpec] = []
    scatter = itertools.cycle([0, 9, -7, 12, -14, 3, 5, -2])

    def perform(spec: RunSpec, out: Path, _observer: Observer, _stop: Stop | None) -> Outcome:
        asked.append(spec)
        run = run_json({**spec.described(), "duration": 1.0}, name=f"run{len(asked):02}")
        rows = [cycle_row(spec.scales[0], cycle + 1, [MS] * (500 + next(scatter))) for cycle in range(spec.cycles)]
        return Outcome(write(out, run, {"cycles": rows}).path, "complete")

    monkeypatch.setattr(ab, "perform_apart", perform)
    return asked


def asked_of(target: str) -> RunSpec:
    return merged({"scales": (2,), "cycles": 3, "duration": 1.0}, target=target).spec


def measured(out: Path, target: str = "private:sqlite", **more: Any) -> noise.Noise:
    spec = asked_of(target)
    options = {"databases": 3, "starts": 2, "watch_s": 0.0, **more}
    found, error = library.measure(spec, out, observer=lambda _spec: Silent(), **options)
    assert error is None
    assert found is not None
    noise.keep(spec, found)
    return found


def test_databases_starts_and_cycles_are_repeated(made: list[RunSpec], tmp_path: Path) -> None:
    found = measured(tmp_path)
    assert found.scatter.shape == (3, 2, 3)
    before, *rest = made[:3]
    assert (before.cycles, before.keep) == (1, True), "it makes the database"
    assert all((one.reuse, one.cycles, one.seed) == (True, 3, before.seed) for one in rest)
    assert len({one.seed for one in made}) == 3, "each database has its own"
    assert 0.005 < found.of_run(one_database=False).value < 0.05
    assert found.mean_tps == pytest.approx(501, rel=0.02)


def test_a_server_of_somebody_else_gets_a_database_for_each_run(made: list[RunSpec], tmp_path: Path) -> None:
    found = measured(tmp_path, "mock:")
    assert found.scatter.shape == (6, 1, 3)
    assert not found.shares_database
    assert not any(one.keep or one.reuse for one in made)
    text = "".join(str(block) for block in found.tell())
    assert "--one-database" not in text


def test_what_is_kept_is_said_before_a_comparison_and_a_study(
    made: list[RunSpec], called: Program, tmp_path: Path
) -> None:
    found = measured(tmp_path / "noise")
    within = max(found.finds(20, one_database=False) or 0, 0.02)
    assert made
    words = ("--scales", "2", "--cycles", "3", "--duration", "1", "--dry-run")
    told = called("ab", "private:sqlite", "private:sqlite?synchronous=OFF", *words)
    assert told.returncode == 0, told.stderr
    assert f"of {within:.1%} within 20" in told.stdout
    assert "noise of this machine" not in called("ab", "private:sqlite", "mock:", *words).stdout
    assert "noise of this machine" not in called("ab", "private:sqlite", "private:sqlite", *words, "--clients", "2").stdout
    file = tmp_path / "study.toml"
    file.write_text(
        "name = 'sync'\n[run]\ntarget = 'private:sqlite'\nscales = [2]\ncycles = 3\nduration = 1.0\n[[factor]]\n"
        "name = 'sync'\npath = 'target.settings.synchronous'\nlevels = ['FULL', 'OFF']\n"
    )
    planned, ahead = study.begin(study.read(file), tmp_path / "study")
    wanted = study.estimate(planned, ahead).visible
    assert wanted is not None
    assert wanted > 1
    assert f"effects of a factor of {wanted:.2f} and more" in called("study", "run", str(file), "--dry-run").stdout


def test_a_comparison_of_single_runs_says_what_equal_ones_differ_by(made: list[RunSpec], tmp_path: Path) -> None:
    def told(name: str, times: float, repeat: int = 1, host: str = platform.node()) -> list[str]:
        paths = []
        for label, rate in (("a", 500), ("b", round(500 * times))):
            for number in range(repeat):
                asked = {**asked_of("private:sqlite").described(), "label": label, "cycles": 6}
                run = run_json(asked, name=f"{label}{number}", host=host)
                rows = [cycle_row(2, cycle + 1, [MS] * (rate + cycle)) for cycle in range(6)]
                paths.append(write(tmp_path / name, run, {"cycles": rows}).path)
        return list(relative.answer(read(paths)).dangers)

    assert not any("dsbench noise" in line for line in told("before", 1.02)), "nothing is known"
    spread = measured(tmp_path).scatter.of_run(6, one_database=False)
    assert spread is not None
    limit = np.exp(4.303 * np.sqrt(2) * spread.value)  # Three databases: Student's t of two degrees of freedom.
    (line,) = [line for line in told("near", 1.02) if "dsbench noise" in line]
    assert f"differ by less than {limit - 1:.1%} (dsbench noise" in line
    for name, more in (("far", {"times": 1.5}), ("elsewhere", {"times": 1.02, "host": "other"}), ("often", {"times": 1.02, "repeat": 2})):
        assert not any("dsbench noise" in line for line in told(name, **more)), name


def test_earlier_measurements_are_a_level_of_their_own(made: list[RunSpec], cache: Path, tmp_path: Path) -> None:
    for number in range(3):
        found = measured(tmp_path / str(number))
    assert made
    assert len(found.earlier) == 2
    (kept,) = cache.iterdir()
    assert len(json.loads(kept.read_text())["measurements"]) == 3
    assert "time (3 measurements)" in str(list(found.tell()))
    noise.keep(asked_of("private:sqlite"), replace(found, earlier=()))
    assert len(json.loads(kept.read_text())["measurements"]) == 3, "it is the same measurement"
    wrong = json.loads(kept.read_text())
    wrong["measurements"][0]["rates_tps"] = [[[1.0]]]
    kept.write_text(json.dumps(wrong))
    assert noise.known(asked_of("private:sqlite")) is None, "nothing was repeated"
    kept.write_text("{")
    assert noise.known(asked_of("private:sqlite")) is None


def test_a_level_that_was_not_repeated_is_not_told(made: list[RunSpec], tmp_path: Path) -> None:
    one = measured(tmp_path / "one", databases=1, starts=4)
    assert made
    assert one.known == (True,)
    assert one.finds(10, one_database=False) is None
    assert one.sentence().startswith("The spread of equal runs on one database is ")
    each = measured(tmp_path / "each", databases=4, starts=1)
    assert each.known == (False,)
    assert each.document()["of_run"]["one_database"] is None


def test_servers_are_told_apart() -> None:
    urls = ("private:postgresql", "postgresql://me@a/x", "postgresql://me@b/x")
    assert len({json.dumps(noise.same(asked_of(url))) for url in urls}) == 3
    assert noise.same(asked_of("private:sqlite")) == noise.same(asked_of("private:sqlite?synchronous=OFF"))


def test_it_goes_on_after_the_complete_databases(
    made: list[RunSpec], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = asked_of("private:sqlite")
    perform = ab.perform_apart

    def failing(*given: Any) -> Outcome:
        if len(made) >= 4:
            raise RunError("the server ended", "look at its log")
        return perform(*given)

    monkeypatch.setattr(ab, "perform_apart", failing)
    options: dict[str, Any] = {"databases": 3, "starts": 2, "watch_s": 0.0, "observer": lambda _spec: Silent()}
    found, error = library.measure(spec, tmp_path, **options)
    assert str(error) == "the server ended"
    assert found is not None
    assert found.scatter.shape == (1, 2, 3)
    with pytest.raises(SpecError, match="1 of 3 databases of an unfinished measurement"):
        library.measure(spec, tmp_path, **options)
    monkeypatch.setattr(ab, "perform_apart", perform)
    whole, error = library.measure(spec, tmp_path, **options, resume=True)
    assert error is None
    assert whole is not None
    assert whole.rates[0] == found.rates[0], "of the archives that are there"
    assert len(made) == 4 + 6
    with pytest.raises(SpecError, match="measures something else"):
        library.measure(spec.model_copy(update={"clients": 2}), tmp_path, **options, resume=True)
    other = merged({"scales": (2,), "cycles": 3, "duration": 1.0}, target="private:sqlite?synchronous=OFF").spec
    with pytest.raises(SpecError, match="measures something else"):
        library.measure(other, tmp_path, **options, resume=True)
    with pytest.raises(SpecError, match="no measurement to continue"):
        library.measure(spec, tmp_path / "none", **options, resume=True)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--scales", "1,2"), "--scales"),
        (("--clients", "1,2"), "--clients"),
        (("--precision", "2%"), "--precision"),
        (("--cycles", "1"), "--cycles"),
        (("--databases", "1", "--starts", "1"), "--databases, --starts"),
        (("--resume",), "--resume"),
        (("--json", "--as", "markdown"), "--as"),
    ],
)
def test_what_has_no_noise_is_refused(words: tuple[str, ...], option: str, called: Program) -> None:
    done = called("noise", "private:sqlite", *words)
    assert done.returncode == 2
    assert f"error: {option}" in done.stderr
    assert "hint: " in done.stderr


@unless_stalled
def test_real_runs_of_embedded_sqlite(called: Program, cache: Path, tmp_path: Path) -> None:
    words = ("--databases", "2", "--starts", "2", "--cycles", "2", "--duration", "0.3", "--scales", "1", "--watch", "3")
    done = called("noise", "private:sqlite", *words, "--out", str(tmp_path / "o"), "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    found = noise.read(json.loads(done.stdout))
    assert found.scatter.shape == (2, 2, 2)
    assert found.watched is not None
    assert found.watched.seconds == 3
    assert found.costs.start > 0
    assert "CPU time of other programs" in found.looked
    assert len(list((tmp_path / "o").glob("*.zip"))) == 4
    assert noise.read(json.loads((tmp_path / "o" / "noise.json").read_text())).rates == found.rates
    assert len(list(cache.iterdir())) == 1
    markdown = called("noise", "private:sqlite", *words, "--out", str(tmp_path / "o"), "--resume", "--as", "markdown", "-q")
    assert markdown.returncode == 0, markdown.stderr
    assert "The spread of equal runs is" in markdown.stdout


def test_a_plan_says_how_many_runs_and_how_long(called: Program) -> None:
    done = called("noise", "private:postgresql", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "plan: 8 x 4 runs of 3 cycles" in done.stdout
    assert command.EPILOG.startswith("Examples: ")
