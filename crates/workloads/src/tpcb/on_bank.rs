//! A workload on the bank: schema, rows and keys are the bank's, transactions and check those of its entry.

use std::sync::Arc;

use dsbench_core::engine::Connection;
use dsbench_core::error::Result;
use dsbench_core::stage::{Counted, GroupPlan, Stage, Until, Whose, Work};
use dsbench_core::workload::{Client, ClientId, Condition, Expected, Part, Population, Progress, Workload};

use super::bank::{Bank, Shape};
use super::check::loaded;
use crate::{Call, Options};

type Check = fn(&OnBank, &mut dyn Connection, Option<&Expected>) -> Result<Vec<Condition>>;
type MakeClient = fn(&OnBank, ClientId, seed: u64) -> Box<dyn Client>;

/// A workload on the bank; see the module.
pub struct OnBank {
    /// The bank.
    pub bank: Arc<Bank>,
    /// How transactions are sent.
    pub call: Call,
    /// What it was opened with.
    pub options: Options,
    /// Transactions of all streams together in a cycle, an even share by each; `None`: as many as the duration lets.
    pub transactions: Option<u64>,
    kinds: &'static [&'static str],
    check: Check,
    client: MakeClient,
}

impl OnBank {
    /// Opens a workload on a bank of this `shape` whose conditions are those of `check` and whose clients `client`
    /// makes, by number and seed. Errors: see [`crate::open`].
    pub fn open(
        options: &Options,
        shape: &Shape<'_>,
        kinds: &'static [&'static str],
        check: Check,
        client: MakeClient,
    ) -> Result<Box<dyn Workload>> {
        Ok(Box::new(Self::new(options, shape, kinds, check, client)?))
    }

    /// The same, before it is boxed.
    pub fn new(
        options: &Options,
        shape: &Shape<'_>,
        kinds: &'static [&'static str],
        check: Check,
        client: MakeClient,
    ) -> Result<Self> {
        let bank = Arc::new(Bank::new(options.scale, options.dialect, &options.settings, shape)?);
        let (call, options) = (options.call, options.clone());
        Ok(Self { bank, call, options, transactions: None, kinds, check, client })
    }
}

impl Workload for OnBank {
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.bank.create(conn, self.call == Call::Procedure)
    }

    fn rows(&self) -> u64 {
        self.bank.rows()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        self.bank.populate(conn, how, part, progress)
    }

    fn grows(&self, from: u32) -> Result<()> {
        self.bank.grows(from)
    }

    fn reset(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.reset(conn, progress)
    }

    fn grow(&self, conn: &mut dyn Connection, from: u32, part: Part, progress: &Progress) -> Result<()> {
        self.bank.grow(conn, from, part, progress)
    }

    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        self.bank.settle(conn)
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.bank.primary_keys(conn, progress)
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
        let mut conditions = (self.check)(self, conn, expected)?;
        if self.bank.dialect.keeps_data {
            conditions.extend(self.bank.promised().check(self.bank.dialect, conn)?);
            conditions.extend(self.bank.laid(conn)?);
            conditions.extend(loaded(&self.bank, conn)?);
        }
        Ok(conditions)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        (self.client)(self, who, seed)
    }

    fn stages(&self) -> Vec<Stage> {
        let mut stages = Stage::ladder();
        if let Some(count) = self.transactions {
            let until = Some(Until::Count { counted: Counted::Transactions, count, of: Whose::Share });
            let groups = vec![GroupPlan { name: "streams".into(), until, ..GroupPlan::all() }];
            stages[1].work = Work::Load { groups, repeated: true, cleaned: true };
        }
        stages
    }
}
