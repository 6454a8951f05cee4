use super::*;
use crate::net::inbox::read_all;
use dsbench_core::random::Stream;

fn messages(bytes: &[u8], piece: usize) -> (Vec<(u8, Vec<u8>)>, io::Error) {
    let mut input = Input::new();
    read_all(bytes.to_vec(), piece, |transport| input.next(transport).map(|(tag, body)| (tag, body.to_vec())))
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

#[test]
fn messages_are_cut_wherever_reads_end() {
    let long = vec![7; 20_000];
    let bytes = [message(b'1', b""), message(b'D', b"abc"), message(b'D', &long), message(b'Z', b"I")].concat();
    for piece in [1_000_000, 4096, 7, 1] {
        let (found, error) = messages(&bytes, piece);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let expected = [(b'1', vec![]), (b'D', b"abc".to_vec()), (b'D', long.clone()), (b'Z', b"I".to_vec())];
        assert!(found == expected, "pieces of {piece}");
    }
}

#[test]
fn lengths_that_cannot_be_are_refused_before_any_memory_is_taken() {
    for length in [0_u32, 3, 30_001, 0x7fff_ffff, 0xffff_ffff] {
        let mut bytes = vec![b'D'];
        bytes.extend_from_slice(&length.to_be_bytes());
        let (found, error) = messages(&bytes, 64);
        assert_eq!((found.len(), error.kind()), (0, io::ErrorKind::InvalidData), "{length}");
    }
}

#[test]
fn a_message_that_ends_too_early_is_a_closed_connection() {
    let bytes = message(b'D', b"abcdef");
    for end in 0..bytes.len() {
        let (found, error) = messages(&bytes[..end], 64);
        assert_eq!((found.len(), error.kind()), (0, io::ErrorKind::UnexpectedEof), "{end}");
    }
}

#[test]
fn random_bytes_end_in_an_error() {
    let mut random = Stream::new(1, 0, 0);
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..512).map(|_| random.next_u64() as u8).collect();
        let (_, error) = messages(&bytes, 512);
        assert!(matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof), "{error}");
    }
}
