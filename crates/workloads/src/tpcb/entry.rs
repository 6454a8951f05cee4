//! What is special about TPC-B.

use super::bank::SETTINGS;
use crate::entry::{Data, Defaults, Entry, Kind, Meaning, Remote, Said, Unit};
use crate::Call;

/// The unit of scale of all that runs on the bank.
pub const BRANCH: Unit = Unit { name: "branch", about: "10 tellers and 100,000 accounts" };

/// Measured at scale 1: SQLite 110, PostgreSQL 160, Firebird 180, MariaDB 220.
pub const ROW_BYTES: (u32, u32) = (110, 220);

/// What TPC-B wants of the rows of the bank.
pub const ROW_DATA: &str = "100 bytes of data in a branch, teller and account, 50 in a row of history";

pub(super) const KINDS: &[Kind; 1] = &[Kind::named("tpcb")];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    meaning: Meaning { specification: "TPC-B", disclaimer: "no result in the sense of the TPC", ..Meaning::NONE },
    data: Data {
        row_bytes: ROW_BYTES,
        row_data: ROW_DATA,
        history: "without a key: rows are added as they come",
        fills_by_procedure: true,
        hot_row: true,
        indexed: true,
        ..Data::PLAIN
    },
    defaults: Defaults { call: Call::Procedure, ..Defaults::PLAIN },
    remote: Some(Remote {
        sum: "remote",
        what: "changed another branch's account",
        share: 0.15,
        least: 0.14,
        most: 0.16,
        when: None,
    }),
    settings: SETTINGS,
    ..Entry::plain(
        "tpcb",
        Said::tps(
            "TPC-B-like",
            "A bank: each transaction changes an account, a teller and a branch and writes a row of history.",
            BRANCH,
        ),
        super::open,
        KINDS,
    )
};
