//! Targets as somebody may mistype them, or make them up.

use dsbench_core::error::Error;
use dsbench_core::random::Stream;

/// URLs of all engines with every part that they have.
const SEEDS: &[&str] = &[
    "postgresql://user:p%40w@host:5432/db?sslmode=require&connect_timeout=5&application_name=x&channel_binding=prefer",
    "postgres://u@[::1]:6000/bench%20one?host=/tmp/s&hostaddr=127.0.0.1&options=-c%20a%3Db&gssencmode=disable",
    "mysql://user:p%40w@host:3306/db?ssl_mode=PREFERRED&connect_timeout=3&allow_public_key_retrieval=true",
    "mariadb://root@/?socket=/run/s.sock&storage_engine=RocksDB&enable_cleartext_plugin=false",
    "firebird://me:pw@h:3050//data/a.fdb?page_size=8192&page_buffers=100&wait=3&forced_writes=off&charset=utf8",
    "firebird:///tmp/a%20b.fdb?wire_crypt=enabled&sweep_interval=0&connect_timeout=5&role=r",
    "sqlite:////tmp/none/a%20b.db?synchronous=full&cache_size=-10&journal_mode=wal&begin=deferred&busy_timeout_ms=5",
    "mock:?latency_us=100&fail=deadlock&fail_at=3",
];

const PARTS: &[&str] = &[
    "%",
    "%00",
    "%zz",
    "%ff",
    "@",
    ":",
    "/",
    "//",
    "?",
    "&",
    "=",
    "[",
    "]",
    "[::1",
    "\0",
    "\u{1b}[2J",
    "grün",
    "🦀",
    "99999999999999999999",
    "-1",
    "65536",
    "NaN",
    "password=",
    "port=",
    "+",
    " ",
    "\n",
    ";",
];

/// One of them with changes.
pub fn draw(random: &mut Stream) -> String {
    let mut url = SEEDS[random.below(SEEDS.len() as u64) as usize].to_string();
    for _ in 0..random.between(1, 4) {
        let places: Vec<usize> = url.char_indices().map(|(at, _)| at).chain([url.len()]).collect();
        let mut place = || places[random.below(places.len() as u64) as usize];
        let (one, other) = (place(), place());
        let (start, end) = (one.min(other), one.max(other));
        match random.below(6) {
            0 => url.truncate(one),
            1 => url.replace_range(start..end, ""),
            2 => url.insert_str(one, PARTS[random.below(PARTS.len() as u64) as usize]),
            3 => url.replace_range(start..end, PARTS[random.below(PARTS.len() as u64) as usize]),
            4 if url.len() < 4096 => url.insert_str(one, &url[start..end].repeat(1 + random.below(3) as usize)),
            _ => url.insert(one, char::from(random.below(128) as u8)),
        }
    }
    url
}

/// Binds an engine to it; nothing is connected.
pub fn open(url: &str) -> Vec<Error> {
    dsbench_engines::open(url).err().into_iter().collect()
}
