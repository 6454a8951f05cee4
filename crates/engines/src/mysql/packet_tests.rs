use super::*;
use crate::net::socket::Channel;

use std::io::Write;
use std::os::unix::net::UnixStream;

/// Reads what a server sends that sends `bytes`, cut into pieces of `piece`, and then closes.
fn contents(bytes: Vec<u8>, piece: usize) -> (Vec<Vec<u8>>, io::Error) {
    let (client, mut server) = UnixStream::pair().unwrap();
    let sender = std::thread::spawn(move || {
        for part in bytes.chunks(piece) {
            // The reader stops at the first error, before all is sent.
            if server.write_all(part).is_err() {
                return;
            }
        }
    });
    let mut transport = Transport::Plain(Channel::from_socket(client.into()));
    let mut input = Input::new();
    input.login_done();
    let mut found = Vec::new();
    let error = loop {
        match input.next(&mut transport) {
            Ok(content) => found.push(content.to_vec()),
            Err(error) => break error,
        }
    };
    drop(transport);
    sender.join().unwrap();
    (found, error)
}

/// Contents as packets, numbered from 0.
fn packets(contents: &[Vec<u8>]) -> Vec<u8> {
    let (mut all, mut number) = (Vec::new(), 0);
    for content in contents {
        let mut out = Vec::new();
        open(&mut out);
        out.extend_from_slice(content);
        number = close(&mut out, number);
        all.extend_from_slice(&out);
    }
    all
}

#[test]
fn packets_are_cut_wherever_reads_end() {
    let expected = [vec![], b"abc".to_vec(), vec![7; 20_000], vec![1]];
    for piece in [1_000_000, 4096, 7, 1] {
        let (found, error) = contents(packets(&expected), piece);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(found == expected, "pieces of {piece}");
    }
}

#[test]
fn long_contents_come_back_whole() {
    for length in [LONGEST - 1, LONGEST, LONGEST + 1, 2 * LONGEST, 2 * LONGEST + 5] {
        let long: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let expected = [b"before".to_vec(), long, b"after".to_vec()];
        let (found, error) = contents(packets(&expected), 1 << 20);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(found == expected, "{length} bytes");
    }
}

#[test]
fn a_short_flight_allocates_nothing_twice() {
    let mut out = Vec::new();
    open(&mut out);
    out.extend_from_slice(b"SELECT 1");
    assert_eq!(close(&mut out, 0), 1);
    assert_eq!(out, b"\x08\0\0\0SELECT 1");
    let (place, room) = (out.as_ptr(), out.capacity());
    open(&mut out);
    out.extend_from_slice(b"SELECT 2");
    close(&mut out, 0);
    assert_eq!((out.as_ptr(), out.capacity()), (place, room));
}

#[test]
fn packets_out_of_turn_are_garbage_unless_they_are_errors() {
    let (found, error) = contents(vec![1, 0, 0, 0, 9, 1, 0, 0, 7, 9], 100);
    assert_eq!((found.len(), error.kind()), (1, io::ErrorKind::InvalidData));
    let (found, error) = contents(vec![1, 0, 0, 7, 0xff], 100);
    assert_eq!((found.len(), error.kind()), (1, io::ErrorKind::UnexpectedEof));
}

#[test]
fn long_packets_are_garbage_before_the_login_is_done() {
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    let mut transport = Transport::Plain(Channel::from_socket(client.into()));
    let error = Input::new().next(&mut transport).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
