//! Between the writes and the queries: statistics, what was written put in its place, and a wait.

use dsbench_core::clock::{Monotonic, Nanos};
use dsbench_core::engine::Connection;
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::workload::Progress;

use super::tables::{texts, Tables};

const SECOND: Nanos = 1_000_000_000;
/// How long a server is waited for where the wait is not the published one.
const SHORT: Nanos = 5 * SECOND;
/// A number of dirty pages that has not fallen for so long will not: the server keeps them.
const STILL: Nanos = 10 * SECOND;
/// Share of the buffer pool, one in so many pages, that may stay dirty.
const DIRTY: i64 = 100;

/// The storage engine of the tables, in small letters, on MariaDB and MySQL; empty elsewhere.
pub fn storage(tables: &Tables, conn: &mut dyn Connection) -> Result<String> {
    match tables.dialect.name {
        "mysql" => Ok(first(conn, &tables.one("engine", 0)?)?.unwrap_or_default()),
        _ => Ok(String::new()),
    }
}

/// The first cell of the first row that a statement gives.
pub(super) fn first(conn: &mut dyn Connection, sql: &str) -> Result<Option<String>> {
    Ok(conn.fetch(sql)?.rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
}

/// Does what each product needs, and waits for the rest of the published time, or not. Each piece is timed.
pub fn settle(tables: &Tables, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
    let began = Monotonic.now();
    let patience = if tables.waits { published(tables) } else { SHORT };
    let mut settling = Settling { tables, conn, progress, until: began + patience };
    match tables.dialect.name {
        "postgres" => {
            settling.each("vacuum")?;
            settling.once_if_allowed("checkpoint")?;
        }
        "firebird" => {
            settling.once("sweep")?;
            settling.each("statistics")?;
        }
        "sqlite" => {
            settling.each("analyze")?;
            settling.once_if_allowed("checkpoint")?;
        }
        "mysql" => {
            settling.each("analyze")?;
            match storage(tables, settling.conn)?.as_str() {
                "rocksdb" => settling.compaction()?,
                "innodb" => settling.write_out()?,
                _ => {}
            }
        }
        _ => {}
    }
    let rest = (began + patience).saturating_sub(Monotonic.now());
    match tables.waits {
        true => progress.time("sleep", 0, || progress.pause(rest)),
        false => Ok(()),
    }
}

/// A minute, and a second for each million rows: 20 minutes at most. As many rows were deleted as were inserted
/// after the first ones.
fn published(tables: &Tables) -> Nanos {
    let millions = tables.rows[0] * tables.clients / 1_000_000;
    (60 + millions).min(1200) * SECOND
}

struct Settling<'a> {
    tables: &'a Tables,
    conn: &'a mut dyn Connection,
    progress: &'a Progress,
    /// When it waits for the server no longer.
    until: Nanos,
}

impl Settling<'_> {
    /// The statements of a section for each table.
    fn each(&mut self, section: &str) -> Result<()> {
        for table in 0..self.tables.count() {
            let statements = self.tables.all(section, table);
            self.progress.time(section, 0, || self.conn.script(&texts(&statements)))?;
            self.progress.advance(0)?;
        }
        Ok(())
    }

    fn once(&mut self, section: &str) -> Result<()> {
        let sql = self.tables.one(section, 0)?;
        self.progress.time(section, 0, || self.conn.script(&[&sql]))
    }

    /// Statements for which the user may lack the right: then they are left out, which is false, and what was timed
    /// says so.
    fn if_allowed(&mut self, section: &str, work: impl FnOnce(&mut dyn Connection) -> Result<()>) -> Result<bool> {
        match work(self.conn) {
            Err(error) if matches!(error.kind, ErrorKind::Statement | ErrorKind::Syntax) => {
                self.progress.time(&format!("{section} refused"), 0, || Ok(false))
            }
            done => done.map(|()| true),
        }
    }

    /// The one statement of a section, timed where it is allowed.
    fn once_if_allowed(&mut self, section: &str) -> Result<()> {
        let (sql, progress) = (self.tables.one(section, 0)?, self.progress);
        self.if_allowed(section, |conn| progress.time(section, 0, || conn.fetch(&sql).map(|_| ()))).map(|_| ())
    }

    /// InnoDB: has it write out its changed pages, as it does not by itself, and takes that back. What the limits were
    /// is noted in the database before: where this session does not get to take it back, whoever drops the place does.
    fn write_out(&mut self) -> Result<()> {
        let limits = self.conn.fetch(&self.tables.one("dirty_limits", 0)?)?;
        let limit = |at: usize| limits.rows.first().and_then(|row| row[at].clone()).unwrap_or_default();
        let filled = |section| {
            let all = self.tables.all(section, 0).into_iter();
            all.map(|sql| sql.replace("{least}", &limit(0)).replace("{most}", &limit(1))).collect::<Vec<_>>()
        };
        let (noted, before, forgotten) = (filled("note_limits"), filled("write_as_before"), filled("forget_limits"));
        self.conn.script(&texts(&noted))?;
        let sql = self.tables.all("write_out", 0);
        let changed = self.if_allowed("write out", |conn| conn.script(&texts(&sql)))?;
        let waited = self.dirty_pages();
        // The first of two limits may be set where the second was refused.
        let restored = match self.conn.script(&texts(&before)) {
            Err(error) if !changed && matches!(error.kind, ErrorKind::Statement | ErrorKind::Syntax) => Ok(()),
            restored => restored,
        };
        let forgotten = restored.and_then(|()| self.conn.script(&texts(&forgotten)));
        waited.and(forgotten)
    }

    /// Until nearly all changed pages are written, or no more of them are.
    fn dirty_pages(&mut self) -> Result<()> {
        let sql = self.tables.one("pages", 0)?;
        let (progress, until) = (self.progress, self.until);
        progress.time("dirty pages", 0, || {
            let (mut least, mut fallen) = (i64::MAX, Monotonic.now());
            loop {
                let found = self.conn.fetch(&sql)?;
                let value = |end: &str| {
                    let row = found.rows.iter().find(|row| row[0].as_deref().is_some_and(|name| name.ends_with(end)));
                    row.and_then(|row| row[1].as_deref()?.parse::<i64>().ok()).unwrap_or_default()
                };
                let (dirty, now) = (value("_dirty"), Monotonic.now());
                if dirty < least {
                    (least, fallen) = (dirty, now);
                }
                if dirty <= value("_total") / DIRTY || now >= until || now - fallen >= STILL {
                    return Ok(());
                }
                progress.pause(SECOND / 4)?;
            }
        })
    }

    /// MyRocks: until no flush and no compaction is pending, twice in a row.
    fn compaction(&mut self) -> Result<()> {
        self.once_if_allowed("flush")?;
        let sql = self.tables.one("pending", 0)?;
        let (progress, until) = (self.progress, self.until);
        progress.time("compaction", 0, || {
            let mut idle = 0;
            while idle < 2 && Monotonic.now() < until {
                let pending = first(self.conn, &sql)?.and_then(|n| n.parse::<i64>().ok()).unwrap_or_default();
                idle = if pending == 0 { idle + 1 } else { 0 };
                progress.pause(SECOND / 2)?;
            }
            Ok(())
        })
    }
}
