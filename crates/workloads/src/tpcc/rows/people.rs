//! Rows of customers and of their first payments.

use dsbench_core::error::Result;
use dsbench_core::value::{Type, Value};

use super::super::names::Names;
use super::super::nurand::Ranges;
use super::text::{digits, length, letters, text, zip, Cutter};
use super::{cents, int, place, stream, Emit, Sizes, Table, INT, LOADED_US, MONEY, RATE, TEXT};

pub(super) const CUSTOMER: &[(&str, Type)] = &[
    ("c_w_id", INT),
    ("c_d_id", INT),
    ("c_id", INT),
    ("c_first", TEXT),
    ("c_middle", TEXT),
    ("c_last", TEXT),
    ("c_street_1", TEXT),
    ("c_street_2", TEXT),
    ("c_city", TEXT),
    ("c_state", TEXT),
    ("c_zip", TEXT),
    ("c_phone", TEXT),
    ("c_since", Type::Timestamp),
    ("c_credit", TEXT),
    ("c_credit_lim", MONEY),
    ("c_discount", RATE),
    ("c_balance", MONEY),
    ("c_ytd_payment", MONEY),
    ("c_payment_cnt", INT),
    ("c_delivery_cnt", INT),
    ("c_data", TEXT),
];

pub(super) const HISTORY: &[(&str, Type)] = &[
    ("h_c_id", INT),
    ("h_c_d_id", INT),
    ("h_c_w_id", INT),
    ("h_d_id", INT),
    ("h_w_id", INT),
    ("h_date", Type::Timestamp),
    ("h_amount", MONEY),
    ("h_data", TEXT),
];

/// The longest texts of a customer: first name, two streets, city, state, data.
const LONGEST: usize = 16 + 20 + 20 + 20 + 2 + 500;

/// Makes rows of people.
pub(super) struct People<'a> {
    names: &'a Names,
    ranges: Ranges,
    buffer: Box<[u8; LONGEST]>,
}

impl<'a> People<'a> {
    pub(super) fn new(names: &'a Names, ranges: Ranges) -> Self {
        Self { names, ranges, buffer: Box::new([0; LONGEST]) }
    }

    /// Makes row `number` of either table.
    pub(super) fn make(&mut self, table: Table, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<u64> {
        match table {
            Table::Customer => self.customer(sizes, number, emit)?,
            _ => self.history(sizes, number, emit)?,
        }
        Ok(1)
    }

    fn customer(&mut self, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<()> {
        let mut stream = stream(Table::Customer, number);
        let (w, d, at) = place(Table::Customer, sizes, number);
        let ranges = [(8, 16), (10, 20), (10, 20), (10, 20), (2, 2), (300, 500)];
        let lengths = ranges.map(|(low, high)| length(&mut stream, low, high));
        let used = &mut self.buffer[..lengths.iter().sum()];
        letters(&mut stream, used);
        let mut rest = Cutter(text(used));
        let [first, street_1, street_2, city, state, data] = lengths.map(|length| Value::Text(rest.cut(length)));
        let (zip, mut phone) = (zip(&mut stream), [0; 16]);
        digits(&mut stream, &mut phone);
        // Each name once (clause 4.3.3.1), then as the load draws them.
        let last = if at < sizes.names { at as i64 } else { self.ranges.loaded_last_name(&mut stream) };
        let credit = if stream.below(10) == 0 { "BC" } else { "GC" };
        let discount = Value::Decimal { unscaled: stream.between(0, 5000), scale: 4 };
        emit(&[
            int(w),
            int(d),
            int(at as i64 + 1),
            first,
            Value::Text("OE"),
            Value::Text(self.names.of(last)),
            street_1,
            street_2,
            city,
            state,
            Value::Text(text(&zip)),
            Value::Text(text(&phone)),
            Value::Timestamp(LOADED_US),
            Value::Text(credit),
            cents(5_000_000),
            discount,
            cents(-1000),
            cents(1000),
            int(1),
            int(0),
            data,
        ])
    }

    fn history(&mut self, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<()> {
        let mut stream = stream(Table::History, number);
        let (w, d, at) = place(Table::History, sizes, number);
        let length = length(&mut stream, 12, 24);
        let used = &mut self.buffer[..length];
        letters(&mut stream, used);
        let when = Value::Timestamp(LOADED_US);
        let [w, d, c] = [w, d, at as i64 + 1].map(int);
        emit(&[c, d, w, d, w, when, cents(1000), Value::Text(text(used))])
    }
}
