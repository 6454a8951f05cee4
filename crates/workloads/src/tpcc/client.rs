//! One client of TPC-C: what it draws, how it runs it, what it counts.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Client, ClientId, Drawn, End, KindId, Shape};

use super::company::Company;
use super::deck::{Deck, Mix};
use super::input::{Delivery, Home, NewOrder, OrderStatus, Payment, StockLevel, Who};
use super::nurand::{Constants, C_LOAD};
use super::sizes::DISTRICTS;
use super::wording::Speaker;
use super::{delivery, new_order, order_status, payment, stock_level};
use super::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use crate::Call;

/// How clients work.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How transactions are sent.
    pub call: Call,
    /// Cards of each kind.
    pub mix: Mix,
    /// Whether a client has a home warehouse, or a share of them.
    pub affinity: bool,
}

/// Inputs of the transaction drawn last.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation for each order")]
enum Inputs {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// All transactions, prepared.
struct Known {
    new_order: new_order::Transaction,
    payment: payment::Transaction,
    order_status: order_status::Transaction,
    delivery: delivery::Transaction,
    stock_level: stock_level::Transaction,
}

/// What the validity of a run is judged by, over the transactions that ended as they asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    new_orders: i64,
    order_customers: i64,
    rolled_back: i64,
    lines: i64,
    remote_lines: i64,
    brand_lines: i64,
    payments: i64,
    remote_payments: i64,
    payments_by_name: i64,
    order_statuses: i64,
    order_statuses_by_name: i64,
    deliveries: i64,
    delivery_transactions: i64,
    deliveries_with_skip: i64,
    skipped: i64,
}

/// A simulated user of the company.
pub struct TpccClient {
    company: Arc<Company>,
    plan: Plan,
    who: ClientId,
    seed: u64,
    deck: Deck,
    constants: Constants,
    /// The constant of the last names was read from the database.
    constants_read: bool,
    inputs: Inputs,
    known: Option<Known>,
    rows: Rows,
    sums: Sums,
}

impl TpccClient {
    /// The client `who` with the stream of `seed`.
    pub fn new(company: Arc<Company>, plan: Plan, who: ClientId, seed: u64) -> Self {
        Self {
            plan,
            who,
            seed,
            deck: Deck::new(plan.mix),
            constants: Constants::new(seed, C_LOAD, &company.sizes),
            company,
            constants_read: false,
            inputs: Inputs::Delivery(Delivery::default()),
            known: None,
            rows: Rows::new(),
            sums: Sums::default(),
        }
    }

    /// Takes the constant with which the database was populated, so that those of the run fit it.
    fn read_constants(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        if self.constants_read || !self.company.dialect.keeps_data {
            return Ok(());
        }
        let mut speaker = Speaker { conn, sql: &self.company.sql, when };
        let query = speaker.know("c_load", &[], &[Type::Int32])?;
        conn.query(query, &[], &mut self.rows)?;
        self.constants = Constants::new(self.seed, self.rows.int(0, 0)?, &self.company.sizes);
        self.constants_read = true;
        Ok(())
    }

    fn draw_inputs(&self, kind: KindId, stream: &mut Stream) -> Inputs {
        let home = match self.plan.affinity {
            true => Home::among(stream, self.who.id, self.who.clients, self.company.scale),
            false => Home::draw(stream, self.company.scale),
        };
        match kind {
            NEW_ORDER => Inputs::NewOrder(NewOrder::draw(stream, &self.constants, home)),
            PAYMENT => Inputs::Payment(Payment::draw(stream, &self.constants, home)),
            ORDER_STATUS => Inputs::OrderStatus(OrderStatus::draw(stream, &self.constants, home)),
            DELIVERY => Inputs::Delivery(Delivery::draw(stream, home)),
            _ => Inputs::StockLevel(StockLevel::draw(stream, home)),
        }
    }

    /// Counts the transaction drawn last.
    fn count(&mut self, end: End) {
        let sums = &mut self.sums;
        let named = |who| i64::from(matches!(who, Who::Name(_)));
        match &self.inputs {
            Inputs::NewOrder(order) => {
                sums.new_orders += 1;
                sums.rolled_back += i64::from(end == End::Rollback);
                sums.order_customers += if end == End::Commit { order.c } else { 0 };
                sums.lines += order.lines().len() as i64;
                sums.remote_lines += order.remote_lines() as i64;
                sums.brand_lines += self.known.as_ref().map_or(0, |known| known.new_order.brands());
            }
            Inputs::Payment(payment) => {
                sums.payments += 1;
                sums.remote_payments += i64::from(payment.is_remote());
                sums.payments_by_name += named(payment.who);
            }
            Inputs::OrderStatus(status) => {
                sums.order_statuses += 1;
                sums.order_statuses_by_name += named(status.who);
            }
            Inputs::Delivery(_) => {
                let delivered = self.known.as_ref().map_or(0, |known| known.delivery.delivered);
                let skipped = DISTRICTS as i64 - delivered;
                sums.deliveries += delivered;
                sums.delivery_transactions += 1;
                sums.deliveries_with_skip += i64::from(skipped > 0);
                sums.skipped += skipped;
            }
            Inputs::StockLevel(_) => {}
        }
    }
}

impl Client for TpccClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let call = self.plan.call;
        let mut speaker = Speaker { conn, sql: &self.company.sql, when };
        self.known = Some(Known {
            new_order: new_order::Transaction::prepare(&mut speaker, call)?,
            payment: payment::Transaction::prepare(&mut speaker, call)?,
            order_status: order_status::Transaction::prepare(&mut speaker, call)?,
            delivery: delivery::Transaction::prepare(&mut speaker, call)?,
            stock_level: stock_level::Transaction::prepare(&mut speaker)?,
        });
        // Last, because only the first connection of a client needs it: the numbers of all other
        // statements are the same on each.
        self.read_constants(conn, when)
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let kind = self.deck.card(self.seed, self.who.id, number);
        self.inputs = self.draw_inputs(kind, &mut Stream::new(self.seed, self.who.id, number));
        let shape = match (self.plan.call, kind) {
            (Call::Procedure, _) | (_, STOCK_LEVEL) => Shape::Single,
            (Call::Statements, ORDER_STATUS) => Shape::ReadBlock,
            (Call::Statements, _) => Shape::Block,
        };
        Drawn { kind, shape }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let not_prepared = || Error::with(ErrorKind::Statement, "execute", "the client was not prepared");
        let known = self.known.as_mut().ok_or_else(not_prepared)?;
        let (names, rows) = (&self.company.names, &mut self.rows);
        match &self.inputs {
            Inputs::NewOrder(order) => known.new_order.run(conn, order, rows),
            Inputs::Payment(payment) => known.payment.run(conn, payment, names, rows),
            Inputs::OrderStatus(status) => known.order_status.run(conn, status, names, rows),
            Inputs::Delivery(delivery) => known.delivery.run(conn, delivery, rows),
            Inputs::StockLevel(level) => known.stock_level.run(conn, level, rows),
        }
    }

    fn committed(&mut self) {
        self.count(End::Commit);
    }

    fn rolled_back(&mut self) {
        self.count(End::Rollback);
    }

    fn describe(&self) -> String {
        match &self.inputs {
            Inputs::NewOrder(order) => format!("{order:?}"),
            Inputs::Payment(payment) => format!("{payment:?}"),
            Inputs::OrderStatus(status) => format!("{status:?}"),
            Inputs::Delivery(delivery) => format!("{delivery:?}"),
            Inputs::StockLevel(level) => format!("{level:?}"),
        }
    }

    /// `new_orders`, those rolled back included, `new_orders_rolled_back`, `order_customers`: sum of the numbers of
    /// customers of those committed, `order_lines`, `remote_lines`,
    /// `brand_lines`: shown as brand in orders that were committed, `payments`, `remote_payments`, `payments_by_name`, `order_statuses`, `order_statuses_by_name`, `by_name`
    /// of `by_name_of` customers: those of both kinds; `deliveries`: orders delivered,
    /// `delivery_transactions`, of which `deliveries_with_skip` skipped a district; `districts_skipped`.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        let sums = &self.sums;
        vec![
            ("new_orders", sums.new_orders),
            ("order_customers", sums.order_customers),
            ("new_orders_rolled_back", sums.rolled_back),
            ("order_lines", sums.lines),
            ("remote_lines", sums.remote_lines),
            ("brand_lines", sums.brand_lines),
            ("payments", sums.payments),
            ("remote_payments", sums.remote_payments),
            ("payments_by_name", sums.payments_by_name),
            ("order_statuses", sums.order_statuses),
            ("order_statuses_by_name", sums.order_statuses_by_name),
            ("by_name", sums.payments_by_name + sums.order_statuses_by_name),
            ("by_name_of", sums.payments + sums.order_statuses),
            ("deliveries", sums.deliveries),
            ("delivery_transactions", sums.delivery_transactions),
            ("deliveries_with_skip", sums.deliveries_with_skip),
            ("districts_skipped", sums.skipped),
        ]
    }
}
