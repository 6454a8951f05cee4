//! Point selects: the balance of one account, uniform over all, on the bank of `tpcb`.
//!
//! Sent as a statement or as a call of a function it is one round trip either way; the function costs
//! the server one more level of execution. Default: the statement.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Dialect, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{
    Client, ClientId, Condition, Drawn, End, Expected, Part, Population, Progress, Shape, Workload,
};

use crate::tpcb::bank::Bank;
use crate::tpcb::check::{not_checkable, Totals};
use crate::tpcb::rows::Table;
use crate::{Call, Options};

struct Select {
    bank: Arc<Bank>,
    call: Call,
}

/// Opens the workload. Errors: see [`crate::open`].
pub(crate) fn open(options: &Options) -> Result<Box<dyn Workload>> {
    options.settings.only("select", &[])?;
    Ok(Box::new(Select { bank: Arc::new(Bank::new(options.scale, options.dialect)?), call: options.call }))
}

/// The stored function where there are any, as in the paper, section 4.2; the plain statement is one
/// round trip as well.
pub(crate) fn default_call(dialect: &Dialect) -> Call {
    crate::tpcb::default_call(dialect)
}

impl Workload for Select {
    fn kinds(&self) -> &'static [&'static str] {
        &["select"]
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.bank.create(conn)
    }

    fn rows(&self) -> u64 {
        self.bank.rows()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        self.bank.populate(conn, how, part, progress)
    }

    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&self.bank.sql.script("settle"))
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.steps(conn, "primary_keys", progress)
    }

    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.foreign_keys(conn, progress)
    }

    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.steps(conn, "clean", progress)
    }

    /// The rows are all there and nobody wrote to them.
    fn check(&self, conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        if !self.bank.dialect.keeps_data {
            return Ok(not_checkable());
        }
        let totals = Totals::read(&self.bank, conn)?;
        Ok(totals.scaled(&self.bank).into_iter().chain(totals.untouched()).collect())
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        let bank = Arc::clone(&self.bank);
        Box::new(SelectClient { bank, call: self.call, id: who.id, seed, aid: 0, select: None, rows: Rows::new() })
    }
}

struct SelectClient {
    bank: Arc<Bank>,
    call: Call,
    id: u64,
    seed: u64,
    aid: i64,
    select: Option<StatementId>,
    rows: Rows,
}

impl Client for SelectClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let name = match self.call {
            Call::Procedure => "call_select",
            Call::Statements => "select_account",
        };
        let statement = Statement { sql: self.bank.sql.one(name)?, params: &[Type::Int32], columns: &[Type::Int64] };
        self.select = Some(conn.prepare(&statement, when)?);
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let mut stream = Stream::new(self.seed, self.id, number);
        self.aid = stream.below(self.bank.rows_of(Table::Account)) as i64 + 1;
        Drawn { kind: 0, shape: Shape::Single }
    }

    /// The balance must be there and be a number.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let not_prepared = || Error::with(ErrorKind::Statement, "execute", "the client was not prepared");
        let select = self.select.ok_or_else(not_prepared)?;
        conn.query(select, &[Value::Int(self.aid)], &mut self.rows)?;
        self.rows.int(0, 0)?;
        Ok(End::Commit)
    }
    fn describe(&self) -> String {
        format!("select aid={}", self.aid)
    }
}
