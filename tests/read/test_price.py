"""What a machine costs, and what the money buys: one parser for run, show, compare, publish and the browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.commons import about as owner
from dsbench.commons import packing
from dsbench.read.choice import make_choice
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.price import PriceResult
from dsbench.read.subjects.rate import RateResult
from dsbench.several.compare import read
from dsbench.several.shown import document
from dsbench.spec import SpecError, build
from dsbench.spec.price import Price, read_price

STORED = Path(__file__).parents[1] / "data" / "archives"


@pytest.mark.parametrize(
    ("text", "per_hour", "currency"),
    [
        ("1.2/h", 1.2, "USD"), ("0.0816", 0.0816, "USD"), ("1.2 EUR/h", 1.2, "EUR"), ("1.2eur/hour", 1.2, "EUR"),
        ("24 CHF / d", 1.0, "CHF"), ("730 EUR/month", 1.0, "EUR"), ("8760/y", 1.0, "USD"),
        ("12000 EUR/3y", 12000 / 26280, "EUR"), ("100/0.5 years", 100 / 4380, "USD"),
    ],
)  # fmt: skip
def test_a_price_is_that_of_an_hour(text: str, per_hour: float, currency: str) -> None:
    found = read_price(text)
    assert found is not None
    assert found.currency == currency
    assert found.per_hour == pytest.approx(per_hour)


@pytest.mark.parametrize("text", ["abc", "-1/h", "0/h", "1 EUR/week", "1 EURO/h", "1/0y", "1.2.3/h", "9999999/h", "1/2", "0.0000001/h"])
def test_what_is_no_price_is_refused_by_its_option(text: str) -> None:
    with pytest.raises(SpecError) as refused:
        build({"price": text})
    assert refused.value.option == "--price"


def test_the_price_of_the_run_goes_before_that_of_the_reader() -> None:
    path = STORED / "pg.zip"
    silent, cheap = evaluate(Archive.open(path)), evaluate(Archive.open(path, "2 EUR/h"))
    assert silent.of(PriceResult).worth == {}
    rates = {row.scale: row.rate_median_tps for row in cheap.of(RateResult).scales}
    assert {x: one.transactions for x, one in cheap.of(PriceResult).worth.items()} == pytest.approx(
        {x: 1800 * rate for x, rate in rates.items()}
    )
    spec = cheap.run.spec.model_copy(update={"price": "1 CHF/h"})
    archive = Archive.open(path, "2 EUR/h")
    archive.__dict__["_described"] = {**archive._described, "spec": {**archive._described["spec"], **spec.described()}}
    assert archive.run.price == Price(per_hour=1.0, currency="CHF")


def test_the_price_of_a_search_is_that_of_its_capacity(tmp_path: Path) -> None:
    archive = dsbench.run(
        "mock:?latency_us=300", scales=(1,), cycles=1, duration=0.3, clients=1, objective="p90=5ms", price="1 EUR/h",
        out=tmp_path,
    )  # fmt: skip
    found = archive.evaluate()
    capacity = found.of(LoadResult).load[1].rate
    figure = make_choice("transactions-per-money").read(found)
    if capacity == capacity:  # A short search on a busy machine may end without one.
        assert figure.value == pytest.approx(3600 * capacity)
    assert figure.unit == "1/EUR"
    assert found.of(PriceResult).worth[1].transactions > 0
    assert '<section id="price"' in (archive.path / "report.html").read_text()


def test_a_comparison_has_what_the_money_buys() -> None:
    found = document(read([STORED / "pg.zip", STORED / "sqlite-tpcb.zip"], price="1 EUR/h"))
    ((title, sides),) = found["sections"][0]["measures"].items()
    assert title == "transactions per money, 1/EUR"
    assert all(one["1"] > 0 for one in sides.values())


def test_an_entry_has_the_price_of_its_run_unless_the_publisher_says_another(tmp_path: Path) -> None:
    archive = dsbench.run("private:sqlite", scales=(1,), cycles=1, duration=0.2, clients=1, price="12000 EUR/3y",
                          out=tmp_path)  # fmt: skip
    silent = packing.prepare(archive.path, owner.describe_owner(None, "", "", "", "", ""))
    assert silent.entry.about.price == read_price("12000 EUR/3y")
    said = packing.prepare(archive.path, owner.describe_owner(None, "", "", "2/h", "CHF", ""))
    assert said.entry.about.price == Price(per_hour=2.0, currency="CHF")
    assert json.loads(said.entry.rendered())["about"]["price"] == {"per_hour": 2.0, "currency": "CHF"}
    (tmp_path / "about.toml").write_text('price = "730 EUR/month"')
    assert owner.read_about(tmp_path / "about.toml").price == Price(per_hour=1.0, currency="EUR")
    (tmp_path / "about.toml").write_text("[price]\nper_hour = 0.5")
    assert owner.read_about(tmp_path / "about.toml").price == Price(per_hour=0.5)
