"""What a server allows, against what a run needs: asked before anything is made.

``refuse`` and ``ask_url`` ask the server; ``facts`` has the types, and one file for each product what it is asked. A
server that speaks a product's protocol and is another one is asked the same: what it does not answer is left out, and
said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Final

from dsbench.measure.journal import RunError
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.opening import explain_errors, sessions
from dsbench.measure.preflight import firebird, mysql, postgres
from dsbench.measure.preflight.facts import Asking, Fact, Fit, Need
from dsbench.spec import RunSpec

__all__ = ["Fit", "ask_url", "lines", "refuse"]

_PRODUCTS: Final[dict[str, ModuleType]] = {"postgres": postgres, "mysql": mysql, "firebird": firebird}
"""By dialect: modules with ``facts(asking) -> Iterator[Fact]`` and the ``SMALLEST`` query."""
_READING: Final = "select-only"
"""The builtin script that only reads."""


def _need_of(spec: RunSpec, target: TargetDatabase) -> Need:
    """What the run of ``spec`` needs of the server of ``target``."""
    chosen = spec.workload_settings
    statements, procedures = _calls(spec, target)
    reads = spec.existing and chosen.get("builtin") == _READING and not chosen.get("scripts")
    return Need(
        makes=not (spec.existing or spec.reuse), only_reads=reads,
        unknown=spec.existing and not reads, connections=spec.all_clients * spec.connections + 1,
        with_spare=sessions(spec), statements=statements, procedures=procedures,
        of_user=spec.target.private is None, paced=bool(spec.rate or spec.load or spec.objective),
    )  # fmt: skip


def _calls(spec: RunSpec, target: TargetDatabase) -> tuple[int, bool]:
    """How many statements all clients prepare together, where they prepare what is no call of a procedure; and whether
    a transaction is such a call."""
    if spec.existing:
        return 0, False
    chosen = spec.workload, spec.scales[0], spec.call, spec.workload_settings, spec.all_clients
    called = Bench(target, *chosen).call == "procedure"
    if called or not spec.prepare:
        return 0, called
    with closing(TargetDatabase("mock:")) as played:
        played.create("a count")
        bench = Bench(played, *chosen)
        return len(bench.prepared().statements) * spec.all_clients * spec.connections, False


def _has_facts(target: TargetDatabase) -> bool:
    """Whether there is a server to ask: not of an engine in this process, nor of the mock."""
    return target.dialect.name in _PRODUCTS and not target.dialect.embedded


def _ask(target: TargetDatabase, need: Need) -> list[Fact]:
    """Facts about the server of ``target``, for ``need``. ``CoreError`` where no session can be had."""
    if not _has_facts(target):
        return []
    product = _PRODUCTS[target.dialect.name]
    # A login that is refused is tried once: the questions below leave out what the server refuses.
    if need.makes and product is firebird:  # It has no session before its database is made.
        target.state()
    else:
        target.round_trips(product.SMALLEST, 1)
    return list(product.facts(Asking(target, need)))


def ask_url(spec: RunSpec) -> list[Fact]:
    """The same for the server of the user's that ``spec`` names. ``RunError`` where it cannot be asked."""
    # A server that only speaks PostgreSQL's protocol is heard as one with tables that are there.
    existing = spec.existing or spec.target.scheme != "firebird"
    with explain_errors(spec.target.redacted), closing(TargetDatabase(spec.target.url, existing=existing)) as target:
        return _ask(target, _need_of(spec, target))


def refuse(spec: RunSpec, target: TargetDatabase) -> None:
    """``RunError`` with all that the server refuses of what the run of ``spec`` needs."""
    no = [fact for fact in _ask(target, _need_of(spec, target)) if fact.fit is Fit.REFUSED]
    if no:
        words = "; ".join(f"{fact.name}: {fact.found}" for fact in no)
        raise RunError(words, "; ".join(dict.fromkeys(fact.remedy for fact in no if fact.remedy)), usage=True)


def lines(facts: Iterable[Fact]) -> Iterator[str]:
    """The facts as a table for people."""
    facts = list(facts)
    wide = max((len(fact.name) for fact in facts), default=0)
    for fact in facts:
        yield f"{fact.fit.word:<5} {fact.name:<{wide}}  {fact.found}"
        if fact.remedy:
            yield f"{'':5} {'':<{wide}}  hint: {fact.remedy}"
