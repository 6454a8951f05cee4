"""Whether ``dsbench study papers --full`` asks for what the papers did: each plan beside the sizes that the paper has."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from dsbench import papers, study
from dsbench.cli import papers as command
from dsbench.cli.run import specification
from dsbench.spec import PROFILES, RunSpec, SpecError
from dsbench.study.plan import asked, combinations

LADDER: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
SIZES: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    (Path(__file__).parents[1] / "data/papers.toml").read_text("utf-8")
)
ELSEWISE: Final[Mapping[str, set[str]]] = {
    # One product stands for both; the figures of the other one are items of their own.
    **{f"000 {name}": {"product"} for name in ("dsi", "procedure", "beyond-10000", "collisions", "ranking")},
    **{f"001 {name}": {"product"} for name in ("rate-over-time", "cached-and-io-bound")},
    # Tables of two set-ups: this item makes the larger one, and the item cached the other.
    **{f"001 {name}": {"duration_s"} for name in ("steps", "summary-1", "summary-2", "summary-3", "products",
       "myrocks-options", "innodb-versions", "autovacuum", "two-servers")},
    # Sixteen clients were those of the second computer.
    **{f"000 fig-{number}": {"clients"} for number in (38, 39, 40, 41)},
    "001 clients": {"clients"},  # The paper has one client, and announces more.
    # Those of best.toml, which is there once it is made.
    **{f"003 {name}": {"clients"} for name in ("optimum-against-default", "recap")},
}  # fmt: skip
"""By item what is not that of the paper, and why. The item says so, too."""


def _products(spec: RunSpec) -> Iterator[str]:
    product = spec.target.private or ""
    settings = {name.lower(): value.lower() for name, value in spec.target.settings.items()}
    yield "myrocks" if settings.get("storage_engine") == "rocksdb" else product


def _planned(line: str) -> Iterator[RunSpec]:
    """The runs of a command line, as it would ask for them; none of one that makes no run."""
    words, _file = command.split(line)
    context = command.parsed(words)
    given = context.params
    if context.info_name == "study run":
        if str(given["file"]) not in study.templates():
            return
        spec = study.read(given["file"], given["changes"] or ())
        factors = tuple(factor.computed(spec.limits) for factor in spec.factor)
        for at in combinations(spec, factors):
            with suppress(SpecError):  # A file system without blocks of that size: the study leaves it out.
                yield asked(spec, factors, at, 1).merged.spec
    elif context.info_name == "run" and not given["example_config"] and not given["config"]:
        yield specification(given, None).spec


def _differences(name: str, size: Mapping[str, Any], plan: list[RunSpec]) -> Iterator[str]:
    """What the paper did and the plan does not."""

    def of_paper(key: str) -> list[Any]:
        value = size.get(key, [])
        return list(LADDER) if value == "ladder" else value if isinstance(value, list) else [value]

    found: dict[str, set[Any]] = {
        "workload": {one.workload for one in plan},
        "scales": {scale for one in plan for scale in one.scales},
        "cycles": {one.largest for one in plan},
        "duration_s": {one.duration for one in plan},
        "clients": {number for one in plan for number in one.client_numbers},
        "nodes": {one.nodes if isinstance(one.nodes, int) else len(one.nodes) for one in plan},
        "isolation": {one.isolation for one in plan},
        "product": {product for one in plan for product in _products(one)},
        "blocks": {str(one.target.settings.get("block_size", "")) for one in plan},
        "storage": {str(one.storage.get("block", "")) for one in plan},
        "probes": {one.probes for one in plan},
    }
    for key, planned in found.items():
        if (missing := set(of_paper(key)) - planned) and key not in ELSEWISE.get(name, ()):
            yield f"{name}: {key} {sorted(missing, key=str)} of the paper are not in {sorted(planned, key=str)}"
    for key, given in (
        ("settings", [one.target.settings for one in plan]), ("workload_settings", [one.workload_settings for one in plan])
    ):  # fmt: skip
        wanted = _lower(size.get(key, {}))
        known = [_lower(one) for one in given]
        if wanted and not any(wanted.items() <= one.items() for one in known):
            yield f"{name}: no run has the {key} {wanted}: {known[:1]}"


def _lower(values: Mapping[str, Any]) -> dict[str, str]:
    return {key.lower(): str(value).lower() for key, value in values.items()}


def test_every_figure_and_table_of_the_paper_is_listed() -> None:
    """Source: the paper, figures 1 to 51 and tables 1 to 19, of which its text has no second."""
    names = {name for item in papers.papers()["000"].items for name in item.names}
    assert {f"fig-{number}" for number in range(1, 52)} < names
    assert {f"tab-{number}" for number in range(1, 20) if number != 2} < names


def test_the_sizes_of_every_item_are_known() -> None:
    made = {(number, item.id) for number, one in papers.papers().items() for item in one.items if not item.why}
    assert made - {(number, name) for number, names in SIZES.items() for name in names} == set()


@pytest.mark.parametrize("name", ELSEWISE)
def test_what_is_not_that_of_the_paper_is_said(name: str) -> None:
    assert papers.find(*name.split()).reason


@pytest.mark.parametrize("paper", SIZES)
def test_the_full_size_is_what_the_paper_did(paper: str) -> None:
    assert PROFILES["dsi"]["scales"] == LADDER
    wrong = []
    for name, size in SIZES[paper].items():
        item = papers.find(paper, name)
        assert not item.why, name
        plan = [spec for line in item.commands("full") for spec in _planned(line)]
        # A run by a file that the item writes first has no plan yet.
        assert plan or f"{paper} {name}" == "000 options"
        wrong += _differences(f"{paper} {name}", size, plan) if plan else []
    assert wrong == []


@pytest.mark.parametrize("name", ["fig-21", "fig-32", "fig-39", "fig-41", "fig-47"])
def test_frequencies_are_drawn_at_the_scales_of_the_paper(name: str) -> None:
    parsed = [command.parsed(command.split(line)[0]) for line in papers.find("000", name).commands("full")]
    asks = [context.params for context in parsed if context.info_name == "study run"]
    assert [list(study.read(one["file"], one["changes"]).frequencies) for one in asks] == [SIZES["000"][name]["scales"]]
