"""A Dask that runs already: its workers become the nodes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dsbench.archive import Archive
from fixtures.archives import timed
from fixtures.nodes import ended
from fixtures.program import described, only_archive
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until

DASK = """
import sys
from distributed import LocalCluster
from distributed.security import Security

def main():
    security = Security.temporary() if sys.argv[1] == "tls" else None
    with LocalCluster(
        n_workers=3, threads_per_worker=1, security=security, protocol=f"{sys.argv[1]}://", dashboard_address=None,
    ) as cluster:
        for name in ("ca_file", "client_cert", "client_key") if security else ():
            open(f"{name}.pem", "w").write(getattr(security, f"tls_{name}"))
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()

if __name__ == "__main__":
    main()
"""
LOAD = ("mock:?latency_us=1000", "--nodes", "2", "--clients", "2", "--scales", "1", "--duration", "1")


class Dask:
    """A cluster of three workers, and runs that use it."""

    def __init__(self, folder: Path, protocol: str) -> None:
        self.folder = folder
        (folder / "started.py").write_text(DASK)
        command = [sys.executable, "started.py", protocol]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def run(self, *arguments: str, address: str = "") -> subprocess.Popen[str]:
        """Starts a run."""
        command = [sys.executable, "-m", "dsbench", "run", *LOAD, "--dask", address or self.address, *arguments]
        out = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, text=True)

    def workers(self) -> set[int]:
        """Process ids of what the cluster has started."""
        return {child.pid for child in psutil.Process(self.process.pid).children(recursive=True)}

    def archive(self, out: str = "archives") -> Archive:
        """What a run left."""
        return Archive.open(only_archive(self.folder / out))


@pytest.fixture(params=["tcp", "tls"])
def dask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Dask]:
    """Started, and ended."""
    made = Dask(tmp_path, request.param)
    yield made
    made.process.communicate("")


@pytest.mark.thorough
def test_workers_of_an_existing_dask_make_the_load_and_stay(dask: Dask) -> None:
    tls = ("--dask-tls", "ca_file.pem,client_cert.pem,client_key.pem") if dask.address.startswith("tls") else ()
    before = dask.workers()
    ended(dask.run("--cycles", "2", *tls))
    archive = dask.archive()
    taken = archive.table("nodes").to_pylist()
    assert [row["state"] for row in taken] == ["complete"] * 4
    assert len({row["node"] for row in taken}) == 2
    assert all(abs(row["clock_offset_ns"]) <= row["clock_error_ns"] for row in taken), "they share one clock"
    counted = sum(row["committed"] for row in archive.table("cycles").to_pylist())
    assert counted == timed(archive) > 0
    assert f"waiting for 2 workers of the Dask at {dask.address}" in (archive.path / "results.log").read_text()
    assert not (dask.folder / "cluster").exists(), "nobody was invited"
    assert dask.workers() == before, "the workers are the user's"
    ended(dask.run("--cycles", "1", "--out", "again", *tls))
    assert dask.archive("again").run.status == "complete", "they serve the next run"


@pytest.mark.thorough
@pytest.mark.parametrize("dask", ["tcp"], indirect=True)
def test_a_killed_worker_of_an_existing_dask_voids_no_finished_cycle(dask: Dask) -> None:
    run = dask.run("--cycles", "3", "--duration", "4")
    assert until(lambda: "cycle 1:" in log(dask))
    psutil.Process(described(only_archive(dask.folder / "archives"))["nodes"][0]["pid"]).kill()
    ended(run)
    archive = dask.archive()
    states = {(row["cycle"], row["node"]): row["state"] for row in archive.table("nodes").to_pylist()}
    assert {state for (cycle, _), state in states.items() if cycle == 1} == {"complete"}
    one, other = sorted(state for (cycle, _), state in states.items() if cycle == 2)
    assert (one, other) in (("complete", "lost"), ("absent", "complete")), "before or after its start"
    assert "is lost: its connection ended" in log(dask)


def log(dask: Dask) -> str:
    """results.log as it is now."""
    return (only_archive(dask.folder / "archives") / "results.log").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    mostly_thorough(
        [
            (["--dask", "tcp://10.0.0.1:8786"], "--dask: 'tcp://10.0.0.1:8786' is not a usable address of a scheduler"),
            (["--dask", "somewhere"], "--dask: 'somewhere' is not a usable address"),
            (["--dask", "tls://127.0.0.1:1"], "no certificate for it"),
            (["--dask", "tls://127.0.0.1:1", "--dask-tls", "a,b,c"], "--dask-tls: 'a,b,c' is not a list of files"),
            (["--dask", "tls://127.0.0.1:1", "--dask-tls", "started.py,started.py,started.py"], "--dask-tls: "),
            (["--dask-tls", "a,b,c"], "--dask: '' is not a usable address"),
            (["--dask", "tcp://127.0.0.1:1"], "--dask tcp://127.0.0.1:1: "),
            (["--dask", "tcp://127.0.0.1:1", "--nodes", "0"], "--dask: it has no effect"),
        ],
        (["--dask", "somewhere"], "--dask: 'somewhere' is not a usable address"),
        (["--dask", "tcp://127.0.0.1:1"], "--dask tcp://127.0.0.1:1: "),
    ),
)  # fmt: skip
def test_a_dask_that_cannot_be_used_is_told_in_two_lines(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "started.py").write_text(DASK)
    command = [sys.executable, "-m", "dsbench", "run", "mock:", "--nodes", "1", "--quiet", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
