//! Pipelines: flights that are put together until a point of synchronisation.

use dsbench_core::engine::{Piped, Pipeline};
use dsbench_core::error::{Error, ErrorKind, Result};

use super::connection::{PostgresConnection, BEGIN};
use super::known::Known;
use super::statement::SYNC;
use super::wire::BEGUN;
use crate::misuse::unknown;

/// Parse, Bind and Execute.
const COMMIT: &[u8] = b"P\0\0\0\x0e\0COMMIT\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0";
const ROLLBACK: &[u8] = b"P\0\0\0\x10\0ROLLBACK\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0";
const CONTEXT: &str = "pipeline";

/// What a pipeline has sent and will send. Its room is kept.
#[derive(Debug, Default)]
pub struct Piping {
    waiting: Vec<u8>,
    /// Points of synchronisation that were sent and not answered.
    syncs: u32,
}

impl PostgresConnection {
    /// Puts a BEGIN that was not sent yet in front.
    fn opened(&mut self) {
        if self.wire.status == BEGUN {
            self.piped.waiting.extend_from_slice(BEGIN);
            self.wire.status = b'T';
        }
    }

    /// Reads the answers up to the last point of synchronisation; the first error counts.
    fn answers(&mut self) -> Result<()> {
        let mut done = Ok(());
        for _ in 0..std::mem::take(&mut self.piped.syncs) {
            let answered = self.wire.alive(CONTEXT);
            let answered = answered.and_then(|()| self.wire.complete(CONTEXT, ErrorKind::Unknown, |_, _| Ok(())));
            done = done.and(answered);
        }
        done
    }
}

impl Pipeline for PostgresConnection {
    fn add(&mut self, what: Piped<'_>) -> Result<()> {
        self.wire.alive(CONTEXT)?;
        self.opened();
        match what {
            Piped::Begin => self.piped.waiting.extend_from_slice(BEGIN),
            Piped::Commit => self.piped.waiting.extend_from_slice(COMMIT),
            Piped::Rollback => self.piped.waiting.extend_from_slice(ROLLBACK),
            Piped::Statement(id, params) => match self.statements.get(id.0 as usize).map(|known| &**known) {
                Some(Known::Parsed(known)) => {
                    known.flight(&[], &mut self.wire.output, params)?;
                    let flight = self.wire.output.strip_suffix(SYNC).unwrap_or(&self.wire.output);
                    self.piped.waiting.extend_from_slice(flight);
                }
                Some(Known::Text(_)) => {
                    let words = "cannot use pipeline mode with the simple query protocol: add --prepare";
                    return Err(Error::configuration(words));
                }
                None => return Err(unknown(id, CONTEXT)),
            },
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.opened();
        self.piped.waiting.extend_from_slice(SYNC);
        std::mem::swap(&mut self.wire.output, &mut self.piped.waiting);
        self.piped.waiting.clear();
        let before = self.piped.syncs > 0;
        // What was sent before may have been carried out.
        let lost = |error: Error| if before { Error { kind: ErrorKind::Unknown, ..error } } else { error };
        self.wire.send(CONTEXT).map_err(lost)?;
        self.piped.syncs += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let sent = self.sync();
        let answered = self.answers();
        sent.and(answered)
    }

    fn discard(&mut self) -> Result<()> {
        self.piped.waiting.clear();
        self.answers()
    }
}
