//! What the Firebird client costs: one prepared select by key, again and again, each a transaction of
//! its own.
//!
//! `fb_select URL [THREADS] [SECONDS] [ROWS] [once|never]` creates the database of the URL, loads a
//! table, prints rows per second, the transaction rate and the CPU time that this process took for a
//! transaction (with an embedded engine that is the server's, too), and drops the database.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use dsbench_core::engine::{Engine, Isolation, Prepare, RowSource, Session, Statement};
use dsbench_core::error::Result;
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_engines::firebird;

const SELECT: Statement<'_> =
    Statement { sql: "SELECT balance FROM account WHERE aid = ?", params: &[Type::Int32], columns: &[Type::Int64] };

const LOAD: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let url = args.get(1).ok_or("usage: fb_select URL [THREADS] [SECONDS] [ROWS] [once|never]")?;
    let number = |at: usize, default: u64| args.get(at).map_or(Ok(default), |text| text.parse());
    let (threads, seconds, rows) = (number(2, 8)?, number(3, 5)?, number(4, 100_000)?);
    let when = if args.get(5).is_some_and(|word| word == "never") { Prepare::Never } else { Prepare::Once };

    let engine = firebird::open(url)?;
    engine.place().create("fb_select")?;
    let measured = build(&*engine, rows).and_then(|()| measure(&*engine, threads, seconds, rows, when));
    engine.place().drop()?;
    Ok(measured?)
}

/// Makes and loads the table.
fn build(engine: &dyn Engine, rows: u64) -> Result<()> {
    let mut connection = engine.connect(LOAD)?;
    connection.script(&[
        "CREATE TABLE account (aid INTEGER NOT NULL, balance BIGINT, filler VARCHAR(84) CHARACTER SET ASCII)",
    ])?;
    let columns = [("aid", Type::Int32), ("balance", Type::Int64), ("filler", Type::Text)];
    let start = Instant::now();
    if let Some(bulk) = connection.bulk() {
        bulk.load("account", &columns, &mut Accounts { next: 1, last: rows })?;
    }
    println!("{:.0} rows/s loaded", rows as f64 / start.elapsed().as_secs_f64());
    connection.script(&["ALTER TABLE account ADD CONSTRAINT account_key PRIMARY KEY (aid)"])
}

/// Accounts of 100 bytes each.
struct Accounts {
    next: u64,
    last: u64,
}

impl RowSource for Accounts {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        let filler = format!("{:084}", self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        emit(&[Value::Int(self.next as i64), Value::Int(0), Value::Text(&filler)])?;
        self.next += 1;
        Ok(true)
    }
}

fn measure(engine: &dyn Engine, threads: u64, seconds: u64, rows: u64, when: Prepare) -> Result<()> {
    let limit = Duration::from_secs(seconds);
    let (user_before, system_before) = cpu_us();
    let start = Instant::now();
    let count = thread::scope(|scope| -> Result<u64> {
        let clients: Vec<_> =
            (0..threads).map(|id| scope.spawn(move || select(engine, id, rows, when, limit))).collect();
        clients.into_iter().map(|client| client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).sum()
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    let (user, system) = cpu_us();
    let per = |us: f64| us / count as f64;
    println!(
        "{threads} threads: {:.0} transactions/s, {:.2} us user + {:.2} us system per transaction",
        count as f64 / elapsed,
        per(user - user_before),
        per(system - system_before)
    );
    Ok(())
}

/// Selects until `limit` has passed; gives the number of selects.
fn select(engine: &dyn Engine, id: u64, rows: u64, when: Prepare, limit: Duration) -> Result<u64> {
    let mut connection = engine.connect(LOAD)?;
    let statement = connection.prepare(&SELECT, when)?;
    let mut random = Stream::new(1, id, 0);
    let mut result = Rows::new();
    let (mut count, mut sum) = (0, 0);
    let end = Instant::now() + limit;
    while Instant::now() < end {
        let key = random.between(1, rows as i64);
        connection.query(statement, &[Value::Int(key)], &mut result)?;
        sum += result.int(0, 0)?;
        count += 1;
    }
    std::hint::black_box(sum);
    Ok(count)
}

/// CPU time of this process in microseconds: (user, system).
fn cpu_us() -> (f64, f64) {
    // SAFETY: an all-zero rusage is a valid value, and the call writes to nothing else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}
