//! A connected socket that reads and writes as its client waits: on a carrier, or with a thread to itself.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use dsbench_core::engine::Messages;
#[cfg(target_os = "linux")]
use dsbench_core::{
    carrier,
    clock::{Monotonic, Nanos},
};
use socket2::Socket;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// A connected socket. While it has a deadline, no read or write outlasts it.
#[derive(Debug)]
pub(crate) struct Channel {
    #[cfg(target_os = "linux")]
    watch: carrier::Watch,
    /// Its number, so that nothing else has to be read of the socket on a carrier.
    #[cfg(target_os = "linux")]
    number: RawFd,
    /// Shared with who ends what the client waits for: a thousand sessions have a thousand descriptors.
    socket: Arc<Socket>,
    deadline: Option<Instant>,
    messages: Messages,
    /// Reads and writes return instead of waiting.
    nonblocking: Cell<bool>,
    /// A unix socket, whose reader is to wait by `poll`: see [`Channel::await_bytes`].
    #[cfg(target_os = "linux")]
    unix: bool,
}

impl Channel {
    pub(super) fn new(socket: Socket, deadline: Option<Instant>) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            watch: carrier::Watch::default(),
            #[cfg(target_os = "linux")]
            unix: socket.local_addr().is_ok_and(|at| at.is_unix()),
            #[cfg(target_os = "linux")]
            number: socket.as_raw_fd(),
            socket: Arc::new(socket),
            deadline,
            messages: Messages::default(),
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
            if !self.watch.readable(self.number, until)? {
                return Err(timed_out());
            }
            // SAFETY: the buffer is writable for its length.
            let count =
                unsafe { libc::recv(self.number, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
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
        let send = || {
            let flags = SEND_FLAGS | libc::MSG_DONTWAIT;
            // SAFETY: the bytes can be read for their length.
            match unsafe { libc::send(self.number, bytes.as_ptr().cast(), bytes.len(), flags) } {
                ..=-1 => Err(io::Error::last_os_error()),
                count => Ok(count as usize),
            }
        };
        loop {
            match patient(send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if !self.watch.writable(self.number, until(self.deadline)?)? {
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
        let mut waits = libc::pollfd { fd: self.number, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call.
        patient(|| match unsafe { libc::poll(&mut waits, 1, -1) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        })
    }

    /// The socket itself.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The sends and receives that moved bytes.
    pub(crate) fn messages(&self) -> Messages {
        self.messages
    }

    /// The socket for another thread as well: it is closed when neither has it.
    pub(crate) fn share(&self) -> Arc<Socket> {
        Arc::clone(&self.socket)
    }
}

/// No signal when the server is gone, whatever the process does with SIGPIPE.
#[cfg(all(unix, not(target_vendor = "apple")))]
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
const SEND_FLAGS: i32 = 0;

impl Channel {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if carrier::carried() && !self.nonblocking.get() {
            return self.read_carried(buffer);
        }
        if self.deadline.is_some() {
            return patient(|| {
                self.socket.set_read_timeout(remaining(self.deadline)?)?;
                (&*self.socket).read(buffer).map_err(limited)
            });
        }
        #[cfg(target_os = "linux")]
        if self.unix && !self.nonblocking.get() {
            self.await_bytes()?;
        }
        patient(|| (&*self.socket).read(buffer))
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if carrier::carried() && !self.nonblocking.get() {
            return self.write_carried(bytes);
        }
        // During the login messages are far smaller than a send buffer, so that a limit for reads will do.
        patient(|| self.socket.send_with_flags(bytes, SEND_FLAGS))
    }
}

impl Read for Channel {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.receive(buffer)?;
        self.messages.received += u64::from(count > 0);
        Ok(count)
    }
}

impl Write for Channel {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.send(bytes)?;
        self.messages.sent += u64::from(count > 0);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A deadline on the carrier's clock; an error when it has passed.
#[cfg(target_os = "linux")]
pub(super) fn until(deadline: Option<Instant>) -> io::Result<Option<Nanos>> {
    Ok(remaining(deadline)?.map(|left| Monotonic.now() + left.as_nanos() as Nanos))
}

/// Time left until `deadline`; an error when there is none left.
pub(super) fn remaining(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(timed_out()),
        left => Ok(Some(left)),
    }
}

pub(super) fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "connect_timeout has passed")
}

/// A call that ended at its time limit says that it would block.
pub(super) fn limited(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => timed_out(),
        _ => error,
    }
}

/// Repeats a call that a signal ended: handlers of the process that we live in are not our business.
#[inline]
pub(super) fn patient<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "channel_tests.rs"]
mod tests;
