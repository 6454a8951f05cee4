"""Who is let in: nobody but nodes with a certificate of this run and the coordinator's version."""

from __future__ import annotations

import json
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dsbench.cluster import ClusterError, certificates
from dsbench.cluster.bundle import Bundle, invite, read, read_of_node
from fixtures.nodes import Bed, ended


@dataclass(frozen=True)
class Door:
    """A run that waits for its two nodes."""

    bed: Bed
    expired: certificates.Credentials
    """By the authority of the run itself."""

    @property
    def port(self) -> int:
        """Where the coordinator listens."""
        return self.bed.invitation.coordinator.port

    def until_logged(self, *words: str) -> str:
        """Waits until the run's log holds all of ``words``; gives it."""
        give_up = time.monotonic() + 60
        while not all(word in (log := self.bed.log()) for word in words):
            assert time.monotonic() < give_up, log
            time.sleep(0.05)
        return log


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One run for all who knock; two good nodes complete it in the end."""
    with Bed(tmp_path_factory.mktemp("door") / "bed", 2) as bed:
        expired = own_authority(bed.invitation.folder)
        load = ("--threads", "1", "--scales", "1", "--cycles", "1", "--duration", "0.2")
        run = bed.run("mock:", *load, "--patience", "600")
        wait_for(bed.invitation.coordinator.port)
        yield Door(bed, expired)
        nodes = [bed.node(number) for number in (1, 2)]
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)


def knock(port: int, certificate: str = "", key: str = "", folder: Path | None = None) -> bytes | str:
    """What a TLS client gets to read from the coordinator, or the error with which it is turned away."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if folder is not None:
        chain = folder / "chain.pem"
        chain.write_text(certificate + key)
        context.load_cert_chain(chain)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain, context.wrap_socket(plain) as tls:
            return tls.recv(1)
    except (ssl.SSLError, ConnectionError) as error:
        return str(error)


def speak_plainly(port: int) -> bytes:
    """What a client without TLS gets to read."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        plain.sendall(b"\x00" * 64)
        try:
            return plain.recv(1)
        except ConnectionError:
            return b""


def own_authority(folder: Path) -> certificates.Credentials:
    """An expired certificate by the authority of the very run; the bundles in ``folder`` are made anew with it."""
    old = read(folder / "coordinator.bundle")
    now = datetime.now(UTC)
    own = certificates._Authority("dsbench coordinator", now, timedelta(days=1))
    others = certificates._Authority("dsbench nodes", now, timedelta(days=1))
    made = [own.sign("coordinator", others.certificate)]
    made += [others.sign(f"node-{number}", own.certificate) for number in (1, 2)]
    for who in made:
        path = folder / f"{who.member}.bundle"
        path.unlink()
        credentials = {"certificate": who.certificate, "key": who.key, "trusted": who.trusted}
        replace(old, member=who.member, **credentials).write(path)
    others._begin, others._end = now - timedelta(days=9), now - timedelta(days=2)
    return others.sign("node-1", own.certificate)


def test_strangers_are_refused_and_logged(door: Door, tmp_path: Path) -> None:
    good, port = read(door.bed.invitation.folder / "node-1.bundle"), door.port
    assert speak_plainly(port) in (b"", b"\x15"), "nothing, or the alert of TLS"
    turned_away = {
        "no certificate": knock(port),
        "foreign": knock(port, *pem(certificates.issue(["node-1"], timedelta(days=1))[1]), tmp_path),
        "expired": knock(port, *pem(door.expired), tmp_path),
    }
    assert all(isinstance(said, str) for said in turned_away.values()), turned_away
    assert isinstance(knock(port, good.certificate, good.key, tmp_path), bytes), "the door is there"
    other = invite(tmp_path / "other", 1, "127.0.0.1", port)
    stranger = door.bed.start("node", "--join", str(other.bundles[0]), "--patience", "30")
    said, _ = stranger.communicate(timeout=60)
    assert (stranger.returncode, "belongs to another run" in said) == (2, True), said
    log = door.until_logged(
        "PEER_DID_NOT_RETURN_A_CERTIFICATE", "certificate verify failed", "certificate has expired"
    )
    assert log.count("TLS handshake failed") >= 5, log


def test_another_version_is_refused_with_the_reason(door: Door) -> None:
    program = "import sys, dsbench; dsbench.__version__ = '9.9'; from dsbench.cli import main; main()"
    bundle = door.bed.invitation.bundles[0]
    done = subprocess.run(
        [sys.executable, "-c", program, "node", "--join", bundle], capture_output=True, text=True, timeout=60
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
    assert "its bundle node-1 is in use by first" in said
    first.terminate()
    said, _ = first.communicate(timeout=60)
    assert "stopped by a signal" in said


def test_a_second_run_finds_the_port_taken_before_it_begins(door: Door) -> None:
    found = door.bed.start("run", "mock:", "--nodes", "2", "--out", "elsewhere")
    said, _ = found.communicate(timeout=60)
    assert found.returncode == 2
    assert f"cannot listen at 127.0.0.1:{door.port}: " in said
    assert "hint: end what listens there, or name another port" in said
    assert not (door.bed.folder / "elsewhere").exists()
    assert door.bed.invitation.folder.joinpath("coordinator.bundle").exists(), "it is the other run's, not spent"


def test_files_with_keys_are_for_their_owner(tmp_path: Path) -> None:
    made = invite(tmp_path / "cluster", 2, "example.org", 9000)
    files = sorted((tmp_path / "cluster").iterdir())
    assert files.pop(0).read_text().splitlines()[-1] == "*", "Git takes none of them"
    assert [file.name for file in files] == ["coordinator.bundle", "node-1.bundle", "node-2.bundle"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "cluster").stat().st_mode) == 0o700
    assert made.coordinator.address == "tls://example.org:9000"
    keys = [json.loads(file.read_text())["key"] for file in files]
    assert len(set(keys)) == 3
    assert not any(key in repr(read(file)) for key, file in zip(keys, files, strict=True))
    trusted = {file.stem: json.loads(file.read_text())["trusted"].count("BEGIN CERTIFICATE") for file in files}
    assert trusted == {"coordinator": 1, "node-1": 1, "node-2": 1}, "each side trusts the other one's authority alone"


def test_an_expired_bundle_says_so(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "127.0.0.1", 9000, timedelta(seconds=-1))
    with pytest.raises(Exception, match="expired at"):
        read(made.bundles[0])


def pem(who: certificates.Credentials) -> tuple[str, str]:
    """Certificate and key."""
    return who.certificate, who.key


def wait_for(port: int) -> None:
    """Waits until the coordinator listens."""
    give_up = time.monotonic() + 60
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_a_bundle_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "::1", 9000)
    assert isinstance(made.coordinator, Bundle)
    assert made.coordinator.address == "tls://[::1]:9000"
    broken = tmp_path / "broken"
    broken.write_text(made.bundles[0].read_text()[:-20])
    with pytest.raises(Exception, match="is no bundle"):
        read(broken)


def test_what_is_no_bundle_of_a_node_is_refused(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "127.0.0.1", 9000)
    assert read_of_node(made.bundles[0]).member == "node-1"
    with pytest.raises(ClusterError, match="is the bundle of the coordinator") as told:
        read_of_node(tmp_path / "coordinator.bundle")
    assert told.value.usage
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\xb0")
    for path, words in ((program, "is no bundle"), (tmp_path, "Is a directory"), (tmp_path / "x", "No such file")):
        with pytest.raises(ClusterError, match=words) as told:
            read_of_node(path)
        assert told.value.usage


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("expires", 5), ("expires", "tomorrow"), ("expires", "2999-01-01T00:00:00"), ("expires", None),
        ("host", 5), ("host", ""), ("host", "a" * 70), ("host", "a b"), ("host", []),
        ("port", "8786"), ("port", 0), ("port", 65536), ("port", 1.5), ("port", True),
        ("certificate", 5), ("certificate", ""), ("certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
        ("key", ""), ("key", {}), ("trusted", "none"), ("trusted", 1),
        ("member", 5), ("member", "node-x"), ("member", "node-2"), ("member", "node-0"), ("run", 5), ("more", 5), ("", 5),
    ],
)  # fmt: skip
def test_a_bundle_with_a_wrong_part_names_it(invited: Path, tmp_path: Path, part: str, value: object) -> None:
    values = json.loads((invited / "node-1.bundle").read_text())
    path = tmp_path / "changed.bundle"
    path.write_text(json.dumps({**values, part: value}))
    with pytest.raises(ClusterError, match=f"is no bundle: its {part or 'one field'} is wrong") as told:
        read_of_node(path)
    assert told.value.usage


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"5", b"null", b"{}", b'{"format": 1}', b"[" * 90_000, b'{"format": []}'])
def test_what_is_no_bundle_is_told_in_two_lines(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.bundle"
    path.write_bytes(data)
    with pytest.raises(ClusterError, match=r"is no bundle|another version") as told:
        read_of_node(path)
    assert told.value.usage


def test_a_bundle_from_standard_input_is_judged_alike(invited: Path) -> None:
    text = (invited / "node-1.bundle").read_bytes().replace(b'"port": 9000', b'"port": "x"')
    command = [sys.executable, "-m", "dsbench", "node", "--join", "-"]
    for data, words in ((text, "- is no bundle: its port is wrong"), (b"\xff\xfe", "- is no bundle")):
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stderr.decode().splitlines()[0]) == (2, f"error: {words}")
        assert len(done.stderr.splitlines()) == 2


@pytest.fixture(scope="module")
def invited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle."""
    return invite(tmp_path_factory.mktemp("invited") / "cluster", 1, "127.0.0.1", 9000).folder


def test_keys_stay_out_of_the_repository_of_a_folder_that_was_there(tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "mine").touch()
    invite(used, 1, "127.0.0.1", 9000)
    assert not (used / ".gitignore").exists(), "what lies beside is the user's"
    (tmp_path / "empty").mkdir()
    assert (invite(tmp_path / "empty", 1, "127.0.0.1", 9000).folder / ".gitignore").exists()
