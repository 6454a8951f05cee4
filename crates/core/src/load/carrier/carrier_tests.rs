//! Clients on a carrier against real sockets.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use super::*;

const STACK: usize = 64 * 1024;
const MILLISECOND: Nanos = 1_000_000;

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
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => watch.blocked(),
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
    // From one time on, and far apart: on a busy machine this thread may wait long for its CPU.
    let begin = Monotonic.now();
    let bodies = [300_u64, 100, 200].map(|ms| -> Box<dyn FnOnce()> {
        let order = Rc::clone(&order);
        Box::new(move || {
            pause_until(begin + ms * MILLISECOND);
            assert!(Monotonic.now() >= begin + ms * MILLISECOND);
            order.borrow_mut().push(ms);
        })
    });
    carry(bodies.into(), STACK).unwrap();
    assert_eq!(*order.borrow(), [100, 200, 300]);
}

/// A server that answers each byte by the same, on all of the connections that it gives.
fn echo(connections: usize) -> Vec<UnixStream> {
    let (clients, mut servers): (Vec<_>, Vec<_>) = (0..connections).map(|_| UnixStream::pair().unwrap()).unzip();
    servers.iter().for_each(|server| server.set_nonblocking(true).unwrap());
    std::thread::spawn(move || {
        let mut buffer = [0; 8];
        while !servers.is_empty() {
            servers.retain_mut(|server| match server.read(&mut buffer) {
                Ok(count) => count > 0 && server.write_all(&buffer[..count]).is_ok(),
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            });
            std::thread::yield_now();
        }
    });
    clients
}

#[test]
fn clients_that_start_at_the_same_time_all_begin_before_one_goes_on() {
    const CLIENTS: usize = 300;
    let begun: Rc<RefCell<Vec<u32>>> = Rc::default();
    let start = Monotonic.now() + 20 * MILLISECOND;
    let bodies = echo(CLIENTS).into_iter().map(|mut socket| -> Box<dyn FnOnce()> {
        let begun = Rc::clone(&begun);
        Box::new(move || {
            let watch = Watch::default();
            pause_until(start);
            for number in 0..5 {
                begun.borrow_mut().push(number);
                socket.write_all(&[7]).unwrap();
                assert_eq!(read_carried(&mut socket, &watch, &mut [0; 8]), 1);
            }
        })
    });
    carry(bodies.collect(), STACK).unwrap();
    let begun = begun.borrow();
    assert_eq!(begun[..CLIENTS], [0; CLIENTS]);
    assert_eq!(begun.len(), 5 * CLIENTS);
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
fn a_socket_that_was_given_up_wakes_no_client() {
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

/// Counts itself when it is dropped.
struct Counted(Rc<Cell<u32>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn bodies_that_get_no_stack_are_dropped() {
    let ended = Rc::new(Cell::new(0));
    let bodies = (0..3).map(|_| -> Box<dyn FnOnce()> {
        let counted = Counted(Rc::clone(&ended));
        Box::new(move || drop(counted))
    });
    assert!(carry(bodies.collect(), 1 << 50).is_err(), "more than there are addresses");
    assert_eq!(ended.get(), 3);
    assert!(!carried());
}

#[test]
fn a_panic_unwinds_the_clients_that_wait() {
    let ended = Rc::new(Cell::new(0));
    let waits = |until: Option<Nanos>| -> Box<dyn FnOnce()> {
        let ended = Rc::clone(&ended);
        Box::new(move || {
            let _counted = Counted(ended);
            let (socket, _server) = UnixStream::pair().unwrap();
            let watch = Watch::default();
            watch.readable(socket.as_raw_fd(), until).unwrap();
            unreachable!("nothing wakes it");
        })
    };
    let panics = || {
        pause(Duration::from_millis(1));
        std::panic::resume_unwind(Box::new("on purpose"));
    };
    let bodies: Vec<Box<dyn FnOnce()>> =
        vec![waits(None), waits(Some(Monotonic.now() + 60_000 * MILLISECOND)), Box::new(panics)];
    let run = std::panic::AssertUnwindSafe(|| carry(bodies, STACK));
    let panic = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    assert_eq!(ended.get(), 2);
    assert!(!carried() && !std::thread::panicking());
}

#[test]
fn answers_are_served_while_another_client_pauses() {
    const ROUNDS: usize = 200;
    let (pauses, done) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let sleeper = {
        let (pauses, done) = (Rc::clone(&pauses), Rc::clone(&done));
        move || {
            while !done.get() {
                pause(Duration::from_micros(900));
                pauses.set(pauses.get() + 1);
            }
        }
    };
    let reader = move || {
        let (mut socket, mut other) = UnixStream::pair().unwrap();
        let (watch, mut buffer) = (Watch::default(), [0; 8]);
        for _ in 0..ROUNDS {
            other.write_all(b"x").unwrap();
            assert_eq!(read_carried(&mut socket, &watch, &mut buffer), 1);
        }
        done.set(true);
    };
    carry(vec![Box::new(sleeper) as Box<dyn FnOnce()>, Box::new(reader)], STACK).unwrap();
    assert!(pauses.get() < ROUNDS, "each answer waited for the end of a pause");
}

#[test]
fn a_client_that_cannot_write_lets_the_others_go_on() {
    const LENGTH: usize = 4 << 20;
    let (mut socket, server) = UnixStream::pair().unwrap();
    // The server takes nothing before the other client has said so.
    let (mut says, hears) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        let (mut hears, mut server) = (hears, server);
        hears.read_exact(&mut [0]).unwrap();
        server.read_exact(&mut vec![0; LENGTH]).unwrap();
        server.write_all(b"thanks").unwrap();
    });
    let writer = move || {
        let (watch, bytes) = (Watch::default(), vec![0; LENGTH]);
        socket.set_nonblocking(true).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match socket.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    assert!(watch.writable(socket.as_raw_fd(), None).unwrap());
                }
            }
        }
        read_carried(&mut socket, &watch, &mut [0; 8])
    };
    let other = move || {
        pause(Duration::from_millis(1));
        says.write(&[1]).unwrap()
    };
    let bodies: Vec<Box<dyn FnOnce() -> usize>> = vec![Box::new(writer), Box::new(other)];
    assert_eq!(carry(bodies, STACK).unwrap(), [6, 1]);
    server.join().unwrap();
}

#[test]
fn a_wait_for_room_ends_in_time() {
    let body = || -> bool {
        let (mut socket, _server) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        while socket.write(&[0; 4096]).is_ok() {}
        Watch::default().writable(socket.as_raw_fd(), Some(Monotonic.now() + 2 * MILLISECOND)).unwrap()
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [false]);
}

#[test]
fn what_comes_for_one_connection_of_a_client_is_found_when_it_turns_to_it() {
    let body = || -> Vec<usize> {
        let ((mut first, mut one), (mut second, mut two)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let (watch, other) = (Watch::default(), Watch::default());
        let soon = || Some(Monotonic.now() + 2 * MILLISECOND);
        // Both are watched, with nothing there.
        assert!(!watch.readable(first.as_raw_fd(), soon()).unwrap());
        assert!(!other.readable(second.as_raw_fd(), soon()).unwrap());
        two.write_all(b"ab").unwrap();
        assert!(!watch.readable(first.as_raw_fd(), soon()).unwrap(), "the other one's bytes");
        one.write_all(b"c").unwrap();
        let mut buffer = [0; 8];
        vec![read_carried(&mut first, &watch, &mut buffer), read_carried(&mut second, &other, &mut buffer)]
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [[1, 2]]);
}

#[test]
fn a_socket_that_was_closed_on_another_thread_leaves_its_number_free() {
    let body = || -> usize {
        let (first, _server) = UnixStream::pair().unwrap();
        let (number, watch) = (first.as_raw_fd(), Watch::default());
        assert!(!watch.readable(number, Some(Monotonic.now())).unwrap());
        let kept = first.try_clone().unwrap();
        std::thread::spawn(move || drop((watch, first))).join().unwrap();
        let (mut next, mut server) = UnixStream::pair().unwrap();
        let watch = Watch::default();
        server.write_all(b"new").unwrap();
        let count = read_carried(&mut next, &watch, &mut [0; 8]);
        drop(kept);
        count
    };
    assert_eq!(carry(vec![Box::new(body)], STACK).unwrap(), [3]);
}

/// Runs `bodies` on two carriers in turn, each on a thread; gives what they gave, in order.
fn on_two<T: Send + 'static>(bodies: Vec<Box<dyn FnOnce() -> T + Send>>) -> Vec<T> {
    let fleet = Arc::new(Fleet::new(vec![Some(0), Some(1)], bodies.len()).unwrap());
    let mut shares = [Vec::new(), Vec::new()];
    bodies.into_iter().enumerate().for_each(|(client, body)| shares[client % 2].push((client, body)));
    let carriers = shares.into_iter().enumerate().map(|(berth, share)| {
        let fleet = Arc::clone(&fleet);
        std::thread::spawn(move || {
            let share = share.into_iter().map(|(client, body)| (client, body as Box<dyn FnOnce() -> T>)).collect();
            fleet.carry(berth, share, STACK).unwrap()
        })
    });
    let carriers: Vec<_> = carriers.collect();
    let mut results: Vec<_> = carriers.into_iter().flat_map(|carrier| carrier.join().unwrap()).collect();
    results.sort_by_key(|(client, _)| *client);
    results.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn clients_move_between_carriers_and_each_gets_its_own_answers() {
    let body = |client: u8| -> Box<dyn FnOnce() -> (u64, usize) + Send> {
        Box::new(move || {
            let (watch, mut socket, mut byte, mut sum) = (Watch::default(), successor(), [client], 0);
            let mut threads = std::collections::HashSet::new();
            for step in 0..200_usize {
                socket.write_all(&byte).unwrap();
                let mut answer = [0; 8];
                assert_eq!(read_carried(&mut socket, &watch, &mut answer), 1);
                byte[0] = answer[0];
                sum += u64::from(byte[0]);
                threads.insert(std::thread::current().id());
                // SAFETY: nothing here is bound to its thread.
                unsafe { go_on_at((step / 3 + usize::from(client)) % 2) };
                pause(Duration::from_micros(10));
            }
            (sum, threads.len())
        })
    };
    let expected = |client: u64| (1..=200_u64).map(|step| (client + step) % 256).sum::<u64>();
    let results = on_two((0..9).map(body).collect());
    assert_eq!(results, (0..9).map(|client| (expected(client), 2)).collect::<Vec<_>>());
}

#[test]
fn a_client_stays_where_no_carrier_has_the_cpu() {
    let body = || -> Box<dyn FnOnce() -> bool + Send> {
        Box::new(|| {
            let before = std::thread::current().id();
            // SAFETY: nothing here is bound to its thread.
            unsafe { go_on_at(1_000_000) };
            before == std::thread::current().id()
        })
    };
    assert_eq!(on_two(vec![body(), body()]), [true, true]);
}

#[test]
fn carriers_do_not_wait_for_clients_that_never_come() {
    let fleet = Fleet::new(vec![Some(0), Some(1)], 3).unwrap();
    fleet.leave(2);
    let body: Box<dyn FnOnce() -> u8> = Box::new(|| 7);
    assert_eq!(fleet.carry(0, vec![(0, body)], STACK).unwrap(), [(0, 7)]);
}

#[test]
fn a_panic_after_a_move_ends_that_client_alone() {
    let body = |client: usize| -> Box<dyn FnOnce() -> Option<usize> + Send> {
        Box::new(move || {
            std::panic::catch_unwind(|| {
                // SAFETY: nothing here is bound to its thread.
                unsafe { go_on_at(1 - client % 2) };
                assert!(client != 2, "a defect on another thread than that where the client began");
                client
            })
            .ok()
        })
    };
    assert_eq!(on_two((0..4).map(body).collect()), [Some(0), Some(1), None, Some(3)]);
}
