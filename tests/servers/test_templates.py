"""Data folders that are made once and copied: by two at once, after a killed making, and without the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dsbench.servers import templates
from dsbench.servers.errors import ServerError


class Making:
    """Makes data folders below ``base`` and counts how often ``make`` was called for them."""

    def __init__(self, base: Path) -> None:
        self.base, self.made = base, 0

    def fill(self, name: str, *key: object, meanwhile: Callable[[], None] = lambda: None) -> Path:
        """Fills the folder ``name``."""
        data = self.base / name
        data.mkdir(mode=0o700)

        def make() -> None:
            self.made += 1
            (data / "file").write_text(f"made {self.made}")
            (data / "file").chmod(0o600)
            (data / "link").symlink_to("file")
            meanwhile()

        templates.fill(data, key, None, make)
        return data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where templates are kept; it is made with the first of them."""
    monkeypatch.setenv(templates.VARIABLE, str(tmp_path / "templates"))
    return tmp_path / "templates"


@pytest.fixture
def making(tmp_path: Path) -> Making:
    return Making(tmp_path)


def test_what_was_made_once_is_copied_with_rights_and_links(folder: Path, making: Making) -> None:
    first, second, other = (making.fill(name, *key) for name, key in (("a", "xy"), ("b", "xy"), ("c", "xz")))
    assert [(path / "file").read_text() for path in (first, second, other)] == ["made 1", "made 1", "made 2"]
    assert (second / "link").readlink() == Path("file")
    assert [(path.stat().st_mode & 0o777) for path in (second, second / "file")] == [0o700, 0o600]
    (second / "file").write_text("changed")
    assert (making.fill("d", *"xy") / "file").read_text() == "made 1", "a copy is not the template"
    assert len(list(folder.iterdir())) == 2


def test_without_a_folder_each_is_made(making: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(templates.VARIABLE)
    making.fill("a", "x")
    making.fill("b", "x")
    assert making.made == 2


def test_of_two_that_make_it_at_once_both_are_served(folder: Path, making: Making) -> None:
    making.fill("a", "x", meanwhile=lambda: making.fill("b", "x") and None)
    assert making.made == 2
    assert len(list(folder.iterdir())) == 1, "of the slower one nothing is left"
    making.fill("c", "x")
    assert making.made == 2


def test_a_making_that_fails_or_is_killed_leaves_no_template(folder: Path, making: Making) -> None:
    def fail() -> None:
        raise ServerError("initdb failed", "")

    with pytest.raises(ServerError, match="initdb failed"):
        making.fill("a", "x", meanwhile=fail)
    (folder / ".unfinished-killed").mkdir(parents=True)
    making.fill("b", "x")
    assert making.made == 2


def test_a_folder_that_cannot_be_written_costs_the_template_only(folder: Path, making: Making) -> None:
    folder.write_text("no folder")
    making.fill("a", "x")
    assert making.made == 1


def test_a_template_that_cannot_be_copied_is_told(folder: Path, making: Making) -> None:
    making.fill("a", "x")
    (template,) = folder.iterdir()
    (making.base / "b").mkdir()
    (making.base / "b/file").mkdir()
    with pytest.raises(ServerError, match=f"the template {template} cannot be copied") as told:
        templates.fill(making.base / "b", ("x",), None, lambda: pytest.fail("there is one"))
    assert templates.VARIABLE in told.value.remedy
