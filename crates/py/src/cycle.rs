//! A cycle under way and what it left, as plain buffers for numpy.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dsbench_core::course::Second;
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::histogram::Histogram;
use dsbench_core::locking::lock;
use dsbench_core::pauses::Pause;
use dsbench_core::recorder::Tally;
use dsbench_core::threads::{self, ClientOutcome, CycleOutcome, LoadPlan};
use dsbench_core::workload::KindId;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::{described, raise};

/// What all clients did in a second: committed, failed, p50, p99 and longest time in ns.
type Told = (u64, u64, u64, u64, u64);

/// A cycle: spawned, ready, started, finished, joined.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Cycle {
    cycle: Mutex<Option<threads::Cycle>>,
    /// The clients' sum that is the counter `remote`, where the workload has one.
    remote: Option<&'static str>,
}

impl Cycle {
    pub fn spawn(plan: &LoadPlan, remote: Option<&'static str>) -> dsbench_core::error::Result<Self> {
        threads::Cycle::spawn(plan).map(|cycle| Self { cycle: Mutex::new(Some(cycle)), remote })
    }

    fn with<T>(&self, look: impl FnOnce(&threads::Cycle) -> T) -> PyResult<T> {
        let guard = lock(&self.cycle);
        guard.as_ref().map(look).ok_or_else(|| raise(Error::new(ErrorKind::Setup, "cycle was joined")))
    }
}

#[pymethods]
impl Cycle {
    /// Clients that are connected and wait.
    fn ready(&self) -> PyResult<usize> {
        self.with(threads::Cycle::ready)
    }

    /// Starts all clients at `at_ns` of the monotonic clock.
    fn start(&self, at_ns: u64) -> PyResult<()> {
        self.with(|cycle| cycle.start(at_ns))
    }

    /// True when every client has ended.
    fn finished(&self) -> PyResult<bool> {
        self.with(threads::Cycle::finished)
    }

    /// (committed, failed attempts) so far.
    fn totals(&self) -> PyResult<(u64, u64)> {
        self.with(threads::Cycle::totals)
    }

    /// (committed, failed, p50, p99 and longest time in ns) of each second from number `start` on that was collected.
    fn seconds(&self, start: usize) -> PyResult<Vec<Told>> {
        let told = |one: &Second| (one.count, one.failed, one.p50_ns, one.p99_ns, one.max_ns);
        self.with(|cycle| cycle.seconds(start).iter().map(told).collect())
    }

    /// Ends what the clients wait for, too; with a reason the cycle has failed.
    #[pyo3(signature = (reason=None))]
    fn abandon(&self, py: Python<'_>, reason: Option<&str>) -> PyResult<()> {
        py.detach(|| self.with(|cycle| cycle.abandon(reason)))
    }

    /// Waits for the end and gives everything: see loaders/results.py, which names it.
    fn join<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let cycle = lock(&self.cycle).take();
        let cycle = cycle.ok_or_else(|| raise(Error::new(ErrorKind::Setup, "cycle was joined")))?;
        let outcome = py.detach(|| cycle.join()).map_err(raise)?;
        outcome_dict(py, &outcome, self.remote)
    }
}

/// The columns of one tally, in the order of `COUNTERS` in columns.py.
fn counters(client: &ClientOutcome, kind: usize, tally: &Tally, remote: Option<&str>) -> [u64; 29] {
    // A count that a client has only once is entered for its first kind.
    let once = |value: u64| if kind == 0 { value } else { 0 };
    let remote: i64 = client.sums.iter().filter(|(name, _)| Some(*name) == remote).map(|(_, sum)| sum).sum();
    [
        tally.committed,
        tally.rows,
        tally.rolled_back,
        tally.failed,
        tally.retries,
        tally.unknown,
        tally.in_flight,
        tally.commits_after_window,
        tally.commits_before_window,
        once(client.missed),
        once(remote.unsigned_abs()),
        tally.residence.sum(),
        tally.response.as_ref().unwrap_or(&tally.residence).sum(),
        tally.failed_ns,
        tally.residence.min(),
        tally.residence.max(),
        tally.first_start.unwrap_or(0),
        tally.last_end,
        once(client.cpu_ns.0 + client.cpu_ns.1),
        once(client.moves),
        tally.messages.sent,
        tally.messages.received,
        tally.ended_ns(),
        tally.in_flight_ns,
        tally.in_flight_max,
        tally.connecting_ns,
        once(client.recorder.waiting()),
        once(client.recorder.span()),
        once(client.recorder.p99()),
    ]
}

fn bytes<'py>(py: Python<'py>, values: impl Iterator<Item = u64>) -> Bound<'py, PyBytes> {
    let raw: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    PyBytes::new(py, &raw)
}

fn outcome_dict<'py>(py: Python<'py>, outcome: &CycleOutcome, remote: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let rows = outcome.clients.iter().flat_map(|client| {
        client.recorder.tallies().iter().enumerate().flat_map(|(kind, tally)| counters(client, kind, tally, remote))
    });
    dict.set_item("counters", bytes(py, rows))?;
    dict.set_item("groups", bytes(py, outcome.clients.iter().map(|client| client.group as u64)))?;
    dict.set_item("histograms", histograms(py, outcome)?)?;
    let seconds = outcome.seconds.iter().flat_map(|(group, s)| {
        let (group, second, kind) = (*group as u64, u64::from(s.second), u64::from(s.kind));
        let [busy, busy_later] = s.busy;
        let times = [s.p50_ns, s.p99_ns, s.max_ns];
        [&[group, second, kind, s.count, s.failed], &times[..], &[busy, busy_later, s.under_way, s.oldest_ns]].concat()
    });
    dict.set_item("seconds", bytes(py, seconds))?;
    dict.set_item("statements", statements(py, outcome)?)?;
    dict.set_item("errors", errors(outcome))?;
    let pauses = outcome.clients.iter().zip(0..).flat_map(|(client, number)| {
        let words = move |one: Pause| [number, one.from, one.wanted.unwrap_or(u64::MAX), one.to.unwrap_or(u64::MAX)];
        client.recorder.pauses().flat_map(words)
    });
    dict.set_item("pauses", bytes(py, pauses))?;
    dict.set_item("sums", sums(outcome))?;
    dict.set_item("found", found(outcome))?;
    dict.set_item("placements", placements(outcome))?;
    dict.set_item("served", served(outcome))?;
    let cpu_ns = outcome.clients.iter().fold((0, 0), |sum, client| (sum.0 + client.cpu_ns.0, sum.1 + client.cpu_ns.1));
    dict.set_item("cpu_ns", cpu_ns)?;
    let failure = outcome.failure.as_ref().map(described);
    dict.set_item("failure", failure)?;
    dict.set_item("dropped_trace_rows", outcome.dropped_trace_rows)?;
    Ok(dict)
}

/// A list of (group, kind, measure, low/high/count triples) of the histograms.
fn histograms<'py>(py: Python<'py>, outcome: &CycleOutcome) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let kinds = outcome.clients.first().map_or(0, |client| client.recorder.tallies().len());
    for (group, kind) in (0..outcome.times.len()).flat_map(|group| (0..kinds).map(move |kind| (group, kind))) {
        let Some(times) = &outcome.times[group] else { continue };
        list.append((group, kind, "residence", triples(py, times.residence(kind))))?;
        list.append((group, kind, "failed", triples(py, times.failed(kind))))?;
        if let Some(response) = times.response(kind) {
            list.append((group, kind, "response", triples(py, response)))?;
        }
    }
    Ok(list)
}

/// A list of (group, statement, failed, retried, sum, least and greatest time in ns, low/high/count triples), over all
/// clients; empty unless statements were timed.
fn statements<'py>(py: Python<'py>, outcome: &CycleOutcome) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (group, times) in outcome.times.iter().enumerate() {
        for (number, of_one) in times.iter().flat_map(|board| board.statements()).enumerate() {
            let times = &of_one.times;
            let (sum, min, max) = (times.sum(), times.min(), times.max());
            list.append((group, number, of_one.failed(), of_one.retried(), sum, min, max, triples(py, times)))?;
        }
    }
    Ok(list)
}

fn triples<'py>(py: Python<'py>, histogram: &Histogram) -> Bound<'py, PyBytes> {
    bytes(py, histogram.buckets().flat_map(|(low, high, count)| [low, high, count]))
}

/// The histogram of residence times, 64 bits each in ns, that another client told: low, high and count of each bucket.
#[pyfunction]
pub fn buckets<'py>(py: Python<'py>, times_ns: &[u8]) -> Bound<'py, PyBytes> {
    let histogram = Histogram::default();
    let words = times_ns.chunks_exact(8).filter_map(|word| word.try_into().ok());
    words.for_each(|word| histogram.record(u64::from_le_bytes(word)));
    triples(py, &histogram)
}

/// (group, how they were placed, clients).
fn placements(outcome: &CycleOutcome) -> Vec<(usize, String, u64)> {
    let mut counts = BTreeMap::new();
    for client in &outcome.clients {
        *counts.entry((client.group, client.placed.to_string())).or_insert(0) += 1;
    }
    counts.into_iter().map(|((group, placed), clients)| (group, placed, clients)).collect()
}

/// (group, server, committed transactions) where sessions may be of several servers.
fn served(outcome: &CycleOutcome) -> Vec<(usize, String, u64)> {
    let mut counts = BTreeMap::new();
    for client in &outcome.clients {
        for (host, commits) in client.recorder.served().iter().enumerate().filter(|(_, commits)| **commits > 0) {
            *counts.entry((client.group, host)).or_insert(0) += commits;
        }
    }
    counts.into_iter().map(|((group, host), commits)| (group, outcome.hosts[host].clone(), commits)).collect()
}

/// A class of failed attempts: group, kind of transaction, kind of error, native code.
type Class = (usize, KindId, &'static str, String);

/// (group, kind of transaction, kind of error, native code, count, example) over all clients.
fn errors(outcome: &CycleOutcome) -> Vec<(usize, KindId, &'static str, String, u64, String)> {
    let mut merged: BTreeMap<Class, (u64, String)> = BTreeMap::new();
    for client in &outcome.clients {
        for class in client.recorder.classes() {
            let key = (client.group, class.transaction, class.kind.name(), class.code.as_str().to_owned());
            let entry = merged.entry(key).or_default();
            entry.0 += class.count;
            if entry.1.is_empty() {
                entry.1 = class.example.as_deref().unwrap_or_default().to_owned();
            }
        }
    }
    let row = |((group, of, kind, code), (count, example))| (group, of, kind, code, count, example);
    merged.into_iter().map(row).collect()
}

/// (group, statement, executions, rows, executions without a row) over all clients.
fn found(outcome: &CycleOutcome) -> Vec<(usize, u16, u64, u64, u64)> {
    let mut all = BTreeMap::<(usize, u16), [u64; 3]>::new();
    for (group, one) in outcome.clients.iter().flat_map(|client| client.found.iter().map(|one| (client.group, one))) {
        let sums = all.entry((group, one.statement)).or_default();
        for (sum, count) in sums.iter_mut().zip([one.executions, one.rows, one.empty]) {
            *sum += count;
        }
    }
    all.into_iter().map(|((group, statement), [done, rows, empty])| (group, statement, done, rows, empty)).collect()
}

/// The clients' sums over committed transactions, by name.
fn sums(outcome: &CycleOutcome) -> BTreeMap<&'static str, i64> {
    let mut sums = BTreeMap::new();
    for (name, sum) in outcome.clients.iter().flat_map(|client| &client.sums) {
        *sums.entry(*name).or_insert(0) += sum;
    }
    sums
}
