//! Order-Status (clause 2.6).

use dsbench_core::engine::{Connection, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::End;

use super::input::OrderStatus;
use super::names::Names;
use super::payment::{find, id_or_name};
use super::wording::{ints, one, Speaker, INT, MONEY, TEXT, TIME};
use crate::Call;

/// What is shown of the customer: names and balance.
const CUSTOMER: &[Type] = &[TEXT, TEXT, TEXT, MONEY];
/// What is shown of the order: number, entry, carrier.
const ORDER: &[Type] = &[INT, TIME, INT];
/// What is shown of a line: item, supplying warehouse, quantity, amount, delivery.
const LINE: &[Type] = &[INT, INT, INT, MONEY, TIME];

#[derive(Debug, Clone, Copy)]
enum Known {
    Procedure(StatementId),
    Statements { by_name: StatementId, customer: StatementId, order: StatementId, lines: StatementId },
}

/// What runs an Order-Status.
#[derive(Debug, Clone, Copy)]
pub struct Transaction(Known);

impl Transaction {
    /// Prepares it.
    pub fn prepare(speaker: &mut Speaker<'_>, call: Call) -> Result<Self> {
        Ok(Self(match call {
            Call::Procedure => {
                let shown = [&[INT], CUSTOMER, ORDER, LINE].concat();
                Known::Procedure(speaker.know("call_order_status", &[INT, INT, INT, TEXT], &shown)?)
            }
            Call::Statements => Known::Statements {
                by_name: speaker.know("by_name", &[INT, INT, TEXT], &[INT])?,
                customer: speaker.know("os_customer", &[INT; 3], CUSTOMER)?,
                order: speaker.know("os_order", &[INT; 3], ORDER)?,
                lines: speaker.know("os_lines", &[INT; 3], LINE)?,
            },
        }))
    }

    /// Runs it. An order has lines: an answer without any is no success.
    pub fn run(&self, conn: &mut dyn Connection, status: &OrderStatus, names: &Names, rows: &mut Rows) -> Result<End> {
        let [w, d] = ints([status.w, status.d]);
        match self.0 {
            Known::Procedure(call) => {
                let (id, name) = id_or_name(status.who, names);
                conn.query(call, &[w, d, Value::Int(id), Value::Text(name)], rows)?;
            }
            Known::Statements { by_name, customer, order, lines } => {
                let c = Value::Int(find(conn, by_name, [w, d], status.who, names, rows)?);
                conn.query(customer, &[w, d, c], rows)?;
                one(rows.len() as u64)?;
                conn.query(order, &[w, d, c], rows)?;
                let o = Value::Int(rows.int(0, 0)?);
                conn.query(lines, &[w, d, o], rows)?;
            }
        }
        match rows.is_empty() {
            false => Ok(End::Commit),
            true => Err(Error::with(ErrorKind::Statement, "execute", "the customer's last order has no lines")),
        }
    }
}
