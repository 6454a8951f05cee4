"""Bundles: for their owner alone, whole or not at all, and gone when their run is over."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from dsbench.measure.joining import ClusterError
from dsbench.measure.nodes.bundle import Bundle, Invitation, invite, issue, read, read_of_node


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
    assert [path.name for path in made.bundles] == ["node-1.bundle", "node-2.bundle"]
    made.spend()
    assert [file.name for file in (tmp_path / "cluster").iterdir()] == [".gitignore"], "the keys are gone"


def test_an_expired_bundle_says_so(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "127.0.0.1", 9000, timedelta(seconds=-1))
    with pytest.raises(Exception, match="expired at"):
        read(made.bundles[0])


def test_a_bundle_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "::1", 9000)
    assert isinstance(made.coordinator, Bundle)
    assert made.coordinator.address == "tls://[::1]:9000"
    broken = tmp_path / "broken"
    broken.write_text(made.bundles[0].read_text()[:-20])
    with pytest.raises(Exception, match="is not a valid bundle"):
        read(broken)


def test_what_is_no_bundle_of_a_node_is_refused(tmp_path: Path) -> None:
    made = invite(tmp_path, 1, "127.0.0.1", 9000)
    assert read_of_node(made.bundles[0]).member == "node-1"
    with pytest.raises(ClusterError, match="is the bundle of the coordinator") as told:
        read_of_node(tmp_path / "coordinator.bundle")
    assert told.value.usage
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\xb0")
    for path, words in ((program, "is not a valid bundle"), (tmp_path, "Is a directory"), (tmp_path / "x", "No such file")):
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
        ("member", 5), ("member", "node-x"), ("member", "node-2"), ("member", "node-0"), ("more", 5), ("", 5),
    ],
)  # fmt: skip
def test_a_bundle_with_a_wrong_part_names_it(invited: Path, tmp_path: Path, part: str, value: object) -> None:
    values = json.loads((invited / "node-1.bundle").read_text())
    path = tmp_path / "changed.bundle"
    path.write_text(json.dumps({**values, part: value}))
    with pytest.raises(ClusterError, match=f"is not a valid bundle: invalid {part or 'field'}") as told:
        read_of_node(path)
    assert told.value.usage


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"5", b"null", b"{}", b'{"format": 1}', b"[" * 90_000, b'{"format": []}'])
def test_what_is_no_bundle_is_told_in_two_lines(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.bundle"
    path.write_bytes(data)
    with pytest.raises(ClusterError, match=r"is not a valid bundle|another version") as told:
        read_of_node(path)
    assert told.value.usage


def test_a_bundle_from_standard_input_is_judged_alike(invited: Path) -> None:
    text = (invited / "node-1.bundle").read_bytes().replace(b'"port": 9000', b'"port": "x"')
    command = [sys.executable, "-m", "dsbench", "cluster", "node", "--join", "-"]
    for data, words in ((text, "- is not a valid bundle: invalid port"), (b"\xff\xfe", "- is not a valid bundle: invalid form")):
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


def test_an_invitation_in_no_file_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    coordinator, bundles = issue(2, "127.0.0.1", 9000)
    assert [Bundle.model_validate_json(bundle.text) for bundle in bundles] == bundles
    invitation = Invitation(coordinator)
    assert invitation.bundles == []
    invitation.spend()
    assert list(tmp_path.iterdir()) == []
