//! Sockets of clients that share a thread: nothing that one of them waits for holds up another.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};

use super::*;

const STACK: usize = 256 * 1024;
type Bodies<T> = Vec<Box<dyn FnOnce() -> T>>;

fn tcp(port: u16) -> Address {
    Address::Tcp("localhost".to_owned(), port, Some(IpAddr::from([127, 0, 0, 1])))
}

fn in_a_minute() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(60))
}

#[test]
fn carried_clients_connect_and_talk() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp(listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || {
        // The last to come is answered first.
        let mut sockets: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        for socket in sockets.iter_mut().rev() {
            let mut number = [0];
            socket.read_exact(&mut number).unwrap();
            socket.write_all(&number).unwrap();
        }
    });
    let bodies = (0..3_u8).map(|number| -> Box<dyn FnOnce() -> u8> {
        let address = address.clone();
        Box::new(move || {
            let mut channel = connect(&address, in_a_minute()).unwrap();
            channel.write_all(&[number]).unwrap();
            let mut answer = [0; 4];
            assert_eq!(channel.read(&mut answer).unwrap(), 1);
            assert_eq!(channel.read(&mut answer[1..]).unwrap(), 0, "the end");
            answer[0]
        })
    });
    assert_eq!(carrier::carry(bodies.collect(), STACK).unwrap(), [0, 1, 2]);
    server.join().unwrap();
}

#[test]
fn a_port_without_a_listener_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp(listener.local_addr().unwrap().port());
    drop(listener);
    let body = move || connect(&address, in_a_minute()).unwrap_err().kind();
    let bodies: Bodies<io::ErrorKind> = vec![Box::new(body)];
    assert_eq!(carrier::carry(bodies, STACK).unwrap(), [io::ErrorKind::ConnectionRefused]);
}

#[test]
fn a_name_is_looked_up_by_another_thread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp("localhost".to_owned(), listener.local_addr().unwrap().port(), None);
    let named = address.clone();
    let found = move || connect(&named, in_a_minute()).is_ok();
    let late = move || connect(&address, Some(Instant::now())).unwrap_err().kind() == io::ErrorKind::TimedOut;
    let bodies: Bodies<bool> = vec![Box::new(found), Box::new(late)];
    assert_eq!(carrier::carry(bodies, STACK).unwrap(), [true, true]);
}

#[test]
fn a_full_backlog_is_waited_for_by_one_client_alone() {
    let folder = std::env::temp_dir().join(format!("dsbench-backlog-{}", std::process::id()));
    let listener = {
        let _ = std::fs::remove_file(&folder);
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::unix(&folder).unwrap()).unwrap();
        socket.listen(0).unwrap();
        UnixListener::from(socket)
    };
    let first = UnixStream::connect(&folder).unwrap();
    let address = Address::Unix(folder.clone());
    let waits = {
        let address = address.clone();
        move || connect(&address, Some(Instant::now() + Duration::from_millis(20))).unwrap_err().to_string()
    };
    let comes_in = move || {
        connect(&address, in_a_minute()).unwrap();
        "connected".to_owned()
    };
    let accepts = move || {
        // Long after the first of the two has given up.
        carrier::pause(Duration::from_millis(100));
        listener.accept().unwrap();
        drop(first);
        listener.set_nonblocking(true).unwrap();
        while listener.accept().is_err() {
            carrier::pause(Duration::from_millis(1));
        }
        String::new()
    };
    let bodies: Bodies<String> = vec![Box::new(waits), Box::new(comes_in), Box::new(accepts)];
    let found = carrier::carry(bodies, STACK);
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(found.unwrap(), [timed_out().to_string(), "connected".to_owned(), String::new()]);
}
