//! The full trace of residence times, kept only on demand: clients fill chunks, one thread writes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::clock::Nanos;
use crate::error::{Error, ErrorKind, Result};
use crate::recorder::{Outcome, Sample};

/// Bytes of one record in the file.
pub const RECORD_BYTES: usize = 40;
const CHUNK: usize = 4096;

/// One transaction of the trace, 40 bytes little-endian: started, ended, intended (i64, ns from the
/// cycle's start), client (u64), retries (u32), kind, outcome (u8), two bytes of padding.
#[derive(Debug, Clone, Copy)]
pub struct TraceRecord {
    started: i64,
    ended: i64,
    intended: i64,
    retries: u32,
    kind: u8,
    outcome: u8,
}

impl TraceRecord {
    /// The record of `sample` in a cycle that began at `start`.
    pub fn of(sample: &Sample, start: Nanos) -> Self {
        let outcome = match sample.outcome {
            Outcome::Committed => 0,
            Outcome::RolledBack => 1,
            Outcome::Failed => 2,
            Outcome::Unknown => 3,
        };
        let from_start = |at: Nanos| at as i64 - start as i64;
        Self {
            started: from_start(sample.started),
            ended: from_start(sample.ended),
            intended: from_start(sample.intended),
            retries: sample.retries,
            kind: sample.kind,
            outcome,
        }
    }

    fn write(&self, client: u64, out: &mut impl Write) -> std::io::Result<()> {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.started.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ended.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.intended.to_le_bytes());
        bytes[24..32].copy_from_slice(&client.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.retries.to_le_bytes());
        (bytes[36], bytes[37]) = (self.kind, self.outcome);
        out.write_all(&bytes)
    }
}

type Chunk = Vec<TraceRecord>;
type Spares = Arc<Mutex<Vec<Chunk>>>;

/// One client's end: fills a chunk and hands it over when it is full.
#[derive(Debug)]
pub struct Trace {
    client: u64,
    chunk: Chunk,
    full: Sender<(u64, Chunk)>,
    spares: Spares,
}

impl Trace {
    /// Keeps one record. Every 4096 records the chunk changes hands: this is the cost of a trace.
    #[inline]
    pub fn push(&mut self, record: TraceRecord) {
        self.chunk.push(record);
        if self.chunk.len() == CHUNK {
            let spare = self.spares.lock().ok().and_then(|mut spares| spares.pop());
            let fresh = spare.unwrap_or_else(|| Vec::with_capacity(CHUNK));
            let full = std::mem::replace(&mut self.chunk, fresh);
            // A writer that has failed tells so at the end; the load goes on.
            let _ = self.full.send((self.client, full));
        }
    }

    /// Hands over the rest.
    pub fn finish(self) {
        let _ = self.full.send((self.client, self.chunk));
    }
}

/// Writes the chunks of all clients to one file.
#[derive(Debug)]
pub struct TraceWriter {
    sender: Sender<(u64, Chunk)>,
    spares: Spares,
    thread: JoinHandle<std::io::Result<()>>,
}

impl TraceWriter {
    /// Starts writing to a new file at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)
            .map_err(|e| Error::with(ErrorKind::Setup, "trace", format!("{}: {e}", path.display())))?;
        let (sender, receiver) = channel();
        let spares = Spares::default();
        let returned = Arc::clone(&spares);
        let thread = std::thread::spawn(move || write_chunks(file, &receiver, &returned));
        Ok(Self { sender, spares, thread })
    }

    /// The end for one client.
    pub fn client(&self, client: u64) -> Trace {
        Trace { client, chunk: Vec::with_capacity(CHUNK), full: self.sender.clone(), spares: Arc::clone(&self.spares) }
    }

    /// Waits until all clients have finished and everything is written.
    pub fn finish(self) -> Result<()> {
        drop(self.sender);
        let written = self.thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")));
        written.map_err(|e| Error::with(ErrorKind::Setup, "trace", e.to_string()))
    }
}

fn write_chunks(file: File, receiver: &Receiver<(u64, Chunk)>, spares: &Spares) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    for (client, mut chunk) in receiver {
        for record in &chunk {
            record.write(client, &mut out)?;
        }
        chunk.clear();
        if let Ok(mut spares) = spares.lock() {
            spares.push(chunk);
        }
    }
    out.flush()
}
