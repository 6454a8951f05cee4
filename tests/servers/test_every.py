"""A short run on every private server that can be had here: its check must hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsbench import servers
from fixtures.program import Program, described, only_archive
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

URLS = [target.in_one for target in servers.variants()]
ONE_OF_EACH = {url.partition("?")[0].partition("@")[0]: url for url in reversed(URLS)}.values()


@pytest.mark.parametrize("url", mostly_thorough(URLS, *ONE_OF_EACH))
@unless_stalled
def test_a_short_run_leaves_a_consistent_database(url: str, called: Program, dsbench: Program, tmp_path: Path) -> None:
    options = ["--scales", "1", "--cycles", "1", "--duration", "0.5", "--clients", "2", "--out", "out", "--json"]
    # An engine reads its configuration once in a process.
    done = (dsbench if "embedded" in url else called)("run", url, *options)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["scales"][0]["transactions"] > 0
    run = described(only_archive(tmp_path / "out"))
    assert run["status"] == "complete"
    assert [c["name"] for c in run["checks"]["1"] if c["state"] == "broken"] == []
    assert run["checks"]["1"]


def _variants() -> str:
    return " ".join(f"{target.url}@{target.version} {target.settings}" for target in servers.variants())


def test_all_that_the_tests_need_is_here() -> None:
    """scripts/need-servers gets these; a product that is missing must not pass for one that was tested."""
    here = _variants()
    wanted = "postgresql@14 postgresql@18 mariadb@ RocksDB sqlite firebird@3 firebird@5 Super SuperClassic Classic"
    assert not [name for name in wanted.split() if name not in here]


@pytest.mark.needs_mysql
def test_mysql_is_among_the_variants() -> None:
    assert "mysql@8.0" in _variants()
