//! The database `dsbench`, marked by a row of its table `dsbench_mark`: MySQL has no comments on databases.

use dsbench_core::engine::{Connection, Place, PlaceState};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Table, Type, Value};

use super::{size, text, Mysql, PLACE};
use crate::place::{self, administer, alone, first_cells, marked, ours, refuse, set_up, strange, vacant, MADE};

/// Errors that say what is not there: database, table, column.
const NO_DATABASE: &str = "1049";
const NO_TABLE: &str = "1146";
const NO_MARK: &[&str] = &[NO_TABLE, "1054"];

/// Character set and collation that both products have and that do not depend on a language.
const CREATE: &str = "CREATE DATABASE dsbench CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

const DROP: &str = "DROP DATABASE dsbench";

/// All that lies in the database by itself, with its kind. Not by the comparison of information_schema alone, as above.
const THERE: &str = "SELECT told FROM (SELECT TABLE_NAME AS name, \
        CONCAT(CASE TABLE_TYPE WHEN 'BASE TABLE' THEN 'table' ELSE LOWER(TABLE_TYPE) END, ' dsbench.', TABLE_NAME) AS told \
        FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'dsbench' AND CAST(TABLE_SCHEMA AS BINARY) = 'dsbench' \
    UNION ALL SELECT ROUTINE_NAME, CONCAT(LOWER(ROUTINE_TYPE), ' dsbench.', ROUTINE_NAME) \
        FROM information_schema.ROUTINES \
        WHERE ROUTINE_SCHEMA = 'dsbench' AND CAST(ROUTINE_SCHEMA AS BINARY) = 'dsbench' \
    UNION ALL SELECT EVENT_NAME, CONCAT('event dsbench.', EVENT_NAME) FROM information_schema.EVENTS \
        WHERE EVENT_SCHEMA = 'dsbench' AND CAST(EVENT_SCHEMA AS BINARY) = 'dsbench') AS there";
/// Of this, what may be somebody else's.
const OF_OTHERS: &str = "WHERE LEFT(name, 8) <> 'dsbench_' ORDER BY 1";

/// Views and tables with foreign keys in other databases, as far as the user may see what they are made of.
const ELSEWHERE: &str = "SELECT CONCAT('view ', TABLE_SCHEMA, '.', TABLE_NAME) AS told FROM information_schema.VIEWS \
        WHERE TABLE_SCHEMA NOT IN ('dsbench', 'sys') AND LOCATE('`dsbench`.', VIEW_DEFINITION) > 0 \
    UNION SELECT CONCAT('table ', CONSTRAINT_SCHEMA, '.', TABLE_NAME) \
        FROM information_schema.REFERENTIAL_CONSTRAINTS \
        WHERE CONSTRAINT_SCHEMA <> 'dsbench' AND UNIQUE_CONSTRAINT_SCHEMA = 'dsbench' ORDER BY 1";

impl Place for Mysql {
    fn state(&self) -> Result<PlaceState> {
        state(&mut *administer(self)?)
    }

    fn create(&self, mark: &str) -> Result<()> {
        let mut connection = administer(self)?;
        vacant(state(&mut *connection)?, format!("database {PLACE}"), "rename it, or use another server")?;
        connection.script(&[CREATE]).map_err(set_up)?;
        let marked = put_mark(&mut *connection, mark);
        if marked.is_err() {
            // It was made just now, and without a mark it is of no use: drop it again.
            drop(connection.script(&[DROP]));
        }
        marked.map_err(set_up)
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let mut connection = administer(self)?;
        marked(state(&mut *connection)?)?;
        let update = with_mark(&format!("UPDATE {PLACE}.dsbench_mark SET mark = "), mark, "")?;
        connection.script(&[&update]).map_err(set_up)
    }

    fn take_stock(&self) -> Result<()> {
        let table = format!("{PLACE}.{MADE}");
        let make = format!("CREATE TABLE IF NOT EXISTS {table} (name varchar(150) NOT NULL)");
        let note = format!("INSERT INTO {table} {THERE}");
        let mut connection = administer(self)?;
        marked(state(&mut *connection)?)?;
        connection.script(&[&make]).map_err(set_up)?;
        connection.begin()?;
        connection.script(&[&format!("DELETE FROM {table}"), &note]).map_err(set_up)?;
        connection.commit()
    }

    fn strangers(&self) -> Result<Vec<String>> {
        strangers(&mut *administer(self)?)
    }

    fn drop(&self) -> Result<()> {
        let mut connection = administer(self)?;
        if !ours(state(&mut *connection)?)? {
            return Ok(());
        }
        alone(format!("database {PLACE}"), &strangers(&mut *connection)?)?;
        // A session that holds a table would make this wait for a day, during which Ctrl-C has no effect.
        connection.script(&["SET SESSION lock_wait_timeout = 10", DROP]).map_err(|error| match error.kind {
            ErrorKind::Busy => refuse(place::DROP, format!("another session uses a table of database {PLACE}"))
                .remedy("end that session"),
            _ => set_up(error),
        })
    }

    fn size_bytes(&self) -> Result<Option<u64>> {
        size::bytes(&mut *administer(self)?)
    }
}

fn state(connection: &mut dyn Connection) -> Result<PlaceState> {
    // Not information_schema: its comparison of names may take DSBENCH for dsbench.
    match connection.fetch(&format!("SHOW CREATE DATABASE {PLACE}")) {
        Ok(_) => {}
        Err(error) if error.code.as_str() == NO_DATABASE => return Ok(PlaceState::Absent),
        Err(error) => return Err(error),
    }
    let foreign = || PlaceState::Foreign(format!("database {PLACE} has no dsbench mark"));
    match connection.fetch(&format!("SELECT mark FROM {PLACE}.dsbench_mark")) {
        Ok(table) => Ok(match table.rows.as_slice() {
            [row] => row.first().cloned().flatten().map_or_else(foreign, PlaceState::Marked),
            _ => foreign(),
        }),
        Err(error) if NO_MARK.contains(&error.code.as_str()) => Ok(foreign()),
        Err(error) => Err(error),
    }
}

fn strangers(connection: &mut dyn Connection) -> Result<Vec<String>> {
    let made = match connection.fetch(&format!("SELECT name FROM {PLACE}.{MADE}")) {
        Err(error) if error.code.as_str() == NO_TABLE => Table::default(),
        made => made?,
    };
    let within = strange(connection.fetch(&format!("{THERE} {OF_OTHERS}"))?, made);
    Ok(within.into_iter().chain(first_cells(connection.fetch(ELSEWHERE)?)).collect())
}

fn put_mark(connection: &mut dyn Connection, mark: &str) -> Result<()> {
    let insert = with_mark(&format!("INSERT INTO {PLACE}.dsbench_mark VALUES ("), mark, ")")?;
    connection.script(&[&format!("CREATE TABLE {PLACE}.dsbench_mark (mark text NOT NULL)"), &insert])
}

/// A statement with the mark as a literal between its two ends.
fn with_mark(before: &str, mark: &str, after: &str) -> Result<String> {
    let mut statement = before.as_bytes().to_vec();
    text::literal(&mut statement, Type::Text, &Value::Text(mark))?;
    statement.extend_from_slice(after.as_bytes());
    Ok(String::from_utf8_lossy(&statement).into_owned())
}
