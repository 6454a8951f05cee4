//! Two transactions that meet, step by step: the phenomena of SQL's levels of isolation and two more
//! (Berenson et al., "A Critique of ANSI SQL Isolation Levels", 1995: P1 to P4 and A5B).

use crate::players::{Log, Played};

use Act::{Add, Begin, Commit, Count, Insert, Read, Rollback, Set, Spend};

/// What a session does in one step. Rows 1 and 2 hold 1 each at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Opens the transaction.
    Begin,
    /// Reads a row.
    Read(i64),
    /// Adds to a row, computed by the client: writes the value it last read plus this much.
    Add(i64, i64),
    /// Writes 5 into a row, whatever it held.
    Set(i64),
    /// Takes 1 from a row, unless the two rows, as it last read them, hold less than 2 together.
    Spend(i64),
    /// Counts the rows that hold a value.
    Count,
    /// Inserts a row.
    Insert(i64),
    /// Commits.
    Commit,
    /// Rolls back.
    Rollback,
}

/// Which of the two.
pub const ONE: usize = 0;
/// The other.
pub const TWO: usize = 1;

/// Steps of two sessions, in order, and the phenomenon that they provoke.
#[derive(Debug)]
pub struct Schedule {
    /// Its name.
    pub name: &'static str,
    /// What happens, in words for the reader of docs/engines.md.
    pub about: &'static str,
    /// Who does what.
    pub steps: &'static [(usize, Act)],
    /// Whether the phenomenon took place.
    pub(crate) seen: fn(&Played) -> bool,
}

/// All of them.
pub const SCHEDULES: &[Schedule] = &[
    Schedule {
        name: "dirty read",
        about: "A transaction changes a row, another one reads it, the first rolls back.",
        steps: &[
            (ONE, Begin),
            (ONE, Read(1)),
            (ONE, Add(1, 10)),
            (TWO, Begin),
            (TWO, Read(1)),
            (ONE, Rollback),
            (TWO, Commit),
        ],
        seen: |played| played.sessions[TWO].reads.iter().any(|value| *value != 1),
    },
    Schedule {
        name: "non-repeatable read",
        about: "A transaction reads a row twice; in between another one changes it and commits.",
        steps: &[
            (ONE, Begin),
            (ONE, Read(1)),
            (TWO, Begin),
            (TWO, Set(1)),
            (TWO, Commit),
            (ONE, Read(1)),
            (ONE, Commit),
        ],
        seen: |played| changes(&played.sessions[ONE]),
    },
    Schedule {
        name: "phantom",
        about: "A transaction counts rows twice; in between another one inserts one and commits.",
        steps: &[
            (ONE, Begin),
            (ONE, Count),
            (TWO, Begin),
            (TWO, Insert(7)),
            (TWO, Commit),
            (ONE, Count),
            (ONE, Commit),
        ],
        seen: |played| changes(&played.sessions[ONE]),
    },
    Schedule {
        name: "lost update, one after the other",
        about: "Both read a row; one adds to it and commits; then the other adds to what it had read.",
        steps: &[
            (ONE, Begin),
            (TWO, Begin),
            (ONE, Read(1)),
            (TWO, Read(1)),
            (ONE, Add(1, 10)),
            (ONE, Commit),
            (TWO, Add(1, 20)),
            (TWO, Commit),
        ],
        seen: an_update_is_lost,
    },
    Schedule {
        name: "lost update, at the same time",
        about: "The same, but the other writes before the first has committed.",
        steps: &[
            (ONE, Begin),
            (TWO, Begin),
            (ONE, Read(1)),
            (TWO, Read(1)),
            (ONE, Add(1, 10)),
            (TWO, Add(1, 20)),
            (ONE, Commit),
            (TWO, Commit),
        ],
        seen: an_update_is_lost,
    },
    Schedule {
        name: "write skew",
        about: "Two rows together must hold at least 1. Both sessions read both rows, then each takes 1 from a different row.",
        steps: &[
            (ONE, Begin),
            (TWO, Begin),
            (ONE, Read(1)),
            (ONE, Read(2)),
            (TWO, Read(1)),
            (TWO, Read(2)),
            (ONE, Spend(1)),
            (TWO, Spend(2)),
            (ONE, Commit),
            (TWO, Commit),
        ],
        seen: |played| played.balances.iter().sum::<i64>() < 1,
    },
    Schedule {
        name: "deadlock",
        about: "Each writes a row, then the one that the other has written. The only trouble can be waiting.",
        steps: &[
            (ONE, Begin),
            (TWO, Begin),
            (ONE, Set(1)),
            (TWO, Set(2)),
            (ONE, Set(2)),
            (TWO, Set(1)),
            (ONE, Commit),
            (TWO, Commit),
        ],
        seen: |_| false,
    },
];

fn changes(session: &Log) -> bool {
    session.reads.windows(2).any(|pair| pair[0] != pair[1])
}

/// True when row 1 is not its first value plus everything that was added and committed.
fn an_update_is_lost(played: &Played) -> bool {
    let added: i64 = played.sessions.iter().filter(|session| session.committed).map(|session| session.added).sum();
    played.balances[0] != 1 + added
}
