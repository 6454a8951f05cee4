//! Rows of orders, of those not delivered, and of the lines of orders.

use dsbench_core::error::Result;
use dsbench_core::random::{mix, Stream};
use dsbench_core::value::{Type, Value};

use super::text::{letters, text};
use super::{cents, int, place, stream, Emit, Sizes, Table, INT, LOADED_US, MONEY, TEXT};

pub(super) const ORDERS: &[(&str, Type)] = &[
    ("o_w_id", INT),
    ("o_d_id", INT),
    ("o_id", INT),
    ("o_c_id", INT),
    ("o_entry_d", Type::Timestamp),
    ("o_carrier_id", INT),
    ("o_ol_cnt", INT),
    ("o_all_local", INT),
];

pub(super) const NEW_ORDER: &[(&str, Type)] = &[("no_w_id", INT), ("no_d_id", INT), ("no_o_id", INT)];

pub(super) const ORDER_LINE: &[(&str, Type)] = &[
    ("ol_w_id", INT),
    ("ol_d_id", INT),
    ("ol_o_id", INT),
    ("ol_number", INT),
    ("ol_i_id", INT),
    ("ol_supply_w_id", INT),
    ("ol_delivery_d", Type::Timestamp),
    ("ol_quantity", INT),
    ("ol_amount", MONEY),
    ("ol_dist_info", TEXT),
];

/// Lines of the loaded order `number` (from 0, over all warehouses): 5 to 15.
pub fn lines_of(number: u64) -> u64 {
    5 + ((u128::from(mix(number ^ 0x6c69_6e65_735f_6f66)) * 11) >> 64) as u64
}

/// Makes rows of orders.
#[derive(Default)]
pub(super) struct Book {
    /// The customers of a district in the order of their orders, and which district that is.
    customers: Vec<i64>,
    district: Option<u64>,
}

impl Book {
    /// Makes what belongs to order `number`, or row `number` of the orders not delivered.
    pub(super) fn make(&mut self, table: Table, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<u64> {
        let (w, d, at) = place(table, sizes, number);
        match table {
            Table::Orders => self.order(sizes, number, emit).map(|()| 1),
            Table::NewOrder => emit(&[w, d, (sizes.delivered() + at) as i64 + 1].map(int)).map(|()| 1),
            _ => lines(sizes, number, emit),
        }
    }

    fn order(&mut self, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<()> {
        let (w, d, at) = place(Table::Orders, sizes, number);
        let district = number / sizes.customers;
        if self.district != Some(district) {
            self.permute(sizes.customers, Stream::new(0x6f72_6465_7273, 0, district));
            self.district = Some(district);
        }
        let carrier = match at < sizes.delivered() {
            true => int(stream(Table::Orders, number).between(1, 10)),
            false => Value::Null,
        };
        let when = Value::Timestamp(LOADED_US);
        let customer = int(self.customers[at as usize]);
        emit(&[int(w), int(d), int(at as i64 + 1), customer, when, carrier, int(lines_of(number) as i64), int(1)])
    }

    /// A random permutation of the customers' numbers: each has one order.
    fn permute(&mut self, customers: u64, mut stream: Stream) {
        self.customers.clear();
        self.customers.extend(1..=customers as i64);
        for last in (1..self.customers.len()).rev() {
            self.customers.swap(last, stream.below(last as u64 + 1) as usize);
        }
    }
}

/// The lines of an order; those of a delivered one cost nothing (clause 4.3.3.1).
fn lines(sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<u64> {
    let (w, d, at) = place(Table::OrderLine, sizes, number);
    let delivered = at < sizes.delivered();
    let when = if delivered { Value::Timestamp(LOADED_US) } else { Value::Null };
    let mut stream = stream(Table::OrderLine, number);
    let [w, d, order] = [w, d, at as i64 + 1].map(int);
    let count = lines_of(number);
    for line in 1..=count as i64 {
        let item = int(stream.between(1, sizes.items as i64));
        let amount = if delivered { 0 } else { stream.between(1, 999_999) };
        let mut dist = [0; 24];
        letters(&mut stream, &mut dist);
        emit(&[w, d, order, int(line), item, w, when, int(5), cents(amount), Value::Text(text(&dist))])?;
    }
    Ok(count)
}
