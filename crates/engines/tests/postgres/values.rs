//! Values go to the server and come back, prepared once or never.

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use super::server::Server;

const WAYS: [Prepare; 2] = [Prepare::Once, Prepare::Never];

const ALL: &[Type] =
    &[Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(4), Type::Text, Type::Timestamp];

const DECADES_US: i64 = 1_000_000 * 86_400 * 3653;

fn samples() -> Vec<[Value<'static>; 7]> {
    let decimal = |unscaled| Value::Decimal { unscaled, scale: 4 };
    let row = |int: [i64; 3], float, number, text, time| {
        let [a, b, c] = int.map(Value::Int);
        [a, b, c, Value::Float(float), decimal(number), Value::Text(text), Value::Timestamp(time)]
    };
    vec![
        row([i16::MIN.into(), i32::MIN.into(), i64::MIN], f64::MIN, i64::MIN, "", -4 * DECADES_US),
        row([i16::MAX.into(), i32::MAX.into(), i64::MAX], f64::MAX, i64::MAX, "Grüße, 世界 🦀\t\\N\n", 20 * DECADES_US),
        row([0, 0, 0], -0.0, 0, "'; DROP TABLE x; --", 0),
        row([-1, 1, -1], f64::MIN_POSITIVE, -1, "a", 1),
        row([7, 8, 9], 0.1, 10_000, "b", 946_684_800_000_000),
        [Value::Null; 7],
    ]
}

#[test]
fn every_type_comes_back_from_parameters_and_from_a_table() {
    let server = Server::start();
    let mut connection = server.connect();
    connection
        .script(&[
            "CREATE TABLE t (n serial, a smallint, b int, c bigint, d float8, e numeric(30, 4), f text, g timestamp)",
        ])
        .unwrap();
    for way in WAYS {
        let echo = "SELECT $1, $2, $3, $4, $5, $6, $7";
        let echo = connection.prepare(&Statement { sql: echo, params: ALL, columns: ALL }, way).unwrap();
        let insert = "INSERT INTO t (a, b, c, d, e, f, g) VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let insert = connection.prepare(&Statement { sql: insert, params: ALL, columns: &[] }, way).unwrap();
        let select = "SELECT a, b, c, d, e, f, g FROM t ORDER BY n";
        let select = connection.prepare(&Statement { sql: select, params: &[], columns: ALL }, way).unwrap();
        connection.script(&["TRUNCATE t"]).unwrap();
        let mut rows = Rows::new();
        for sample in samples() {
            connection.query(echo, &sample, &mut rows).unwrap();
            check(&rows, &[sample]);
            assert_eq!(connection.execute(insert, &sample).unwrap(), 1);
        }
        connection.query(select, &[], &mut rows).unwrap();
        check(&rows, &samples());
    }
}

fn check(rows: &Rows, expected: &[[Value<'_>; 7]]) {
    assert_eq!(rows.len(), expected.len());
    for (at, sample) in expected.iter().enumerate() {
        for (column, value) in sample.iter().enumerate() {
            assert_eq!(rows.get(at, column).unwrap(), *value, "row {at}, column {column}");
        }
    }
}

#[test]
fn the_server_reads_the_values_as_they_are_meant() {
    let server = Server::start();
    let mut connection = server.connect();
    let text = &[Type::Text; 3];
    let sql = "SELECT ($1::numeric)::text, ($2::timestamp)::text, ($3::float8)::text";
    let params = &[Type::Decimal(2), Type::Timestamp, Type::Float64];
    let id = connection.prepare(&Statement { sql, params, columns: text }, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    for (decimal, time, float, expected) in [
        ((-1, 2), 0, 0.5, ["-0.01", "1970-01-01 00:00:00", "0.5"]),
        ((1_000_000, 2), 1_000_001, -1e300, ["10000.00", "1970-01-01 00:00:01.000001", "-1e+300"]),
        ((i64::MIN, 19), -1, f64::INFINITY, ["-0.9223372036854775808", "1969-12-31 23:59:59.999999", "Infinity"]),
        ((5, 0), 951_782_400_000_000, 0.0, ["5", "2000-02-29 00:00:00", "0"]),
    ] {
        let decimal = Value::Decimal { unscaled: decimal.0, scale: decimal.1 };
        connection.query(id, &[decimal, Value::Timestamp(time), Value::Float(float)], &mut rows).unwrap();
        assert_eq!([0, 1, 2].map(|column| rows.text(0, column).unwrap().to_owned()), expected);
    }
}

#[test]
fn many_and_long_rows_come_whole() {
    let server = Server::start();
    let mut connection = server.connect();
    let sql = "SELECT i, repeat(chr(97 + i % 26), i * 7 % 30000) FROM generate_series(1, $1) i";
    let statement = Statement { sql, params: &[Type::Int32], columns: &[Type::Int64, Type::Text] };
    let id = connection.prepare(&statement, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    connection.query(id, &[Value::Int(5000)], &mut rows).unwrap();
    assert_eq!(rows.len(), 5000);
    for row in 0..5000 {
        let i = row + 1;
        let text = rows.text(row, 1).unwrap();
        let letter = (b'a' + (i % 26) as u8) as char;
        assert_eq!((rows.int(row, 0).unwrap(), text.len()), (i as i64, i * 7 % 30_000));
        assert!(text.chars().all(|found| found == letter));
    }
    connection.query(id, &[Value::Int(0)], &mut rows).unwrap();
    assert_eq!((rows.len(), rows.width()), (0, 2));
}

#[test]
fn what_was_declared_wrongly_is_an_error_and_the_session_goes_on() {
    let server = Server::start();
    let mut connection = server.connect();
    let prepare = |connection: &mut dyn Connection, sql: &str, columns: &[Type], way| {
        connection.prepare(&Statement { sql, params: &[], columns }, way)
    };
    for (sql, columns) in [
        ("SELECT 1::float8", &[Type::Int64][..]),
        ("SELECT 1::int8", &[Type::Float64]),
        ("SELECT sum(x::int8) FROM (VALUES (1)) v (x)", &[Type::Int64]),
        ("SELECT 1, 2", &[Type::Int32]),
        ("SELECT 1", &[Type::Int32, Type::Int32]),
        ("SELECT '\\xff'::bytea", &[Type::Text]),
        ("SET work_mem = '1MB'", &[Type::Int32]),
    ] {
        let error = prepare(&mut *connection, sql, columns, Prepare::Once).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "{sql}: {error}");
    }
    let mut rows = Rows::new();
    for (sql, columns) in [
        ("SELECT 1, 2", &[Type::Int32][..]),
        ("SELECT 1::bool", &[Type::Int32]),
        ("SELECT 1.005", &[Type::Decimal(2)]),
        ("SELECT 'NaN'::numeric", &[Type::Decimal(2)]),
        ("SELECT 'infinity'::timestamp", &[Type::Timestamp]),
    ] {
        let id = prepare(&mut *connection, sql, columns, Prepare::Never).unwrap();
        let error = connection.query(id, &[], &mut rows).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "{sql}: {error}");
    }
    let id = prepare(&mut *connection, "SELECT 5", &[Type::Int32], Prepare::Once).unwrap();
    connection.query(id, &[], &mut rows).unwrap();
    assert_eq!(rows.int(0, 0).unwrap(), 5);
    assert!(connection.query(id, &[Value::Int(1)], &mut rows).is_err(), "too many parameters");
}
