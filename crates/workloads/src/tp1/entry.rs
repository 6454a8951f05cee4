//! What is special about TP1 and the transactions that it is made of.

use crate::entry::{Data, Defaults, Entry, Kind, Meaning, Remote, Said, Unit};
use crate::settings::{Setting, Values};
use crate::tpcb::entry::{ROW_BYTES, ROW_DATA};
use crate::Call;

pub(super) const KINDS: [&[Kind; 1]; 3] = [&[Kind::named("tp1")], &[Kind::named("amend")], &[Kind::named("append")]];

/// What the sizes of the seed are for one tps: those for 100 are 1,000 branches, 10,000 tellers, 10,000,000 accounts.
const UNIT: Unit = Unit { name: "rated tps", about: "10 branches, 100 tellers and 100,000 accounts" };

const TRANSACTIONS: Setting = Setting {
    name: "transactions",
    values: Values::Whole { least: 1, most: 1_000_000_000_000 },
    default: "1536",
    help: "transactions of a cycle, of all streams together: each does an even share. A run takes the multiple \
           that lasts for --duration, the same for all numbers of streams",
};

const HISTORY: Setting = Setting {
    name: "history",
    values: Values::Words(&["heap", "indexed", "hashed", "partitioned"]),
    default: "heap",
    help: "heap: rows are appended; indexed: with an index by account; hashed: that is a hash index (PostgreSQL); \
           partitioned: 16 tables by branch (PostgreSQL, MariaDB, MySQL)",
};

const BEFORE: Setting = Setting {
    name: "before",
    values: Values::Whole { least: 0, most: 2_000_000 },
    default: "0",
    help: "rows of history before the first transaction, for each unit of scale; TP1 names 2,000,000",
};

const SPACES: Setting = Setting {
    name: "spaces",
    values: Values::Text("RELATION:TABLESPACE, separated by commas"),
    default: "",
    help: "tablespaces of relations with their keys (PostgreSQL), such as account:fast,history:slow; of a private \
           server tablespace.NAME=FOLDER makes one",
};

const FILLFACTOR: Setting = Setting {
    name: "fillfactor",
    values: Values::Text("RELATION:PERCENT, separated by commas"),
    default: "",
    help: "fillfactor of relations (PostgreSQL), such as account:50,teller:10",
};

/// The transaction.
pub static TP1: Entry = Entry {
    data: Data { row_bytes: ROW_BYTES, row_data: ROW_DATA, fills_by_procedure: true, ..Data::PLAIN },
    defaults: Defaults { quick_scales: &[1], call: Call::Procedure, retries: true, ..Defaults::PLAIN },
    remote: Some(Remote {
        sum: "remote",
        what: "changed another branch's account",
        share: 0.15,
        least: 0.14,
        most: 0.16,
        when: Some(("remote", "15")),
    }),
    settings: &[
        Setting {
            name: "remote",
            values: Values::Words(&["0", "15"]),
            default: "0",
            help: "per cent of the transactions whose account is of another branch; TP1 names 15, its reports take 0",
        },
        Setting {
            name: "terminal",
            values: Values::Words(&["none", "block"]),
            default: "none",
            help:
                "block: each client reads a message of 100 bytes in ten fields from a terminal of its own, and answers \
                   with 100 bytes; none: without terminals, as most reports",
        },
        HISTORY,
        BEFORE,
        SPACES,
        FILLFACTOR,
        TRANSACTIONS,
    ],
    meaning: Meaning { parts: &[("t2", 2), ("t1", 3)], ..Meaning::NONE },
    ..Entry::plain(
        "tp1",
        Said::tps("TP1", "TP1 (DebitCredit): the transaction of a bank, a fixed number of times, over streams.", UNIT),
        super::open_tp1,
        KINDS[0],
    )
};

/// Three of its parts.
pub static T1: Entry = Entry {
    data: Data { row_bytes: ROW_BYTES, row_data: ROW_DATA, fills_by_procedure: true, ..Data::PLAIN },
    defaults: Defaults { quick_scales: &[1], retries: true, ..Defaults::PLAIN },
    settings: &[
        Setting {
            name: "conflict",
            values: Values::Words(&["none", "same"]),
            default: "none",
            help: "none: each stream amends a row of its own page; same: all streams amend the same row",
        },
        SPACES,
        FILLFACTOR,
        TRANSACTIONS,
    ],
    ..Entry::plain(
        "t1",
        Said::tps("T1", "A part of TP1: each transaction amends one row, chosen by its key.", UNIT),
        super::open_t1,
        KINDS[1],
    )
};

/// Two of its parts.
pub static T2: Entry = Entry {
    data: Data { row_bytes: ROW_BYTES, row_data: ROW_DATA, fills_by_procedure: true, ..Data::PLAIN },
    defaults: Defaults { quick_scales: &[1], retries: true, ..Defaults::PLAIN },
    settings: &[HISTORY, BEFORE, SPACES, FILLFACTOR, TRANSACTIONS],
    ..Entry::plain(
        "t2",
        Said::tps("T2", "A part of TP1: each transaction appends one row to the history.", UNIT),
        super::open_t2,
        KINDS[2],
    )
};
