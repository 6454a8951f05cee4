//! The suite that every engine passes, on SQLite; and that it finds what engines may do wrong.
#![cfg(feature = "sqlite")]

#[path = "common/folder.rs"]
mod folder;

use std::sync::Arc;

use dsbench_conformance::Suite;
use dsbench_core::engine::{
    BulkLoad, Connection, Dialect, Engine, Interrupt, Place, PlaceState, Prepare, Session, Statement, StatementId,
};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Table, Value};

use folder::Folder;

fn on_file(folder: &Folder) -> Box<dyn Engine> {
    dsbench_engines::open(&format!("sqlite:///{}/file.db", folder.0.display())).unwrap()
}

#[test]
fn the_conformance_suite_on_sqlite() {
    let folder = Folder::new("conformance");
    assert_eq!(Suite::failures(on_file(&folder).into(), None).unwrap(), [""; 0]);
    assert!(std::fs::read_dir(&folder.0).unwrap().next().is_none(), "the suite takes away what it made");
}

#[test]
fn a_place_that_is_there_is_left_alone() {
    let folder = Folder::new("conformance");
    let engine = on_file(&folder);
    engine.place().create("mine").unwrap();
    let error = Suite::new(on_file(&folder).into()).err().unwrap();
    assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("mine"), "{error}");
    assert_eq!(engine.place().state().unwrap(), PlaceState::Marked("mine".into()));
    engine.place().drop().unwrap();
}

#[test]
fn an_engine_that_keeps_nothing_is_refused() {
    let mock = dsbench_engines::open("mock:").unwrap();
    assert_eq!(Suite::new(mock.into()).err().unwrap().kind, ErrorKind::Configuration);
}

/// What an engine may do wrong, on top of one that does it right.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Commits are forgotten.
    NoCommit,
    /// A rollback commits.
    NoRollback,
    /// Every error is said to be one that may be retried.
    AllRetryable,
    /// Text is cut after 100 characters.
    ShortText,
    /// Rows of the last result are kept when there are none.
    StaleRows,
    /// A loss is not told.
    DeafInterrupt,
    /// Anything may be dropped.
    Careless,
}

/// Words that stand in the reports on a fault.
const FOUND: &[(Fault, &str)] = &[
    (Fault::NoCommit, "a commit keeps and a rollback undoes"),
    (Fault::NoRollback, "a commit keeps and a rollback undoes"),
    (Fault::AllRetryable, "a key that is there already"),
    (Fault::ShortText, "a text of 6,000 characters"),
    (Fault::StaleRows, "a query refills its rows"),
    (Fault::DeafInterrupt, "another thread ends what a session is waiting for"),
    (Fault::Careless, "what does not carry the mark is neither dropped nor made anew"),
];

struct Faulty(Box<dyn Engine>, Fault);

struct FaultyConnection(Box<dyn Connection>, Fault);

impl Engine for Faulty {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        Ok(Box::new(FaultyConnection(self.0.connect(session)?, self.1)))
    }

    fn place(&self) -> &dyn Place {
        self
    }
}

impl Place for Faulty {
    fn state(&self) -> Result<PlaceState> {
        self.0.place().state()
    }

    fn create(&self, mark: &str) -> Result<()> {
        self.0.place().create(mark)
    }

    fn remark(&self, mark: &str) -> Result<()> {
        self.0.place().remark(mark)
    }

    fn take_stock(&self) -> Result<()> {
        self.0.place().take_stock()
    }

    fn strangers(&self) -> Result<Vec<String>> {
        self.0.place().strangers()
    }

    fn drop(&self) -> Result<()> {
        if self.1 == Fault::Careless && matches!(self.state()?, PlaceState::Foreign(_)) {
            return Ok(());
        }
        self.0.place().drop()
    }

    fn size_bytes(&self) -> Result<Option<u64>> {
        self.0.place().size_bytes()
    }
}

impl FaultyConnection {
    fn told<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match self.1 {
            Fault::AllRetryable => Error { kind: ErrorKind::Serialization, message: None, ..error },
            Fault::DeafInterrupt if error.kind == ErrorKind::Disconnected => Error::new(ErrorKind::Busy, "execute"),
            _ => error,
        })
    }
}

impl Connection for FaultyConnection {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        let done = self.0.prepare(statement, when);
        self.told(done)
    }

    fn begin(&mut self) -> Result<()> {
        let done = self.0.begin();
        self.told(done)
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        let cut = |value: &Value<'_>| match value {
            Value::Text(text) if self.1 == Fault::ShortText => text.chars().take(100).collect(),
            Value::Text(text) => (*text).to_string(),
            _ => String::new(),
        };
        let texts: Vec<String> = params.iter().map(cut).collect();
        let cut = params.iter().zip(&texts).map(|(value, text)| match value {
            Value::Text(_) => Value::Text(text),
            other => *other,
        });
        let done = self.0.execute(id, &cut.collect::<Vec<_>>());
        self.told(done)
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        let mut found = Rows::new();
        let done = self.0.query(id, params, &mut found);
        if self.1 != Fault::StaleRows || !found.is_empty() {
            *into = found;
        }
        self.told(done)
    }

    fn commit(&mut self) -> Result<()> {
        let done = if self.1 == Fault::NoCommit { self.0.rollback() } else { self.0.commit() };
        self.told(done)
    }

    fn rollback(&mut self) -> Result<()> {
        let done = match self.1 {
            Fault::NoRollback => self.0.commit().or_else(|_| self.0.rollback()),
            _ => self.0.rollback(),
        };
        self.told(done)
    }

    fn in_transaction(&mut self) -> bool {
        self.0.in_transaction()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        let done = self.0.script(sql);
        self.told(done)
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        let done = self.0.fetch(sql);
        self.told(done)
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        self.0.bulk()
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        self.0.interrupt()
    }
}

#[test]
fn the_suite_finds_what_engines_do_wrong() {
    for (fault, case) in FOUND {
        let folder = Folder::new("conformance");
        let mut suite = Suite::new(Arc::new(Faulty(on_file(&folder), *fault))).unwrap();
        let mut reports = suite.by_ref().filter(|row| !row.passed()).map(|row| row.to_string());
        assert!(reports.any(|report| report.contains(case)), "{fault:?} is not found");
    }
}
