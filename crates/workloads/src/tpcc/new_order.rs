//! New-Order (clause 2.4).

use std::fmt::Write;

use dsbench_core::engine::{Connection, StatementId};
use dsbench_core::error::{Code, Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::End;

use super::input::{Line, NewOrder};
use super::wording::{cents, ints, one, ChangedRow, Speaker, INT, MONEY, RATE, TEXT};
use crate::Call;

/// Columns of each line that a procedure returns: number of the order, discount, last name and credit of
/// the customer, taxes of warehouse and district, and of the line number, name, price, amount, stock left,
/// brand or generic.
const SHOWN: &[Type] = &[INT, RATE, TEXT, TEXT, RATE, RATE, INT, TEXT, MONEY, MONEY, INT, TEXT];

/// The column of the price: NULL in the one row of an order whose item is not there.
const PRICE: usize = 8;

/// Numbers of its statements.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// Lines as arrays: items, supplies, quantities, ends of the runs.
    Arrays(StatementId),
    /// Lines as one text, each of 6 + 5 + 2 digits.
    Text(StatementId),
    Statements {
        customer: StatementId,
        district: ChangedRow,
        order: StatementId,
        new_order: StatementId,
        lines: Lines,
    },
}

/// How the lines go by statements.
#[derive(Debug, Clone, Copy)]
enum Lines {
    /// All of a run in one statement, as arrays.
    AtOnce(StatementId),
    /// One by one: its item, its stock, the line.
    Each { item: StatementId, stock: ChangedRow, line: StatementId },
}

/// Where an order's lines belong.
struct Place<'a> {
    w: Value<'a>,
    d: Value<'a>,
    o: Value<'a>,
}

/// What runs a New-Order.
pub struct Transaction {
    known: Known,
    /// Code of the error by which a procedure says that an item is not there, where it cannot give a row.
    unused: Option<Code>,
    texts: [String; 4],
    /// What the terminal shows last: the total amount, in units of 10⁻¹⁰.
    total: i128,
    /// Lines that the terminal shows as brand, not as generic.
    brands: i64,
}

/// What the lines of an order come to.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// Sum of the amounts, in cents.
    cents: i64,
    brands: i64,
}

impl Transaction {
    /// Prepares it.
    pub fn prepare(speaker: &mut Speaker<'_>, call: Call) -> Result<Self> {
        let known = match call {
            Call::Procedure if !speaker.sql.all("call_new_order_arrays").is_empty() => {
                let params = [INT, INT, INT, INT, TEXT, TEXT, TEXT, TEXT];
                Known::Arrays(speaker.know("call_new_order_arrays", &params, SHOWN)?)
            }
            Call::Procedure => Known::Text(speaker.know("call_new_order", &[INT, INT, INT, INT, INT, TEXT], SHOWN)?),
            Call::Statements => statements(speaker)?,
        };
        let unused = match call {
            Call::Procedure => speaker.sql.all("unused_item_code").first().map(|code| Code::new(code.as_bytes())),
            Call::Statements => None,
        };
        Ok(Self { known, unused, texts: Default::default(), total: 0, brands: 0 })
    }

    /// Runs it; asks for a rollback when it meets the item that is not there.
    pub fn run(&mut self, conn: &mut dyn Connection, order: &NewOrder, rows: &mut Rows) -> Result<End> {
        self.brands = 0;
        match self.known {
            Known::Arrays(call) => {
                self.write_arrays(order);
                let [w, d, c, local] = ints([order.w, order.d, order.c, all_local(order)]);
                let [items, supplies, quantities, ends] = self.texts.each_ref().map(|text| Value::Text(text));
                let done = conn.query(call, &[w, d, c, local, items, supplies, quantities, ends], rows);
                self.called(done, order, rows)
            }
            Known::Text(call) => {
                self.write_text(order);
                let [w, d, c, local, count] =
                    ints([order.w, order.d, order.c, all_local(order), order.lines().len() as i64]);
                let done = conn.query(call, &[w, d, c, local, count, Value::Text(&self.texts[0])], rows);
                self.called(done, order, rows)
            }
            Known::Statements { .. } => self.run_statements(conn, order, rows),
        }
    }

    /// What a terminal would show last: the total amount, in units of 10⁻¹⁰.
    pub fn total(&self) -> i128 {
        self.total
    }

    /// Lines of the last order of which item and stock are both original (clause 2.4.2.2); none of one that was
    /// rolled back.
    pub fn brands(&self) -> i64 {
        self.brands
    }

    fn called(&mut self, done: Result<()>, order: &NewOrder, rows: &Rows) -> Result<End> {
        match done {
            // The server has undone what the call did: the error ended the transaction that it was.
            Err(error) if order.unused && self.unused == Some(error.code) => Ok(End::Rollback),
            Err(error) => Err(error),
            Ok(()) if order.unused && rows.len() == 1 && rows.get(0, PRICE)? == Value::Null => {
                // The procedure has rolled back; the terminal shows the number, the name and the credit.
                rows.int(0, 0)?;
                rows.text(0, 2)?;
                rows.text(0, 3)?;
                Ok(End::Rollback)
            }
            Ok(()) => {
                same(rows.len(), order.lines().len())?;
                let mut sum = 0;
                for row in 0..rows.len() {
                    sum += rows.decimal(row, 9, 2)?;
                    self.brands += i64::from(rows.text(row, 11)? == "B");
                }
                self.total = total(sum, rows.decimal(0, 1, 4)?, rows.decimal(0, 4, 4)? + rows.decimal(0, 5, 4)?);
                Ok(End::Commit)
            }
        }
    }

    /// Arrays as PostgreSQL reads them from text: {1,2,3}.
    fn write_arrays(&mut self, order: &NewOrder) {
        self.write_lines(order.lines());
        array(&mut self.texts[3], order.ends().iter().map(|end| *end as i64));
    }

    fn write_lines(&mut self, lines: &[Line]) {
        let [items, supplies, quantities, _] = &mut self.texts;
        array(items, lines.iter().map(|line| line.item));
        array(supplies, lines.iter().map(|line| line.supply));
        array(quantities, lines.iter().map(|line| line.quantity));
    }

    fn write_text(&mut self, order: &NewOrder) {
        let text = &mut self.texts[0];
        text.clear();
        for line in order.lines() {
            // Writing into a string cannot fail.
            let _ = write!(text, "{:06}{:05}{:02}", line.item, line.supply, line.quantity);
        }
    }

    fn run_statements(&mut self, conn: &mut dyn Connection, order: &NewOrder, rows: &mut Rows) -> Result<End> {
        let Known::Statements { customer, district, order: insert, new_order, lines } = self.known else {
            return Err(Error::with(ErrorKind::Statement, "execute", "not prepared as statements"));
        };
        let [w, d, c] = ints([order.w, order.d, order.c]);
        conn.query(customer, &[w, w, d, c], rows)?;
        one(rows.len() as u64)?;
        let (discount, tax_w) = (rows.decimal(0, 0, 4)?, rows.decimal(0, 3, 4)?);
        district.run(conn, &[w, d], 0, &[w, d], rows)?;
        let (o, tax_d) = (Value::Int(rows.int(0, 0)?), rows.decimal(0, 1, 4)?);
        let [count, local] = ints([order.lines().len() as i64, all_local(order)]);
        one(conn.execute(insert, &[w, d, o, c, count, local])?)?;
        one(conn.execute(new_order, &[w, d, o])?)?;
        let place = Place { w, d, o };
        let sum = match lines {
            Lines::AtOnce(lines) => self.lines_at_once(conn, lines, &place, order, rows)?,
            Lines::Each { .. } => each_line(conn, lines, &place, order, rows)?,
        };
        // Without a sum an item was not there.
        let Some(sum) = sum else { return Ok(End::Rollback) };
        self.total = total(sum.cents, discount, tax_w + tax_d);
        self.brands = sum.brands;
        Ok(End::Commit)
    }

    /// What the lines come to; nothing when the unused item was met.
    fn lines_at_once(
        &mut self,
        conn: &mut dyn Connection,
        lines: StatementId,
        place: &Place<'_>,
        order: &NewOrder,
        rows: &mut Rows,
    ) -> Result<Option<Sum>> {
        let (mut start, mut sum) = (0, Sum::default());
        for end in order.ends() {
            self.write_lines(&order.lines()[start..*end]);
            let [items, supplies, quantities, _] = self.texts.each_ref().map(|text| Value::Text(text));
            let before = Value::Int(start as i64);
            conn.query(lines, &[place.w, place.d, place.o, before, items, supplies, quantities], rows)?;
            let missing = end - start - rows.len().min(end - start);
            if missing == 1 && order.unused && *end == order.lines().len() {
                return Ok(None);
            }
            same(rows.len(), end - start)?;
            for row in 0..rows.len() {
                sum.cents += rows.decimal(row, 3, 2)?;
                sum.brands += i64::from(is_original(rows.text(row, 5)?) && is_original(rows.text(row, 6)?));
            }
            start = *end;
        }
        Ok(Some(sum))
    }
}

/// What the lines come to; nothing when the unused item was met.
fn each_line(
    conn: &mut dyn Connection,
    lines: Lines,
    &Place { w, d, o }: &Place<'_>,
    order: &NewOrder,
    rows: &mut Rows,
) -> Result<Option<Sum>> {
    let Lines::Each { item, stock, line: insert } = lines else { return Ok(Some(Sum::default())) };
    let mut sum = Sum::default();
    for (at, line) in order.lines().iter().enumerate() {
        let Line { item: i, supply, quantity: q } = *line;
        conn.query(item, &[Value::Int(i)], rows)?;
        if rows.is_empty() && order.unused {
            return Ok(None);
        }
        one(rows.len() as u64)?;
        let amount = q * rows.decimal(0, 0, 2)?;
        let original = is_original(rows.text(0, 2)?);
        let remote = i64::from(supply != order.w);
        let [q, limit, remote, supply, i] = ints([q, q + 10, remote, supply, i]);
        stock.run(conn, &[q, limit, q, remote, supply, i, d], 1, &[d, supply, i], rows)?;
        sum.brands += i64::from(original && is_original(rows.text(0, 2)?));
        let (number, dist) = (Value::Int(at as i64 + 1), Value::Text(rows.text(0, 1)?));
        one(conn.execute(insert, &[w, d, o, number, i, supply, q, cents(amount), dist])?)?;
        sum.cents += amount;
    }
    Ok(Some(sum))
}

fn statements(speaker: &mut Speaker<'_>) -> Result<Known> {
    Ok(Known::Statements {
        customer: speaker.know("no_customer", &[INT; 4], &[RATE, TEXT, TEXT, RATE])?,
        district: speaker.know_change("no_district", [&[INT; 2], &[], &[INT; 2]], &[INT, RATE])?,
        order: speaker.know("no_order", &[INT; 6], &[])?,
        new_order: speaker.know("no_new_order", &[INT; 3], &[])?,
        lines: lines(speaker)?,
    })
}

fn lines(speaker: &mut Speaker<'_>) -> Result<Lines> {
    if !speaker.sql.all("no_lines").is_empty() {
        let params = [INT, INT, INT, INT, TEXT, TEXT, TEXT];
        let shown = [INT, TEXT, MONEY, MONEY, INT, TEXT, TEXT];
        return Ok(Lines::AtOnce(speaker.know("no_lines", &params, &shown)?));
    }
    Ok(Lines::Each {
        item: speaker.know("no_item", &[INT], &[MONEY, TEXT, TEXT])?,
        stock: speaker.know_change("no_stock", [&[INT; 6], &[INT], &[INT; 3]], &[INT, TEXT, TEXT])?,
        line: speaker.know("no_line", &[INT, INT, INT, INT, INT, INT, INT, MONEY, TEXT], &[])?,
    })
}

/// Whether the data of an item or of a stock say so.
fn is_original(data: &str) -> bool {
    data.contains("ORIGINAL")
}

fn all_local(order: &NewOrder) -> i64 {
    i64::from(order.remote_lines() == 0)
}

fn same(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let message = format!("the procedure gave {found} lines of {wanted}");
    Err(Error::with(ErrorKind::Statement, "execute", message))
}

/// Sum of the amounts · (1 − discount) · (1 + taxes): cents and ten-thousandths give 10⁻¹⁰.
fn total(sum: i64, discount: i64, taxes: i64) -> i128 {
    i128::from(sum) * i128::from(10_000 - discount) * i128::from(10_000 + taxes)
}

fn array(text: &mut String, numbers: impl Iterator<Item = i64>) {
    text.clear();
    for (at, number) in numbers.enumerate() {
        // Writing into a string cannot fail.
        let _ = write!(text, "{}{number}", if at == 0 { '{' } else { ',' });
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_exact() {
        // 100.00 · (1 − 0.5) · (1 + 0.0001 + 0.2) = 60.005
        assert_eq!(total(10_000, 5000, 2001), 600_050_000_000);
        assert_eq!(total(1, 4999, 1), 50_015_001);
    }

    #[test]
    fn arrays_are_written_as_postgresql_reads_them() {
        let mut text = "old".to_string();
        array(&mut text, [1, 23, 456].into_iter());
        assert_eq!(text, "{1,23,456}");
    }
}
