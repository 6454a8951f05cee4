//! Bulk load: many rows, rows that fail here and there, and that the session goes on; by LOAD DATA
//! and, where the server does not take that, by INSERTs.

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::server::Server;

const COLUMNS: &[(&str, Type)] = &[
    ("a", Type::Int32),
    ("b", Type::Decimal(2)),
    ("c", Type::Text),
    ("d", Type::Timestamp),
    ("e", Type::Int64),
    ("f", Type::Float64),
];

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
    /// The server finds the text too long for its column.
    Long,
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
        let text = ["", "tab\tand\\N", "grün 🦀\0\r\n", "a longer 'text' of \"several\" words"][n as usize % 4];
        let mut row = [
            Value::Int(n),
            Value::Decimal { unscaled: n * 7 - 100, scale: 2 },
            Value::Text(text),
            Value::Timestamp(n * 1_000_003),
            if n % 3 == 0 { Value::Null } else { Value::Int(-n) },
            Value::Float(n as f64 / 3.0),
        ];
        match self.bad.filter(|(at, _)| *at == n) {
            Some((_, Bad::Source)) => return Err(Error::with(ErrorKind::Setup, "test", "no more rows")),
            Some((_, Bad::Value | Bad::Hidden)) => row[0] = Value::Int(1 << 40),
            Some((_, Bad::Key)) => row[0] = Value::Int(0),
            Some((_, Bad::Long)) => row[2] = Value::Text("a text of more than forty characters, which is too long"),
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

const CREATE: &str = "CREATE TABLE t (a int, b decimal(12, 2), c varchar(40) COLLATE utf8mb4_bin, d datetime(6), \
    e bigint, f double)";

/// Servers that take lines, and such that take INSERTs only.
fn servers() -> Vec<Server> {
    ["--local-infile=ON", "--local-infile=OFF"].into_iter().flat_map(|option| Server::of_both(&[option])).collect()
}

fn count(connection: &mut dyn Connection) -> String {
    connection.fetch("SELECT count(*) FROM t").unwrap().rows[0][0].clone().unwrap()
}

#[test]
fn a_hundred_thousand_rows_arrive_as_they_were_made() {
    for server in servers() {
        let mut connection = server.connect_to_test();
        connection.script(&[CREATE]).unwrap();
        let loaded = connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(100_000)).unwrap();
        assert_eq!(loaded, 100_000);
        let wrong = "SELECT count(*), sum(b <> a * 0.07 - 1 \
            OR NOT c <=> elt(a % 4 + 1, '', 'tab\\tand\\\\N', 'grün 🦀\\0\\r\\n', 'a longer ''text'' of \"several\" words') \
            OR d <> timestamp'1970-01-01 00:00:00' + INTERVAL a * 1000003 MICROSECOND \
            OR NOT e <=> if(a % 3 > 0, -a, NULL) OR f <> a / 3e0), count(DISTINCT a), max(a) FROM t";
        let found = connection.fetch(wrong).unwrap().rows;
        assert_eq!(found, [["100000", "0", "100000", "99999"].map(|text| Some(text.to_owned()))]);
        assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(0)).unwrap(), 0);
        assert_eq!(count(&mut *connection), "100000");
    }
}

#[test]
fn rows_that_fail_here_leave_nothing_behind() {
    for server in servers() {
        let mut connection = server.connect_to_test();
        connection.script(&[CREATE]).unwrap();
        for (bad, kind) in [
            (Bad::Source, ErrorKind::Setup),
            (Bad::Value, ErrorKind::Statement),
            (Bad::Hidden, ErrorKind::Statement),
            (Bad::Width, ErrorKind::Statement),
        ] {
            for at in [0, 10, 30_000] {
                let mut source = Numbers { bad: Some((at, bad)), ..numbers(60_000) };
                let error = connection.bulk().unwrap().load("t", COLUMNS, &mut source).unwrap_err();
                assert_eq!((error.kind, source.next), (kind, at + 1), "{error}");
                assert_eq!(count(&mut *connection), "0");
            }
        }
        assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(10)).unwrap(), 10);
    }
}

#[test]
fn rows_that_the_server_refuses_leave_nothing_behind() {
    for server in servers() {
        let mut connection = server.connect_to_test();
        connection.script(&[CREATE, "ALTER TABLE t ADD UNIQUE KEY (a)"]).unwrap();
        for (bad, kind, code) in
            [(Bad::Key, ErrorKind::DuplicateKey, "1062"), (Bad::Long, ErrorKind::Statement, "1406 1265")]
        {
            for end in [10, 30_000] {
                let mut source = Numbers { bad: Some((5, bad)), ..numbers(end) };
                let error = connection.bulk().unwrap().load("t", COLUMNS, &mut source).unwrap_err();
                assert_eq!(error.kind, kind, "{error}");
                assert!(code.contains(error.code.as_str()), "{error}");
                assert_eq!(count(&mut *connection), "0");
            }
        }
        assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(10)).unwrap(), 10);
    }
}

#[test]
fn a_load_that_cannot_begin_is_an_error() {
    for server in servers() {
        let mut connection = server.connect_to_test();
        connection.script(&[CREATE]).unwrap();
        let mut load =
            |table: &str, columns| connection.bulk().unwrap().load(table, columns, &mut numbers(1)).unwrap_err().kind;
        assert_eq!(load("nowhere", COLUMNS), ErrorKind::Syntax);
        let unknown = [COLUMNS[0], COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4], ("z", Type::Float64)];
        assert_eq!(load("t", &unknown), ErrorKind::Syntax);
        assert_eq!(count(&mut *connection), "0");
    }
}

#[test]
fn a_load_in_a_transaction_is_part_of_it() {
    for server in servers() {
        let mut connection = server.connect_to_test();
        connection.script(&[CREATE]).unwrap();
        connection.begin().unwrap();
        assert_eq!(connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(1000)).unwrap(), 1000);
        connection.rollback().unwrap();
        assert_eq!(count(&mut *connection), "0");
        connection.begin().unwrap();
        connection.bulk().unwrap().load("t", COLUMNS, &mut numbers(1000)).unwrap();
        connection.commit().unwrap();
        assert_eq!(count(&mut *connection), "1000");
        connection.begin().unwrap();
        let mut source = Numbers { bad: Some((500, Bad::Source)), ..numbers(1000) };
        connection.bulk().unwrap().load("t", COLUMNS, &mut source).unwrap_err();
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement, "half a load is not committed");
        connection.rollback().unwrap();
        assert_eq!(count(&mut *connection), "1000");
    }
}
