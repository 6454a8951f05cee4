//! Channels: a client on a carrier holds up no other, and one with a thread to itself is woken for answers alone.

use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn a_server_that_takes_no_more_holds_up_one_client_alone() {
    const LENGTH: usize = 8 << 20;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut says, mut hears) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        let mut theirs = theirs;
        hears.read_exact(&mut [0]).unwrap();
        theirs.read_exact(&mut vec![0; LENGTH]).unwrap();
    });
    let writes = move || {
        let mut channel = Channel::from_socket(Socket::from(std::os::fd::OwnedFd::from(ours)));
        channel.write_all(&vec![0; LENGTH]).unwrap();
    };
    let lets = move || {
        carrier::pause(Duration::from_millis(1));
        says.write_all(&[1]).unwrap();
    };
    let bodies: Vec<Box<dyn FnOnce()>> = vec![Box::new(writes), Box::new(lets)];
    carrier::carry(bodies, 256 * 1024).unwrap();
    server.join().unwrap();
}

/// How often this thread gave up its CPU to wait.
fn waits() -> i64 {
    // SAFETY: a zeroed rusage is valid, and the call only writes to it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) }, 0);
    usage.ru_nvcsw
}

#[test]
fn a_client_with_a_thread_to_itself_wakes_once_for_an_answer() {
    const ROUNDS: i64 = 25;
    const WORK: Duration = Duration::from_millis(2);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..ROUNDS {
            // The client waits before it is heard, and for some time after.
            std::thread::sleep(WORK);
            theirs.read_exact(&mut [0]).unwrap();
            std::thread::sleep(WORK);
            theirs.write_all(&[0]).unwrap();
        }
    });
    let mut channel = Channel::from_socket(ours.into());
    let before = waits();
    for _ in 0..ROUNDS {
        channel.write_all(&[0]).unwrap();
        channel.read_exact(&mut [0]).unwrap();
    }
    let waits = waits() - before;
    assert!(waits < ROUNDS * 3 / 2, "{waits} times for {ROUNDS} answers");
    assert_eq!(channel.messages(), Messages { sent: ROUNDS as u64, received: ROUNDS as u64 });
    server.join().unwrap();
}

#[test]
fn who_ends_what_a_client_waits_for_has_no_descriptor_of_its_own() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let channel = Channel::from_socket(ours.into());
    let shared = channel.share();
    assert_eq!(shared.as_raw_fd(), channel.socket().as_raw_fd());
    drop(channel);
    shared.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
}
