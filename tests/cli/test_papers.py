"""The gallery of the papers: its list, its commands as dry runs, some of them for real, and what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dsbench import papers, study
from dsbench.archive import Archive
from dsbench.cli import papers as command
from dsbench.problem import Problem
from fixtures.program import Program
from fixtures.waiting import until

DATA = Path(__file__).parents[1] / "data"
ITEMS = [item for paper in papers.papers().values() for item in paper.items]


def test_the_list_has_every_experiment_once() -> None:
    counts = {number: len(paper.items) for number, paper in papers.papers().items()}
    assert counts == {"000": 53, "001": 22, "002": 23, "003": 29, "004": 16}
    for paper in papers.papers().values():
        names = [name for item in paper.items for name in item.names]
        assert sorted(set(names)) == sorted(names)
    for item in ITEMS:
        assert bool(item.why) != bool(item.show), item.id
        assert item.why or item.commands("small"), item.id
        assert not item.seconds or not item.why, item.id
        # What is shown is shown each time: it makes no load.
        lines = [command.split(line)[0] for line in item.shown("small")]
        assert all(words[0] != "run" and (words[:2] != ["study", "run"] or "--dry-run" in words) for words in lines)


def _lines() -> Iterator[tuple[str, str]]:
    """Every command line of the list, once, with the item that it is of."""
    seen = set()
    for paper in papers.papers().values():
        for name in (name for item in paper.items for name in item.names):
            item = paper.find(name)
            for size in item.sizes:
                lines = () if item.why else (*item.commands(size), *item.shown(size))
                yield from ((line, f"{paper.number} {name}") for line in lines if line not in seen)
                seen.update(lines)


@pytest.mark.thorough
def test_every_command_can_be_planned() -> None:
    """Options, values, templates and factors are those that there are: each line is parsed and planned as it would be."""
    wrong = []
    for line, name in _lines():
        try:
            command.estimated(line)
        except Exception as error:
            # What only this machine lacks: the paper's disks are larger, and not every tool is installed.
            if re.search("is not installed|is installed; build|and the file needs", str(error)):
                continue
            wrong.append(f"{name}: dsbench {line}: {type(error).__name__}: {error}")
    assert wrong == []


def test_an_item_that_could_compare_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "versions.toml"
    file.write_text(
        "name = 'versions'\n[run]\ntarget = 'private:postgresql'\nscales = [1]\n[[factor]]\nname = 'version'\n"
        "path = 'target.version'\nlevels = ['15', '9.0']\n"
    )
    planned, _ = study.begin(study.read(file), tmp_path / "study")
    with pytest.raises(Problem, match=r"only one level of the factor version can be made here: .*9\.0"):
        command._refuse_single(planned)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("paper", "names"),
    [("000", ["tab-1", "plots", "tab-6"]), ("001", ["rate-over-time"]), ("002", ["checklist"]), ("003", ["gstat"])],
)
def test_items_are_made_in_small(dsbench: Program, tmp_path: Path, paper: str, names: list[str]) -> None:
    for name in names:
        item = papers.find(paper, name)
        made = dsbench("study", "papers", paper, name, "--small", timeout=900)
        assert made.returncode == 0, made.stderr
        folder = Path("papers", item.folder)
        paths = [line.removeprefix("made: ") for line in made.stdout.splitlines() if line.startswith("made: ")]
        assert paths, made.stdout
        assert all((tmp_path / path).stat().st_size and path.startswith(str(folder)) for path in paths)
        # The commands that are done are not done again for what shares their data.
        assert len(list((tmp_path / folder).glob("*/*.zip"))) == (2 if name == "tab-6" else 1)
        assert len(made.stdout.splitlines()) > 3


def test_an_item_without_its_picture_has_failed(tmp_path: Path) -> None:
    item = replace(papers.find("000", "procedure"), make=("run --example-config > run.toml",), show=())
    with pytest.raises(Problem, match=r"its commands made no runs/\*/results.txt"):
        command._make(item, "small", tmp_path / "here")
    command._make(replace(item, picture="run.toml"), "small", tmp_path / "here")


def test_what_was_cut_is_made_anew_and_another_size_is_refused(called: Program, tmp_path: Path) -> None:
    cut = tmp_path / "here" / "runs" / "half"
    cut.mkdir(parents=True)
    record = {"paper": "000", "size": "small", "done": []}
    (tmp_path / "here" / "papers.json").write_text(json.dumps(record))
    refused = called("study", "papers", "000", "procedure", "--full", "--out", "here")
    assert refused.returncode == 2
    assert "contains the item in the size small" in refused.stderr
    command._put_aside(cut.parent)
    assert [path.name for path in (tmp_path / "here").iterdir() if path.is_dir()] == ["runs.cut-1"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    refused = called("study", "papers", "000", "procedure", "--small", "--out", "other")
    assert refused.returncode == 2
    assert "contains other files" in refused.stderr


def test_ctrl_c_lets_the_command_end_and_says_how_to_go_on(tmp_path: Path) -> None:
    line = "run mock: --scales 1 --cycles 1 --duration 300 --clients 1 --workload select --out runs"
    program = (
        "from dataclasses import replace; from pathlib import Path\n"
        "from dsbench import papers; from dsbench.cli import papers as command\n"
        f"item = replace(papers.find('000', 'procedure'), make=({line!r},))\n"
        "command._make(item, 'small', Path('here'))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as making:
        assert until(lambda: list(tmp_path.glob("here/runs/*/run.json")) or making.poll() is not None)
        making.send_signal(signal.SIGINT)
        _, said = making.communicate(timeout=600)
    assert making.returncode == 130, said
    assert "continue with: dsbench study papers 000 procedure --small --out here" in said
    (archive,) = tmp_path.glob("here/runs/*/")
    assert Archive.open(archive).run.status == "cut-short", "it was not killed: its archive is sealed"
    assert json.loads((tmp_path / "here/papers.json").read_text())["done"] == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["007"], "PAPER: there is no '007'"),
        (["000", "fig-99"], "ITEM: 000 has no 'fig-99'"),
        (["000", "fig-15", "--small"], "cannot be reproduced here"),
        (["000", "--small"], "it runs one item only"),
        (["000", "fig-8", "--small", "--full"], "these exclude each other"),
        (["000", "fig-8", "--dry-run"], "it needs a size"),
        (["000", "procedure", "--hour"], "--hour: 000 procedure has no such size"),
        (["000", "fig-8", "--hour", "--full"], "--hour, --full: these exclude each other"),
        (["000", "dsi", "--small", "--out", "/dev/null/x"], "--out: cannot write to /dev/null/x: Not a directory"),
    ],
)
def test_what_cannot_be_is_said(called: Program, words: list[str], problem: str) -> None:
    ended = called("study", "papers", *words)
    assert ended.returncode == 2
    assert problem in ended.stderr
    assert "hint: " in ended.stderr


def test_a_plan_touches_nothing(called: Program, tmp_path: Path) -> None:
    planned = called("study", "papers", "000", "Figure 8", "--small", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "dsbench run 'private:postgresql' --workload select" in planned.stdout
    assert "time: " in planned.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_room_is_refused_before_it_begins(called: Program) -> None:
    planned = called("run", "private:postgresql", "--storage", "ext4?size=1GiB", "--scales", "1000", "--dry-run")
    assert "scale 1000 takes 11 GB or more, and the file system of --storage has 1.07 GB" in planned.stdout
    made = called("run", "private:postgresql", "--storage", "ext4?size=1GiB", "--scales", "1000")
    assert made.returncode == 1
    assert "specify a larger size=…, or use smaller --scales" in made.stderr
    needs = command.Needs((1.0, 2.0), 1, 1, "scale 10 takes 9 GB or more", probes=False)
    with pytest.raises(Problem, match="000 fig-8: scale 10 takes 9 GB or more") as refused:
        command._refuse_unfit(papers.find("000", "fig-8"), [needs])
    assert refused.value.remedy == "set TMPDIR to a folder with more space, or use --hour or --small"


def test_the_time_of_disk_benchmarks_is_not_in_a_plan(called: Program) -> None:
    planned = called("study", "papers", "000", "tab-19", "--small", "--dry-run").stdout
    assert re.search(r"^time: .*, without the disk benchmarks$", planned, re.M)


def test_the_list_is_for_people_and_programs(called: Program) -> None:
    text = called("study", "papers", "004").stdout
    assert "Tomas Vondra" in text
    assert "○ reiserfs" in text
    described = json.loads(called("study", "papers", "--json").stdout)
    assert sum(len(paper["items"]) for paper in described) == 143
    assert "One machine with Linux stands for both" in called("study", "papers", "000", "fig-42").stdout
    one = json.loads(called("study", "papers", "000", "fig-9", "--json").stdout)
    assert "--workload tpcb" in one["commands"]["small"][0]


def test_what_the_paper_says_is_beside_what_is_made(called: Program) -> None:
    for name, words in (("fig-9", "a peak of 14,000 tps at scale 10"), ("fig-37", "degrades on btrfs much as SELECT does")):
        assert words in called("study", "papers", "000", name).stdout
    # A name that is only another of the item has what the paper says of the item, or of that name.
    assert papers.find("000", "sec-4.1").says == papers.find("000", "fig-1").says
    assert "no plateau" in papers.find("000", "fig-16").says
    known = {number: {name for item in paper.items for name in item.names} for number, paper in papers.papers().items()}
    assert {number: [*set(says) - known[number]] for number, says in papers._sayings().items()} == {n: [] for n in known}


def test_ten_items_have_a_size_between_the_others() -> None:
    having = [item for item in ITEMS if item.hour]
    assert len(having) == 10
    for item in having:
        small, hour, full = (item.commands(size) for size in ("small", "hour", "full"))
        assert len({small, hour, full}) == 3
    assert "hour" in papers.find("000", "fig-5").sizes, "it shares the data of fig-1"


@pytest.mark.parametrize("size", papers.SIZES)
def test_what_was_made_of_the_items_ended_well(size: str) -> None:
    """The tables that ``scripts/papers`` keeps: an item that failed, or is none, is no row of them."""
    table = DATA / f"papers-{size}.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]] if table.exists() else []
    assert [name for name, code, _seconds, found, picture in rows if code != "0" or found == "0" or not picture] == []
    for name, *_ in rows:
        assert size in papers.find(*name.split()).sizes, name
    every = [(paper, item.id, *item.figures) for paper, one in papers.papers().items() for item in one.items if not item.why]
    if size == "small":
        assert {f"{paper} {name}" for paper, *names in every for name in names} <= {name for name, *_ in rows}


def test_a_glob_is_what_a_shell_makes_of_it(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("b.zip", "a.zip"):
        (tmp_path / "runs" / name).touch()
    assert command._matches("runs/*.zip", tmp_path) == ["runs/a.zip", "runs/b.zip"]
    assert command._matches("hdd=runs/a*.zip", tmp_path) == ["hdd=runs/a.zip"]
    assert command._matches("SELECT * FROM runs", tmp_path) == ["SELECT * FROM runs"]
    assert command.split("study best study > best.toml") == (["study", "best", "study"], "best.toml")
    assert papers.find("000", "tab-14").folder == "000-fig-35", "a figure may have the data of another item"
    with pytest.raises(Problem):
        papers.find("000", "fig-0")
