//! TPC-B, revision 2.0: updates of a bank's accounts, tellers and branches, and a history.
//!
//! Results are "tps (TPC-B-like)": what makes a TPC result (an audited report, a price) is not here.
//! Sent as a procedure, a transaction is one round trip, as in the paper, section 4.2; sent as
//! statements it is seven: BEGIN, five statements, COMMIT.

pub mod bank;
pub mod check;
pub mod client;
pub mod rows;

use std::sync::Arc;

use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::Result;
use dsbench_core::workload::{Client, ClientId, Condition, Expected, Part, Population, Progress, Workload};

use crate::{Call, Options};
use bank::Bank;
use client::TpcbClient;

struct Tpcb {
    bank: Arc<Bank>,
    call: Call,
}

/// Opens the workload. Errors: see [`crate::open`].
pub(crate) fn open(options: &Options) -> Result<Box<dyn Workload>> {
    options.settings.only("tpcb", &[])?;
    Ok(Box::new(Tpcb { bank: Arc::new(Bank::new(options.scale, options.dialect)?), call: options.call }))
}

/// One call of a procedure, where there are procedures.
pub(crate) fn default_call(dialect: &Dialect) -> Call {
    match dialect.procedures {
        true => Call::Procedure,
        false => Call::Statements,
    }
}

impl Workload for Tpcb {
    fn kinds(&self) -> &'static [&'static str] {
        &["tpcb"]
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

    /// Space of dead rows is freed for reuse and statistics are brought up to date; no checkpoint,
    /// whose cost belongs to the cycles.
    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.steps(conn, "clean", progress)
    }

    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        check::check(&self.bank, conn, expected)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(TpcbClient::new(Arc::clone(&self.bank), self.call, who.id, seed))
    }
}
