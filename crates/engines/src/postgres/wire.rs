//! One flight out, its replies back: what every verb of a connection is made of.

use std::io;

use dsbench_core::error::{Error, ErrorKind, Result};

use super::input::{garbage, Input};
use super::reply::Complaint;
use crate::net::transport::Transport;
use crate::net::RowError;

/// Status of a session in which no transaction is open; the others are `T`, open, and `E`, failed.
pub const IDLE: u8 = b'I';

/// Status of a session that wants a transaction, of which the server has not heard yet.
pub const BEGUN: u8 = b'B';

/// CopyFail and Sync.
const COPY_FAIL: &[u8] = b"f\0\0\0\x0cno rows\0S\0\0\0\x04";

/// Room for flights that a fresh connection has.
const FRESH: usize = 512;

/// A connection that has logged in.
pub struct Wire {
    /// The bytes below.
    pub transport: Transport,
    /// What came and was not read yet.
    pub input: Input,
    /// The flight that is being built.
    pub output: Vec<u8>,
    /// Status of the session at the end of the last flight.
    pub status: u8,
    broken: bool,
}

impl Wire {
    /// Starts with what the login left.
    pub fn new(transport: Transport, input: Input, status: u8) -> Self {
        Self { transport, input, output: Vec::with_capacity(FRESH), status, broken: false }
    }

    /// The kind of error when the connection is lost while the server works: outside a transaction a
    /// statement commits itself, so that its end is unknown.
    #[inline]
    pub fn loss(&self) -> ErrorKind {
        if self.status == IDLE {
            ErrorKind::Unknown
        } else {
            ErrorKind::Disconnected
        }
    }

    /// Error `Disconnected` when the connection was lost before.
    #[inline]
    pub fn alive(&self, context: &'static str) -> Result<()> {
        if self.broken {
            return Err(Error::with(ErrorKind::Disconnected, context, "the connection was lost before"));
        }
        Ok(())
    }

    /// Sends the flight in `output`. An error is `Disconnected`: a flight that did not leave whole
    /// was not carried out.
    #[inline]
    pub fn send(&mut self, context: &'static str) -> Result<()> {
        self.alive(context)?;
        match self.transport.send(&self.output) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.last_words(error, context)),
        }
    }

    /// Sends bytes that are a whole flight already.
    #[inline]
    pub fn send_constant(&mut self, flight: &[u8], context: &'static str) -> Result<()> {
        self.output.clear();
        self.output.extend_from_slice(flight);
        self.send(context)
    }

    /// Reads replies until the server is ready for the next flight, and gives all but errors and
    /// notices to `take`. The first error counts; a lost connection is an error of kind `loss`.
    #[inline]
    pub fn complete(
        &mut self,
        context: &'static str,
        loss: ErrorKind,
        mut take: impl FnMut(u8, &[u8]) -> std::result::Result<(), RowError>,
    ) -> Result<()> {
        let mut failure = None;
        loop {
            let (tag, body) = match self.input.next(&mut self.transport) {
                Ok(message) => message,
                Err(error) => return Err(self.lose(error, loss, context)),
            };
            match tag {
                // After a row that could not be read the others only have to be passed.
                b'D' if failure.is_some() => {}
                b'1' | b'2' | b'3' | b'C' | b'D' | b'H' | b'I' | b'T' | b'c' | b'd' | b'n' | b's' | b't' => {
                    match take(tag, body) {
                        Ok(()) => {}
                        Err(RowError::Statement(error)) => {
                            failure.get_or_insert(error);
                        }
                        Err(RowError::Protocol(error)) => return Err(self.lose(error, loss, context)),
                    }
                }
                b'Z' => match *body {
                    [status @ (b'I' | b'T' | b'E')] => {
                        self.status = status;
                        return failure.map_or(Ok(()), Err);
                    }
                    _ => return Err(self.lose(garbage("an unknown transaction status"), loss, context)),
                },
                b'E' => {
                    let complaint = Complaint::read(body);
                    if complaint.is_fatal() {
                        self.broken = true;
                        return Err(complaint.error_of_kind(loss, context));
                    }
                    failure.get_or_insert(complaint.error(context));
                }
                b'N' | b'S' | b'A' => {}
                b'G' => {
                    let message = "COPY … FROM STDIN takes its rows from a bulk load only";
                    failure.get_or_insert(Error::with(ErrorKind::Statement, context, message));
                    // The Sync of an extended flight is skipped while the server waits for rows.
                    let simple = self.output.first() == Some(&b'Q');
                    let refusal = &COPY_FAIL[..if simple { COPY_FAIL.len() - 5 } else { COPY_FAIL.len() }];
                    if let Err(error) = self.transport.send(refusal) {
                        return Err(self.lose(error, loss, context));
                    }
                }
                other => {
                    let what = format!("a message of the unknown type {:?}", char::from(other));
                    return Err(self.lose(garbage(&what), loss, context));
                }
            }
        }
    }

    /// The connection is gone or out of step: nothing works on it from here.
    #[cold]
    pub fn lose(&mut self, error: io::Error, kind: ErrorKind, context: &'static str) -> Error {
        self.broken = true;
        Error::with(kind, context, error.to_string())
    }

    /// Nothing works on the connection from here; gives `error` back.
    #[cold]
    pub fn broken(&mut self, error: Error) -> Error {
        self.broken = true;
        error
    }

    /// A flight could not be sent. The server may have said why before it closed the connection.
    #[cold]
    fn last_words(&mut self, error: io::Error, context: &'static str) -> Error {
        while let Ok(Some((tag, body))) = self.input.next_now(&mut self.transport) {
            if tag == b'E' {
                self.broken = true;
                return Complaint::read(body).error_of_kind(ErrorKind::Disconnected, context);
            }
        }
        self.lose(error, ErrorKind::Disconnected, context)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if !self.broken {
            self.transport.farewell(b"X\0\0\0\x04");
        }
    }
}
