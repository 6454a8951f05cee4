//! Point selects: the balance of one account, uniform over all, on the bank of `tpcb`.
//!
//! Sent as a statement or as a call of a function it is one round trip either way; the function costs
//! the server one more level of execution. Default: the function where there are any, as in the paper, section 4.2.

pub mod entry;

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Client, Condition, Drawn, End, Expected, Shape, Workload};

use crate::entry::names_of;
use crate::steps::nothing_kept;
use crate::tpcb::bank::{Bank, TPCB};
use crate::tpcb::check::Totals;
use crate::tpcb::on_bank::OnBank;
use crate::tpcb::rows::Table;
use crate::{Call, Options};

/// Opens the workload. Errors: see [`crate::open`].
fn open(options: &Options) -> Result<Box<dyn Workload>> {
    OnBank::open(options, &TPCB, const { &names_of(entry::KINDS) }, check, |at, who, seed| {
        let id = who.id;
        let bank = Arc::clone(&at.bank);
        Box::new(SelectClient { bank, call: at.call, id, seed, aid: 0, select: None, rows: Rows::new() })
    })
}

/// The rows are all there and nobody wrote to them.
fn check(at: &OnBank, conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
    let bank = &at.bank;
    if !bank.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    let totals = Totals::read(bank, conn)?;
    Ok(totals.scaled(bank).into_iter().chain(totals.untouched(bank)).collect())
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
        let statement =
            Statement { sql: self.bank.sql.one(name)?, params: &[self.bank.account_key()], columns: &[Type::Int64] };
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
