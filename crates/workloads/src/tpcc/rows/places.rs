//! Rows of warehouses and districts.

use dsbench_core::error::Result;
use dsbench_core::value::{Type, Value};

use super::super::sizes::DISTRICTS;
use super::text::{length, letters, text, zip, Cutter};
use super::{cents, int, place, stream, Emit, Sizes, Table, INT, MONEY, RATE, TEXT};

pub(super) const WAREHOUSE: &[(&str, Type)] = &[
    ("w_id", INT),
    ("w_name", TEXT),
    ("w_street_1", TEXT),
    ("w_street_2", TEXT),
    ("w_city", TEXT),
    ("w_state", TEXT),
    ("w_zip", TEXT),
    ("w_tax", RATE),
    ("w_ytd", MONEY),
];

pub(super) const DISTRICT: &[(&str, Type)] = &[
    ("d_w_id", INT),
    ("d_id", INT),
    ("d_name", TEXT),
    ("d_street_1", TEXT),
    ("d_street_2", TEXT),
    ("d_city", TEXT),
    ("d_state", TEXT),
    ("d_zip", TEXT),
    ("d_tax", RATE),
    ("d_ytd", MONEY),
    ("d_next_o_id", INT),
];

/// Makes row `number` of either table: a name, an address, a tax, what came in.
pub(super) fn make(table: Table, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<u64> {
    let mut stream = stream(table, number);
    let lengths = [(6, 10), (10, 20), (10, 20), (10, 20), (2, 2)].map(|(low, high)| length(&mut stream, low, high));
    let mut buffer = [0; 72];
    letters(&mut stream, &mut buffer);
    let zip = zip(&mut stream);
    let mut rest = Cutter(text(&buffer));
    let [name, street_1, street_2, city, state] = lengths.map(|length| Value::Text(rest.cut(length)));
    let zip = Value::Text(text(&zip));
    let tax = Value::Decimal { unscaled: stream.between(0, 2000), scale: 4 };
    // 10.00 of each customer: 30,000.00 by the specification's sizes.
    let paid = sizes.customers as i64 * 1000;
    if table == Table::Warehouse {
        let id = int(number as i64 + 1);
        emit(&[id, name, street_1, street_2, city, state, zip, tax, cents(paid * DISTRICTS as i64)])?;
    } else {
        let (w, d, _) = place(table, sizes, number);
        let next = int(sizes.customers as i64 + 1);
        emit(&[int(w), int(d), name, street_1, street_2, city, state, zip, tax, cents(paid), next])?;
    }
    Ok(1)
}
