//! The refreshes: orders that go on where the load ends, and the keys of the oldest, which go.

use dsbench_core::value::Value;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{LineItem, LineItemGenerator, Order, OrderGenerator};
use tpchgen::text::TextPool;

use super::rows::{line, order, Form, Texts};

/// A value of a row that a refresh inserts, kept until then.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A number.
    Int(i64),
    /// Money as a double precision number.
    Float(f64),
    /// Money in hundredths.
    Money(i64),
    /// A text.
    Text(Box<str>),
}

impl Kept {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Float(number) => Self::Float(*number),
            Value::Decimal { unscaled, .. } => Self::Money(*unscaled),
            Value::Text(text) => Self::Text((*text).into()),
            Value::Int(number) | Value::Timestamp(number) => Self::Int(*number),
            Value::Null => Self::Int(0),
        }
    }

    /// As the database takes it.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Money(unscaled) => Value::Decimal { unscaled: *unscaled, scale: 2 },
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// A pair of refreshes: what the first inserts and the second deletes.
#[derive(Debug, Default)]
pub struct Refresh {
    /// Orders with their lines.
    pub orders: Vec<(Vec<Kept>, Vec<Vec<Kept>>)>,
    /// Keys of the orders that go.
    pub deleted: Vec<i64>,
}

impl Refresh {
    /// Lines that it inserts.
    pub fn lines(&self) -> usize {
        self.orders.iter().map(|(_, lines)| lines.len()).sum()
    }
}

/// Orders of a pair of refreshes for each hundredth of the scale factor.
pub const REFRESHED: u64 = 15;
/// Pairs of which keys can be made.
pub const MOST_SETS: u64 = 999;

/// The key of row `row` (from 1) of a kind of which every fourth eight keys are taken: those loaded have `shift` 0.
fn key(row: i64, shift: i64) -> i64 {
    (((row >> 3) << 2 | shift) << 3) | (row & 7)
}

/// The rows that set `set` (from 1) inserts, with their keys: they go on where the rows of the load end.
fn new_orders<'p>(set: u64, hundredths: u64, pool: &'p TextPool, each: &mut dyn FnMut(Order<'p>, Vec<LineItem<'p>>)) {
    let (sf, lists) = (hundredths as f64 / 100.0, Distributions::static_default());
    let part = 1000 + set as i32;
    let orders = OrderGenerator::new_with_distributions_and_text_pool(sf, part, 1000, lists, pool);
    let lines = LineItemGenerator::new_with_distributions_and_text_pool(sf, part, 1000, lists, pool);
    let mut lines = lines.iter().peekable();
    for (at, mut order) in orders.iter().enumerate() {
        let (made, row) = (order.o_orderkey, ((set - 1) * REFRESHED * hundredths) as i64 + at as i64 + 1);
        order.o_orderkey = key(row, 1);
        let mut own = Vec::new();
        while let Some(mut line) = lines.next_if(|line| line.l_orderkey == made) {
            line.l_orderkey = order.o_orderkey;
            own.push(line);
        }
        each(order, own);
    }
}

fn old_orders(set: u64, hundredths: u64) -> Vec<i64> {
    let each = (REFRESHED * hundredths) as i64;
    let first = (set as i64 - 1) * each + 1;
    (first..first + each).map(|row| key(row, 0)).collect()
}

/// Set `set` (from 1) of the refreshes.
pub fn refresh(set: u64, hundredths: u64, form: Form, pool: &TextPool) -> Refresh {
    let mut made = Refresh { orders: Vec::new(), deleted: old_orders(set, hundredths) };
    let mut texts = Texts::default();
    new_orders(set, hundredths, pool, &mut |row, lines| {
        let mut kept = Vec::new();
        // What takes the values cannot fail.
        let mut keep = |values: &[Value<'_>]| {
            kept.push(values.iter().map(Kept::of).collect::<Vec<_>>());
            Ok(())
        };
        let _ = order(form, &row, &mut texts, &mut keep);
        for one in &lines {
            let _ = line(form, one, &mut texts, &mut keep);
        }
        let lines = kept.split_off(1);
        made.orders.push((kept.pop().unwrap_or_default(), lines));
    });
    made
}

/// Writes what set `set` inserts into `orders` and `lines`, and the keys that it deletes into `deleted`.
pub fn write_refresh(
    set: u64,
    hundredths: u64,
    pool: &TextPool,
    [orders, lines, deleted]: [&mut dyn std::io::Write; 3],
) -> std::io::Result<()> {
    let mut done = Ok(());
    new_orders(set, hundredths, pool, &mut |order, own| {
        let mut all = || {
            writeln!(orders, "{order}")?;
            own.iter().try_for_each(|line| writeln!(lines, "{line}"))
        };
        if done.is_ok() {
            done = all();
        }
    });
    done?;
    old_orders(set, hundredths).iter().try_for_each(|key| writeln!(deleted, "{key}"))
}

#[cfg(test)]
mod tests {
    use super::super::rows::pool;
    use super::*;

    /// The random numbers of a set go on where those of the load end, and its keys fill the holes between those loaded.
    #[test]
    fn refreshes_go_on_behind_the_load() {
        let pool = pool();
        let first = refresh(1, 10, Form::Written, &pool);
        assert_eq!((first.orders.len(), first.lines(), first.deleted.len()), (150, 592, 150));
        assert_eq!(first.deleted[..9], [1, 2, 3, 4, 5, 6, 7, 32, 33]);
        let keys = |set: &Refresh| set.orders.iter().map(|(order, _)| order[0].clone()).collect::<Vec<_>>();
        assert_eq!(keys(&first)[..9], [9, 10, 11, 12, 13, 14, 15, 40, 41].map(Kept::Int));
        for (order, lines) in &first.orders {
            assert!(lines.iter().all(|line| line[0] == order[0]) && (1..=7).contains(&lines.len()));
        }
        let second = refresh(2, 10, Form::Written, &pool);
        assert!(keys(&second).iter().all(|key| !keys(&first).contains(key)) && second.deleted[0] > first.deleted[149]);
        let (mut orders, mut lines, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        write_refresh(1, 10, &pool, [&mut orders, &mut lines, &mut deleted]).unwrap();
        let text = String::from_utf8(orders).unwrap();
        assert_eq!(text.lines().next().unwrap(), GOLDEN);
        assert_eq!((text.lines().count(), lines.iter().filter(|byte| **byte == b'\n').count()), (150, 592));
    }

    const GOLDEN: &str =
        "9|10096|O|70670.35|1995-10-13|3-MEDIUM|Clerk#000000052|0|ts promise slyly. express packages above the \
                          carefully ironic account|";
}
