//! The verbs of a session.

use std::time::Duration;

use dsbench_core::engine::{BulkLoad, Connection, Described, Interrupt, Prepare, Statement, StatementId};
use dsbench_core::error::{Code, Result};
use dsbench_core::value::{Rows, Table, Value};

use super::api::Handle;
use super::attachment::Attachment;
use super::reading::Reading;
use super::statement::Prepared;
use super::sweep::Sweep;
use super::{blocks, codes, text};
use crate::misuse::{nothing_to_commit, open_already, unknown};

/// A session with a database.
pub(super) struct Session {
    pub(super) at: Attachment,
    statements: Vec<Prepared>,
    /// The open transaction; 0 when there is none.
    transaction: Handle,
    /// How its transactions are asked for.
    parameters: Box<[u8]>,
    reading: Reading,
    sweep: Sweep,
    /// How long a query may take that is read as text.
    longest: Option<Duration>,
}

impl Session {
    /// The verbs of a fresh attachment; `parameters` are those of its transactions.
    pub(super) fn new(at: Attachment, parameters: Vec<u8>, reading: Reading, sweep: Sweep) -> Self {
        Self {
            at,
            statements: Vec::new(),
            transaction: 0,
            parameters: parameters.into(),
            reading,
            sweep,
            longest: None,
        }
    }

    /// Runs a statement: in the open transaction, or a SELECT in the one that only reads, or in one of
    /// its own: start, execution, commit.
    #[inline]
    fn run(&mut self, id: StatementId, params: &[Value<'_>], into: Option<&mut Rows>) -> Result<u64> {
        self.at.alive("execute")?;
        let statement = self.statements.get_mut(id.0 as usize).ok_or_else(|| unknown(id, "execute"))?;
        if self.transaction != 0 {
            return statement.run(&mut self.at, &mut self.transaction, params, into);
        }
        let mut into = into;
        if statement.only_reads() {
            if let Some(transaction) = self.reading.transaction(&mut self.at)? {
                let done = statement.run(&mut self.at, transaction, params, into.as_deref_mut());
                match done {
                    Err(error) if error.code == Code::number(codes::READ_ONLY) => statement.turned_out_to_write(),
                    done => return done,
                }
            }
        }
        self.at.within(&self.parameters, |at, transaction| statement.run(at, transaction, params, into))
    }

    /// Refuses what cannot be part of an open transaction.
    pub(super) fn outside_of_transaction(&self, context: &'static str) -> Result<()> {
        match self.transaction {
            0 => Ok(()),
            _ => Err(open_already(context)),
        }
    }
}

impl Connection for Session {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        self.at.alive("prepare")?;
        let id = StatementId(self.statements.len() as u32);
        let prepared = match self.transaction {
            0 => self.at.within(&blocks::reading(), |at, own| Prepared::new(at, own, statement, when))?,
            _ => Prepared::new(&mut self.at, &mut self.transaction, statement, when)?,
        };
        self.statements.push(prepared);
        Ok(id)
    }

    fn describe(&mut self, sql: &str) -> Result<Described> {
        self.at.alive("prepare")?;
        match self.transaction {
            0 => self.at.within(&blocks::reading(), |at, own| Prepared::told(at, own, sql)),
            _ => Prepared::told(&mut self.at, &mut self.transaction, sql),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.at.alive("begin")?;
        self.outside_of_transaction("begin")?;
        self.transaction = self.at.start(&self.parameters)?;
        Ok(())
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.run(id, params, None)
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.run(id, params, Some(into)).map(|_| ())
    }

    fn commit(&mut self) -> Result<()> {
        self.at.alive("commit")?;
        if self.transaction == 0 {
            return Err(nothing_to_commit());
        }
        self.at.commit(&mut self.transaction)
    }

    fn rollback(&mut self) -> Result<()> {
        if self.transaction == 0 {
            return Ok(());
        }
        self.at.alive("rollback").inspect_err(|_| self.transaction = 0)?;
        self.at.rollback(&mut self.transaction)
    }

    /// The client library itself says which transaction each statement belongs to.
    fn in_transaction(&mut self) -> bool {
        self.transaction != 0 && self.at.alive("transaction").is_ok()
    }

    /// Statements belong to the open transaction, where there is one. Takes `SWEEP` for what `gfix -sweep`
    /// does: SQL has no word for it.
    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.at.alive("execute")?;
        self.reading.end(&mut self.at);
        sql.iter().try_for_each(|sql| match self.transaction {
            _ if sql.trim().eq_ignore_ascii_case("sweep") => self.sweep.run(self.at.api),
            0 => self.at.within(&blocks::schema(), |at, transaction| at.immediate(transaction, sql)),
            _ => self.at.immediate(&mut self.transaction, sql),
        })
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.at.alive("fetch")?;
        let gate = self.at.gate();
        let mut work = || match self.transaction {
            0 => self.at.within(&blocks::reading(), |at, transaction| text::fetch(at, transaction, sql)),
            _ => text::fetch(&mut self.at, &mut self.transaction, sql),
        };
        match self.longest {
            Some(longest) => gate.limited(longest, work),
            None => work(),
        }
    }

    /// By a thread that asks the server to end the statement: version 3 has no limit of its own.
    fn limit(&mut self, longest: Duration) -> Result<bool> {
        self.longest = Some(longest);
        Ok(true)
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        Some(self)
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        Some(self.at.interrupt())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Firebird refuses to close a session that has a transaction.
        if self.transaction != 0 {
            self.at.undo(&mut self.transaction);
        }
        self.reading.end(&mut self.at);
    }
}
