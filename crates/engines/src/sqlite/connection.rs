//! A session on the file.

use std::sync::Arc;
use std::time::Duration;

use dsbench_core::engine::{BulkLoad, Connection, Described, Interrupt, Prepare, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Table, Type, Value};
use libsqlite3_sys as ffi;

use super::codes::During;
use super::convert;
use super::doing;
use super::raw::{Db, Stmt};
use super::target::Target;
use super::waiting::Waiting;
use crate::misuse::unknown;

/// A statement that the client made known; parsed unless it is to be parsed every time.
struct Known {
    sql: Box<str>,
    params: Box<[Type]>,
    columns: Box<[Type]>,
    parsed: Option<Stmt>,
}

/// A session. Fields are dropped in their order: the statements before the database.
pub(super) struct Session {
    known: Vec<Known>,
    begin: Stmt,
    begin_reading: Stmt,
    commit: Stmt,
    rollback: Stmt,
    pub(super) db: Db,
    /// Whether the session enforces foreign keys, when it does not load rows.
    pub(super) foreign_keys: bool,
    /// How long a query may take that is read as text.
    longest: Option<Duration>,
}

impl Session {
    /// Sets up a session on an open database.
    pub(super) fn new(db: Db, target: &Target) -> Result<Self> {
        for pragma in &target.pragmas {
            script(&db, &format!("PRAGMA {pragma}"), During::Connect)?;
        }
        Ok(Self {
            known: Vec::new(),
            begin: db.statement(target.begin, true)?,
            begin_reading: db.statement("BEGIN DEFERRED", true)?,
            commit: db.statement("COMMIT", true)?,
            rollback: db.statement("ROLLBACK", true)?,
            db,
            foreign_keys: target.foreign_keys,
            longest: None,
        })
    }

    /// An error once another thread ended the session.
    fn alive(&self, during: During) -> Result<()> {
        match self.db.waiting().is_ended() {
            false => Ok(()),
            // Nothing of a commit was begun, so it is not unknown how it ended.
            true if during == During::Commit => Err(self.db.error(ffi::SQLITE_INTERRUPT, During::Execute)),
            true => Err(self.db.error(ffi::SQLITE_INTERRUPT, during)),
        }
    }

    /// Gives the number of rows that it returned.
    fn run(&mut self, id: StatementId, params: &[Value<'_>], into: Option<&mut Rows>) -> Result<u64> {
        self.alive(During::Execute)?;
        self.db.waiting().doing.begin(id.0);
        let done = self.run_known(id, params, into);
        self.db.waiting().doing.end(self.db.is_idle());
        done
    }

    /// Runs one of the three statements around a transaction.
    fn run_own(&self, number: u32, statement: &Stmt, during: During) -> Result<()> {
        self.db.waiting().doing.begin(number);
        let done = finish(&self.db, statement, during);
        self.db.waiting().doing.end(self.db.is_idle());
        done
    }

    fn run_known(&mut self, id: StatementId, params: &[Value<'_>], into: Option<&mut Rows>) -> Result<u64> {
        let known = self.known.get_mut(id.0 as usize).ok_or_else(|| unknown(id, "execute"))?;
        if let Some(statement) = &mut known.parsed {
            return run(&self.db, statement, &known.params, &known.columns, params, into);
        }
        let mut statement = self.db.statement(&known.sql, false)?;
        let declared = Statement { sql: &known.sql, params: &known.params, columns: &known.columns };
        convert::matches(&statement, &declared)?;
        run(&self.db, &mut statement, &known.params, &known.columns, params, into)
    }

    /// Opens a transaction by the engine's own statement.
    pub(super) fn open_transaction(&mut self) -> Result<()> {
        self.alive(During::Begin)?;
        self.run_own(doing::BEGIN, &self.begin, During::Begin)
    }
}

/// Binds, runs to the end and resets, so that no lock outlives the call; gives the number of rows that came.
fn run(
    db: &Db,
    statement: &mut Stmt,
    types: &[Type],
    columns: &[Type],
    params: &[Value<'_>],
    mut into: Option<&mut Rows>,
) -> Result<u64> {
    // SAFETY: `params` outlives this call, and the statement is reset before it ends.
    let bound = unsafe { convert::bind(statement, types, params) };
    if let Some(rows) = into.as_deref_mut() {
        rows.reset(columns.len());
    }
    let mut count = 0;
    let result = bound.and_then(|()| loop {
        match statement.step() {
            ffi::SQLITE_ROW => {
                count += 1;
                if let Some(rows) = into.as_deref_mut() {
                    if let Err(error) = convert::read_row(statement, columns, rows) {
                        break Err(error);
                    }
                }
            }
            ffi::SQLITE_DONE => break Ok(count),
            code => break Err(db.error(code, During::Execute)),
        }
    });
    statement.reset();
    result
}

/// Runs a statement without parameters to its end.
pub(super) fn finish(db: &Db, statement: &Stmt, during: During) -> Result<()> {
    let result = loop {
        match statement.step() {
            ffi::SQLITE_ROW => {}
            ffi::SQLITE_DONE => break Ok(()),
            code => break Err(db.error(code, during)),
        }
    };
    statement.reset();
    result
}

/// Runs every statement in `sql`; what they return is dropped.
pub(super) fn script(db: &Db, sql: &str, during: During) -> Result<()> {
    let mut rest = sql;
    while !rest.is_empty() {
        let (statement, read) = db.prepare(rest, false)?;
        if let Some(statement) = statement {
            finish(db, &statement, during)?;
        }
        rest = &rest[read..];
    }
    Ok(())
}

/// Runs one query and gives all of it as text.
pub(super) fn fetch(db: &Db, sql: &str) -> Result<Table> {
    let mut statement = db.statement(sql, false)?;
    let width = statement.columns();
    let columns = (0..width).map(|at| statement.column_name(at)).collect();
    let mut rows = Vec::new();
    loop {
        match statement.step() {
            ffi::SQLITE_ROW => {
                let mut cell = |at| {
                    let null = statement.column_type(at) == ffi::SQLITE_NULL;
                    (!null).then(|| String::from_utf8_lossy(statement.column_text(at)).into_owned())
                };
                rows.push((0..width).map(&mut cell).collect());
            }
            ffi::SQLITE_DONE => return Ok(Table { columns, rows }),
            code => return Err(db.error(code, During::Execute)),
        }
    }
}

impl Connection for Session {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        self.alive(During::Prepare)?;
        let parsed = match when {
            Prepare::Never => None,
            Prepare::Once => {
                let parsed = self.db.statement(statement.sql, true)?;
                convert::matches(&parsed, statement)?;
                Some(parsed)
            }
        };
        let (params, columns) = (statement.params.into(), statement.columns.into());
        self.db.waiting().doing.add(statement.sql);
        self.known.push(Known { sql: statement.sql.into(), params, columns, parsed });
        Ok(StatementId(self.known.len() as u32 - 1))
    }

    /// Says nothing of parameters, which have no types. An expression is taken for an integer.
    fn describe(&mut self, sql: &str) -> Result<Described> {
        self.alive(During::Prepare)?;
        let parsed = self.db.statement(sql, false)?;
        let kind = |at| parsed.column_declared(at).map_or(Some(Type::Int64), |words| convert::type_of(&words));
        let columns = (0..parsed.columns()).map(|at| (parsed.column_name(at), kind(at))).collect();
        Ok(Described { params: Vec::new(), columns })
    }

    fn begin(&mut self) -> Result<()> {
        self.open_transaction()
    }

    /// Deferred: it never waits for the one writer, and sees what was committed when it first reads.
    fn begin_reading(&mut self) -> Result<()> {
        self.alive(During::Begin)?;
        self.run_own(doing::BEGIN, &self.begin_reading, During::Begin)
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        let before = self.db.total_changes();
        let returned = self.run(id, params, None)?;
        // `changes` keeps the number of an earlier statement when this one changed nothing by its kind.
        Ok(if self.db.total_changes() == before { returned } else { self.db.changes() })
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.run(id, params, Some(into)).map(|_| ())
    }

    fn commit(&mut self) -> Result<()> {
        self.alive(During::Commit)?;
        self.run_own(doing::COMMIT, &self.commit, During::Commit)
    }

    fn rollback(&mut self) -> Result<()> {
        // Some errors (full disk, interrupt) end the transaction by themselves.
        if self.db.is_idle() {
            return Ok(());
        }
        self.run_own(doing::ROLLBACK, &self.rollback, During::Rollback)
    }

    fn in_transaction(&mut self) -> bool {
        !self.db.waiting().is_ended() && !self.db.is_idle()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.alive(During::Execute)?;
        sql.iter().try_for_each(|sql| script(&self.db, sql, During::Execute))
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.alive(During::Execute)?;
        if self.longest.is_none() {
            return fetch(&self.db, sql);
        }
        self.db.waiting().limit(self.longest);
        let done = fetch(&self.db, sql);
        self.db.waiting().limit(None);
        done
    }

    fn limit(&mut self, longest: Duration) -> Result<bool> {
        self.longest = Some(longest);
        Ok(true)
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        Some(self)
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        Some(Box::new(Ending(Arc::clone(self.db.waiting()))))
    }
}

struct Ending(Arc<Waiting>);

impl Interrupt for Ending {
    fn interrupt(&self) {
        self.0.end();
    }
}
