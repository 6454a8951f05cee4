//! What a server sent and was not read yet, in one buffer that is kept.

use std::io;
use std::ops::Range;

use super::transport::Transport;

/// Bytes of a fresh buffer: the answer to a short transaction fits many times over, and a thousand
/// connections cost 8 MB.
const FRESH: usize = 8 * 1024;

/// The buffer of one connection. It grows with the bytes that came, never by a length that a server claims.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An empty buffer.
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; FRESH], start: 0, end: 0 }
    }

    /// What was not taken yet.
    #[inline(always)]
    pub(crate) fn here(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The same, to be put in order.
    pub(crate) fn here_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Takes `count` of the bytes that are here; they stay at the place that this gives until more is received.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: usize) -> Range<usize> {
        let start = self.start;
        self.start += count;
        start..self.start
    }

    /// The bytes at a place that [`Inbox::take`] gave.
    #[inline(always)]
    pub(crate) fn bytes(&self, place: Range<usize>) -> &[u8] {
        &self.bytes[place]
    }

    /// Waits for more bytes.
    #[inline]
    pub(crate) fn receive(&mut self, transport: &mut Transport) -> io::Result<()> {
        let count = transport.receive(self.room())?;
        self.keep(count)
    }

    /// Takes in what has come, and never waits; false when that is nothing.
    pub(crate) fn receive_now(&mut self, transport: &mut Transport) -> io::Result<bool> {
        match transport.receive_now(self.room())? {
            Some(count) => self.keep(count).map(|()| true),
            None => Ok(false),
        }
    }

    #[inline]
    fn keep(&mut self, count: usize) -> io::Result<()> {
        self.end += count;
        match count {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            _ => Ok(()),
        }
    }

    /// Space behind what is here.
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        &mut self.bytes[self.end..]
    }
}

/// What a server sends that sends `bytes`, cut into pieces of `piece`, and then closes: all that `next` reads of
/// it up to the first error.
#[cfg(all(test, unix))]
pub(crate) fn read_all<T>(
    bytes: Vec<u8>,
    piece: usize,
    mut next: impl FnMut(&mut Transport) -> io::Result<T>,
) -> (Vec<T>, io::Error) {
    use std::io::Write;
    let (client, mut server) = std::os::unix::net::UnixStream::pair().unwrap();
    let sender = std::thread::spawn(move || {
        // The reader stops at the first error, before all is sent.
        let _ = bytes.chunks(piece).try_for_each(|part| server.write_all(part));
    });
    let mut transport = Transport::Plain(super::channel::Channel::from_socket(client.into()));
    let mut found = Vec::new();
    let error = loop {
        match next(&mut transport) {
            Ok(one) => found.push(one),
            Err(error) => break error,
        }
    };
    drop(transport);
    sender.join().unwrap();
    (found, error)
}
