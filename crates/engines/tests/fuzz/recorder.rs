//! Records what a server says to the session of `work`. How those in `recorded/` were made:
//!
//! ```text
//! DSBENCH_FUZZ_RECORD=/tmp/postgresql15-md5.bin DSBENCH_FUZZ_SERVER=127.0.0.1:5432 \
//! DSBENCH_FUZZ_URL='postgresql://fuzz:only-for-fuzzing@HOST/fuzz?sslmode=disable' \
//! cargo test --release -p dsbench-engines --test fuzz recorded
//! ```
//!
//! The answer to the question whether the session has its settings was put into them later, by hand.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::mutator::Framing;
use super::work;

/// What the server at `address` says; `url` names it as HOST.
fn record(address: String, url: &str) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = url.replace("HOST", &listener.local_addr().unwrap().to_string());
    let between = std::thread::spawn(move || {
        let (mut client, mut server) = (listener.accept().unwrap().0, TcpStream::connect(address).unwrap());
        let (mut said, mut hearing) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let asking = std::thread::spawn(move || {
            let _ = std::io::copy(&mut said, &mut hearing);
            let _ = hearing.shutdown(Shutdown::Write);
        });
        let (mut recorded, mut bytes) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = server.read(&mut bytes) {
            recorded.extend_from_slice(&bytes[..count]);
            // The client has left when it has all it needs.
            let _ = client.write_all(&bytes[..count]);
        }
        asking.join().unwrap();
        recorded
    });
    let framing = if url.starts_with("postgres") { Framing::Postgres } else { Framing::Mysql };
    let errors = work::session(&*dsbench_engines::open(&url).unwrap(), framing);
    assert!(errors.is_empty(), "{errors:?}");
    between.join().unwrap()
}

#[test]
fn what_is_recorded_is_what_the_server_said() {
    let wanted = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    if let Ok(file) = std::env::var("DSBENCH_FUZZ_RECORD") {
        let recorded = record(wanted("DSBENCH_FUZZ_SERVER"), &wanted("DSBENCH_FUZZ_URL"));
        return std::fs::write(file, recorded).unwrap();
    }
    let said = include_bytes!("recorded/postgresql18-trust.bin");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let mut stream = server.accept().unwrap().0;
        stream.write_all(said).unwrap();
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    assert_eq!(record(address, "postgresql://fuzz@HOST/fuzz?sslmode=disable"), said);
    server.join().unwrap();
}
