//! The rows of a transaction, made before its clock starts and without an allocation.

use dsbench_core::random::{mix, Stream};
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
    /// Draws a row of `table`: all numbers uniform, the text 10 to 20 characters long, three eighths of them random
    /// characters of base64 and those before them `a`.
    pub fn draw(stream: &mut Stream, table: usize) -> Self {
        let mut number = |bound| stream.below(bound) as i64;
        let [register, customer, product, price] = [REGISTERS, CUSTOMERS, PRODUCTS, PRICES].map(&mut number);
        let length = (SHORTEST + stream.below(LONGEST as u64 - SHORTEST + 1)) as usize;
        Self::of(table, [register, customer, product, price], length)
    }

    /// The row with these numbers. Its random characters are a hash of them and of its table, so that a row that was
    /// changed, or is in another table, is found.
    fn of(table: usize, [register, customer, product, price]: [i64; 4], length: usize) -> Self {
        const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let numbers = ((register as u64 * CUSTOMERS + customer as u64) * PRODUCTS + product as u64) * PRICES;
        let mut bits = mix(numbers.wrapping_add(price as u64).wrapping_mul(32) ^ length as u64 ^ mix(table as u64 + 1));
        let mut data = [b'a'; LONGEST];
        for byte in &mut data[length - length * 3 / 8..length] {
            *byte = BASE64[(bits & 63) as usize];
            bits >>= 6;
        }
        Self { register, customer, product, price, data, length }
    }

    /// Whether [`Row::draw`] may have made a row of `table` with these numbers and this text.
    pub fn is_made(table: usize, numbers: [i64; 4], text: &str) -> bool {
        let bounds = [REGISTERS, CUSTOMERS, PRODUCTS, PRICES];
        let within = numbers.iter().zip(bounds).all(|(number, bound)| (0..bound as i64).contains(number));
        within
            && (SHORTEST as usize..=LONGEST).contains(&text.len())
            && Self::of(table, numbers, text.len()).text() == text
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
        let rows: Vec<Row> = (0..20_000).map(|number| Row::draw(&mut Stream::new(1, 2, number), 0)).collect();
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

    #[test]
    fn rows_that_are_changed_or_moved_are_found() {
        let off = |change: fn(&mut Row), table: usize| {
            let rows = (0..2000).map(|number| Row::draw(&mut Stream::new(1, 2, number), 3));
            let made = |mut row: Row| {
                change(&mut row);
                Row::is_made(table, [row.register, row.customer, row.product, row.price], row.text())
            };
            rows.filter(|row| !made(*row)).count()
        };
        assert_eq!(off(|_| {}, 3), 0);
        let changes: [fn(&mut Row); 5] = [
            |row| row.price ^= 1,
            |row| row.customer += 1,
            |row| row.product = -1,
            |row| row.data[9] = b'?',
            |row| row.length -= 1,
        ];
        assert!(changes.iter().all(|change| off(*change, 3) >= 1999));
        assert!(off(|_| {}, 4) >= 1999, "of another table");
    }
}
