"""The private SQLite database: a folder, a URL, checked settings."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from dsbench import servers, spec


def test_the_url_names_a_file_in_a_folder_that_goes(tmp_path: Path) -> None:
    place = tmp_path / "a folder"
    place.mkdir()
    target = spec.Target(directory=place, settings={"journal_mode": "WAL", "cache_size": "-2000", "page_size": "8192"})
    with servers.start(target, 4) as server:
        url = urlsplit(server.url)
        file = Path(unquote(url.path.removeprefix("/")))
        assert file.parent == server.directory
        assert file.parent.parent == place
        assert parse_qs(url.query) == {"journal_mode": ["wal"], "cache_size": ["-2000"], "page_size": ["8192"]}
        assert server.pids() == []
        assert server.log_tail() == []
        file.write_bytes(b"rows")
    assert list(place.iterdir()) == []
    server.stop()


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"journal_mode": "fast"}, "journal_mode"), ({"cache_size": "many"}, "cache_size"), ({"fsync": "off"}, "fsync")],
)
def test_a_wrong_setting_is_named_and_leaves_nothing(tmp_path: Path, settings: dict[str, str], named: str) -> None:
    with pytest.raises(spec.SpecError, match=named) as caught:
        servers.start(spec.Target(directory=tmp_path, settings=settings), 1)
    assert caught.value.option == "--set"
    assert list(tmp_path.iterdir()) == []


def test_a_version_cannot_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(spec.SpecError, match="comes in one version"):
        servers.start(spec.Target(directory=tmp_path, version="3.45"), 1)


def test_a_product_that_is_not_known_names_those_that_are() -> None:
    with pytest.raises(spec.SpecError) as caught:
        servers.start(spec.Target(url="private:oracle"), 1)
    assert "private:postgresql" in caught.value.remedy


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(spec.SpecError, match="is not a folder"):
        servers.start(spec.Target(directory=tmp_path / "missing"), 1)
