//! Where a server listens, and how a client connects to it in time.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use dsbench_core::carrier;
use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

use super::channel::{limited, patient, remaining, Channel};
#[cfg(target_os = "linux")]
use super::channel::{timed_out, until};

/// One place where the server may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// Path of a unix socket.
    Unix(PathBuf),
    /// Host name, port, and the address to use instead of looking the name up.
    Tcp(String, u16, Option<IpAddr>),
}

/// When a TCP connection that nothing comes over is given up; what is `None` is the system's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keepalive {
    /// Whether the system asks a silent server at all.
    pub(crate) probes: bool,
    /// Silence before the first question.
    pub(crate) idle: Option<Duration>,
    /// Time between two questions.
    pub(crate) interval: Option<Duration>,
    /// Questions without an answer.
    pub(crate) count: Option<u32>,
    /// How long what was sent may stay unacknowledged.
    pub(crate) unanswered: Option<Duration>,
}

impl Keepalive {
    /// Sets a connected socket so.
    pub(crate) fn set(&self, socket: &Socket) -> io::Result<()> {
        socket.set_keepalive(self.probes)?;
        let mut wanted = TcpKeepalive::new();
        if let Some(idle) = self.idle {
            wanted = wanted.with_time(idle);
        }
        #[cfg(target_os = "linux")]
        {
            if let Some(interval) = self.interval {
                wanted = wanted.with_interval(interval);
            }
            if let Some(count) = self.count {
                wanted = wanted.with_retries(count);
            }
            if self.unanswered.is_some() {
                socket.set_tcp_user_timeout(self.unanswered)?;
            }
        }
        let given = self.idle.is_some() || self.interval.is_some() || self.count.is_some();
        match self.probes && given {
            true => socket.set_tcp_keepalive(&wanted),
            false => Ok(()),
        }
    }
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
    let address = SockAddr::unix(path).map_err(|_| {
        let words = format!("its path has {} bytes, more than the system takes", path.as_os_str().len());
        io::Error::new(io::ErrorKind::InvalidInput, words)
    })?;
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

#[cfg(all(test, target_os = "linux"))]
#[path = "socket_tests.rs"]
mod tests;
