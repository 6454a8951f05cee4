//! What is special about the rehearsal.

use crate::entry::{Changed, Entry, Kind, Meaning, Said, Unit};

pub(super) const KINDS: &[Kind; 3] =
    &[Kind::named("query"), Kind::of_rows("insert", Changed::Inserted(0.0)), Kind::of_rows("delete", Changed::Deleted)];

/// Its entry in the registry.
pub static ENTRY: Entry = Entry {
    meaning: Meaning { disclaimer: "no measurement of a database", ..Meaning::NONE },
    ..Entry::plain(
        "rehearsal",
        Said::tps(
            "rehearsal",
            "Every form of stage and group, on the engine mock: for trying out what makes and reads them.",
            Unit { name: "unit", about: "2,000 rows from each of two clients" },
        ),
        super::open,
        KINDS,
    )
};
