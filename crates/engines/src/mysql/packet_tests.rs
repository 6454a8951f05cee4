use super::*;
use crate::net::inbox::read_all;

fn contents(bytes: Vec<u8>, piece: usize) -> (Vec<Vec<u8>>, io::Error) {
    let mut input = Input::new();
    input.login_done();
    read_all(bytes, piece, |transport| input.next(transport).map(<[u8]>::to_vec))
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
    let mut input = Input::new();
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let (found, error) = read_all(answer, 100, |transport| input.next(transport).map(<[u8]>::to_vec));
    assert_eq!((found.len(), error.kind()), (0, io::ErrorKind::InvalidData));
}
