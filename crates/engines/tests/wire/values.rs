//! Values go to the server and come back, prepared once or never.

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type, Value};

use crate::server::Server;
use crate::{Wire, WAYS};

for_both!(
    every_type_comes_back_from_parameters_and_from_a_table,
    the_server_reads_the_values_as_they_are_meant,
    many_and_long_rows_come_whole,
    what_was_declared_wrongly_is_an_error_and_the_session_goes_on,
);

const ALL: &[Type] =
    &[Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(4), Type::Text, Type::Timestamp];

fn samples(wire: Wire) -> Vec<[Value<'static>; 7]> {
    let decimal = |unscaled| Value::Decimal { unscaled, scale: 4 };
    let row = |int: [i64; 3], float, number, text, time| {
        let [a, b, c] = int.map(Value::Int);
        [a, b, c, Value::Float(float), decimal(number), Value::Text(text), Value::Timestamp(time)]
    };
    let (first, last) = (-62_135_596_800_000_000, 253_402_300_799_999_999);
    // PostgreSQL's texts have no zeros.
    let text = wire.either("Grüße, 世界 🦀\t\\N\n\x1a\"", "Grüße, 世界 🦀\t\\N\n\0\x1a\"");
    vec![
        row([i16::MIN.into(), i32::MIN.into(), i64::MIN], f64::MIN, i64::MIN, "", first),
        row([i16::MAX.into(), i32::MAX.into(), i64::MAX], f64::MAX, i64::MAX, text, last),
        row([0, 0, 0], -0.0, 0, "'; DROP TABLE x; -- ?", 0),
        row([-1, 1, -1], f64::MIN_POSITIVE, -1, "a", 1),
        row([7, 8, 9], 0.1, 10_000, "b", 946_684_800_000_000),
        row([1, 2, 3], 1.0 / 3.0, 1, "c", -1),
        [Value::Null; 7],
    ]
}

fn every_type_comes_back_from_parameters_and_from_a_table(wire: Wire) {
    let samples = samples(wire);
    for server in wire.servers(&[]) {
        let mut connection = server.connect();
        let columns = "n int, a smallint, b int, c bigint, d double precision, e decimal(30, 4), f text, g TIME";
        connection.script(&[&wire.sql(&format!("CREATE TABLE t ({columns})"))]).unwrap();
        for way in WAYS {
            let mut prepare = |sql: &str, params: &[Type], columns: &[Type]| {
                wire.prepare(&mut *connection, sql, params, columns, way).unwrap()
            };
            let numbered = [&[Type::Int32], ALL].concat();
            let insert = prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &numbered, &[]);
            let select = prepare("SELECT a, b, c, d, e, f, g FROM t ORDER BY n", &[], ALL);
            let echo = "SELECT ?, ?, ?, ?, ?, ?, ?";
            // MySQL gives parameters other types than MariaDB.
            let echo = (!server.is_mysql()).then(|| prepare(echo, ALL, ALL));
            connection.script(&["TRUNCATE t"]).unwrap();
            let mut rows = Rows::new();
            for (at, sample) in (0..).zip(&samples) {
                let row = [&[Value::Int(at)], &sample[..]].concat();
                assert_eq!(connection.execute(insert, &row).unwrap(), 1);
            }
            for sample in samples.iter().chain(&samples) {
                if let Some(echo) = echo {
                    connection.query(echo, sample, &mut rows).unwrap();
                    check(&rows, &[*sample]);
                }
            }
            for _ in 0..2 {
                connection.query(select, &[], &mut rows).unwrap();
                check(&rows, &samples);
            }
        }
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

fn the_server_reads_the_values_as_they_are_meant(wire: Wire) {
    // A decimal without a scale of the column has that of the value.
    let decimal = wire.either("numeric", "decimal(30, 19)");
    let create = wire.sql(&format!("CREATE TABLE t (a {decimal}, b TIME, c double precision, d varchar(20))"));
    let params = [Type::Decimal(2), Type::Timestamp, Type::Float64, Type::Text];
    let mut cases = vec![
        (
            ((-1, 2), 0, 0.5, "grün"),
            wire.either(
                ["-0.01", "1970-01-01 00:00:00", "0.5", "4"],
                ["-0.0100000000000000000", "1970-01-01 00:00:00.000000", "0.5", "4"],
            ),
        ),
        (
            ((i64::MIN, 19), -1, -1e300, "🦀"),
            ["-0.9223372036854775808", "1969-12-31 23:59:59.999999", wire.either("-1e+300", "-1e300"), "1"],
        ),
        (
            ((5, 0), 951_782_400_000_000, 1e20, ""),
            wire.either(
                ["5", "2000-02-29 00:00:00", "1e+20", "0"],
                ["5.0000000000000000000", "2000-02-29 00:00:00.000000", "1e20", "0"],
            ),
        ),
    ];
    if wire == Wire::Postgres {
        let infinite = ["10000.00", "1970-01-01 00:00:01.000001", "Infinity", "1"];
        cases.push((((1_000_000, 2), 1_000_001, f64::INFINITY, "x"), infinite));
    }
    for server in wire.servers(&[]) {
        let mut connection = server.connect();
        connection.script(&[&create]).unwrap();
        for way in WAYS {
            let insert = "INSERT INTO t VALUES (?, ?, ?, ?)";
            let insert = wire.prepare(&mut *connection, insert, &params, &[], way).unwrap();
            for ((decimal, time, float, text), expected) in &cases {
                connection.script(&["TRUNCATE t"]).unwrap();
                let decimal = Value::Decimal { unscaled: decimal.0, scale: decimal.1 };
                let row = [decimal, Value::Timestamp(*time), Value::Float(*float), Value::Text(text)];
                connection.execute(insert, &row).unwrap();
                let found = connection.fetch("SELECT a, b, c, char_length(d) FROM t").unwrap();
                assert_eq!(found.rows, [expected.map(|cell| Some(cell.to_owned()))]);
            }
        }
    }
}

fn many_and_long_rows_come_whole(wire: Wire) {
    let sql = wire.either(
        "SELECT i, repeat(chr(97 + i % 26), i * 7 % 30000) FROM generate_series(1, 5000) i WHERE i <= ?",
        "SELECT seq, repeat(char(97 + seq % 26 USING utf8mb4), seq * 7 % 30000) FROM mysql.seq_1_to_5000 WHERE seq <= ?",
    );
    let server = Server::start(&wire.product(), wire.either(&[], &["--max-allowed-packet=64M"]));
    let mut connection = server.connect();
    for way in WAYS {
        let both = [Type::Int64, Type::Text];
        let id = wire.prepare(&mut *connection, sql, &[Type::Int32], &both, way).unwrap();
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

        // Longer than a packet of MySQL's, there and back; the first byte of such a row looks like an end.
        let long = "x".repeat(17_000_000);
        let echo = [Type::Text, Type::Int64];
        let echo = wire.prepare(&mut *connection, "SELECT ?, 5", &[Type::Text], &echo, way).unwrap();
        for text in [&long[..], "short", &long[..16_777_200]] {
            connection.query(echo, &[Value::Text(text)], &mut rows).unwrap();
            assert!(rows.text(0, 0).unwrap() == text && rows.int(0, 1).unwrap() == 5);
        }
    }
}

/// Statements whose columns were declared wrongly; and such that show it where they are not prepared, too.
type Declared = (&'static str, &'static [Type]);
const OF_POSTGRES: (&[Declared], &[Declared]) = (
    &[
        ("SELECT 1::float8", &[Type::Int64]),
        ("SELECT 1::int8", &[Type::Float64]),
        ("SELECT sum(x::int8) FROM (VALUES (1)) v (x)", &[Type::Int64]),
        ("SELECT 1, 2", &[Type::Int32]),
        ("SELECT 1", &[Type::Int32, Type::Int32]),
        ("SELECT '\\xff'::bytea", &[Type::Text]),
        ("SET work_mem = '1MB'", &[Type::Int32]),
    ],
    &[
        ("SELECT 1, 2", &[Type::Int32]),
        ("SELECT 1::bool", &[Type::Int32]),
        ("SELECT 1.005", &[Type::Decimal(2)]),
        ("SELECT 'NaN'::numeric", &[Type::Decimal(2)]),
        ("SELECT 'infinity'::timestamp", &[Type::Timestamp]),
    ],
);
const OF_MYSQL: (&[Declared], &[Declared]) = (
    &[
        ("SELECT 1e0", &[Type::Int64]),
        ("SELECT 1", &[Type::Float64]),
        ("SELECT 1, 1e0, 'a'", &[Type::Int64, Type::Int64, Type::Int64]),
        ("SELECT sum(1)", &[Type::Int64]),
        ("SELECT 1, 2", &[Type::Int32]),
        ("SELECT 1", &[Type::Int32, Type::Int32]),
        ("SELECT 18446744073709551615", &[Type::Int64]),
        ("SELECT 1.005", &[Type::Decimal(2)]),
        ("SELECT CURRENT_DATE", &[Type::Timestamp]),
        ("SELECT CAST('0000-00-00' AS DATETIME)", &[Type::Int64]),
        ("SELECT x'ff'", &[Type::Text]),
    ],
    &[
        ("SELECT 1, 2", &[Type::Int32]),
        ("SELECT 'x'", &[Type::Int32]),
        ("SELECT 1.005", &[Type::Decimal(2)]),
        ("SELECT x'ff'", &[Type::Text]),
    ],
);

fn what_was_declared_wrongly_is_an_error_and_the_session_goes_on(wire: Wire) {
    let (prepared, plain) = wire.either(OF_POSTGRES, OF_MYSQL);
    for server in wire.servers(&[]) {
        let mut connection = server.connect();
        let mut rows = Rows::new();
        let mut fails = |connection: &mut dyn Connection, sql: &str, columns: &[Type], way| -> Result<Error, Error> {
            let id = connection.prepare(&Statement { sql, params: &[], columns }, way)?;
            // Again and again: what the server has described once it may leave out later.
            let first = connection.query(id, &[], &mut rows).unwrap_err();
            assert_eq!(connection.query(id, &[], &mut rows).unwrap_err().kind, first.kind);
            Ok(first)
        };
        for (cases, way) in [(prepared, Prepare::Once), (plain, Prepare::Never)] {
            for (sql, columns) in cases {
                let found = fails(&mut *connection, sql, columns, way);
                // PostgreSQL says it when a statement is prepared, and only then.
                let early = wire == Wire::Postgres && way == Prepare::Once;
                assert!(found.is_err() == early || wire == Wire::Mysql, "{sql}: {found:?}");
                let error = found.unwrap_or_else(|error| error);
                assert_eq!(error.kind, ErrorKind::Statement, "{sql}: {error}");
            }
        }
        let id = wire.prepare(&mut *connection, "SELECT 5", &[], &[Type::Int32], Prepare::Once).unwrap();
        connection.query(id, &[], &mut rows).unwrap();
        assert_eq!(rows.int(0, 0).unwrap(), 5);
        assert!(connection.query(id, &[Value::Int(1)], &mut rows).is_err(), "too many parameters");
    }
}

#[test]
fn columns_of_mysql_of_every_width_are_read() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect();
        connection
            .script(&[
                "CREATE TABLE t (a tinyint, b tinyint unsigned, c smallint unsigned, d mediumint, e int unsigned, \
                 f bigint unsigned, g year, h float, i char(5), j enum('x', 'y'), k timestamp(3), l datetime, m json)",
                "INSERT INTO t VALUES (-128, 255, 65535, -8388608, 4294967295, 9223372036854775807, 2026, 0.5, 'ab', \
                 'y', '2000-01-01 00:00:00.125', '2000-01-01 00:00:01', '[1]')",
            ])
            .unwrap();
        let columns = &[
            [Type::Int64; 7].as_slice(),
            &[Type::Float64, Type::Text, Type::Text, Type::Timestamp, Type::Timestamp, Type::Text],
        ]
        .concat();
        let expected: Vec<Value<'_>> = [-128, 255, 65_535, -8_388_608, 4_294_967_295, i64::MAX, 2026]
            .map(Value::Int)
            .into_iter()
            .chain([
                Value::Float(0.5),
                Value::Text("ab"),
                Value::Text("y"),
                Value::Timestamp(946_684_800_125_000),
                Value::Timestamp(946_684_801_000_000),
                Value::Text("[1]"),
            ])
            .collect();
        let mut rows = Rows::new();
        for way in WAYS {
            let select = Statement { sql: "SELECT * FROM t", params: &[], columns };
            let select = connection.prepare(&select, way).unwrap();
            connection.query(select, &[], &mut rows).unwrap();
            let found: Vec<Value<'_>> = (0..13).map(|at| rows.get(0, at).unwrap()).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_table_of_mysql_that_changes_under_a_prepared_statement_is_read_as_it_is() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect();
        connection.script(&["CREATE TABLE t (a int)", "INSERT INTO t VALUES (7)"]).unwrap();
        let select = Statement { sql: "SELECT a FROM t", params: &[], columns: &[Type::Int64] };
        let select = connection.prepare(&select, Prepare::Once).unwrap();
        let mut rows = Rows::new();
        for column in ["int", "bigint", "tinyint unsigned", "smallint"] {
            connection.script(&[&format!("ALTER TABLE t MODIFY a {column}")]).unwrap();
            for _ in 0..2 {
                connection.query(select, &[], &mut rows).unwrap();
                assert_eq!(rows.int(0, 0).unwrap(), 7, "{column}");
            }
        }
    }
}
