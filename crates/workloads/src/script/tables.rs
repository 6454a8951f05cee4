//! The tables of pgbench: what its builtin scripts work on.

use dsbench_core::engine::{Connection, Dialect, RowSource};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Condition, Expected, Part, Progress};

use crate::sql::Sections;
use crate::steps::{numbers, of_unknown_end, Counted};

const FILES: &[(&str, &str)] = &[
    ("postgres", concat!(include_str!("postgres.sql"), include_str!("shared.sql"))),
    ("mysql", concat!(include_str!("mysql.sql"), include_str!("shared.sql"))),
    ("firebird", concat!(include_str!("firebird.sql"), include_str!("shared.sql"))),
    ("sqlite", concat!(include_str!("sqlite.sql"), include_str!("shared.sql"))),
    ("mock", concat!(include_str!("sqlite.sql"), include_str!("shared.sql"))),
];

/// From this scale on pgbench gives accounts numbers of 64 bits.
const WIDE: u32 = 20_000;
/// Rows of one transaction of a bulk load.
const CHUNK: u64 = 500_000;
/// The filler of accounts: blanks, as pgbench's empty text becomes in a column of fixed length.
const FILLER: &str = match std::str::from_utf8(&[b' '; 84]) {
    Ok(text) => text,
    Err(_) => "",
};

/// Name, column of the balance, column of the key and rows for each unit of scale of the tables that are filled.
const TABLES: [(&str, &str, &str, u64); 3] = [
    ("pgbench_branches", "bbalance", "bid", 1),
    ("pgbench_tellers", "tbalance", "tid", 10),
    ("pgbench_accounts", "abalance", "aid", 100_000),
];

/// pgbench's tables at one scale on a database of one dialect.
pub(super) struct Tables {
    scale: u32,
    pub(super) sql: Sections,
}

impl Tables {
    pub(super) fn new(scale: u32, dialect: &'static Dialect) -> Result<Self> {
        let wide: &[_] = if scale >= WIDE { &[("{aid}", "bigint")] } else { &[] };
        Ok(Self { scale, sql: Sections::with(dialect, FILES, wide)? })
    }

    pub(super) fn rows(&self) -> u64 {
        TABLES.iter().map(|(.., rows)| rows).sum::<u64>() * u64::from(self.scale)
    }

    /// The first part writes branches and tellers, every part its share of the accounts.
    pub(super) fn populate(&self, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(self.rows());
        for table in TABLES {
            let all = table.3 * u64::from(self.scale);
            let share = match (table.3, part.index) {
                (100_000, _) => part.range(all),
                (_, 0) => 0..all,
                _ => continue,
            };
            for start in share.clone().step_by(CHUNK as usize) {
                let (name, balance, key, rows) = table;
                let int = |name| (name, Type::Int32);
                let key = (key, if self.scale >= WIDE { Type::Int64 } else { Type::Int32 });
                let mut columns = vec![key, int("bid"), int(balance), ("filler", Type::Text)];
                if rows == 1 {
                    columns.remove(1);
                }
                let chunk = start..share.end.min(start + CHUNK);
                let mut source = Source { next: chunk.start, end: chunk.end, rows, counted: Counted::new(progress) };
                let load = conn.bulk().ok_or_else(|| Error::configuration("this engine has no bulk load"))?;
                load.load(name, &columns, &mut source)?;
            }
        }
        Ok(())
    }

    /// What pgbench's own scripts leave: a sum in each table, a row of history for each transaction. `builtin` are the
    /// kinds that write; `tpcb` says that all of them change all three tables.
    pub(super) fn check(
        &self,
        conn: &mut dyn Connection,
        expected: Option<&Expected>,
        builtin: &[u8],
        tpcb: bool,
    ) -> Result<Vec<Condition>> {
        let [bn, bs, tn, ts, an, sum, hn, hs] = numbers(conn, self.sql.one("totals")?)?;
        let scale = i64::from(self.scale);
        let mut found: Vec<Condition> = [("branches", bn, 1), ("tellers", tn, 10), ("accounts", an, 100_000)]
            .map(|(name, rows, each)| equal(&format!("{name} rows"), ("found", rows), ("scale", each * scale)))
            .into();
        found.push(equal("account sum = history sum", ("account", sum), ("history", hs)));
        if tpcb {
            found.push(equal("teller sum = history sum", ("teller", ts), ("history", hs)));
            found.push(equal("branch sum = history sum", ("branch", bs), ("history", hs)));
        }
        if let Some(expected) = expected {
            let ranges = builtin.iter().map(|kind| expected.range(*kind));
            let (low, high) =
                ranges.fold((0_u64, 0_u64), |sum, range| (sum.0 + range.start(), sum.1.saturating_add(*range.end())));
            let rows = u64::try_from(hn).unwrap_or(0);
            let detail = format!("history {rows}, committed {low}{}", of_unknown_end(&(low..=high)));
            let holds = (low..=high).contains(&rows);
            found.push(Condition { name: "history rows = committed transactions".into(), holds, detail });
            let sum = expected.sum("delta").unwrap_or(0);
            if low == high {
                found.push(equal("history sum = sum of the clients", ("history", hs), ("clients", sum)));
            }
        }
        Ok(found)
    }
}

fn equal(name: &str, left: (&str, i64), right: (&str, i64)) -> Condition {
    let detail = format!("{} {}, {} {}", left.0, left.1, right.0, right.1);
    Condition { name: name.into(), holds: left.1 == right.1, detail }
}

/// Rows of one table.
struct Source<'a> {
    next: u64,
    end: u64,
    /// For each unit of scale: says which table it is.
    rows: u64,
    counted: Counted<'a>,
}

impl RowSource for Source<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            self.counted.end()?;
            return Ok(false);
        }
        let (id, branch) = (Value::Int(self.next as i64 + 1), Value::Int((self.next / self.rows) as i64 + 1));
        match self.rows {
            1 => emit(&[id, Value::Int(0), Value::Null])?,
            10 => emit(&[id, branch, Value::Int(0), Value::Null])?,
            _ => emit(&[id, branch, Value::Int(0), Value::Text(FILLER)])?,
        }
        self.next += 1;
        self.counted.rows(1)?;
        Ok(true)
    }
}
