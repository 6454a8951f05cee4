//! A session of the load beside it, on which the statements of a workload are prepared: to ask how they are executed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsbench_core::engine::{
    Connection, Described, Engine, Isolation, Pipeline, Prepare, Session, Statement, StatementId, Texts,
};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::stage::Work;
use dsbench_core::value::{Rows, Table, Type, Value};
use dsbench_core::workload::{ClientId, Workload};
use pyo3::prelude::*;

use crate::error::raise;
use crate::hearing::hearing;
use crate::target::TextRows;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A statement with the types of its parameters.
type Known = (String, Vec<&'static str>);

/// A session on which all statements of a workload are prepared.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Prepared {
    connection: Arc<Mutex<Box<dyn Connection>>>,
    known: Vec<Known>,
}

impl Prepared {
    /// Opens the session, and lets a client of each role prepare its statements. A role that cannot is left out.
    pub fn open(engine: &dyn Engine, workload: &dyn Workload) -> Result<Self> {
        let session = Session { isolation: Isolation::ReadCommitted, in_place: true };
        let mut connection = engine.connect(session)?;
        let mut spy = Spy { inner: connection.as_mut(), known: Vec::new() };
        for role in roles(workload) {
            let mut client = workload.client(ClientId { role, ..ClientId::alone(0) }, 1);
            if client.prepare(&mut spy, Prepare::Once).is_err() {
                spy.inner.rollback()?;
            }
        }
        let known = spy.known;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), known })
    }
}

fn roles(workload: &dyn Workload) -> Vec<u8> {
    let mut found = Vec::new();
    for stage in workload.stages() {
        if let Work::Load { groups, .. } = stage.work {
            found.extend(groups.iter().map(|group| group.role));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[pymethods]
impl Prepared {
    /// The statements, each once, with the types of their parameters: number, text, time.
    fn statements(&self) -> Vec<Known> {
        self.known.clone()
    }

    /// Runs one query in the session: (column names, rows of text cells).
    fn fetch(&self, py: Python<'_>, sql: String) -> PyResult<(Vec<String>, TextRows)> {
        let connection = Arc::clone(&self.connection);
        let end = lock(&self.connection).interrupt();
        let found = hearing(py, PATIENCE, move || lock(&connection).fetch(&sql));
        if !matches!(found, Ok(Some(_))) {
            if let Some(end) = end {
                end.interrupt();
            }
        }
        let silent = || Err(Error::with(ErrorKind::Disconnected, "explain", "the server did not answer"));
        let table: Table = found?.unwrap_or_else(silent).map_err(raise)?;
        Ok((table.columns, table.rows))
    }
}

fn word(param: &Type) -> &'static str {
    match param {
        Type::Text => "text",
        Type::Timestamp => "time",
        _ => "number",
    }
}

/// Hands on what a client does with its connection, and notes what it prepares.
struct Spy<'a> {
    inner: &'a mut dyn Connection,
    known: Vec<Known>,
}

impl Connection for Spy<'_> {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        let known = (statement.sql.to_owned(), statement.params.iter().map(word).collect());
        if !self.known.contains(&known) {
            self.known.push(known);
        }
        self.inner.prepare(statement, when)
    }

    fn describe(&mut self, sql: &str) -> Result<Described> {
        self.inner.describe(sql)
    }

    fn begin(&mut self) -> Result<()> {
        self.inner.begin()
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.inner.execute(id, params)
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.inner.query(id, params, into)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }

    fn in_transaction(&mut self) -> bool {
        self.inner.in_transaction()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.inner.script(sql)
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.inner.fetch(sql)
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        self.inner.pipeline()
    }

    fn texts(&mut self) -> Option<&mut dyn Texts> {
        self.inner.texts()
    }
}
