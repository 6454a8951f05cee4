"""Archives of older formats, with what the version that wrote them made of them: today's figures are the same.

tests/data/archives holds one zip for each: tables, run.json and results of a short run, and ``shown.json``, which
is what ``show --json`` printed without the run itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.read import tables
from dsbench.read.evaluation import evaluate
from dsbench.read.page import command_line
from dsbench.read.subjects.kinds import KindsResult
from dsbench.several.settings import described

FEW_BOUNDS = re.compile(r".*\.index\.dsi\.(low|high): [\d.]+ became None")
FEW_WORDS = re.compile(r" \[[\d., ]+\] \(95%, over the cycles\)")
"""An interval of the DSI, which was told from two cycles on. All of these archives have fewer than five."""
WORDS = {
    "a glimpse, not comparable": "too short to compare with other runs",
    "1 threads": "1 thread",
    "not comparable: not the settings of profile dsi": "comparable only with --profile dsi",
    "use --profile dsi for comparable figures":
        "use 3 cycles or more of 30 s or more; for an index that compares with those of others, --profile dsi",
}
"""Words before and now."""
NOTHING = re.compile(r"# (DSI not defined: it needs two scales.*|T = X \(TPC-B clause 4\.1\): none; .*)")
"""What is not there is no longer told."""
KEPT = sorted((Path(__file__).parent.parent / "data/archives").glob("*.zip"))


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Places at which two documents differ. The newer one may say more; figures may differ in the last digits, which
    depend on the libraries."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from (f"{at}.{key}: lost" for key in sorted(old.keys() - new.keys()))
        for key in sorted(old.keys() & new.keys()):
            yield from differences(old[key], new[key], f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{at}[{number}]")
    elif type(old) is not type(new) or old != (pytest.approx(new, rel=1e-12) if isinstance(new, float) else new):
        yield f"{at}: {old} became {new}"


def in_words_of_today(text: str) -> str:
    for before, now in WORDS.items():
        text = re.sub(rf"\b{before}\b", now, text)
    return re.sub(r"(\d) %", r"\1%", text)


def test_runs_of_versions_that_knew_no_placement_ran_freely() -> None:
    run = Archive.open(KEPT[0]).run
    assert described([run])[0]["spec.placement"] == "free"
    assert "--placement free" in command_line(run.spec.described())


def test_there_are_some() -> None:
    assert len(KEPT) >= 7


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_its_figures_are_what_they_were(path: Path) -> None:
    archive = Archive.open(path)
    found = evaluate(archive)
    shown = json.loads(json.dumps(tables.to_json(found)))
    kept = in_words_of_today(archive.read("shown.json").decode().replace('"steps": {', '"series": {'))
    known = json.loads(kept)
    # Clients that starve were excused by the waits by which they do.
    for new, old in [(shown, known), *((shown["series"][key], one) for key, one in known.get("series", {}).items())]:
        new["doubts"] = [one for one in new["doubts"] if one["code"] != "uneven-clients" or one in old["doubts"]]
    meant = re.compile(rf"{FEW_BOUNDS.pattern}|.*\.evenness\..*uneven.*")
    assert [one for one in differences(known, shown) if not meant.fullmatch(one)] == []
    text = in_words_of_today(archive.read("results.txt").decode())
    if archive.run.spec.cycles < 5:
        text = FEW_WORDS.sub(" (no interval below 5 cycles)", text)
    # Warnings were called doubts; and the archives of this year have shorter names now.
    before = re.sub(r"^# doubt", "# warning", text, flags=re.MULTILINE).replace(archive.run.name, archive.name).splitlines()
    now = tables.results_txt(found, archive.run).splitlines()
    # Names of other programs were taken out of the newest archives, and each scale has a warning of its own now.
    told = re.compile(r".*programs used.*|# warning at scale .*|.*clients starve less.*")
    now, before = ([line for line in lines if not told.fullmatch(line)] for lines in (now, before))
    before = [line for line in before if not NOTHING.fullmatch(line)]
    if len(found.series) > 1 or any(len(kinds) > 1 for kinds in found.of(KindsResult).kinds.values()):
        # Every series stands above the figures now, not the last alone, and kinds have tables of their own.
        now, before = ([line for line in lines if not line.startswith("#")] for lines in (now, before))
    assert now == before
    assert tables.results_csv(found) == archive.read("results.csv").decode()
