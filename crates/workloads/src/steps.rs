//! Steps that the schemas of all workloads have in common.

use std::ops::RangeInclusive;

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Commits, Condition, Expected, Progress, UNCOUNTED};

use crate::sql::Sections;

/// Runs the statements of a section one by one, as steps of `progress`.
pub fn run(sql: &Sections, conn: &mut dyn Connection, section: &str, progress: &Progress) -> Result<()> {
    let statements = sql.script(section);
    progress.expect(statements.len() as u64);
    for statement in statements {
        conn.script(&[statement])?;
        progress.advance(1)?;
    }
    Ok(())
}

/// Whether tables may refer to each other: on MySQL and MariaDB their storage engine decides.
pub fn may_refer(sql: &Sections, conn: &mut dyn Connection) -> Result<bool> {
    match sql.all("may_refer") {
        [] => Ok(true),
        _ => Ok(numbers(conn, sql.one("may_refer")?)? != [0]),
    }
}

/// Adds the foreign keys where tables may have them; where they stand in the tables already, checks that all rows meet
/// them.
pub fn foreign_keys(sql: &Sections, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
    if may_refer(sql, conn)? {
        run(sql, conn, "foreign_keys", progress)?;
    }
    let queries = sql.all("foreign_key_faults");
    progress.expect(progress.read().0 + queries.len() as u64);
    for query in queries {
        let [faults] = numbers(conn, query)?;
        if faults != 0 {
            let message = format!("{faults} rows have no row to refer to: {query}");
            return Err(Error::with(ErrorKind::Statement, "check foreign keys", message));
        }
        progress.advance(1)?;
    }
    Ok(())
}

/// Asks for one row of `N` whole numbers.
pub fn numbers<const N: usize>(conn: &mut dyn Connection, sql: &str) -> Result<[i64; N]> {
    let query = conn.prepare(&Statement { sql, params: &[], columns: &[Type::Int64; N] }, Prepare::Once)?;
    let mut rows = Rows::new();
    conn.query(query, &[], &mut rows)?;
    let mut numbers = [0; N];
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = rows.int(0, at)?;
    }
    Ok(numbers)
}

/// Counts rows that are loaded, and tells how many they are now and then.
pub struct Counted<'a> {
    progress: &'a Progress,
    untold: u64,
}

impl<'a> Counted<'a> {
    /// Counts into `progress`.
    pub fn new(progress: &'a Progress) -> Self {
        Self { progress, untold: 0 }
    }

    /// So many more rows were taken. An error of kind `Setup` when the user wants to stop.
    #[inline]
    pub fn rows(&mut self, count: u64) -> Result<()> {
        const TELL_EVERY: u64 = 4096;
        self.untold += count;
        match self.untold >= TELL_EVERY {
            true => self.end(),
            false => Ok(()),
        }
    }

    /// Tells what is not told yet. Errors as of [`Counted::rows`].
    pub fn end(&mut self) -> Result<()> {
        self.progress.advance(std::mem::take(&mut self.untold))
    }
}

/// Why conditions are not made that compare what is there with what clients did.
const NO_COUNTS: &str = "no run has left what its clients committed";
const LOST_NODES: &str = "nodes were lost, and with them what they committed";
/// Why it is not known what commits left, and how that is mended.
pub const UNKNOWN_END: &str = "connections were lost in commits, which may have taken place";
/// See [`UNKNOWN_END`].
pub const REPEAT: &str = "look at the errors of the run for what ended connections, and repeat the scale";

/// The answer of an engine from which nothing can be read back.
pub fn nothing_kept() -> Vec<Condition> {
    vec![Condition::not_made("conditions", "the engine keeps no data", "")]
}

/// What stands for the answers that a second engine would compare, where the user wants none compared.
pub fn answers_unchecked() -> Condition {
    Condition::not_made("answers of the queries", "answers=unchecked: they were not to be compared", "")
}

/// A condition on what clients did, where nothing tells what that is.
pub fn no_counts(name: &str) -> Condition {
    Condition::not_made(name, NO_COUNTS, "")
}

/// A condition that commits of unknown end leave open.
pub fn unknown_end(name: &str, expected: &Expected) -> Condition {
    let lost = expected.unknown.iter().any(|unknown| *unknown >= UNCOUNTED);
    Condition::not_made(name, if lost { LOST_NODES } else { UNKNOWN_END }, REPEAT)
}

/// That so many are there as clients made: all that were acknowledged, and no more than those of unknown end besides.
/// Where nobody knows how many those are, one that is too few is seen, and one too many is not.
pub fn as_made(name: &str, found: i64, made: &RangeInclusive<u64>, detail: String) -> Condition {
    let commits = Commits { found, acknowledged: *made.start(), unknown: made.end() - made.start() };
    let condition = match u64::try_from(found) {
        Ok(found) if commits.unknown >= UNCOUNTED && found >= commits.acknowledged => {
            Condition::not_made(name, LOST_NODES, REPEAT)
        }
        found => Condition::made(name, found.is_ok_and(|found| made.contains(&found)), detail),
    };
    Condition { commits: Some(commits), ..condition }
}

/// In words, for the detail of a condition, how far what may be in the database goes beyond what must be.
pub fn of_unknown_end(range: &RangeInclusive<u64>) -> String {
    match range.end() - range.start() {
        0 => String::new(),
        n if n >= UNCOUNTED => ", and what lost nodes committed".to_string(),
        n => format!(", {n} of unknown end"),
    }
}
