"""Queries over archives: columns of any name, values of any type, words that are changed."""

from __future__ import annotations

import zlib
from pathlib import Path
from random import Random

from . import archives
from .mutate import TEXTS, mutated
from .sandbox import called

_VALUES = (
    "DATE '99999-01-01'", "DATE '0044-03-15 (BC)'", "'infinity'::TIMESTAMP", "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'",
    "TIMESTAMPTZ '2020-01-01 00:00:00+01'", "INTERVAL 5 YEAR", "INTERVAL 1000000000 HOUR", "2::HUGEINT ** 100", "uuid()", "'a'::BLOB",
    r"'\xAA'::BLOB", "MAP {1: 2}", "MAP {[1]: {'a': 'nan'::DOUBLE}}", "{'a': 1, 'b': ['inf'::DOUBLE]}", "'101'::BIT", "TIME '24:00:00'",
    "TIMETZ '10:00:00+02'", "'x'::ENUM('x', 'y')", "[DATE '99999-01-01']", "NULL", "1.5::DECIMAL(38, 10)", "union_value(num := 2)",
    "'a' || chr(0)", "chr(27) || '[2J'", "[]", "true", "[[NULL]]", "-0.0", "1e308 * 10", "'nan'::FLOAT", "archive", "*", "count(*)", "1 AS a, 2 AS a",
    "scale", "rate_median_tps", "status", "(SELECT max(scale) FROM scales)", "x'00'", "''", '1 AS ""', '1 AS "a b"', "repeat('x', 5000)",
)  # fmt: skip
_TABLES = ("runs", "scales", "settings", "trials", "cycles", "buckets", "runs r JOIN scales s USING (archive)", "nothing", "(SELECT 1 AS archive)",
           "read_csv('/etc/passwd')", "duckdb_settings()", "range(3)")  # fmt: skip
_ENDS = ("", " LIMIT 3", " ORDER BY 1", " GROUP BY ALL", " WHERE false", ";", "; SELECT 2", " UNION ALL SELECT 1", " -- ", "\n", "\x00")


def make(random: Random) -> bytes:
    """A query."""
    values = ", ".join(random.choice(_VALUES) for _ in range(random.choice((1, 1, 2, 3))))
    sql = f"SELECT {values} FROM {random.choice(_TABLES)}{random.choice(_ENDS)}"
    pick = random.random()
    if pick < 0.15:
        sql = random.choice(("SHOW TABLES", "DESCRIBE runs", "SUMMARIZE scales", "SELECT 1; SELECT 2", "PRAGMA version", "EXPLAIN SELECT 1",
                             "CREATE TABLE x AS SELECT 1", "SET clients = 1", "LOAD httpfs", "COPY runs TO 'x'", *TEXTS))  # fmt: skip
    said = sql.encode("utf-8", "surrogatepass")
    return mutated(random, said) if pick > 0.8 else said


def run(data: bytes, folder: Path) -> None:
    """``dsbench query``, in one of its forms."""
    number = zlib.crc32(data)
    archives.unpack(number % archives.COUNT, folder / "a")
    sql = data.decode("utf-8", "replace").replace("\0", "\ufffd")
    called("query", "a", "--as", ("text", "csv", "json")[number % 3], "--", sql)
