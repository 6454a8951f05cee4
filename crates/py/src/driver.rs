//! An engine whose sessions of load are those of another client: a driver that Python has, called by the same loop.
//! Everything else, such as the place and the population, is left to the engine of dsbench's own.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Prepare, Session, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::lexer::Rules;
use dsbench_core::value::{Rows, Table, Type, Value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A database that the driver behind `open` reaches: `open(isolation)` gives a session, see `drivers/session.py`.
pub struct Driver {
    pub own: Arc<dyn Engine>,
    pub open: Py<PyAny>,
}

impl Engine for Driver {
    fn dialect(&self) -> &'static Dialect {
        self.own.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let isolation = match session.isolation {
            Isolation::ReadCommitted => "read-committed",
            Isolation::RepeatableRead => "repeatable-read",
            Isolation::Serializable => "serializable",
        };
        Python::attach(|py| {
            let opened = self.open.call1(py, (isolation,)).and_then(|object| {
                let method = |name: &str| object.getattr(py, name);
                Ok(Driven {
                    own: Arc::clone(&self.own),
                    begin: method("begin")?,
                    begin_reading: method("begin_reading")?,
                    commit: method("commit")?,
                    rollback: method("rollback")?,
                    in_transaction: method("in_transaction")?,
                    begun: false,
                    object,
                    statements: Vec::new(),
                })
            });
            let opened = opened.map_err(|error| Error::with(ErrorKind::Setup, "connect", error.to_string()))?;
            Ok(Box::new(opened) as Box<dyn Connection>)
        })
    }

    fn place(&self) -> &dyn Place {
        self.own.place()
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        self.own.kind_of(code)
    }

    /// The interpreter keeps what it knows of a thread as long as the thread holds on to it, else for one call.
    fn on_thread(&self, body: &mut dyn FnMut()) {
        // The body never has two threads: it is only handed through the interpreter.
        struct Lent<'a>(&'a mut dyn FnMut());
        // SAFETY: `detach` runs its closure at once, on this thread.
        unsafe impl Send for Lent<'_> {}
        impl Lent<'_> {
            fn run(self) {
                (self.0)();
            }
        }
        let lent = Lent(body);
        Python::attach(|py| py.detach(move || lent.run()));
    }
}

/// `sql` for a driver that formats its statements, see `Rules::by_format`.
#[pyfunction]
pub fn by_format(sql: &str, dialect: &str) -> String {
    Rules::of(dialect).by_format(sql)
}

/// A session of a driver.
struct Driven {
    own: Arc<dyn Engine>,
    object: Py<PyAny>,
    begin: Py<PyAny>,
    begin_reading: Py<PyAny>,
    commit: Py<PyAny>,
    rollback: Py<PyAny>,
    in_transaction: Py<PyAny>,
    /// Between `begin` and its end: a statement outside commits itself.
    begun: bool,
    /// What runs each statement, with the types of its columns.
    statements: Vec<(Py<PyAny>, Box<[Type]>)>,
}

impl Driven {
    fn call(&self, method: &Py<PyAny>, context: &'static str) -> Result<()> {
        Python::attach(|py| match method.call0(py) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed(py, &error, context)),
        })
    }

    /// Runs a statement and hands what it gave to `take`, with the types of its columns.
    fn run<T>(
        &self,
        id: StatementId,
        params: &[Value<'_>],
        take: impl FnOnce(&Bound<'_, PyAny>, &[Type]) -> PyResult<T>,
    ) -> Result<T> {
        let known = self.statements.get(id.0 as usize);
        let (statement, columns) =
            known.ok_or_else(|| Error::with(ErrorKind::Statement, "execute", "no such statement was prepared"))?;
        Python::attach(|py| {
            let ran = || -> PyResult<T> {
                let given = params.iter().map(|value| self.given(py, value)).collect::<PyResult<Vec<_>>>()?;
                let found = statement.bind(py).call1((PyTuple::new(py, given)?,))?;
                take(&found, columns)
            };
            ran().map_err(|error| self.failed(py, &error, "execute"))
        })
    }

    fn given<'py>(&self, py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.bind(py);
        Ok(match *value {
            Value::Null => py.None().into_bound(py),
            Value::Int(v) => v.into_pyobject(py)?.into_any(),
            Value::Float(v) => v.into_pyobject(py)?.into_any(),
            Value::Text(v) => v.into_pyobject(py)?.into_any(),
            Value::Decimal { unscaled, scale } => object.call_method1("decimal", (unscaled, scale))?,
            Value::Timestamp(v) => object.call_method1("timestamp", (v,))?,
        })
    }

    fn cell(&self, cell: &Bound<'_, PyAny>, declared: Type, into: &mut Rows) -> PyResult<()> {
        let object = self.object.bind(cell.py());
        if cell.is_none() {
            into.push(Value::Null);
            return Ok(());
        }
        match declared {
            Type::Int16 | Type::Int32 | Type::Int64 => {
                // A sum may come as a decimal number.
                let whole = cell.extract::<i64>().or_else(|_| cell.call_method0("__int__")?.extract::<i64>())?;
                into.push(Value::Int(whole));
            }
            Type::Float64 => into.push(Value::Float(cell.extract::<f64>()?)),
            Type::Text => into.push(Value::Text(&cell.extract::<String>()?)),
            Type::Decimal(scale) => {
                let unscaled = object.call_method1("unscaled", (cell, scale))?.extract::<i64>()?;
                into.push(Value::Decimal { unscaled, scale });
            }
            Type::Timestamp => into.push(Value::Timestamp(object.call_method1("microseconds", (cell,))?.extract()?)),
        }
        Ok(())
    }

    /// The error of a driver, judged by its code as those of dsbench's own client are.
    #[cold]
    fn failed(&self, py: Python<'_>, error: &PyErr, context: &'static str) -> Error {
        let told = self
            .object
            .call_method1(py, "code", (error.value(py),))
            .and_then(|code| code.extract::<Option<String>>(py));
        let code = told.unwrap_or_else(|_| Some(String::new()));
        let kind = match &code {
            None => ErrorKind::Disconnected,
            Some(code) => self.own.kind_of(code),
        };
        // A statement outside of a transaction commits itself, and may have done so before the connection was lost.
        let commits = context == "commit" || (context == "execute" && !self.begun);
        let kind = if kind == ErrorKind::Disconnected && commits { ErrorKind::Unknown } else { kind };
        let error = match kind.is_retryable() {
            true => Error::new(kind, context),
            false => Error::with(kind, context, error.to_string()),
        };
        error.code(code.unwrap_or_default().as_bytes())
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A session that is broken says so once more when it is closed.
        let _ = Python::attach(|py| self.object.call_method0(py, "close").map(|_| ()));
    }
}

impl Connection for Driven {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        let asked = (statement.sql, !statement.columns.is_empty(), when == Prepare::Once);
        let runs = Python::attach(|py| {
            let made = self.object.call_method1(py, "prepare", asked);
            made.map_err(|error| self.failed(py, &error, "prepare"))
        })?;
        self.statements.push((runs, statement.columns.into()));
        Ok(StatementId(self.statements.len() as u32 - 1))
    }

    fn begin(&mut self) -> Result<()> {
        self.call(&self.begin, "begin")?;
        self.begun = true;
        Ok(())
    }

    fn begin_reading(&mut self) -> Result<()> {
        self.call(&self.begin_reading, "begin")?;
        self.begun = true;
        Ok(())
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.run(id, params, |changed, _| changed.extract::<u64>())
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.run(id, params, |rows, columns| {
            into.reset(columns.len());
            for row in rows.try_iter()? {
                let row = row?;
                for (at, declared) in columns.iter().enumerate() {
                    self.cell(&row.get_item(at)?, *declared, into)?;
                }
            }
            Ok(())
        })
    }

    fn commit(&mut self) -> Result<()> {
        self.call(&self.commit, "commit")?;
        self.begun = false;
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.begun = false;
        self.call(&self.rollback, "rollback")
    }

    /// A session that cannot say it is taken for one that is lost.
    fn in_transaction(&mut self) -> bool {
        Python::attach(|py| self.in_transaction.call0(py).and_then(|open| open.extract(py)).unwrap_or(false))
    }

    fn script(&mut self, _sql: &[&str]) -> Result<()> {
        Err(only_load())
    }

    fn fetch(&mut self, _sql: &str) -> Result<Table> {
        Err(only_load())
    }
}

fn only_load() -> Error {
    Error::with(ErrorKind::Statement, "execute", "a driver makes load, and nothing else")
}
