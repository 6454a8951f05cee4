//! The bare limit of a PostgreSQL client: bind, execute and sync of a prepared select in one send, its
//! answer in one receive, one reading of the clock; no workload, no recording, no errors but panics.
//!
//! `bare_select SOCKET-PATH|HOST:PORT CLIENTS SECONDS ROWS` selects from dsbench's table `account` as
//! the user postgres, who needs no password, and prints what was done as JSON. Measured from outside.

use std::io::{Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

const STARTUP: &[u8] = b"\0\x03\0\0user\0postgres\0database\0postgres\0search_path\0dsbench\0\0";
const PARSE: &[u8] = b"s\0SELECT abalance FROM account WHERE aid = $1\0\0\x01\0\0\0\x17";
/// Portal, statement, one binary parameter of four bytes: then come those, then [`BIND_END`].
const BIND: &[u8] = b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x04";
const BIND_END: &[u8] = b"\0\x01\0\x01";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [place, clients, seconds, rows] = &args[..] else { panic!("SOCKET-PATH|HOST:PORT CLIENTS SECONDS ROWS") };
    let clients: usize = clients.parse().expect("a number of clients");
    let limit = Duration::from_secs_f64(seconds.parse().expect("a number of seconds"));
    let rows: u64 = rows.parse().expect("a number of rows");
    let start = Arc::new(Start { connected: Barrier::new(clients), end: OnceLock::new(), limit });
    let threads: Vec<_> = (0..clients as u64)
        .map(|id| {
            let (place, start) = (place.clone(), Arc::clone(&start));
            std::thread::spawn(move || match place.starts_with('/') {
                #[cfg(unix)]
                true => select(UnixStream::connect(place).expect("a server"), id, rows, &start),
                _ => {
                    let stream = TcpStream::connect(place).expect("a server");
                    stream.set_nodelay(true).expect("a socket without delay");
                    select(stream, id, rows, &start)
                }
            })
        })
        .collect();
    let transactions: u64 = threads.into_iter().map(|thread| thread.join().expect("a client")).sum();
    println!("{{\"transactions\": {transactions}, \"seconds\": {}}}", limit.as_secs_f64());
}

/// What all clients begin and end by: one that gets its CPU late has less time.
struct Start {
    connected: Barrier,
    end: OnceLock<Instant>,
    limit: Duration,
}

/// One client; gives its transactions.
fn select(mut stream: impl Read + Write, id: u64, rows: u64, start: &Start) -> u64 {
    let mut buffer = [0; 8192];
    let mut startup = (STARTUP.len() as u32 + 4).to_be_bytes().to_vec();
    startup.extend_from_slice(STARTUP);
    ask(&mut stream, &startup, &mut buffer);
    ask(&mut stream, &[message(b'P', PARSE), message(b'S', &[])].concat(), &mut buffer);
    let bind = message(b'B', &[BIND, &[0; 4], BIND_END].concat());
    let key = 5 + BIND.len();
    let mut flight = [bind, message(b'E', &[0; 5]), message(b'S', &[])].concat();

    start.connected.wait();
    let end = *start.end.get_or_init(|| Instant::now() + start.limit);
    let (mut count, mut random) = (0, id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    loop {
        // xorshift64: a few instructions.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        flight[key..key + 4].copy_from_slice(&((random % rows) as u32 + 1).to_be_bytes());
        ask(&mut stream, &flight, &mut buffer);
        if Instant::now() >= end {
            return count;
        }
        count += 1;
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Sends a flight and reads until the server is ready again, which its last six bytes say.
fn ask(stream: &mut (impl Read + Write), flight: &[u8], buffer: &mut [u8]) {
    stream.write_all(flight).expect("a server that listens");
    let mut end = 0;
    loop {
        let count = stream.read(&mut buffer[end..]).expect("an answer");
        assert_ne!(count, 0, "the server closed the connection");
        end += count;
        assert_ne!(buffer[0], b'E', "{}", String::from_utf8_lossy(&buffer[..end]));
        if end >= 6 && buffer[end - 6..end - 1] == *b"Z\0\0\0\x05" {
            return;
        }
    }
}
