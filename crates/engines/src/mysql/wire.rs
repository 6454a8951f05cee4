//! One flight out, its answer back: what every verb of a connection is made of.

use std::io;

use dsbench_core::error::{Error, ErrorKind, Result};

use super::answer::{First, Stop};
use super::fields::garbage;
use super::packet::{self, Input};
use super::reply::{Complaint, Done, Skip, Take, END, ERROR, IN_TRANSACTION, MORE_RESULTS};
use crate::net::transport::Transport;
use crate::net::RowError;

/// Room for flights that a fresh connection has.
const FRESH: usize = 512;

/// A content of this length or more is a row, even when it begins like an end.
const LONGEST_END: usize = 0xff_ffff;

/// Command that carries SQL as text.
pub(super) const QUERY: u8 = 0x03;
/// Packet that ends the session.
const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// Number of the error by which the server ends a whole transaction.
const DEADLOCK: u16 = 1213;

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    Open,
    /// A statement of the open transaction failed so that all of it must be repeated. The server may
    /// have rolled it back already, and would then run the next statement outside of it.
    Doomed,
    /// A call outside of transactions failed, and a procedure may have left one open.
    Unsettled,
    /// The connection is lost or out of step.
    Broken,
}

/// A connection that has logged in.
pub(super) struct Wire {
    /// The bytes below.
    pub(super) transport: Transport,
    /// What came and was not read yet.
    pub(super) input: Input,
    /// The flight that is being built.
    pub(super) output: Vec<u8>,
    /// Where the session stands.
    pub(super) state: State,
    /// The server leaves out columns that it has described before (MariaDB's CACHE_METADATA).
    caches_columns: bool,
}

impl Wire {
    /// Starts with what the login left.
    pub(super) fn new(transport: Transport, input: Input, caches_columns: bool) -> Self {
        Self { transport, input, output: Vec::with_capacity(FRESH), state: State::Idle, caches_columns }
    }

    /// The kind of error when the connection is lost while the server works: outside a transaction a
    /// statement commits itself, so that its end is unknown.
    #[inline]
    pub(super) fn loss(&self) -> ErrorKind {
        match self.state {
            State::Idle => ErrorKind::Unknown,
            _ => ErrorKind::Disconnected,
        }
    }

    /// Makes sure that a statement may be sent now.
    #[inline]
    pub(super) fn ready(&mut self, context: &'static str) -> Result<()> {
        match self.state {
            State::Idle | State::Open => Ok(()),
            _ => self.make_ready(context),
        }
    }

    #[cold]
    fn make_ready(&mut self, context: &'static str) -> Result<()> {
        match self.state {
            State::Unsettled => self.text("ROLLBACK", context, ErrorKind::Disconnected, &mut Skip).map(|_| ()),
            State::Doomed => {
                let message = "an earlier statement ended the transaction; it takes nothing but a rollback";
                Err(Error::with(ErrorKind::Statement, context, message))
            }
            _ => Err(lost_before(context)),
        }
    }

    /// Sends SQL as text and takes its answer, whatever the state.
    pub(super) fn text(
        &mut self,
        sql: &str,
        context: &'static str,
        loss: ErrorKind,
        take: &mut impl Take,
    ) -> Result<Done> {
        packet::open(&mut self.output);
        self.output.push(QUERY);
        self.output.extend_from_slice(sql.as_bytes());
        self.send(context)?;
        self.complete(context, loss, take)
    }

    /// Sends the command in `output`, whose answer comes next. An error is `Disconnected`: a command
    /// that did not leave whole was not carried out.
    #[inline]
    pub(super) fn send(&mut self, context: &'static str) -> Result<()> {
        if self.state == State::Broken {
            return Err(lost_before(context));
        }
        let next = packet::close(&mut self.output, 0);
        self.input.expect(next);
        match self.transport.send(&self.output) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.last_words(error, context)),
        }
    }

    /// Reads the answer to the end; a lost connection is an error of kind `loss`.
    #[inline]
    pub(super) fn complete(&mut self, context: &'static str, loss: ErrorKind, take: &mut impl Take) -> Result<Done> {
        let mut failure = None;
        match self.results(take, &mut failure) {
            Ok(done) => {
                self.state = if done.status & IN_TRANSACTION == 0 { State::Idle } else { State::Open };
                failure.map_or(Ok(done), Err)
            }
            Err(stop) => Err(self.stopped(stop, context, loss)),
        }
    }

    /// Reads the first packet of an answer for those who expect something special.
    pub(super) fn first(&mut self, context: &'static str, loss: ErrorKind) -> Result<First> {
        let content = self.input.next(&mut self.transport);
        let first = content.map_err(Stop::Lost).and_then(|content| First::read(content, self.caches_columns));
        first.map_err(|stop| self.stopped(stop, context, loss))
    }

    /// Reads all results. What is wrong with a row goes to `failure`, and reading goes on.
    #[inline]
    fn results(&mut self, take: &mut impl Take, failure: &mut Option<Error>) -> std::result::Result<Done, Stop> {
        let (mut done, mut taken) = self.result(take, failure)?;
        while done.status & MORE_RESULTS != 0 {
            let (next, rows) = if taken { self.result(&mut Skip, failure) } else { self.result(take, failure) }?;
            (done, taken) = (next, taken || rows);
        }
        Ok(done)
    }

    /// Reads one result, and whether it is one with rows.
    #[inline]
    fn result(&mut self, take: &mut impl Take, failure: &mut Option<Error>) -> std::result::Result<(Done, bool), Stop> {
        match First::read(self.input.next(&mut self.transport)?, self.caches_columns)? {
            First::Done(done) => Ok((done, false)),
            First::Rows { count, described } => {
                keep(take.begin(count, described), failure)?;
                for _ in 0..if described { count } else { 0 } {
                    keep(take.column(self.input.next(&mut self.transport)?), failure)?;
                }
                self.rows(take, failure).map(|done| (done, true))
            }
            First::LocalFile => {
                // An empty packet is an empty file.
                let number = self.input.number();
                self.transport.send(&[0, 0, 0, number])?;
                self.input.expect(number.wrapping_add(1));
                let message = "the server asked for a local file; dsbench sends none but the rows of a bulk load";
                failure.get_or_insert(Error::with(ErrorKind::Statement, "execute", message));
                match First::read(self.input.next(&mut self.transport)?, false)? {
                    First::Done(done) => Ok((done, false)),
                    _ => Err(garbage("rows in place of a local file").into()),
                }
            }
        }
    }

    #[inline]
    fn rows(&mut self, take: &mut impl Take, failure: &mut Option<Error>) -> std::result::Result<Done, Stop> {
        loop {
            let content = self.input.next(&mut self.transport)?;
            match *content {
                [END, ref rest @ ..] if content.len() < LONGEST_END => return Ok(Done::read(rest)?),
                [ERROR, ref rest @ ..] => return Err(Stop::refused(rest)),
                // After a row that could not be read the others only have to be passed.
                _ if failure.is_none() => keep(take.row(content), failure)?,
                _ => {}
            }
        }
    }

    /// What an answer that ended early means for the session.
    #[cold]
    pub(super) fn stopped(&mut self, stop: Stop, context: &'static str, loss: ErrorKind) -> Error {
        let (number, error) = match stop {
            Stop::Lost(error) => return self.lose(error, loss, context),
            Stop::Refused(number, error) => (number, Error { context, ..error }),
        };
        if error.kind == ErrorKind::Disconnected {
            self.state = State::Broken;
            return Error { kind: loss, ..error };
        }
        self.state = match self.state {
            State::Open if error.kind.is_retryable() => State::Doomed,
            State::Idle if number != DEADLOCK => State::Unsettled,
            state => state,
        };
        error
    }

    /// The open transaction must not be committed.
    pub(super) fn doom(&mut self) {
        if self.state == State::Open {
            self.state = State::Doomed;
        }
    }

    /// The connection is gone or out of step: nothing works on it from here.
    #[cold]
    pub(super) fn lose(&mut self, error: io::Error, kind: ErrorKind, context: &'static str) -> Error {
        self.state = State::Broken;
        Error::with(kind, context, error.to_string())
    }

    /// A flight could not be sent. The server may have said why before it closed the connection.
    #[cold]
    fn last_words(&mut self, error: io::Error, context: &'static str) -> Error {
        self.state = State::Broken;
        if let Ok(Some([ERROR, rest @ ..])) = self.input.next_now(&mut self.transport) {
            if let Ok(complaint) = Complaint::read(rest) {
                return complaint.error_of_kind(ErrorKind::Disconnected, context);
            }
        }
        Error::with(ErrorKind::Disconnected, context, error.to_string())
    }
}

/// Keeps the first thing that is wrong with rows; a damaged packet stops the answer.
#[inline]
fn keep(taken: std::result::Result<(), RowError>, failure: &mut Option<Error>) -> std::result::Result<(), Stop> {
    match taken {
        Ok(()) => Ok(()),
        Err(RowError::Protocol(error)) => Err(Stop::Lost(error)),
        Err(RowError::Statement(error)) => {
            failure.get_or_insert(error);
            Ok(())
        }
    }
}

#[cold]
fn lost_before(context: &'static str) -> Error {
    Error::with(ErrorKind::Disconnected, context, "the connection was lost before")
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.state != State::Broken {
            self.transport.farewell(QUIT);
        }
    }
}
