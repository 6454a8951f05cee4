//! What is special about the rehearsal.

use crate::entry::{Entry, Kind, Unit};
use crate::Call;

pub(super) const KINDS: &[Kind; 3] = &[Kind::named("query"), Kind::named("insert"), Kind::named("delete")];

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
