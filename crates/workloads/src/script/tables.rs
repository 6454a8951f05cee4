//! The tables of pgbench: what its builtin scripts work on.

use dsbench_core::engine::{Connection, Dialect, RowSource};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Condition, Expected, Part, Progress};

use crate::catalogue::Promised;
use crate::loaded::{compare, pieces, Beside, Off, Reading};
use crate::sql::Sections;
use crate::steps::{as_made, no_counts, numbers, of_unknown_end, unknown_end, Counted};

const FILES: &[(&str, &str)] = sql_files!();

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
const TABLES: [PgbenchTable; 3] = [
    ("pgbench_branches", "bbalance", "bid", 1),
    ("pgbench_tellers", "tbalance", "tid", 10),
    ("pgbench_accounts", "abalance", "aid", 100_000),
];

type PgbenchTable = (&'static str, &'static str, &'static str, u64);

/// pgbench's tables at one scale on a database of one dialect.
pub(super) struct Tables {
    scale: u32,
    dialect: &'static Dialect,
    pub(super) sql: Sections,
}

impl Tables {
    pub(super) fn new(scale: u32, dialect: &'static Dialect) -> Result<Self> {
        let wide: &[_] = if scale >= WIDE { &[("{aid}", "bigint")] } else { &[] };
        Ok(Self { scale, dialect, sql: Sections::with(dialect, FILES, wide)? })
    }

    pub(super) fn rows(&self) -> u64 {
        TABLES.iter().map(|(.., rows)| rows).sum::<u64>() * u64::from(self.scale)
    }

    fn columns(&self, (_, balance, key, rows): PgbenchTable) -> Vec<(&'static str, Type)> {
        let int = |name| (name, Type::Int32);
        let key = (key, if self.scale >= WIDE { Type::Int64 } else { Type::Int32 });
        let mut columns = vec![key, int("bid"), int(balance), ("filler", Type::Text)];
        if rows == 1 {
            columns.remove(1);
        }
        columns
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
                let chunk = start..share.end.min(start + CHUNK);
                let mut source =
                    Source { next: chunk.start, end: chunk.end, rows: table.3, counted: Counted::new(progress) };
                let load = conn.bulk().ok_or_else(|| Error::configuration("this engine has no bulk load"))?;
                load.load(table.0, &self.columns(table), &mut source)?;
            }
        }
        Ok(())
    }

    /// What pgbench's own scripts leave: a row of history for each transaction, balances that are the sums of it, and
    /// all else as it was loaded. `builtin` are the kinds that write, `tpcb` of them those that change all three tables.
    pub(super) fn check(
        &self,
        conn: &mut dyn Connection,
        expected: Option<&Expected>,
        builtin: &[u8],
        tpcb: usize,
    ) -> Result<Vec<Condition>> {
        let [bn, bs, tn, ts, an, sum, hn, hs, aids, tids, bids] = numbers(conn, self.sql.one("totals")?)?;
        let scale = i64::from(self.scale);
        let mut found: Vec<Condition> = [("branches", bn, 1), ("tellers", tn, 10), ("accounts", an, 100_000)]
            .map(|(name, rows, each)| equal(&format!("{name} rows"), ("found", rows), ("scale", each * scale)))
            .into();
        found.push(equal("account sum = history sum", ("account", sum), ("history", hs)));
        let [accounts, tellers, branches] =
            ["accounts_off", "tellers_off", "branches_off"].map(|name| self.sql.one(name));
        found.push(none_off("account balance = sum of its history", conn, accounts?)?);
        match tpcb {
            0 => found.extend([
                none_off("tellers as loaded: balance 0", conn, self.sql.one("tellers_changed")?)?,
                none_off("branches as loaded: balance 0", conn, self.sql.one("branches_changed")?)?,
            ]),
            _ if tpcb == builtin.len() => found.extend([
                equal("teller sum = history sum", ("teller", ts), ("history", hs)),
                equal("branch sum = history sum", ("branch", bs), ("history", hs)),
                none_off("teller balance = sum of its history", conn, tellers?)?,
                none_off("branch balance = sum of its history", conn, branches?)?,
            ]),
            // Which rows of the history are those of which script is not known.
            _ => found.push(equal("teller sum = branch sum", ("teller", ts), ("branch", bs))),
        }
        found.extend(of_clients(builtin, expected, hn, [("delta", hs), ("aid", aids), ("tid", tids), ("bid", bids)]));
        let made = ["tables", "primary_keys"].into_iter().flat_map(|section| self.sql.all(section));
        found.extend(Promised::of(made).check(self.dialect, conn)?);
        for table in TABLES {
            found.push(self.loaded(conn, table)?);
        }
        Ok(found)
    }

    /// Rows, branches and fillers are as they were loaded.
    fn loaded(&self, conn: &mut dyn Connection, table: PgbenchTable) -> Result<Condition> {
        let columns = self.columns(table);
        let rows = table.3 * u64::from(self.scale);
        let (mut off, mut read, ranges) = (Off::default(), 0, pieces(rows));
        let mut reading = Reading::new(conn, self.dialect, table.0, &columns, &[0])?;
        for range in &ranges {
            read += range.end - range.start;
            let progress = Progress::default();
            let counted = Counted::new(&progress);
            let mut source = Source { next: range.start, end: range.end, rows: table.3, counted };
            compare(&mut reading, &mut source, ranges.len() == 1, &mut |row| {
                match row {
                    Beside::Missing(wanted) => off.add(|| format!("{:?} is missing", wanted[0])),
                    Beside::Added(found) => {
                        let number = found.int(0)?;
                        off.add(|| format!("{number} was added"));
                    }
                    Beside::Both(wanted, found) => {
                        for at in (1..columns.len()).filter(|at| columns[*at].0 != table.1) {
                            if !found.has(at, wanted[at])? {
                                off.add(|| format!("{} of {:?} is another one", columns[at].0, wanted[0]));
                            }
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(off.condition(format!("{} as loaded, but for balances", table.0), read, rows))
    }
}

/// The rows of the history, and sums over them, as clients counted them.
fn of_clients(builtin: &[u8], expected: Option<&Expected>, rows: i64, sums: [(&str, i64); 4]) -> Vec<Condition> {
    let rows_name = "history rows = committed transactions";
    let names = sums.map(|(sum, _)| match sum {
        "delta" => "history sum = sum of the clients".to_string(),
        _ => format!("sum of {sum} in the history = that of the clients"),
    });
    let Some(expected) = expected else {
        return std::iter::once(rows_name).chain(names.iter().map(String::as_str)).map(no_counts).collect();
    };
    let ranges = builtin.iter().map(|kind| expected.range(*kind));
    let (low, high) =
        ranges.fold((0_u64, 0_u64), |sum, range| (sum.0 + range.start(), sum.1.saturating_add(*range.end())));
    let detail = format!("history {rows}, committed {low}{}", of_unknown_end(&(low..=high)));
    let mut found = vec![as_made(rows_name, rows, &(low..=high), detail)];
    for (name, (sum, in_history)) in names.iter().zip(sums) {
        found.push(match expected.sum(sum).or((low == 0).then_some(0)) {
            None => Condition::made(name, false, format!("the clients gave no sum of {sum}")),
            Some(_) if high > low && rows as u64 != low => unknown_end(name, expected),
            Some(of_clients) => equal(name, ("history", in_history), ("clients", of_clients)),
        });
    }
    found
}

/// How many rows are off, as a query counts them.
fn none_off(name: &str, conn: &mut dyn Connection, sql: &str) -> Result<Condition> {
    let [off] = numbers(conn, sql)?;
    Ok(Condition::made(name, off == 0, format!("{off} rows are off")))
}

fn equal(name: &str, left: (&str, i64), right: (&str, i64)) -> Condition {
    let detail = format!("{} {}, {} {}", left.0, left.1, right.0, right.1);
    Condition::made(name, left.1 == right.1, detail)
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
