//! Clients that append to lists and read them, and note what they did and saw.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dsbench_core::engine::{
    refuse_occupied, Connection, Engine, Interrupt, Isolation, Prepare, Session, Statement, StatementId,
};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::random::Stream;
use dsbench_core::sql::Sections;
use dsbench_core::value::{Rows, Type, Value};

use crate::history::{End, History, Op, Transaction};

/// Text of the mark of the place.
pub const MARK: &str = "isolation check";
const FILES: &[(&str, &str)] = &[
    ("postgres", concat!(include_str!("sql/postgres.sql"), include_str!("sql/shared.sql"))),
    ("mysql", concat!(include_str!("sql/mysql.sql"), include_str!("sql/shared.sql"))),
    ("sqlite", concat!(include_str!("sql/sqlite.sql"), include_str!("sql/shared.sql"))),
    ("firebird", concat!(include_str!("sql/firebird.sql"), include_str!("sql/shared.sql"))),
];
/// Lists in use at a time.
const WINDOW: usize = 8;
/// Items after which another list takes the place of one.
const LENGTH: u32 = 64;
/// Most operations of a transaction.
const LONGEST: u64 = 4;
/// Lists made in one transaction.
const BATCH: usize = 500;
const AGAIN: Duration = Duration::from_millis(20);

/// What is asked of the clients.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Level of all transactions.
    pub isolation: Isolation,
    /// How many clients.
    pub clients: u32,
    /// Committed transactions, all together.
    pub transactions: u64,
    /// How long a client tries to connect again.
    pub patience: Duration,
    /// Of the random numbers.
    pub seed: u64,
}

/// Ends what clients wait for, from another thread.
#[derive(Default)]
pub struct Stopper {
    stopped: AtomicBool,
    /// By session: two for each client.
    handles: Mutex<Vec<Option<Box<dyn Interrupt>>>>,
}

impl Stopper {
    /// No client begins anything more, and what one waits for ends with an error.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
        lock(&self.handles).iter().flatten().for_each(|handle| handle.interrupt());
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    fn put(&self, session: usize, handle: Option<Box<dyn Interrupt>>) {
        let mut handles = lock(&self.handles);
        if handles.len() <= session {
            handles.resize_with(session + 1, || None);
        }
        handles[session] = handle;
    }
}

/// Clients at a target.
pub struct Players {
    ground: Ground,
    clients: Vec<Client>,
}

/// What all clients play on.
struct Ground {
    asked: Asked,
    engine: Arc<dyn Engine>,
    /// Where half of the transactions read, and do nothing else.
    reading: Option<Arc<dyn Engine>>,
    sql: Sections,
    shared: Shared,
    started: Instant,
    stopper: Arc<Stopper>,
}

/// What all clients know.
struct Shared {
    /// Lists in use.
    window: [AtomicU32; WINDOW],
    /// By list: appends that were committed.
    lengths: Vec<AtomicU32>,
    /// The next list that nobody has used.
    next: AtomicU32,
    /// The next item.
    item: AtomicU32,
    /// Transactions that were committed.
    committed: AtomicU64,
}

struct Client {
    number: u32,
    attempts: u64,
    session: Option<Sitting>,
    reading: Option<Sitting>,
    /// Since when the server has taken no writes of it.
    refused: Option<Instant>,
    notes: Vec<Transaction>,
}

/// A session with its statements.
struct Sitting {
    session: Box<dyn Connection>,
    append: Option<StatementId>,
    read: StatementId,
}

impl Players {
    /// Makes the place with its lists. Error `Configuration` for an engine without SQL here, `Setup` where the place is
    /// there already.
    pub fn new(engine: Arc<dyn Engine>, reading: Option<Arc<dyn Engine>>, asked: Asked) -> Result<Self> {
        let sql = Sections::of(engine.dialect(), FILES)?;
        refuse_occupied(&*engine)?;
        // Twice what is appended on average: half of 2.5 operations.
        let lists = (asked.transactions * 5 / 2 / u64::from(LENGTH)) as usize + 4 * WINDOW;
        let shared = Shared {
            window: std::array::from_fn(|at| AtomicU32::new(at as u32)),
            lengths: (0..lists).map(|_| AtomicU32::new(0)).collect(),
            next: AtomicU32::new(WINDOW as u32),
            item: AtomicU32::new(0),
            committed: AtomicU64::new(0),
        };
        let client =
            |number| Client { number, attempts: 0, session: None, reading: None, refused: None, notes: Vec::new() };
        let clients = (0..asked.clients).map(client).collect();
        let stopper = Arc::default();
        let ground = Ground { asked, engine, reading, sql, shared, started: Instant::now(), stopper };
        ground.engine.place().create(MARK)?;
        // From here on the place goes with them.
        let made = Self { ground, clients };
        made.ground.furnish()?;
        Ok(made)
    }

    /// What ends them.
    pub fn stopper(&self) -> Arc<Stopper> {
        Arc::clone(&self.ground.stopper)
    }

    /// Drops the place, once their sessions have ended.
    pub fn close(&mut self) -> Result<()> {
        for client in &mut self.clients {
            (client.session, client.reading) = (None, None);
        }
        self.ground.engine.place().drop()
    }

    /// Committed transactions so far.
    pub fn committed(&self) -> u64 {
        self.ground.shared.committed.load(Relaxed)
    }

    /// Whether all that was asked for is done.
    pub fn is_done(&self) -> bool {
        self.ground.is_done()
    }

    /// Has all clients play for this long at most. The first error that is none of a transaction's ends it.
    pub fn play(&mut self, longest: Duration) -> Result<()> {
        let until = Instant::now() + longest;
        let (ground, clients) = (&self.ground, &mut self.clients);
        let ended: Vec<Result<()>> = thread::scope(|scope| {
            let all: Vec<_> =
                clients.iter_mut().map(|client| scope.spawn(move || client.play(ground, until))).collect();
            all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(defect()))).collect()
        });
        ended.into_iter().collect()
    }

    /// What was noted, and what the lists hold now.
    pub fn finish(&mut self) -> Result<History> {
        let mut session = self.ground.again(&*self.ground.engine)?;
        let table = session.fetch(self.ground.sql.one("all")?)?;
        let mut last = Vec::new();
        for row in table.rows {
            let [Some(list), Some(items)] = &row[..] else { return Err(malformed("a row")) };
            if !items.trim().is_empty() {
                last.push((list.trim().parse().map_err(|_| malformed(list))?, listed(items)?.into_vec()));
            }
        }
        let mut transactions: Vec<Transaction> = Vec::new();
        for client in &mut self.clients {
            (client.session, client.reading) = (None, None);
            transactions.append(&mut client.notes);
        }
        Ok(History { transactions, last })
    }
}

impl Ground {
    fn furnish(&self) -> Result<()> {
        let mut session = connect(&*self.engine, Isolation::ReadCommitted)?;
        session.script(&self.sql.script("tables"))?;
        let statement = Statement { sql: self.sql.one("add")?, params: &[Type::Int32, Type::Text], columns: &[] };
        let add = session.prepare(&statement, Prepare::Once)?;
        for batch in (0..self.shared.lengths.len()).collect::<Vec<_>>().chunks(BATCH) {
            session.begin()?;
            for list in batch {
                session.execute(add, &[Value::Int(*list as i64), Value::Text("")])?;
            }
            session.commit()?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.shared.committed.load(Relaxed) >= self.asked.transactions || self.shared.is_used_up()
    }

    /// A session, for which is tried as long as clients do.
    fn again(&self, engine: &dyn Engine) -> Result<Box<dyn Connection>> {
        let give_up = Instant::now() + self.asked.patience;
        loop {
            match connect(engine, self.asked.isolation) {
                Err(error) if error.kind == ErrorKind::Configuration || self.is_over(give_up) => return Err(error),
                Err(_) => thread::sleep(AGAIN),
                done => return done,
            }
        }
    }

    /// A session of one that writes or, at another server, only reads: there the tables may come later.
    fn sit(&self, engine: &dyn Engine, writes: bool) -> Result<Sitting> {
        let give_up = Instant::now() + self.asked.patience;
        loop {
            match self.sit_down(engine, writes) {
                Err(error) if !writes && error.kind != ErrorKind::Configuration && !self.is_over(give_up) => {
                    thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }

    fn sit_down(&self, engine: &dyn Engine, writes: bool) -> Result<Sitting> {
        let mut session = self.again(engine)?;
        let append = Statement { sql: self.sql.one("append")?, params: &[Type::Text, Type::Int32], columns: &[] };
        let append = if writes { Some(session.prepare(&append, Prepare::Once)?) } else { None };
        let read = Statement { sql: self.sql.one("read")?, params: &[Type::Int32], columns: &[Type::Text] };
        let read = session.prepare(&read, Prepare::Once)?;
        Ok(Sitting { session, append, read })
    }

    /// Whether a client looks for another server, as this one takes no writes: for as long as its patience lasts.
    fn looks_on(&self, engine: &dyn Engine, error: &Error, since: &mut Option<Instant>) -> bool {
        let moves = engine.hosts().len() > 1 && engine.is_read_only(error.code.as_str());
        moves && !self.is_over(*since.get_or_insert_with(Instant::now) + self.asked.patience)
    }

    fn is_over(&self, give_up: Instant) -> bool {
        self.stopper.is_stopped() || Instant::now() >= give_up
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}

impl Drop for Players {
    fn drop(&mut self) {
        // An error is ignored: who wants to know closes.
        let _ = self.close();
    }
}

impl Shared {
    fn is_used_up(&self) -> bool {
        self.next.load(Relaxed) as usize >= self.lengths.len()
    }

    /// The operations of a transaction: whether to append, and to which list. Lists that it appends to are in order, as
    /// otherwise transactions wait for each other in a circle until the server notices, which takes PostgreSQL a second.
    fn plan(&self, random: &mut Stream) -> Vec<(bool, u32)> {
        let mut list = || self.window[random.below(WINDOW as u64) as usize].load(Relaxed);
        let mut plan: Vec<(bool, u32)> = (0..LONGEST).map(|_| (false, list())).collect();
        plan.truncate(1 + random.below(LONGEST) as usize);
        let appends: Vec<usize> = (0..plan.len()).filter(|_| random.below(2) == 0).collect();
        let mut lists: Vec<u32> = appends.iter().map(|at| plan[*at].1).collect();
        lists.sort_unstable();
        for (at, list) in appends.into_iter().zip(lists) {
            plan[at] = (true, list);
        }
        plan
    }

    /// Counts what a committed transaction appended; a list that is long enough makes room for another one.
    fn count(&self, ops: &[Op]) {
        self.committed.fetch_add(1, Relaxed);
        for op in ops {
            let Op::Append { list, .. } = op else { continue };
            if self.lengths[*list as usize].fetch_add(1, Relaxed) + 1 == LENGTH {
                let next = self.next.fetch_add(1, Relaxed).min(self.lengths.len() as u32 - 1);
                if let Some(place) = self.window.iter().find(|place| place.load(Relaxed) == *list) {
                    place.store(next, Relaxed);
                }
            }
        }
    }
}

impl Client {
    fn play(&mut self, all: &Ground, until: Instant) -> Result<()> {
        while !all.is_over(until) && !all.is_done() {
            let mut random = Stream::new(all.asked.seed, self.number.into(), self.attempts);
            self.attempts += 1;
            let reads_only = all.reading.is_some() && random.below(2) == 0;
            let engine = if reads_only { all.reading.as_ref().unwrap_or(&all.engine) } else { &all.engine };
            let place = if reads_only { &mut self.reading } else { &mut self.session };
            let sitting = match place {
                Some(sitting) => sitting,
                None => {
                    let sitting = all.sit(&**engine, !reads_only)?;
                    let session = 2 * self.number as usize + usize::from(reads_only);
                    all.stopper.put(session, sitting.session.interrupt());
                    place.insert(sitting)
                }
            };
            let mut noted = Transaction { ops: Vec::new(), begun_ns: all.now_ns(), ended_ns: 0, end: End::Committed };
            let done = sitting.attempt(&all.shared, &mut random, reads_only, &mut noted.ops);
            noted.ended_ns = all.now_ns();
            let mut failed = None;
            if let Err(error) = done {
                noted.end = if error.kind == ErrorKind::Unknown { End::Unknown } else { End::Aborted };
                if error.kind.is_loss() {
                    *place = None;
                } else if all.looks_on(&**engine, &error, &mut self.refused) {
                    *place = None;
                    thread::sleep(AGAIN);
                } else if !error.kind.is_retryable() {
                    failed = Some(error);
                } else if let Err(error) = sitting.session.rollback() {
                    if !error.kind.is_loss() {
                        return Err(error);
                    }
                    *place = None;
                }
            } else {
                self.refused = None;
                all.shared.count(&noted.ops);
            }
            self.notes.push(noted);
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Sitting {
    /// One transaction. What it did stays in `ops`, also where it fails: an append that failed may have been made.
    fn attempt(&mut self, shared: &Shared, random: &mut Stream, reads_only: bool, ops: &mut Vec<Op>) -> Result<()> {
        if reads_only {
            self.session.begin_reading()?;
        } else {
            self.session.begin()?;
        }
        let (mut rows, mut text) = (Rows::new(), String::new());
        for (append, list) in shared.plan(random) {
            let Some(append) = self.append.filter(|_| append) else {
                self.session.query(self.read, &[Value::Int(list.into())], &mut rows)?;
                // Where the list has not come yet it is empty.
                let found = match rows.is_empty() && reads_only {
                    true => Box::default(),
                    false => match rows.get(0, 0)? {
                        Value::Text(items) => listed(items)?,
                        _ => return Err(malformed("no text")),
                    },
                };
                ops.push(Op::Read { list, found });
                continue;
            };
            let item = shared.item.fetch_add(1, Relaxed);
            ops.push(Op::Append { list, item });
            text.clear();
            text.push_str(&format!(",{item}"));
            let rows = self.session.execute(append, &[Value::Text(&text), Value::Int(list.into())])?;
            if rows != 1 {
                let words = format!("an append to list {list} changed {rows} rows");
                return Err(Error::with(ErrorKind::Statement, "append", words));
            }
        }
        self.session.commit()
    }
}

fn connect(engine: &dyn Engine, isolation: Isolation) -> Result<Box<dyn Connection>> {
    engine.connect(Session { isolation, in_place: true })
}

/// The items of `,1,2,3`.
fn listed(text: &str) -> Result<Box<[u32]>> {
    let items = text.trim_end().split(',').skip(1);
    items.map(|item| item.parse().map_err(|_| malformed(text))).collect()
}

fn malformed(what: &str) -> Error {
    Error::with(ErrorKind::Statement, "read", format!("{what:?} is no list of items"))
}

fn defect() -> Error {
    Error::with(ErrorKind::Setup, "", "a client panicked: a defect of dsbench")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_what_is_none_is_refused() {
        assert_eq!(*listed("").unwrap(), []);
        assert_eq!(*listed(",7,12 ").unwrap(), [7, 12]);
        assert!(listed(",7,x").is_err() && listed(",,").is_err());
    }
}
