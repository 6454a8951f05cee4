"""A browser on the pages of the ``archives`` of a module, which each has its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.waiting import PATIENCE_S
from fixtures.web import browsed, served


@pytest.fixture(scope="module")
def address(archives: Path) -> Iterator[str]:
    with served(archives) as found:
        yield found


@pytest.fixture(scope="module")
def context(address: str) -> Iterator[Any]:
    with browsed() as browser:
        found = browser.new_context(viewport={"width": 1280, "height": 900})
        found.set_default_timeout(PATIENCE_S * 1000)
        page = found.new_page()
        page.goto(address)
        page.wait_for_selector("h1")
        page.close()
        yield found


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    made = context.new_page()
    yield made
    made.close()


@pytest.fixture
def base(address: str) -> str:
    return address.partition("/?")[0]
