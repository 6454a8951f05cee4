//! Payment (clause 2.5).

use std::fmt::Write;

use dsbench_core::engine::{Connection, StatementId};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::End;

use super::input::{Payment, Who};
use super::names::Names;
use super::wording::{cents, ints, one, ChangedRow, Speaker, INT, MONEY, RATE, TEXT, TIME};
use crate::Call;

/// What is shown of a warehouse and of a district: name, two streets, city, state, zip.
const PLACE: &[Type] = &[TEXT; 6];

/// What is shown of the customer: names, address, phone, since, credit, its limit, discount, balance, data.
const CUSTOMER: &[Type] = &[TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TIME, TEXT, MONEY, RATE, MONEY, TEXT];

#[derive(Debug, Clone, Copy)]
enum Known {
    Procedure(StatementId),
    Statements {
        warehouse: ChangedRow,
        district: ChangedRow,
        by_name: StatementId,
        customer: ChangedRow,
        history: StatementId,
    },
}

/// What runs a Payment.
pub struct Transaction {
    known: Known,
    /// What goes before the data of a customer with bad credit.
    data: String,
    history: String,
}

impl Transaction {
    /// Prepares it.
    pub fn prepare(speaker: &mut Speaker<'_>, call: Call) -> Result<Self> {
        let known = match call {
            Call::Procedure => {
                let shown = [&[INT], PLACE, PLACE, CUSTOMER].concat();
                Known::Procedure(speaker.know("call_payment", &[INT, INT, INT, INT, INT, TEXT, MONEY], &shown)?)
            }
            Call::Statements => statements(speaker)?,
        };
        Ok(Self { known, data: String::new(), history: String::new() })
    }

    /// Runs it.
    pub fn run(&mut self, conn: &mut dyn Connection, pay: &Payment, names: &Names, rows: &mut Rows) -> Result<End> {
        match self.known {
            Known::Procedure(call) => {
                let (id, name) = id_or_name(pay.who, names);
                let [w, d, c_w, c_d, c] = ints([pay.w, pay.d, pay.c_w, pay.c_d, id]);
                conn.query(call, &[w, d, c_w, c_d, c, Value::Text(name), cents(pay.cents)], rows)?;
                one(rows.len() as u64)?;
                rows.decimal(0, 26, 2)?;
            }
            Known::Statements { warehouse, district, by_name, customer, history } => {
                let [w, d, c_w, c_d] = ints([pay.w, pay.d, pay.c_w, pay.c_d]);
                let amount = cents(pay.cents);
                warehouse.run(conn, &[amount, w], 0, &[w], rows)?;
                self.history.clear();
                self.history.push_str(rows.text(0, 0)?);
                district.run(conn, &[amount, w, d], 0, &[w, d], rows)?;
                self.history.push_str("    ");
                self.history.push_str(rows.text(0, 0)?);
                let id = find(conn, by_name, [c_w, c_d], pay.who, names, rows)?;
                self.write_data(pay, id);
                let (c, data) = (Value::Int(id), Value::Text(&self.data));
                customer.run(conn, &[amount, amount, data, c_w, c_d, c], 0, &[c_w, c_d, c], rows)?;
                one(conn.execute(history, &[c, c_d, c_w, d, w, amount, Value::Text(&self.history)])?)?;
            }
        }
        Ok(End::Commit)
    }

    fn write_data(&mut self, pay: &Payment, id: i64) {
        self.data.clear();
        let Payment { w, d, c_w, c_d, cents, .. } = *pay;
        // Writing into a string cannot fail.
        let _ = write!(self.data, "{id} {c_d} {c_w} {d} {w} {}.{:02} ", cents / 100, cents % 100);
    }
}

fn statements(speaker: &mut Speaker<'_>) -> Result<Known> {
    let change = [MONEY, MONEY, TEXT, INT, INT, INT];
    Ok(Known::Statements {
        warehouse: speaker.know_change("pay_warehouse", [&[MONEY, INT], &[], &[INT]], PLACE)?,
        district: speaker.know_change("pay_district", [&[MONEY, INT, INT], &[], &[INT; 2]], PLACE)?,
        by_name: speaker.know("by_name", &[INT, INT, TEXT], &[INT])?,
        customer: speaker.know_change("pay_customer", [&change, &[], &[INT; 3]], CUSTOMER)?,
        history: speaker.know("pay_history", &[INT, INT, INT, INT, INT, MONEY, TEXT], &[])?,
    })
}

/// A customer as procedures take it: a number, or 0 and a name.
pub fn id_or_name(who: Who, names: &Names) -> (i64, &str) {
    match who {
        Who::Id(id) => (id, ""),
        Who::Name(name) => (0, names.of(name)),
    }
}

/// The number of a customer of `[warehouse, district]`: of those with the name the middle one by first
/// name, at n/2 rounded up (clause 2.5.2.2).
pub fn find(
    conn: &mut dyn Connection,
    by_name: StatementId,
    [w, d]: [Value<'_>; 2],
    who: Who,
    names: &Names,
    rows: &mut Rows,
) -> Result<i64> {
    match who {
        Who::Id(id) => Ok(id),
        Who::Name(name) => {
            conn.query(by_name, &[w, d, Value::Text(names.of(name))], rows)?;
            rows.int(rows.len().saturating_sub(1) / 2, 0)
        }
    }
}
