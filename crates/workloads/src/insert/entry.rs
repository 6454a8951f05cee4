//! What is special about the Insert Benchmark.

use crate::entry::{Changed, Data, Defaults, Entry, Kind, Said, Unit};
use crate::settings::{Setting, Values};

/// Bytes of a row's values: number and time of 8 bytes, four numbers of 4, 15 characters on average.
const ROW_BYTES: f64 = 8.0 + 8.0 + 4.0 * 4.0 + 15.0;

pub(super) const KINDS: &[Kind; 4] = &[
    Kind::of_rows("insert", Changed::Inserted(ROW_BYTES)),
    Kind::of_rows("delete", Changed::Deleted),
    Kind::named("range"),
    Kind::named("point"),
];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "tables",
        values: Values::Words(&["each", "shared"]),
        default: "each",
        help: "each client has a table to itself, or all share one",
    },
    Setting {
        name: "rows",
        values: Values::Whole { least: 100, most: 10_000_000 },
        default: "100000",
        help: "rows that each client inserts in l.i0 for each unit of scale; fewer let hundreds of clients end soon",
    },
    Setting {
        name: "sizes",
        values: Values::Words(&["quick", "cached", "io-bound"]),
        default: "quick",
        help: "rows of l.i1 and l.i2 for each row of l.i0: 1/5; as published for a database in memory, 10/3; as \
               published for one beyond it, 1/160. Published scales are 300 and 8000",
    },
    Setting {
        name: "writes",
        values: Values::Whole { least: 0, most: 1_000_000_000_000 },
        default: "0",
        help: "rows that each client inserts in l.i1 and l.i2 together, 4/5 of them in l.i1; 0: by sizes",
    },
    Setting {
        name: "settle",
        values: Values::Words(&["auto", "full", "short"]),
        default: "auto",
        help: "full: 60 s and 1 s for each million rows before the queries, 1200 s at most, as published; short: the \
               statements alone and 5 s at most until the server has written; auto: short with sizes=quick",
    },
    Setting {
        name: "rates",
        values: Values::Words(&["all", "100", "500", "1000"]),
        default: "all",
        help: "rows per second that each client inserts beside its queries: stages for all three rates, as published, \
               or for one of them alone",
    },
    Setting {
        name: "deletes",
        values: Values::Words(&["limit", "range"]),
        default: "limit",
        help: "limit: delete the oldest rows in the order of their numbers, as the published client does since April \
               2024; range: delete the numbers from the oldest on, as it did before",
    },
    Setting {
        name: "family",
        values: Values::Words(&["default", "secondary"]),
        default: "default",
        help: "MyRocks: the column family of the secondary indexes, that of the table or one of their own, which \
               rocksdb_override_cf_options can name",
    },
];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    data: Data {
        // InnoDB and PostgreSQL, of three million rows once they have their indexes.
        row_bytes: (150, 210),
        loading: "rows",
        ..Data::PLAIN
    },
    defaults: Defaults { quick_scales: &[1], retries: true, ..Defaults::PLAIN },
    settings: SETTINGS,
    ..Entry::plain(
        "insert",
        Said::tps(
            "Insert Benchmark",
            "The Insert Benchmark: a load in key order, three indexes, inserts with deletes, then queries beside them.",
            Unit { name: "load", about: "100,000 rows that each client inserts first; --set rows changes it" },
        ),
        super::open,
        KINDS,
    )
};
