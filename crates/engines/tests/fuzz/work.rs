//! What a client does in a session: every verb, every type, and errors that do not end it.

use dsbench_core::engine::{BulkLoad, Connection, Engine, Isolation, Prepare, RowSource, Session, Statement};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Rows, Type, Value};

use super::mutator::Framing;

const SESSION: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

const COLUMNS: &[(&str, Type)] = &[
    ("a", Type::Int16),
    ("b", Type::Int32),
    ("c", Type::Int64),
    ("d", Type::Float64),
    ("e", Type::Decimal(2)),
    ("f", Type::Text),
    ("g", Type::Timestamp),
];
const TYPES: [Type; 7] =
    [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(2), Type::Text, Type::Timestamp];

/// SQL that the two protocols do not share.
struct Words {
    set_up: &'static [&'static str],
    insert: &'static str,
    select: &'static str,
    call: &'static str,
    /// Wants rows, or a file, of a client that has none.
    copy: &'static str,
    /// The server's codes for a row that is there already, and for a word that it does not know.
    codes: [&'static str; 2],
}

const POSTGRES: Words = Words {
    set_up: &[
        "DROP TABLE IF EXISTS fuzzed",
        "CREATE TABLE fuzzed (a smallint, b int PRIMARY KEY, c bigint, d float, e numeric(12,2), f text, g timestamp)",
        "SET application_name = 'fuzz'",
        "CREATE OR REPLACE FUNCTION fuzz() RETURNS int LANGUAGE plpgsql AS \
         $$ BEGIN RAISE NOTICE 'called'; RETURN 5; END $$",
    ],
    insert: "INSERT INTO fuzzed VALUES ($1, $2, $3, $4, $5, $6, $7)",
    select: "SELECT a, b, c, d, e, f, g FROM fuzzed WHERE b > $1 ORDER BY b",
    call: "SELECT fuzz()",
    copy: "COPY fuzzed FROM STDIN",
    codes: ["23505", "42601"],
};

const MYSQL: Words = Words {
    set_up: &[
        "CREATE DATABASE IF NOT EXISTS fuzz",
        "USE fuzz",
        "DROP TABLE IF EXISTS fuzzed",
        "CREATE TABLE fuzzed (a smallint, b int PRIMARY KEY, c bigint, d double, e decimal(12,2), f text, g datetime(6))",
        "DROP PROCEDURE IF EXISTS fuzz",
        "CREATE PROCEDURE fuzz() BEGIN SELECT 5; SELECT 6; END",
    ],
    insert: "INSERT INTO fuzzed VALUES (?, ?, ?, ?, ?, ?, ?)",
    select: "SELECT a, b, c, d, e, f, g FROM fuzzed WHERE b > ? ORDER BY b",
    call: "CALL fuzz()",
    copy: "LOAD DATA LOCAL INFILE 'none' INTO TABLE fuzzed",
    codes: ["1062", "1064"],
};

/// Two rows and one of NULL.
fn row(number: i64) -> [Value<'static>; 7] {
    let text = Value::Text(if number == 1 { "grün" } else { LONG });
    match number {
        1 | 2 => [
            Value::Int(-1),
            Value::Int(number),
            Value::Int(i64::MAX),
            Value::Float(0.5),
            Value::Decimal { unscaled: -1250, scale: 2 },
            text,
            Value::Timestamp(1_700_000_000_123_456),
        ],
        _ => [Value::Null, Value::Int(number), Value::Null, Value::Null, Value::Null, Value::Null, Value::Null],
    }
}

/// Long enough for a length of three bytes.
const LONG: &str = match std::str::from_utf8(&[b'x'; 300]) {
    Ok(text) => text,
    Err(_) => "",
};

struct Source(i64);

impl RowSource for Source {
    fn next_row(&mut self, take: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        self.0 += 1;
        if self.0 < 4 {
            take(&row(self.0))?;
        }
        Ok(self.0 < 4)
    }
}

/// Does all of it; gives the errors that a server which works would not have led to.
pub fn session(engine: &dyn Engine, framing: Framing) -> Vec<Error> {
    let words = match framing {
        Framing::Postgres => &POSTGRES,
        Framing::Mysql => &MYSQL,
    };
    let mut errors = Errors(Vec::new());
    match engine.connect(SESSION) {
        Ok(mut connection) => work(&mut *connection, words, &mut errors),
        Err(error) => errors.0.push(error),
    }
    errors.0
}

struct Errors(Vec<Error>);

impl Errors {
    fn keep<T>(&mut self, done: Result<T>) -> Option<T> {
        done.map_err(|error| self.0.push(error)).ok()
    }

    /// An error with this code is right.
    fn refused<T>(&mut self, done: Result<T>, code: &str) {
        if let Err(error) = done {
            if error.code.as_str() != code {
                self.0.push(error);
            }
        }
    }
}

fn work(connection: &mut dyn Connection, words: &Words, errors: &mut Errors) {
    errors.keep(connection.script(words.set_up));
    if let Some(bulk) = connection.bulk() {
        errors.keep(load(bulk));
    }
    for when in [Prepare::Once, Prepare::Never] {
        prepared(connection, words, when, errors);
    }
    errors.refused(connection.script(&["SELEKT 1"]), words.codes[1]);
    errors.keep(connection.fetch("SELECT * FROM fuzzed"));
    errors.keep(connection.fetch(words.call));
    // The error is ours and has no code.
    errors.refused(connection.script(&[words.copy]), "");
    errors.keep(connection.script(&["DROP TABLE fuzzed"]));
}

fn load(bulk: &mut dyn BulkLoad) -> Result<u64> {
    bulk.load("fuzzed", COLUMNS, &mut Source(0))
}

fn prepared(connection: &mut dyn Connection, words: &Words, when: Prepare, errors: &mut Errors) {
    let insert = Statement { sql: words.insert, params: &TYPES, columns: &[] };
    let select = Statement { sql: words.select, params: &[Type::Int32], columns: &TYPES };
    let Some(insert) = errors.keep(connection.prepare(&insert, when)) else { return };
    let Some(select) = errors.keep(connection.prepare(&select, when)) else { return };
    let mut rows = Rows::new();
    errors.keep(connection.begin());
    errors.keep(connection.execute(insert, &row(if when == Prepare::Once { 4 } else { 5 })));
    for above in [0, 0, 3] {
        errors.keep(connection.query(select, &[Value::Int(above)], &mut rows));
        for at in 0..rows.len() {
            errors.keep((0..rows.width()).try_for_each(|column| rows.get(at, column).map(drop)));
        }
    }
    errors.keep(connection.commit());
    errors.keep(connection.begin());
    errors.refused(connection.execute(insert, &row(1)), words.codes[0]);
    errors.keep(connection.rollback());
}
