"""What ``make test`` runs of a matrix, and what it leaves to ``make test-all``."""

from __future__ import annotations

import pytest

from fixtures.thorough import mostly_thorough


def test_examples_that_are_not_named_are_thorough() -> None:
    needs = pytest.mark.needs_mysql
    found = mostly_thorough(["a", "b", pytest.param("c", id="d", marks=needs), ("e", 1), ("e", 2)], "a", "d", ("e", 2))
    assert [[mark.name for mark in one.marks] for one in found] == [[], ["thorough"], ["needs_mysql"], ["thorough"], []]
    (kept,) = mostly_thorough([pytest.param("c", marks=needs)])
    assert [mark.name for mark in kept.marks] == ["needs_mysql", "thorough"]


def test_a_name_that_no_example_has_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no examples: "):
        mostly_thorough(["a"], "b")
