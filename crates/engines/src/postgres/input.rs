//! Cuts what the server sends into messages, in place in one buffer that is kept.

use std::io;
use std::ops::Range;

use crate::net::inbox::Inbox;
use crate::net::transport::Transport;

/// Longest message before the login is done, as libpq has it.
const LOGIN_LIMIT: usize = 30_000;

/// Longest message afterwards.
const LIMIT: usize = 256 * 1024 * 1024;

/// The reading side of a connection.
pub struct Input {
    inbox: Inbox,
    limit: usize,
}

impl Input {
    /// An empty buffer for the login.
    pub fn new() -> Self {
        Self { inbox: Inbox::new(), limit: LOGIN_LIMIT }
    }

    /// Allows messages of the length that results may have.
    pub fn login_done(&mut self) {
        self.limit = LIMIT;
    }

    /// The next message, its type and its body, which lies in the buffer until the next call.
    #[inline]
    pub fn next(&mut self, transport: &mut Transport) -> io::Result<(u8, &[u8])> {
        loop {
            if let Some((tag, body)) = self.cut() {
                return Ok((tag, self.inbox.bytes(body)));
            }
            self.receive(transport)?;
        }
    }

    /// The next message as far as it is here already; never waits.
    pub fn next_now(&mut self, transport: &mut Transport) -> io::Result<Option<(u8, &[u8])>> {
        let mut found = self.cut();
        if found.is_none() {
            self.check_header()?;
            if !self.inbox.receive_now(transport)? {
                return Ok(None);
            }
            found = self.cut();
            if found.is_none() {
                self.check_header()?;
            }
        }
        Ok(found.map(|(tag, body)| (tag, self.inbox.bytes(body))))
    }

    /// Takes a whole message of a length that may be off the front: its type and where its body lies.
    #[inline(always)]
    fn cut(&mut self) -> Option<(u8, Range<usize>)> {
        let here = self.inbox.here();
        let &[tag, a, b, c, d] = here.first_chunk()?;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=self.limit).contains(&length) || here.len() <= length {
            return None;
        }
        self.inbox.take(5);
        Some((tag, self.inbox.take(length - 4)))
    }

    /// Waits for more bytes. An error when those that are here begin no message.
    #[inline(never)]
    fn receive(&mut self, transport: &mut Transport) -> io::Result<()> {
        self.check_header()?;
        self.inbox.receive(transport)
    }

    /// An error when the message at the front has a length that none may have.
    fn check_header(&self) -> io::Result<()> {
        let Some(&[tag, a, b, c, d]) = self.inbox.here().first_chunk() else { return Ok(()) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        match (4..=self.limit).contains(&length) {
            true => Ok(()),
            false => Err(garbage(&format!("a message of type {:?} and {length} bytes", char::from(tag)))),
        }
    }
}

/// The error of a server that does not speak the protocol.
#[cold]
pub fn garbage(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the server does not speak PostgreSQL's protocol: it sent {what}"),
    )
}

#[cfg(all(test, unix))]
#[path = "input_tests.rs"]
mod tests;
