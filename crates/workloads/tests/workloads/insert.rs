//! The Insert Benchmark: what its clients do is what the tables hold, and every condition can fail.

use std::collections::{BTreeMap, BTreeSet};

use dsbench_core::engine::{Connection, Engine, Prepare};
use dsbench_core::stage::{Stage, Until, Work};
use dsbench_core::workload::{ClientId, Condition, Expected, Part, Population, Progress, State, Workload};
use dsbench_workloads::Call;

use crate::bed::{broken, build, cell, open_with, transact, LOAD};
use crate::home::Product;

on!([postgres, sqlite] [
    the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault,
]);
on!(thorough [innodb, myrocks, firebird] [the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault]);

const INSERT: usize = 0;
const DELETE: usize = 1;
/// Roles by kind and rows of a transaction.
const LOADING: u8 = 0;
const WRITING: [u8; 2] = [1, 3];
const SMALL: [u8; 2] = [2, 4];
const READING: [u8; 2] = [5, 6];
const CLIENTS: u64 = 2;

const COLUMNS: &str = "dateandtime, cashregisterid, customerid, productid, price, data";

fn the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault(product: Product) {
    let home = product.home();
    let engine = home.engine();
    if [Product::Postgres, Product::Sqlite].contains(&product) {
        stages_are_as_published(&*engine);
    }
    nodes_that_share_a_table_delete_what_they_insert(&*engine);
    tables_that_run_empty_are_filled_again(&*engine);
    let settled: &[&str] = match product {
        Product::Postgres => &["vacuum", "checkpoint"],
        Product::InnoDb => &["analyze", "dirty pages"],
        Product::MyRocks => &["analyze", "flush", "compaction"],
        Product::Firebird => &["sweep", "statistics"],
        Product::Sqlite => &["analyze", "checkpoint"],
    };
    drop(whole(&*engine, "shared", settled));
    let (workload, mut conn, expected) = whole(&*engine, "each", settled);
    faults_are_found(&*workload, &mut *conn, &expected);
    drop(conn);
    if product == Product::InnoDb {
        changed_pages_are_written_out(&*engine, &*workload);
    }
    damaged_indexes_are_found(product, &*engine, &*workload, &expected);
}

/// Takes an entry from an index, where that can be done.
fn damage(product: Product, conn: &mut dyn Connection, index: &str) -> bool {
    let row = format!("INSERT INTO pi1 ({COLUMNS}) SELECT {COLUMNS} FROM pi1 LIMIT 1");
    match product {
        // An index that is not ready gets no entry of a new row; nor does it lose that of a row that is deleted.
        Product::Postgres => {
            let ready =
                |ready| format!("UPDATE pg_index SET indisready = {ready} WHERE indexrelid = '{index}'::regclass");
            conn.script(&[&ready(false), &row, &ready(true)]).unwrap();
        }
        // An index that the schema does not know of gets none either.
        Product::Sqlite => conn
            .script(&[
                &format!("CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = '{index}'"),
                "PRAGMA writable_schema = ON",
                &format!("DELETE FROM sqlite_schema WHERE name = '{index}'"),
                "PRAGMA writable_schema = RESET",
                &row,
                "PRAGMA writable_schema = ON",
                "INSERT INTO sqlite_schema SELECT * FROM kept",
                "PRAGMA writable_schema = RESET",
                "DROP TABLE kept",
            ])
            .unwrap(),
        _ => return false,
    }
    true
}

/// What clients did until now.
#[derive(Default)]
struct Done(Expected, BTreeMap<String, i64>);

impl Done {
    /// Each of two clients of each role runs `count` transactions; those of several roles take turns.
    fn run(&mut self, engine: &dyn Engine, workload: &dyn Workload, roles: &[u8], count: usize) -> Vec<u64> {
        self.in_turn(engine, workload, &roles.repeat(count))
    }

    /// Two clients of each role that is named run a transaction as often as it is, in this order. Gives rows by kind.
    fn in_turn(&mut self, engine: &dyn Engine, workload: &dyn Workload, turns: &[u8]) -> Vec<u64> {
        let roles: BTreeSet<u8> = turns.iter().copied().collect();
        let ids = (0..CLIENTS)
            .flat_map(|id| roles.iter().map(move |&role| ClientId { role, id, clients: CLIENTS, ahead: 0 }));
        let mut players: Vec<_> = ids
            .map(|who| {
                let (mut conn, mut client) =
                    (engine.connect(LOAD).unwrap(), workload.client(who, 42 + u64::from(who.role)));
                client.prepare(&mut *conn, if who.id == 0 { Prepare::Never } else { Prepare::Once }).unwrap();
                (who.role, 0, conn, client)
            })
            .collect();
        let mut rows = vec![0; workload.kinds().len()];
        self.0.committed.resize(rows.len(), 0);
        for turn in turns {
            for (_, number, conn, client) in players.iter_mut().filter(|(role, ..)| role == turn) {
                let drawn = client.draw(*number);
                transact(&mut **conn, &mut **client, drawn.shape)
                    .unwrap_or_else(|e| panic!("{}: {e}", client.describe()));
                client.committed();
                *number += 1;
                self.0.committed[usize::from(drawn.kind)] += 1;
                rows[usize::from(drawn.kind)] += client.rows();
            }
        }
        for (name, sum) in players.iter().flat_map(|(.., client)| client.sums()) {
            *self.1.entry(name.to_string()).or_insert(0) += sum;
        }
        self.0.sums = self.1.clone().into_iter().collect();
        rows
    }
}

fn worked(engine: &dyn Engine, workload: &dyn Workload, stage: &str) -> Progress {
    let progress = Progress::default();
    let stages = workload.stages();
    let found = stages.iter().find(|found| found.name == stage).unwrap();
    let Work::Statements { parts: count } = found.work else { panic!("{found:?}") };
    for index in 0..count {
        let mut conn = engine.connect(LOAD).unwrap();
        workload.work(stage, &mut *conn, Part { index, count }, &progress).unwrap();
    }
    progress
}

/// Whether it is one that clients of one table leave open, whose rows come and go in another order than their numbers.
fn is_open(one: &Condition) -> bool {
    let names = ["numbers missing between rows", "numbers below the smallest = rows deleted"];
    one.state == State::NotMade && names.contains(&one.name.as_str()) && one.detail.contains("another order")
}

/// All stages, a few transactions in each. Gives what is expected of the database then.
fn whole(engine: &dyn Engine, tables: &str, settled: &[&str]) -> (Box<dyn Workload>, Box<dyn Connection>, Expected) {
    let workload = open_with(engine, "insert", Call::Statements, 1, &[("tables", tables)]);
    let mut conn = build(engine, &*workload, Population::Bulk, 1);
    let mut done = Done::default();
    assert_eq!(done.run(engine, &*workload, &[LOADING], 20)[INSERT], CLIENTS * 20 * 100);
    let names = |conn: &mut dyn Connection, done: &Done| -> Vec<String> {
        let found = workload.check(conn, Some(&done.0)).unwrap();
        assert!(found.iter().all(|one| one.holds() || is_open(one)), "{found:?}");
        found.into_iter().map(|condition| condition.name).collect()
    };
    assert_eq!(names(&mut *conn, &done).len(), 6, "there are no indexes yet");
    let timed = worked(engine, &*workload, "l.x").timed();
    assert_eq!((timed.len(), timed[0].name.as_str(), timed[0].rows), (1, "indexes", CLIENTS * 100_000));
    let rows = done.run(engine, &*workload, &WRITING, 30);
    assert_eq!((rows[INSERT], rows[DELETE]), (CLIENTS * 30 * 50, CLIENTS * 30 * 50));
    let rows = done.run(engine, &*workload, &SMALL, 30);
    assert_eq!((rows[INSERT], rows[DELETE]), (CLIENTS * 30 * 5, CLIENTS * 30 * 5));
    assert_eq!(names(&mut *conn, &done).len(), 9);
    let timed: Vec<String> = worked(engine, &*workload, "settle").timed().into_iter().map(|one| one.name).collect();
    assert_eq!(timed, settled);
    done.run(engine, &*workload, &READING, 120);
    assert!(broken(&*workload, &mut *conn, &done.0).is_empty());
    ranges_and_points_are_read(engine, &*workload);
    (workload, conn, done.0)
}

/// Queries find their ten rows, and rows that lie where the writes have not gone.
fn ranges_and_points_are_read(engine: &dyn Engine, workload: &dyn Workload) {
    for role in READING {
        let mut conn = engine.connect(LOAD).unwrap();
        let mut client = workload.client(ClientId { role, id: 0, clients: CLIENTS, ahead: 0 }, 5);
        client.prepare(&mut *conn, Prepare::Once).unwrap();
        let mut seen = BTreeSet::new();
        for number in 0..30 {
            let drawn = client.draw(number);
            client.execute(&mut *conn).unwrap();
            seen.insert((drawn.kind, client.describe()));
        }
        assert!(seen.len() > 25 && seen.iter().all(|(kind, _)| *kind == role - 3), "{seen:?}");
    }
}

/// InnoDB is told to write out its changed pages, and has the limits that it had afterwards.
fn changed_pages_are_written_out(engine: &dyn Engine, workload: &dyn Workload) {
    let mut conn = engine.connect(LOAD).unwrap();
    let mut limits = || {
        let names = ["innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"];
        names.map(|name| conn.fetch(&format!("SELECT @@GLOBAL.{name}")).unwrap().rows[0][0].clone())
    };
    let before = limits();
    let mut log = engine.connect(LOAD).unwrap();
    log.script(&["SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON"]).unwrap();
    worked(engine, workload, "settle");
    log.script(&["SET GLOBAL general_log = OFF"]).unwrap();
    let written_out =
        "SELECT count(*) FROM mysql.general_log WHERE argument = 'SET GLOBAL innodb_max_dirty_pages_pct = 1'";
    assert_eq!(cell(&mut *log, written_out), "1");
    assert_eq!(limits(), before);
}

/// Plants faults in the first table, each within a transaction that is rolled back, and names what must find it.
fn faults_are_found(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) {
    let [rows, newest, oldest] =
        ["rows = inserted - deleted", "largest number = rows inserted", "numbers below the smallest = rows deleted"];
    let (made, between) = ("rows are those that clients made", "numbers missing between rows");
    let moved = format!(
        "INSERT INTO pi2 (transactionid, {COLUMNS}) SELECT 100000000, {COLUMNS} FROM pi1 WHERE transactionid = 1900; \
         DELETE FROM pi1 WHERE transactionid = 1900"
    );
    for (sql, names) in [
        ("DELETE FROM pi1 WHERE transactionid = (SELECT 1 + min(transactionid) FROM (SELECT transactionid FROM pi1) x)", &[rows, between][..]),
        ("UPDATE pi1 SET transactionid = transactionid + 1000000 WHERE transactionid = 1900", &[newest, between]),
        ("UPDATE pi1 SET transactionid = 1 WHERE transactionid = 1900", &[oldest, between]),
        ("DELETE FROM pi1 WHERE transactionid < 3000", &[rows, oldest]),
        ("UPDATE pi1 SET price = 499 - price WHERE transactionid = 1900", &[made]),
        ("UPDATE pi2 SET data = 'aaaaaaaaaaa' WHERE transactionid = 1900", &[made]),
        (&moved, &[newest, made, between]),
    ] {
        conn.begin().unwrap();
        conn.script(&sql.split("; ").collect::<Vec<_>>()).unwrap();
        let found = broken(workload, conn, expected);
        conn.rollback().unwrap();
        let may = if names == [rows, oldest] { &names[..1] } else { names };
        assert!(found == names || found == may, "{sql}: {found:?}");
    }
    for (kind, of) in [(INSERT, "inserted"), (DELETE, "deleted")] {
        let mut changed = expected.clone();
        changed.sums.iter_mut().filter(|(name, _)| name == of).for_each(|(_, sum)| *sum += 5000);
        assert!(broken(workload, conn, &changed).contains(&rows.to_string()), "{of}");
        changed.unknown = vec![0; 4];
        changed.unknown[kind] = 100;
        changed.sums.iter_mut().filter(|(name, _)| name == of).for_each(|(_, sum)| *sum -= 10_000);
        assert!(!broken(workload, conn, &changed).contains(&rows.to_string()), "{of}, commits of unknown end");
    }
    assert!(broken(workload, conn, expected).is_empty(), "all faults are undone");
}

/// Deletes come before the inserts that they were to follow, and find a table without a row: what comes then has numbers
/// that no row had before, and is deleted as the oldest.
fn tables_that_run_empty_are_filled_again(engine: &dyn Engine) {
    for setting in [("tables", "each"), ("tables", "shared"), ("deletes", "range")] {
        let workload = open_with(engine, "insert", Call::Statements, 1, &[setting]);
        let mut conn = build(engine, &*workload, Population::Bulk, 1);
        let mut done = Done::default();
        done.run(engine, &*workload, &[LOADING], 2);
        worked(engine, &*workload, "l.x");
        let [insert, delete] = WRITING;
        let turns = [[delete].repeat(20), [insert].repeat(5), [delete].repeat(2)].concat();
        let rows = done.in_turn(engine, &*workload, &turns);
        assert_eq!(rows[INSERT], CLIENTS * 250);
        if setting.1 != "shared" {
            assert_eq!(rows[DELETE], CLIENTS * (200 + 100), "all that was there, and the oldest of what came");
        }
        let found = workload.check(&mut *conn, Some(&done.0)).unwrap();
        assert!(found.iter().all(|one| one.holds() || is_open(one)), "{setting:?}: {found:?}");
    }
}

/// Two nodes whose clients share a table: each row is deleted once, and as many go as come.
fn nodes_that_share_a_table_delete_what_they_insert(engine: &dyn Engine) {
    let open = || open_with(engine, "insert", Call::Statements, 1, &[("tables", "shared")]);
    let nodes = [open(), open()];
    let mut conn = build(engine, &*nodes[0], Population::Bulk, 1);
    let mut done = Done::default();
    done.run(engine, &*nodes[0], &[LOADING], 30);
    let count = |conn: &mut dyn Connection| cell(conn, "SELECT count(*) FROM pi1").parse::<u64>().unwrap();
    let before = count(&mut *conn);
    // What a process knows of the deletes of its table another one does not.
    let mut players: Vec<_> = (0..CLIENTS)
        .flat_map(|id| WRITING.map(|role| (id, role)))
        .map(|(id, role)| {
            let (mut conn, who) = (engine.connect(LOAD).unwrap(), ClientId { role, id, clients: CLIENTS, ahead: 0 });
            let mut client = nodes[id as usize].client(who, 7);
            client.prepare(&mut *conn, Prepare::Once).unwrap();
            (conn, client)
        })
        .collect();
    for number in 0..50 {
        for (conn, client) in &mut players {
            let drawn = client.draw(number);
            transact(&mut **conn, &mut **client, drawn.shape).unwrap();
            client.committed();
            if usize::from(drawn.kind) == DELETE {
                assert_eq!(client.rows(), 50, "number {number}: {}", client.describe());
            }
        }
    }
    assert_eq!(count(&mut *conn), before);
}

/// An index that is gone is found, as is one that has not all entries.
fn damaged_indexes_are_found(product: Product, engine: &dyn Engine, workload: &dyn Workload, expected: &Expected) {
    // Each on a connection of its own: Firebird drops no index that a statement of any session knows of.
    let on = || engine.connect(LOAD).unwrap();
    let table = if engine.dialect().name == "mysql" { " ON pi2" } else { "" };
    for name in ["marketsegment", "registersegment", "pdc"] {
        let condition = format!("entries of {name} = rows");
        if damage(product, &mut *on(), &format!("pi1_{name}")) {
            assert!(broken(workload, &mut *on(), expected).contains(&condition), "{name}");
        }
        on().script(&[&format!("DROP INDEX pi2_{name}{table}")]).unwrap();
        let found = workload.check(&mut *on(), Some(expected)).unwrap();
        assert!(found.iter().any(|found| found.is_broken() && found.name == "indexes are there, valid and whole"));
        let of_index = found.iter().find(|found| found.name == condition).unwrap();
        assert!(of_index.is_broken() && of_index.detail.contains(&format!("pi2_{name} is missing")), "{of_index:?}");
    }
}

/// The stages are the published ones: their names, who works in them, what ends them.
fn stages_are_as_published(engine: &dyn Engine) {
    let of = |settings: &[(&str, &str)]| open_with(engine, "insert", Call::Statements, 300, settings).stages();
    let load = |stages: &[Stage], name: &str| {
        let found = stages.iter().find(|stage| stage.name == name).unwrap().work.clone();
        let Work::Load { groups, .. } = found else { panic!("{found:?}") };
        groups
    };
    let rows = |stages: &[Stage], name: &str| match load(stages, name)[0].until {
        Some(Until::Count { count, .. }) => count,
        other => panic!("{other:?}"),
    };
    let stages = of(&[("sizes", "cached")]);
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    let published =
        "build l.i0 l.i0.check l.x l.i1 l.i2 l.i2.check settle qr100 qp100 qr500 qp500 qr1000 qp1000 check drop";
    assert_eq!(names.join(" "), published);
    assert_eq!(["l.i0", "l.i1", "l.i2"].map(|name| rows(&stages, name)), [30_000_000, 80_000_000, 20_000_000]);
    let beside = load(&stages, "qp500");
    let described: Vec<String> =
        beside.iter().map(|g| format!("{} {:?} {:?} {}", g.name, g.pacing, g.until, g.rows)).collect();
    let at_rate = "Some(Constant(10.0, Each)) Some(Group(0)) 50";
    assert_eq!(described, ["query None None 0".to_string(), format!("insert {at_rate}"), format!("delete {at_rate}")]);
    let Work::Statements { parts } = stages[3].work else { panic!("{:?}", stages[3]) };
    assert_eq!(parts, if engine.dialect().single_writer || engine.dialect().name == "firebird" { 1 } else { 2 });
    let queried = |rates: &str| -> Vec<String> {
        let names = of(&[("rates", rates)]).into_iter().map(|stage| stage.name);
        names.filter(|name| name.starts_with('q')).collect()
    };
    assert_eq!(queried("500"), ["qr500", "qp500"]);
    assert_eq!(queried("all").len(), 6);
    let more = of(&[("sizes", "io-bound"), ("writes", "103")]);
    assert_eq!(["l.i1", "l.i2"].map(|name| rows(&more, name)), [100, 20], "whole transactions");
    let large = open_with(engine, "insert", Call::Statements, 8000, &[("sizes", "io-bound")]).stages();
    assert_eq!(["l.i0", "l.i1", "l.i2"].map(|name| rows(&large, name)), [800_000_000, 4_000_000, 1_000_000]);
}
