"""Archives side by side: labels, tables, doubts, the page and the diagram."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import ArchiveError
from dsbench.read.draw.curves import compared as diagram
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.several import shown
from dsbench.several.compare import Comparison, read
from dsbench.several.drawn import specs
from fixtures.archives import MS, STORED, bucket_rows, cycle_row, run_json, write
from fixtures.program import Program


def _archive(
    folder: Path, name: str, rates: dict[int, tuple[int, ...]], told: dict[str, str] | None = None, **more: Any
) -> Path:
    """A run with cycles of one second; ``rates`` gives by scale the transactions of each cycle."""
    asked = {"scales": list(rates), "cycles": 5, "duration": 1.0, **more.pop("spec", {})}
    asked["target"] = {"url": "private:postgresql", "settings": told or {}}
    rows = [
        cycle_row(scale, cycle, [MS] * count)
        for scale, counts in rates.items() for cycle, count in enumerate(counts, 1)
    ]  # fmt: skip
    return write(folder, run_json(asked, name=name, **more), {"cycles": rows}).path


REFERENCE = {1: (100, 110, 90, 104, 96), 10: (200,) * 5}


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """A reference, another version with one more scale, and the same with another setting and a failed check."""
    paths = [
        _archive(tmp_path, "first", REFERENCE),
        _archive(tmp_path, "second", {**{x: tuple(2 * n for n in ns) for x, ns in REFERENCE.items()}, 100: (7, 8, 9, 7, 9)},
                 server_version="PostgreSQL 18.6 on x86_64"),
        _archive(tmp_path, "third", REFERENCE, {"fsync": "off"},
                 checks={"1": [{"name": "sums", "state": "broken", "detail": "1"}]},
                 durability=[{"switch": "fsync", "value": "off", "safe": False, "meaning": ""}], host="pavonis"),
    ]  # fmt: skip
    return read(paths)


def test_labels_tell_archives_apart_in_few_words(three: Comparison, tmp_path: Path) -> None:
    assert three.labels == ("PostgreSQL 15.18", "PostgreSQL 18.6", "PostgreSQL 15.18, fsync off")
    moments = ("2026-11-21T10:00:00", "2026-11-21T10:00:00", "2026-11-21T12:30:00")
    again = [_archive(tmp_path / "x", f"r{n}", REFERENCE, started=at) for n, at in enumerate(moments)]
    assert read(again).labels == ("PostgreSQL 15.18, 10:00", "PostgreSQL 15.18, 10:00 (2)", "PostgreSQL 15.18, 12:30")
    clients = [_archive(tmp_path / "y", f"t{n}", REFERENCE, spec={"clients": n}) for n in (1, 8)]
    assert read(clients).labels == ("PostgreSQL 15.18, clients 1", "PostgreSQL 15.18, clients 8")
    peers = [_archive(tmp_path / "z", f"c{n}", REFERENCE, spec={"retry": n > 0, "driver": who})
             for n, who in enumerate(("own", "pgbench"))]  # fmt: skip
    assert read(peers).labels == ("PostgreSQL 15.18, driver own", "PostgreSQL 15.18, driver pgbench")


def test_labels_name_the_variant_of_a_product(tmp_path: Path) -> None:
    """What was set comes before how long it was measured, and a default is named like what was asked for."""

    def run(name: str, items: dict[str, str], **more: Any) -> Path:
        return _archive(tmp_path, name, REFERENCE, stack=[{"layer": "RDBMS", "items": items}], **more)

    firebird = {"engine": "firebird", "server_version": "Firebird 3.0.11"}
    maria = {"engine": "mysql", "server_version": "MariaDB 10.11.19 (10.11.19-MariaDB-0)"}
    named = read([
        run("a", {"server mode": "Classic"}, spec={"cycles": 2}, **firebird),
        run("b", {"server mode": "Super"}, **firebird),
        run("c", {"server mode": "Super"}, told={"page_size": "16384"}, spec={"cycles": 2}, **firebird),
        run("d", {}, embedded=True, engine="firebird", server_version="Firebird 5.0.4 (embedded)"),
        run("e", {"storage engine": "innodb"}, **maria),
        run("f", {"storage engine": "rocksdb"}, **maria),
    ])  # fmt: skip
    assert named.labels == (
        "Firebird 3.0.11 Classic", "Firebird 3.0.11 Super", "Firebird 3.0.11 Super, page_size 16384",
        "Firebird 5.0.4 embedded", "MariaDB 10.11.19 InnoDB", "MariaDB 10.11.19 MyRocks",
    )  # fmt: skip


def test_the_text_has_rates_and_factors_by_scale(three: Comparison) -> None:
    lines = [" ".join(line.split()) for line in shown.text(three).splitlines()]
    assert lines[:2] == [
        "1 of 3 runs is void (PostgreSQL 15.18, fsync off): the check failed at scale 1.",
        "PostgreSQL 18.6 is the fastest, 2.00 times as fast as PostgreSQL 15.18.",
    ]  # fmt: skip
    at = lines.index("A PostgreSQL 15.18")
    assert lines[at : at + 3] == ["A PostgreSQL 15.18", "B PostgreSQL 18.6", "C PostgreSQL 15.18, fsync off"]
    assert lines[at + 5] == "scale A B C", "before all warnings and figures"
    for line in ("1 100 200 –", "10 200 400 200", "100 – 8 –", "of scales 1–10 1–100 10–10"):
        assert line in lines, "the scale whose check failed is left out"
    assert "10 1 2.00▲ 1" in lines
    assert any(re.fullmatch(r"mean 1 2\.00▲ \[1\.\d\d–2\.\d\d\] –", line) for line in lines)
    assert "spec.target.settings.fsync default default off" in lines
    assert "server PostgreSQL 15.18 PostgreSQL 18.6 PostgreSQL 15.18" in lines
    warned = lines[lines.index("Warnings"):]
    assert "warning (C): NOT DURABLE: fsync off" in warned
    assert "warning (C): VOID, check failed at scale 1" in warned
    assert "warning: measured on several machines: pavonis, syrtis" in warned


def test_other_loads_and_workloads_are_doubted(tmp_path: Path) -> None:
    paths = [
        _archive(tmp_path, "one", REFERENCE, spec={"clients": 4}),
        _archive(tmp_path, "two", REFERENCE, spec={"clients": 16, "workload": "select"}),
    ]
    doubts = list(read(paths).warnings())
    assert any("the load differs: clients" in doubt for doubt in doubts)
    assert any("workloads differ" in doubt for doubt in doubts)
    same = [_archive(tmp_path / "x", name, REFERENCE) for name in ("one", "two")]
    assert list(read(same).apart()) == []


def test_where_the_rows_lie_is_no_other_work(tmp_path: Path) -> None:
    asked = {"spaces": "account:fast", "fillfactor": "account:50", "history": "hashed"}
    one, other, more = (
        _archive(tmp_path, name, REFERENCE, spec={"workload": "tp1", "workload_settings": settings})
        for name, settings in (("one", {}), ("other", asked), ("more", {**asked, "remote": "15"}))
    )
    found = read([one, other])
    assert found.load == []
    assert {f"spec.workload_settings.{name}" for name in asked} <= set(found.differences), "what differs is told all the same"
    assert read([one, more]).load == ["remote"]


def test_a_placement_that_each_run_chose_by_trial_is_no_other_load(tmp_path: Path) -> None:
    turns = {"free_tps": [1.0, 1.0], "follow_tps": [2.0, 2.0], "why": ""}
    paths = [
        _archive(tmp_path, name, REFERENCE, spec={"placement": name}, placement_tried=turns) for name in ("free", "follow")
    ]
    found = read(paths)
    assert found.load == []
    assert found.differences["spec.placement"] == ["free", "follow"], "what differs is told all the same"
    asked = _archive(tmp_path, "asked", REFERENCE, spec={"placement": "follow"})
    assert read([paths[0], asked]).load == ["placement"]


def test_the_doubts_of_each_archive_are_told(tmp_path: Path) -> None:
    """A cycle without one of its nodes lowers the rate: a comparison must not hide it."""
    first = _archive(tmp_path, "first", REFERENCE)
    other = {"ramp_up": 5.0, "pace": "terminals"}
    second = _archive(tmp_path, "second", REFERENCE, spec=other)
    warned = [{"code": "degraded", "message": "1 of 3 cycles", "scale": 10}]
    third = _archive(tmp_path, "third", REFERENCE, warnings=warned)
    doubts = list(read([first, second, third]).warnings())
    assert [line for line in doubts if line.endswith(": 1 of 3 cycles (scale 10)")] != []
    assert "the load differs: pace, ramp_up differ" in " ".join(doubts)


def test_every_number_of_threads_is_set_beside_its_like(tmp_path: Path) -> None:
    def sweep(name: str, factor: int) -> Path:
        rows = [cycle_row(1, 1, [MS] * 5 * factor, clients=2), cycle_row(1, 2, [MS] * 9, clients=4)]
        asked = {"scales": [1], "cycles": 1, "duration": 1.0, "clients": [2, 4], "label": name}
        return write(tmp_path, run_json(asked, name=name), {"cycles": rows}).path

    alone = _archive(tmp_path, "alone", {1: (27,)}, spec={"clients": 4, "cycles": 1})
    found = read([sweep("one", 1), sweep("two", 3), alone])
    two, four = found.sections
    assert (two.heading, four.heading) == ("clients 2", "clients 4")
    assert [one.medians for one in two.compared] == [{1: 5.0}, {1: 15.0}, {}]
    assert four.compared[2].relative[1].value == 3.0
    drawn = specs(found)["clients"]
    points = [(row["archive"], row["clients"], row["rate"]) for row in drawn["datasets"]["clients"]]
    assert [point[1:] for point in points] == [(2, 5), (4, 9), (2, 15), (4, 9)]


def test_runs_that_differ_in_their_threads_are_a_line_over_clients(tmp_path: Path) -> None:
    paths = [
        _archive(tmp_path, f"{isolation}{n}", {1: (n * 10,) * 2, 9: (n,) * 2}, spec={"clients": n, "isolation": isolation},
                 isolation=isolation)
        for isolation in ("read-committed", "serializable") for n in (1, 4, 64)
    ]  # fmt: skip
    rows = specs(read(paths))["clients"]["datasets"]["clients"]
    lines = {row["archive"] for row in rows}
    assert len(lines) == 2
    assert not any("clients" in line for line in lines)
    assert sorted(row["clients"] for row in rows) == [1, 1, 4, 4, 64, 64]


def test_the_bar_of_repeated_runs_is_that_of_all_their_cycles(tmp_path: Path) -> None:
    """Medians of 100 and 400: a point at their geometric mean, and a bar from the lowest cycle to the highest."""
    few, many = ({1: tuple(times * n for n in (90, 95, 100, 105, 110))} for times in (1, 4))
    paths = [
        _archive(tmp_path, f"{clients}-{number}", few if number == 1 else many, spec={"clients": clients})
        for clients in (2, 4) for number in (1, 2)
    ]  # fmt: skip
    rows = specs(read(paths))["clients"]["datasets"]["clients"]
    assert [(row["clients"], row["rate"], row["low"], row["high"]) for row in rows] == [
        (clients, pytest.approx(200), 90, 440) for clients in (2, 4)
    ]  # fmt: skip


def test_a_section_that_one_archive_has_alone_says_nothing_of_the_others(called: Program) -> None:
    """Of one client only the first has samples: the others have no 0 ms."""
    said = called("compare", *(str(STORED / f"{name}.zip") for name in ("sqlite-clients", "sqlite-tpcb", "mariadb"))).stdout
    (alone,) = re.findall(r"Time of a transaction at scale 5\n(.*?)\n\n", said, re.S)
    cells = [line.split("  ")[1:] for line in alone.splitlines()[1:]]
    assert all([cell.strip() for cell in line if cell.strip()][-2:] == ["–", "–"] for line in cells)


def test_a_stage_has_one_rate_in_its_diagram_and_in_its_table() -> None:
    """That of the measured clients, without what runs beside them."""
    kept = Path(__file__).parent.parent / "data/archives/insert.zip"
    found = read([kept, kept])
    section = found.sections[-1]
    assert section.heading == "stage qp100"
    drawn = {row["scale"]: row["rate"] for row in specs(found)["rate"]["datasets"]["rates"]}
    table = {x: found.stages.rate(0, found.stages.names.index(f"qp100, scale {x}")) for x in (1, 2)}
    assert drawn == section.compared[0].medians == table
    whole = section.evaluations[0][0].of(RateResult).cycle_rates
    assert all(float(whole[x][0]) > table[x] for x in table), "inserts and deletes ran beside"


def test_stages_are_no_numbers_of_threads(tmp_path: Path) -> None:
    """A run of one client has more clients in stages with work in the background: that is no line over clients."""
    kept = Path(__file__).parent.parent / "data/archives/insert.zip"
    assert "clients" not in specs(read([kept, kept]))

    def staged(clients: int) -> Path:
        stages = [{"name": name, "work": "load", "repeated": True} for name in ("first", "second")]
        rows = [cycle_row(1, n, [MS] * clients * 10 * n, stage=stage["name"], clients=clients) for n, stage in enumerate(stages, 1)]
        asked = {"scales": [1], "cycles": 1, "duration": 1.0, "clients": clients}
        return write(tmp_path, run_json(asked, name=f"t{clients}", stages=stages), {"cycles": rows}).path

    rows = specs(read([staged(1), staged(4)]))["clients"]["datasets"]["clients"]
    points = {(row["archive"].rpartition(", ")[2], row["clients"], row["rate"]) for row in rows}
    assert points == {("first", 1, 10), ("first", 4, 40), ("second", 1, 20), ("second", 4, 80)}


def test_new_orders_per_minute_are_what_is_compared_of_tpcc() -> None:
    kept = Path(__file__).parent.parent / "data/archives/mock-tpcc.zip"
    (section,) = read([kept, kept]).sections
    shown = section.evaluations[0][0].of(KindsResult).nopm[1]
    assert section.measure == shown.label == "NOPM, unpaced"
    assert section.compared[1].medians == {1: shown.median}
    drawn = specs(read([kept, kept]))["rate"]
    assert drawn["layer"][0]["encoding"]["y"]["axis"]["title"].startswith("New-Orders per minute (NOPM, unpaced)")


def test_what_somebody_changed_is_found_among_products(tmp_path: Path) -> None:
    """Four archives of two products: the one setting that was changed stands before all that only one product has."""
    maria = {"engine": "mysql", "server_version": "MariaDB 10.11.19"}
    paths = [
        _archive(tmp_path, "p1", REFERENCE), _archive(tmp_path, "p2", REFERENCE, {"work_mem": "8MB"}),
        _archive(tmp_path, "m1", REFERENCE, stack=[{"layer": "RDBMS", "items": {"page": "16K", "flush": "1"}}], **maria),
        _archive(tmp_path, "m2", REFERENCE, stack=[{"layer": "RDBMS", "items": {"page": "16K", "flush": "0"}}], **maria),
    ]  # fmt: skip
    lines = shown.text(read(paths)).splitlines()
    of = {name: next(n for n, line in enumerate(lines) if line.startswith(name)) for name in
          ("What differs", "server", "spec.target.settings.work_mem", "RDBMS.flush", "not all of them have", "RDBMS.page")}
    assert list(of) == sorted(of, key=lambda name: of[name])


def test_a_default_that_was_written_out_is_the_default(tmp_path: Path) -> None:
    known = {"settings": {"TimeZone": "UTC"}}
    spec = {"workload": "tpcc", "clients": 4}
    said = {**spec, "workload_settings": {"mix": "10,10,1,1,1", "size": "1"}, "ramp_up": 0.0}
    paths = [
        _archive(tmp_path, "one", REFERENCE, spec=spec, **known),
        _archive(tmp_path, "two", REFERENCE, {"fsync": "on"}, spec=said, **known),
    ]
    found = read(paths)
    assert [name for name in found.differences if name.startswith("spec.")] == []
    assert found.alike == {1}
    other = _archive(tmp_path, "three", REFERENCE, {"fsync": "off"}, settings={"fsync": "off"}, spec=spec)
    assert "spec.target.settings.fsync" in read([paths[0], other]).differences
    mix = {**spec, "workload_settings": {"mix": "44,44,4,4,4"}}
    assert read([paths[0], _archive(tmp_path, "four", REFERENCE, spec=mix, **known)]).load == ["mix"]


def test_repeated_runs_are_one_side_and_give_a_verdict(tmp_path: Path) -> None:
    def runs(label: str, *rates: int) -> list[Path]:
        return [_archive(tmp_path, f"{label}{rate}", {1: (rate,) * 5, 10: (rate,) * 5}, spec={"label": label}) for rate in rates]

    found = read([*runs("before", 100, 104), *runs("after", 201, 209), *runs("same", 102, 99)])
    assert found.labels == ("before (2 runs)", "after (2 runs)", "same (2 runs)")
    text = shown.text(found)
    assert "95% intervals by the spread between runs of the same settings (2 + 2 + 2 runs)" in text
    assert "B  faster: 2.01 times the rate of A [1.6" in text
    assert "C  cannot tell: 0.99 times the rate of A [0.8" in text
    once = read([runs("x", 100)[0], runs("y", 200)[0]])
    assert shown.text(once).startswith("y is 2.00 times as fast as x (2.00 to 2.00) over scales 1 to 10.\n")
    (verdict,) = shown.document(once)["sections"][0]["verdicts"].values()
    assert verdict.startswith("faster in this one pair of runs: 2.00 times the rate of x [2.00, 2.00] over scales 1-10. The spread between runs")


def test_the_index_of_repeated_runs_rests_on_the_ladder_alone(tmp_path: Path) -> None:
    """By hand: (6 / 2 + 4 / 2) / 2 = 2.5; with 900 tps at scale 32, which was put in between, it would be 2.74. Twice the
    rate at scale 10, halfway between its neighbours, adds lg 2 / 2."""
    def run(name: str, label: str, middle: int) -> Path:
        rates = {1: (1000,), 10: (middle,), 32: (900,), 100: (10,)}
        return _archive(tmp_path, name, rates, spec={"scales": [1, 10, 100], "refine": "cutoff", "label": label, "cycles": 1})

    found = read([run("a", "A", 1000), run("b", "A", 1000), run("c", "B", 2000), run("d", "B", 2000)])
    (section,) = found.sections
    alone = section.evaluations[0][0].of(RateResult).index.dsi
    first, second = section.dsi(0), section.dsi(1)
    assert alone
    assert first
    assert second
    assert alone.value == first.value == pytest.approx(2.5)
    assert second.value == pytest.approx(2.6505, abs=1e-4)
    assert section.dsi_parts(1) == {1: 0, 10: pytest.approx(0.1505, abs=1e-4), 100: 0}
    assert 32 in section.compared[1].relative, "its rates are compared all the same"
    lines = [" ".join(line.split()) for line in shown.text(found).splitlines()]
    assert "DSI 2.50 [2.50, 2.50] 2.65 [2.65, 2.65]" in lines
    assert "sum of these – +0.151" in lines


def test_times_failures_and_checks_stand_beside_the_rates(tmp_path: Path) -> None:
    def run(name: str, time_ns: int, failed: int, **more: Any) -> Path:
        rows = {"cycles": [cycle_row(1, 1, [time_ns] * 10, failed=failed)], "buckets": bucket_rows(1, 1, [time_ns] * 10)}
        asked = {"scales": [1], "cycles": 1, "duration": 1.0}
        return write(tmp_path, run_json(asked, name=name, **more), rows).path

    broken = {"1": [{"name": "sums", "state": "broken", "detail": "1"}]}
    found = read([run("one", 2 * MS, 0), run("two", 30 * MS, 10, checks=broken), run("three", MS, 0, checks={})])
    lines = [" ".join(line.split()) for line in shown.text(found).splitlines()]
    for line in ("1, p50 2 30 1", "1, p99 – – –", "1, max 2 30 1", "1 0.0% 50.0% 0.0%", "1 holds BROKEN not made"):
        assert line in lines
    assert not any("no verdict" in line for line in lines)
    assert shown.document(found)["sections"][0]["verdicts"]["PostgreSQL 15.18 (2)"].startswith("no verdict: no scale has a rate and a passed check")
    curves = specs(found)["freq"]["datasets"]["curves"]
    assert {row["archive"] for row in curves} == set(found.labels)


def test_a_percentile_that_too_few_transactions_tell_is_not_known_and_makes_no_ratio(tmp_path: Path) -> None:
    """A p99 takes 500 transactions, five beyond it."""
    def run(name: str, count: int, time_ns: int) -> Path:
        rows = {"cycles": [cycle_row(1, at, [time_ns] * count) for at in (1, 2, 3)],
                "buckets": [row for at in (1, 2, 3) for row in bucket_rows(1, at, [time_ns] * count)]}  # fmt: skip
        return write(tmp_path, run_json({"scales": [1], "cycles": 3, "duration": 1.0}, name=name), rows).path

    found = read([run("few", 166, 2 * MS), run("enough", 167, 30 * MS)])
    lines = [" ".join(re.sub(r"\[.*?\]", "", line).split()) for line in shown.text(found).splitlines()]
    for line in ("1, p50 2 30", "1, p95 2 30", "1, p99 – 30", "1, max 2 30"):
        assert line in lines, "498 and 501 transactions"
    assert [line for line in lines if line.startswith("1, p99")] == ["1, p99 – 30", "1, p99 1 –"], "times, and their ratios"
    few, enough = (one["scales"]["1"]["times_ms"] for one in shown.document(found)["sections"][0]["archives"])
    assert (few["p99"], few["p95"], enough["p99"]) == (None, 2.0, 30.0)


def test_the_document_holds_every_figure(three: Comparison) -> None:
    found = json.loads(json.dumps(shown.document(three), allow_nan=False))
    assert found["reference"] == "PostgreSQL 15.18"
    second = found["archives"][1]
    assert second["scales"]["10"] == {
        "rate_median_tps": 400.0, "relative": {"value": 2.0, "low": 2.0, "high": 2.0, "level": 0.95},
        "times_ms": dict.fromkeys(("p50", "p95", "p99", "max")),
        "times_within_ms": dict.fromkeys(("p50", "p95", "p99", "max")), "failed_share": 0.0, "check": "holds",
        "within_noise": False,
    }  # fmt: skip
    assert second["scales"]["100"]["relative"] is None
    assert second["relative_mean"]["value"] == pytest.approx(2.0)
    assert found["archives"][2]["relative_mean"] is None
    assert found["differences"]["spec.target.settings.fsync"] == ["", "", "off"]
    asked = ("NOT DURABLE", "VOID", "several machines")
    assert all(any(words in line for line in found["doubts"]) for words in asked)


def test_the_files_are_whole_and_load_nothing(three: Comparison) -> None:
    files = shown.files(three)
    drawn = [f"{stem}.{end}" for stem in ("comparison", "comparison-linear", "comparison-relative")
             for end in ("pdf", "svg", "vl.json")]
    assert sorted(files) == sorted([*drawn, "comparison.html", "comparison.json", "comparison.txt"])
    assert files["comparison.pdf"].startswith(b"%PDF")
    svg = files["comparison.svg"].decode()
    assert "PostgreSQL 15.18, fsync off" in svg
    page = files["comparison.html"].decode()
    assert "default-src 'none'" in page
    assert "95% intervals over the cycles of one run each" in page
    assert '<td class="ratio up3">2.00</td>' in page
    order = ('aria-label="Contents"', "is the fastest", 'class="ratio', "Warnings")
    assert sorted(order, key=page.index) == list(order)
    markup = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'<[^>]+(?:src|href)=(?!"#)', markup)


def test_other_workloads_have_no_verdict_and_that_comes_first(tmp_path: Path) -> None:
    paths = [_archive(tmp_path, name, REFERENCE, spec={"workload": name}) for name in ("tpcc", "tp1")]
    text = shown.text(read(paths))
    assert text.startswith("The workloads differ: their rates count different transactions.\n")
    assert "times the rate" not in text
    (verdict,) = shown.document(read(paths))["sections"][0]["verdicts"].values()
    assert verdict.startswith("no verdict, as the workloads differ: ")


def test_what_the_server_was_set_to_tells_archives_apart_though_nobody_asked_for_it(tmp_path: Path) -> None:
    paths = [
        _archive(tmp_path, name, REFERENCE, durability=[{"switch": "synchronous_commit", "value": name, "safe": True, "meaning": ""}])
        for name in ("on", "off")
    ]
    assert read(paths).labels == ("PostgreSQL 15.18, synchronous_commit on", "PostgreSQL 15.18, synchronous_commit off")


def test_the_order_is_that_of_the_paths_and_the_reference_comes_first(tmp_path: Path) -> None:
    paths = [_archive(tmp_path, name, REFERENCE, spec={"label": name}, started=f"2026-11-2{n}T10:00:00")
             for name, n in (("c", 1), ("a", 3), ("b", 2))]  # fmt: skip
    assert read(paths).labels == ("c", "a", "b")
    assert read(paths, "b").labels == read(paths, str(paths[2])).labels == ("b", "c", "a")
    with pytest.raises(ArchiveError, match="'x' is not one of the archives") as refused:
        read(paths, "x")
    assert refused.value.remedy.endswith("'c', 'a', 'b'")


def test_a_folder_of_archives_is_told_from_an_archive(called: Program, tmp_path: Path) -> None:
    for name in ("one", "two"):
        _archive(tmp_path / "archives", name, REFERENCE)
    for words in (("compare", "archives"), ("show", "archives"), ("show", "."), ("compare", "archives", "archives")):
        done = called(*words)
        assert done.returncode == 2
        assert "but a folder with 2 of them" in done.stderr
        assert "archives/two" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "it has no run.json" in called("show", "empty").stderr


def test_both_axes_are_logarithmic_and_every_archive_has_its_line(three: Comparison) -> None:
    drawn = specs(three)["rate"]
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


def test_the_command_prints_and_writes(called: Program, tmp_path: Path) -> None:
    paths = [str(_archive(tmp_path, name, REFERENCE)) for name in ("one", "two")]
    done = called("compare", *paths, "--out", "beside")
    assert done.returncode == 0, done.stderr
    assert "95% intervals over the cycles of one run each: the spread between runs is not included" in done.stdout
    assert done.stdout.startswith("Two runs with the same settings: one is 1.00 times as fast as ")
    assert " (0.92 to 1.09) over scales 1 to 10." in done.stdout
    assert (tmp_path / "beside/comparison.html").stat().st_size > 500_000
    shown = json.loads(called("compare", *paths, "--json").stdout)
    assert [archive["name"] for archive in shown["archives"]] == ["one", "two"]
    alone = called("compare", paths[0])
    assert alone.returncode == 2
    assert "compare needs at least two archives" in alone.stderr
    missing = called("compare", paths[0], "nowhere")
    assert missing.returncode == 2
    assert "no archive at nowhere" in missing.stderr


def test_systems_stand_beside_each_other(tmp_path: Path) -> None:
    """The paper, table 3: a column for each where they differ."""

    def run(name: str, memory: str, *disks: str) -> Path:
        core = {"CPU": "Core i5", "memory modules": memory}
        backend = {f"disk sd{'ab'[n]}": disk for n, disk in enumerate(disks)}
        stack = [{"layer": "core", "items": core}, {"layer": "storage backend", "items": backend}]
        return _archive(tmp_path, name, REFERENCE, stack=stack, host="syrtis")

    one, same, other = run("a", "1 × 8 GiB DDR3"), run("b", "1 × 8 GiB DDR3"), run("c", "2 × 8 GiB DDR4", "HDD", "SSD")
    apart = shown.document(read([one, other]))["systems"]
    assert apart["memory modules"] == ["1 × 8 GiB DDR3", "2 × 8 GiB DDR4"]
    assert apart["disk"] == ["", "HDD; SSD"]
    assert "MHz" not in apart, "no side tells it"
    assert "memory modules  1 × 8 GiB DDR3  2 × 8 GiB DDR4" in shown.text(read([one, other]))
    assert "\nSystems" not in shown.text(read([one, same])), "a terminal has them where they differ"
    assert "all of them" in shown.html(read([one, same]))


def test_another_version_of_dsbench_is_a_difference(tmp_path: Path) -> None:
    paths = [_archive(tmp_path, name, REFERENCE, dsbench=version) for name, version in (("a", "0.0.9"), ("b", "0.1.0"), ("c", "0.1.0"))]
    found = read(paths)
    assert len(found.sides) == 2, "they repeat nothing"
    assert found.changed["dsbench"] == ["0.0.9", "0.1.0"]
    assert "dsbench 0.0.9 0.1.0" in [" ".join(line.split()) for line in shown.text(found).splitlines()]
    assert not shown.text(read(paths[:2])).startswith("Two runs with the same settings")
