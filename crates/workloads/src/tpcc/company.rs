//! The company: schema, rows and keys of the nine tables.

use std::ops::Range;

use dsbench_core::engine::{Connection, Dialect, Prepare, Statement};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Part, Population, Progress};

use super::names::Names;
use super::nurand::C_LOAD;
use super::rows::{lines_of, Source, Table};
use super::sizes::{Sizes, DISTRICTS};
use crate::catalogue::Promised;
use crate::sql::Sections;
use crate::steps;

/// The SQL of each dialect; the mock takes that of SQLite.
const FILES: &[(&str, &str)] =
    &[("postgres", POSTGRES), ("mysql", MYSQL), ("firebird", FIREBIRD), ("sqlite", SQLITE), ("mock", SQLITE)];

const POSTGRES: &str = concat!(
    include_str!("sql/postgres-schema.sql"),
    include_str!("sql/postgres-procedures.sql"),
    include_str!("sql/postgres-statements.sql"),
    include_str!("sql/tables.sql"),
    include_str!("sql/statements.sql"),
    include_str!("sql/check.sql")
);

const MYSQL: &str = concat!(
    include_str!("sql/mysql-schema.sql"),
    include_str!("sql/mysql-procedures.sql"),
    include_str!("sql/mysql-statements.sql"),
    include_str!("sql/tables.sql"),
    include_str!("sql/statements.sql"),
    include_str!("sql/check.sql")
);

const FIREBIRD: &str = concat!(
    include_str!("sql/firebird-schema.sql"),
    include_str!("sql/firebird-procedures.sql"),
    include_str!("sql/firebird-statements.sql"),
    include_str!("sql/tables.sql"),
    include_str!("sql/statements.sql"),
    include_str!("sql/check.sql")
);

const SQLITE: &str = concat!(
    include_str!("sql/sqlite-schema.sql"),
    include_str!("sql/sqlite-statements.sql"),
    include_str!("sql/tables.sql"),
    include_str!("sql/statements.sql"),
    include_str!("sql/check.sql")
);

/// The largest scale: the numbers of warehouses have five digits where an order's lines travel as text.
pub const LARGEST_SCALE: u32 = 99_999;

/// Rows in one transaction of a bulk load, about: enough to hide the cost of a commit, few enough that no
/// log grows without end and that MyRocks has a lock for each row, of which it gives a transaction 2^20.
const CHUNK: u64 = 500_000;

/// A company of `scale` warehouses on a database of one dialect.
#[derive(Debug)]
pub struct Company {
    /// Number of warehouses.
    pub scale: u32,
    /// What each holds.
    pub sizes: Sizes,
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// The SQL of that dialect.
    pub sql: Sections,
    /// Last names.
    pub names: Names,
    /// Whether foreign keys are added.
    pub keys: bool,
}

impl Company {
    /// Errors of kind `Configuration`: a scale of 0 or above [`LARGEST_SCALE`], a dialect without SQL.
    pub fn new(scale: u32, sizes: Sizes, dialect: &'static Dialect, keys: bool) -> Result<Self> {
        if scale == 0 || scale > LARGEST_SCALE {
            return Err(Error::configuration(format!(
                "scale {scale} is out of range: choose 1 to {LARGEST_SCALE} warehouses"
            )));
        }
        let sql = Sections::of(dialect, FILES)?;
        if !keys {
            may_lack_keys(dialect, &sql)?;
        }
        Ok(Self { scale, sizes, dialect, sql, names: Names::default(), keys })
    }

    /// Rows of a full population.
    pub fn rows(&self) -> u64 {
        let by_number = |table: Table| match table {
            Table::OrderLine => (0..self.rows_of(table)).map(lines_of).sum(),
            other => self.rows_of(other),
        };
        Table::ALL.into_iter().map(by_number).sum()
    }

    /// Rows that `table` has after the load; lines by their orders.
    pub fn rows_of(&self, table: Table) -> u64 {
        table.numbers(&self.sizes, self.scale)
    }

    /// Orders that are delivered already when they are loaded.
    pub fn loaded_delivered(&self) -> u64 {
        u64::from(self.scale) * DISTRICTS * self.sizes.delivered()
    }

    /// Makes the tables and, where the dialect has them, the stored procedures; stores the constant of
    /// the last names.
    pub fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&self.sql.script("tables"))?;
        conn.script(&[&format!("INSERT INTO load_constants (c_last) VALUES ({C_LOAD})")])?;
        match self.dialect.procedures {
            true => conn.script(&self.sql.script("procedures")),
            false => Ok(()),
        }
    }

    /// Writes a part of the rows. A part is a share of the districts of all warehouses, and of the items.
    pub fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        if how == Population::Procedure {
            return Err(Error::configuration("population by procedure: the workload tpcc has none")
                .remedy("use --population bulk"));
        }
        for table in Table::ALL {
            let share = self.share(table, part);
            let numbers = CHUNK / table.rows_per_number();
            for start in share.clone().step_by(numbers as usize) {
                let chunk = start..share.end.min(start + numbers);
                let mut source = Source::new(table, chunk, self.sizes, &self.names, progress);
                let load = conn.bulk().ok_or_else(|| {
                    Error::configuration("this engine has no bulk load, which the workload tpcc needs".to_string())
                })?;
                load.load(table.name(), table.columns(), &mut source)?;
            }
        }
        Ok(())
    }

    fn share(&self, table: Table, part: Part) -> Range<u64> {
        match table {
            Table::Item => part.range(self.sizes.items),
            Table::Warehouse => part.range(u64::from(self.scale)),
            other => {
                let districts = part.range(u64::from(self.scale) * DISTRICTS);
                let each = other.per_district(&self.sizes);
                districts.start * each..districts.end * each
            }
        }
    }

    /// Runs the statements of a section one by one, as steps of `progress`.
    pub fn steps(&self, conn: &mut dyn Connection, section: &str, progress: &Progress) -> Result<()> {
        steps::run(&self.sql, conn, section, progress)
    }

    /// Adds the foreign keys; where they stand in the tables already, checks that all rows meet them.
    pub fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match self.keys {
            true => steps::foreign_keys(&self.sql, conn, progress),
            false => Ok(()),
        }
    }

    /// The indexes and keys that its statements make.
    pub fn promised(&self) -> Promised {
        let sections = ["tables", "primary_keys", "foreign_keys"];
        let all = Promised::of(sections.into_iter().flat_map(|section| self.sql.all(section)));
        if self.keys {
            all
        } else {
            all.without_references()
        }
    }

    /// SQL, or the name of a condition, with the numbers of loaded orders of a district in it.
    pub fn filled(&self, text: &str) -> String {
        let (orders, delivered) = (self.sizes.customers, self.sizes.delivered());
        text.replace("{orders}", &orders.to_string()).replace("{delivered}", &delivered.to_string())
    }

    /// Asks for one row of whole numbers.
    pub fn numbers(&self, conn: &mut dyn Connection, sql: &str, columns: usize) -> Result<Vec<i64>> {
        let columns = vec![Type::Int64; columns];
        let query =
            conn.prepare(&Statement { sql: &self.filled(sql), params: &[], columns: &columns }, Prepare::Once)?;
        let mut rows = Rows::new();
        conn.query(query, &[], &mut rows)?;
        (0..columns.len()).map(|column| rows.int(0, column)).collect()
    }

    /// Asks all statements of a section for a row of whole numbers and adds these up.
    pub fn sums(&self, conn: &mut dyn Connection, section: &str, columns: usize) -> Result<Vec<i64>> {
        let mut sums = vec![0; columns];
        for sql in self.sql.all(section) {
            let numbers = self.numbers(conn, sql, columns)?;
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        Ok(sums)
    }
}

/// Refuses to leave the foreign keys out where that cannot be.
fn may_lack_keys(dialect: &Dialect, sql: &Sections) -> Result<()> {
    let (why, remedy) = match dialect.name {
        // It joins by nested loops: without the keys' indexes a check would read tables once for each row.
        "firebird" => ("the conditions are checked by the indexes of the keys", "leave it out"),
        _ if sql.all("foreign_keys").is_empty() => {
            ("they are part of the tables", "let the target's URL switch them off (…?foreign_keys=off)")
        }
        _ => return Ok(()),
    };
    Err(Error::configuration(format!("--set foreign_keys=off, with {}: {why}", dialect.name)).remedy(remedy))
}
