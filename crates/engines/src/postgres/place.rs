//! The schema `dsbench` in the database of the target, marked by a comment on it.

use dsbench_core::engine::{Connection, Place, PlaceState};
use dsbench_core::error::Result;
use dsbench_core::value::Table;

use super::{Postgres, PLACE};
use crate::place::{administer, alone, first_cells, marked, ours, set_up, size, strange, vacant, MADE};

/// A comment that starts with this is dsbench's mark.
const MARK: &str = "dsbench mark:";

const STATE: &str = "SELECT pg_catalog.current_database(), pg_catalog.obj_description(n.oid, 'pg_namespace') \
    FROM pg_catalog.pg_namespace n WHERE n.nspname = 'dsbench'";

/// Tables with their indexes and TOAST tables, materialized views and sequences; partitioned tables
/// take nothing themselves, and their partitions are tables.
const SIZE: &str = "SELECT coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::bigint \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'dsbench' AND c.relkind IN ('r', 'm', 'S')";

/// All that lies in the schema by itself: what belongs to a table, such as its indexes, goes with that.
const THERE: &str = "FROM pg_catalog.pg_depend d \
    JOIN pg_catalog.pg_namespace n ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = n.oid \
    CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) i \
    WHERE n.nspname = 'dsbench' AND d.deptype = 'n'";
/// Of this, what may be somebody else's.
const OF_OTHERS: &str = "AND left(coalesce(i.name, ''), 8) <> 'dsbench_' ORDER BY 1";
/// Its kind and its name in one text, as strangers are told.
const TOLD: &str = "SELECT i.type || ' ' || i.identity";
/// The kind as DROP takes it, and the name.
const KIND_AND_NAME: &str = "SELECT replace(i.type, 'statistics object', 'statistics'), i.identity";

const STOCK_TAKEN: &str = "SELECT c.relname FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'dsbench' AND c.relname = 'dsbench_made'";

/// Views, tables with foreign keys and defaults, routines: those of other schemas that depend on what THERE has.
const ELSEWHERE: &str = "WITH own AS (SELECT d.classid, d.objid FROM pg_catalog.pg_depend d \
        JOIN pg_catalog.pg_namespace n ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = n.oid \
        WHERE n.nspname = 'dsbench'), \
    near AS (SELECT d.classid, d.objid FROM pg_catalog.pg_depend d \
        JOIN own ON d.refclassid = own.classid AND d.refobjid = own.objid), \
    whole AS (SELECT near.classid, near.objid FROM near \
        WHERE near.classid IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass) \
        UNION SELECT 'pg_catalog.pg_class'::regclass, r.ev_class FROM near JOIN pg_catalog.pg_rewrite r \
        ON near.classid = 'pg_catalog.pg_rewrite'::regclass AND near.objid = r.oid \
        UNION SELECT 'pg_catalog.pg_class'::regclass, a.adrelid FROM near JOIN pg_catalog.pg_attrdef a \
        ON near.classid = 'pg_catalog.pg_attrdef'::regclass AND near.objid = a.oid \
        UNION SELECT 'pg_catalog.pg_class'::regclass, c.conrelid FROM near JOIN pg_catalog.pg_constraint c \
        ON near.classid = 'pg_catalog.pg_constraint'::regclass AND near.objid = c.oid AND c.conrelid <> 0) \
    SELECT DISTINCT i.type || ' ' || i.identity FROM whole \
    CROSS JOIN LATERAL pg_catalog.pg_identify_object(whole.classid, whole.objid, 0) i \
    WHERE i.schema <> 'dsbench' AND i.type <> 'toast table' ORDER BY 1";

/// SQLSTATE of a drop of what something else still needs.
const STILL_NEEDED: &str = "2BP01";

impl Place for Postgres {
    fn state(&self) -> Result<PlaceState> {
        state(&mut *administer(self)?)
    }

    fn create(&self, mark: &str) -> Result<()> {
        let mut connection = administer(self)?;
        vacant(state(&mut *connection)?, format!("schema {PLACE}"), "rename it, or use another database")?;
        let create = format!("CREATE SCHEMA {PLACE}");
        connection.begin()?;
        connection.script(&[&create, &comment(mark)]).map_err(set_up)?;
        connection.commit()
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let mut connection = administer(self)?;
        marked(state(&mut *connection)?)?;
        connection.script(&[&comment(mark)]).map_err(set_up)
    }

    fn take_stock(&self) -> Result<()> {
        let mut connection = administer(self)?;
        let table = format!("{PLACE}.{MADE}");
        connection.begin()?;
        marked(state(&mut *connection)?)?;
        if connection.fetch(STOCK_TAKEN)?.rows.is_empty() {
            connection.script(&[&format!("CREATE TABLE {table} (name text NOT NULL)")]).map_err(set_up)?;
        }
        let note = format!("INSERT INTO {table} {TOLD} {THERE}");
        connection.script(&[&format!("DELETE FROM {table}"), &note]).map_err(set_up)?;
        connection.commit()
    }

    fn strangers(&self) -> Result<Vec<String>> {
        strangers(&mut *administer(self)?)
    }

    fn drop(&self) -> Result<()> {
        let mut connection = administer(self)?;
        // A session that holds a table would make this wait for ever, during which Ctrl-C has no effect.
        connection.begin()?;
        connection.script(&["SET LOCAL lock_timeout = '10s'"])?;
        if !ours(state(&mut *connection)?)? {
            return connection.rollback();
        }
        alone(format!("schema {PLACE}"), &strangers(&mut *connection)?)?;
        clear(&mut *connection).map_err(set_up)?;
        connection.script(&[&format!("DROP SCHEMA {PLACE}")]).map_err(set_up)?;
        connection.commit()
    }

    fn size_bytes(&self) -> Result<Option<u64>> {
        size(administer(self)?.fetch(SIZE))
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

fn strangers(connection: &mut dyn Connection) -> Result<Vec<String>> {
    let made = match connection.fetch(STOCK_TAKEN)?.rows.is_empty() {
        true => Table::default(),
        false => connection.fetch(&format!("SELECT name FROM {PLACE}.{MADE}"))?,
    };
    let within = strange(connection.fetch(&format!("{TOLD} {THERE} {OF_OTHERS}"))?, made);
    Ok(within.into_iter().chain(first_cells(connection.fetch(ELSEWHERE)?)).collect())
}

/// Drops all that lies in the schema, and nothing that depends on it elsewhere.
///
/// What needs what is not known here: what something else still needs is tried again after the others.
fn clear(connection: &mut dyn Connection) -> Result<()> {
    let mut kinds: Vec<Drops> = Vec::new();
    for row in connection.fetch(&format!("{KIND_AND_NAME} {THERE}"))?.rows {
        let [Some(kind), Some(name)] = <[_; 2]>::try_from(row).unwrap_or_default() else { continue };
        match kinds.iter_mut().find(|one| one.kind == kind && kind == "table") {
            Some(one) => one.names.push(name),
            None => kinds.push(Drops { kind, names: vec![name] }),
        }
    }
    while !kinds.is_empty() {
        let (before, mut needed) = (kinds.len(), None);
        let mut left = Vec::new();
        for one in kinds {
            let drop = format!("DROP {} IF EXISTS {}", one.kind, one.names.join(", "));
            match connection.script(&["SAVEPOINT dsbench_drop", &drop, "RELEASE SAVEPOINT dsbench_drop"]) {
                Ok(()) => {}
                Err(error) if error.code.as_str() == STILL_NEEDED => {
                    connection.script(&["ROLLBACK TO SAVEPOINT dsbench_drop"])?;
                    left.push(one);
                    needed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = needed.filter(|_| left.len() == before) {
            return Err(error);
        }
        kinds = left;
    }
    Ok(())
}

/// What one statement drops: tables all at once, as their foreign keys may make a ring.
struct Drops {
    kind: String,
    names: Vec<String>,
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
