//! What is special about CH-benCHmark.

use crate::entry::{Data, Defaults, Entry, Kind, Meaning, Said};
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

static SAID: Said = Said::tps(
    "CH-benCHmark",
    "Transactions and analysis on one database: those of TPC-C beside streams of 22 queries, and each alone.",
    tpcc::ENTRY.said.unit,
);

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    meaning: Meaning { disclaimer: "no result in the sense of the TPC", ..Meaning::NONE },
    settings: SETTINGS,
    defaults: Defaults {
        quick_scales: &[1],
        call: tpcc::ENTRY.defaults.call,
        retries: tpcc::ENTRY.defaults.retries,
        isolation: tpcc::ENTRY.defaults.isolation,
        ..Defaults::PLAIN
    },
    kinds: KINDS,
    data: Data { row_bytes: tpcc::ENTRY.data.row_bytes, history: tpcc::ENTRY.data.history, ..Data::PLAIN },
    ..Entry::plain("ch", Said { headline: tpcc::ENTRY.said.headline, ..SAID }, super::open, KINDS)
};
