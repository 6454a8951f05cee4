//! What each product documents: the outcome of every schedule at every level, with the source, and the
//! few other cases in which products differ. The first column of the tables is read committed, then
//! repeatable read, then serializable, as `--isolation` asks for them; which level of the product's own
//! that is stands in docs/engines.md.

use crate::{ABSENT, HOLDS};

/// A product, or a way of using one, with its own answers.
#[derive(Debug)]
pub struct Family {
    /// What the query `family` of the suite's SQL may give.
    pub names: &'static [&'static str],
    /// Its name in words.
    pub title: &'static str,
    /// Where the outcomes are documented.
    pub source: &'static str,
    /// By schedule: outcomes at the three levels.
    isolation: &'static [(&'static str, [&'static str; 3])],
    /// By group and case: an outcome other than that it holds.
    others: &'static [(&'static str, &'static str, &'static str)],
}

const DIRTY: &str = "dirty read";
const CHANGED: &str = "non-repeatable read";
const PHANTOM: &str = "phantom";
const LOST_AFTER: &str = "lost update, one after the other";
const LOST_DURING: &str = "lost update, at the same time";
const SKEW: &str = "write skew";
const DEADLOCK: &str = "deadlock";

const ENTERED: &str = "a session of load where nothing is";

const PREVENTED: &str = "prevented";
const ALLOWED: &str = "allowed";
const WAITS: &str = "waits, prevented";
const WAITS_ALLOWED: &str = "waits, allowed";
const ABORTS: &str = "aborts (serialization)";
const WAITS_ABORTS: &str = "waits, aborts (serialization)";
const WAITS_DEADLOCK: &str = "waits, aborts (deadlock)";
const CONFLICT: &str = "conflicts (conflict)";
const WAITS_CONFLICT: &str = "waits, conflicts (conflict)";
const REFUSED: &str = "refused";

/// Every family.
pub const FAMILIES: &[Family] = &[
    Family {
        names: &["postgresql"],
        title: "PostgreSQL",
        source: "PostgreSQL manual, chapter Concurrency Control: 13.2 Transaction Isolation (table 13.1 and the text \
                 of 13.2.1 to 13.2.3), 13.3.4 Deadlocks",
        isolation: &[
            (DIRTY, [PREVENTED; 3]),
            (CHANGED, [ALLOWED, PREVENTED, PREVENTED]),
            (PHANTOM, [ALLOWED, PREVENTED, PREVENTED]),
            (LOST_AFTER, [ALLOWED, ABORTS, ABORTS]),
            (LOST_DURING, [WAITS_ALLOWED, WAITS_ABORTS, WAITS_ABORTS]),
            (SKEW, [ALLOWED, ALLOWED, ABORTS]),
            (DEADLOCK, [WAITS_DEADLOCK; 3]),
        ],
        // A schema is looked for when a table is: asking at every connect would cost a round trip.
        others: &[("place", ENTERED, "finds nothing")],
    },
    Family {
        names: &["innodb", "innodb off"],
        title: "MySQL and MariaDB with InnoDB",
        source: "MySQL 8.0 manual, 17.7.2.1 Transaction Isolation Levels, 17.7.2.4 Locking Reads, 17.7.5 Deadlocks in \
                 InnoDB; MariaDB documentation, SET TRANSACTION and InnoDB Lock Modes. A consistent read sees the \
                 snapshot, an update the newest row: an update computed by the client is lost below SERIALIZABLE. \
                 There every read is a locking read, and who both read deadlocks with who both write",
        isolation: &[
            (DIRTY, [PREVENTED, PREVENTED, WAITS]),
            (CHANGED, [ALLOWED, PREVENTED, WAITS]),
            (PHANTOM, [ALLOWED, PREVENTED, WAITS]),
            (LOST_AFTER, [ALLOWED, ALLOWED, WAITS_DEADLOCK]),
            (LOST_DURING, [WAITS_ALLOWED, WAITS_ALLOWED, WAITS_DEADLOCK]),
            (SKEW, [ALLOWED, ALLOWED, WAITS_DEADLOCK]),
            (DEADLOCK, [WAITS_DEADLOCK; 3]),
        ],
        others: &[],
    },
    Family {
        names: &["innodb on"],
        title: "MariaDB with InnoDB and innodb_snapshot_isolation",
        source: "MariaDB documentation, InnoDB System Variables: innodb_snapshot_isolation (10.6.18, 10.11.8 and later; \
                 on by default from 11.6.2)",
        isolation: &[
            (DIRTY, [PREVENTED, PREVENTED, WAITS]),
            (CHANGED, [ALLOWED, PREVENTED, WAITS]),
            (PHANTOM, [ALLOWED, PREVENTED, WAITS]),
            (LOST_AFTER, [ALLOWED, ABORTS, WAITS_DEADLOCK]),
            (LOST_DURING, [WAITS_ALLOWED, WAITS_ABORTS, WAITS_DEADLOCK]),
            (SKEW, [ALLOWED, ALLOWED, WAITS_DEADLOCK]),
            (DEADLOCK, [WAITS_DEADLOCK; 3]),
        ],
        others: &[],
    },
    Family {
        names: &["rocksdb off", "rocksdb on", "rocksdb"],
        title: "MariaDB with MyRocks",
        source: "MariaDB documentation, MyRocks and Transaction Isolation, MyRocks System Variables: \
                 rocksdb_deadlock_detect (off), rocksdb_lock_wait_timeout (1 s). Repeatable read is snapshot isolation, \
                 whose conflicts it calls deadlocks; SERIALIZABLE is not supported; without detection a deadlock ends \
                 when the wait of one is over",
        isolation: &[
            (DIRTY, [PREVENTED, PREVENTED, REFUSED]),
            (CHANGED, [ALLOWED, PREVENTED, REFUSED]),
            (PHANTOM, [ALLOWED, PREVENTED, REFUSED]),
            (LOST_AFTER, [ALLOWED, "aborts (deadlock)", REFUSED]),
            (LOST_DURING, [WAITS_ALLOWED, WAITS_DEADLOCK, REFUSED]),
            (SKEW, [ALLOWED, ALLOWED, REFUSED]),
            (DEADLOCK, ["waits, conflicts (busy)", "waits, conflicts (busy)", REFUSED]),
        ],
        others: &[],
    },
    Family {
        names: &["sqlite"],
        title: "SQLite",
        source: "SQLite documentation, Isolation In SQLite and Transactions (BEGIN IMMEDIATE): one transaction writes \
                 at a time, the others wait for their turn, for busy_timeout_ms (5 s); Datatypes In SQLite: every \
                 integer has up to 64 bits",
        isolation: &[
            (DIRTY, [WAITS; 3]),
            (CHANGED, [WAITS; 3]),
            (PHANTOM, [WAITS; 3]),
            (LOST_AFTER, [WAITS; 3]),
            (LOST_DURING, [WAITS; 3]),
            (SKEW, [WAITS; 3]),
            (DEADLOCK, [WAITS; 3]),
        ],
        others: &[
            ("types", "a number too large for its type is refused", "kept whole"),
            ("losses", "a session that was ended in a transaction is disconnected", ABSENT),
            ("losses", "a session that was ended before its commit ends unknown", ABSENT),
            ("losses", "a new session goes on with what was committed", ABSENT),
        ],
    },
    Family {
        names: &["firebird"],
        title: "Firebird",
        source: "Firebird 4.0 and 5.0 Language References, SET TRANSACTION: SNAPSHOT, SNAPSHOT TABLE STABILITY, READ COMMITTED \
                 READ CONSISTENCY, WAIT, NO WAIT; Data Types, TIMESTAMP (a ten-thousandth of a second). At read committed \
                 a transaction waits, and a deadlock is reported as a conflict; at the other levels, where it does not wait, \
                 it fails with a conflict at once",
        isolation: &[
            (DIRTY, [PREVENTED, PREVENTED, CONFLICT]),
            (CHANGED, [ALLOWED, PREVENTED, CONFLICT]),
            (PHANTOM, [ALLOWED, PREVENTED, CONFLICT]),
            (LOST_AFTER, [ALLOWED, CONFLICT, CONFLICT]),
            (LOST_DURING, [WAITS_ALLOWED, CONFLICT, CONFLICT]),
            (SKEW, [ALLOWED, ALLOWED, CONFLICT]),
            (DEADLOCK, [WAITS_CONFLICT, CONFLICT, CONFLICT]),
        ],
        others: &[("types", "a microsecond", "cut to 100 µs")],
    },
    Family {
        names: &["firebird 3"],
        title: "Firebird 3",
        source: "Firebird 3.0 Language Reference, SET TRANSACTION: SNAPSHOT, SNAPSHOT TABLE STABILITY, READ COMMITTED NO \
                 RECORD_VERSION, WAIT, NO WAIT; Data Types, TIMESTAMP (a ten-thousandth of a second). As later versions, \
                 but at read committed who reads waits as well",
        isolation: &[
            (DIRTY, [WAITS, PREVENTED, CONFLICT]),
            (CHANGED, [ALLOWED, PREVENTED, CONFLICT]),
            (PHANTOM, [ALLOWED, PREVENTED, CONFLICT]),
            (LOST_AFTER, [ALLOWED, CONFLICT, CONFLICT]),
            (LOST_DURING, [WAITS_ALLOWED, CONFLICT, CONFLICT]),
            (SKEW, [ALLOWED, ALLOWED, CONFLICT]),
            (DEADLOCK, [WAITS_CONFLICT, CONFLICT, CONFLICT]),
        ],
        others: &[("types", "a microsecond", "cut to 100 µs")],
    },
];

/// The family of a name, where it is known.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.names.contains(&name))
}

/// The outcome that `family` documents of a case; `holds` where nothing else is said.
pub fn of(name: &str, group: &str, case: &str, variant: &str) -> &'static str {
    let Some(family) = family(name) else { return HOLDS };
    if group == "isolation" {
        let level = ["read-committed", "repeatable-read", "serializable"].iter().position(|known| *known == variant);
        let row = family.isolation.iter().find(|(schedule, _)| *schedule == case);
        return row.zip(level).map_or(HOLDS, |((_, outcomes), level)| outcomes[level]);
    }
    let usual = if case == ENTERED { REFUSED } else { HOLDS };
    family.others.iter().find(|(of, name, _)| (*of, *name) == (group, case)).map_or(usual, |(_, _, outcome)| *outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SCHEDULES;

    #[test]
    fn every_family_documents_every_schedule_once() {
        for family in FAMILIES {
            let documented: Vec<&str> = family.isolation.iter().map(|(schedule, _)| *schedule).collect();
            let all: Vec<&str> = SCHEDULES.iter().map(|schedule| schedule.name).collect();
            assert_eq!(documented, all, "{}", family.title);
        }
    }

    #[test]
    fn no_name_stands_for_two_families() {
        let names: Vec<&str> = FAMILIES.iter().flat_map(|family| family.names).copied().collect();
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1));
    }

    #[test]
    fn what_is_not_written_down_holds() {
        assert_eq!(of("postgresql", "types", "NULL", "direct"), HOLDS);
        assert_eq!(of("firebird", "types", "a microsecond", ""), "cut to 100 µs");
        assert_eq!(of("innodb off", "isolation", "phantom", "serializable"), WAITS);
    }

    #[test]
    fn cases_that_differ_are_cases_that_exist() {
        let all = crate::cases::all();
        for (group, name, _) in FAMILIES.iter().flat_map(|family| family.others) {
            assert!(all.iter().any(|case| (case.group, case.name) == (*group, *name)), "{group}: {name}");
        }
    }
}
