//! Servers that are none, or that misbehave: an error, never a panic and never a wait without end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type};

use super::server::ADMIN;

/// What a server sends that lets everybody in.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";

/// The answer to the question whether the session has its settings.
const PROVED: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

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
        let url = format!("postgresql://u@127.0.0.1:{port}/d?sslmode=disable&{parameters}");
        client(dsbench_engines::postgres::open(&url).unwrap().connect(ADMIN))
    })
}

/// Takes one flight of the client, whatever it is.
fn take(stream: &mut TcpStream) -> usize {
    stream.read(&mut [0; 4096]).unwrap_or(0)
}

/// A server that answers the startup with `bytes` and closes.
fn answering(bytes: &[u8]) -> impl FnOnce(TcpStream) + Send + '_ {
    move |mut stream| {
        take(&mut stream);
        // The client may have left already.
        let _ = stream.write_all(bytes);
    }
}

fn login_error(bytes: &[u8]) -> Error {
    against(answering(bytes), "", |connection| connection.err().unwrap())
}

#[test]
fn a_login_that_makes_no_sense_is_an_error() {
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
        let error = login_error(answer);
        assert_eq!(error.kind, ErrorKind::Setup);
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn a_server_must_prove_that_it_knows_the_password() {
    // SCRAM is offered and begun, and then everybody is let in.
    let server = |mut stream: TcpStream| {
        take(&mut stream);
        stream.write_all(b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0").unwrap();
        take(&mut stream);
        let _ = stream.write_all(WELCOME);
    };
    let error = against(server, "password=geheim", |connection| connection.err().unwrap());
    assert!(error.to_string().contains("without proving"), "{error}");
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
}

#[test]
fn nonsense_in_place_of_a_result_is_an_error_and_ends_the_connection() {
    let row = |body: &[u8]| [b"D", &(body.len() as u32 + 4).to_be_bytes()[..], body].concat();
    for (answer, kind) in [
        (b"nonsense, and a lot of it".to_vec(), ErrorKind::Unknown),
        (b"D\x7f\xff\xff\xff".to_vec(), ErrorKind::Unknown),
        (b"Z\0\0\0\x05X".to_vec(), ErrorKind::Unknown),
        (b"Z\0\0\0\x04".to_vec(), ErrorKind::Unknown),
        (row(b""), ErrorKind::Unknown),
        (row(b"\0\x01\0\0\0\x08\0\0"), ErrorKind::Unknown),
        (row(b"\0\x01\xff\xff\xff\xf0"), ErrorKind::Unknown),
        ([row(b"\0\x02"), b"Z\0\0\0\x05I".to_vec()].concat(), ErrorKind::Statement),
        ([row(b"\0\x01\0\0\0\x03abc"), b"Z\0\0\0\x05I".to_vec()].concat(), ErrorKind::Statement),
        (b"E\0\0\0\x04Z\0\0\0\x05I".to_vec(), ErrorKind::Statement),
        (b"SFATAL".to_vec(), ErrorKind::Unknown),
    ] {
        let server = |mut stream: TcpStream| {
            take(&mut stream);
            stream.write_all(WELCOME).unwrap();
            take(&mut stream);
            stream.write_all(PROVED).unwrap();
            take(&mut stream);
            let _ = stream.write_all(&answer);
        };
        let error = against(server, "", |connection| {
            let mut connection = connection.unwrap();
            let statement = Statement { sql: "SELECT 1", params: &[], columns: &[Type::Int32] };
            let id = connection.prepare(&statement, Prepare::Never).unwrap();
            connection.query(id, &[], &mut Rows::new()).unwrap_err()
        });
        assert_eq!(error.kind, kind, "{answer:?}: {error}");
    }
}

#[test]
fn messages_that_were_not_asked_for_are_skipped() {
    let server = |mut stream: TcpStream| {
        take(&mut stream);
        stream.write_all(&[&b"N\0\0\0\x05\0"[..], b"S\0\0\0\x08a\0b\0", WELCOME].concat()).unwrap();
        take(&mut stream);
        stream.write_all(PROVED).unwrap();
        take(&mut stream);
        let notice = b"N\0\0\0\x0cMhello\0\0";
        let notification = b"A\0\0\0\x0c\0\0\0\x01a\0b\0";
        let status = b"S\0\0\0\x08a\0b\0";
        let row = b"D\0\0\0\x0b\0\x01\0\0\0\x015";
        let parts: [&[u8]; 9] = [
            notice,
            b"2\0\0\0\x04",
            notification,
            row,
            status,
            b"C\0\0\0\x0dSELECT 1\0",
            notice,
            status,
            b"Z\0\0\0\x05I",
        ];
        // Byte by byte: no message is whole when it is first looked at.
        for byte in parts.concat() {
            stream.write_all(&[byte]).unwrap();
        }
        take(&mut stream);
    };
    against(server, "", |connection| {
        let mut connection = connection.unwrap();
        let statement = Statement { sql: "SELECT 5", params: &[], columns: &[Type::Int32] };
        let id = connection.prepare(&statement, Prepare::Never).unwrap();
        let mut rows = Rows::new();
        connection.query(id, &[], &mut rows).unwrap();
        assert_eq!(rows.int(0, 0).unwrap(), 5);
    });
}

#[test]
fn an_absent_server_is_a_set_up_error_with_a_remedy() {
    let port = crate::pool::free_port();
    for url in
        [format!("postgresql://u@127.0.0.1:{port}/d"), format!("postgresql://u@/d?host=/nowhere/at/all&port={port}")]
    {
        let error = dsbench_engines::open(&url).unwrap().connect(ADMIN).err().unwrap();
        assert!(error.kind == ErrorKind::Setup && error.to_string().contains("start the server"), "{error}");
    }
}
