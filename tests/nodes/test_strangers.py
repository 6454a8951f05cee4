"""Who is let in: nobody but nodes with a certificate of this run and the coordinator's version, and nobody ends a run."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from dsbench.measure.nodes.bundle import Bundle, issue, read
from fixtures.nodes import Bed, ended
from fixtures.waiting import until


@dataclass(frozen=True)
class Door:
    """A run that waits for its two nodes."""

    bed: Bed
    run: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """Where the coordinator listens."""
        return self.bed.invitation.coordinator.port

    def until_logged(self, *words: str) -> str:
        """Waits until the run's log holds all of ``words``; gives it."""
        assert until(lambda: all(word in self.bed.log() for word in words)), self.bed.log()
        return self.bed.log()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One run for all who knock; two good nodes complete it in the end."""
    with Bed(tmp_path_factory.mktemp("door") / "bed", 2) as bed:
        load = ("--clients", "1", "--scales", "1", "--cycles", "1", "--duration", "0.2")
        run = bed.run("mock:", *load, "--join-timeout", "600")
        assert until(lambda: answers(bed.invitation.coordinator.port))
        yield Door(bed, run)
        nodes = [bed.node(number) for number in (1, 2)]
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)
        assert sorted(path.name for path in bed.folder.iterdir()) == ["archives", "cluster"], "no file of Dask's is left"


def answers(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def knock(port: int, bundle: Bundle | None = None) -> bytes | str:
    """What a TLS client gets to read from the coordinator, or the error with which it is turned away."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if bundle is not None:
        with tempfile.NamedTemporaryFile("w") as chain:
            chain.write(bundle.certificate + bundle.key)
            chain.flush()
            context.load_cert_chain(chain.name)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain, context.wrap_socket(plain) as tls:
            return tls.recv(1)
    except (ssl.SSLError, ConnectionError) as error:
        return str(error)


def speak_plainly(port: int, words: bytes) -> bytes:
    """What a client without TLS gets to read."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        plain.sendall(words)
        plain.shutdown(socket.SHUT_WR)
        try:
            return plain.recv(1)
        except ConnectionError:
            return b""


def test_strangers_are_refused_and_logged(door: Door, tmp_path: Path) -> None:
    good, port = read(door.bed.invitation.bundles[0]), door.port
    for words in (b"", b"\x00" * 64, b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 999):
        assert speak_plainly(port, words) in (b"", b"\x15"), "nothing, or the alert of TLS"
    _, (foreign,) = issue(1, "127.0.0.1", port)
    _, (expired,) = issue(1, "127.0.0.1", port, timedelta(seconds=-1))
    turned_away = {"no certificate": knock(port), "foreign": knock(port, foreign), "expired": knock(port, expired)}
    assert all(isinstance(said, str) for said in turned_away.values()), turned_away
    assert isinstance(knock(port, good), bytes), "the door is there"
    path = tmp_path / "other.bundle"
    path.write_text(foreign.text)
    stranger = door.bed.start("cluster", "node", "--join", str(path), "--join-timeout", "30")
    said, _ = stranger.communicate(timeout=60)
    assert (stranger.returncode, "belongs to another run" in said) == (2, True), said
    door.until_logged("certificate verify failed")
    assert until(lambda: door.bed.log().count("TLS handshake failed") >= 6), door.bed.log()
    assert door.run.poll() is None


def test_a_client_of_dask_without_the_certificate_gets_nothing(door: Door) -> None:
    from distributed import Client
    from distributed.security import Security

    async def connect(address: str, security: Security | None) -> None:
        with pytest.raises((OSError, RuntimeError)):
            await Client(address, security=security, asynchronous=True, timeout=2, set_as_default=False)

    async def attack() -> None:
        await connect(f"tcp://127.0.0.1:{door.port}", None)
        await connect(f"tls://127.0.0.1:{door.port}", Security.temporary())

    asyncio.run(attack())
    assert door.run.poll() is None


def test_the_coordinator_listens_at_its_port_alone(door: Door) -> None:
    connections = psutil.Process(door.run.pid).net_connections("inet")
    assert [c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN] == [door.port]


def test_another_version_is_refused_with_the_reason(door: Door) -> None:
    program = "import sys, dsbench.release; dsbench.release.VERSION = '9.9'; from dsbench.cli import main; main()"
    bundle = door.bed.invitation.bundles[0]
    done = subprocess.run(
        [sys.executable, "-c", program, "cluster", "node", "--join", bundle], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "refused this node: it has dsbench 9.9, the coordinator has 0.1.0" in done.stderr
    assert "hint: use the dsbench of the coordinator" in done.stderr
    door.until_logged("it has dsbench 9.9, the coordinator has 0.1.0")


def test_a_bundle_admits_one_node(door: Door) -> None:
    first = door.bed.node(1, "first")
    door.until_logged("node first joined")
    second = door.bed.node(1, "second")
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 2
    assert "refused this node: its bundle node-1 is used by another process" in said
    first.terminate()
    said, _ = first.communicate(timeout=60)
    assert "stopped by a signal" in said
    door.until_logged("node first is lost")


def test_a_second_run_finds_the_port_taken_before_it_begins(door: Door) -> None:
    found = door.bed.start("run", "mock:", "--nodes", "2", "--out", "elsewhere")
    said, _ = found.communicate(timeout=60)
    assert found.returncode == 2
    assert f"cannot listen at 127.0.0.1:{door.port}: " in said
    assert "hint: stop the program that listens there, or specify another port" in said
    assert not (door.bed.folder / "elsewhere").exists()
    assert door.bed.invitation.folder.joinpath("coordinator.bundle").exists(), "it is the other run's, not spent"


def test_a_node_listens_where_the_coordinator_finds_it_alone_and_leaves_nothing(door: Door, tmp_path: Path) -> None:
    # In a folder of its own: neither it nor Dask leaves something there, or among temporary files.
    bundle, env = str(door.bed.invitation.bundles[1].resolve()), {**os.environ, "TMPDIR": str(tmp_path)}
    node = door.bed.start("cluster", "node", "--join", bundle, "--name", "tidy", env=env)
    door.until_logged("node tidy joined")
    listening = [c.laddr for c in psutil.Process(node.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert [where.ip for where in listening] == ["127.0.0.1"]
    assert isinstance(knock(listening[0].port), str), "a stranger gets nothing of a node either"
    node.terminate()
    node.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []
    door.until_logged("node tidy is lost")


@pytest.mark.thorough
def test_more_nodes_than_a_run_wants_are_refused(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        run = bed.start("run", "mock:", "--nodes", "1", "--clients", "1", "--scales", "1", "--duration", "100")
        first = bed.node(1)
        assert until(lambda: "node n1 joined" in bed.log())
        said, _ = bed.node(2).communicate(timeout=60)
        assert "refused this node: the run has its 1 nodes: n1" in said
        run.terminate()
        run.communicate(timeout=60)
        assert "the run is cut-short" in ended(first)
        assert [path.name for path in bed.invitation.folder.iterdir()] == [".gitignore"], "the keys are gone"


@pytest.mark.thorough
def test_a_flood_of_half_open_connections_does_not_end_a_run(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1), bed.node(2)]
        load = ("--clients", "1", "--scales", "1", "--cycles", "3", "--duration", "1.5", "--seed", "1")
        run = bed.run("mock:?latency_us=1000", *load, within=("prlimit", "--nofile=256:4096"))
        assert until(lambda: bed.log().count("joined") == 2)
        with ExitStack() as stack:
            port = bed.invitation.coordinator.port
            for _ in range(500):  # More than the soft limit of files.
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            assert run.poll() is None
            said = ended(run, 120)
        assert all("the run is complete" in ended(node) for node in nodes)
        log, taken = bed.log(), bed.archive().table("nodes").to_pylist()
    assert [row["state"] for row in taken] == ["complete"] * 6
    assert "Traceback" not in said + log
    assert len(log.splitlines()) < 200, "no line for each of them"


def test_who_is_silent_is_cut(door: Door) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=60) as plain:
        assert plain.recv(1) == b""
    door.until_logged("it took too long")


@pytest.mark.thorough
def test_the_keys_go_after_a_failure_too(tmp_path: Path) -> None:
    with Bed(tmp_path, 1) as bed:
        run = bed.start("run", "mock:", "--nodes", "1", "--join-timeout", "0.5")
        said, _ = run.communicate(timeout=60)
        assert (run.returncode, "0 of 1 nodes joined within 0 s" in said) == (1, True), said
        assert "hint: start the nodes within --join-timeout" in said
        assert [path.name for path in bed.invitation.folder.iterdir()] == [".gitignore"]
