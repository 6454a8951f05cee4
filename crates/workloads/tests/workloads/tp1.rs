//! TP1 and its parts on one engine: what they leave, that every condition can fail, and what is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine};
use dsbench_core::workload::{Expected, Population, Workload};
use dsbench_workloads::{Call, Options};

use crate::bed::{broken, build, cell, cycle, open_few, options, run};
use crate::home::Product;

/// Rows of history that are there before.
const BEFORE: &str = "1000";

/// The greatest change. MySQL takes a table that a statement changes as a derived one only.
const MOST: &str = "(SELECT most FROM (SELECT max(delta) AS most FROM history) h)";

on!([postgres, sqlite][tp1_and_its_parts_find_every_fault]);
on!(thorough [innodb, myrocks, firebird] [tp1_and_its_parts_find_every_fault]);

fn tp1_and_its_parts_find_every_fault(product: Product) {
    is_consistent_and_finds_every_fault(
        product.home().engine_of_rivals(),
        match product {
            Product::Postgres => &["heap", "indexed", "hashed", "partitioned"],
            Product::InnoDb | Product::MyRocks => PARTITIONED,
            Product::Firebird | Product::Sqlite => &["heap", "indexed"],
        },
    );
}

/// Ways to organise the history that MariaDB and MySQL have.
pub const PARTITIONED: &[&str] = &["heap", "indexed", "partitioned"];

/// TP1, T1 and T2 with each way to organise the history that the engine has; the others are refused.
pub fn is_consistent_and_finds_every_fault(engine: Box<dyn Engine>, histories: &[&str]) {
    let engine: Arc<dyn Engine> = engine.into();
    for history in ["heap", "indexed", "hashed", "partitioned"] {
        let settings = [("history", history), ("before", BEFORE), ("remote", "15")];
        if histories.contains(&history) {
            tp1(&engine, &settings);
        } else {
            let words = refused(&*engine, "tp1", 2, &settings[..1]);
            assert!(words.contains(&format!("--set history={history}")), "{words}");
        }
    }
    t1(&engine);
    t2(&engine);
}

fn tp1(engine: &Arc<dyn Engine>, settings: &[(&str, &str)]) {
    // Each call once: the parts of the transaction are the same for all histories.
    let by_procedure = engine.dialect().procedures && settings[0].1 == "heap";
    let call = if by_procedure { Call::Procedure } else { Call::Statements };
    let workload: Arc<_> = open_few(&**engine, "tp1", call, 1, settings).into();
    let mut conn = build(&**engine, &*workload, Population::Bulk, 2);
    assert_eq!(cell(&mut *conn, "SELECT count(*) FROM history"), BEFORE);
    assert_eq!(cell(&mut *conn, "SELECT count(*) FROM branch"), "10");
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty(), "{settings:?}");
    let expected = run(&**engine, &*workload, 2, 200);
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0], "{settings:?} {call:?}");
    assert!(expected.sums.iter().any(|(name, remote)| name == "remote" && (30..=90).contains(remote)));
    let lost = format!("DELETE FROM history WHERE delta = {MOST}");
    let found = planted(&*workload, &mut *conn, &expected, &lost);
    assert!(found.contains("history rows = committed transactions") && found.len() == 6, "{found:?}");
    let before = "DELETE FROM history WHERE delta = 0 AND aid = 1";
    let found = planted(&*workload, &mut *conn, &expected, before);
    assert!(found.contains("history rows = committed transactions") && found.len() == 2, "{found:?}");
    let expected = with(&expected, cycle(Arc::clone(engine), Arc::clone(&workload) as _));
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0], "{expected:?}");
}

fn t1(engine: &Arc<dyn Engine>) {
    let of = |conflict| -> Arc<dyn Workload> {
        open_few(&**engine, "t1", Call::Statements, 1, &[("conflict", conflict)]).into()
    };
    let mut conn = build(&**engine, &*of("same"), Population::Bulk, 2);
    let mut before = Expected { committed: vec![0], unknown: vec![0], sums: Vec::new() };
    // What streams without conflict amend has the row on which all others met.
    for (conflict, keys) in [("same", "1"), ("none", "2")] {
        let workload = of(conflict);
        let expected = with(&before, run(&**engine, &*workload, 2, 50));
        assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0], "{conflict}");
        assert_eq!(cell(&mut *conn, "SELECT count(*) FROM account WHERE abalance <> 0"), keys);
        let elsewhere =
            "UPDATE account SET abalance = abalance + CASE aid WHEN 1 THEN -250 ELSE 1 END WHERE aid <= 251";
        let by_number = "sum of balance * number = that of the clients";
        let faults = [
            (elsewhere, &["accounts with a balance <= keys of the streams", by_number][..]),
            (
                "UPDATE account SET abalance = abalance - 1 WHERE aid = 1",
                &["account sum = committed transactions", by_number],
            ),
            ("UPDATE teller SET tbalance = 1 WHERE tid = 3", &["teller sum = 0"]),
            ("UPDATE branch SET bbalance = 1 WHERE bid = 3", &["branch sum = 0"]),
            (
                "UPDATE account SET filler = (SELECT filler FROM teller WHERE tid = 1) WHERE aid = 77",
                &["account as loaded, but for balances"],
            ),
        ];
        for (sql, names) in faults {
            let found = planted(&*workload, &mut *conn, &expected, sql);
            assert_eq!(found, names.iter().map(|name| name.to_string()).collect(), "{conflict}: {sql}");
        }
        before = with(&expected, cycle(Arc::clone(engine), Arc::clone(&workload)));
        assert_eq!(broken(&*workload, &mut *conn, &before), [""; 0], "{conflict}: {before:?}");
    }
    let words = refused(&**engine, "t1", 201, &[]);
    assert!(words.contains("rows of 201 streams would share pages at scale 1, which has room for 200"), "{words}");
}

fn t2(engine: &Arc<dyn Engine>) {
    let workload: Arc<_> = open_few(&**engine, "t2", Call::Statements, 1, &[("before", "10")]).into();
    let mut conn = build(&**engine, &*workload, Population::Bulk, 2);
    let expected = run(&**engine, &*workload, 2, 50);
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0]);
    let all = ["history rows = committed transactions", "history sum = sum of the clients"];
    for (sql, names) in [
        ("DELETE FROM history WHERE delta = 0 AND aid = 1", &all[..1]),
        (&*format!("UPDATE history SET delta = delta + 1 WHERE delta = {MOST}"), &all[1..]),
        ("UPDATE account SET abalance = 1 WHERE aid = 7", &["account sum = 0"]),
    ] {
        let found = planted(&*workload, &mut *conn, &expected, sql);
        assert!(names.iter().all(|name| found.contains(*name)), "{sql}: {found:?}");
    }
    let expected = with(&expected, cycle(Arc::clone(engine), Arc::clone(&workload) as _));
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0], "{expected:?}");
}

/// What two loads did together.
fn with(one: &Expected, other: Expected) -> Expected {
    let add = |a: &[u64], b: &[u64]| (0..a.len()).map(|at| a[at] + b.get(at).copied().unwrap_or(0)).collect();
    let mut sums = other.sums.clone();
    for (name, sum) in &mut sums {
        *sum += one.sum(name).unwrap_or(0);
    }
    Expected { committed: add(&one.committed, &other.committed), unknown: other.unknown, sums }
}

/// What breaks when this is done, which is undone again.
fn planted(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected, sql: &str) -> BTreeSet<String> {
    conn.begin().unwrap();
    conn.script(&[sql]).unwrap();
    let found = broken(workload, conn, expected);
    conn.rollback().unwrap();
    found.into_iter().collect()
}

/// Why it cannot be opened.
fn refused(engine: &dyn Engine, name: &str, clients: u64, settings: &[(&str, &str)]) -> String {
    let options = Options { clients, ..options(engine, Call::Statements, 1, settings) };
    dsbench_workloads::open(name, &options).err().unwrap().to_string()
}
