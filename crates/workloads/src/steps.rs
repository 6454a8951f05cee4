//! Steps that the schemas of all workloads have in common.

use std::ops::RangeInclusive;

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Progress, UNCOUNTED};

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

/// In words, for the detail of a condition, how far what may be in the database goes beyond what must be.
pub fn of_unknown_end(range: &RangeInclusive<u64>) -> String {
    match range.end() - range.start() {
        0 => String::new(),
        n if n >= UNCOUNTED => ", and what lost nodes committed".to_string(),
        n => format!(", {n} of unknown end"),
    }
}
