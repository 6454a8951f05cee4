//! The rows of a transaction, made before its clock starts and without an allocation.

use dsbench_core::random::Stream;
use dsbench_core::value::Value;

/// Most rows of a transaction.
pub const MOST: usize = 100;
/// Parameters of a row: the server fills in number and time.
pub const COLUMNS: usize = 5;
/// Numbers of cash registers lie below it.
pub const REGISTERS: u64 = 1000;
/// Numbers of products lie below it.
pub const PRODUCTS: u64 = 10_000;
/// Prices lie below it.
pub const PRICES: u64 = 500;
const CUSTOMERS: u64 = 100_000;

const SHORTEST: u64 = 10;
const LONGEST: usize = 20;

/// One row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row {
    register: i64,
    customer: i64,
    product: i64,
    price: i64,
    data: [u8; LONGEST],
    length: usize,
}

impl Row {
    /// Draws a row: all numbers uniform, the text 10 to 20 characters long, three eighths of them random characters
    /// of base64 and those before them `a`.
    pub fn draw(stream: &mut Stream) -> Self {
        const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut number = |bound| stream.below(bound) as i64;
        let [register, customer, product, price] = [REGISTERS, CUSTOMERS, PRODUCTS, PRICES].map(&mut number);
        let length = (SHORTEST + stream.below(LONGEST as u64 - SHORTEST + 1)) as usize;
        let mut data = [b'a'; LONGEST];
        let mut bits = stream.next_u64();
        for byte in &mut data[length - length * 3 / 8..length] {
            *byte = BASE64[(bits & 63) as usize];
            bits >>= 6;
        }
        Self { register, customer, product, price, data, length }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.data[..self.length]).unwrap_or_default()
    }

    /// Its parameters, in the order of the columns.
    pub fn values(&self) -> [Value<'_>; COLUMNS] {
        let [register, customer, product, price] =
            [self.register, self.customer, self.product, self.price].map(Value::Int);
        [register, customer, product, price, Value::Text(self.text())]
    }

    /// In words.
    pub fn describe(&self) -> String {
        let Self { register, customer, product, price, .. } = self;
        format!("register={register} customer={customer} product={product} price={price} data={}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_values_of_the_published_ones() {
        let rows: Vec<Row> = (0..20_000).map(|number| Row::draw(&mut Stream::new(1, 2, number))).collect();
        let highest = |of: fn(&Row) -> i64| rows.iter().map(of).max().unwrap();
        assert_eq!((highest(|r| r.register), highest(|r| r.price)), (999, 499));
        assert!(highest(|r| r.product) > 9990 && highest(|r| r.customer) > 99_900);
        assert!(rows.iter().all(|r| r.register >= 0 && r.customer < 100_000 && r.product < 10_000));
        let lengths: Vec<usize> = (10..=20).map(|n| rows.iter().filter(|r| r.length == n).count()).collect();
        assert!(lengths.iter().all(|count| (1600..2100).contains(count)), "{lengths:?}");
        for row in &rows {
            let fixed = row.length - row.length * 3 / 8;
            assert!(row.text().starts_with(&"a".repeat(fixed)), "{}", row.text());
        }
        let tails: std::collections::BTreeSet<&str> = rows.iter().map(|r| &r.text()[r.length - 3..]).collect();
        assert!(tails.len() > 15_000, "{}", tails.len());
    }
}
