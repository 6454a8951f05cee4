//! Faults planted in a bank, each with the conditions that must find it and no other.

use std::collections::BTreeSet;

use dsbench_core::engine::Connection;
use dsbench_core::workload::{Expected, Workload, UNCOUNTED};

use crate::bed::{broken, open_conditions};

const PLACES: &str = "branch of a teller and of an account = by its number";
const FILLERS: &str = "fillers as long as written";
const REMOTE: &str = "remote rows of the history = those of the clients";
const ACCOUNTS: &str = "sum of accounts' numbers in the history = that of the clients";

const LOADED: [&str; 3] =
    ["account as loaded, but for balances", "teller as loaded, but for balances", "branch as loaded, but for balances"];

/// What is done to a bank of two branches with 10,000 accounts each after some hundred transactions, and what must break. Rows are
/// chosen by `=` and from the history alone: whether an account has a history would be found out anew for
/// each of them where no index helps (MyRocks has no foreign keys, so that the history has none), which
/// takes minutes. The account after the last one in the history has none.
const PLANTED: &[(&str, &str, &[&str])] = &[
    (
        "an update of an account is lost",
        "UPDATE account SET abalance = abalance - 1 WHERE aid = (SELECT min(aid) FROM history)",
        &["account sum = teller sum", "account balance = sum of its history"],
    ),
    (
        "an update of a teller is lost",
        "UPDATE teller SET tbalance = tbalance - 1 WHERE tid = 3",
        &[
            "account sum = teller sum",
            "teller sum = branch sum",
            "branch balance = sum of its tellers",
            "teller balance = sum of its history",
        ],
    ),
    (
        "an update of a branch is lost",
        "UPDATE branch SET bbalance = bbalance - 1 WHERE bid = 2",
        &["teller sum = branch sum", "branch sum = history sum", "branch balance = sum of its tellers"],
    ),
    (
        "a row of the history is lost",
        "DELETE FROM history WHERE delta = (SELECT max(delta) FROM history)",
        &[
            "branch sum = history sum",
            "teller balance = sum of its history",
            "account balance = sum of its history",
            "history rows = committed transactions",
            "history sum = sum of the clients",
            ACCOUNTS,
        ],
    ),
    (
        "a row of the history is there twice, with nothing added",
        "INSERT INTO history SELECT tid, bid, aid, 0, mtime, filler FROM history WHERE delta = (SELECT max(delta) FROM history)",
        &["history rows = committed transactions", ACCOUNTS],
    ),
    (
        "an amount went to the wrong branch",
        "UPDATE branch SET bbalance = bbalance + CASE bid WHEN 1 THEN 5 ELSE -5 END",
        &["branch balance = sum of its tellers"],
    ),
    (
        "an amount went to the wrong teller of the branch",
        "UPDATE teller SET tbalance = tbalance + CASE tid WHEN 1 THEN 5 ELSE -5 END WHERE tid IN (1, 2)",
        &["teller balance = sum of its history"],
    ),
    (
        "an amount went to the wrong account",
        "UPDATE account SET abalance = abalance + CASE aid WHEN (SELECT min(aid) FROM history) THEN 5 ELSE -5 END \
         WHERE aid = (SELECT min(aid) FROM history) OR aid = (SELECT max(aid) FROM history)",
        &["account balance = sum of its history"],
    ),
    (
        "an amount went to an account without a history",
        "UPDATE account SET abalance = abalance + CASE aid WHEN (SELECT min(aid) FROM history) THEN 5 ELSE -5 END \
         WHERE aid = (SELECT min(aid) FROM history) OR aid = (SELECT max(aid) + 1 FROM history)",
        &["account balance = sum of its history"],
    ),
    (
        "the history names the wrong branch",
        "UPDATE history SET bid = 3 - bid WHERE delta = (SELECT max(delta) FROM history)",
        &["history branch = branch of its teller", REMOTE],
    ),
    ("a branch too many", "INSERT INTO branch VALUES (3, 0, 'x')", &["branch rows", "branch balance = sum of its tellers", FILLERS, LOADED[2]]),
    ("a teller too many", "INSERT INTO teller VALUES (21, 1, 0, 'x')", &["teller rows", PLACES, FILLERS, LOADED[1]]),
    (
        "an account is another branch's",
        "UPDATE account SET bid = 3 - bid WHERE aid = (SELECT max(aid) + 1 FROM history)",
        &[PLACES, LOADED[0]],
    ),
    (
        "a filler is another one of the same length",
        "UPDATE account SET filler = (SELECT filler FROM teller WHERE tid = 1) WHERE aid = 77",
        &[LOADED[0]],
    ),
    (
        "an account is there under another number",
        "DELETE FROM account WHERE aid = (SELECT max(aid) + 1 FROM history); \
         INSERT INTO account SELECT 20001, 2, 0, filler FROM account WHERE aid = 77",
        &[PLACES, LOADED[0]],
    ),
    ("a filler is cut off", "UPDATE teller SET filler = 'x' WHERE tid = 3", &[FILLERS, LOADED[1]]),
    ("the history's fillers are wiped", "UPDATE history SET filler = ''", &[FILLERS]),
    (
        "an amount is booked to the next account, in its balance and in the history",
        "UPDATE account SET abalance = CASE aid WHEN (SELECT min(aid) FROM history) THEN 0 ELSE (SELECT sum(delta) \
         FROM history WHERE aid = (SELECT min(aid) FROM history)) END WHERE aid = (SELECT min(aid) FROM history) \
         OR aid = (SELECT min(aid) + 1 FROM history); \
         UPDATE history SET aid = aid + 1 WHERE aid = (SELECT min(aid) FROM history)",
        &[ACCOUNTS],
    ),
    (
        "an account is missing",
        "DELETE FROM account WHERE aid = (SELECT max(aid) + 1 FROM history)",
        &["account rows", LOADED[0]],
    ),
];

/// What no transaction can undo on every product: tests of its own plant it, see `catalogue.rs`.
pub const OF_CATALOGUE: [&str; 2] = ["indexes are there, valid and whole", "foreign keys are there"];

/// Plants every fault, one at a time, and finds exactly what it must break; every condition of the
/// workload is broken by one of them.
pub fn are_all_found(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) {
    let all: BTreeSet<String> =
        workload.check(conn, Some(expected)).unwrap().into_iter().map(|found| found.name).collect();
    let all: BTreeSet<String> = all.into_iter().filter(|name| !OF_CATALOGUE.contains(&&**name)).collect();
    let mut seen = BTreeSet::new();
    for (what, sql, names) in PLANTED {
        conn.begin().unwrap();
        conn.script(&sql.split("; ").collect::<Vec<_>>()).unwrap();
        let found = broken(workload, conn, expected);
        conn.rollback().unwrap();
        assert_eq!(found, *names, "{what}");
        seen.extend(found);
    }
    assert_eq!(seen, all, "every condition can fail");
    assert!(broken(workload, conn, expected).is_empty(), "all faults are undone");
}

/// What the clients counted is compared with what the database holds.
pub fn of_counting_are_found(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) {
    let with = |committed: i64, unknown: u64, delta: i64| {
        let mut changed = expected.clone();
        changed.committed[0] = changed.committed[0].checked_add_signed(committed).unwrap();
        changed.unknown = vec![unknown];
        changed.sums.iter_mut().filter(|(name, _)| name == "delta").for_each(|(_, sum)| *sum += delta);
        changed
    };
    let (rows, sum) = ("history rows = committed transactions", "history sum = sum of the clients");
    for (what, changed, names) in [
        ("a commit was acknowledged and is lost", with(1, 0, 0), &[rows][..]),
        ("a transaction that nobody committed is there", with(-1, 0, 0), &[rows]),
        ("the amounts differ", with(0, 0, 1), &[sum]),
        ("no commit of unknown end took place: the amounts count", with(0, 1, 1), &[sum]),
        ("one of two commits of unknown end took place", with(-1, 2, -17), &[]),
        ("more are lost than have an unknown end", with(2, 1, 0), &[rows]),
        ("more took place than have an unknown end", with(-2, 1, 0), &[rows]),
        ("the clients gave no sums", Expected { sums: Vec::new(), ..expected.clone() }, &[sum, REMOTE, ACCOUNTS]),
    ] {
        assert_eq!(broken(workload, conn, &changed), names, "{what}");
    }
    assert_eq!(open_conditions(workload, conn, Some(&with(-1, 1, 0))), [sum, REMOTE, ACCOUNTS]);
    assert_eq!(
        open_conditions(workload, conn, Some(&with(0, UNCOUNTED, 0))),
        [rows],
        "lost nodes may have committed any number"
    );
    let untold = Expected { sums: vec![("untold".into(), 1)], ..expected.clone() };
    assert_eq!(open_conditions(workload, conn, Some(&untold)), [sum, REMOTE, ACCOUNTS], "another client tells no sums");
    assert_eq!(open_conditions(workload, conn, None), [rows, sum, REMOTE, ACCOUNTS], "nothing tells what clients did");
    assert_eq!(open_conditions(workload, conn, Some(expected)), [""; 0]);
}
