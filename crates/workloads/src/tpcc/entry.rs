//! What is special about TPC-C, revision 5.11.

use crate::entry::{Data, Defaults, Entry, Headline, Kind, Meaning, Queued, Rule, Said, Unit};
use crate::settings::{Setting, Values};
use crate::Call;

use super::{deck, sizes};

const DEFERRED: &str = "deferred";

/// Shares of the mix (clause 5.2.3), limits of 90% of the response times and the times of people at terminals
/// (clause 5.2.5), by number of the kind. The limit of a Delivery is that of its answer, for which the terminal
/// waits; a queued one (clause 2.7.2) has a longer one.
pub(crate) const KINDS: &[Kind; deck::KINDS] = &[
    Kind { limit_s: Some(5.0), keying_and_think_s: Some((18, 12)), ..Kind::named("new_order") },
    Kind { least_share: Some(0.43), limit_s: Some(5.0), keying_and_think_s: Some((3, 12)), ..Kind::named("payment") },
    Kind {
        least_share: Some(0.04),
        limit_s: Some(5.0),
        keying_and_think_s: Some((2, 10)),
        ..Kind::named("order_status")
    },
    Kind {
        least_share: Some(0.04),
        limit_s: Some(5.0),
        keying_and_think_s: Some((2, 5)),
        queued: Some(Queued { setting: "delivery", value: DEFERRED, limit_s: 80.0 }),
        ..Kind::named("delivery")
    },
    Kind {
        least_share: Some(0.04),
        limit_s: Some(20.0),
        keying_and_think_s: Some((2, 5)),
        ..Kind::named("stock_level")
    },
];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "mix",
        values: Values::Cards { most: 10_000 },
        default: "10,10,1,1,1",
        help: "cards of each kind in the deck, in the order of the kinds",
    },
    Setting {
        name: "affinity",
        values: Values::Words(&["on", "off"]),
        default: "on",
        help: "on: a client has a home warehouse, or a share of them; off: it draws one for each transaction",
    },
    Setting {
        name: "delivery",
        values: Values::Words(&["inline", DEFERRED]),
        default: "inline",
        help: "inline: the terminal waits for it; deferred: the terminal only queues it and goes on",
    },
    Setting {
        name: "foreign_keys",
        values: Values::Words(&["on", "off"]),
        default: "on",
        help: "whether the tables have foreign keys",
    },
    Setting {
        name: "size",
        values: Values::Part { least: sizes::LEAST },
        default: "1",
        help: "part of the specification's rows, for trying out: the figures are then not TPC-C-like",
    },
];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    meaning: Meaning {
        specification: "TPC-C",
        disclaimer: "no result in the sense of the TPC",
        analysis: "tpcc",
        ..Meaning::NONE
    },
    data: Data {
        // Measured at scale 1: SQLite 133, PostgreSQL 197, Firebird 200, MariaDB 260.
        row_bytes: (130, 270),
        history: "without a key: rows are added as they come",
        ..Data::PLAIN
    },
    defaults: Defaults {
        call: Call::Procedure,
        retries: true,
        // Clause 3.4.1 demands more than read committed.
        isolation: "repeatable-read",
        // Clause 4.2.1.
        terminals_per_unit: Some(10),
        ..Defaults::PLAIN
    },
    settings: SETTINGS,
    rules: &[Rule {
        setting: "delivery",
        value: DEFERRED,
        option: "pace",
        needs: "terminals",
        why: "delivery=deferred spares people at terminals a wait, and there are none",
    }],
    ..Entry::plain(
        "tpcc",
        Said {
            headline: Headline {
                label: "NOPM",
                kind: Some("new_order"),
                per_s: 60,
                about: "committed New-Orders per minute, no tpmC",
            },
            ..Said::tps(
                "TPC-C-like",
                "A wholesale company: orders, payments, deliveries and questions about orders and stocks.",
                Unit { name: "warehouse", about: "10 districts, 30,000 customers and a stock of 100,000 items" },
            )
        },
        super::open,
        KINDS,
    )
};
