//! The SQLite engine against real files.
#![cfg(feature = "sqlite")]

#[path = "common/folder.rs"]
mod folder;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use dsbench_core::engine::{
    Connection, Engine, Isolation, PlaceState, Prepare, RowSource, Session, State, Statement, StatementId,
};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use folder::Folder;

impl Folder {
    fn file(&self) -> PathBuf {
        self.0.join("file.db")
    }

    /// The engine on this folder's file, with more parameters.
    fn engine(&self, parameters: &str) -> Box<dyn Engine> {
        dsbench_engines::open(&format!("sqlite:///{}?{parameters}", self.file().display())).unwrap()
    }
}

const LOAD: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };
const ADMIN: Session = Session { isolation: Isolation::RepeatableRead, in_place: false };

fn prepare(conn: &mut dyn Connection, sql: &str, params: &[Type], columns: &[Type]) -> StatementId {
    conn.prepare(&Statement { sql, params, columns }, Prepare::Once).unwrap()
}

/// A session on a new place with a table `t (k INTEGER PRIMARY KEY, v INTEGER)` holding (1, 0).
fn session(engine: &dyn Engine) -> Box<dyn Connection> {
    engine.place().create("test").unwrap();
    let mut conn = engine.connect(LOAD).unwrap();
    conn.script(&["CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", "INSERT INTO t VALUES (1, 0)"]).unwrap();
    conn
}

#[test]
fn texts_have_zeros_and_moments_are_numbers() {
    let folder = Folder::new("sqlite");
    let mut conn = session(&*folder.engine(""));
    conn.script(&["CREATE TABLE v (f TEXT, g INTEGER)"]).unwrap();
    let types = [Type::Text, Type::Timestamp];
    let long = "x'\"\\%\0y".repeat(100_000);
    let insert = prepare(&mut *conn, "INSERT INTO v VALUES (?,?)", &types, &[]);
    for when in [Prepare::Once, Prepare::Never] {
        let select = conn.prepare(&Statement { sql: "SELECT * FROM v", params: &[], columns: &types }, when).unwrap();
        for row in [[Value::Text(&long), Value::Timestamp(i64::MIN)], [Value::Text("🗄"), Value::Timestamp(i64::MAX)]]
        {
            conn.script(&["DELETE FROM v"]).unwrap();
            assert_eq!(conn.execute(insert, &row).unwrap(), 1);
            let mut rows = Rows::new();
            conn.query(select, &[], &mut rows).unwrap();
            assert_eq!([0, 1].map(|column| rows.get(0, column).unwrap()), row, "{when:?}");
        }
    }
    let table = conn.fetch("SELECT v, NULL AS missing FROM t").unwrap();
    assert_eq!(table.columns, ["v", "missing"]);
    assert_eq!(table.rows, [[Some("0".to_string()), None]]);
}

#[test]
fn decimals_are_scaled_to_their_declaration() {
    let folder = Folder::new("sqlite");
    let mut conn = session(&*folder.engine(""));
    let update = prepare(&mut *conn, "UPDATE t SET v = ? WHERE k = 1", &[Type::Decimal(2)], &[]);
    let sum = prepare(&mut *conn, "SELECT sum(v) FROM t", &[], &[Type::Decimal(2)]);
    let mut rows = Rows::new();
    for (value, hundredths) in [(Value::Int(-7), -700), (Value::Decimal { unscaled: 15, scale: 1 }, 150)] {
        conn.execute(update, &[value]).unwrap();
        conn.query(sum, &[], &mut rows).unwrap();
        assert_eq!(rows.get(0, 0).unwrap(), Value::Decimal { unscaled: hundredths, scale: 2 });
    }
    let error = conn.execute(update, &[Value::Decimal { unscaled: 1, scale: 3 }]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement, "0.001 has no two digits: {error}");
}

#[test]
fn execute_counts_the_rows_it_changed() {
    let folder = Folder::new("sqlite");
    let mut conn = session(&*folder.engine(""));
    conn.script(&["INSERT INTO t VALUES (2, 0), (3, 0)"]).unwrap();
    let all = prepare(&mut *conn, "UPDATE t SET v = v + 1", &[], &[]);
    let none = prepare(&mut *conn, "UPDATE t SET v = 1 WHERE k = 99", &[], &[]);
    let schema = prepare(&mut *conn, "CREATE TABLE u (k INTEGER)", &[], &[]);
    assert_eq!([all, none, schema].map(|id| conn.execute(id, &[]).unwrap()), [3, 0, 0]);
    let returning =
        prepare(&mut *conn, "UPDATE t SET v = v + 5 WHERE k = ? RETURNING v", &[Type::Int64], &[Type::Int64]);
    let mut rows = Rows::new();
    conn.query(returning, &[Value::Int(2)], &mut rows).unwrap();
    assert_eq!(rows.int(0, 0).unwrap(), 6);
}

#[test]
fn statements_that_are_refused_leave_no_lock_behind() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("");
    let mut conn = session(&*engine);
    conn.script(&["CREATE TABLE child (k INTEGER REFERENCES t)"]).unwrap();
    assert_eq!(conn.script(&["INSERT INTO child VALUES (77)"]).unwrap_err().kind, ErrorKind::Statement);
    let one = prepare(&mut *conn, "SELECT v FROM t WHERE k = ?", &[Type::Int64], &[Type::Int64]);
    let other = conn.query(one, &[Value::Text("1")], &mut Rows::new());
    assert_eq!(other.unwrap_err().kind, ErrorKind::Statement, "a value of another type");
    let undeclared = Statement { sql: "SELECT k, v FROM t", params: &[], columns: &[Type::Int64] };
    assert_eq!(conn.prepare(&undeclared, Prepare::Once).unwrap_err().kind, ErrorKind::Statement);
    conn.begin().unwrap();
    conn.commit().unwrap();
    engine.connect(LOAD).unwrap().script(&["UPDATE t SET v = 9"]).unwrap();
}

#[test]
fn a_second_writer_is_busy_and_waits_as_long_as_told() {
    let folder = Folder::new("sqlite");
    let mut first = session(&*folder.engine(""));
    let mut hasty = folder.engine("busy_timeout_ms=0").connect(LOAD).unwrap();
    first.begin().unwrap();
    let error = hasty.begin().unwrap_err();
    assert_eq!((error.kind, error.message.as_deref()), (ErrorKind::Busy, None));
    assert!(error.kind.is_retryable() && error.code.as_str() == "5");
    let mut patient = folder.engine("busy_timeout_ms=60000").connect(LOAD).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || patient.begin().and_then(|()| patient.commit()));
        std::thread::sleep(std::time::Duration::from_millis(30));
        first.commit().unwrap();
        waiter.join().unwrap().expect("it waited until the first had committed");
    });
    hasty.begin().unwrap();
    hasty.commit().unwrap();
}

#[test]
fn what_sessions_of_load_do_is_seen_from_another_thread() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("busy_timeout_ms=60000");
    let mut first = session(&*engine);
    let mut second = engine.connect(LOAD).unwrap();
    let _administration = engine.connect(ADMIN).unwrap();
    let update = prepare(&mut *first, "UPDATE t SET v = 1", &[], &[]);
    let seen = || engine.seen().unwrap();
    let states = || seen().iter().map(|one| one.state).collect::<Vec<_>>();
    assert_eq!(states(), [State::Idle, State::Idle], "the administration is none of them");
    first.begin().unwrap();
    first.execute(update, &[]).unwrap();
    assert_eq!(states(), [State::Open, State::Idle]);
    assert_eq!(seen()[0].statement, "UPDATE t SET v = 1");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || second.begin().and_then(|()| second.commit()));
        while seen()[1].state != State::Lock {
            std::thread::yield_now();
        }
        assert_eq!((seen()[1].wait, seen()[1].statement.as_str()), ("busy handler", "BEGIN"));
        first.commit().unwrap();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(states(), [State::Idle], "one was closed");
}

#[test]
fn reads_writes_and_flushes_of_files_are_seen() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("");
    let mut conn = session(&*engine);
    let insert = prepare(&mut *conn, "INSERT INTO t VALUES (NULL, ?)", &[Type::Int64], &[]);
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let (mut seen, mut enough) = (Vec::new(), false);
            while !enough && !done.load(Ordering::Relaxed) {
                seen.extend(engine.seen().unwrap().into_iter().map(|one| one.state));
                seen.dedup();
                enough = [State::Write, State::Flush].iter().all(|state| seen.contains(state));
            }
            done.store(true, Ordering::Relaxed);
            seen
        });
        for value in 0..200_000 {
            conn.execute(insert, &[Value::Int(value)]).unwrap();
            if done.load(Ordering::Relaxed) {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        looking.join().unwrap()
    });
    assert!(seen.contains(&State::Write), "{seen:?}");
    assert!(seen.contains(&State::Flush), "{seen:?}");
}

#[test]
fn a_deferred_transaction_that_turns_writer_too_late_is_busy() {
    let folder = Folder::new("sqlite");
    let mut writer = session(&*folder.engine(""));
    let mut late = folder.engine("begin=deferred").connect(LOAD).unwrap();
    let read = prepare(&mut *late, "SELECT v FROM t", &[], &[Type::Int64]);
    let write = prepare(&mut *late, "UPDATE t SET v = v + 1", &[], &[]);
    late.begin().unwrap();
    late.query(read, &[], &mut Rows::new()).unwrap();
    writer.script(&["UPDATE t SET v = 7"]).unwrap();
    let error = late.execute(write, &[]).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Busy, "517"));
    late.rollback().unwrap();
    assert_eq!(late.execute(write, &[]).unwrap(), 1);
}

#[test]
fn an_interrupt_ends_a_statement_a_wait_and_the_session() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("busy_timeout_ms=600000");
    let mut holder = session(&*engine);
    holder.begin().unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    for waits in [false, true] {
        let mut conn = engine.connect(LOAD).unwrap();
        let interrupt = conn.interrupt().unwrap();
        let error = std::thread::scope(|scope| {
            let call = scope.spawn(|| if waits { conn.begin() } else { conn.fetch(endless).map(|_| ()) });
            std::thread::sleep(std::time::Duration::from_millis(20));
            interrupt.interrupt();
            call.join().unwrap().unwrap_err()
        });
        assert_eq!(error.kind, ErrorKind::Disconnected, "waiting: {waits}");
        assert_eq!(conn.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected, "and all later calls");
        drop(conn);
        interrupt.interrupt();
    }
    holder.commit().expect("other sessions go on");
}

/// No rows at all.
struct Nothing;

impl RowSource for Nothing {
    fn next_row(&mut self, _emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        Ok(false)
    }
}

#[test]
fn a_bulk_load_leaves_foreign_keys_on_and_stands_in_no_transaction() {
    let folder = Folder::new("sqlite");
    let mut conn = session(&*folder.engine(""));
    let load = |conn: &mut dyn Connection| conn.bulk().unwrap().load("t", &[("k", Type::Int64)], &mut Nothing);
    assert_eq!(load(&mut *conn).unwrap(), 0);
    assert_eq!(conn.fetch("PRAGMA foreign_keys").unwrap().rows[0][0].as_deref(), Some("1"), "on again");
    conn.begin().unwrap();
    assert_eq!(load(&mut *conn).unwrap_err().kind, ErrorKind::Statement);
}

#[test]
fn the_settings_of_the_url_hold() {
    let folder = Folder::new("sqlite");
    let engine =
        folder.engine("journal_mode=delete&synchronous=normal&page_size=8192&cache_size=-4000&foreign_keys=off");
    let mut conn = session(&*engine);
    for (pragma, expected) in [
        ("journal_mode", "delete"),
        ("synchronous", "1"),
        ("page_size", "8192"),
        ("cache_size", "-4000"),
        ("foreign_keys", "0"),
    ] {
        assert_eq!(conn.fetch(&format!("PRAGMA {pragma}")).unwrap().rows[0][0].as_deref(), Some(expected), "{pragma}");
    }
    drop(conn);
    let mut conn = folder.engine("").connect(LOAD).unwrap();
    for (pragma, expected) in [("journal_mode", "wal"), ("synchronous", "2"), ("foreign_keys", "1")] {
        assert_eq!(conn.fetch(&format!("PRAGMA {pragma}")).unwrap().rows[0][0].as_deref(), Some(expected), "{pragma}");
    }
}

#[test]
fn a_place_is_made_marked_and_dropped_with_its_logs() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("");
    let place = engine.place();
    assert_eq!(place.state().unwrap(), PlaceState::Absent);
    place.drop().expect("nothing happens when it is absent");
    assert_eq!(engine.connect(LOAD).err().unwrap().kind, ErrorKind::Setup);
    assert!(engine.connect(ADMIN).unwrap().fetch("SELECT sqlite_version()").is_ok());
    assert!(!folder.file().exists(), "looking made nothing");
    place.create("it's a test").unwrap();
    assert_eq!(place.state().unwrap(), PlaceState::Marked("it's a test".into()));
    assert_eq!(place.create("again").unwrap_err().kind, ErrorKind::Setup);
    let mut conn = engine.connect(LOAD).unwrap();
    let before = place.size_bytes().unwrap().unwrap();
    conn.script(&["CREATE TABLE t (v TEXT)", "INSERT INTO t VALUES (hex(randomblob(50000)))"]).unwrap();
    assert!(place.size_bytes().unwrap().unwrap() >= before + 100_000, "the write-ahead log counts");
    assert_eq!(place.state().unwrap(), PlaceState::Marked("it's a test".into()));
    place.drop().unwrap();
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "no file is left");
    assert_eq!(place.size_bytes().unwrap_err().kind, ErrorKind::Setup);
}

/// The place is foreign, refused by create, drop and sessions of load, and not one byte changes.
fn assert_untouched(folder: &Folder, path: &Path) {
    let engine = folder.engine("");
    let before = std::fs::read(path).unwrap();
    let names = || std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let beside = names();
    let PlaceState::Foreign(what) = engine.place().state().unwrap() else { panic!("not foreign") };
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(what.contains(name), "{what} names {name}");
    for error in
        [engine.place().create("m"), engine.place().drop(), engine.connect(LOAD).map(|_| ())].map(Result::unwrap_err)
    {
        assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains(name), "{error}");
    }
    engine.connect(ADMIN).unwrap().script(&["CREATE TABLE stray (k)"]).unwrap();
    assert_eq!((std::fs::read(path).unwrap(), names()), (before, beside));
}

#[test]
fn foreign_files_are_refused_and_never_touched() {
    for content in [&b""[..], b"short", &[b'x'; 5000], b"SQLite format 3\0 cut short"] {
        let folder = Folder::new("sqlite");
        std::fs::write(folder.file(), content).unwrap();
        assert_untouched(&folder, &folder.file());
    }
    let stale = Folder::new("sqlite");
    std::fs::write(stale.0.join("file.db-wal"), b"left over").unwrap();
    assert_untouched(&stale, &stale.0.join("file.db-wal"));
}

#[test]
fn databases_of_others_are_refused_and_never_touched() {
    // Two real databases: one without the number, one with the number but without the mark.
    for spoil in ["PRAGMA application_id=0", "DROP TABLE dsbench_mark"] {
        let folder = Folder::new("sqlite");
        let engine = folder.engine("journal_mode=delete");
        engine.place().create("test").unwrap();
        engine.connect(LOAD).unwrap().script(&[spoil]).unwrap();
        assert_untouched(&folder, &folder.file());
    }
}

#[test]
fn a_damaged_file_of_our_own_is_an_error_of_setup_and_stays() {
    let folder = Folder::new("sqlite");
    let engine = folder.engine("journal_mode=delete");
    engine.place().create("test").unwrap();
    let mut bytes = std::fs::read(folder.file()).unwrap();
    bytes[100..].fill(0xff);
    std::fs::write(folder.file(), &bytes).unwrap();
    let place = engine.place();
    for error in [place.state().map(|_| ()), place.drop(), engine.connect(LOAD).map(|_| ())].map(Result::unwrap_err) {
        assert_eq!(error.kind, ErrorKind::Setup, "{error}");
    }
    assert_eq!(std::fs::read(folder.file()).unwrap(), bytes);
}
