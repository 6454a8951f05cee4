//! The full trace of residence times, kept only on demand: clients fill chunks, one thread writes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::clock::Nanos;
use crate::error::{Error, ErrorKind, Result};
use crate::recorder::{Outcome, Sample};

/// Bytes of one record in the file.
pub const RECORD_BYTES: usize = 40;
const CHUNK: usize = 4096;
/// Chunks that may wait for the writer, beside two for each client: 64 MiB.
const WAITING: usize = 512;
/// Of those, for each client: all fill their chunks at the same time where they work at the same rate.
const WAITING_PER_CLIENT: usize = 2;

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

/// How much is on its way to the writer. A disk that is slower than the load must not fill the memory.
#[derive(Debug, Default)]
struct Flow {
    waiting: AtomicUsize,
    most: AtomicUsize,
    dropped: AtomicU64,
}

/// One client's end: fills a chunk and hands it over when it is full.
#[derive(Debug)]
pub struct Trace {
    client: u64,
    chunk: Chunk,
    full: Sender<(u64, Chunk)>,
    spares: Spares,
    flow: Arc<Flow>,
}

impl Trace {
    /// Keeps one record. Every 4096 records the chunk changes hands: this is the cost of a trace. While too many
    /// chunks wait for the writer its records are dropped, and counted.
    #[inline]
    pub fn push(&mut self, record: TraceRecord) {
        self.chunk.push(record);
        if self.chunk.len() == CHUNK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if self.flow.waiting.load(Ordering::Relaxed) >= self.flow.most.load(Ordering::Relaxed) {
            self.flow.dropped.fetch_add(CHUNK as u64, Ordering::Relaxed);
            return self.chunk.clear();
        }
        // No client waits for another, or for the writer, to be given a spare.
        let spare = self.spares.try_lock().ok().and_then(|mut spares| spares.pop());
        let fresh = spare.unwrap_or_else(|| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut self.chunk, fresh);
        self.flow.waiting.fetch_add(1, Ordering::Relaxed);
        // A writer that has failed tells so at the end; the load goes on.
        let _ = self.full.send((self.client, full));
    }

    /// Hands over the rest.
    pub fn finish(self) {
        self.flow.waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.full.send((self.client, self.chunk));
    }
}

/// Writes the chunks of all clients to one file.
#[derive(Debug)]
pub struct TraceWriter {
    sender: Sender<(u64, Chunk)>,
    spares: Spares,
    flow: Arc<Flow>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl TraceWriter {
    /// Starts writing to a new file at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)
            .map_err(|e| Error::with(ErrorKind::Setup, "trace", format!("{}: {e}", path.display())))?;
        Ok(Self::writing(file, WAITING))
    }

    /// Starts writing to `out`; `most` chunks may wait, beside those for each client.
    fn writing(out: impl Write + Send + 'static, most: usize) -> Self {
        let (sender, receiver) = channel();
        let spares = Spares::default();
        let flow = Arc::new(Flow { most: AtomicUsize::new(most), ..Flow::default() });
        let (returned, written) = (Arc::clone(&spares), Arc::clone(&flow));
        let thread = std::thread::spawn(move || write_chunks(out, &receiver, &returned, &written.waiting));
        Self { sender, spares, flow, thread }
    }

    /// The end for one client.
    pub fn client(&self, client: u64) -> Trace {
        self.flow.most.fetch_add(WAITING_PER_CLIENT, Ordering::Relaxed);
        let (spares, flow) = (Arc::clone(&self.spares), Arc::clone(&self.flow));
        Trace { client, chunk: Vec::with_capacity(CHUNK), full: self.sender.clone(), spares, flow }
    }

    /// Waits until all clients have finished and everything is written; gives the number of records that were
    /// dropped because writing was slower than the load: the trace is incomplete unless it is 0.
    pub fn finish(self) -> Result<u64> {
        drop(self.sender);
        let written = self.thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")));
        written.map_err(|e| Error::with(ErrorKind::Setup, "trace", e.to_string()))?;
        Ok(self.flow.dropped.load(Ordering::Relaxed))
    }
}

fn write_chunks(
    out: impl Write,
    receiver: &Receiver<(u64, Chunk)>,
    spares: &Spares,
    waiting: &AtomicUsize,
) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    for (client, mut chunk) in receiver {
        for record in &chunk {
            record.write(client, &mut out)?;
        }
        chunk.clear();
        if let Ok(mut spares) = spares.lock() {
            spares.push(chunk);
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::SyncSender;

    use super::*;

    /// A disk that takes nothing until it is told to, and then tells how much it has taken.
    struct Disk {
        go: Receiver<()>,
        taken: SyncSender<usize>,
        bytes: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.bytes == 0 {
                let _ = self.go.recv();
            }
            self.bytes += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.taken.send(self.bytes).map_err(std::io::Error::other)
        }
    }

    /// Pushes `chunks` full chunks and one record more while the disk stands still; gives (records in the file,
    /// records dropped).
    fn traced(chunks: usize, most: usize) -> (usize, usize) {
        let (go, waits) = channel();
        let (taken, told) = std::sync::mpsc::sync_channel(1);
        let writer = TraceWriter::writing(Disk { go: waits, taken, bytes: 0 }, most);
        let mut trace = writer.client(7);
        let record = TraceRecord { started: 1, ended: 2, intended: 1, retries: 0, kind: 0, outcome: 0 };
        (0..chunks * CHUNK + 1).for_each(|_| trace.push(record));
        trace.finish();
        drop(go);
        let dropped = writer.finish().unwrap() as usize;
        (told.recv().unwrap() / RECORD_BYTES, dropped)
    }

    #[test]
    fn what_a_slow_disk_cannot_take_is_dropped_and_counted() {
        let (written, dropped) = traced(20, 3);
        assert_eq!(written + dropped, 20 * CHUNK + 1);
        // Five wait; one more may lie in the writer's buffer.
        assert!((14 * CHUNK..=15 * CHUNK).contains(&dropped), "{dropped}");
    }

    #[test]
    fn what_fits_is_kept_however_slow_the_disk_is() {
        assert_eq!(traced(20, WAITING), (20 * CHUNK + 1, 0));
    }
}
