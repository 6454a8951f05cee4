//! COPY: many rows, rows that fail here and there, and that the session goes on.

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::server::Server;

const COLUMNS: &[(&str, Type)] =
    &[("a", Type::Int32), ("b", Type::Decimal(2)), ("c", Type::Text), ("d", Type::Timestamp), ("e", Type::Int64)];

/// Rows 0, 1, 2 … up to `end`; row `bad` is one that is refused.
struct Numbers {
    next: i64,
    end: i64,
    bad: Option<(i64, Bad)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Bad {
    /// The source itself fails.
    Source,
    /// The source fails, after a row that does not fit was refused.
    Hidden,
    /// A value does not fit its declared type.
    Value,
    /// A value is missing.
    Width,
    /// The server finds the key there already.
    Key,
}

fn numbers(end: i64) -> Numbers {
    Numbers { next: 0, end, bad: None }
}

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            return Ok(false);
        }
        let n = self.next;
        self.next += 1;
        let text = ["", "tab\tand\\N", "grün", "a longer text of several words"][n as usize % 4];
        let mut row = [
            Value::Int(n),
            Value::Decimal { unscaled: n * 7 - 100, scale: 2 },
            Value::Text(text),
            Value::Timestamp(n * 1_000_003),
            if n % 3 == 0 { Value::Null } else { Value::Int(-n) },
        ];
        match self.bad.filter(|(at, _)| *at == n) {
            Some((_, Bad::Source)) => return Err(Error::with(ErrorKind::Setup, "test", "no more rows")),
            Some((_, Bad::Value | Bad::Hidden)) => row[0] = Value::Int(1 << 40),
            Some((_, Bad::Key)) => row[0] = Value::Int(0),
            Some((_, Bad::Width)) => return emit(&row[1..]).map(|()| true),
            None => {}
        }
        match emit(&row) {
            // A source that does not pass the error on must not hide it.
            Err(_) if self.bad.is_some_and(|(_, bad)| bad == Bad::Hidden) => Ok(true),
            done => done.map(|()| true),
        }
    }
}

const CREATE: &str = "CREATE TABLE t (a int, b numeric(12, 2), c text, d timestamp, e bigint)";

fn count(connection: &mut dyn Connection) -> String {
    connection.fetch("SELECT count(*) FROM t").unwrap().rows[0][0].clone().unwrap()
}

#[test]
fn a_hundred_thousand_rows_arrive_as_they_were_made() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&[CREATE]).unwrap();
    let loaded = connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(100_000)).unwrap();
    assert_eq!(loaded, 100_000);
    let wrong = "SELECT count(*), count(*) FILTER (WHERE b <> a * 0.07 - 1 \
        OR c <> (ARRAY['', E'tab\\tand\\\\N', 'grün', 'a longer text of several words'])[a % 4 + 1] \
        OR d <> timestamp 'epoch' + a * interval '1.000003 s' OR e IS DISTINCT FROM CASE WHEN a % 3 > 0 THEN -a END), \
        count(DISTINCT a), max(a) FROM t";
    let found = connection.fetch(wrong).unwrap().rows;
    assert_eq!(found, [["100000", "0", "100000", "99999"].map(|text| Some(text.to_owned()))]);
    assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(0)).unwrap(), 0);
}

#[test]
fn rows_that_fail_here_leave_nothing_behind() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&[CREATE]).unwrap();
    for (bad, kind) in [
        (Bad::Source, ErrorKind::Setup),
        (Bad::Value, ErrorKind::Statement),
        (Bad::Hidden, ErrorKind::Statement),
        (Bad::Width, ErrorKind::Statement),
    ] {
        for at in [0, 10, 50_000] {
            let mut source = Numbers { bad: Some((at, bad)), ..numbers(60_000) };
            let error = connection.bulk().unwrap().load("t", COLUMNS, &mut source).unwrap_err();
            assert_eq!((error.kind, source.next), (kind, at + 1), "{error}");
            assert_eq!(count(&mut *connection), "0");
        }
    }
    assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(10)).unwrap(), 10);
}

#[test]
fn rows_that_the_server_refuses_end_the_load_early() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&[CREATE, "CREATE UNIQUE INDEX ON t (a)"]).unwrap();
    for (at, end) in [(5, 10), (5, 20_000_000)] {
        let mut source = Numbers { bad: Some((at, Bad::Key)), ..numbers(end) };
        let error = connection.bulk().unwrap().load("t", COLUMNS, &mut source).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::DuplicateKey, "23505"), "{error}");
        assert!(source.next < 20_000_000, "the source was asked for all rows of a load that had failed");
        assert_eq!(count(&mut *connection), "0");
    }
    assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(10)).unwrap(), 10);
}

#[test]
fn a_load_that_cannot_begin_is_an_error() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&[CREATE]).unwrap();
    let mut load =
        |table: &str, columns| connection.bulk().unwrap().load(table, columns, &mut numbers(1)).unwrap_err().kind;
    assert_eq!(load("nowhere", COLUMNS), ErrorKind::Syntax);
    assert_eq!(load("t", &[("z", Type::Int32)]), ErrorKind::Syntax);
    assert_eq!(count(&mut *connection), "0");
    // Binary COPY takes a value of the width of its column only.
    let mut row = Numbers { bad: None, ..numbers(1) };
    let wide: &[_] = &[("a", Type::Int64), COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4]];
    let error = connection.bulk().unwrap().load("t", wide, &mut row).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "22P03"), "{error}");
}

#[test]
fn a_load_in_a_transaction_is_part_of_it() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&[CREATE]).unwrap();
    connection.begin().unwrap();
    assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(1000)).unwrap(), 1000);
    connection.rollback().unwrap();
    assert_eq!(count(&mut *connection), "0");
    connection.begin().unwrap();
    connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(1000)).unwrap();
    connection.commit().unwrap();
    assert_eq!(count(&mut *connection), "1000");
    connection
        .script(&[
            "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
            "CREATE TRIGGER skip BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION skip()",
        ])
        .unwrap();
    let error = connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(10)).unwrap_err();
    assert!(error.to_string().contains("10 rows were sent, but the server counted 0"), "{error}");
}
