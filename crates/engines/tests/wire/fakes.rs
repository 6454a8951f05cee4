//! Servers that are none, or that misbehave: an error, never a panic and never a wait without end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use dsbench_core::engine::{Connection, Prepare};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type};

use crate::server::ADMIN;
use crate::Wire;

for_both!(
    a_login_that_makes_no_sense_is_an_error,
    a_server_that_never_answers_runs_into_the_timeout,
    nonsense_in_place_of_a_result_is_an_error_and_ends_the_connection,
    an_absent_server_is_a_set_up_error_with_a_remedy,
);

/// A packet of MySQL's.
pub fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (content.len() as u32).to_le_bytes();
    [&[a, b, c, number], content].concat()
}

/// The greeting of a MySQL server that proposes a method of login.
pub fn greeting(method: &str) -> Vec<u8> {
    let mut content = b"\x0a8.0.99-fake\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xdf\x15".to_vec();
    content.extend_from_slice(&[0; 10]);
    content.extend_from_slice(b"ijklmnopqrst\0");
    content.extend_from_slice(method.as_bytes());
    content.push(0);
    packet(0, &content)
}

pub const DONE: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// What a fake server does.
enum Step {
    /// Takes what the client says next, whatever it is.
    Take,
    Say(Vec<u8>),
}

use Step::{Say, Take};

/// Runs a server that does these `steps` for one connection and closes it, and `client` against it.
fn against<T>(
    wire: Wire,
    steps: Vec<Step>,
    parameters: &str,
    client: impl FnOnce(Result<Box<dyn Connection>>) -> T,
) -> T {
    let play = |mut stream: TcpStream| {
        for step in steps {
            // The client may leave at any time.
            let _ = match step {
                Take => stream.read(&mut [0; 4096]).map(|_| ()),
                Say(bytes) => stream.write_all(&bytes),
            };
        }
    };
    against_server(wire, play, parameters, client)
}

fn against_server<T>(
    wire: Wire,
    server: impl FnOnce(TcpStream) + Send,
    parameters: &str,
    client: impl FnOnce(Result<Box<dyn Connection>>) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::scope(|scope| {
        scope.spawn(move || server(listener.accept().unwrap().0));
        let url = wire.either(
            format!("postgresql://u@127.0.0.1:{port}/d?sslmode=disable&{parameters}"),
            format!("mysql://u:geheim@127.0.0.1:{port}/?ssl_mode=DISABLED&{parameters}"),
        );
        client(dsbench_engines::open(&url).unwrap().connect(ADMIN))
    })
}

/// What a PostgreSQL server sends that lets everybody in.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";

/// Lets everybody in, and answers the question whether the session has its settings.
fn welcome(wire: Wire) -> Vec<Step> {
    if wire == Wire::Postgres {
        let proved = b"D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        return vec![Take, Say(WELCOME.to_vec()), Take, Say(proved.to_vec())];
    }
    let more = [0, 0, 0, 10, 0, 0, 0];
    let settings = [packet(1, &more), packet(2, &more)].concat();
    let column = b"\x03def\0\0\0\x01a\x01a\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0";
    let columns: Vec<u8> = (4..9).flat_map(|number| packet(number, column)).collect();
    let row = packet(9, b"\x0eREAD-COMMITTED\x011\x06+00:00\xfb\x0816777216");
    let settings = [settings, packet(3, &[5]), columns, row, packet(10, END)].concat();
    vec![Say(greeting("mysql_native_password")), Take, Say(packet(2, DONE)), Take, Say(settings)]
}

/// Welcomes, and sends `answer` to one query, byte by byte: no message is whole when it is first looked at. Gives how
/// that ends.
fn query(wire: Wire, welcome: Vec<Step>, answer: &[u8]) -> Result<i64> {
    let mut steps = welcome;
    steps.push(Take);
    steps.extend(answer.iter().map(|byte| Say(vec![*byte])));
    against(wire, steps, "", |connection| {
        let mut connection = connection.unwrap();
        let id = wire.prepare(&mut *connection, "SELECT 1", &[], &[Type::Int32], Prepare::Never).unwrap();
        let mut rows = Rows::new();
        connection.query(id, &[], &mut rows).and_then(|()| rows.int(0, 0))
    })
}

fn a_login_that_makes_no_sense_is_an_error(wire: Wire) {
    let check = |steps: Vec<Step>, part: &str| {
        let error = against(wire, steps, "", |connection| connection.err().unwrap());
        assert_eq!(error.kind, ErrorKind::Setup);
        let words = format!("{error:#}");
        assert!(words.contains(part) && !words.contains("geheim"), "{part}: {words}");
    };
    if wire == Wire::Postgres {
        let unsupported = |code: u8| [&b"R\0\0\0\x08\0\0\0"[..], &[code]].concat();
        for (answer, part) in [
            (&b""[..], "closed"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak"),
            (b"Z\0\0\0\x05I", "does not speak"),
            (b"R\xff\xff\xff\xff\0\0\0\0", "does not speak"),
            (b"R\0\0\0\x08\0\0\0", "closed"),
            (b"R\0\0\0\x06\0\0", "ends too early"),
            (b"R\0\0\0\x09\0\0\0\x05\0", "ends too early"),
            (b"R\0\0\0\x08\0\0\0\x0b", "out of order"),
            (&unsupported(7), "GSSAPI"),
            (&unsupported(9), "SSPI"),
            (&unsupported(99), "unknown method"),
            (&unsupported(3), "PGPASSWORD"),
        ] {
            check(vec![Take, Say(answer.to_vec())], part);
        }
        return;
    }
    let old = b"\x0a5.1.73\0\x07\0\0\0abcdefgh\0\x0f\xa2\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0";
    for (answer, part) in [
        (&b""[..], "closed"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak"),
        (&packet(0, b"\x09old"), "protocol version 9"),
        (&packet(0, b"\x0a8.0"), "ends too early"),
        (&packet(0, b""), "empty packet"),
        (&packet(0, b"\xff\x10\x04Too many connections"), "max_connections"),
        (&packet(0, b"\xff\x6a\x04Host 'x' is not allowed"), "CREATE USER"),
        (&packet(0, old), "too old"),
    ] {
        check(vec![Say(answer.to_vec())], part);
    }
    for (method, answer, part) in [
        ("mysql_native_password", vec![], "closed"),
        ("mysql_native_password", packet(2, b"\xfe"), "MySQL 4"),
        ("mysql_native_password", packet(2, b"\xfedialog\0abc\0"), "no login by dialog"),
        ("mysql_native_password", packet(2, b"\xfemysql_clear_password\0"), "where others can read it"),
        ("mysql_native_password", packet(2, b"\x01hm"), "does not know"),
        ("mysql_native_password", packet(2, b"\x07hm"), "unknown packet"),
        ("mysql_native_password", packet(5, DONE), "packet number"),
        ("caching_sha2_password", packet(2, b"\x01\x04"), "allow_public_key_retrieval"),
    ] {
        // A socket that is closed with something unread resets the connection.
        let last = if answer.is_empty() { vec![] } else { vec![Say(answer), Take] };
        check([Say(greeting(method)), Take].into_iter().chain(last).collect(), part);
    }
}

fn a_server_that_never_answers_runs_into_the_timeout(wire: Wire) {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let silent = move |stream: TcpStream| {
        // Held open until the client has given up.
        let _ = wait.recv();
        drop(stream);
    };
    let error = against_server(wire, silent, "connect_timeout=1", |connection| {
        let error = connection.err().unwrap();
        done.send(()).unwrap();
        error
    });
    let words = format!("{error:#}");
    assert!(error.kind == ErrorKind::Setup && words.contains("connect_timeout"), "{words}");
    assert!(words.contains(wire.either("", "does not greet as MySQL and MariaDB do")), "{words}");
}

/// The definition of a column of 64-bit integers, and the end of rows, in MySQL's protocol.
const COLUMN: &[u8] = &[3, b'd', b'e', b'f', 0, 0, 0, 1, b'a', 0, 12, 63, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

fn nonsense_in_place_of_a_result_is_an_error_and_ends_the_connection(wire: Wire) {
    let row = |body: &[u8]| [b"D", &(body.len() as u32 + 4).to_be_bytes()[..], body].concat();
    let ready = b"Z\0\0\0\x05I";
    let packets = |contents: &[&[u8]]| {
        let packets = contents.iter().zip(1..).map(|(content, number)| packet(number, content));
        packets.collect::<Vec<_>>().concat()
    };
    let good = wire.either(
        [&row(b"\0\x01\0\0\0\x015")[..], b"C\0\0\0\x0dSELECT 1\0", ready].concat(),
        packets(&[&[1], COLUMN, b"\x015", END]),
    );
    assert_eq!(query(wire, welcome(wire), &good).unwrap(), 5);
    let answers = wire.either(
        vec![
            (b"nonsense, and a lot of it".to_vec(), ErrorKind::Unknown),
            (b"D\x7f\xff\xff\xff".to_vec(), ErrorKind::Unknown),
            (b"Z\0\0\0\x05X".to_vec(), ErrorKind::Unknown),
            (b"Z\0\0\0\x04".to_vec(), ErrorKind::Unknown),
            (row(b""), ErrorKind::Unknown),
            (row(b"\0\x01\0\0\0\x08\0\0"), ErrorKind::Unknown),
            (row(b"\0\x01\xff\xff\xff\xf0"), ErrorKind::Unknown),
            ([row(b"\0\x02"), ready.to_vec()].concat(), ErrorKind::Statement),
            ([row(b"\0\x01\0\0\0\x03abc"), ready.to_vec()].concat(), ErrorKind::Statement),
            (b"E\0\0\0\x04Z\0\0\0\x05I".to_vec(), ErrorKind::Statement),
            (b"SFATAL".to_vec(), ErrorKind::Unknown),
        ],
        vec![
            (b"nonsense, and a lot of it".to_vec(), ErrorKind::Unknown),
            (packets(&[&[]]), ErrorKind::Unknown),
            (packets(&[&[0, 0]]), ErrorKind::Unknown),
            (packets(&[&[1], COLUMN, b"\x015"]), ErrorKind::Unknown),
            (packets(&[&[1], COLUMN, b"\x05x"]), ErrorKind::Unknown),
            (packets(&[&[1], COLUMN, &[0xfe, 0]]), ErrorKind::Unknown),
            (packets(&[&[1], COLUMN, &[0xff, 1]]), ErrorKind::Unknown),
            (packet(9, DONE), ErrorKind::Unknown),
            (packets(&[b"\xff\x27\x04#70100Query was killed"]), ErrorKind::Statement),
            (packets(&[b"\xff\x1d\x04#08S01Server shutdown in progress"]), ErrorKind::Unknown),
            (packets(&[&[1], COLUMN, b"\x03abc", END]), ErrorKind::Statement),
            (packets(&[&[2], COLUMN, COLUMN, b"\x015\x015", END]), ErrorKind::Statement),
            (packets(&[&[1], COLUMN, b"\xff\xbd\x04#40001Deadlock"]), ErrorKind::Deadlock),
        ],
    );
    for (bytes, kind) in answers {
        let error: Error = query(wire, welcome(wire), &bytes).unwrap_err();
        assert_eq!(error.kind, kind, "{bytes:?}: {error}");
    }
}

fn an_absent_server_is_a_set_up_error_with_a_remedy(wire: Wire) {
    let port = crate::pool::free_port();
    let urls = wire.either(
        [format!("postgresql://u@127.0.0.1:{port}/d"), format!("postgresql://u@/d?host=/nowhere/at/all&port={port}")],
        [format!("mysql://u@127.0.0.1:{port}/"), "mariadb://u@/?socket=/nowhere/at/all".to_owned()],
    );
    for url in urls {
        let error = dsbench_engines::open(&url).unwrap().connect(ADMIN).err().unwrap();
        assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("start the server"), "{error}");
    }
}

#[test]
fn messages_of_postgres_that_were_not_asked_for_are_skipped() {
    let notice = b"N\0\0\0\x0cMhello\0\0";
    let status = b"S\0\0\0\x08a\0b\0";
    let answer: [&[u8]; 9] = [
        notice,
        b"2\0\0\0\x04",
        b"A\0\0\0\x0c\0\0\0\x01a\0b\0",
        b"D\0\0\0\x0b\0\x01\0\0\0\x015",
        status,
        b"C\0\0\0\x0dSELECT 1\0",
        notice,
        status,
        b"Z\0\0\0\x05I",
    ];
    let mut welcome = welcome(Wire::Postgres);
    welcome[1] = Say([&b"N\0\0\0\x05\0"[..], status, WELCOME].concat());
    assert_eq!(query(Wire::Postgres, welcome, &answer.concat()).unwrap(), 5);
}

#[test]
fn a_server_of_postgres_must_prove_that_it_knows_the_password() {
    // SCRAM is offered and begun, and then everybody is let in.
    let offer = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0".to_vec();
    let steps = vec![Take, Say(offer), Take, Say(WELCOME.to_vec())];
    let error = against(Wire::Postgres, steps, "password=geheim", |connection| connection.err().unwrap());
    assert!(format!("{error:#}").contains("without proving"), "{error}");
}

#[test]
fn a_password_does_not_leave_for_mysql_in_the_clear() {
    for method in ["sha256_password", "mysql_clear_password", "caching_sha2_password", "unheard_of"] {
        let server = |mut stream: TcpStream| {
            let mut seen = [0; 8192];
            stream.write_all(&greeting(method)).unwrap();
            let first = stream.read(&mut seen[..4096]).unwrap_or(0);
            let _ = stream.write_all(&packet(2, b"\xfesha256_password\0abcdefghijklmnopqrst\0"));
            let _ = stream.read(&mut seen[first..]);
            assert!(!seen.windows(6).any(|window| window == b"geheim"), "{method}");
        };
        assert!(against_server(Wire::Mysql, server, "", |connection| connection.is_err()));
    }
}
