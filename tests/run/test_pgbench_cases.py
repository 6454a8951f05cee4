"""The cases of pgbench's own tests, as ``tests/data/pgbench.toml`` lists them: on a real server, beside the real pgbench."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dsbench import servers
from dsbench.measure import keeping
from dsbench.measure.loaders import Bench, CoreError, TargetDatabase, now_ns
from dsbench.servers.postgresql import binaries
from dsbench.spec import SpecError, Target, merged

ROOT = Path(__file__).parents[2]
CASES: list[dict[str, Any]] = tomllib.loads((ROOT / "tests/data/pgbench.toml").read_text())["case"]
RUN = [case for case in CASES if {"script", "builtin", "options"} & case.keys()]
ENDS = {0: "done", 1: "refused", 2: "aborted"}


class House:
    """A server with pgbench's tables, and the pgbench that belongs to it."""

    def __init__(self, url: str, folder: Path, found: binaries.PostgresBinaries) -> None:
        self.url, self.folder = url, folder
        self.pgbench, self.major = found.folder / "pgbench", int(found.version.split(".")[0])
        self.target = TargetDatabase(url, existing=True)

    def of_pgbench(self, *words: str) -> tuple[int, str]:
        """Exit status and what it says."""
        parts = urlsplit(self.url)
        place = {name: values[0] for name, values in parse_qs(parts.query).items()}
        options = ["-h", place["host"], "-p", place["port"], "-U", str(parts.username)]
        command = [str(self.pgbench), *options, *words, parts.path.lstrip("/")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=self.folder)
        return done.returncode, done.stderr

    def seen(self) -> dict[str, str]:
        """What the last script has put into the table ``seen``."""
        rows = self.target.fetch("SELECT DISTINCT name, value FROM seen ORDER BY name, value")
        self.target.fetch("DELETE FROM seen RETURNING 1")
        return {str(row["name"]): str(row["value"]) for row in rows}

    def of_dsbench(self, case: dict[str, Any]) -> tuple[str, str]:
        """How a client ends, and what is said."""
        asked: dict[str, Any] = {"clients": 1, "duration": 0.02, "cycles": 1, **case.get("options", {})}
        if "script" in case:
            asked["script"] = str(self.script(case))
        if "builtin" in case:
            asked["builtin"] = shortened(case["builtin"])
        if "define" in case:
            asked["define"] = case["define"]
        mode, piped = case.get("mode"), "pipeline" in case.get("script", "")
        asked["prepare"] = mode == "prepared" or (mode == "extended" and piped)
        asked["reconnect"] = case.get("reconnect", False)
        try:
            spec = merged({**asked, "existing": True}, target=self.url).spec
            bench = Bench(self.target, spec.workload, 1, None, spec.workload_settings, 1, existing=True)
            keeping.rehearse(spec, self.target, bench)
        except (SpecError, CoreError) as error:
            return "refused", str(error)
        while True:  # A cycle may be over before a busy machine has come to its first transaction.
            cycle = bench.cycle(spec, 5, None)
            cycle.connect(30, lambda _done, _total: None)
            start = now_ns() + cycle.lead_ns
            cycle.start(start)
            cycle.wait(start, 30, lambda _done, _total: None)
            found = cycle.join()
            done = sum(found.committed_in_database())
            if done or found.errors or found.failure:
                break
        said = "; ".join(example for *_, example in found.errors) + f"; {found.failure or ''}"
        kinds = {kind for _, _, kind, *_ in found.errors} | {found.failure.kind if found.failure else ""}
        if "configuration" in kinds:
            return "aborted", said
        if found.failure is not None or not done:
            return "failed", said
        return "done", said

    def script(self, case: dict[str, Any]) -> Path:
        """The file of a case; at its end the variables that are compared go into a table."""
        text = shortened(case["script"])
        for name in case.get("shows", ()):
            text += f"\nINSERT INTO seen VALUES ('{name}', $$:{name}$$);"
        path = self.folder / "own.sql"
        path.write_text(text)
        return path


def shortened(text: str) -> str:
    """``a{, b * 3}`` is ``a, b, b, b``."""
    return re.sub(r"\{([^{}]*) \* (\d+)\}", lambda found: found[1] * int(found[2]), text)


@pytest.fixture(scope="module", params=["default", "newest"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder, found = tmp_path_factory.mktemp("cases"), binaries.find(None)
    if request.param == "newest":
        newest = max(binaries.found(), key=lambda one: one.order)
        if newest.version == found.version:
            pytest.skip("one PostgreSQL is installed")
        found = newest
    with servers.start(Target(url="private:postgresql", version=found.version), 20) as server:
        made = House(server.url, folder, found)
        with closing(made.target):
            if made.pgbench.exists():
                status, said = made.of_pgbench("-i", "-q")
                assert status == 0, said
            made.target.fetch("CREATE TABLE seen (name text, value text)")
            yield made


def test_each_case_has_its_outcome_and_its_reason() -> None:
    pages = (ROOT / "docs/migration.md").read_text() + (ROOT / "docs/scripts.md").read_text()
    pages = " ".join(pages.split())
    for case in CASES:
        assert case["expect"] in ("same", "documented", "not applicable"), case["of"]
        if case["expect"] == "documented":
            assert case["documented"] in pages, case["of"]
        assert case["expect"] != "not applicable" or case["why"], case["of"]
        if "proof" in case:
            file, _, name = case["proof"].partition("::")
            assert f"def {name}(" in (ROOT / file).read_text(), case["of"]
        assert case in RUN or "proof" in case or case["expect"] == "not applicable", case["of"]
    counts = Counter(case["expect"] for case in CASES)
    shown = f"{counts['same']} cases end as there, {counts['documented']} differ as documented, " \
        f"{counts['not applicable']} are not applicable"  # fmt: skip
    assert shown in pages, shown


@pytest.mark.parametrize("case", RUN, ids=lambda case: case["of"])
def test_a_case_of_pgbench_ends_as_the_table_says(case: dict[str, Any], house: House) -> None:
    wanted = case.get("ours", ENDS[case.get("status", 0)])
    if case["expect"] == "same":
        assert "ours" not in case
    ended, said = house.of_dsbench(case)
    assert ended == wanted, said
    if wanted != "done" and "says" in case:
        assert re.search(case["says"], said), said
    ours = house.seen() if "shows" in case else {}
    assert ours.keys() == set(case.get("shows", ())), ours
    if not house.pgbench.exists() or case.get("since", 0) > house.major:
        return
    status, told = house.of_pgbench(*words(case, house))
    assert status == case.get("status", 0), told
    if status and "says" in case:
        assert re.search(case["says"], told), told
    if "shows" in case:
        assert ours == house.seen()


def words(case: dict[str, Any], house: House) -> list[str]:
    """The options of pgbench for a case."""
    if "pgbench" in case:
        return str(case["pgbench"]).split()
    found = ["-n", "-t", "2", "-M", case.get("mode", "simple"), *(["-C"] if case.get("reconnect") else [])]
    found += [f"-D{name}={text}" for name, text in case.get("define", {}).items()]
    if "script" in case:
        found += ["-f", str(house.script(case))]
    for name in shortened(case.get("builtin", "")).split(","):
        found += ["-b", name] if name else []
    return found + [word for name in case.get("options", {}).values() for word in ("-f", str(name))]
