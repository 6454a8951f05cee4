//! On which CPU the server's process runs that works for a connection.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use socket2::{Domain, Socket};

/// Where to look.
#[derive(Debug, Default)]
pub(crate) enum Whereabouts {
    /// Not asked yet.
    #[default]
    Untold,
    /// Not to be told, and why.
    Unknown(&'static str),
    /// The system knows which CPU sent what came last.
    Socket,
    /// What the system tells of the process, or of its thread.
    Process(File),
}

impl Whereabouts {
    /// For a connection by `socket`. Of a unix socket the system tells the process that listens: its child, or its
    /// thread, `worker` works for this connection.
    pub(crate) fn of(socket: &Socket, worker: Option<u32>) -> Self {
        match socket.domain() {
            Ok(Domain::UNIX) => {
                let process = listener(socket).zip(worker).and_then(|(listener, worker)| process(listener, worker));
                process.map_or(Self::Unknown("the server's process cannot be seen"), Self::Process)
            }
            _ if here(socket) => Self::Socket,
            _ => Self::Unknown("the server is on another machine"),
        }
    }

    /// The CPU, or why it cannot be told.
    pub(crate) fn cpu(&self, socket: &Socket) -> Result<usize, &'static str> {
        let cpu = match self {
            Self::Untold => None,
            Self::Unknown(why) => return Err(why),
            Self::Socket => option(socket, libc::SOL_SOCKET, libc::SO_INCOMING_CPU, -1_i32)
                .and_then(|cpu| usize::try_from(cpu).ok()),
            Self::Process(stat) => field(stat, CPU),
        };
        cpu.ok_or("the system does not tell where the server works")
    }
}

/// What the system tells of `worker`, a thread or a child of `listener`.
fn process(listener: u32, worker: u32) -> Option<File> {
    if let Ok(stat) = File::open(format!("/proc/{listener}/task/{worker}/stat")) {
        return Some(stat);
    }
    let stat = File::open(format!("/proc/{worker}/task/{worker}/stat")).ok()?;
    // Behind a proxy, or in another container, some other process has that number.
    (field(&stat, PARENT)? == listener as usize).then_some(stat)
}

/// Fields of `/proc/PID/stat` by proc(5), counted from the one behind the program's name.
const PARENT: usize = 4 - 3;
const CPU: usize = 39 - 3;

fn field(stat: &File, number: usize) -> Option<usize> {
    let mut text = [0; 1024];
    let count = stat.read_at(&mut text, 0).ok()?;
    // The name may hold blanks and parentheses.
    let behind = text[..count].iter().rposition(|byte| *byte == b')')?;
    let field = text[behind + 1..count].split(|byte| *byte == b' ').filter(|field| !field.is_empty()).nth(number)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Both ends have the same address, or are within this machine by what they are.
fn here(socket: &Socket) -> bool {
    let address = |end: std::io::Result<socket2::SockAddr>| end.ok()?.as_socket().map(|end: SocketAddr| end.ip());
    let (ours, theirs) = (address(socket.local_addr()), address(socket.peer_addr()));
    theirs.is_some_and(|theirs| theirs.is_loopback() || Some(theirs) == ours)
}

/// The process that listens at the other end of a unix socket.
fn listener(socket: &Socket) -> Option<u32> {
    let nobody = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let peer = option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, nobody)?;
    // 0 is one that cannot be seen from here.
    u32::try_from(peer.pid).ok().filter(|pid| *pid > 0)
}

fn option<T: Copy>(socket: &Socket, level: libc::c_int, name: libc::c_int, mut value: T) -> Option<T> {
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value has room for as many bytes as the size says.
    let done =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(&mut value).cast(), &mut size) };
    (done == 0).then_some(value)
}
