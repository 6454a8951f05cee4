//! How a thread goes on after a transaction that failed: it opens lost connections again, and waits for a server that is
//! not itself.

use super::Runner;
use crate::clock::{Clock, Nanos};
use crate::error::{Error, ErrorKind, Result};
use crate::generator::Conduct;
use crate::patience::Patience;
use std::sync::atomic::Ordering;

/// A thread that fails this often in a row, for other reasons than collisions, ends the cycle.
const FAILURES_IN_A_ROW: u32 = 100;

impl<C: Clock> Runner<'_, C> {
    /// Makes the thread able to go on after `error`, or says why it cannot.
    pub(super) fn recover(&mut self, index: usize, seat: usize, error: &Error) -> Result<()> {
        match error.kind {
            kind if kind.is_retryable() || kind == ErrorKind::Timeout => return Ok(()),
            ErrorKind::Disconnected | ErrorKind::Unknown if !self.conduct.reconnect => {
                self.reopen(index, seat, error)?
            }
            ErrorKind::Syntax | ErrorKind::Configuration => return Err(error.clone()),
            ErrorKind::Setup | ErrorKind::Disconnected if self.refused.is_some() => return self.bide(error),
            ErrorKind::Statement if self.conduct.bears => return self.bear(error),
            ErrorKind::Statement if self.first_host.is_some() && self.engine.is_read_only(error.code.as_str()) => {
                return self.leave(index, seat, error);
            }
            _ => {}
        }
        self.failures_in_a_row += 1;
        if self.failures_in_a_row < FAILURES_IN_A_ROW {
            return Ok(());
        }
        let words = format!("{FAILURES_IN_A_ROW} transactions in a row failed; the last one: {}", error.words());
        Err(error.clone().wrapped("load", words))
    }

    /// Waits before the next transaction where the last one failed.
    fn bear(&mut self, error: &Error) -> Result<()> {
        let now = self.clock.now();
        let Conduct { patience, pause, .. } = *self.conduct;
        let next = self.failing.get_or_insert(Patience::new(now, patience, pause)).next(now);
        self.pause_until(next, || {
            let seconds = patience / 1_000_000_000;
            let words = format!("transactions failed for {seconds} s; the last one: {}", error.words());
            error.clone().wrapped("load", words)
        })
    }

    /// Waits until then, or for the end of the cycle; an error that is made where patience is over.
    fn pause_until(&self, next: Option<Nanos>, over: impl FnOnce() -> Error) -> Result<()> {
        let at = next.ok_or_else(over)?;
        self.clock.sleep_until(at.min(self.deadline), self.stop);
        Ok(())
    }

    /// Looks for the primary where a server takes no more writes.
    #[cold]
    fn leave(&mut self, index: usize, seat: usize, error: &Error) -> Result<()> {
        self.bear(error)?;
        match self.conduct.reconnect {
            true => Ok(()),
            false => self.reopen(index, seat, error),
        }
    }

    /// Opens a lost connection again, trying for as long as the conduct's patience.
    fn reopen(&mut self, index: usize, seat: usize, lost: &Error) -> Result<()> {
        let mut patience = Patience::new(self.clock.now(), self.conduct.patience, self.conduct.pause);
        loop {
            let error = match self.open(index, seat) {
                Ok(connection) => {
                    self.connections[index] = connection;
                    return Ok(());
                }
                Err(error) => error,
            };
            match patience.next(self.clock.now()) {
                Some(at) if !self.stop.load(Ordering::Relaxed) => self.clock.sleep_until(at, self.stop),
                _ => {
                    let words = format!("the connection was lost ({lost}) and could not be opened again ({error})");
                    return Err(Error::with(ErrorKind::Disconnected, "load", words));
                }
            }
        }
    }

    /// Waits before the next transaction opens its connection, where that of the last one was refused.
    ///
    /// A server that is gone would otherwise be asked as fast as it refuses, and each refusal be a failure.
    fn bide(&mut self, error: &Error) -> Result<()> {
        let now = self.clock.now();
        let next = self.refused.as_mut().and_then(|patience| patience.next(now));
        self.pause_until(next, || {
            let words = format!("the connection was lost and could not be opened again ({error})");
            Error::with(ErrorKind::Disconnected, "load", words)
        })
    }
}
