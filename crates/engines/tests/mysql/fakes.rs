//! Servers that are none, or that misbehave: an error, never a panic and never a wait without end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type};

use super::server::ADMIN;

/// A packet.
pub fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (content.len() as u32).to_le_bytes();
    [&[a, b, c, number], content].concat()
}

/// The greeting of a server that proposes a method of login.
pub fn greeting(method: &str) -> Vec<u8> {
    let mut content = b"\x0a8.0.99-fake\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xdf\x15".to_vec();
    content.extend_from_slice(&[0; 10]);
    content.extend_from_slice(b"ijklmnopqrst\0");
    content.extend_from_slice(method.as_bytes());
    content.push(0);
    packet(0, &content)
}

pub const DONE: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// Runs `server` for one connection, and `client` against it.
fn against<T>(
    server: impl FnOnce(TcpStream) + Send,
    parameters: &str,
    client: impl FnOnce(Result<Box<dyn Connection>, Error>) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::scope(|scope| {
        scope.spawn(move || server(listener.accept().unwrap().0));
        let url = format!("mysql://u:geheim@127.0.0.1:{port}/?ssl_mode=DISABLED&{parameters}");
        client(dsbench_engines::mysql::open(&url).unwrap().connect(ADMIN))
    })
}

/// Takes one packet of the client, whatever it is.
fn take(stream: &mut TcpStream) -> Vec<u8> {
    let mut content = vec![0; 4096];
    let length = stream.read(&mut content).unwrap_or(0);
    content.truncate(length);
    content
}

/// Lets everybody in.
fn welcome(stream: &mut TcpStream) {
    stream.write_all(&greeting("mysql_native_password")).unwrap();
    take(stream);
    stream.write_all(&packet(2, DONE)).unwrap();
    take(stream);
    let more = [0, 0, 0, 10, 0, 0, 0];
    let settings = [packet(1, &more), packet(2, &more)].concat();
    let column = b"\x03def\0\0\0\x01a\x01a\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0";
    let columns: Vec<u8> = (4..8).flat_map(|number| packet(number, column)).collect();
    let row = packet(8, b"\x0eREAD-COMMITTED\x011\x06+00:00\xfb");
    let end = packet(9, &[0xfe, 0, 0, 2, 0, 0, 0]);
    stream.write_all(&[settings, packet(3, &[4]), columns, row, end].concat()).unwrap();
}

#[test]
fn a_login_that_makes_no_sense_is_an_error() {
    let greet = greeting("mysql_native_password");
    let old =
        packet(0, b"\x0a5.1.73\0\x07\0\0\0abcdefgh\0\x0f\xa2\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0");
    for (bytes, answer, part) in [
        (&b""[..], vec![], "closed"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", vec![], "does not speak"),
        (&packet(0, b"\x09old"), vec![], "protocol version 9"),
        (&packet(0, b"\x0a8.0"), vec![], "ends too early"),
        (&packet(0, b""), vec![], "empty packet"),
        (&packet(0, b"\xff\x10\x04Too many connections"), vec![], "max_connections"),
        (&packet(0, b"\xff\x6a\x04Host 'x' is not allowed"), vec![], "CREATE USER"),
        (&old, vec![], "too old"),
        (&greet, vec![], "closed"),
        (&greet, packet(2, b"\xfe"), "MySQL 4"),
        (&greet, packet(2, b"\xfedialog\0abc\0"), "no login by dialog"),
        (&greet, packet(2, b"\xfemysql_clear_password\0"), "where others can read it"),
        (&greet, packet(2, b"\x01hm"), "does not know"),
        (&greet, packet(2, b"\x07hm"), "unknown packet"),
        (&greet, packet(5, DONE), "packet number"),
        (&greeting("caching_sha2_password"), packet(2, b"\x01\x04"), "allow_public_key_retrieval"),
    ] {
        let server = |mut stream: TcpStream| {
            // The client may leave at any time.
            let _ = stream.write_all(bytes);
            if bytes == greet || !answer.is_empty() {
                // A socket that is closed with something unread resets the connection.
                take(&mut stream);
            }
            if !answer.is_empty() {
                let _ = stream.write_all(&answer);
                take(&mut stream);
            }
        };
        let error = against(server, "", |connection| connection.err().unwrap());
        assert_eq!(error.kind, ErrorKind::Setup);
        let words = error.to_string();
        assert!(words.contains(part) && !words.contains("geheim"), "{part}: {words}");
    }
}

#[test]
fn a_password_does_not_leave_in_the_clear() {
    for method in ["sha256_password", "mysql_clear_password", "caching_sha2_password", "unheard_of"] {
        let server = |mut stream: TcpStream| {
            stream.write_all(&greeting(method)).unwrap();
            let mut seen = take(&mut stream);
            let _ = stream.write_all(&packet(2, b"\xfesha256_password\0abcdefghijklmnopqrst\0"));
            seen.extend(take(&mut stream));
            assert!(!seen.windows(6).any(|window| window == b"geheim"), "{method}");
        };
        assert!(against(server, "", |connection| connection.is_err()));
    }
}

#[test]
fn a_server_that_never_answers_runs_into_the_timeout() {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let silent = move |stream: TcpStream| {
        // Held open until the client has given up.
        let _ = wait.recv();
        drop(stream);
    };
    let error = against(silent, "connect_timeout=1", |connection| {
        let error = connection.err().unwrap();
        done.send(()).unwrap();
        error
    });
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("connect_timeout"), "{error}");
    assert!(error.to_string().contains("does not greet as MySQL and MariaDB do"), "{error}");
}

/// The definition of a column of 64-bit integers.
const COLUMN: &[u8] = &[3, b'd', b'e', b'f', 0, 0, 0, 1, b'a', 0, 12, 63, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

/// Sends `answer` to one query, and gives how that ends for the client.
fn query(answer: Vec<u8>) -> Result<i64, Error> {
    let server = |mut stream: TcpStream| {
        welcome(&mut stream);
        take(&mut stream);
        // Byte by byte: no packet is whole when it is first looked at.
        for byte in answer {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
        }
    };
    against(server, "", |connection| {
        let mut connection = connection.unwrap();
        let statement = Statement { sql: "SELECT 1", params: &[], columns: &[Type::Int64] };
        let id = connection.prepare(&statement, Prepare::Never).unwrap();
        let mut rows = Rows::new();
        connection.query(id, &[], &mut rows).and_then(|()| rows.int(0, 0))
    })
}

#[test]
fn nonsense_in_place_of_a_result_is_an_error_and_ends_the_connection() {
    let answer = |contents: &[&[u8]]| {
        let packets = contents.iter().zip(1..).map(|(content, number)| packet(number, content));
        packets.collect::<Vec<_>>().concat()
    };
    assert_eq!(query(answer(&[&[1], COLUMN, b"\x015", END])).unwrap(), 5);
    for (bytes, kind) in [
        (b"nonsense, and a lot of it".to_vec(), ErrorKind::Unknown),
        (answer(&[&[]]), ErrorKind::Unknown),
        (answer(&[&[0, 0]]), ErrorKind::Unknown),
        (answer(&[&[1], COLUMN, b"\x015"]), ErrorKind::Unknown),
        (answer(&[&[1], COLUMN, b"\x05x"]), ErrorKind::Unknown),
        (answer(&[&[1], COLUMN, &[0xfe, 0]]), ErrorKind::Unknown),
        (answer(&[&[1], COLUMN, &[0xff, 1]]), ErrorKind::Unknown),
        (packet(9, DONE), ErrorKind::Unknown),
        (answer(&[b"\xff\x27\x04#70100Query was killed"]), ErrorKind::Statement),
        (answer(&[b"\xff\x1d\x04#08S01Server shutdown in progress"]), ErrorKind::Unknown),
        (answer(&[&[1], COLUMN, b"\x03abc", END]), ErrorKind::Statement),
        (answer(&[&[2], COLUMN, COLUMN, b"\x015\x015", END]), ErrorKind::Statement),
        (answer(&[&[1], COLUMN, b"\xff\xbd\x04#40001Deadlock"]), ErrorKind::Deadlock),
    ] {
        let error = query(bytes.clone()).unwrap_err();
        assert_eq!(error.kind, kind, "{bytes:?}: {error}");
    }
}

#[test]
fn an_absent_server_is_a_set_up_error_with_a_remedy() {
    let port = crate::pool::free_port();
    for url in [format!("mysql://u@127.0.0.1:{port}/"), "mariadb://u@/?socket=/nowhere/at/all".to_owned()] {
        let error = dsbench_engines::open(&url).unwrap().connect(ADMIN).err().unwrap();
        assert!(error.kind == ErrorKind::Setup && error.to_string().contains("start the server"), "{error}");
    }
}
