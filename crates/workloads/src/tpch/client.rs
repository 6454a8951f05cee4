//! Sessions of queries and of refreshes. Each goes through a list once: its inputs are a function of (seed, stream, place
//! in the list) alone.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Answer, Client, ClientId, Drawn, End, KindId, Shape};

use super::market::{Market, ASKS, COLD, QUALIFY, STAGES};
use super::parameters::{default, draw, ORDERS, QUERIES};
use super::refreshes::Kept;
use super::rows::{Form, Table};

const RF1: KindId = 22;
const RF2: KindId = 23;

/// What a client does; its role is twice this, and one more in the second run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// All of the power test.
    Power,
    /// A stream of queries.
    Queries,
    /// The stream of refreshes.
    Refreshes,
    /// The queries with their default parameters, in the order of their numbers.
    Qualify,
    /// One query with its default parameters: each in turn, [`ASKS`] clients one after another.
    Cold,
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
    /// Refreshes that were done when the query was drawn: its block, which fixes what it sees, had not begun.
    before: u64,
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
        let of = |one: Work| work == one as u8;
        let (power, queries, qualify, cold) = (of(Work::Power), of(Work::Queries), of(Work::Qualify), of(Work::Cold));
        let stream = if queries { who.id % (ORDERS.len() as u64 - 1) + 1 } else { 0 };
        let first = market.first_set(run);
        let asked = ORDERS[stream as usize].iter().map(|query| (query - 1, 0));
        let pair = |set: u64| [(RF1, set), (RF2, set)];
        let list = match (power, queries) {
            (true, _) => [(RF1, first)].into_iter().chain(asked).chain([(RF2, first)]).collect(),
            (_, true) => asked.collect(),
            _ if cold => {
                let begun = market.cold_begun.fetch_add(1, Ordering::SeqCst);
                vec![(ORDERS[0][(begun / ASKS) as usize % QUERIES] - 1, 0)]
            }
            _ if qualify => (0..QUERIES as u16).map(|query| (query as KindId, 0)).collect(),
            _ => (1..=market.streams).flat_map(|at| pair(first + at)).collect(),
        };
        let stage = match (qualify, cold) {
            (true, _) => QUALIFY,
            (_, true) => COLD,
            _ => STAGES[run as usize * 2 + usize::from(!power)],
        };
        Self {
            market,
            seed,
            stage,
            run,
            stream,
            refreshing: !queries && !qualify && !cold,
            list,
            at: 0,
            text: String::new(),
            second: String::new(),
            statements: None,
            before: 0,
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
        self.answers.extend(self.answer.take().filter(|_| self.market.checked));
        if std::mem::take(&mut self.pending) && !self.broken {
            self.market.unknown.store(true, Ordering::SeqCst);
        }
    }

    fn query(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let given = conn.fetch(&self.text);
        let after = self.market.begun.load(Ordering::SeqCst);
        let failed = match &given {
            Ok(_) => "",
            Err(error) if error.kind == ErrorKind::Timeout => "timeout",
            Err(_) => return given.map(|_| End::Commit),
        };
        let default = self.stage == QUALIFY && failed.is_empty();
        let answer = Answer {
            stage: self.stage,
            stream: self.stream,
            kind: self.drawn().0,
            text: std::mem::take(&mut self.second),
            rows: Vec::new(),
            states: (self.before, after),
            failed,
            published: if default { published(usize::from(self.drawn().0) + 1) } else { "" },
        };
        let answer = self.answer.insert(answer);
        given.map(|table| {
            answer.rows = table.rows;
            End::Commit
        })
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

/// The published answer to a query with its default parameters at scale factor 1: a table of text.
fn published(query: usize) -> &'static str {
    tpchgen::q_and_a::answers_sf1::answer(query as i32).unwrap_or_default()
}

impl Client for TpchClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let market = Arc::clone(&self.market);
        if !market.timeout.is_zero() && !conn.limit(market.timeout)? {
            for limit in market.sql.all("timeout") {
                let milliseconds = market.timeout.as_millis().max(1).to_string();
                let limit = limit.replace("{seconds}", &market.timeout.as_secs_f64().to_string());
                conn.script(&[&limit.replace("{milliseconds}", &milliseconds)])?;
            }
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
        self.before = self.market.done.load(Ordering::SeqCst);
        let (query, form) = (usize::from(kind) + 1, self.market.form);
        let text = |second: bool| {
            let plain = form == Form::Real && !second;
            let parameters = match self.stage {
                QUALIFY | COLD => default(query, plain),
                _ => draw(self.seed, self.run, self.stream, query, self.market.hundredths, plain),
            };
            self.market.text(query, &parameters, second).unwrap_or_default()
        };
        (self.text, self.second) = (text(false), text(true));
        // What Firebird gives outside a transaction of the client is read by one of another level of isolation.
        let shape = if self.market.dialect.name == "firebird" { Shape::ReadBlock } else { Shape::Single };
        Drawn { kind, shape }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let done = if self.drawn().0 >= RF1 { self.refresh(conn) } else { self.query(conn) };
        let goes_on = |kind: ErrorKind| kind.is_retryable() || (kind == ErrorKind::Timeout && !self.pending);
        self.broken = done.as_ref().is_err_and(|error| !goes_on(error.kind));
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

#[cfg(test)]
mod tests {
    use dsbench_core::engine::{Isolation, Session};

    use super::super::market::tests::open;
    use super::*;

    #[test]
    fn answers_that_nobody_compares_are_not_kept() {
        for (setting, kept) in [("checked", 1), ("unchecked", 0)] {
            let market = Arc::new(open("sqlite", 1, &[("size", "0.01"), ("answers", setting)]).unwrap());
            let mut client = TpchClient::new(Arc::clone(&market), ClientId::alone(0), 1);
            let (text, rows) = (String::new(), Vec::new());
            let answer =
                Answer { stage: STAGES[0], stream: 0, kind: 0, text, rows, states: (0, 0), failed: "", published: "" };
            client.answer = Some(answer);
            drop(client);
            assert_eq!(lock(&market.answers).len(), kept, "{setting}");
        }
    }

    #[test]
    fn a_refresh_that_ends_between_the_begin_of_a_block_and_its_query_may_or_may_not_be_seen() {
        let market = Arc::new(open("firebird", 1, &[("size", "0.01")]).unwrap());
        let who = ClientId { role: 2 * Work::Queries as u8, ..ClientId::alone(0) };
        let mut client = TpchClient::new(Arc::clone(&market), who, 1);
        let engine = dsbench_engines::mock::open("mock:").unwrap();
        let mut conn = engine.connect(Session { isolation: Isolation::RepeatableRead, in_place: false }).unwrap();
        assert_eq!(client.draw(0).shape, Shape::ReadBlock);
        conn.begin().unwrap();
        market.begun.store(1, Ordering::SeqCst);
        market.done.store(1, Ordering::SeqCst);
        client.execute(&mut *conn).unwrap();
        assert_eq!(client.answer.as_ref().map(|answer| answer.states), Some((0, 1)));
    }
}
