//! The SQLite engine against real files.
#![cfg(feature = "sqlite")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use dsbench_core::engine::{
    Connection, Engine, Isolation, PlaceState, Prepare, RowSource, Session, Statement, StatementId,
};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dsbench-sqlite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("file.db")
    }

    /// The engine on this folder's file, with more parameters.
    fn engine(&self, parameters: &str) -> Box<dyn Engine> {
        dsbench_engines::open(&format!("sqlite:///{}?{parameters}", self.file().display())).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
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
fn values_of_every_type_come_back_exactly() {
    let folder = Folder::new();
    let mut conn = session(&*folder.engine(""));
    let types = [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(4), Type::Text, Type::Timestamp];
    conn.script(&["CREATE TABLE v (a INTEGER, b INTEGER, c BIGINT, d DOUBLE, e BIGINT, f TEXT, g INTEGER)"]).unwrap();
    let decimal = |unscaled| Value::Decimal { unscaled, scale: 4 };
    let long = "x'\"\\%\0y".repeat(100_000);
    let cases = [
        [Value::Null; 7],
        [
            Value::Int(0),
            Value::Int(0),
            Value::Int(0),
            Value::Float(0.0),
            decimal(0),
            Value::Text(""),
            Value::Timestamp(0),
        ],
        [
            Value::Int(i16::MIN.into()),
            Value::Int(i32::MIN.into()),
            Value::Int(i64::MIN),
            Value::Float(f64::MIN),
            decimal(i64::MIN),
            Value::Text("grün 数据库 🗄"),
            Value::Timestamp(i64::MIN),
        ],
        [
            Value::Int(i16::MAX.into()),
            Value::Int(i32::MAX.into()),
            Value::Int(i64::MAX),
            Value::Float(f64::MIN_POSITIVE),
            decimal(i64::MAX),
            Value::Text(&long),
            Value::Timestamp(i64::MAX),
        ],
    ];
    let insert = prepare(&mut *conn, "INSERT INTO v VALUES (?,?,?,?,?,?,?)", &types, &[]);
    for (when, offset) in [(Prepare::Once, 0), (Prepare::Never, 4)] {
        let select = Statement { sql: "SELECT * FROM v WHERE rowid = ?", params: &[Type::Int64], columns: &types };
        let select = conn.prepare(&select, when).unwrap();
        let mut rows = Rows::new();
        for (at, case) in (1..).zip(&cases) {
            assert_eq!(conn.execute(insert, case).unwrap(), 1);
            conn.query(select, &[Value::Int(at + offset)], &mut rows).unwrap();
            let found: Vec<Value<'_>> = (0..7).map(|column| rows.get(0, column).unwrap()).collect();
            assert_eq!(found, case, "row {at}, {when:?}");
        }
        conn.query(select, &[Value::Int(99)], &mut rows).unwrap();
        assert_eq!((rows.len(), rows.width()), (0, 7));
    }
}

#[test]
fn decimals_are_scaled_to_their_declaration() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
fn errors_have_their_kinds() {
    let folder = Folder::new();
    let engine = folder.engine("");
    let mut conn = session(&*engine);
    conn.script(&["CREATE TABLE child (k INTEGER REFERENCES t, n INTEGER NOT NULL)", "CREATE UNIQUE INDEX u ON t (v)"])
        .unwrap();
    let mut kind_of = |sql: &str| conn.script(&[sql]).unwrap_err().kind;
    assert_eq!(kind_of("INSERT INTO t VALUES (1, 5)"), ErrorKind::DuplicateKey);
    assert_eq!(kind_of("INSERT INTO t VALUES (2, 0)"), ErrorKind::DuplicateKey);
    assert_eq!(kind_of("INSERT INTO child VALUES (77, 1)"), ErrorKind::Statement);
    assert_eq!(kind_of("INSERT INTO child VALUES (1, NULL)"), ErrorKind::Statement);
    assert_eq!(kind_of("SELEKT 1"), ErrorKind::Syntax);
    assert_eq!(kind_of("SELECT * FROM nowhere"), ErrorKind::Syntax);
    let one = prepare(&mut *conn, "SELECT v FROM t WHERE k = ?", &[Type::Int64], &[Type::Int64]);
    let mut rows = Rows::new();
    for params in [&[][..], &[Value::Text("1")], &[Value::Int(1), Value::Int(2)]] {
        assert_eq!(conn.query(one, params, &mut rows).unwrap_err().kind, ErrorKind::Statement, "{params:?}");
    }
    assert_eq!(conn.query(StatementId(9), &[], &mut rows).unwrap_err().kind, ErrorKind::Statement);
    let undeclared = Statement { sql: "SELECT k, v FROM t", params: &[], columns: &[Type::Int64] };
    assert_eq!(conn.prepare(&undeclared, Prepare::Once).unwrap_err().kind, ErrorKind::Statement);
    // None of these left a lock or a transaction behind.
    conn.begin().unwrap();
    conn.commit().unwrap();
    engine.connect(LOAD).unwrap().script(&["UPDATE t SET v = 9"]).unwrap();
}

#[test]
fn transactions_end_as_they_were_told() {
    let folder = Folder::new();
    let mut conn = session(&*folder.engine(""));
    let add = prepare(&mut *conn, "UPDATE t SET v = v + 1", &[], &[]);
    for (commits, expected) in [(false, "0"), (true, "1")] {
        conn.begin().unwrap();
        conn.execute(add, &[]).unwrap();
        if commits { conn.commit() } else { conn.rollback() }.unwrap();
        let table = conn.fetch("SELECT v, NULL AS missing FROM t").unwrap();
        assert_eq!(table.columns, ["v", "missing"]);
        assert_eq!(table.rows, [[Some(expected.to_string()), None]]);
    }
    conn.rollback().expect("harmless without a transaction");
}

#[test]
fn a_second_writer_is_busy_and_waits_as_long_as_told() {
    let folder = Folder::new();
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
fn a_deferred_transaction_that_turns_writer_too_late_is_busy() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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

/// Rows (from, 0) … (to − 1, 0), then an error when `fails`.
struct Numbers {
    next: i64,
    to: i64,
    fails: bool,
}

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.to {
            return if self.fails { Err(dsbench_core::error::Error::configuration("enough")) } else { Ok(false) };
        }
        emit(&[Value::Int(self.next), Value::Int(0)])?;
        self.next += 1;
        Ok(true)
    }
}

#[test]
fn bulk_loads_are_whole_or_nothing() {
    let folder = Folder::new();
    let engine = folder.engine("");
    let mut conn = session(&*engine);
    let columns = [("k", Type::Int64), ("v", Type::Int64)];
    let load = |conn: &mut dyn Connection, next, to, fails| {
        conn.bulk().unwrap().load("t", &columns, &mut Numbers { next, to, fails })
    };
    assert_eq!(load(&mut *conn, 2, 1002, false).unwrap(), 1000);
    assert_eq!(load(&mut *conn, 2000, 2100, true).unwrap_err().kind, ErrorKind::Configuration);
    assert_eq!(load(&mut *conn, 900, 1100, false).unwrap_err().kind, ErrorKind::DuplicateKey);
    assert_eq!(conn.fetch("SELECT count(*) FROM t").unwrap().rows[0][0].as_deref(), Some("1001"));
    // Several at a time: each waits for its turn.
    let mut loads: Vec<_> = (0..4).map(|_| engine.connect(LOAD).unwrap()).collect();
    std::thread::scope(|scope| {
        for (at, other) in (0..).zip(&mut loads) {
            let from = 10_000 + at * 1000;
            scope.spawn(move || load(&mut **other, from, from + 1000, false).unwrap());
        }
    });
    assert_eq!(conn.fetch("SELECT count(*) FROM t").unwrap().rows[0][0].as_deref(), Some("5001"));
    assert_eq!(conn.fetch("PRAGMA foreign_keys").unwrap().rows[0][0].as_deref(), Some("1"), "on again");
    conn.begin().unwrap();
    assert_eq!(load(&mut *conn, 1, 1, false).unwrap_err().kind, ErrorKind::Statement);
}

#[test]
fn the_settings_of_the_url_hold() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let before = place.size_bytes().unwrap();
    conn.script(&["CREATE TABLE t (v TEXT)", "INSERT INTO t VALUES (hex(randomblob(50000)))"]).unwrap();
    assert!(place.size_bytes().unwrap() >= before + 100_000, "the write-ahead log counts");
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
        assert!(error.kind == ErrorKind::Setup && error.to_string().contains(name), "{error}");
    }
    engine.connect(ADMIN).unwrap().script(&["CREATE TABLE stray (k)"]).unwrap();
    assert_eq!((std::fs::read(path).unwrap(), names()), (before, beside));
}

#[test]
fn foreign_files_are_refused_and_never_touched() {
    for content in [&b""[..], b"short", &[b'x'; 5000], b"SQLite format 3\0 cut short"] {
        let folder = Folder::new();
        std::fs::write(folder.file(), content).unwrap();
        assert_untouched(&folder, &folder.file());
    }
    let stale = Folder::new();
    std::fs::write(stale.0.join("file.db-wal"), b"left over").unwrap();
    assert_untouched(&stale, &stale.0.join("file.db-wal"));
}

#[test]
fn databases_of_others_are_refused_and_never_touched() {
    // Two real databases: one without the number, one with the number but without the mark.
    for spoil in ["PRAGMA application_id=0", "DROP TABLE dsbench_mark"] {
        let folder = Folder::new();
        let engine = folder.engine("journal_mode=delete");
        engine.place().create("test").unwrap();
        engine.connect(LOAD).unwrap().script(&[spoil]).unwrap();
        assert_untouched(&folder, &folder.file());
    }
}

#[test]
fn a_damaged_file_of_our_own_is_an_error_of_setup_and_stays() {
    let folder = Folder::new();
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
