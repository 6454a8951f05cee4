//! Damaged and hostile input: what servers answer to the clients of PostgreSQL, MariaDB and MySQL, and URLs.
//!
//! Each input is a recorded session of a real server (`fuzz/recorded`) with changes drawn from (seed, number).
//! The client may take it or refuse it by an error of ours; it may not panic, keep a processor for more than a
//! second, take much more memory than came, or show control characters of the server's. Whatever a server does
//! not send is no finding: a client that waits is ended by the run's deadline.
//!
//! `cargo test` tries a fixed sample. `DSBENCH_FUZZ_INPUTS=100000 DSBENCH_FUZZ_SEED=7 cargo test --release
//! -p dsbench-engines --test fuzz -- --nocapture` tries more, and says how many were taken and refused.
#![cfg(all(target_os = "linux", feature = "mysql", feature = "postgres"))]

#[path = "common/folder.rs"]
mod folder;
#[path = "fuzz/handshake.rs"]
mod handshake;
#[path = "fuzz/mutator.rs"]
mod mutator;
#[path = "fuzz/player.rs"]
mod player;
#[path = "fuzz/recorder.rs"]
mod recorder;
#[path = "fuzz/session.rs"]
mod session;
#[path = "fuzz/tally.rs"]
mod tally;
#[path = "fuzz/urls.rs"]
mod urls;
#[path = "fuzz/work.rs"]
mod work;

use tally::Tally;

#[test]
fn damaged_answers_of_a_server_are_refused_in_words() {
    let folder = folder::Folder::new("fuzz");
    let sessions = session::all(&folder);
    let mut tally = Tally::new("answers", 4_000);
    while let Some(mut random) = tally.next() {
        let session = &sessions[random.below(session::COUNT) as usize];
        tally.tried(&session.name, || session.play(&mut random));
    }
    tally.end();
}

#[test]
fn damaged_handshakes_of_tls_are_refused_in_words() {
    let folder = folder::Folder::new("fuzz");
    let handshake = handshake::Handshake::new(&folder);
    let mut tally = Tally::new("handshakes", 200);
    while let Some(mut random) = tally.next() {
        tally.tried("", || handshake.play(&mut random));
    }
    tally.end();
}

#[test]
fn damaged_urls_are_refused_in_words() {
    let mut tally = Tally::new("urls", 20_000);
    while let Some(mut random) = tally.next() {
        let url = urls::draw(&mut random);
        tally.tried(&url, || urls::open(&url));
    }
    tally.end();
}
