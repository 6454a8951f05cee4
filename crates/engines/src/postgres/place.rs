//! The schema `dsbench` in the database of the target, marked by a comment on it.

use dsbench_core::engine::{Connection, Engine, Place, PlaceState};
use dsbench_core::error::Result;

use super::{Postgres, PLACE};
use crate::place::{marked, ours, set_up, size, vacant, ADMINISTRATION};

/// A comment that starts with this is dsbench's mark.
const MARK: &str = "dsbench mark:";

const STATE: &str = "SELECT pg_catalog.current_database(), pg_catalog.obj_description(n.oid, 'pg_namespace') \
    FROM pg_catalog.pg_namespace n WHERE n.nspname = 'dsbench'";

/// Tables with their indexes and TOAST tables, materialized views and sequences; partitioned tables
/// take nothing themselves, and their partitions are tables.
const SIZE: &str = "SELECT coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::bigint \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'dsbench' AND c.relkind IN ('r', 'm', 'S')";

impl Place for Postgres {
    fn state(&self) -> Result<PlaceState> {
        state(&mut *self.connect(ADMINISTRATION)?)
    }

    fn create(&self, mark: &str) -> Result<()> {
        let mut connection = self.connect(ADMINISTRATION)?;
        vacant(state(&mut *connection)?, format!("schema {PLACE}"), "rename it, or use another database")?;
        let create = format!("CREATE SCHEMA {PLACE}");
        connection.begin()?;
        connection.script(&[&create, &comment(mark)]).map_err(set_up)?;
        connection.commit()
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let mut connection = self.connect(ADMINISTRATION)?;
        marked(state(&mut *connection)?)?;
        connection.script(&[&comment(mark)]).map_err(set_up)
    }

    fn drop(&self) -> Result<()> {
        let mut connection = self.connect(ADMINISTRATION)?;
        // A session that holds a table would make this wait for ever, during which Ctrl-C has no effect.
        connection.begin()?;
        connection.script(&["SET LOCAL lock_timeout = '10s'"])?;
        if !ours(state(&mut *connection)?)? {
            return connection.rollback();
        }
        connection.script(&[&format!("DROP SCHEMA {PLACE} CASCADE")]).map_err(set_up)?;
        connection.commit()
    }

    fn size_bytes(&self) -> Result<u64> {
        size(&self.connect(ADMINISTRATION)?.fetch(SIZE)?)
    }
}

fn state(connection: &mut dyn Connection) -> Result<PlaceState> {
    let table = connection.fetch(STATE)?;
    let Some(row) = table.rows.first() else { return Ok(PlaceState::Absent) };
    let cell = |at: usize| row.get(at).cloned().flatten();
    Ok(match cell(1).as_deref().and_then(|comment| comment.strip_prefix(MARK)) {
        Some(mark) => PlaceState::Marked(mark.to_owned()),
        None => {
            let database = cell(0).unwrap_or_default();
            PlaceState::Foreign(format!("schema {PLACE} in database {database} has no dsbench mark"))
        }
    })
}

/// The statement that marks the place.
fn comment(mark: &str) -> String {
    format!("COMMENT ON SCHEMA {PLACE} IS {}", literal(&format!("{MARK}{mark}")))
}

/// A text as a literal of SQL, whatever standard_conforming_strings says.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_stay_inside_the_literal() {
        assert_eq!(literal(r"it's \ here"), r"E'it''s \\ here'");
    }
}
