//! The lines of the loaded orders. They are half of all rows: instead of each, weighted sums of each district are
//! compared with those of the rows that the load makes, and of the texts their length.

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::Progress;

use super::company::Company;
use super::rows::{Source, Table};
use super::sizes::DISTRICTS;

/// What is summed up of a district: items, supplying warehouses, quantities, cents; each of a line is weighted by its
/// order and its number, so that what moved from one to another shows.
type Sums = [i64; 4];

/// How many districts have other lines than were loaded, or none.
pub fn districts_off(company: &Company, conn: &mut dyn Connection) -> Result<u64> {
    let columns =
        [&[Type::Int32; 2][..], &[Type::Int64, Type::Decimal(0), Type::Decimal(0), Type::Decimal(0), Type::Decimal(2)]]
            .concat();
    let query = Statement { sql: &company.filled(company.sql.one("loaded_lines")?), params: &[], columns: &columns };
    let (query, mut found) = (conn.prepare(&query, Prepare::Once)?, Rows::new());
    conn.query(query, &[], &mut found)?;
    let mut right = 0;
    for row in 0..found.len() {
        let district = (found.int(row, 0)? - 1) * DISTRICTS as i64 + found.int(row, 1)? - 1;
        let (short, decimal) = (found.int(row, 2)?, |column, scale| found.decimal(row, column, scale));
        let sums = [decimal(3, 0)?, decimal(4, 0)?, decimal(5, 0)?, decimal(6, 2)?];
        right += u64::from(short == 0 && sums == loaded(company, district as u64)?);
    }
    Ok((u64::from(company.scale) * DISTRICTS).saturating_sub(right))
}

/// The sums of a district (from 0, over all warehouses) as it is loaded.
fn loaded(company: &Company, district: u64) -> Result<Sums> {
    let each = Table::OrderLine.per_district(&company.sizes);
    let (numbers, progress) = (district * each..(district + 1) * each, Progress::default());
    let mut source = Source::new(Table::OrderLine, numbers, company.sizes, &company.names, &progress);
    let mut sums = Sums::default();
    source.each(&mut |row| {
        if let [_, _, Value::Int(order), Value::Int(number), Value::Int(item), Value::Int(supply), _, Value::Int(quantity), Value::Decimal { unscaled, .. }, _] =
            *row
        {
            let weight = order + 1000 * number;
            let values = [item, supply, quantity, unscaled];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        Ok(())
    })?;
    Ok(sums)
}
