//! Where the cases happen: a place of the suite's own, its tables, sessions in it.

use std::sync::Arc;

use dsbench_core::engine::{refuse_occupied, Connection, Engine, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::sql::Sections;
use dsbench_core::value::{Rows, Type, Value};

use crate::Product;

/// The SQL of each dialect.
pub const FILES: &[(&str, &str)] = &[
    ("postgres", concat!(include_str!("sql/postgres.sql"), include_str!("sql/shared.sql"))),
    ("mysql", concat!(include_str!("sql/mysql.sql"), include_str!("sql/shared.sql"))),
    ("sqlite", concat!(include_str!("sql/sqlite.sql"), include_str!("sql/shared.sql"))),
    ("firebird", concat!(include_str!("sql/firebird.sql"), include_str!("sql/shared.sql"))),
];

/// Text of the suite's own mark.
pub const MARK: &str = "conformance suite";

/// An engine and what the suite made there.
pub struct Bed {
    pub engine: Arc<dyn Engine>,
    pub product: Product,
    sql: Sections,
}

impl Bed {
    /// Makes the place. Errors: `Configuration` for an engine that the suite has no SQL for, `Setup`
    /// when a place is there already: nothing that was there before is ever dropped.
    pub fn new(engine: Arc<dyn Engine>) -> Result<Self> {
        let sql = Sections::of(engine.dialect(), FILES)?;
        refuse_occupied(engine.as_ref())?;
        engine.place().create(MARK)?;
        let made = Product { family: String::new(), version: String::new() };
        let mut bed = Self { engine, product: made, sql };
        bed.product = bed.ask().inspect_err(|_| bed.clear())?;
        Ok(bed)
    }

    fn ask(&self) -> Result<Product> {
        let mut session = self.session(Isolation::ReadCommitted)?;
        let version = self.cell(&mut *session, "version")?.trim_end().to_string();
        // The last cell of each row: a setting that an older version lacks has no row.
        let table = session.fetch(self.sql("family")?)?;
        let words: Vec<String> =
            table.rows.into_iter().filter_map(|row| row.into_iter().flatten().next_back()).collect();
        Ok(Product { family: words.join(" ").to_lowercase(), version })
    }

    /// Drops the place. An error is ignored: the suite is over.
    pub fn clear(&self) {
        let _ = self.engine.place().drop();
    }

    /// Makes the place anew, with the suite's tables in it.
    pub fn furnish(&self) -> Result<()> {
        self.engine.place().drop()?;
        self.engine.place().create(MARK)?;
        self.script("tables")?;
        self.script("reset")
    }

    /// Runs the statements of a section in a session of their own.
    pub fn script(&self, section: &str) -> Result<()> {
        self.session(Isolation::ReadCommitted)?.script(&self.sql.script(section))
    }

    /// Table `t` with its rows (1, 1) and (2, 1) and no others.
    pub fn reset(&self) -> Result<()> {
        self.script("reset")
    }

    /// A session of load at a level of isolation.
    pub fn session(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.engine.connect(Session { isolation, in_place: true })
    }

    /// A session that does not need the place.
    pub fn admin(&self) -> Result<Box<dyn Connection>> {
        self.engine.connect(Session { isolation: Isolation::ReadCommitted, in_place: false })
    }

    /// The one statement of a section.
    pub fn sql(&self, section: &str) -> Result<&str> {
        self.sql.one(section)
    }

    /// All statements of a section; none where the dialect has no such thing.
    pub fn all(&self, section: &str) -> Vec<&str> {
        self.sql.script(section)
    }

    /// Prepares the statement of a section.
    pub fn prepare(
        &self,
        session: &mut dyn Connection,
        section: &str,
        params: &[Type],
        columns: &[Type],
        when: Prepare,
    ) -> Result<StatementId> {
        session.prepare(&Statement { sql: self.sql(section)?, params, columns }, when)
    }

    /// The first cell of the query in a section.
    pub fn cell(&self, session: &mut dyn Connection, section: &str) -> Result<String> {
        let table = session.fetch(self.sql(section)?)?;
        Ok(table.rows.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// The values of rows 1 and 2 of table `t`, as a session that begins now sees them.
    pub fn balances(&self) -> Result<[i64; 2]> {
        let mut session = self.session(Isolation::ReadCommitted)?;
        let read = self.prepare(&mut *session, "read", &[Type::Int32], &[Type::Int32], Prepare::Never)?;
        let mut rows = Rows::new();
        let mut found = [0; 2];
        for (key, value) in (1..).zip(&mut found) {
            session.query(read, &[Value::Int(key)], &mut rows)?;
            *value = rows.int(0, 0)?;
        }
        Ok(found)
    }
}
