"""What a run is called, from the option to every place that shows it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import dsbench
from dsbench.measure import run
from dsbench.measure.loaders import TargetDatabase
from dsbench.several import shown
from dsbench.several.compare import read
from dsbench.several.drawn import specs
from dsbench.spec import build


def test_the_label_is_in_the_name_the_tables_the_diagrams_and_the_comparison(tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 1, "duration": 0.1, "clients": 1, "out": tmp_path}
    one, two = (dsbench.run("mock:", label=label, **asked) for label in ("before / after", "Größe 2"))
    assert one.path.name.endswith("_mock_tpcb_before-after")
    assert two.path.name.endswith("_mock_tpcb_Größe-2")
    assert one.run.spec.label == "before / after"
    assert "label: before / after" in one.summary()
    assert b"# label: before / after" in one.read("results.txt")
    assert "before / after: " in one.diagrams()["rate"]
    assert "before / after: " in one.read("report.html").decode()
    found = read([one.path, two.path])
    assert found.labels == ("before / after", "Größe 2")
    assert "A  before / after" in shown.text(found)
    drawn = specs(found)["rate"]
    assert drawn["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["before / after", "Größe 2"]


@pytest.mark.parametrize(
    ("url", "engine", "version", "product"),
    [
        ("private:mariadb", "mysql", "", "mariadb"),
        ("private:mysql", "mysql", "", "mysql"),
        ("mysql://h/d", "mysql", "10.11.19-MariaDB-0+deb12u1", "mariadb"),
        ("mysql://h/d", "mysql", "8.0.31", "mysql"),
        ("private:postgresql", "postgres", "", "postgresql"),
        ("private:sqlite", "sqlite", "", "sqlite"),
    ],
)
def test_an_archive_is_named_by_the_product(url: str, engine: str, version: str, product: str) -> None:
    target = SimpleNamespace(dialect=SimpleNamespace(name=engine), fetch=lambda _: [{"version": version}])
    name = run._name_archive(build({"target": {"url": url}}), cast(TargetDatabase, target))
    assert name.split("_")[-2:] == [product, "tpcb"]
