//! The consistency conditions (clause 3.3.2), and what the clients counted against what is there.

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Condition, Expected};

use super::company::Company;
use super::kept;
use super::rows::Table;
use super::sizes::DISTRICTS;
use super::{DELIVERY, NEW_ORDER, PAYMENT};
use crate::steps::{as_made, no_counts, nothing_kept, of_unknown_end, unknown_end};

/// The sections of the conditions that the database answers alone, with the names of their columns.
const WITHIN: &[(&str, &[&str])] = &[
    ("condition_1", &["1: warehouse ytd = sum of its districts"]),
    ("condition_2", &["2: next order - 1 = last order = last new order"]),
    ("condition_3", &["3: new orders have no gap"]),
    ("condition_4", &["4: sum of line counts = lines of the district"]),
    ("condition_5", &["5: no carrier <=> new order"]),
    (
        "lines_of_orders",
        &[
            "6: line count = lines of the order",
            "7: not delivered <=> no carrier",
            "all local <=> no line of another warehouse",
            "lines are numbered from 1",
        ],
    ),
    ("carriers", &["a carrier is 1 to 10"]),
    ("condition_8", &["8: warehouse ytd = sum of its history"]),
    ("condition_9", &["9: district ytd = sum of its history"]),
    (
        "customers",
        &[
            "10: balance = delivered - paid",
            "12: balance + ytd payment = delivered",
            "payments of the customer = its history",
        ],
    ),
    ("history_texts", &["text of a payment = names of its warehouse and district"]),
    ("deliveries", &["deliveries of the customer = its orders delivered since the load"]),
    ("condition_11", &["11: orders - new orders = {delivered} + deliveries"]),
    (
        "lines_since_the_load",
        &[
            "items and stocks of lines are there",
            "amount of a line = quantity * price",
            "text of a line = that of its stock for the district",
        ],
    ),
    ("stock", &["counters of the stock = lines since the load", "10 to 100 are in stock"]),
];

/// Tables that keep their number of rows, in the order of the section `rows`.
const FIXED: [Table; 5] = [Table::Item, Table::Warehouse, Table::District, Table::Stock, Table::Customer];

/// The conditions on what the clients counted.
const COUNTED: [&str; 4] = [
    "orders = loaded + committed New-Orders",
    "history = loaded + committed Payments",
    "delivered orders = loaded + those of the clients",
    "sum of customers' numbers in new orders = that of the clients",
];

/// All conditions after the transactions in `expected`; without it, those within the database.
pub fn check(company: &Company, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
    if !company.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    let mut conditions = Vec::new();
    for (table, sql) in FIXED.into_iter().zip(company.sql.all("rows")) {
        let (found, wanted) = (company.numbers(conn, sql, 1)?[0], company.rows_of(table) as i64);
        let detail = format!("found {found}, scale {wanted}");
        conditions.push(Condition::made(format!("{} rows", table.name()), found == wanted, detail));
    }
    for (section, names) in WITHIN {
        for (name, off) in names.iter().zip(company.sums(conn, section, names.len())?) {
            conditions.push(Condition::made(company.filled(name), off == 0, format!("{off} rows are off")));
        }
    }
    conditions.extend(kept::check(company, conn)?);
    conditions.extend(company.promised().check(company.dialect, conn)?);
    match expected {
        Some(expected) => conditions.extend(counted(company, conn, expected)?),
        None => conditions.extend(COUNTED.map(no_counts)),
    }
    Ok(conditions)
}

/// Every acknowledged commit is there, and nothing else but commits of unknown end of that kind.
fn counted(company: &Company, conn: &mut dyn Connection, expected: &Expected) -> Result<Vec<Condition>> {
    let deliveries = expected.range(DELIVERY);
    let delivered = expected.sum("deliveries").map_or(0, |sum| sum as u64);
    // A Delivery of unknown end may have delivered an order of each district.
    let more = (deliveries.end() - deliveries.start()).saturating_mul(DISTRICTS);
    let table = |table: Table| company.rows_of(table);
    let cases = [
        ("orders", table(Table::Orders), expected.range(NEW_ORDER)),
        ("history", table(Table::History), expected.range(PAYMENT)),
        ("delivered", company.loaded_delivered(), delivered..=delivered.saturating_add(more)),
    ];
    let mut conditions = Vec::new();
    for (name, (section, loaded, added)) in COUNTED.into_iter().zip(cases) {
        let found = company.sums(conn, section, 1)?[0];
        let by_clients = format!("by the clients {}{}", added.start(), of_unknown_end(&added));
        let detail = format!("found {found}, loaded {loaded}, {by_clients}");
        let made = as_made(name, found - loaded as i64, &added, detail);
        // A Delivery delivers several orders.
        let commits = made.commits.filter(|_| section != "delivered");
        conditions.push(Condition { commits, ..made });
    }
    conditions.push(customers(company, conn, expected)?);
    Ok(conditions)
}

/// The orders since the load are those of the customers that the clients drew. Which customers commits of unknown end
/// had is not known.
fn customers(company: &Company, conn: &mut dyn Connection, expected: &Expected) -> Result<Condition> {
    let columns = &[Type::Decimal(0), Type::Int64];
    let query = Statement { sql: &company.filled(company.sql.one("order_customers")?), params: &[], columns };
    let (query, mut rows) = (conn.prepare(&query, Prepare::Once)?, Rows::new());
    conn.query(query, &[], &mut rows)?;
    let (found, there, orders) = (rows.decimal(0, 0, 0)?, rows.int(0, 1)? as u64, expected.range(NEW_ORDER));
    let clients = expected.sum("order_customers").or((orders.end() == &0).then_some(0));
    let name = COUNTED[3];
    Ok(match clients {
        None => Condition::made(name, false, "the clients gave no sum of them"),
        Some(_) if orders.start() != orders.end() && there != *orders.start() => unknown_end(name, expected),
        Some(sum) => Condition::made(name, sum == found, format!("found {found}, by the clients {sum}")),
    })
}
