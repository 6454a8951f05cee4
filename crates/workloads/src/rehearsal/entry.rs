//! What is special about the rehearsal.

use crate::entry::{Changed, Entry, Kind, Unit};
use crate::Call;

pub(super) const KINDS: &[Kind; 3] =
    &[Kind::named("query"), Kind::of_rows("insert", Changed::Inserted(0.0)), Kind::of_rows("delete", Changed::Deleted)];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    label: "rehearsal",
    disclaimer: "no measurement of a database",
    unit: Unit { name: "unit", about: "2,000 rows from each of two clients" },
    call: Call::Statements,
    ..Entry::plain(
        "rehearsal",
        "Every form of stage and group, on the engine mock: for trying out what makes and reads them.",
        super::open,
        KINDS,
    )
};
