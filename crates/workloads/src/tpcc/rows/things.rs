//! Rows of items and stocks.

use dsbench_core::error::Result;
use dsbench_core::value::{Type, Value};

use super::text::{length, letters, mark, text, Cutter};
use super::{cents, int, stream, Emit, Sizes, Table, INT, MONEY, TEXT};

pub(super) const ITEM: &[(&str, Type)] =
    &[("i_id", INT), ("i_im_id", INT), ("i_name", TEXT), ("i_price", MONEY), ("i_data", TEXT)];

pub(super) const STOCK: &[(&str, Type)] = &[
    ("s_w_id", INT),
    ("s_i_id", INT),
    ("s_quantity", INT),
    ("s_dist_01", TEXT),
    ("s_dist_02", TEXT),
    ("s_dist_03", TEXT),
    ("s_dist_04", TEXT),
    ("s_dist_05", TEXT),
    ("s_dist_06", TEXT),
    ("s_dist_07", TEXT),
    ("s_dist_08", TEXT),
    ("s_dist_09", TEXT),
    ("s_dist_10", TEXT),
    ("s_ytd", INT),
    ("s_order_cnt", INT),
    ("s_remote_cnt", INT),
    ("s_data", TEXT),
];

const DIST: usize = 24;
const DISTS: usize = 10 * DIST;

/// Room for the texts of one row.
pub(super) struct Buffer([u8; DISTS + 50]);

impl Default for Buffer {
    fn default() -> Self {
        Self([0; DISTS + 50])
    }
}

impl Buffer {
    /// Makes row `number` of either table.
    pub(super) fn make(&mut self, table: Table, sizes: &Sizes, number: u64, emit: &mut Emit<'_>) -> Result<u64> {
        match table {
            Table::Item => self.item(number, emit)?,
            _ => self.stock(sizes.items, number, emit)?,
        }
        Ok(1)
    }

    fn item(&mut self, number: u64, emit: &mut Emit<'_>) -> Result<()> {
        let mut stream = stream(Table::Item, number);
        let (name, data) = (length(&mut stream, 14, 24), length(&mut stream, 26, 50));
        let used = &mut self.0[..name + data];
        letters(&mut stream, used);
        mark(&mut stream, &mut used[name..]);
        let mut rest = Cutter(text(used));
        let (name, data) = (Value::Text(rest.cut(name)), Value::Text(rest.cut(data)));
        let (image, price) = (stream.between(1, 10_000), stream.between(100, 10_000));
        emit(&[int(number as i64 + 1), int(image), name, cents(price), data])
    }

    fn stock(&mut self, items: u64, number: u64, emit: &mut Emit<'_>) -> Result<()> {
        let mut stream = stream(Table::Stock, number);
        let quantity = stream.between(10, 100);
        let data = length(&mut stream, 26, 50);
        let used = &mut self.0[..DISTS + data];
        letters(&mut stream, used);
        mark(&mut stream, &mut used[DISTS..]);
        let mut row = [int(0); 17];
        row[0] = int((number / items) as i64 + 1);
        row[1] = int((number % items) as i64 + 1);
        row[2] = int(quantity);
        let mut rest = Cutter(text(used));
        for dist in &mut row[3..13] {
            *dist = Value::Text(rest.cut(DIST));
        }
        row[16] = Value::Text(rest.cut(data));
        emit(&row)
    }
}
