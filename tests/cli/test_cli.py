"""The command line as its users meet it: results, errors, help."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dsbench.cli.errors import told
from fixtures import archives
from fixtures.program import Program, only_archive
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

TINY = ["--scales", "1,2", "--cycles", "2", "--duration", "0.5", "--clients", "2"]


def test_a_run_ends_with_verdict_table_and_report(dsbench: Program, called: Program, tmp_path: Path) -> None:
    done = dsbench("run", *TINY, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "Verdict" in done.stdout
    report = next(line for line in done.stdout.splitlines() if line.startswith("report: "))
    assert (tmp_path / report.removeprefix("report: ")).is_file()
    archive = only_archive(tmp_path / "out")
    names = {path.name for path in archive.iterdir()}
    for stem in ("rate", "cycle", "freq", "conf"):
        assert f"results-{stem}.vl.json" in names
    assert {"results.txt", "results.csv", "results.log", "report.html", "run.json", "cycles.parquet"} <= names
    with zipfile.ZipFile(f"{archive}.zip") as pack:
        assert {Path(name).name for name in pack.namelist()} == names
    for shape in (str(archive), f"{archive}.zip"):
        shown = called("show", shape, "--json")
        assert len(json.loads(shown.stdout)["scales"]) == 2


def test_a_run_without_a_report_is_read_and_drawn_later(called: Program, tmp_path: Path) -> None:
    done = called("run", "mock:?latency_us=200", *TINY, "--quiet", "--report", "none", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    archive = only_archive(tmp_path / "out")
    assert f"complete: {archive.relative_to(tmp_path)}" in done.stdout
    assert not [path.name for path in archive.iterdir() if path.name.startswith(("report", "results."))
                and path.name != "results.log"]  # fmt: skip
    shown = json.loads(called("show", str(archive), "--json").stdout)
    assert [row["scale"] for row in shown["scales"]] == [1, 2]
    drawn = called("plot", str(archive))
    assert drawn.returncode == 0, drawn.stderr
    assert {"report.html", "results.txt", "results-rate.svg"} <= {path.name for path in archive.iterdir()}
    with zipfile.ZipFile(f"{archive}.zip") as pack:
        assert f"{archive.name}/report.html" in pack.namelist()
    refused = called("run", "mock:", "--report", "some")
    assert (refused.returncode, "--report" in refused.stderr) == (2, True)


def test_json_is_one_document_on_stdout(called: Program) -> None:
    done = called("run", "mock:?latency_us=200", *TINY, "--json", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["scale"] for row in document["scales"]] == [1, 2]
    assert done.stderr == ""


def test_a_diagram_is_drawn_again_from_the_edited_file(called: Program, tmp_path: Path) -> None:
    called("run", "mock:?latency_us=200", *TINY, "--out", "out")
    archive = only_archive(tmp_path / "out")
    source = archive / "results-rate.vl.json"
    assert called("plot", str(archive)).returncode == 0
    before = (archive / "results-rate.svg").read_text()
    source.write_text(source.read_text().replace("transaction rate", "rate of my machine"))
    done = called("plot", str(archive))
    assert done.returncode == 0, done.stderr
    after = (archive / "results-rate.svg").read_text()
    assert "rate of my machine" not in before
    assert "rate of my machine" in after
    assert called("plot", str(archive), "--rates", "log").returncode == 0
    again = (archive / "results-rate.svg").read_text()
    assert ("[tps], log scale" in before, "[tps], log scale" in again) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "names", "code"),
    [
        (["run", "--call", "procedure"], "--call", 2),
        (["run", "private:sqlite", "--pace", "terminals"], "--pace terminals: the workload tpcb", 2),
        (["run", "private:sqlite", "--pace", "terminals", "--workload", "select"], "--pace terminals", 2),
        (["run", "private:sqlite", "--population", "procedure"], "--population procedure: sqlite", 2),
        (["run", "--workload", "tpcc", "--population", "procedure"], "--population procedure: the workload tpcc", 2),
        (["run", "private:postgresql", "--set", "shared_bufers=1GB", "--scales", "1"], "shared_bufers", 2),
        (["run", "sqlite:///y.db", "--set", "synchronous=off"], "--set: 'synchronous' is not a setting of tpcb", 2),
        (["run", "sqlite:///x.db", "--workload", "tpcc", "--set", "mxi=10"], "--set: 'mxi' is not a setting of tpcc", 2),
        (["run", "mock:", "--set", "latency_us=5"], "--set: 'latency_us'", 2),
        (["run", "--cycles"], "--cycles", 2),
        (["run", "--scals", "1"], "did you mean --scales, --call, --samples? See dsbench run --help", 2),
        (["check", "mock:", "--scales", "1"], "did you mean --scale? See dsbench check --help", 2),
        (["run", "--out", "out\udcff"], "--out: out\\xff is not text in UTF-8", 2),
        (["run", "--label\udcff=x"], "TARGET or another argument: --label\\xff=x is not text in UTF-8", 2),
        (["run", "postgresql://me:secret\udcff@h/d"], "postgresql://me:***@h/d is not text in UTF-8", 2),
        (["x" * 100_000], "xxx …", 2),
        (["show", "x" * 5000], "no archive at xxx", 2),
        (["plot", "x" * 5000], "no archive at xxx", 2),
        (["show", "/dev/zero"], "no archive at /dev/zero", 2),
        (["cluster", "invite", "--hours", "1e300"], "--hours: ", 2),
        (["cluster", "invite", "--hours", "nan"], "--hours: ", 2),
        (["cluster", "up", "--ssh", "h", "--cluster", "x" * 300], "File name too long", 2),
        (["run", "--cluster", "absent"], "--cluster: it has no effect", 2),
        (["servers", "conform", "mock:", "--write", "x" * 5000], "--write: xxx", 2),
        (["show", "\x1b[2Jabsent"], "no archive at \\x1b[2Jabsent", 2),
        (["show", "x", "--by", "foo"], "--by: 'foo' is not one of", 2),
        (["check", "sqlite:///x.db", "--scale", "0"], "--scale: must be", 2),
        (["check", "private:sqlite", "--scale", "1"], "TARGET: ", 2),
        (["check", "sqlite:///x.db", "--scale", "1", "--workload", "foo"], "--workload: no workload 'foo'", 2),
        (["doctor", "--calibrate", "--workload", "foo"], "--workload: no workload 'foo'", 2),
        (["doctor", "--calibrate", "--clients", "0"], "--clients: must be 1 or more", 2),
        (["cluster", "invite", "--address", "a:b:c"], "--address: 'a:b:c'", 2),
        (["cluster", "invite", "--address", "host:99999"], "--address: 'host:99999'", 2),
        (["check", "sqlite:///x.db"], "dsbench has nothing there", 2),
        (["check", "postgresql://nobody@127.0.0.1:1/x"], "127.0.0.1", 1),
        (["drop", "mysql://nobody@127.0.0.1:1", "--yes"], "127.0.0.1", 1),
        (["servers", "nonsense"], "nonsense", 2),
        (["run", "a", "b"], "b", 2),
        (["run", "--out", "/proc/none", "--scales", "1"], "--out", 2),
        (["plot", "absent"], "absent", 2),
        (["plot", "absent", "--out", "new"], "absent", 2),
        (["compare", "absent", "absent", "--out", "new"], "absent", 2),
        (["show", "."], "is not a dsbench archive", 2),
        (["servers", "conform", "nonsense"], "nonsense", 2),
        (["servers", "conform", "mock:", "--write", "."], "--write", 2),
        (["servers", "conform", "mock:", "--write", "absent/page.md"], "--write", 2),
    ],
)
def test_a_wrong_input_gets_one_clear_error(
    called: Program, tmp_path: Path, arguments: list[str], names: str, code: int
) -> None:
    _check_refusal(called(*arguments), tmp_path, names, code)


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy", "code"),
    [
        (["run", "privat:postgresql@15"], "TARGET: 'privat", "did you mean private:postgresql@15?", 2),
        (["run", "db:3306/shop"], "TARGET: 'db:3306/shop'", "such as mysql://db:3306/shop", 2),
        (["run", "--scales", "1", "10"], "TARGET: '10'", "separate several numbers by commas", 2),
        (["run", "mock:", "--clients", "1", "2"], "one argument too many: 2", "--clients 1,2", 2),
        (["plot", "a.zip", "b.zip", "c.zip"], "too many arguments: b.zip c.zip", "see dsbench plot --help", 2),
        (["run", "--workload", "tpccc"], "--workload: no workload 'tpccc'", "did you mean tpcc", 2),
        (["run", "--set"], "--set: ", "see dsbench run --help", 2),
        (["run", "sqlite:////absent.db", "--builtin", "select-only", "--existing"], "/absent.db is no file", "right file", 1),
        (["run", "postgresql://me@127.0.0.1:1/x"], "Connection refused", "start the server, or name its host and port", 1),
        (["run", "mysql://me@127.0.0.1:1/x"], "Connection refused", "start the server, or name its host and port", 1),
        (["run", "postgresql://me@nowhere.invalid/x"], "nowhere.invalid", "start the server, or name its host", 1),
        (["run", "private:sqlite", "--scales", "200000"], "scale 200000 takes", "specify another place", 1),
        (["servers", "install", "postgresql", "--version", "12", "--dry-run"], "postgresql 12", "14, 15, 16, 17, 18", 2),
    ],
)
def test_a_mistake_is_told_once_with_the_remedy_that_fits(
    called: Program, tmp_path: Path, arguments: list[str], problem: str, remedy: str, code: int
) -> None:
    done = called(*arguments)
    _check_refusal(done, tmp_path, problem, code)
    *_, error, hint = done.stderr.splitlines()
    assert (problem in error, remedy in hint, "doctor" in hint) == (True, True, False), done.stderr


@pytest.mark.parametrize(("text", "expected"), [("10s", 10), ("1m", 60), ("0.5 min", 30), ("1h", 3600), ("500ms", 0.5)])
def test_durations_may_have_a_unit(called: Program, tmp_path: Path, text: str, expected: float) -> None:
    (tmp_path / "my.toml").write_text(f'ramp_up = "{text}"')
    done = called("run", "mock:", "--duration", text, "--config", "my.toml", "--dry-run", "--json")
    settings = json.loads(done.stdout)["settings"]
    assert (settings["duration"]["value"], settings["ramp_up"]["value"]) == (expected, expected)


def test_a_dry_run_warns_of_what_the_system_does_not_allow(called: Program) -> None:
    done = called("run", "private:sqlite", "--clients", "100000", "--dry-run")
    resource = pytest.importorskip("resource")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert ("warning: 100,000 connections need about 300,064 open files" in done.stdout) == (allowed < 300_064)


@pytest.mark.parametrize(
    ("arguments", "names", "code"),
    [
        (["run", "oracle://x/y"], "oracle", 2),
        (["run", "--cycles", "x"], "--cycles: must be a whole number", 2),
        (["run", "postgresql://nobody@127.0.0.1:1/x"], "127.0.0.1", 1),
    ],
)
def test_a_wrong_input_ends_the_program_with_one_clear_error(
    dsbench: Program, tmp_path: Path, arguments: list[str], names: str, code: int
) -> None:
    _check_refusal(dsbench(*arguments), tmp_path, names, code)


def _check_refusal(done: subprocess.CompletedProcess[str], tmp_path: Path, names: str, code: int) -> None:
    assert done.returncode == code, done.stderr
    assert names in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert "--resume" not in done.stderr
    # What only the server or the disk can tell is known after the line of the plan, and while the server starts.
    said = [line.partition(":")[0] for line in done.stderr.splitlines() if not line.startswith(("plan", "starting the server"))]
    assert said[:2] == ["error", "hint"], done.stderr
    assert len(said) == 2 or "did you mean" in done.stderr
    assert not list(tmp_path.glob("archives/*")), "nothing was begun"
    assert not (tmp_path / "absent").exists()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--isolation ", ["read-committed", "repeatable-read", "serializable"]),
        ("--workload se", ["select"]),
        ("--workload sm", ["smallbank"]),
        ("private", [f"private:{name}" for name in ("sqlite", "postgresql", "mariadb", "mysql", "firebird")]),
        ("fire", ["firebird"]),
    ],
)
def test_a_shell_offers_what_an_option_takes(
    called: Program, monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]
) -> None:
    line = f"dsbench run {words}"
    asked = {"_DSBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert called().stdout.split() == offered


def test_ctrl_c_says_nothing_of_the_program(called: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it is loaded nor in a command that has nothing to end."""
    loading = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    program = "import builtins, signal; real = builtins.__import__\n"
    program += "signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background\n"
    program += "def late(name, *more, **others):\n"
    program += f"    if name == 'dsbench.cli':\n        {loading}\n    return real(name, *more, **others)\n"
    program += "builtins.__import__ = late\nfrom dsbench.__main__ import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dsbench.check.doctor.findings", interrupted)
    done = called("doctor")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


@pytest.mark.parametrize(
    "changed",
    [
        ["--set", "synchronous=off"], ["--profile", "dsi"], ["--config", "none.toml"], ["--out", "archives"],
        ["--ramp-up", "1"], ["--no-retry"], ["--clients", "9", "--no-prepare"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_a_resumed_run_cannot_change_is_refused_by_its_option(called: Program, changed: list[str]) -> None:
    done = called("run", "--resume", "out/archive", *changed)
    assert done.returncode == 2
    options = ", ".join(word.replace("--no-", "--") for word in changed if word.startswith("--"))
    assert done.stderr.startswith(f"error: {options}: a resumed run keeps its specification"), done.stderr


def test_a_configuration_file_has_the_names_of_the_command_line(called: Program, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        'scales = [1]\ncycles = 1\nduration = 0.3\nclients = 2\n[target]\nurl = "private:sqlite"\n'
        '[target.settings]\nsynchronous = "off"\n'
    )
    done = called("run", "--config", "run.toml", "--cycles", "2", "--json", "-q", "--out", "out")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    assert (run["spec"]["cycles"], run["spec"]["clients"]) == (2, 2)
    assert any(not switch["safe"] for switch in run["durability"]), "switched off durability is told"
    (tmp_path / "wrong.toml").write_text("cycle = 3\n")
    wrong = called("run", "--config", "wrong.toml")
    assert (wrong.returncode, "cycle" in wrong.stderr) == (2, True)


def test_a_study_that_is_not_there_is_told_in_words(called: Program) -> None:
    told = called("study", "show", "nowhere")
    assert (told.returncode, told.stderr.splitlines()[0]) == (2, "error: no study in nowhere")


def test_every_command_has_help_with_an_example(called: Program) -> None:
    listed = called("--help").stdout
    for command in ("run", "show", "plot", "check", "drop", "doctor"):
        assert command in listed
        helped = called(command, "--help")
        assert helped.returncode == 0
        assert "Example" in helped.stdout


@unless_stalled
def test_examples_can_be_pasted_out_of_80_columns(called: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["plot"], ["show"], ["run"], ["ab"], ["study", "run"], ["servers", "install"]):
        helped = called(*words, "--help").stdout
        examples = helped.partition("Examples:\n")[2]
        assert max(map(len, examples.splitlines())) <= 80, words
        pasted = re.sub(r" \\\n +", " ", examples).splitlines()
        assert all(re.match(r"  (dsbench|cd figures &&) ", line) for line in pasted), pasted
        assert not any(" | " in line or line.endswith("\\") for line in pasted), pasted
    drawn = called("run", "mock:", "--scales", "1,2", "--cycles", "1", "--duration", "0.1", "--label", "mine")
    assert drawn.returncode == 0
    for line in called("plot", "--help").stdout.partition("Examples:\n")[2].splitlines()[1:3]:
        words = [one for word in shlex.split(line)[1:] for one in (sorted(map(str, Path().glob(word))) or [word])]
        assert called(*words).returncode == 0, line


def test_a_folder_that_cannot_be_written_is_told_once_before_anything_is_run(called: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    done = called("run", "private:sqlite", "--out", "file")
    assert done.returncode == 2
    assert "error: --out: cannot write to file: " in done.stderr
    assert done.stderr.count("--out") == 2, "the option and the remedy"
    assert "hint: specify a writable folder with --out" in done.stderr


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An archive made by hand, with its zip beside it."""
    times = [2 * archives.MS, 3 * archives.MS]
    tables = {
        "cycles": [archives.cycle_row(1, cycle, times) for cycle in (1, 2)],
        "buckets": [row for cycle in (1, 2) for row in archives.bucket_rows(1, cycle, times)],
        "phases": archives.phase_rows(1, create=1, populate=1),
    }
    run = archives.run_json({"scales": (1,), "cycles": 2, "duration": 1.0})
    packed = archives.write(tmp_path / "archives", run, tables, sealed=True)
    return packed.path.with_suffix("")


@pytest.mark.parametrize("command", ["plot {0} --out file.txt", "plot {0} --fresh --out file.txt", "plot {0}.zip",
                                     "compare {0} {0} --out file.txt"])  # fmt: skip
def test_a_wrong_place_for_files_is_told_before_anything_is_done(
    called: Program, tmp_path: Path, small: Path, command: str
) -> None:
    (tmp_path / "file.txt").write_text("here already")
    done = called(*command.format(small).split())
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: --out: ")
    assert "hint: " in done.stderr
    assert (tmp_path / "file.txt").read_text() == "here already"


@pytest.mark.parametrize("unbuffered", mostly_thorough(["", "1"], ""))
def test_a_reader_that_has_enough_is_no_error_and_the_files_are_written(
    tmp_path: Path, small: Path, unbuffered: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "dsbench", "compare", str(small), str(small), "--out", str(tmp_path / "new")]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=env, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
    assert {"comparison.txt", "comparison.html"} <= {path.name for path in (tmp_path / "new").iterdir()}


def test_ctrl_c_while_a_compiled_part_is_loaded_is_no_error_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, told():
        raise ImportError("initialization failed") from KeyboardInterrupt()
    assert ended.value.code == 130
    assert capsys.readouterr().err == ""
    with pytest.raises(ImportError, match="no such part"), told():
        raise ImportError("no such part")


@unless_stalled
def test_several_archives_are_shown_one_after_the_other(called: Program, tmp_path: Path) -> None:
    """The zip of a folder that is named too is the same archive."""
    for label in ("first", "second"):
        done = called("run", "mock:", "--scales", "1", "--cycles", "1", "--duration", "0.1", "--label", label, "--report", "none")
        assert done.returncode == 0, done.stderr
    names = sorted(f"archives/{path.name}" for path in (tmp_path / "archives").iterdir())
    assert len(names) == 4
    shown = called("show", *names).stdout
    assert [line for line in shown.splitlines() if line.endswith(":") and line.startswith("archives/")] == [
        f"{name}:" for name in names if not name.endswith(".zip")
    ]
    assert [one["run"]["spec"]["label"] for one in json.loads(called("show", *names, "--json").stdout)] == ["first", "second"]
    assert shown.count("label: ") == 2
    assert called("compare", *names).stdout.count("\nB  ") == 1
