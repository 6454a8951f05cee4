//! The bank: schema, rows and keys, which the workloads `tpcb` and `select` share.

use dsbench_core::engine::{Connection, Dialect, Prepare, Statement};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Part, Population, Progress};

use super::rows::{Source, Table, ACCOUNTS, TELLERS};
use crate::settings::{Setting, Settings, Values};
use crate::sql::Sections;
use crate::steps;

/// The SQL of each dialect.
const FILES: &[(&str, &str)] = &[
    ("postgres", concat!(include_str!("postgres.sql"), include_str!("shared.sql"))),
    ("mysql", concat!(include_str!("mysql.sql"), include_str!("shared.sql"))),
    ("firebird", concat!(include_str!("firebird.sql"), include_str!("shared.sql"))),
    ("sqlite", concat!(include_str!("sqlite.sql"), include_str!("shared.sql"))),
    ("mock", concat!(include_str!("sqlite.sql"), include_str!("shared.sql"))),
];

/// The largest scale whose accounts have numbers of 32 bits where nothing else is said.
pub const LARGEST_OF_32_BITS: u32 = (i32::MAX as u64 / ACCOUNTS) as u32;

/// The largest scale: some 3 TB.
pub const LARGEST_SCALE: u32 = 200_000;

/// Settings of all that runs on the bank.
pub const SETTINGS: &[Setting] = &[Setting {
    name: "keys",
    values: Values::Words(&["auto", "64"]),
    default: "auto",
    help: "accounts have numbers of 64 bits; auto: above scale 21,474 only, so that a ladder across it has two schemas",
}];

/// Rows of one transaction of a bulk load: enough to hide the cost of a commit, few enough that
/// no log grows without end. One transaction for all rows of a session was no faster on PostgreSQL.
const CHUNK: u64 = 500_000;

/// Whether integers take as many bytes as their values need.
fn compact_integers(dialect: &Dialect) -> bool {
    ["sqlite", "mock"].contains(&dialect.name)
}

/// A bank of `scale` branches on a database of one dialect.
#[derive(Debug)]
pub struct Bank {
    /// Number of branches.
    pub scale: u32,
    /// Accounts have numbers of 64 bits.
    wide: bool,
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// The SQL of that dialect.
    pub sql: Sections,
}

impl Bank {
    /// Errors of kind `Configuration`: a scale of 0 or above [`LARGEST_SCALE`], a dialect without SQL.
    pub fn new(scale: u32, dialect: &'static Dialect, settings: &Settings) -> Result<Self> {
        if scale == 0 || scale > LARGEST_SCALE {
            return Err(Error::configuration(format!("scale {scale} is out of range: choose 1 to {LARGEST_SCALE}")));
        }
        let wide = scale > LARGEST_OF_32_BITS || settings.get("keys") == Some("64");
        // SQLite's integers have the length of their value, and no other type is the number of the row itself.
        let word: &[_] = if wide && !compact_integers(dialect) { &[("{aid}", "bigint")] } else { &[] };
        Ok(Self { scale, wide, dialect, sql: Sections::with(dialect, FILES, word)? })
    }

    /// The type of the accounts' numbers.
    pub fn account_key(&self) -> Type {
        if self.wide {
            Type::Int64
        } else {
            Type::Int32
        }
    }

    /// Rows of a full population.
    pub fn rows(&self) -> u64 {
        u64::from(self.scale) * (1 + TELLERS + ACCOUNTS)
    }

    /// Rows of one table.
    pub fn rows_of(&self, table: Table) -> u64 {
        u64::from(self.scale) * table.per_branch()
    }

    /// Columns of a table, in the order in which its rows give them.
    fn columns(&self, table: Table) -> Vec<(&'static str, Type)> {
        let of_key = |(name, kind)| (name, if name == "aid" { self.account_key() } else { kind });
        table.columns().iter().copied().map(of_key).collect()
    }

    /// Makes the tables and, where the dialect has them, the stored procedures.
    pub fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&self.sql.script("tables"))?;
        match self.dialect.procedures {
            true => conn.script(&self.sql.script("procedures")),
            false => Ok(()),
        }
    }

    /// Writes a part of the rows.
    pub fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(self.rows());
        match how {
            Population::Bulk => self.populate_bulk(conn, part, progress),
            Population::Procedure => self.populate_by_procedure(conn, part, progress),
        }
    }

    /// The first part writes branches and tellers, every part its share of the accounts.
    fn populate_bulk(&self, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        let accounts = part.range(self.rows_of(Table::Account));
        let mut shares = vec![(Table::Account, accounts)];
        if part.index == 0 {
            shares.insert(0, (Table::Branch, 0..self.rows_of(Table::Branch)));
            shares.insert(1, (Table::Teller, 0..self.rows_of(Table::Teller)));
        }
        for (table, share) in shares {
            for start in share.clone().step_by(CHUNK as usize) {
                let chunk = start..share.end.min(start + CHUNK);
                let mut source = Source::new(table, chunk, compact_integers(self.dialect), progress);
                let load = conn.bulk().ok_or_else(|| {
                    Error::configuration("this engine has no bulk load; populate by procedure".to_string())
                })?;
                load.load(table.name(), &self.columns(table), &mut source)?;
            }
        }
        Ok(())
    }

    /// One call for each branch.
    fn populate_by_procedure(&self, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        if !self.dialect.procedures {
            return Err(Error::configuration(format!(
                "population by procedure: {} has no stored procedures; populate in bulk",
                self.dialect.name
            )));
        }
        if part.index > 0 {
            return Ok(());
        }
        let call = Statement { sql: self.sql.one("call_populate")?, params: &[Type::Int32], columns: &[Type::Int64] };
        let call = conn.prepare(&call, Prepare::Once)?;
        let mut made = Rows::new();
        for branch in 1..=i64::from(self.scale) {
            conn.query(call, &[Value::Int(branch)], &mut made)?;
            progress.advance(made.int(0, 0)? as u64)?;
        }
        Ok(())
    }

    /// Runs the statements of a section one by one, as steps of `progress`.
    pub fn steps(&self, conn: &mut dyn Connection, section: &str, progress: &Progress) -> Result<()> {
        steps::run(&self.sql, conn, section, progress)
    }

    /// Adds the foreign keys; where they stand in the tables already, checks that all rows meet them.
    pub fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        steps::foreign_keys(&self.sql, conn, progress)
    }
}
