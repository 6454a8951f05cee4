//! What the MySQL client costs: one prepared select by key, again and again.
//!
//! `sysbench oltp_point_select --tables=1 --table-size=100000 prepare` makes the table; then
//! `my_select URL [THREADS] [SECONDS] [ROWS] [once|never]` prints the transaction rate and the CPU time
//! that this process took for a transaction. To be compared with `sysbench oltp_point_select
//! --threads=THREADS --time=SECONDS run` in the same minute, under `time`.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use dsbench_core::engine::{Isolation, Prepare, Session, Statement};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_engines::mysql;

const SELECT: Statement<'_> =
    Statement { sql: "SELECT c FROM sbtest1 WHERE id = ?", params: &[Type::Int32], columns: &[Type::Text] };

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let url = args.get(1).ok_or("usage: my_select URL [THREADS] [SECONDS] [ROWS] [once|never]")?;
    let number = |at: usize, default: u64| args.get(at).map_or(Ok(default), |text| text.parse());
    let (threads, seconds, rows) = (number(2, 8)?, number(3, 5)?, number(4, 100_000)?);
    let when = if args.get(5).is_some_and(|word| word == "never") { Prepare::Never } else { Prepare::Once };

    let engine = mysql::open(url)?;
    let (user_before, system_before) = cpu_us();
    let start = Instant::now();
    let limit = Duration::from_secs(seconds);
    let count = thread::scope(|scope| -> dsbench_core::error::Result<u64> {
        let engine = &*engine;
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
fn select(
    engine: &dyn dsbench_core::engine::Engine,
    id: u64,
    rows: u64,
    when: Prepare,
    limit: Duration,
) -> dsbench_core::error::Result<u64> {
    let mut connection = engine.connect(Session { isolation: Isolation::RepeatableRead, in_place: false })?;
    let statement = connection.prepare(&SELECT, when)?;
    let mut random = Stream::new(1, id, 0);
    let mut result = Rows::new();
    let (mut count, mut bytes) = (0, 0);
    let end = Instant::now() + limit;
    while Instant::now() < end {
        let key = random.between(1, rows as i64);
        connection.query(statement, &[Value::Int(key)], &mut result)?;
        bytes += result.text(0, 0)?.len();
        count += 1;
    }
    std::hint::black_box(bytes);
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
