"""A run before it is made, settings in a file, and a run that is repeated."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dsbench import servers, spec
from dsbench.cli import example
from dsbench.measure.ahead import look_ahead
from dsbench.spec import OPTIONS
from fixtures.program import Program, only_archive

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_a_dry_run_shows_all_and_touches_nothing(called: Program, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('workload = "tpcc"\ncycles = 2\n')
    words = ["--config", "my.toml", "--scales", "1,10", "--clients", "4,8", "--duration", "30", "--keep", "--dry-run"]
    before = sorted(tmp_path.iterdir())
    brief = called("run", "postgresql://me:secret@nowhere.invalid/db", *words).stdout
    named = re.findall(r"^  (\w+) .*\)$", brief, re.MULTILINE)
    assert named == ["target", "workload", "scales", "cycles", "duration", "clients", "keep"], "what was chosen"
    assert re.search(r"^  and \d\d unchanged ones: --verbose shows them\nplan$", brief, re.MULTILINE)
    done = called("run", "postgresql://me:secret@nowhere.invalid/db", *words, "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    assert "secret" not in done.stdout
    for line in (
        r"target +postgresql://me:\*\*\*@nowhere.invalid/db +\(command line\)", r"workload +tpcc +\(my.toml\)",
        r"isolation +repeatable-read +\(default\)", r"retry +yes +\(default of the workload\)",
        r"scale 1: 599,\d+ rows, .* GB: build, load \(4 cycles of 30 s with 4,8 clients\), check, drop",
        r"scale 10: .* clients\), check", r"time: 4 min of load; .* to populate.*",
        r"space: .* GB to .* GB at scale 10, .*free space is known to the server only",
    ):  # fmt: skip
        assert re.search(f"^ *{line}$", done.stdout, re.MULTILINE), line
    done = called("run", "private:sqlite", *words[:-2], "--dry-run", "--json")
    document = json.loads(done.stdout)
    assert document["settings"]["cycles"] == {"value": 2, "origin": "my.toml"}
    assert document["load_s"] == pytest.approx(2 * 4 * 30.3)
    least, most = document["size_bytes"]
    assert 0 < least < most < document["free_bytes"]
    assert [stage["name"] for stage in document["scales"][1]["stages"]] == ["build", "load", "check", "drop"]
    assert sorted(tmp_path.iterdir()) == before


def test_the_time_of_vacuum_beyond_the_memory_is_in_the_estimate(called: Program) -> None:
    words = ["run", "private:postgresql", "--workload", "select", "--scales", "50", "--cycles", "3", "--duration", "15", "--dry-run"]
    whole = json.loads(called(*words, "--json").stdout)["clean_s"]
    small = json.loads(called(*words, "--limit", "memory=256MiB", "--json").stdout)["clean_s"]
    assert whole[0] == whole[1] == small[0] < 10, "what is in memory is read at once"
    assert 80 < small[1] < 200, "a sample of 30,000 pages from a slow disk, and all pages once: nothing is changed"
    changed = json.loads(called(*words, "--limit", "memory=256MiB", "--workload", "tpcb", "--json").stdout)["clean_s"]
    assert 200 < changed[1] < 600, "three samples, and all pages once"
    assert "of VACUUM and ANALYZE before cycles" in called(*words, "--limit", "memory=256MiB").stdout
    assert json.loads(called("run", "private:sqlite", *words[2:], "--json").stdout)["clean_s"] == [0, 0]


def test_gstat_and_cycles_beside_perf_are_in_the_estimate(called: Program) -> None:
    def estimate(product: str, *words: str) -> dict[str, Any]:
        size = ("--workload", "select", "--cycles", "3", "--duration", "15", "--clients", "1", "--dry-run", "--json")
        return json.loads(called("run", f"private:{product}", *size, *words).stdout)

    small, large = estimate("firebird", "--scales", "10"), estimate("firebird", "--scales", "1000")
    assert 0 < small["statistics_s"][0] < small["statistics_s"][1] < 60, "twice the whole database"
    assert large["statistics_s"] == [0, 0], "beyond 2 GiB it is left out"
    assert estimate("postgresql", "--scales", "10")["statistics_s"] == [0, 0]
    seen = estimate("firebird", "--scales", "10", "--perf", "all")
    assert seen["load_s"] - small["load_s"] == pytest.approx(4 * 15.3), "a cycle each"
    tried = estimate("firebird", "--scales", "10", "--find-ramp-up", "--clients", "1,2")
    plain = estimate("firebird", "--scales", "10", "--clients", "1,2")
    assert tried["load_s"] - plain["load_s"] == pytest.approx(2 * 15.3), "a trial of each number of clients"
    assert plain["statistics_s"][0] == pytest.approx(2 * small["statistics_s"][0]), "around each of them"


def test_checks_and_databases_that_grow_are_in_the_estimate(called: Program) -> None:
    def estimate(*words: str) -> dict[str, Any]:
        return json.loads(called("run", "private:postgresql", "--scales", "10,20", *words, "--dry-run", "--json").stdout)

    new, grown, reading = estimate(), estimate("--grow"), estimate("--grow", "--workload", "select")
    for one in (new, grown, reading):
        assert one["check_s"][0] == pytest.approx(3_000_330 / 900_000, rel=0.01)
        parts = ("populate_s", "check_s", "clean_s")
        assert one["time_s"] == pytest.approx([one["load_s"] + sum(one[part][n] for part in parts) for n in (0, 1)])
    # The rows of scale 10 are not written again; where the load has changed them they are set back.
    assert new["populate_s"][0] > grown["populate_s"][0] > reading["populate_s"][0]
    assert new["populate_s"][0] - reading["populate_s"][0] == pytest.approx(1_000_110 / 900_000, rel=0.01)


def test_a_version_that_is_not_here_is_known_to_a_dry_run(called: Program) -> None:
    done = called("run", "private:postgresql@9.4", "--dry-run")
    assert (done.returncode, "PostgreSQL" in done.stderr, "installed here" in done.stderr) == (2, True, True)


def test_rows_that_stages_of_load_add_are_in_the_estimate(called: Program) -> None:
    words = ["--workload", "insert", "--scales", "3", "--clients", "2", "--dry-run"]
    document = json.loads(called("run", "private:postgresql", *words, "--json").stdout)
    assert document["scales"][0]["rows"] == 2 * 3 * 100_000
    least, most = document["size_bytes"]
    assert 600_000 * 100 < least < most < 600_000 * 400
    assert "at scale 3, with the rows of its load" in called("run", "private:postgresql", *words).stdout


def test_a_dry_run_refuses_what_the_run_would(called: Program) -> None:
    for words, error in [
        (["private:oracle"], "no private server"), (["private:sqlite", "--pace", "terminals"], "--pace terminals"),
        (["private:sqlite", "--keep"], "--keep: private:sqlite ends with its run"),
    ]:  # fmt: skip
        done = called("run", *words, "--dry-run")
        assert (done.returncode, error in done.stderr) == (2, True), done.stderr


@pytest.fixture
def archive(called: Program, tmp_path: Path) -> Path:
    words = ["--scales", "2", "--cycles", "1", "--duration", "0.2", "--clients", "1,2", "--levels", "0.5,0.9"]
    assert called("run", "mock:?latency_us=300", *words, "--seed", "7", "-q", "--out", "out").returncode == 0
    return only_archive(tmp_path / "out")


def settings(called: Program, *words: str) -> dict[str, Any]:
    done = called("run", *words, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    return {name: one["value"] for name, one in json.loads(done.stdout)["settings"].items()}


def test_a_run_is_repeated_from_its_archive(called: Program, archive: Path, tmp_path: Path) -> None:
    alone = tmp_path / "copy.json"
    shutil.copy(archive / "run.json", alone)
    asked = json.loads(alone.read_text())["spec"]
    for config in (archive, Path(f"{archive}.zip"), archive / "run.json", alone):
        assert settings(called, "--config", str(config)) == asked
    changed = settings(called, "sqlite:///x.db", "--config", str(archive), "--cycles", "3")
    assert changed == {**asked, "cycles": 3, "target": {**asked["target"], "url": "sqlite:///x.db"}}
    assert called("run", "--config", str(archive), "--out", "again", "-q").returncode == 0
    assert json.loads((only_archive(tmp_path / "again") / "run.json").read_text())["spec"] == asked
    alone.write_text("{}")
    done = called("run", "--config", str(alone))
    assert (done.returncode, done.stderr.startswith("error: --config: ")) == (2, True)


def test_an_archive_of_a_private_server_gives_its_settings_to_no_other_target(called: Program, tmp_path: Path) -> None:
    asked = spec.build({"target": {"url": "private:postgresql", "settings": {"fsync": "off"}}}).described()
    asked["target"]["url"] = "private:postgresql"
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "spec": asked}))
    assert settings(called, "--config", "run.json")["target"]["settings"] == {"fsync": "off"}
    assert settings(called, "mock:", "--config", "run.json")["target"]["settings"] == {}
    hidden = {**asked, "target": {"url": "postgresql://me:***@host/db"}}
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "spec": hidden}))
    assert settings(called, "--config", "run.json", "--trust")["target"]["url"] == "postgresql://me@host/db"


def test_the_example_file_has_every_setting_explained_and_is_read(called: Program) -> None:
    shown = called("run", "--example-config").stdout
    assert shown == (DOCS / "run.toml").read_text() == example.text()
    assert spec.build({**tomllib.loads(shown), "seed": 1}) == spec.build({"seed": 1})
    for name, option in OPTIONS.items():
        (block,) = [block for block in shown.split("\n\n") if re.search(rf"^#?{name} = ", block, re.MULTILINE)]
        *words, line = block.strip().split("\n")
        assert all(word.startswith("# ") for word in words)
        assert option.about.help in " ".join(word.removeprefix("# ") for word in words)
        beside = {"terminals": {"pace": "terminals"}, "min_duration": {"precision": 2, "duration": 60}}.get(name, {})
        assert name in spec.build({**beside, **tomllib.loads(line.removeprefix("#"))}).described()


@pytest.mark.parametrize("product", servers.products())
def test_every_private_server_is_looked_ahead(product: str) -> None:
    ahead = look_ahead(spec.merged({"scales": (1, 2)}, target=f"private:{product}"))
    assert [one.scale for one in ahead.scales] == [1, 2]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("private:postgresql?shared_bufers=1GB", 'rejects the settings: unrecognized configuration parameter "shared_bufers"'),
        ("private:postgresql?work_mem=7XB", 'invalid value for parameter "work_mem": "7XB"'),
        ("private:mariadb?innodb_bufer_pool_size=1G", "rejects the settings: unknown variable 'innodb-bufer-pool-size=1G'"),
        ("private:mysql?innodb_buffer_pool_size=1X", "Unknown suffix 'X'"),
        ("private:firebird?Foo=1", "has no setting 'Foo'"),
        ("private:sqlite?synchronus=off", "has no setting 'synchronus'"),
    ],
)  # fmt: skip
def test_a_setting_that_the_server_does_not_take_is_refused_by_its_programs(called: Program, target: str, words: str) -> None:
    done = called("run", target, "--dry-run")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --set: ")
    assert words in done.stderr


def test_settings_that_the_server_takes_are_not_refused(called: Program) -> None:
    for target in (
        "private:postgresql?shared_buffers=1GB&log_line_prefix=%25m'\\&my.own=x", "private:mysql?innodb_buffer_pool_size=1G",
        "private:mariadb?storage_engine=RocksDB&rocksdb_block_cache_size=1G",
    ):  # fmt: skip
        done = called("run", target, "--dry-run")
        assert done.returncode == 0, done.stderr


def test_a_script_says_nothing_to_the_terminal(called: Program, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1; -- \x1b]0;owned\x07\x1b[2J\n")
    done = called("run", "mock:", "--script", "a.sql", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "owned" in done.stdout
    assert not {"\x1b", "\x07"}.intersection(done.stdout)
