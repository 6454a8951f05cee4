"""The list of columns: what follows it agrees with it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dsbench.archive import TABLES, Writer, columns
from dsbench.spec import LEVELS
from dsbench.stats.values import result_columns

CORE = Path(__file__).parent.parent / "crates/py/src/cycle.rs"


SPELT = {
    "once(client.missed)": "skipped_starts",
    "once(remote.unsigned_abs())": "remote",
    "tally.residence.sum()": "residence_ns",
    "tally.response.as_ref().unwrap_or(&tally.residence).sum()": "response_ns",
    "tally.residence.min()": "residence_min_ns",
    "tally.residence.max()": "residence_max_ns",
    "tally.first_start.unwrap_or(0)": "first_start_ns",
    "tally.last_end": "last_end_ns",
    "once(client.cpu_ns.0 + client.cpu_ns.1)": "cpu_ns",
    "once(client.moves)": "moves",
    "tally.ended_ns()": "ended_ns",
    "tally.in_flight_max": "in_flight_max_ns",
    "once(client.recorder.waiting())": "waiting_ns",
    "once(client.recorder.span())": "client_ns",
    "once(client.recorder.p99())": "client_p99_ns",
    "tally.messages.sent": "messages_sent",
    "tally.messages.received": "messages_received",
}
"""What the core calls otherwise."""


def test_the_counters_are_those_of_the_core_in_its_order() -> None:
    body = CORE.read_text().partition("fn counters(")[2].partition("\n    [\n")[2].partition("\n    ]")[0]
    lines = [line.strip().removesuffix(",") for line in body.splitlines()]
    assert tuple(SPELT.get(line, line.removeprefix("tally.")) for line in lines) == columns.COUNTERS


def test_as_many_pauses_are_kept_as_the_core_has_room_for() -> None:
    core = Path(__file__).parent.parent / "crates/core/src/record/pauses.rs"
    assert f"pub const KEPT: usize = {columns.KEPT_PAUSES};" in core.read_text()


@pytest.mark.parametrize("table", columns.TABLES.values(), ids=lambda table: table.name)
def test_every_column_says_what_it_is(table: columns.ArchiveTable) -> None:
    names = [column.name for column in table.columns]
    assert names == TABLES[table.name].names == list(dict.fromkeys(names))
    assert all(column.sentence[-1] in ".…" for column in table.columns)
    assert [c.name for c in table.columns if c.name.endswith("_ns") != (c.unit == "ns")] == []


def test_a_sealed_file_carries_sentences_and_units(tmp_path: Path) -> None:
    writer = Writer.create(tmp_path, "run")
    writer.rows("phases", "a", [{"scale": 1, "cycle": 0, "phase": "populate", "duration_ns": 5}])
    writer.seal()
    schema = pq.read_schema(writer.path / "phases.parquet")
    assert schema.field("duration_ns").metadata[b"unit"] == b"ns"
    assert schema.field("rows").metadata[b"description"].startswith(b"Rows that")
    assert schema.metadata[b"description"] == columns.TABLES["phases"].sentence.encode()


def test_every_result_has_its_unit_in_its_name() -> None:
    ends = {"tps": "_tps", "GB": "_gb", "s": "_s", "": ""}
    assert [name for name, one in result_columns(LEVELS).items() if not name.endswith(ends[one.unit])] == []
