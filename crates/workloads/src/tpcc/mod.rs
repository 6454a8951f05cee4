//! TPC-C, revision 5.11: the wholesale company with its five transactions.
//!
//! Results are "NOPM", committed New-Orders per minute, and never tpmC: what makes a TPC result (an
//! audited report, a price, the ratio of terminals to warehouses) is not here.
//!
//! Sent as procedures, a transaction is one round trip. Sent as statements, New-Order is a block of some
//! 40, or of 7 where the lines go as arrays (PostgreSQL); Stock-Level is one statement either way. Deliveries run inline: their time is that of the
//! execution, not that of queueing.

pub mod check;
pub mod client;
pub mod company;
pub mod deck;
pub mod delivery;
pub mod input;
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

use dsbench_core::clock::Nanos;
use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::Result;
use dsbench_core::workload::{Client, Condition, Expected, KindId, Pace, Part, Population, Progress, Workload};

use crate::{Call, Options, Settings};
use client::{Place, Plan, TpccClient};
use company::Company;
use deck::Mix;
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

const KINDS: &[&str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Names of its settings; see [`plan_of`].
pub(crate) const SETTINGS: &[&str] = &["mix", "affinity", "delivery", "foreign_keys", "size"];

const SECOND: Nanos = 1_000_000_000;

/// Keying and mean think time of each kind, in seconds (clause 5.2.5.7).
const PACES_S: [(Nanos, Nanos); deck::KINDS] = [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)];

struct Tpcc {
    company: Arc<Company>,
    plan: Plan,
}

/// Opens the workload. Errors: see [`crate::open`].
pub(crate) fn open(options: &Options) -> Result<Box<dyn Workload>> {
    let plan = plan_of(options.call, &options.settings)?;
    let keys = options.settings.word("foreign_keys", &["on", "off"])? == 0;
    let sizes = options.settings.get("size").map_or(Ok(Sizes::default()), Sizes::parse)?;
    Ok(Box::new(Tpcc { company: Arc::new(Company::new(options.scale, sizes, options.dialect, keys)?), plan }))
}

/// `mix`: cards of each kind; `affinity`: on, each client has a home warehouse (or, when there are fewer
/// clients than warehouses, a share of them), off, it draws one for each transaction; `delivery`: inline, the
/// terminal waits for it, or deferred, it does not. [`open`] reads the rest: `foreign_keys`, on or off, and `size`,
/// the part of the specification's rows that is there.
fn plan_of(call: Call, settings: &Settings) -> Result<Plan> {
    settings.only("tpcc", SETTINGS)?;
    let deferred = settings.word("delivery", &["inline", "deferred"])? == 1;
    let mix = settings.get("mix").map_or(Ok(Mix::default()), Mix::parse)?;
    let affinity = settings.word("affinity", &["on", "off"])? == 0;
    Ok(Plan { call, mix, affinity, deferred })
}

/// One call of a procedure, where there are procedures.
pub(crate) fn default_call(dialect: &Dialect) -> Call {
    match dialect.procedures {
        true => Call::Procedure,
        false => Call::Statements,
    }
}

impl Workload for Tpcc {
    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn pace(&self, kind: KindId) -> Option<Pace> {
        let (keying, think) = PACES_S.get(usize::from(kind))?;
        let waits = kind != DELIVERY || !self.plan.deferred;
        Some(Pace { keying: keying * SECOND, mean_think: think * SECOND, waits })
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

    fn client(&self, id: u64, seed: u64) -> Box<dyn Client> {
        self.client_among(id, u64::MAX, seed)
    }

    fn client_among(&self, id: u64, clients: u64, seed: u64) -> Box<dyn Client> {
        Box::new(TpccClient::new(Arc::clone(&self.company), self.plan, Place { id, clients }, seed))
    }
}
