//! Packets: cut out of what the server sends, in place in one buffer that is kept, and put around
//! what goes to it. A packet has a length of three bytes and a number; a content of 16 MiB or more
//! comes as several packets, all but the last of the greatest length.

use std::io;
use std::ops::Range;

use super::fields::garbage;
use crate::net::inbox::Inbox;
use crate::net::transport::Transport;

/// Bytes before the content: three of length, one of number.
pub(super) const HEADER: usize = 4;

/// Longest content of a packet.
const LONGEST: usize = 0xff_ffff;

/// Most that a content may have; no row of a benchmark has a thousandth of it.
const LIMIT: usize = 256 << 20;

/// The same before the login is done: a server that sends more is not MySQL.
const LOGIN_LIMIT: usize = 64 * 1024;

/// First byte of an error, which a server may send out of turn when it ends a session.
const ERROR: u8 = 0xff;

/// The reading side of a connection.
pub(super) struct Input {
    inbox: Inbox,
    /// Number that the next packet must have.
    number: u8,
    limit: usize,
}

impl Input {
    /// An empty buffer for a connection on which the server speaks first.
    pub(super) fn new() -> Self {
        Self { inbox: Inbox::new(), number: 0, limit: LOGIN_LIMIT }
    }

    /// Allows contents of the length that results may have.
    pub(super) fn login_done(&mut self) {
        self.limit = LIMIT;
    }

    /// Says which number the server's next packet has. The answer to a command starts with 1.
    #[inline]
    pub(super) fn expect(&mut self, number: u8) {
        self.number = number;
    }

    /// The number after that of the last packet.
    pub(super) fn number(&self) -> u8 {
        self.number
    }

    /// True when there are unread bytes.
    pub(super) fn has_more(&self) -> bool {
        !self.inbox.here().is_empty()
    }

    /// The content of the next packet, which lies in the buffer until the next call.
    #[inline]
    pub(super) fn next(&mut self, transport: &mut Transport) -> io::Result<&[u8]> {
        loop {
            if let Some(content) = self.cut()? {
                return Ok(self.inbox.bytes(content));
            }
            self.inbox.receive(transport)?;
        }
    }

    /// The content of the next packet as far as it is here already; never waits.
    pub(super) fn next_now(&mut self, transport: &mut Transport) -> io::Result<Option<&[u8]>> {
        let mut found = self.cut()?;
        if found.is_none() {
            if !self.inbox.receive_now(transport)? {
                return Ok(None);
            }
            found = self.cut()?;
        }
        Ok(found.map(|content| self.inbox.bytes(content)))
    }

    /// Takes a whole packet off the front: where its content lies.
    #[inline]
    fn cut(&mut self) -> io::Result<Option<Range<usize>>> {
        let here = self.inbox.here();
        let Some((&[a, b, c, number], rest)) = here.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if rest.len() < length {
            return if length > self.limit { Err(garbage(&format!("a packet of {length} bytes"))) } else { Ok(None) };
        }
        if number != self.number && rest[..length].first() != Some(&ERROR) {
            return Err(garbage(&format!("packet number {number} where {} was due", self.number)));
        }
        if length == LONGEST {
            return self.join();
        }
        self.number = number.wrapping_add(1);
        self.inbox.take(HEADER);
        Ok(Some(self.inbox.take(length)))
    }

    /// Joins the packets of a long content; `None` while the last of them is not here.
    #[cold]
    fn join(&mut self) -> io::Result<Option<Range<usize>>> {
        let here = self.inbox.here_mut();
        let (mut at, mut number, mut total) = (0, self.number, 0);
        let mut parts = Vec::new();
        loop {
            let Some(&[a, b, c, found]) = here[at..].first_chunk() else { return Ok(None) };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            total += length;
            if found != number || total > self.limit {
                return Err(garbage("a long content that does not hang together"));
            }
            parts.push(at + HEADER..at + HEADER + length);
            at += HEADER + length;
            number = number.wrapping_add(1);
            if at > here.len() {
                return Ok(None);
            }
            if length < LONGEST {
                break;
            }
        }
        let mut end = HEADER;
        for part in parts {
            let length = part.len();
            here.copy_within(part, end);
            end += length;
        }
        self.number = number;
        let start = self.inbox.take(at).start;
        Ok(Some(start + HEADER..start + end))
    }
}

/// Empties `out` and leaves room for the header of a packet.
#[inline]
pub(super) fn open(out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; HEADER]);
}

/// Writes the header of the one packet in `out`, or of several when its content is long. Gives the
/// number after that of the last.
#[inline]
pub(super) fn close(out: &mut Vec<u8>, number: u8) -> u8 {
    let length = out.len() - HEADER;
    if length >= LONGEST {
        return split(out, number);
    }
    let [a, b, c, _] = (length as u32).to_le_bytes();
    out[..HEADER].copy_from_slice(&[a, b, c, number]);
    number.wrapping_add(1)
}

#[cold]
fn split(out: &mut Vec<u8>, mut number: u8) -> u8 {
    let content = out.split_off(HEADER);
    out.clear();
    let mut rest = &content[..];
    loop {
        let (part, after) = rest.split_at(rest.len().min(LONGEST));
        let [a, b, c, _] = (part.len() as u32).to_le_bytes();
        out.extend_from_slice(&[a, b, c, number]);
        out.extend_from_slice(part);
        number = number.wrapping_add(1);
        // A content that fills its last packet is followed by an empty one.
        if part.len() < LONGEST {
            return number;
        }
        rest = after;
    }
}

#[cfg(all(test, unix))]
#[path = "packet_tests.rs"]
mod tests;
