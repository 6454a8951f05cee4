//! What is special about CH-benCHmark.

use crate::entry::{Entry, Kind};
use crate::settings::{Setting, Values};
use crate::tpcc::{deck, entry as tpcc};

pub(super) const QUERIES: usize = 22;
const ALL: usize = deck::KINDS + QUERIES;

/// Names of the queries.
const NAMES: [&str; QUERIES] = [
    "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11", "Q12", "Q13", "Q14", "Q15", "Q16", "Q17",
    "Q18", "Q19", "Q20", "Q21", "Q22",
];

/// The kinds: the transactions of TPC-C by their numbers, then the queries. Nothing is asked of their shares and times,
/// and there are no people at terminals: these are rules of a run of TPC-C alone.
pub(super) const KINDS: &[Kind; ALL] = &{
    let mut all = [Kind::named(""); ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = Kind::named(if at < deck::KINDS { tpcc::KINDS[at].name } else { NAMES[at - deck::KINDS] });
        at += 1;
    }
    all
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "streams",
        values: Values::Whole { least: 1, most: 1000 },
        default: "1",
        help: "sessions that ask the 22 queries one after another, each in an order of its own",
    },
    Setting {
        name: "sets",
        values: Values::Whole { least: 1, most: 1000 },
        default: "1",
        help: "how often each stream goes through the 22 queries in a cycle, which ends then",
    },
    Setting {
        name: "answers",
        values: Values::Words(&["checked", "unchecked"]),
        default: "checked",
        help: "whether the answers on the loaded rows are compared with those of a second engine, DuckDB",
    },
    Setting {
        name: "affinity",
        values: Values::Words(&["on", "off"]),
        default: "on",
        help: "on: a client has a home warehouse, or a share of them; off: it draws one for each transaction",
    },
    Setting {
        name: "foreign_keys",
        values: Values::Words(&["on", "off"]),
        default: "on",
        help: "whether the tables have foreign keys",
    },
    Setting {
        name: "size",
        values: Values::Part { least: 0.01 },
        default: "1",
        help: "part of the specification's rows, for trying out",
    },
];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    label: "CH-benCHmark",
    disclaimer: "no result in the sense of the TPC",
    settings: SETTINGS,
    quick_scales: &[1],
    kinds: KINDS,
    unit: tpcc::ENTRY.unit,
    row_bytes: tpcc::ENTRY.row_bytes,
    history: tpcc::ENTRY.history,
    call: tpcc::ENTRY.call,
    retries: tpcc::ENTRY.retries,
    isolation: tpcc::ENTRY.isolation,
    headline: tpcc::ENTRY.headline,
    ..Entry::plain(
        "ch",
        "Transactions and analysis on one database: those of TPC-C beside streams of 22 queries, and each alone.",
        super::open,
        KINDS,
    )
};
