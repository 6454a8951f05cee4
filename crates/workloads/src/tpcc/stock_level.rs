//! Stock-Level (clause 2.8): items of a district's last 20 orders of which there are few.

use dsbench_core::engine::{Connection, StatementId};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::End;

use super::input::StockLevel;
use super::wording::{ints, Speaker, INT};

/// What runs a Stock-Level: one statement, with procedures and without.
#[derive(Debug, Clone, Copy)]
pub struct Transaction(StatementId);

impl Transaction {
    /// Prepares it.
    pub fn prepare(speaker: &mut Speaker<'_>) -> Result<Self> {
        Ok(Self(speaker.know("stock_level", &[INT; 3], &[Type::Int64])?))
    }

    /// Runs it.
    pub fn run(&self, conn: &mut dyn Connection, level: &StockLevel, rows: &mut Rows) -> Result<End> {
        conn.query(self.0, &ints([level.w, level.d, level.threshold]), rows)?;
        rows.int(0, 0)?;
        Ok(End::Commit)
    }
}
