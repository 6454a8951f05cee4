//! What the tables must hold after a load.

use std::ops::RangeInclusive;

use dsbench_core::engine::Connection;
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Condition, Expected, UNCOUNTED};

use super::client::CACHED;
use super::rows::Row;
use super::tables::{texts, Tables, INDEXES};
use super::{DELETE, INSERT, ROLES};
use crate::catalogue::Promised;
use crate::loaded::{pieces, Off, Reading};
use crate::steps::{no_counts, nothing_kept, numbers, of_unknown_end, unknown_end};

const ROWS: &str = "rows = inserted - deleted";
const NEWEST: &str = "largest number = rows inserted";
const OLDEST: &str = "numbers below the smallest = rows deleted";
const MISSING: &str = "numbers missing between rows";
const DISORDERED: &str = "rows came or went in another order than their numbers";

/// Rows, numbers and index entries of all tables against each other, and against what the clients did.
pub fn check(tables: &Tables, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
    if !tables.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    // Of each table: rows, number of the oldest, number of the newest.
    let found: Vec<[i64; 3]> =
        (0..tables.count()).map(|table| numbers(conn, &tables.one("rows", table)?)).collect::<Result<_>>()?;
    let rows: i64 = found.iter().map(|table| table[0]).sum();
    let mut conditions = Vec::new();
    match expected {
        Some(expected) => {
            let [inserted, deleted] =
                [(INSERT, "inserted"), (DELETE, "deleted")].map(|(kind, sum)| Done::of(expected, kind, sum));
            conditions.push(inserted.less(&deleted, rows, expected));
            conditions.extend(ids(tables, &found, expected, (&inserted, &deleted)));
        }
        None => conditions.extend([ROWS, NEWEST, OLDEST].map(no_counts)),
    }
    let written = expected.is_none_or(|expected| *expected.range(DELETE).start() > 0);
    let entries = entries(tables, conn, &found, written)?;
    let mut made = vec!["table"];
    if !entries.is_empty() {
        made.push("indexes");
    }
    conditions.extend(entries);
    let all = made.into_iter().flat_map(|section| (0..tables.count()).flat_map(|table| tables.all(section, table)));
    conditions.extend(Promised::of(all).check(tables.dialect, conn)?);
    conditions.extend(of_clients(tables, conn, &found, expected)?);
    Ok(conditions)
}

/// Each row is one that a client made for its table, and no number is missing between two rows. A session of
/// PostgreSQL takes numbers in stretches and leaves the ends of some of them over.
fn of_clients(
    tables: &Tables,
    conn: &mut dyn Connection,
    found: &[[i64; 3]],
    expected: Option<&Expected>,
) -> Result<Vec<Condition>> {
    const COLUMNS: [(&str, Type); 6] = [
        ("transactionid", Type::Int64),
        ("cashregisterid", Type::Int32),
        ("customerid", Type::Int32),
        ("productid", Type::Int32),
        ("price", Type::Int32),
        ("data", Type::Text),
    ];
    let (mut off, mut read, mut missing) = (Off::default(), 0, 0);
    for (table, [rows, oldest, _]) in found.iter().enumerate() {
        let mut reading = Reading::new(conn, tables.dialect, &Tables::name(table), &COLUMNS, &[0])?;
        for range in pieces(*rows as u64) {
            let mut before = None;
            reading.seek(&[oldest + range.start as i64 - 1]);
            for _ in range {
                let Some(row) = reading.row()? else { break };
                let number = row.int(0)?;
                let numbers = [row.int(1)?, row.int(2)?, row.int(3)?, row.int(4)?];
                let text = matches!(row.value(5)?, Value::Text(text) if Row::is_made(table, numbers, text));
                if !text {
                    off.add(|| format!("{number} of {}", Tables::name(table)));
                }
                let left_over = tables.dialect.name == "postgres" && (number - 1) % CACHED == 0;
                missing += before.filter(|_| !left_over).map_or(0, |before: i64| number - before - 1);
                (before, read) = (Some(number), read + 1);
                reading.step();
            }
        }
    }
    let all: i64 = found.iter().map(|table| table[0]).sum();
    let mut conditions = vec![off.condition("rows are those that clients made".into(), read, all as u64)];
    conditions.push(if let Some(expected) = expected {
        let uncertain = [(INSERT, "inserted"), (DELETE, "deleted")]
            .into_iter()
            .any(|(kind, sum)| Done::of(expected, kind, sum).uncertain());
        let sum = |name| expected.sum(name).unwrap_or_default();
        let disordered = sum("unordered") != 0 || (tables.shared && tables.clients > 1);
        let detail = format!("{missing}, {} of them rows that were not inserted", sum("failed"));
        match (missing <= sum("failed"), uncertain) {
            (false, true) => unknown_end(MISSING, expected),
            (false, false) if disordered => Condition::not_made(MISSING, DISORDERED, ""),
            (holds, _) => Condition::made(MISSING, holds, detail),
        }
    } else {
        no_counts(MISSING)
    });
    Ok(conditions)
}

/// Rows of one kind of transactions: how many at least, and how many more commits of unknown end may have brought.
struct Done {
    least: i64,
    commits: RangeInclusive<u64>,
    most: i64,
}

impl Done {
    fn of(expected: &Expected, kind: u8, sum: &str) -> Self {
        let least = expected.sum(sum).unwrap_or_default();
        let commits = expected.range(kind);
        let each = ROLES.iter().filter(|role| role.0 == kind).map(|role| role.1).max().unwrap_or_default();
        let more = (commits.end() - commits.start()).saturating_mul(each);
        Self { least, commits, most: least.saturating_add_unsigned(more) }
    }

    fn uncertain(&self) -> bool {
        self.most > self.least
    }

    fn less(&self, deleted: &Self, rows: i64, expected: &Expected) -> Condition {
        let (least, most) = (self.least.saturating_sub(deleted.most), self.most.saturating_sub(deleted.least));
        let holds = (least..=most).contains(&rows);
        if holds && most.saturating_sub(least) as u64 >= UNCOUNTED {
            return unknown_end(ROWS, expected);
        }
        let [more, fewer] = [self, deleted].map(|done| of_unknown_end(&done.commits));
        let detail = format!("{rows} rows, inserted {}{more}, deleted {}{fewer}", self.least, deleted.least);
        Condition::made(ROWS, holds, detail)
    }
}

/// Numbers of rows rise from 1, and the oldest rows are deleted: so the newest has the number of rows inserted, and
/// the oldest that after the deleted ones, but for numbers that were given to no row.
fn ids(tables: &Tables, found: &[[i64; 3]], expected: &Expected, done: (&Done, &Done)) -> [Condition; 2] {
    let (inserted, deleted) = done;
    let sum = |name| expected.sum(name).unwrap_or_default();
    let uncertain = inserted.uncertain() || deleted.uncertain();
    let unused = if uncertain { i64::MAX / 2 } else { sum("unused") };
    let newest: i64 = found.iter().map(|table| table[2]).sum();
    // Of an empty table the oldest would be the next one.
    let before: i64 = found.iter().map(|&[rows, oldest, _]| if rows > 0 { oldest - 1 } else { 0 }).sum();
    let empty = found.iter().any(|table| table[0] == 0);
    let disordered = deleted.uncertain() || sum("unordered") != 0 || (tables.shared && tables.clients > 1);
    let besides = match unused {
        0 => String::new(),
        unused => format!(", {unused} numbers may be unused"),
    };
    [(NEWEST, newest, inserted, "inserted", false), (OLDEST, before, deleted, "deleted", disordered)].map(
        |(name, number, done, words, disordered)| {
            let most = done.least.saturating_add(unused);
            let fits = (done.least..=most).contains(&number);
            match (fits, number <= most) {
                _ if empty => Condition::not_made(name, "a table has no rows", ""),
                // Numbers that commits of unknown end took may be unused: no number is too large.
                (true, _) if uncertain => unknown_end(name, expected),
                (false, true) if disordered && uncertain => unknown_end(name, expected),
                (false, true) if disordered => Condition::not_made(name, DISORDERED, ""),
                _ => Condition::made(name, fits, format!("{number}, {words} {}{besides}", done.least)),
            }
        },
    )
}

/// Each secondary index has an entry for each row. Before l.x there is none; `written` says that it was run.
fn entries(tables: &Tables, conn: &mut dyn Connection, found: &[[i64; 3]], written: bool) -> Result<Vec<Condition>> {
    let mut off: [Vec<String>; 3] = Default::default();
    let mut sums = [0; 3];
    let mut missing = 0;
    for (table, [rows, ..]) in found.iter().enumerate() {
        conn.script(&texts(&tables.all("before_entries", table)))?;
        for (at, (end, column, other)) in INDEXES.into_iter().enumerate() {
            let name = format!("{}_{end}", Tables::name(table));
            let filled = |section| Ok(tables.one(section, table)?.replace("{i}", &name));
            let [present] = numbers(conn, &filled(if tables.family { "present_family" } else { "present" })?)?;
            if present == 0 {
                missing += 1;
                off[at].push(format!("{name} is missing"));
                continue;
            }
            let counted = numbers(conn, &filled("entries")?.replace("{c}", column).replace("{k}", other));
            // Of an index that may not be used nothing is counted.
            let [count] = match counted {
                Err(error) if matches!(error.kind, ErrorKind::Statement | ErrorKind::Syntax) => {
                    off[at].push(format!("{name} cannot be read: {error}"));
                    continue;
                }
                counted => counted?,
            };
            sums[at] += count;
            if count != *rows {
                off[at].push(format!("{name} has {count} of {rows}"));
            }
        }
        conn.script(&texts(&tables.all("after_entries", table)))?;
    }
    if !written && missing == found.len() * INDEXES.len() {
        return Ok(Vec::new());
    }
    let conditions = INDEXES.into_iter().enumerate().map(|(at, (end, ..))| {
        let detail = if off[at].is_empty() { format!("{} entries", sums[at]) } else { off[at].join(", ") };
        Condition::made(format!("entries of {end} = rows"), off[at].is_empty(), detail)
    });
    Ok(conditions.collect())
}
