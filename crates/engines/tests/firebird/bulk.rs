//! Bulk loads.

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use crate::bed::{cell, Bed, LOAD};

/// Rows (from, 'row from') … up to `to`, excluded; then an error when `fails`.
struct Numbers {
    next: i64,
    to: i64,
    fails: bool,
}

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.to {
            return if self.fails { Err(Error::configuration("enough")) } else { Ok(false) };
        }
        let text = format!("row {}", self.next);
        let odd = self.next % 2 == 1;
        emit(&[Value::Int(self.next), if odd { Value::Null } else { Value::Text(&text) }])?;
        self.next += 1;
        Ok(true)
    }
}

const COLUMNS: [(&str, Type); 2] = [("k", Type::Int64), ("v", Type::Text)];

fn load(conn: &mut dyn Connection, next: i64, to: i64, fails: bool) -> Result<u64> {
    conn.bulk().unwrap().load("b", &COLUMNS, &mut Numbers { next, to, fails })
}

#[test]
fn bulk_loads_are_whole_or_nothing() {
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(LOAD).unwrap();
        conn.script(&["CREATE TABLE b (k BIGINT NOT NULL PRIMARY KEY, v VARCHAR(20))"]).unwrap();
        // None, less than a batch, whole batches, and some more.
        for (from, to) in [(0, 0), (0, 1), (1, 100), (100, 100 + 2560), (10_000, 15_000)] {
            assert_eq!(load(&mut *conn, from, to, false).unwrap(), (to - from) as u64);
        }
        let rows = "SELECT count(*) || ' ' || sum(k) || ' ' || count(v) FROM b";
        let expected: i64 = (0..2660).chain(10_000..15_000).sum();
        let expected = format!("7660 {expected} 3830");
        assert_eq!(cell(&mut *conn, rows), expected);
        assert_eq!(cell(&mut *conn, "SELECT count(*) FROM b WHERE v = 'row ' || k"), "3830");
        assert_eq!(load(&mut *conn, 20_000, 21_000, true).unwrap_err().kind, ErrorKind::Configuration);
        assert_eq!(load(&mut *conn, 14_990, 16_000, false).unwrap_err().kind, ErrorKind::DuplicateKey);
        assert_eq!(cell(&mut *conn, rows), expected, "and nothing of these is there");
        let long = conn.bulk().unwrap().load("b", &[("v", Type::Text)], &mut Numbers { next: 0, to: 1, fails: false });
        assert_eq!(long.unwrap_err().kind, ErrorKind::Statement, "a row of two values for one column");
        conn.begin().unwrap();
        assert_eq!(load(&mut *conn, 0, 0, false).unwrap_err().kind, ErrorKind::Statement);
    }
}

#[test]
fn several_load_at_the_same_time() {
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(LOAD).unwrap();
        conn.script(&["CREATE TABLE b (k BIGINT NOT NULL, v VARCHAR(20))"]).unwrap();
        std::thread::scope(|scope| {
            for part in 0..4 {
                let mut other = engine.connect(LOAD).unwrap();
                scope.spawn(move || load(&mut *other, part * 3000, (part + 1) * 3000, false).unwrap());
            }
        });
        assert_eq!(cell(&mut *conn, "SELECT count(*) FROM b"), "12000");
        conn.script(&["ALTER TABLE b ADD CONSTRAINT b_key PRIMARY KEY (k)"]).unwrap();
    }
}
