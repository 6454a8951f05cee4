"""Storage tools beside a run: what they say is read, and how well they foretell is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.measure import probes
from dsbench.spec.checks import PROBES
from dsbench.stats.effects import spearman
from dsbench.study import Study, outcomes, shown

BONNIE = "1.98,2.00a,vm,1,1795384314,128M,,8192,5,,,108200,7,146890,8,,,+++++,+++,14248,42" + "," * 19 + "50423us\n"
POSTMARK = [
    (0, b"PostMark\npm>Creating files..."), (5, b"Done\nPerforming trans"), (1_000_000_000, b"actions"), (1_100_000_000, b"."),
    (1_250_000_000, b"Done\nDeleting files..."), (2_000_000_000, b"Done\n\t1 seconds of transactions (10000 per second)\n"),
]


def test_fio_and_dd_measure_and_leave_nothing(tmp_path: Path) -> None:
    assert probes.installed("fio"), "apt-get install fio"
    with probes.folder_in(tmp_path) as folder:
        found = list(probes.run_tools(folder, ("dd", "fio")))
        assert list(folder.iterdir()) == []
    assert [one.tool for one in found] == ["dd", "dd", "fio", "fio", "fio"]
    assert all(one.value > 0 and one.unit in ("MiB/s", "1/s") for one in found)
    assert list(tmp_path.iterdir()) == []


def test_tools_are_run_after_the_last_cycle_that_was_made(tmp_path: Path) -> None:
    # As many transactions a cycle as the rate says: how busy the machine is moves no median.
    asked = {"scales": (1,), "cycles": 2, "max_cycles": 30, "precision": "50%", "duration": 0.3, "clients": 1}
    archive = dsbench.run(
        "private:sqlite", probes="dd", workload="select", rate=100, arrival="constant", out=tmp_path, **asked
    )
    made = max(archive.table("cycles")["cycle"].to_pylist())
    assert made < 30
    after = {row["cycle"] for row in archive.table("probes").to_pylist() if row["moment"] == "after"}
    assert after == {made}


def test_reports_of_tools_are_read() -> None:
    assert probes.bonnie_figures(BONNIE) == {
        "blocks written": (108200.0, "KiB/s"), "blocks rewritten": (146890.0, "KiB/s"), "seeks": (14248.0, "1/s")
    }, "what was read in no time is left out"
    assert probes.postmark_figures(POSTMARK) == {"transactions on small files": (40000.0, "1/s")}, "not its whole seconds"
    with pytest.raises(ValueError, match="cannot open"):
        probes.postmark_figures([(1, b"cannot open")])
    with pytest.raises(ValueError, match="after their end"):
        probes.postmark_figures([(1, b"".join(piece for _, piece in POSTMARK))])
    assert probes.fio_rate('note: x\n{"jobs": [{"read": {"iops": 12.5}}]}', "read") == 12.5


def test_tools_work_on_a_number_of_files(tmp_path: Path) -> None:
    said = "1.98,2.00a,vm,1,1795440139" + "," * 17 + "1,,,,,138,11,+++++,+++,+++++,+++,104,7,+++++,+++,9000,4,,,,,,,101ms"
    assert probes.bonnie_file_figures(said, 1024) == {
        "created at random, 1024 files": (104.0, "1/s"), "deleted at random, 1024 files": (9000.0, "1/s")
    }
    assert probes.tools("postmark:200,postmark:500,dd") == ("postmark:200", "postmark:500", "dd")
    for wrong in ("dd:5", "fio:1GiB", "postmark:0", "postmark:x", "postmark:", "postmark:1GiB", "bonnie++:9999999"):
        with pytest.raises(ValueError, match="accept a number of files"):
            probes.tools(wrong)
    assert probes.installed("postmark"), "apt-get install postmark"
    (found,) = probes.run_tools(tmp_path, ("postmark:50",))
    assert (found.tool, found.test, found.value > 0) == ("postmark", "transactions on small files, 50 files", True)


def test_tools_work_on_a_file_of_a_size(tmp_path: Path) -> None:
    assert probes.tools("dd:64GiB, bonnie++:2g") == ("dd:64GiB", "bonnie++:2g")
    for wrong in ("dd:1k", "bonnie++:99TiB", "dd:GiB"):
        with pytest.raises(ValueError, match="a file has 1MiB to 16TiB"):
            probes.tools(wrong)
    found = list(probes.run_tools(tmp_path, ("dd:2MiB", "bonnie++:64MiB")))
    assert [one.test for one in found[:2]] == ["written, 2MiB", "read, 2MiB"]
    by_character = {one.test: one for one in found}["characters written, 64MiB"]
    assert by_character.unit == "KiB/s"
    assert 10 < by_character.value < 10_000_000
    assert list(tmp_path.iterdir()) == []


def test_tools_are_named_or_all() -> None:
    assert tuple(probes._TOOLS) == PROBES
    assert probes.tools("none") == ()
    assert probes.tools("fio, dd") == ("fio", "dd")
    assert "dd" in probes.tools("all")
    with pytest.raises(ValueError, match="use none, all"):
        probes.tools("iozone")


def test_rank_correlation_is_spearmans() -> None:
    # Worked example of Kendall, Rank Correlation Methods (1948), table 1.1: mathematics and music, rho = 0.552.
    mathematics, music = [7, 4, 3, 10, 6, 2, 9, 8, 1, 5], [5, 7, 3, 10, 1, 9, 6, 2, 8, 4]
    one, other = np.array(mathematics, float), np.array(music, float)
    expected = 1 - 6 * ((one - other) ** 2).sum() / (10 * 99)
    assert spearman(one, other).rho == pytest.approx(expected)
    assert spearman(one, np.exp(one)).rho == pytest.approx(1)
    assert spearman(one, np.exp(one)).p < 0.001
    assert spearman(one, other).p > 0.1
    gap = np.array([1.0, np.nan, 2.0, 3.0])
    assert spearman(gap, -gap)[::2] == (pytest.approx(-1), 3)
    assert np.isnan(spearman(gap, np.ones(4)).rho)


def test_chance_alone_is_rarely_called_anything() -> None:
    random = np.random.default_rng(3)
    found = [spearman(random.normal(size=8), random.normal(size=8), draws=500).p for _ in range(200)]
    assert 0.01 < np.mean(np.array(found) <= 0.05) < 0.1


def test_a_study_tells_which_tool_foretells_the_rate(made: Study) -> None:
    found = outcomes(made)
    random = np.random.default_rng(5)
    tested = tuple(
        replace(one, probes={"fio: flushed": found.value(one) * 3, "dd: read": float(random.random())}, dsi=float("nan"))
        for one in found.made
    )
    text = shown.text(replace(found, made=tested))
    line = next(line for line in text.splitlines() if line.startswith("fio: flushed"))
    assert "+1.00 (p 0.0002; 17 trials)" in line
    assert "–" in line
    assert "rank correlation" not in shown.text(found)
