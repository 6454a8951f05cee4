//! A unix socket whose reader waits as a server's does: it is woken by what it waits for, and by nothing else.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Waits in `poll`. A thread in `recv` on a unix socket is also woken when the other side reads what was sent, once for each
/// answer; no real server is, and the client's ceiling would be lower for it.
pub(crate) struct Polled(pub UnixStream);

impl Read for Polled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waits = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives during the call. What went wrong the read says.
        unsafe { libc::poll(&mut waits, 1, -1) };
        self.0.read(buffer)
    }
}

impl Write for Polled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
