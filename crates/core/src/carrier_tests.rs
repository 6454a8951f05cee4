//! Clients on a carrier against real sockets.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use super::*;

const STACK: usize = 64 * 1024;

fn read_carried(socket: &mut UnixStream, watch: &Watch, buffer: &mut [u8]) -> usize {
    socket.set_nonblocking(true).unwrap();
    loop {
        assert!(watch.readable(socket.as_raw_fd(), None).unwrap());
        match socket.read(buffer) {
            Ok(count) => {
                if count < buffer.len() {
                    watch.drained();
                }
                return count;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => watch.drained(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A server that answers each byte with its successor.
fn successor() -> UnixStream {
    let (client, mut server) = UnixStream::pair().unwrap();
    std::thread::spawn(move || {
        let mut byte = [0];
        while server.read(&mut byte).is_ok_and(|count| count == 1) {
            if server.write_all(&[byte[0].wrapping_add(1)]).is_err() {
                return;
            }
        }
    });
    client
}

#[test]
fn clients_of_one_thread_each_get_their_own_answers() {
    let body = |client: u8| -> Box<dyn FnOnce() -> (u8, u64)> {
        Box::new(move || {
            let (watch, mut socket, mut byte, mut sum) = (Watch::default(), successor(), [client], 0);
            for _ in 0..200 {
                socket.write_all(&byte).unwrap();
                // Room for more than comes: a short read says that nothing is left.
                let mut answer = [0; 8];
                assert_eq!(read_carried(&mut socket, &watch, &mut answer), 1);
                assert_eq!(answer[0], byte[0].wrapping_add(1));
                byte[0] = answer[0];
                sum += u64::from(byte[0]);
            }
            (client, sum)
        })
    };
    let results = carry((0..20).map(body).collect(), STACK).unwrap();
    let expected: Vec<_> = (0..20_u8)
        .map(|client| (client, (1..=200_u64).map(|step| (u64::from(client) + step) % 256).sum::<u64>()))
        .collect();
    assert_eq!(results, expected);
    assert!(!carried());
}

#[test]
fn what_does_not_fit_the_buffer_is_not_lost() {
    let body = || -> usize {
        let (mut socket, mut server) = UnixStream::pair().unwrap();
        server.write_all(&[7; 10]).unwrap();
        let (watch, mut buffer, mut seen) = (Watch::default(), [0; 4], 0);
        while seen < 10 {
            seen += read_carried(&mut socket, &watch, &mut buffer);
        }
        seen
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [10]);
}

#[test]
fn the_end_of_a_connection_is_read_behind_its_last_bytes() {
    let body = || -> Vec<usize> {
        let (mut socket, mut server) = UnixStream::pair().unwrap();
        server.write_all(b"bye").unwrap();
        drop(server);
        let (watch, mut buffer) = (Watch::default(), [0; 16]);
        (0..3).map(|_| read_carried(&mut socket, &watch, &mut buffer)).collect()
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [[3, 0, 0]]);
}

#[test]
fn a_pause_gives_the_thread_to_the_others() {
    let order: Rc<RefCell<Vec<u64>>> = Rc::default();
    let bodies = [30_u64, 10, 20].map(|ms| -> Box<dyn FnOnce()> {
        let order = Rc::clone(&order);
        Box::new(move || {
            let end = Monotonic.now() + ms * MILLISECOND;
            pause(Duration::from_millis(ms));
            assert!(Monotonic.now() >= end);
            order.borrow_mut().push(ms);
        })
    });
    carry(bodies.into(), STACK).unwrap();
    assert_eq!(*order.borrow(), [10, 20, 30]);
}

#[test]
fn a_wait_ends_at_its_time() {
    let body = || -> bool {
        let (socket, _server) = UnixStream::pair().unwrap();
        Watch::default().readable(socket.as_raw_fd(), Some(Monotonic.now() + 5 * MILLISECOND)).unwrap()
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [false]);
}

#[test]
fn a_socket_that_was_given_up_wakes_nobody() {
    let body = || -> usize {
        let (first, mut first_server) = UnixStream::pair().unwrap();
        let kept = first.try_clone().unwrap();
        let watch = Watch::default();
        assert!(!watch.readable(first.as_raw_fd(), Some(Monotonic.now())).unwrap());
        drop(watch);
        drop(first);
        // Its duplicate still gets bytes; the next socket has its place.
        first_server.write_all(b"late").unwrap();
        let (mut second, mut second_server) = UnixStream::pair().unwrap();
        let (watch, mut buffer) = (Watch::default(), [0; 8]);
        let soon = Monotonic.now() + 5 * MILLISECOND;
        assert!(!watch.readable(second.as_raw_fd(), Some(soon)).unwrap(), "bytes of another connection");
        second_server.write_all(b"on").unwrap();
        drop(kept);
        read_carried(&mut second, &watch, &mut buffer)
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [2]);
}

#[test]
fn outside_of_a_carrier_nothing_changes() {
    let before = Monotonic.now();
    pause(Duration::from_millis(2));
    assert!(!carried() && Monotonic.now() - before >= 2 * MILLISECOND);
}
