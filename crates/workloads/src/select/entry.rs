//! What is special about point selects.

use crate::entry::{Data, Defaults, Entry, Kind, Said};
use crate::tpcb::bank::SETTINGS;
use crate::tpcb::entry::{BRANCH, ROW_BYTES, ROW_DATA};
use crate::Call;

pub(super) const KINDS: &[Kind; 1] = &[Kind::named("select")];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    data: Data {
        row_bytes: ROW_BYTES,
        row_data: ROW_DATA,
        fills_by_procedure: true,
        indexed: true,
        reads: "tpcb",
        ..Data::PLAIN
    },
    defaults: Defaults { call: Call::Procedure, ..Defaults::PLAIN },
    settings: SETTINGS,
    ..Entry::plain(
        "select",
        Said::tps(
            "SELECT",
            "The shortest transactions: each reads the balance of one account of the bank of tpcb.",
            BRANCH,
        ),
        super::open,
        KINDS,
    )
};
