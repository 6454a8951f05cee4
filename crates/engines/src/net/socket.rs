//! Where a server listens, and a connected socket to it with a deadline while the login runs.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use dsbench_core::{
    carrier,
    clock::{Monotonic, Nanos},
};
use socket2::{Domain, SockAddr, Socket, Type};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

/// One place where the server may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// Path of a unix socket.
    Unix(PathBuf),
    /// Host name, port, and the address to use instead of looking the name up.
    Tcp(String, u16, Option<IpAddr>),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix socket {}", path.display()),
            Self::Tcp(host, port, _) => write!(f, "{host}:{port}"),
        }
    }
}

/// Connects to `address` before `deadline`.
pub(crate) fn connect(address: &Address, deadline: Option<Instant>) -> io::Result<Channel> {
    let socket = match address {
        Address::Unix(path) => connect_unix(path, deadline)?,
        Address::Tcp(host, port, known) => connect_tcp(host, *port, *known, deadline)?,
    };
    #[cfg(target_vendor = "apple")]
    socket.set_nosigpipe(true)?;
    Ok(Channel::new(socket, deadline))
}

fn connect_unix(path: &std::path::Path, deadline: Option<Instant>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full backlog blocks a connect of a unix socket for as long as a send may block.
    socket.set_write_timeout(remaining(deadline)?)?;
    let address = SockAddr::unix(path)?;
    #[cfg(target_os = "linux")]
    if carrier::carried() {
        return connect_carried(&socket, &address, deadline).map(|()| socket);
    }
    patient(|| socket.connect(&address)).map_err(limited)?;
    Ok(socket)
}

fn connect_tcp(host: &str, port: u16, known: Option<IpAddr>, deadline: Option<Instant>) -> io::Result<Socket> {
    let found: Vec<SocketAddr> = match known {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => addresses_of(host, port, deadline)?,
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in found {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        match connect_internet(&socket, &address.into(), deadline) {
            Ok(()) => {
                socket.set_tcp_nodelay(true)?;
                socket.set_keepalive(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Looks `host` up. The system does that without a time limit and blocks the thread that asks: where clients
/// share one, another thread asks.
fn addresses_of(host: &str, port: u16, deadline: Option<Instant>) -> io::Result<Vec<SocketAddr>> {
    #[cfg(target_os = "linux")]
    if carrier::carried() && host.parse::<IpAddr>().is_err() {
        return looked_up_aside(host.to_string(), port, deadline);
    }
    _ = deadline;
    Ok((host, port).to_socket_addrs()?.collect())
}

#[cfg(target_os = "linux")]
fn looked_up_aside(host: String, port: u16, deadline: Option<Instant>) -> io::Result<Vec<SocketAddr>> {
    const LOOK: Duration = Duration::from_millis(1);
    let asking = move || (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
    let asked = std::thread::Builder::new().name("lookup".to_string()).spawn(asking)?;
    while !asked.is_finished() {
        // Past the deadline the thread is left alone: nothing can end the system's lookup.
        remaining(deadline)?;
        carrier::pause(LOOK);
    }
    asked.join().unwrap_or_else(|_| Err(io::Error::other("the lookup of the host name panicked")))
}

fn connect_internet(socket: &Socket, address: &SockAddr, deadline: Option<Instant>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if carrier::carried() {
        return connect_carried(socket, address, deadline);
    }
    socket.connect_timeout(address, remaining(deadline)?.unwrap_or(Duration::from_secs(86_400)))
}

/// Connects as a client on a carrier: others connect, or go on, while the server's answer is on its way.
#[cfg(target_os = "linux")]
fn connect_carried(socket: &Socket, address: &SockAddr, deadline: Option<Instant>) -> io::Result<()> {
    const BACKLOG_FULL: Duration = Duration::from_millis(1);
    socket.set_nonblocking(true)?;
    loop {
        match socket.connect(address) {
            // A unix socket does not tell when its backlog has room again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                remaining(deadline)?;
                carrier::pause(BACKLOG_FULL);
            }
            Err(error) if [Some(libc::EINPROGRESS), Some(libc::EINTR)].contains(&error.raw_os_error()) => break,
            done => return done.and_then(|()| socket.set_nonblocking(false)),
        }
    }
    if !carrier::Watch::default().writable(socket.as_raw_fd(), until(deadline)?)? {
        return Err(timed_out());
    }
    socket.take_error()?.map_or(Ok(()), Err)?;
    socket.set_nonblocking(false)
}

/// A deadline on the carrier's clock; an error when it has passed.
#[cfg(target_os = "linux")]
fn until(deadline: Option<Instant>) -> io::Result<Option<Nanos>> {
    Ok(remaining(deadline)?.map(|left| Monotonic.now() + left.as_nanos() as Nanos))
}

/// Time left until `deadline`; an error when there is none left.
fn remaining(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(timed_out()),
        left => Ok(Some(left)),
    }
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "connect_timeout has passed")
}

/// A call that ended at its time limit says that it would block.
fn limited(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => timed_out(),
        _ => error,
    }
}

/// Repeats a call that a signal ended: handlers of the process that we live in are not our business.
#[inline]
fn patient<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A connected socket. While it has a deadline, no read or write outlasts it.
#[derive(Debug)]
pub(crate) struct Channel {
    #[cfg(target_os = "linux")]
    watch: carrier::Watch,
    socket: Socket,
    deadline: Option<Instant>,
    /// Reads and writes return instead of waiting.
    nonblocking: Cell<bool>,
    /// A unix socket, whose reader is to wait by `poll`: see [`Channel::await_bytes`].
    #[cfg(target_os = "linux")]
    unix: bool,
}

impl Channel {
    fn new(socket: Socket, deadline: Option<Instant>) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            watch: carrier::Watch::default(),
            #[cfg(target_os = "linux")]
            unix: socket.local_addr().is_ok_and(|at| at.is_unix()),
            socket,
            deadline,
            nonblocking: Cell::new(false),
        }
    }

    /// A channel over a socket that is connected already.
    #[cfg(test)]
    pub(crate) fn from_socket(socket: Socket) -> Self {
        Self::new(socket, None)
    }

    /// Ends the time limit: from now on a read waits as long as the server takes.
    pub(crate) fn lift_deadline(&mut self) -> io::Result<()> {
        if self.deadline.take().is_some() {
            self.socket.set_read_timeout(None)?;
            self.socket.set_write_timeout(None)?;
        }
        Ok(())
    }

    /// Makes reads and writes return instead of waiting, or wait again.
    pub(crate) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.nonblocking.set(nonblocking);
        self.socket.set_nonblocking(nonblocking)
    }

    /// Reads as a client on a carrier: the thread goes on with other clients until something comes.
    #[cfg(target_os = "linux")]
    fn read_carried(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let until = until(self.deadline)?;
        loop {
            if !self.watch.readable(self.socket.as_raw_fd(), until)? {
                return Err(timed_out());
            }
            // SAFETY: the buffer is writable for its length.
            let count = unsafe {
                libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
            };
            if count >= 0 {
                // A read that did not fill the buffer left nothing behind.
                if count < buffer.len() as isize {
                    self.watch.drained();
                }
                return Ok(count as usize);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => self.watch.blocked(),
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
    }

    /// Writes as a client on a carrier: where the server does not take more, it may be because it waits
    /// for a lock that another client of this thread has.
    #[cfg(target_os = "linux")]
    fn write_carried(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match patient(|| self.socket.send_with_flags(bytes, SEND_FLAGS | libc::MSG_DONTWAIT)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if !self.watch.writable(self.socket.as_raw_fd(), until(self.deadline)?)? {
                return Err(timed_out());
            }
        }
    }

    /// Waits until there is something to read, or the end.
    ///
    /// A thread that waits in `recv` on a unix socket is also woken when the other side reads what was sent, as there is
    /// room to write again. It would wake once in vain for each transaction, and on another CPU than its server, which
    /// works at that moment. `poll` is woken by what it asks for alone.
    #[cfg(target_os = "linux")]
    fn await_bytes(&self) -> io::Result<()> {
        let mut waits = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call.
        patient(|| match unsafe { libc::poll(&mut waits, 1, -1) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        })
    }

    /// The socket itself.
    #[cfg(target_os = "linux")]
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A second handle on the same socket, for another thread.
    pub(crate) fn duplicate(&self) -> io::Result<Socket> {
        self.socket.try_clone()
    }
}

/// No signal when the server is gone, whatever the process does with SIGPIPE.
#[cfg(all(unix, not(target_vendor = "apple")))]
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
const SEND_FLAGS: i32 = 0;

impl Read for Channel {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if carrier::carried() && !self.nonblocking.get() {
            return self.read_carried(buffer);
        }
        if self.deadline.is_some() {
            return patient(|| {
                self.socket.set_read_timeout(remaining(self.deadline)?)?;
                (&self.socket).read(buffer).map_err(limited)
            });
        }
        #[cfg(target_os = "linux")]
        if self.unix && !self.nonblocking.get() {
            self.await_bytes()?;
        }
        patient(|| (&self.socket).read(buffer))
    }
}

impl Write for Channel {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if carrier::carried() && !self.nonblocking.get() {
            return self.write_carried(bytes);
        }
        // During the login messages are far smaller than a send buffer, so that a limit for reads will do.
        patient(|| self.socket.send_with_flags(bytes, SEND_FLAGS))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "socket_tests.rs"]
mod tests;
