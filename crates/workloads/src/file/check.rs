//! The conditions of a workload file against the database.

use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Table, Type};
use dsbench_core::workload::{Condition, Expected, KindId, Progress};
use dsbench_script::Value;

use super::described::{Described, Loaded, What};
use super::expression::{Expression, Step};
use super::rows::Rows;
use super::table::Generator;
use crate::loaded::{compare, pieces, Beside, Found, Off, Reading};
use crate::steps::{no_counts, unknown_end};
use crate::tpcb::rows::is_signed;

/// Part of a number by which a double may lie beside it.
const CLOSE: f64 = 1e-9;
/// Below it a double is each whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// All conditions; without `expected` those that need no counts of the clients. Before them the indexes and keys.
pub(super) fn check(
    described: &Described,
    dialect: &Dialect,
    kinds: &[&str],
    conn: &mut dyn Connection,
    expected: Option<&Expected>,
) -> Result<Vec<Condition>> {
    let mut all = described.schema.promised().check(dialect, conn)?;
    for wanted in &described.conditions {
        let counts = |name: &String| name.starts_with("committed") || name.starts_with("sum_");
        let fetch = |conn: &mut dyn Connection, step: &Step| conn.fetch(&step.sql).map_err(|error| step.placed(error));
        let (holds, detail) = match &wanted.what {
            What::Nothing(step) => no_row(&fetch(conn, step)?),
            What::Equals(_, equals) if expected.is_none() && equals.names().iter().any(counts) => {
                all.push(no_counts(&wanted.name));
                continue;
            }
            What::Equals(step, equals) => {
                all.push(equal(&wanted.name, equals, step, kinds, &fetch(conn, step)?, expected)?);
                continue;
            }
            What::Loaded(of) => loaded(described, dialect, of, kinds, conn, expected).map_err(|error| {
                let said = error.message.as_deref().unwrap_or(error.kind.name());
                Error { message: Some(format!("condition {}: {said}", wanted.name).into()), ..error }
            })?,
        };
        all.push(Condition::made(&wanted.name, holds, detail));
    }
    if described.conditions.is_empty() {
        all.push(Condition::not_made("conditions", "the workload file has no [conditions]", ""));
    }
    Ok(all)
}

/// Rows are as they were loaded, but for columns that transactions change; where these write texts, the texts are the
/// loaded ones or those of a client.
fn loaded(
    described: &Described,
    dialect: &Dialect,
    of: &Loaded,
    kinds: &[&str],
    conn: &mut dyn Connection,
    expected: Option<&Expected>,
) -> Result<(bool, String)> {
    let table = &described.tables[of.table];
    let columns: Vec<(&str, Type)> =
        table.columns.iter().map(|one| (one.name.as_str(), one.stored(table.plain))).collect();
    let (mut off, mut read, mut written, ranges) = (Off::default(), 0, 0_u64, pieces(table.rows));
    let mut reading = Reading::new(conn, dialect, &table.name, &columns, &of.keys)?;
    for range in &ranges {
        let progress = Progress::default();
        let mut source = Rows::new(table, range.clone(), &progress);
        read += range.end - range.start;
        let key = |value: &dyn Fn(usize) -> String| of.keys.iter().map(|at| value(*at)).collect::<Vec<_>>().join(", ");
        compare(&mut reading, &mut source, ranges.len() == 1, &mut |row| {
            let signed = |found: &Found<'_>, at: usize| {
                let value = found.value(at)?;
                let Generator::Text(least, most) = table.columns[at].generator else { return Ok(false) };
                let fits = |text: &str| (least..=most).contains(&text.len()) && is_signed(text);
                Ok(matches!(value, dsbench_core::value::Value::Text(text) if fits(text.trim_end())))
            };
            match row {
                Beside::Missing(wanted) => off.add(|| format!("row {} is missing", key(&|at| said(wanted[at])))),
                Beside::Added(found) => {
                    let number = || key(&|at| found.value(at).map_or_else(|_| String::new(), said));
                    if !of.added {
                        off.add(|| format!("row {} was added", number()));
                        return Ok(());
                    }
                    for at in &of.texts {
                        match signed(&found, *at)? {
                            true => written += 1,
                            false => off.add(|| format!("{} of row {} is of no client", columns[*at].0, number())),
                        }
                    }
                }
                Beside::Both(wanted, found) => {
                    for at in (0..columns.len()).filter(|at| !of.except.contains(at)) {
                        if found.has(at, wanted[at])? {
                            continue;
                        }
                        if of.texts.contains(&at) && signed(&found, at)? {
                            written += 1;
                            continue;
                        }
                        off.add(|| format!("{} of row {} is another one", columns[at].0, key(&|at| said(wanted[at]))));
                    }
                }
            }
            Ok(())
        })?;
    }
    let found = off.condition(String::new(), read, table.rows);
    let Some(equals) = of.written.as_ref().filter(|_| expected.is_some()) else {
        return Ok((found.holds(), found.detail));
    };
    let (least, most) = range(equals, kinds, expected)?;
    // What was overwritten cannot be counted, what was written once at least cannot be gone altogether.
    let fits = written as f64 <= order(most) && (written > 0 || order(least) == 0.0 || ranges.len() > 1);
    let detail = format!("{}; {written} texts are of clients, who wrote {}", found.detail, shown(most));
    Ok((found.holds() && fits, detail))
}

fn said(value: dsbench_core::value::Value<'_>) -> String {
    match value {
        dsbench_core::value::Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn no_row(found: &Table) -> (bool, String) {
    let Some(first) = found.rows.first() else { return (true, "found no row".into()) };
    let cell = |(name, cell): (&String, &Option<String>)| format!("{name} {}", cell.as_deref().unwrap_or("NULL"));
    let cells: Vec<String> = found.columns.iter().zip(first).map(cell).collect();
    (false, format!("found {} rows, the first: {}", found.rows.len(), cells.join(", ")))
}

fn equal(
    name: &str,
    equals: &Expression,
    step: &Step,
    kinds: &[&str],
    found: &Table,
    expected: Option<&Expected>,
) -> Result<Condition> {
    let [row] = found.rows.as_slice() else {
        let detail = format!("found {} rows, and one is needed: {}", found.rows.len(), step.place);
        return Ok(Condition::made(name, false, detail));
    };
    let text = row.first().cloned().flatten().unwrap_or_else(|| "NULL".into());
    let unknown = expected.filter(|expected| expected.unknown.iter().any(|unknown| *unknown > 0));
    if let (Some(expected), true) = (unknown, equals.names().iter().any(|name| name.starts_with("sum_"))) {
        return Ok(unknown_end(name, expected));
    }
    let (least, most) = range(equals, kinds, expected)?;
    let holds = number(&text).is_some_and(|found| lies(found, (least, most)));
    if let (Some(expected), true) = (unknown, holds && (order(least).is_infinite() || order(most).is_infinite())) {
        return Ok(unknown_end(name, expected));
    }
    let told = match unknown {
        None => shown(least),
        Some(_) => format!("{} to {}", shown(least), shown(most)),
    };
    Ok(Condition::made(name, holds, format!("found {text}, expected {told}")))
}

/// The least and the greatest that the expression may be. Commits of unknown end move it, kind by kind, up or down, as
/// they do where it adds and takes away counts.
fn range(equals: &Expression, kinds: &[&str], expected: Option<&Expected>) -> Result<(Value, Value)> {
    let least = of_counts(equals, kinds, expected, None)?;
    let (mut down, mut up) = (0.0, 0.0);
    for kind in (0..).zip(kinds).map(|(kind, _)| kind) {
        let unknown = expected.map_or(0..=0, |expected| expected.range(kind));
        if unknown.start() == unknown.end() {
            continue;
        }
        // So many, as of a node that was lost, that there is no number for it: then nothing can be said.
        let moved = of_counts(equals, kinds, expected, Some(kind)).map_or(f64::NAN, order) - order(least);
        down += if moved.is_nan() { f64::NEG_INFINITY } else { moved.min(0.0) };
        up += if moved.is_nan() { f64::INFINITY } else { moved.max(0.0) };
    }
    if down == 0.0 && up == 0.0 {
        return Ok((least, least));
    }
    let by = |moved: f64| match least {
        Value::Int(number) if moved.abs() < EXACT => Value::Int(number.saturating_add(moved as i64)),
        other => Value::Double(order(other) + moved),
    };
    Ok((by(down), by(up)))
}

/// The expression with the counts of the clients; `most`: the kind whose commits of unknown end count.
fn of_counts(equals: &Expression, kinds: &[&str], expected: Option<&Expected>, most: Option<KindId>) -> Result<Value> {
    let mut memory = equals.memory();
    let mut all = 0_i64;
    let mut set = |name: &str, value: i64| {
        if let Some(slot) = equals.slot(name) {
            memory.set(slot, Value::Int(value));
        }
    };
    for (kind, name) in (0..).zip(kinds) {
        let range = expected.map_or(0..=0, |expected| expected.range(kind));
        let count = i64::try_from(if most == Some(kind) { *range.end() } else { *range.start() }).unwrap_or(i64::MAX);
        all = all.saturating_add(count);
        set(&format!("committed_{name}"), count);
    }
    set("committed", all);
    for (name, sum) in expected.map_or(&[][..], |expected| expected.sums.as_slice()) {
        set(&format!("sum_{name}"), *sum);
    }
    equals.value(&mut memory)
}

fn order(value: Value) -> f64 {
    match value {
        Value::Int(number) => number as f64,
        Value::Double(number) => number,
        _ => f64::NAN,
    }
}

/// Whole numbers exactly, others nearly.
fn lies(found: Value, (least, most): (Value, Value)) -> bool {
    match (found, least, most) {
        (Value::Int(found), Value::Int(least), Value::Int(most)) => (least..=most).contains(&found),
        _ => {
            let (found, least, most) = (order(found), order(least), order(most));
            let near = CLOSE * found.abs().max(1.0);
            least - near <= found && found <= most + near
        }
    }
}

/// What a database says as text: `12`, `12.00`, `12.5`.
fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let whole = match text.split_once('.') {
        Some((whole, part)) if part.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    whole.parse().map(Value::Int).ok().or_else(|| text.parse().ok().map(Value::Double))
}

fn shown(value: Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        _ => "no number".into(),
    }
}
