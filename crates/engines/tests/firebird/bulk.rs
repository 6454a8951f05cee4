//! Bulk loads: what the suite of all engines does not ask.

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use crate::bed::{cell, Bed, LOAD};

/// Rows ('row from') … up to `to`, excluded, of two columns.
struct Numbers {
    next: i64,
    to: i64,
}

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.to {
            return Ok(false);
        }
        emit(&[Value::Int(self.next), Value::Text(&format!("row {}", self.next))])?;
        self.next += 1;
        Ok(true)
    }
}

const COLUMNS: [(&str, Type); 2] = [("k", Type::Int64), ("v", Type::Text)];

fn load(conn: &mut dyn Connection, columns: &[(&str, Type)], next: i64, to: i64) -> Result<u64> {
    conn.bulk().unwrap().load("b", columns, &mut Numbers { next, to })
}

#[test]
fn whole_batches_are_loaded_and_what_does_not_fit_is_refused() {
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(LOAD).unwrap();
        conn.script(&["CREATE TABLE b (k BIGINT NOT NULL PRIMARY KEY, v VARCHAR(20))"]).unwrap();
        // Less than a batch, whole batches, and some more.
        for (from, to) in [(1, 100), (100, 100 + 2560), (10_000, 15_000)] {
            assert_eq!(load(&mut *conn, &COLUMNS, from, to).unwrap(), (to - from) as u64);
        }
        assert_eq!(cell(&mut *conn, "SELECT count(*) FROM b WHERE v = 'row ' || k"), "7659");
        let error = load(&mut *conn, &COLUMNS[1..], 0, 1).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "a row of two values for one column");
        conn.begin().unwrap();
        assert_eq!(load(&mut *conn, &COLUMNS, 0, 0).unwrap_err().kind, ErrorKind::Statement);
    }
}
