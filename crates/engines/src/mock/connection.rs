//! A connection of the mock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use dsbench_core::clock::{Clock, Monotonic, Nanos};
use dsbench_core::engine::{BulkLoad, Connection, Interrupt, Prepare, RowSource, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Table, Type, Value};

use super::{lock, Calls, Counts, Shared};
use crate::misuse::{check_row, unknown};

/// Shorter waits are spun: a sleeping thread wakes up to 50 µs late.
const SPIN_NS: Nanos = 50_000;

pub(super) struct MockConnection {
    shared: Arc<Shared>,
    columns: Vec<Box<[Type]>>,
    counts: Counts,
    in_transaction: bool,
    /// Set by the script, or from another thread by [`Interrupt`].
    broken: Arc<AtomicBool>,
    /// True when calls neither take time nor fail.
    plain: bool,
    /// Of random times.
    stream: Stream,
}

impl MockConnection {
    /// Connection `number` of its engine.
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        let script = &shared.script;
        let plain = script.latency_ns == 0 && script.events.is_empty() && script.standstill == (0, 0);
        Self {
            shared,
            columns: Vec::new(),
            counts: Counts::default(),
            in_transaction: false,
            broken: Arc::default(),
            plain,
            stream: Stream::new(0, number, 0),
        }
    }

    /// What the clock says that calls move on.
    pub(super) fn now(&self) -> Nanos {
        self.shared.clock.as_ref().map_or_else(|| Monotonic.now(), |clock| clock.now())
    }

    /// Lets time pass.
    pub(super) fn wait(&self, ns: Nanos) {
        if ns == 0 {
            return;
        }
        if let Some(clock) = &self.shared.clock {
            return clock.advance(ns);
        }
        let at = Monotonic.now() + ns;
        if ns >= SPIN_NS {
            return Monotonic.sleep_until(at, &self.broken);
        }
        while Monotonic.now() < at {
            std::hint::spin_loop();
        }
    }

    /// One round trip of the load path, as the script wants it.
    #[inline]
    fn call(&mut self, calls: Calls, context: &'static str) -> Result<()> {
        self.alive(context)?;
        match self.plain {
            true => Ok(()),
            false => self.act(calls, context),
        }
    }

    fn act(&mut self, calls: Calls, context: &'static str) -> Result<()> {
        let script = &self.shared.script;
        let numbered = !script.events.is_empty() && (script.calls == Calls::All || script.calls == calls);
        let (ns, failure) = match numbered {
            true => script.of(self.shared.calls.fetch_add(1, Ordering::Relaxed) + 1),
            false => (script.latency_ns, None),
        };
        let ns = match script.random {
            true => ns - script.latency_ns + self.stream.exponential(script.latency_ns as f64) as Nanos,
            false => ns,
        };
        let now = self.now();
        self.wait(script.ends(now, ns) - now);
        // An interrupt may have come while it waited.
        let failure = match self.broken.load(Ordering::Relaxed) {
            true => Some(ErrorKind::Disconnected),
            false => failure,
        };
        let Some(kind) = failure else { return Ok(()) };
        self.counts.failures += 1;
        let kind = match kind {
            ErrorKind::Disconnected | ErrorKind::Unknown => {
                self.broken.store(true, Ordering::Relaxed);
                self.in_transaction = false;
                if calls == Calls::Commits {
                    ErrorKind::Unknown
                } else {
                    ErrorKind::Disconnected
                }
            }
            other => other,
        };
        Err(Error::new(kind, context).code(b"MOCK"))
    }

    #[inline]
    fn alive(&self, context: &'static str) -> Result<()> {
        match self.broken.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Disconnected, context)),
        }
    }

    fn columns_of(&self, id: StatementId, context: &'static str) -> Result<&[Type]> {
        let known = self.columns.get(id.0 as usize);
        known.map(|columns| &**columns).ok_or_else(|| unknown(id, context))
    }
}

impl Drop for MockConnection {
    fn drop(&mut self) {
        lock(&self.shared.counts).add(&self.counts);
    }
}

impl Connection for MockConnection {
    fn prepare(&mut self, statement: &Statement<'_>, _when: Prepare) -> Result<StatementId> {
        self.alive("prepare")?;
        self.counts.prepares += 1;
        self.columns.push(statement.columns.into());
        Ok(StatementId(self.columns.len() as u32 - 1))
    }

    fn begin(&mut self) -> Result<()> {
        self.call(Calls::Begins, "begin")?;
        self.counts.begins += 1;
        self.in_transaction = true;
        Ok(())
    }

    /// Says that one row was changed.
    fn execute(&mut self, id: StatementId, _params: &[Value<'_>]) -> Result<u64> {
        self.columns_of(id, "execute")?;
        self.call(Calls::Statements, "execute")?;
        self.counts.executes += 1;
        self.counts.singles += u64::from(!self.in_transaction);
        Ok(1)
    }

    /// Answers one row of zeros and empty texts.
    fn query(&mut self, id: StatementId, _params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.columns_of(id, "query")?;
        self.call(Calls::Statements, "query")?;
        self.counts.queries += 1;
        self.counts.singles += u64::from(!self.in_transaction);
        let columns = self.columns_of(id, "query")?;
        into.reset(columns.len());
        for declared in columns {
            into.push(match *declared {
                Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(0),
                Type::Float64 => Value::Float(0.0),
                Type::Decimal(scale) => Value::Decimal { unscaled: 0, scale },
                Type::Text => Value::Text(""),
                Type::Timestamp => Value::Timestamp(0),
            });
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.call(Calls::Commits, "commit")?;
        self.counts.commits += 1;
        self.in_transaction = false;
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        if !self.in_transaction {
            return Ok(());
        }
        self.in_transaction = false;
        self.call(Calls::All, "rollback")?;
        self.counts.rollbacks += 1;
        Ok(())
    }

    fn in_transaction(&mut self) -> bool {
        self.in_transaction && !self.broken.load(Ordering::Relaxed)
    }

    fn script(&mut self, _sql: &[&str]) -> Result<()> {
        self.alive("script")
    }

    /// Answers an empty table: a mock does not pretend to know SQL.
    fn fetch(&mut self, _sql: &str) -> Result<Table> {
        self.alive("fetch")?;
        Ok(Table::default())
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        Some(self)
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        Some(Box::new(Breaking(Arc::clone(&self.broken))))
    }
}

impl BulkLoad for MockConnection {
    /// Takes every row of the source and forgets it.
    fn load(&mut self, _table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        self.alive("load")?;
        let mut rows = 0;
        let mut emit = |values: &[Value<'_>]| {
            check_row(values, columns.len())?;
            rows += 1;
            Ok(())
        };
        while source.next_row(&mut emit)? {}
        self.counts.rows += rows;
        Ok(rows)
    }
}

struct Breaking(Arc<AtomicBool>);

impl Interrupt for Breaking {
    fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
