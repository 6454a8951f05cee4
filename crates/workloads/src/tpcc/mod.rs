//! TPC-C, revision 5.11: the wholesale company with its five transactions.
//!
//! Results are "NOPM", committed New-Orders per minute, and never tpmC: what makes a TPC result (an
//! audited report, a price, the ratio of terminals to warehouses) is not here.
//!
//! Sent as procedures, a transaction is one round trip. Sent as statements, New-Order is a block of some
//! 40, or of 7 where the lines go as arrays (PostgreSQL); Stock-Level is one statement either way. Deliveries run inline: their time is that of the
//! execution, not that of queueing.

pub mod bad_credit;
pub mod check;
pub mod client;
pub mod company;
pub mod deck;
pub mod delivery;
pub mod entry;
pub mod input;
pub mod kept;
pub mod names;
pub mod new_order;
pub mod nurand;
pub mod order_status;
pub mod payment;
pub mod rows;
pub mod sizes;
pub mod stock_level;
pub mod wording;

use std::sync::Arc;

use dsbench_core::engine::Connection;
use dsbench_core::error::Result;
use dsbench_core::workload::{
    Client, ClientId, Condition, Expected, KindId, Pace, Part, Population, Progress, Workload,
};

use crate::entry::names_of;
use crate::{Call, Options, Settings};
use client::{Plan, TpccClient};
use company::Company;
use deck::Mix;
use entry::ENTRY;
use sizes::Sizes;

/// Number of the kind New-Order.
pub const NEW_ORDER: KindId = 0;
/// Number of the kind Payment.
pub const PAYMENT: KindId = 1;
/// Number of the kind Order-Status.
pub const ORDER_STATUS: KindId = 2;
/// Number of the kind Delivery.
pub const DELIVERY: KindId = 3;
/// Number of the kind Stock-Level.
pub const STOCK_LEVEL: KindId = 4;

struct Tpcc {
    company: Arc<Company>,
    plan: Plan,
    settings: Settings,
}

/// Opens the workload. Errors: see [`crate::open`].
fn open(options: &Options) -> Result<Box<dyn Workload>> {
    let plan = plan_of(options.call, &options.settings);
    let keys = ENTRY.value(&options.settings, "foreign_keys") == "on";
    let sizes = Sizes::of(&options.settings);
    let company = Arc::new(Company::new(options.scale, sizes, options.dialect, keys)?);
    Ok(Box::new(Tpcc { company, plan, settings: options.settings.clone() }))
}

fn plan_of(call: Call, settings: &Settings) -> Plan {
    Plan { call, mix: Mix::of(settings), affinity: ENTRY.value(settings, "affinity") == "on" }
}

impl Workload for Tpcc {
    fn kinds(&self) -> &'static [&'static str] {
        const { &names_of(entry::KINDS) }
    }

    fn pace(&self, kind: KindId) -> Option<Pace> {
        ENTRY.pace(kind, &self.settings)
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.company.create(conn)
    }

    fn rows(&self) -> u64 {
        self.company.rows()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(self.company.rows());
        self.company.populate(conn, how, part, progress)
    }

    /// The primary keys and the two further indexes.
    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&self.company.sql.script("settle"))
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.company.steps(conn, "primary_keys", progress)
    }

    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.company.foreign_keys(conn, progress)
    }

    /// Space of dead rows is freed for reuse and statistics are brought up to date; no checkpoint,
    /// whose cost belongs to the cycles.
    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.company.steps(conn, "clean", progress)
    }

    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        check::check(&self.company, conn, expected)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(TpccClient::new(Arc::clone(&self.company), self.plan, who, seed))
    }
}
