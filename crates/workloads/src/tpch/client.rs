//! Sessions of queries and of refreshes. Each goes through a list once: its inputs are a function of (seed, stream, place
//! in the list) alone.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Answer, Client, ClientId, Drawn, End, KindId, Shape};

use super::market::{Market, STAGES};
use super::parameters::{draw, ORDERS};
use super::rows::{Form, Kept, Table};

const RF1: KindId = 22;
const RF2: KindId = 23;

/// What the server says when it ends a statement that took too long: PostgreSQL, MariaDB, MySQL, Firebird.
const TIMED_OUT: [&str; 4] = ["57014", "1969", "3024", "335544794"];

/// What a client does; its role is twice this, and one more in the second run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// All of the power test.
    Power,
    /// A stream of queries.
    Queries,
    /// The stream of refreshes.
    Refreshes,
}

/// The statements of refreshes.
#[derive(Debug, Clone, Copy)]
struct Refreshing {
    order: StatementId,
    line: StatementId,
    lines_go: StatementId,
    order_goes: StatementId,
}

/// A session of a stage.
pub struct TpchClient {
    market: Arc<Market>,
    seed: u64,
    stage: &'static str,
    run: u64,
    /// 0 for that of the power test.
    stream: u64,
    refreshing: bool,
    /// What it does, in order: kinds, and of refreshes their sets.
    list: Vec<(KindId, u64)>,
    at: usize,
    text: String,
    second: String,
    statements: Option<Refreshing>,
    /// The answer to the query drawn last.
    answer: Option<Answer>,
    answers: Vec<Answer>,
    /// Whether the last attempt ended in an error after which it cannot go on: what follows would find another state.
    broken: bool,
    /// Whether a refresh was begun that is not known to be committed.
    pending: bool,
}

impl TpchClient {
    /// Client `who`.
    pub fn new(market: Arc<Market>, who: ClientId, seed: u64) -> Self {
        let (work, run) = (who.role / 2, u64::from(who.role % 2));
        let (power, queries) = (work == Work::Power as u8, work == Work::Queries as u8);
        let stream = if queries { who.id % (ORDERS.len() as u64 - 1) + 1 } else { 0 };
        let first = market.first_set(run);
        let asked = ORDERS[stream as usize].iter().map(|query| (query - 1, 0));
        let pair = |set: u64| [(RF1, set), (RF2, set)];
        let list = match (power, queries) {
            (true, _) => [(RF1, first)].into_iter().chain(asked).chain([(RF2, first)]).collect(),
            (_, true) => asked.collect(),
            _ => (1..=market.streams).flat_map(|at| pair(first + at)).collect(),
        };
        let stage = STAGES[run as usize * 2 + usize::from(!power)];
        Self {
            market,
            seed,
            stage,
            run,
            stream,
            refreshing: !queries,
            list,
            at: 0,
            text: String::new(),
            second: String::new(),
            statements: None,
            answer: None,
            answers: Vec::new(),
            broken: false,
            pending: false,
        }
    }

    fn drawn(&self) -> (KindId, u64) {
        self.list[self.at.min(self.list.len() - 1)]
    }

    fn keep(&mut self) {
        self.answers.extend(self.answer.take());
        if std::mem::take(&mut self.pending) && !self.broken {
            self.market.unknown.store(true, Ordering::SeqCst);
        }
    }

    fn query(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let before = self.market.done.load(Ordering::SeqCst);
        let given = conn.fetch(&self.text);
        let after = self.market.begun.load(Ordering::SeqCst);
        let failed = match &given {
            Ok(_) => "",
            Err(error) if TIMED_OUT.contains(&error.code.as_str()) => "timeout",
            Err(_) => return given.map(|_| End::Commit),
        };
        self.answer = Some(Answer {
            stage: self.stage,
            stream: self.stream,
            kind: self.drawn().0,
            text: std::mem::take(&mut self.second),
            rows: given.map(|table| table.rows).unwrap_or_default(),
            states: (before, after),
            failed,
        });
        Ok(if failed.is_empty() { End::Commit } else { End::Rollback })
    }

    fn insert(&self, conn: &mut dyn Connection, statements: Refreshing, set: u64) -> Result<()> {
        for (order, lines) in &self.market.refresh(set).orders {
            let mut insert = |statement, row: &[Kept]| {
                let mut values = [Value::Null; 16];
                values.iter_mut().zip(row).for_each(|(value, kept)| *value = kept.value());
                conn.execute(statement, &values[..row.len()]).map(|_| ())
            };
            insert(statements.order, order)?;
            lines.iter().try_for_each(|line| insert(statements.line, line))?;
        }
        Ok(())
    }

    fn delete(&self, conn: &mut dyn Connection, statements: Refreshing, set: u64) -> Result<()> {
        for key in &self.market.refresh(set).deleted {
            conn.execute(statements.lines_go, &[Value::Int(*key)])?;
            conn.execute(statements.order_goes, &[Value::Int(*key)])?;
        }
        Ok(())
    }

    fn refresh(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let (kind, set) = self.drawn();
        let missing = || Error::with(ErrorKind::Statement, "execute", "the client was not prepared");
        let statements = self.statements.ok_or_else(missing)?;
        self.pending = true;
        // From here on a query may see it.
        self.market.begun.store(self.market.done.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
        match kind {
            RF1 => self.insert(conn, statements, set)?,
            _ => self.delete(conn, statements, set)?,
        }
        Ok(End::Commit)
    }
}

impl Client for TpchClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let market = Arc::clone(&self.market);
        if let (true, Some(limit)) = (market.timeout > 0, market.sql.all("timeout").first()) {
            conn.script(&[&limit.replace("{seconds}", &market.timeout.to_string())])?;
        }
        if !self.refreshing {
            return Ok(());
        }
        let mut prepare = |section: &str, params: &[Type]| {
            conn.prepare(&Statement { sql: market.sql.one(section)?, params, columns: &[] }, when)
        };
        let kinds = |table: Table| table.columns(market.form).into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
        self.statements = Some(Refreshing {
            order: prepare("insert_order", &kinds(Table::Orders))?,
            line: prepare("insert_line", &kinds(Table::LineItem))?,
            lines_go: prepare("delete_lines", &[Type::Int64])?,
            order_goes: prepare("delete_order", &[Type::Int64])?,
        });
        Ok(())
    }

    /// Nothing of it is in the time of a query: neither its text nor what becomes of the answer before.
    fn draw(&mut self, number: u64) -> Drawn {
        self.keep();
        self.at = number as usize;
        let kind = self.drawn().0;
        if kind >= RF1 {
            return Drawn { kind, shape: Shape::Block };
        }
        let (query, form) = (usize::from(kind) + 1, self.market.form);
        let text = |second: bool| {
            let plain = form == Form::Real && !second;
            let parameters = draw(self.seed, self.run, self.stream, query, self.market.hundredths, plain);
            self.market.text(query, &parameters, second).unwrap_or_default()
        };
        (self.text, self.second) = (text(false), text(true));
        // What Firebird gives outside a transaction of the client is read by one of another level of isolation.
        let shape = if self.market.dialect.name == "firebird" { Shape::ReadBlock } else { Shape::Single };
        Drawn { kind, shape }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let done = if self.drawn().0 >= RF1 { self.refresh(conn) } else { self.query(conn) };
        self.broken = done.as_ref().is_err_and(|error| !error.kind.is_retryable());
        done
    }

    fn aborts(&self) -> bool {
        self.broken
    }

    fn committed(&mut self) {
        let (kind, set) = self.drawn();
        if kind >= RF1 {
            self.pending = false;
            lock(&self.market.log).push((set, kind == RF1));
            self.market.done.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn describe(&self) -> String {
        match self.drawn() {
            (RF1, set) => format!("RF1 of set {set}"),
            (RF2, set) => format!("RF2 of set {set}"),
            _ => self.text.clone(),
        }
    }
}

impl Drop for TpchClient {
    fn drop(&mut self) {
        self.keep();
        lock(&self.market.answers).append(&mut self.answers);
    }
}
