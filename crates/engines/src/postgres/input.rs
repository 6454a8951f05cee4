//! Cuts what the server sends into messages, in place in one buffer that is kept.

use std::io;

use super::transport::Transport;

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
            if let Some((tag, start, end)) = self.cut()? {
                return Ok((tag, &self.bytes[start..end]));
            }
            self.make_room();
            match transport.receive(&mut self.bytes[self.end..])? {
                0 => return Err(closed()),
                count => self.end += count,
            }
        }
    }

    /// The next message as far as it is here already; never waits.
    pub fn next_now(&mut self, transport: &mut Transport) -> io::Result<Option<(u8, &[u8])>> {
        let mut found = self.cut()?;
        if found.is_none() {
            self.make_room();
            match transport.receive_now(&mut self.bytes[self.end..])? {
                Some(0) => return Err(closed()),
                Some(count) => self.end += count,
                None => return Ok(None),
            }
            found = self.cut()?;
        }
        Ok(found.map(|(tag, start, end)| (tag, &self.bytes[start..end])))
    }

    /// Takes a whole message off the front: its type and where its body lies.
    #[inline]
    fn cut(&mut self) -> io::Result<Option<(u8, usize, usize)>> {
        let Some(&[tag, a, b, c, d]) = self.bytes[self.start..self.end].first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length < 4 || length > self.limit {
            return Err(garbage(&format!("a message of type {:?} and {length} bytes", char::from(tag))));
        }
        if self.end - self.start <= length {
            return Ok(None);
        }
        let body = self.start + 5;
        self.start += 1 + length;
        Ok(Some((tag, body, self.start)))
    }

    /// Makes space behind `end`. The buffer grows with the bytes that came, never by the length
    /// that a message claims.
    #[inline]
    fn make_room(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
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
