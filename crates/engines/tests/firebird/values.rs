//! What Firebird has beside the values that the suite of all engines sends there and back.

use dsbench_core::engine::{Prepare, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use crate::bed::{prepare, Bed, LOAD};

const TABLE: &str =
    "CREATE TABLE v (n INTEGER, a SMALLINT, b INTEGER, c BIGINT, d DOUBLE PRECISION, e NUMERIC(18, 4), \
                     f VARCHAR(8000), g TIMESTAMP)";

/// Microseconds of the last moment that Firebird knows.
const LAST: i64 = 253_402_300_799_999_900;

#[test]
fn other_types_of_the_server_are_read_as_declared() {
    let bed = Bed::embedded();
    let mut conn = bed.furnished("").connect(LOAD).unwrap();
    let mut rows = Rows::new();
    for (sql, declared, expected) in [
        ("CAST('ü1' AS CHAR(5))", Type::Text, Value::Text("ü1   ")),
        ("CAST('text of a blob' AS BLOB SUB_TYPE TEXT)", Type::Text, Value::Text("text of a blob")),
        ("(SELECT sum(CAST(k AS BIGINT)) FROM t)", Type::Int64, Value::Int(3)),
        ("(SELECT count(*) FROM t)", Type::Int32, Value::Int(2)),
        ("CAST(1.50 AS NUMERIC(9, 2))", Type::Decimal(1), Value::Decimal { unscaled: 15, scale: 1 }),
        ("CAST(7 AS INTEGER)", Type::Decimal(2), Value::Decimal { unscaled: 700, scale: 2 }),
        ("CAST(0.5 AS FLOAT)", Type::Float64, Value::Float(0.5)),
        ("CAST('1970-01-02' AS DATE)", Type::Timestamp, Value::Timestamp(86_400_000_000)),
    ] {
        let sql = format!("SELECT {sql} FROM rdb$database");
        let select = prepare(&mut *conn, &sql, &[], &[declared]);
        conn.query(select, &[], &mut rows).unwrap();
        assert_eq!(rows.get(0, 0).unwrap(), expected, "{sql}");
    }
    let now = prepare(&mut *conn, "SELECT CURRENT_TIMESTAMP FROM rdb$database", &[], &[Type::Timestamp]);
    conn.query(now, &[], &mut rows).unwrap();
    assert!(matches!(rows.get(0, 0).unwrap(), Value::Timestamp(us) if us > 1_500_000_000_000_000));
}

#[test]
fn what_does_not_fit_is_an_error_of_the_statement() {
    let bed = Bed::embedded();
    let mut conn = bed.furnished("").connect(LOAD).unwrap();
    conn.script(&[TABLE]).unwrap();
    let mut rows = Rows::new();
    let far = Value::Timestamp(LAST + 1_000_000);
    for (column, declared, value) in [
        ("a", Type::Int16, Value::Int(32_768)),
        ("b", Type::Int32, Value::Int(-2_147_483_649)),
        ("b", Type::Int64, Value::Int(2_147_483_648)),
        ("c", Type::Int64, Value::Text("1")),
        ("d", Type::Float64, Value::Int(1)),
        ("e", Type::Decimal(4), Value::Decimal { unscaled: 1, scale: 5 }),
        ("f", Type::Text, Value::Int(1)),
        ("f", Type::Text, Value::Text(&"x".repeat(8001))),
        ("f", Type::Text, Value::Text(&"x".repeat(40_000))),
        ("g", Type::Timestamp, far),
    ] {
        let insert = prepare(&mut *conn, &format!("INSERT INTO v ({column}) VALUES (?)"), &[declared], &[]);
        let error = conn.execute(insert, &[value]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "{column}, {value:?}: {error}");
    }
    for (sql, declared) in [("1.5", Type::Int64), ("'x'", Type::Int64), ("1", Type::Text), ("1", Type::Float64)] {
        let sql = format!("SELECT {sql} FROM rdb$database");
        let statement = Statement { sql: &sql, params: &[], columns: &[declared] };
        assert_eq!(conn.prepare(&statement, Prepare::Once).unwrap_err().kind, ErrorKind::Statement, "{sql}");
    }
    let exact = prepare(&mut *conn, "SELECT CAST(1.55 AS NUMERIC(9, 2)) FROM rdb$database", &[], &[Type::Decimal(1)]);
    assert_eq!(conn.query(exact, &[], &mut rows).unwrap_err().kind, ErrorKind::Statement);
    assert_eq!(conn.fetch("SELECT count(*) FROM v").unwrap().rows[0][0].as_deref(), Some("0"), "nothing was left");
}

#[test]
fn administrative_queries_give_text() {
    for bed in Bed::all() {
        let mut conn = bed.furnished("").connect(LOAD).unwrap();
        let sql =
            "SELECT k AS \"Key\", CAST('a' AS CHAR(10)) c, CAST(-1.50 AS NUMERIC(9, 2)) n, CAST(NULL AS INTEGER) x, \
                   CAST('blob' AS BLOB SUB_TYPE TEXT) b, k = 1 is_one FROM t ORDER BY 1";
        let table = conn.fetch(sql).unwrap();
        assert_eq!(table.columns, ["Key", "C", "N", "X", "B", "IS_ONE"]);
        let cells: Vec<Option<&str>> = table.rows[0].iter().map(Option::as_deref).collect();
        assert_eq!(cells, [Some("1"), Some("a"), Some("-1.50"), None, Some("blob"), Some("TRUE")]);
        assert_eq!((table.rows.len(), table.rows[1][5].as_deref()), (2, Some("FALSE")));
        assert_eq!(conn.fetch("SELECT mon$page_size FROM mon$database").unwrap().rows.len(), 1);
        assert_eq!(conn.fetch("SELEC 1").unwrap_err().kind, ErrorKind::Syntax);
        assert_eq!(conn.fetch("DELETE FROM t").unwrap_err().kind, ErrorKind::Statement);
    }
}
