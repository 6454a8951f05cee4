//! Delivery (clause 2.7): the oldest order of each district that is not delivered.

use dsbench_core::engine::{Connection, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Value};
use dsbench_core::workload::End;

use super::input::Delivery;
use super::sizes::DISTRICTS;
use super::wording::{cents, ints, one, ChangedRow, Speaker, INT, MONEY};
use crate::Call;

#[derive(Debug, Clone, Copy)]
enum Known {
    Procedure(StatementId),
    Statements {
        oldest: StatementId,
        take: StatementId,
        order: ChangedRow,
        lines: StatementId,
        amount: StatementId,
        customer: StatementId,
    },
}

/// What runs a Delivery.
#[derive(Debug, Clone, Copy)]
pub struct Transaction {
    known: Known,
    /// Orders that the last execution delivered: at most one of each district.
    pub delivered: i64,
}

impl Transaction {
    /// Prepares it.
    pub fn prepare(speaker: &mut Speaker<'_>, call: Call) -> Result<Self> {
        let key = [INT; 3];
        let known = match call {
            Call::Procedure => Known::Procedure(speaker.know("call_delivery", &[INT; 2], &[INT])?),
            Call::Statements => Known::Statements {
                oldest: speaker.know("dl_oldest", &[INT; 2], &[INT])?,
                take: speaker.know("dl_take", &key, &[])?,
                order: speaker.know_change("dl_order", [&[INT; 4], &[], &key], &[INT])?,
                lines: speaker.know("dl_lines", &key, &[])?,
                amount: speaker.know("dl_amount", &key, &[MONEY])?,
                customer: speaker.know("dl_customer", &[MONEY, INT, INT, INT], &[])?,
            },
        };
        Ok(Self { known, delivered: 0 })
    }

    /// Runs it. A district without an order to deliver is skipped (clause 2.7.4.2).
    pub fn run(&mut self, conn: &mut dyn Connection, delivery: &Delivery, rows: &mut Rows) -> Result<End> {
        let [w, carrier] = ints([delivery.w, delivery.carrier]);
        self.delivered = 0;
        match self.known {
            Known::Procedure(call) => {
                conn.query(call, &[w, carrier], rows)?;
                self.delivered = rows.int(0, 0)?;
            }
            Known::Statements { .. } => {
                for d in 1..=DISTRICTS as i64 {
                    self.delivered += i64::from(self.deliver(conn, w, Value::Int(d), carrier, rows)?);
                }
            }
        }
        Ok(End::Commit)
    }

    /// Delivers one order; false when there is none.
    fn deliver(
        &self,
        conn: &mut dyn Connection,
        w: Value<'_>,
        d: Value<'_>,
        carrier: Value<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let Known::Statements { oldest, take, order, lines, amount, customer } = self.known else {
            return Err(Error::with(ErrorKind::Statement, "execute", "not prepared as statements"));
        };
        let o = loop {
            conn.query(oldest, &[w, d], rows)?;
            if rows.is_empty() {
                return Ok(false);
            }
            let o = Value::Int(rows.int(0, 0)?);
            // Where a statement sees what others commit, another delivery may have been quicker.
            if conn.execute(take, &[w, d, o])? == 1 {
                break o;
            }
        };
        order.run(conn, &[carrier, w, d, o], 0, &[w, d, o], rows)?;
        let c = Value::Int(rows.int(0, 0)?);
        conn.execute(lines, &[w, d, o])?;
        conn.query(amount, &[w, d, o], rows)?;
        let total = cents(rows.decimal(0, 0, 2)?);
        one(conn.execute(customer, &[total, w, d, c])?)?;
        Ok(true)
    }
}
