//! What a session does: statements, transactions, errors.

use std::time::Duration;

use dsbench_core::engine::{Isolation, Prepare, RowSource, Session, Statement, StatementId};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use crate::bed::{cell, prepare, Bed, ADMIN, LOAD};

#[test]
fn execute_counts_the_rows_it_changed() {
    for bed in Bed::all() {
        let mut conn = bed.furnished("").connect(LOAD).unwrap();
        for when in [Prepare::Once, Prepare::Never] {
            for (sql, expected) in [
                ("UPDATE t SET v = v + 1", 2),
                ("UPDATE t SET v = 1 WHERE k = 99", 0),
                ("UPDATE t SET v = v + 1 WHERE k = 1 RETURNING k", 1),
                ("UPDATE t SET v = v + 1 WHERE k = 99 RETURNING k", 0),
                ("INSERT INTO t VALUES (3, 0) RETURNING k", 1),
                ("INSERT INTO t SELECT k + 3, v FROM t", 3),
                ("DELETE FROM t WHERE k > 2", 4),
                ("SELECT k FROM t", 2),
                ("EXECUTE BLOCK AS BEGIN END", 0),
            ] {
                let id = conn.prepare(&Statement { sql, params: &[], columns: &[] }, when).unwrap();
                for _ in 0..2 {
                    conn.begin().unwrap();
                    assert_eq!(conn.execute(id, &[]).unwrap(), expected, "{sql}, {when:?}");
                    conn.rollback().unwrap();
                }
                conn.execute(id, &[]).unwrap();
            }
        }
    }
}

#[test]
fn procedures_and_several_rows_give_results() {
    for bed in Bed::all() {
        let mut conn = bed.furnished("").connect(LOAD).unwrap();
        conn.script(&[
            "CREATE PROCEDURE twice (n INTEGER) RETURNS (r BIGINT) AS BEGIN r = n * 2; END",
            "CREATE PROCEDURE count_up (n INTEGER) RETURNS (r INTEGER) AS BEGIN
                r = 0; WHILE (r < n) DO BEGIN r = r + 1; SUSPEND; END END",
        ])
        .unwrap();
        let mut rows = Rows::new();
        for when in [Prepare::Once, Prepare::Never] {
            let twice =
                Statement { sql: "EXECUTE PROCEDURE twice(?)", params: &[Type::Int32], columns: &[Type::Int64] };
            let twice = conn.prepare(&twice, when).unwrap();
            let sql = "SELECT r, 'text ' || r FROM count_up(?)";
            let many = Statement { sql, params: &[Type::Int32], columns: &[Type::Int32, Type::Text] };
            let many = conn.prepare(&many, when).unwrap();
            for number in [1, 21] {
                conn.query(twice, &[Value::Int(number)], &mut rows).unwrap();
                assert_eq!((rows.len(), rows.int(0, 0).unwrap()), (1, number * 2));
            }
            for number in [0, 1, 5000] {
                conn.query(many, &[Value::Int(number)], &mut rows).unwrap();
                assert_eq!(rows.len() as i64, number);
            }
            assert_eq!(rows.text(4999, 1).unwrap(), "text 5000");
        }
    }
}

#[test]
fn errors_have_their_kinds() {
    for bed in Bed::all() {
        let mut conn = bed.furnished("").connect(LOAD).unwrap();
        conn.script(&[
            "CREATE TABLE child (k INTEGER REFERENCES t, n INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX u ON child (n)",
        ])
        .unwrap();
        conn.script(&["INSERT INTO child VALUES (1, 1)"]).unwrap();
        let mut error_of = |sql: &str| conn.script(&[sql]).unwrap_err();
        for (sql, kind) in [
            ("INSERT INTO t VALUES (1, 5)", ErrorKind::DuplicateKey),
            ("INSERT INTO child VALUES (1, 1)", ErrorKind::DuplicateKey),
            ("INSERT INTO child VALUES (77, 2)", ErrorKind::Statement),
            ("INSERT INTO child VALUES (1, NULL)", ErrorKind::Statement),
            ("UPDATE t SET v = 1 / 0", ErrorKind::Statement),
            ("CREATE TABLE t (k INTEGER)", ErrorKind::Statement),
            ("SELEKT 1", ErrorKind::Syntax),
            ("UPDATE nowhere SET k = 1", ErrorKind::Syntax),
            ("UPDATE t SET nothing = 1", ErrorKind::Syntax),
            ("EXECUTE PROCEDURE nobody", ErrorKind::Syntax),
            ("UPDATE t SET v = nobody(1)", ErrorKind::Syntax),
            ("UPDATE t SET", ErrorKind::Syntax),
            ("UPDATE t SET v = 1\0", ErrorKind::Syntax),
        ] {
            let error = error_of(sql);
            assert_eq!(error.kind, kind, "{sql}: {error}");
        }
        assert_eq!(error_of("INSERT INTO t VALUES (1, 5)").code.as_str(), "335544665");
        let one = prepare(&mut *conn, "SELECT v FROM t WHERE k = ?", &[Type::Int32], &[Type::Int32]);
        let mut rows = Rows::new();
        for params in [&[][..], &[Value::Text("1")], &[Value::Int(1), Value::Int(2)]] {
            assert_eq!(conn.query(one, params, &mut rows).unwrap_err().kind, ErrorKind::Statement, "{params:?}");
        }
        assert_eq!(conn.query(StatementId(9), &[], &mut rows).unwrap_err().kind, ErrorKind::Statement);
        for (params, columns) in [(&[][..], &[Type::Int32][..]), (&[Type::Int32], &[Type::Int32; 2])] {
            let undeclared = Statement { sql: "SELECT v FROM t WHERE k = ?", params, columns };
            assert_eq!(conn.prepare(&undeclared, Prepare::Once).unwrap_err().kind, ErrorKind::Statement);
        }
        // None of these left a transaction behind, or a session in no state to go on.
        conn.begin().unwrap();
        assert_eq!(conn.begin().unwrap_err().kind, ErrorKind::Statement);
        conn.commit().unwrap();
        assert_eq!(conn.commit().unwrap_err().kind, ErrorKind::Statement);
        conn.query(one, &[Value::Int(1)], &mut rows).unwrap();
        assert_eq!(rows.int(0, 0).unwrap(), 0);
    }
}

#[test]
fn queries_and_scripts_belong_to_the_open_transaction() {
    for bed in Bed::all() {
        let mut conn = bed.furnished("").connect(LOAD).unwrap();
        let add = prepare(&mut *conn, "UPDATE t SET v = v + 1", &[], &[]);
        conn.begin().unwrap();
        conn.execute(add, &[]).unwrap();
        assert_eq!(cell(&mut *conn, "SELECT sum(v) FROM t"), "2");
        conn.script(&["DELETE FROM t"]).unwrap();
        assert_eq!(cell(&mut *conn, "SELECT count(*) FROM t"), "0");
        drop(conn);
        let mut conn = bed.engine("").connect(LOAD).unwrap();
        assert_eq!(cell(&mut *conn, "SELECT sum(v) FROM t"), "0", "a session that ends rolls back");
    }
}

#[test]
fn single_selects_see_what_others_committed_before() {
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut writer = engine.connect(LOAD).unwrap();
        for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
            let mut reader = engine.connect(Session { isolation, in_place: true }).unwrap();
            let select = prepare(&mut *reader, "SELECT v FROM t WHERE k = 1", &[], &[Type::Int32]);
            let mut rows = Rows::new();
            for value in [10, 20] {
                writer.script(&[&format!("UPDATE t SET v = {value}")]).unwrap();
                reader.query(select, &[], &mut rows).unwrap();
                assert_eq!(rows.int(0, 0).unwrap(), value, "{isolation:?}");
            }
        }
    }
}

#[test]
fn a_select_that_writes_is_committed() {
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(Session { isolation: Isolation::ReadCommitted, in_place: true }).unwrap();
        conn.script(&["CREATE PROCEDURE bump RETURNS (r INTEGER) AS BEGIN
                         UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v INTO r; SUSPEND; END"])
            .unwrap();
        let plain = prepare(&mut *conn, "SELECT v FROM t WHERE k = 1", &[], &[Type::Int32]);
        let writing = prepare(&mut *conn, "SELECT r FROM bump", &[], &[Type::Int32]);
        let mut rows = Rows::new();
        for expected in [1, 2] {
            conn.query(writing, &[], &mut rows).unwrap();
            assert_eq!((rows.len(), rows.int(0, 0).unwrap()), (1, expected));
            conn.query(plain, &[], &mut rows).unwrap();
            assert_eq!(rows.int(0, 0).unwrap(), expected);
        }
        assert_eq!(cell(&mut *engine.connect(LOAD).unwrap(), "SELECT v FROM t WHERE k = 1"), "2");
    }
}

#[test]
fn the_settings_of_the_url_hold() {
    for bed in Bed::all() {
        let url =
            "page_size=16384&page_buffers=300&forced_writes=off&sweep_interval=0&charset=utf8&wire_crypt=disabled";
        let mut conn = bed.furnished(url).connect(LOAD).unwrap();
        let sql =
            "SELECT mon$page_size || ' ' || mon$page_buffers || ' ' || mon$forced_writes || ' ' || mon$sweep_interval \
                   FROM mon$database";
        assert_eq!(cell(&mut *conn, sql), "16384 300 0 0");
        assert_eq!(cell(&mut *conn, "SELECT rdb$character_set_name FROM rdb$database"), "UTF8");
    }
}

#[test]
fn an_administrative_session_outlives_the_database() {
    for bed in Bed::all() {
        let engine = bed.engine("");
        assert_eq!(engine.connect(ADMIN).err().unwrap().kind, ErrorKind::Setup, "there is nothing to attach to");
        engine.place().create("one").unwrap();
        let mut admin = engine.connect(ADMIN).unwrap();
        assert_eq!(cell(&mut *admin, "SELECT mark FROM dsbench_mark"), "one");
        engine.place().drop().unwrap();
        assert_eq!(admin.fetch("SELECT 1 FROM rdb$database").unwrap_err().kind, ErrorKind::Setup);
        engine.place().create("two").unwrap();
        assert_eq!(cell(&mut *admin, "SELECT mark FROM dsbench_mark"), "two");
    }
}

#[test]
fn a_sweep_moves_the_oldest_transaction_on() {
    let bed = Bed::embedded();
    let mut conn = bed.furnished("sweep_interval=0").connect(LOAD).unwrap();
    // A load that fails is not undone row by row: its transaction stays in the way until the sweep.
    let mut rows = 0;
    let failing = conn.bulk().unwrap().load("t", &[("k", Type::Int32)], &mut FirstKeys(&mut rows));
    assert_eq!(failing.unwrap_err().kind, ErrorKind::DuplicateKey);
    let update = prepare(&mut *conn, "UPDATE t SET v = v + 1", &[], &[]);
    for _ in 0..50 {
        conn.execute(update, &[]).unwrap();
    }
    let behind = "SELECT mon$next_transaction - mon$oldest_transaction FROM mon$database";
    let before: i64 = cell(&mut *conn, behind).parse().unwrap();
    conn.script(&["SWEEP"]).unwrap();
    let after: i64 = cell(&mut *conn, behind).parse().unwrap();
    assert!(before >= 50 && after < 10, "{before}, then {after}");
}

/// A thousand rows, of which the last has the key of a row that is there.
struct FirstKeys<'a>(&'a mut i64);

impl RowSource for FirstKeys<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        *self.0 += 1;
        emit(&[Value::Int(if *self.0 == 1000 { 1 } else { 1000 + *self.0 })])?;
        Ok(*self.0 < 1000)
    }
}

/// The wish to end it may come before the server has begun with the statement, and must come again.
#[test]
fn a_limit_that_is_over_at_once_ends_a_statement() {
    let endless =
        "SELECT count(*) FROM rdb$types a CROSS JOIN rdb$types b CROSS JOIN rdb$types c CROSS JOIN rdb$types d";
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(LOAD).unwrap();
        for _ in 0..10 {
            conn.limit(Duration::ZERO).unwrap();
            assert_eq!(conn.fetch(endless).unwrap_err().kind, ErrorKind::Timeout);
            conn.limit(Duration::from_secs(600)).unwrap();
            // A busy machine may have the server read both at once, which ends the session.
            if conn.fetch("SELECT k FROM t").is_err_and(|error| error.kind == ErrorKind::Disconnected) {
                conn = engine.connect(LOAD).unwrap();
            }
            assert_eq!(conn.fetch("SELECT k FROM t WHERE k = 1").unwrap().rows, [[Some("1".to_string())]]);
        }
    }
}
