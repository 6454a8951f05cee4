//! Cuts what the server sends into messages, in place in one buffer that is kept.

use std::io;

use crate::net::transport::Transport;

/// Bytes of a fresh buffer: the reply of a short transaction fits many times over, and a thousand
/// connections cost 8 MB.
const FRESH: usize = 8 * 1024;

/// Longest message before the login is done, as libpq has it.
const LOGIN_LIMIT: usize = 30_000;

/// Longest message afterwards.
const LIMIT: usize = 256 * 1024 * 1024;

/// The reading side of a connection.
pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    limit: usize,
}

impl Input {
    /// An empty buffer for the login.
    pub fn new() -> Self {
        Self { bytes: vec![0; FRESH], start: 0, end: 0, limit: LOGIN_LIMIT }
    }

    /// Allows messages of the length that results may have.
    pub fn login_done(&mut self) {
        self.limit = LIMIT;
    }

    /// The next message, its type and its body, which lies in the buffer until the next call.
    #[inline]
    pub fn next(&mut self, transport: &mut Transport) -> io::Result<(u8, &[u8])> {
        loop {
            if let Some((tag, start, end)) = self.cut() {
                return Ok((tag, &self.bytes[start..end]));
            }
            self.receive(transport)?;
        }
    }

    /// The next message as far as it is here already; never waits.
    pub fn next_now(&mut self, transport: &mut Transport) -> io::Result<Option<(u8, &[u8])>> {
        let mut found = self.cut();
        if found.is_none() {
            self.make_room()?;
            match transport.receive_now(&mut self.bytes[self.end..])? {
                Some(0) => return Err(closed()),
                Some(count) => self.end += count,
                None => return Ok(None),
            }
            found = self.cut();
            if found.is_none() {
                self.check_header()?;
            }
        }
        Ok(found.map(|(tag, start, end)| (tag, &self.bytes[start..end])))
    }

    /// Takes a whole message of a length that may be off the front: its type and where its body lies.
    #[inline(always)]
    fn cut(&mut self) -> Option<(u8, usize, usize)> {
        let &[tag, a, b, c, d] = self.bytes.get(self.start..self.end)?.first_chunk()?;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=self.limit).contains(&length) || self.end - self.start <= length {
            return None;
        }
        let body = self.start + 5;
        self.start += 1 + length;
        Some((tag, body, self.start))
    }

    /// Waits for more bytes. An error when those that are here begin no message.
    #[inline(never)]
    fn receive(&mut self, transport: &mut Transport) -> io::Result<()> {
        self.make_room()?;
        match transport.receive(&mut self.bytes[self.end..])? {
            0 => Err(closed()),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }

    /// An error when the message at the front has a length that none may have.
    fn check_header(&self) -> io::Result<()> {
        let Some(&[tag, a, b, c, d]) = self.bytes[self.start..self.end].first_chunk() else { return Ok(()) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        match (4..=self.limit).contains(&length) {
            true => Ok(()),
            false => Err(garbage(&format!("a message of type {:?} and {length} bytes", char::from(tag)))),
        }
    }

    /// Makes space behind `end` for the rest of the message at the front. The buffer grows with the
    /// bytes that came, never by the length that a message claims.
    fn make_room(&mut self) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            return Ok(());
        }
        self.check_header()?;
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        Ok(())
    }
}

/// The error of a connection that ended where a message should be.
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
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
