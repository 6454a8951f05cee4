//! What is special about point selects.

use crate::entry::{Entry, Kind};
use crate::tpcb::bank::SETTINGS;
use crate::tpcb::entry::{BRANCH, ROW_BYTES, ROW_DATA};
use crate::Call;

pub(super) const KINDS: &[Kind; 1] = &[Kind::named("select")];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    label: "SELECT",
    unit: BRANCH,
    row_bytes: ROW_BYTES,
    row_data: ROW_DATA,
    call: Call::Procedure,
    fills_by_procedure: true,
    settings: SETTINGS,
    indexed: true,
    reads: "tpcb",
    ..Entry::plain(
        "select",
        "The shortest transactions: each reads the balance of one account of the bank of tpcb.",
        super::open,
        KINDS,
    )
};
