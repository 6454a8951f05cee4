//! Bulk load: many rows, rows that fail here and there, and that the session goes on; by COPY, by LOAD DATA and,
//! where the server does not take that, by INSERTs.

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use crate::server::Server;
use crate::{cell, Wire};

for_both!(
    a_hundred_thousand_rows_arrive_as_they_were_made,
    rows_that_fail_here_leave_nothing_behind,
    rows_that_the_server_refuses_leave_nothing_behind,
    a_load_that_cannot_begin_is_an_error,
    a_load_in_a_transaction_is_part_of_it,
);

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
    wire: Wire,
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

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            return Ok(false);
        }
        let n = self.next;
        self.next += 1;
        // PostgreSQL's texts have no zeros.
        let crab = self.wire.either("grün 🦀\r\n", "grün 🦀\0\r\n");
        let text = ["", "tab\tand\\N", crab, "a longer 'text' of \"several\" words"][n as usize % 4];
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

/// A session on the table `t`, and its server.
struct Loading {
    wire: Wire,
    connection: Box<dyn Connection>,
    _server: Server,
}

impl Loading {
    /// On servers that take lines, and such that take INSERTs only.
    fn everywhere(wire: Wire) -> Vec<Self> {
        let options: &[&[&str]] = wire.either(&[&[]], &[&["--local-infile=ON"], &["--local-infile=OFF"]]);
        let servers = options.iter().flat_map(|options| wire.servers(options));
        let collated = wire.either("", "COLLATE utf8mb4_bin");
        let create = format!(
            "CREATE TABLE t (a int, b decimal(12, 2), c varchar(40) {collated}, d TIME, e bigint, f double precision)"
        );
        let on = |server: Server| {
            let mut connection = server.connect();
            connection.script(&[&wire.sql(&create)]).unwrap();
            Self { wire, connection, _server: server }
        };
        servers.map(on).collect()
    }

    fn load(&mut self, end: i64) -> Result<u64> {
        self.load_with(end, None).0
    }

    /// Gives the source's next row, too.
    fn load_with(&mut self, end: i64, bad: Option<(i64, Bad)>) -> (Result<u64>, i64) {
        let mut source = Numbers { wire: self.wire, next: 0, end, bad };
        (self.connection.bulk().unwrap().load("t", COLUMNS, &mut source), source.next)
    }

    fn count(&mut self) -> String {
        cell(&mut *self.connection, "SELECT count(*) FROM t")
    }
}

fn a_hundred_thousand_rows_arrive_as_they_were_made(wire: Wire) {
    let wrong = wire.either(
        "SELECT count(*), count(*) FILTER (WHERE b <> a * 0.07 - 1 OR c <> (ARRAY['', E'tab\\tand\\\\N', \
         E'grün 🦀\\r\\n', 'a longer ''text'' of \"several\" words'])[a % 4 + 1] \
         OR d <> timestamp 'epoch' + a * interval '1.000003 s' OR e IS DISTINCT FROM CASE WHEN a % 3 > 0 THEN -a END \
         OR f <> a / 3::float8), count(DISTINCT a), max(a) FROM t",
        "SELECT count(*), sum(b <> a * 0.07 - 1 \
         OR NOT c <=> elt(a % 4 + 1, '', 'tab\\tand\\\\N', 'grün 🦀\\0\\r\\n', 'a longer ''text'' of \"several\" words') \
         OR d <> timestamp'1970-01-01 00:00:00' + INTERVAL a * 1000003 MICROSECOND \
         OR NOT e <=> if(a % 3 > 0, -a, NULL) OR f <> a / 3e0), count(DISTINCT a), max(a) FROM t",
    );
    for mut on in Loading::everywhere(wire) {
        assert_eq!(on.load(100_000).unwrap(), 100_000);
        let found = on.connection.fetch(wrong).unwrap().rows;
        assert_eq!(found, [["100000", "0", "100000", "99999"].map(|text| Some(text.to_owned()))]);
        assert_eq!(on.load(0).unwrap(), 0);
        assert_eq!(on.count(), "100000");
    }
}

fn rows_that_fail_here_leave_nothing_behind(wire: Wire) {
    for mut on in Loading::everywhere(wire) {
        for (bad, kind) in [
            (Bad::Source, ErrorKind::Setup),
            (Bad::Value, ErrorKind::Statement),
            (Bad::Hidden, ErrorKind::Statement),
            (Bad::Width, ErrorKind::Statement),
        ] {
            for at in [0, 10, 50_000] {
                let (found, next) = on.load_with(60_000, Some((at, bad)));
                let error = found.unwrap_err();
                assert_eq!((error.kind, next), (kind, at + 1), "{error}");
                assert_eq!(on.count(), "0");
            }
        }
        assert_eq!(on.load(10).unwrap(), 10);
    }
}

fn rows_that_the_server_refuses_leave_nothing_behind(wire: Wire) {
    // PostgreSQL says so at once, and the load ends early.
    let ends = wire.either([10, 20_000_000], [10, 30_000]);
    for mut on in Loading::everywhere(wire) {
        on.connection.script(&["ALTER TABLE t ADD UNIQUE (a)"]).unwrap();
        for (bad, kind, codes) in [
            (Bad::Key, ErrorKind::DuplicateKey, wire.either("23505", "1062")),
            (Bad::Long, ErrorKind::Statement, wire.either("22001", "1406 1265")),
        ] {
            for end in ends {
                let (found, next) = on.load_with(end, Some((5, bad)));
                let error = found.unwrap_err();
                assert_eq!(error.kind, kind, "{error}");
                assert!(codes.contains(error.code.as_str()), "{error}");
                assert!(next < 20_000_000, "the source was asked for all rows of a load that had failed");
                assert_eq!(on.count(), "0");
            }
        }
        assert_eq!(on.load(10).unwrap(), 10);
    }
}

fn a_load_that_cannot_begin_is_an_error(wire: Wire) {
    for mut on in Loading::everywhere(wire) {
        let mut load = |table: &str, columns: &[_]| {
            let mut row = Numbers { wire, next: 0, end: 1, bad: None };
            on.connection.bulk().unwrap().load(table, columns, &mut row).unwrap_err()
        };
        assert_eq!(load("nowhere", COLUMNS).kind, ErrorKind::Syntax);
        let unknown = [&COLUMNS[..5], &[("z", Type::Float64)]].concat();
        assert_eq!(load("t", &unknown).kind, ErrorKind::Syntax);
        if wire == Wire::Postgres {
            // Binary COPY takes a value of the width of its column only.
            let error = load("t", &[&[("a", Type::Int64)], &COLUMNS[1..]].concat());
            assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "22P03"), "{error}");
        }
        assert_eq!(on.count(), "0");
    }
}

fn a_load_in_a_transaction_is_part_of_it(wire: Wire) {
    for mut on in Loading::everywhere(wire) {
        on.connection.begin().unwrap();
        assert_eq!(on.load(1000).unwrap(), 1000);
        on.connection.rollback().unwrap();
        assert_eq!(on.count(), "0");
        on.connection.begin().unwrap();
        on.load(1000).unwrap();
        on.connection.commit().unwrap();
        assert_eq!(on.count(), "1000");
        on.connection.begin().unwrap();
        on.load_with(1000, Some((500, Bad::Source))).0.unwrap_err();
        assert_eq!(on.connection.commit().unwrap_err().kind, ErrorKind::Statement, "half a load is not committed");
        on.connection.rollback().unwrap();
        assert_eq!(on.count(), "1000");
    }
}

#[test]
fn rows_that_postgres_passes_over_are_an_error() {
    for mut on in Loading::everywhere(Wire::Postgres) {
        let skip = [
            "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
            "CREATE TRIGGER skip BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION skip()",
        ];
        on.connection.script(&skip).unwrap();
        let error = on.load(10).unwrap_err();
        assert!(format!("{error:#}").contains("10 rows were sent, but the server counted 0"), "{error}");
    }
}
