//! The builtin scripts of pgbench, as its documentation shows them.

macro_rules! draws {
    () => {
        "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n"
    };
}

macro_rules! account {
    () => {
        "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
    };
}

macro_rules! teller_and_branch {
    () => {
        "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
         UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
    };
}

macro_rules! history {
    () => {
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)\n\
         VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
    };
}

/// Name and text of each.
pub(super) const BUILTIN: [(&str, &str); 3] = [
    ("tpcb-like", concat!(draws!(), "BEGIN;\n", account!(), teller_and_branch!(), history!(), "END;\n")),
    ("simple-update", concat!(draws!(), "BEGIN;\n", account!(), history!(), "END;\n")),
    ("select-only", "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"),
];

/// The builtin whose name begins so, as pgbench takes it. An error: what is wrong.
pub(super) fn find(name: &str) -> Result<(&'static str, &'static str), String> {
    let found: Vec<_> = BUILTIN.iter().filter(|(known, _)| known.starts_with(name)).collect();
    let known = "tpcb-like, simple-update, select-only";
    match found[..] {
        [one] => Ok(*one),
        [] => Err(format!("no builtin script found for name {name:?}; there are {known}")),
        _ => Err(format!("ambiguous builtin name {name:?}; there are {known}")),
    }
}
