"""Price and performance: transactions for each unit of it, by the price of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, nan
from typing import TYPE_CHECKING, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Measure, Result, Subject, Values, computed
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.queries import QueriesResult
from dsbench.spec.price import HOURS_OF_YEAR

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_SECONDS: Final = 3600.0
_YEARS: Final = 3.0
"""Over which TPC-H's price of a system goes: specification 3.0.1, 7.1.3."""


@dataclass(frozen=True)
class Worth:
    """What a unit of money buys at one scale. ``nan``: not known."""

    transactions: float
    """At the measured rate."""
    at_capacity: float = nan
    """At the highest rate that keeps the objective."""
    per_query_rate: float = nan
    """Money over three years for 1,000 QphH-like."""


def _read_worth(evaluation: Evaluation) -> dict[int, Worth]:
    price = evaluation.rows.whole.run.price
    if price is None:
        return {}
    found = {}
    for scale, rate in evaluation.own_rates.items():
        load, decision = evaluation.of(LoadResult).load.get(scale), evaluation.of(QueriesResult).queries.get(scale)
        query_rate = decision.reported.qphh if decision else nan
        found[scale] = Worth(
            _SECONDS * rate / price.per_hour,
            _SECONDS * load.rate / price.per_hour if load else nan,
            1000 * _YEARS * HOURS_OF_YEAR * price.per_hour / query_rate if query_rate > 0 else nan,
        )
    return found


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    price = evaluation.run.price
    if price is None:
        return
    rows = [(heading, scale, one.transactions, one.at_capacity, one.per_query_rate)
            for heading, part in each_series(evaluation)
                for scale, one in part.of(PriceResult).worth.items()]  # fmt: skip
    if not rows:
        return
    yield Sentence(f"The machine costs {price.words}.", "lead")
    unit = f"per {price.currency}"
    columns = (Column("series", left=True), Column("scale"), Column("transactions", unit),
               Column("at the capacity", unit, about="at the highest rate that keeps the objective"),
               Column("three years", f"{price.currency} per 1,000 QphH-like"))  # fmt: skip
    # A column of which no row tells anything is left out.
    told = [at for at in range(len(columns)) if any(_is_told(row[at]) for row in rows)]
    yield Table("Price and performance", [columns[at] for at in told], [[row[at] for at in told] for row in rows])


def _is_told(value: object) -> bool:
    return isfinite(value) if isinstance(value, float) else bool(value)


def _transactions(part: Evaluation) -> Values:
    return {x: one.at_capacity if isfinite(one.at_capacity) else one.transactions
        for x, one in part.of(PriceResult).worth.items()}


def _unit(part: Evaluation) -> str:
    price = part.rows.whole.run.price if part.has_clients else None
    return f"1/{price.currency}" if price else ""


class PriceResult(Result):
    worth = computed(_read_worth)
    """By scale: what a unit of money buys; empty where nobody said what the machine costs."""


SUBJECT: Final = Subject(
    "price", "Price", PriceResult, tell=_tell,
    nothing="The price of the machine is unknown: add --price 1.2 EUR/h, here or to dsbench run.",
    measures=(
        Measure("transactions-per-money", "", "transactions per unit of money, by --price; with an objective, at "
                "its highest rate", _transactions, unit_of=_unit, needs="specify the price of the machine: --price",
                possible=lambda spec: bool(spec.price)),
    ),
)  # fmt: skip
