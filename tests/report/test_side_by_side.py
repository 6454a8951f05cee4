"""Archives side by side: labels, tables, doubts, the page and the diagram."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dsbench.evaluation.side_by_side import Comparison, read
from dsbench.report import several
from dsbench.report.diagrams.compared import compared as diagram
from dsbench.report.several import spec
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program


def _archive(
    folder: Path, name: str, rates: dict[int, tuple[int, ...]], settings: dict[str, str] | None = None, **more: Any
) -> Path:
    """A run with cycles of one second; ``rates`` gives by scale the transactions of each cycle."""
    asked = {"scales": list(rates), "cycles": 3, "duration": 1.0, **more.pop("spec", {})}
    asked["target"] = {"url": "private:postgresql", "settings": settings or {}}
    rows = [
        cycle_row(scale, cycle, [MS] * count)
        for scale, counts in rates.items() for cycle, count in enumerate(counts, 1)
    ]  # fmt: skip
    return write(folder, run_json(asked, name=name, **more), {"cycles": rows}).path


OWN = "doubts of its own report"
REFERENCE = {1: (100, 110, 90), 10: (200, 200, 200)}


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """A reference, another version with one more scale, and the same with another setting and a failed check."""
    paths = [
        _archive(tmp_path, "first", REFERENCE),
        _archive(tmp_path, "second", {**{x: tuple(2 * n for n in ns) for x, ns in REFERENCE.items()}, 100: (7, 8, 9)},
                 server_version="PostgreSQL 18.6 on x86_64"),
        _archive(tmp_path, "third", REFERENCE, {"fsync": "off"},
                 checks={"1": [{"name": "sums", "holds": False, "detail": "1"}]},
                 durability=[{"switch": "fsync", "value": "off", "safe": False, "meaning": ""}], host="pavonis"),
    ]  # fmt: skip
    return read(paths)


def test_labels_tell_archives_apart_in_few_words(three: Comparison, tmp_path: Path) -> None:
    assert three.labels == ("PostgreSQL 15.18", "PostgreSQL 18.6", "PostgreSQL 15.18, fsync off")
    again = [_archive(tmp_path / "x", name, REFERENCE) for name in ("one", "two", "three")]
    assert read(again).labels == ("PostgreSQL 15.18", "PostgreSQL 15.18 (2)", "PostgreSQL 15.18 (3)")
    threads = [_archive(tmp_path / "y", f"t{n}", REFERENCE, spec={"threads": n}) for n in (1, 8)]
    assert read(threads).labels == ("PostgreSQL 15.18, threads 1", "PostgreSQL 15.18, threads 8")


def test_labels_name_the_variant_of_a_product(tmp_path: Path) -> None:
    """What was set comes before how long it was measured, and a default is named like what was asked for."""

    def run(name: str, items: dict[str, str], **more: Any) -> Path:
        return _archive(tmp_path, name, REFERENCE, stack=[{"layer": "RDBMS", "items": items}], **more)

    firebird = {"engine": "firebird", "server_version": "Firebird 3.0.11"}
    maria = {"engine": "mysql", "server_version": "MariaDB 10.11.19 (10.11.19-MariaDB-0)"}
    named = read([
        run("a", {"server mode": "Classic"}, spec={"cycles": 2}, **firebird),
        run("b", {"server mode": "Super"}, **firebird),
        run("c", {"server mode": "Super"}, settings={"page_size": "16384"}, spec={"cycles": 2}, **firebird),
        run("d", {}, embedded=True, engine="firebird", server_version="Firebird 5.0.4 (embedded)"),
        run("e", {"storage engine": "innodb"}, **maria),
        run("f", {"storage engine": "rocksdb"}, **maria),
    ])  # fmt: skip
    assert named.labels == (
        "Firebird 3.0.11 Classic", "Firebird 3.0.11 Super", "Firebird 3.0.11 Super, page_size 16384",
        "Firebird 5.0.4 embedded", "MariaDB 10.11.19 InnoDB", "MariaDB 10.11.19 MyRocks",
    )  # fmt: skip


def test_the_text_has_rates_and_factors_by_scale(three: Comparison) -> None:
    lines = [" ".join(line.split()) for line in several.text(three).splitlines()]
    assert lines[:3] == ["A PostgreSQL 15.18", "B PostgreSQL 18.6", "C PostgreSQL 15.18, fsync off"]
    for line in ("1 100 200 –", "10 200 400 200", "100 – 8 –", "of scales 1–10 1–100 10–10"):
        assert line in lines, "the scale whose check failed is left out"
    assert "10 1 2.00 [2.00, 2.00] 1" in lines
    assert "100 – – –" in lines
    assert any(re.fullmatch(r"mean 1 2\.00 \[1\.\d\d, 2\.\d\d\] –", line) for line in lines)
    assert "spec.target.settings.fsync off" in lines
    assert "server PostgreSQL 15.18 PostgreSQL 18.6 PostgreSQL 15.18" in lines
    assert "doubt: PostgreSQL 15.18, fsync off: NOT DURABLE: fsync off" in lines
    assert "doubt: PostgreSQL 15.18, fsync off: VOID, check failed at scale 1" in lines
    assert "doubt: measured on several machines: pavonis, syrtis" in lines


def test_other_loads_and_workloads_are_doubted(tmp_path: Path) -> None:
    paths = [
        _archive(tmp_path, "one", REFERENCE, spec={"threads": 4}),
        _archive(tmp_path, "two", REFERENCE, spec={"threads": 16, "workload": "select"}),
    ]
    doubts = list(read(paths).warnings())
    assert any("the load is not the same: threads" in doubt for doubt in doubts)
    assert any("workloads differ" in doubt for doubt in doubts)
    same = [_archive(tmp_path / "x", name, REFERENCE) for name in ("one", "two")]
    assert [line for line in read(same).warnings() if OWN not in line] == []


def test_the_doubts_of_each_archive_are_told(tmp_path: Path) -> None:
    """A cycle without one of its nodes lowers the rate: a comparison must not hide it."""
    first = _archive(tmp_path, "first", REFERENCE)
    other = {"ramp_up": 5.0, "workload_settings": {"mix": "45,43,4,4,4"}, "pace": "terminals"}
    second = _archive(tmp_path, "second", REFERENCE, spec=other)
    warned = [{"code": "degraded", "message": "1 of 3 cycles", "scale": 10}]
    third = _archive(tmp_path, "third", REFERENCE, warnings=warned)
    doubts = list(read([first, second, third]).warnings())
    assert [line for line in doubts if OWN in line and "degraded at 10" in line] != []
    assert "the load is not the same: pace, ramp_up, mix differ" in " ".join(doubts)


def test_one_number_of_threads_of_several_is_named(tmp_path: Path) -> None:
    rows = [cycle_row(1, 1, [MS] * 5, threads=2), cycle_row(1, 2, [MS] * 9, threads=4)]
    asked = {"scales": [1], "cycles": 1, "duration": 1.0, "threads": [2, 4]}
    sweep = write(tmp_path, run_json(asked, name="numbers"), {"cycles": rows}).path
    doubts = " ".join(read([sweep, _archive(tmp_path, "one", REFERENCE)]).warnings())
    assert "its rates are those of 4 threads; those of 2 stand in its own report" in doubts


def test_the_document_holds_every_figure(three: Comparison) -> None:
    found = json.loads(json.dumps(several.document(three), allow_nan=False))
    assert found["reference"] == "PostgreSQL 15.18"
    second = found["archives"][1]
    assert second["scales"]["10"] == {
        "rate_median_tps": 400.0, "relative": {"value": 2.0, "low": 2.0, "high": 2.0, "level": 0.95}
    }  # fmt: skip
    assert second["scales"]["100"]["relative"] is None
    assert second["relative_mean"]["value"] == pytest.approx(2.0)
    assert found["archives"][2]["relative_mean"] is None
    assert found["differences"]["spec.target.settings.fsync"] == ["", "", "off"]
    assert len([line for line in found["doubts"] if OWN not in line]) == 3


def test_the_files_are_whole_and_load_nothing(three: Comparison) -> None:
    files = several.files(three)
    assert sorted(files) == [f"comparison.{end}" for end in ("html", "json", "pdf", "svg", "txt", "vl.json")]
    assert files["comparison.pdf"].startswith(b"%PDF")
    svg = files["comparison.svg"].decode()
    assert "PostgreSQL 15.18, fsync off" in svg
    page = files["comparison.html"].decode()
    assert "default-src 'none'" in page
    assert "Relative to PostgreSQL 15.18, 95 % interval" in page
    markup = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<[^>]+(?:src|href)=", markup)


def test_both_axes_are_logarithmic_and_every_archive_has_its_line(three: Comparison) -> None:
    drawn = spec(three)
    assert drawn is not None
    line = drawn["layer"][0]["encoding"]
    assert (line["x"]["scale"]["type"], line["y"]["scale"]["type"]) == ("log", "log")
    assert line["color"]["scale"]["domain"] == list(three.labels)
    assert len(set(line["color"]["scale"]["range"])) == 3
    rows = drawn["datasets"]["rates"]
    (row,) = [row for row in rows if (row["archive"], row["scale"]) == ("PostgreSQL 18.6", 1)]
    assert {name: row[name] for name in ("rate", "low", "high")} == {"rate": 200, "low": 180, "high": 220}
    assert row["beside"] == pytest.approx(1, rel=1e-6), "the middle one stands on its scale"
    assert not any(row["archive"].endswith("fsync off") and row["scale"] == 1 for row in rows)


def test_twenty_archives_do_not_look_alike() -> None:
    labels = [f"archive {n}" for n in range(20)]
    drawn = diagram(labels, [{1: (10.0, 9.0, 11.0)} for _ in labels], "Twenty", [])
    assert drawn is not None
    line = drawn["layer"][0]["encoding"]
    looks = list(zip(line["color"]["scale"]["range"], map(str, line["strokeDash"]["scale"]["range"]), strict=True))
    assert len(set(looks)) == 20
    assert diagram(["nothing"], [{1: (0.0, 0.0, 0.0)}], "Nothing", []) is None


def test_the_command_prints_and_writes(dsbench: Program, tmp_path: Path) -> None:
    paths = [str(_archive(tmp_path, name, REFERENCE)) for name in ("one", "two")]
    done = dsbench("compare", *paths, "--out", "beside")
    assert done.returncode == 0, done.stderr
    assert "rate relative to A" in done.stdout
    assert (tmp_path / "beside/comparison.html").stat().st_size > 500_000
    shown = json.loads(dsbench("compare", *paths, "--json").stdout)
    assert [archive["name"] for archive in shown["archives"]] == ["one", "two"]
    alone = dsbench("compare", paths[0])
    assert alone.returncode == 2
    assert "name two or more" in alone.stderr
    missing = dsbench("compare", paths[0], "nowhere")
    assert missing.returncode == 2
    assert "no archive at nowhere" in missing.stderr
