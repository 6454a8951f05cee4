//! A cycle: threads with their clients, all connected before the clock starts, one common start.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::carrier;
use crate::clock::{Monotonic, Nanos};
use crate::course::{Course, Second};
use crate::engine::Interrupt;
use crate::error::{Error, ErrorKind, Result};
use crate::generator::Interrupts;
use crate::limit::Limit;
use crate::locking::lock;
use crate::pairs::Pair;
use crate::recorder::Recorder;
pub use crate::stage::{Pacing, Until};
use crate::trace::TraceWriter;
use clients::carry_clients;
pub use plan::{Group, LoadPlan};
use seconds::collecting;

mod clients;
mod plan;
mod seconds;

/// Stack of a thread of load. Only touched pages take memory; TLS handshakes need some depth.
const STACK_BYTES: usize = 512 * 1024;
const SECOND: Nanos = 1_000_000_000;
const MILLISECOND: Nanos = 1_000_000;

/// What the clients of one thread did.
pub struct ClientOutcome {
    /// Number of its group.
    pub group: usize,
    /// Its counters and histograms.
    pub recorder: Recorder,
    /// Starts that were due and not made.
    pub missed: u64,
    /// Their sums over committed transactions; a name appears once for each client.
    pub sums: Vec<(&'static str, i64)>,
    /// CPU time of its thread during the cycle: (user, system); of a thread that carries several
    /// clients, an equal share.
    pub cpu_ns: (Nanos, Nanos),
}

/// What a cycle left.
pub struct CycleOutcome {
    /// One entry per thread, in order.
    pub clients: Vec<ClientOutcome>,
    /// The course of each group, by second and kind.
    pub seconds: Vec<(usize, Second)>,
    /// The error that ended the cycle early, if any.
    pub failure: Option<Error>,
    /// Transactions that are missing in the trace, because it could not be written as fast as they came.
    pub untraced: u64,
}

#[derive(Default)]
struct Handles(Mutex<Vec<Option<Box<dyn Interrupt>>>>);

impl Interrupts for Handles {
    fn put(&self, index: usize, handle: Option<Box<dyn Interrupt>>) {
        let mut handles = lock(&self.0);
        if handles.len() <= index {
            handles.resize_with(index + 1, || None);
        }
        handles[index] = handle;
    }
}

struct Shared {
    stop: AtomicBool,
    ready: AtomicUsize,
    running: AtomicUsize,
    failure: Mutex<Option<Error>>,
    start: Mutex<Option<Nanos>>,
    started: Condvar,
    handles: Vec<Handles>,
    courses: Vec<Arc<Course>>,
    /// Of each group.
    limits: Vec<Limit>,
    /// Where the courses of each group stand.
    members: Vec<Range<usize>>,
    /// Number of the group that a group follows, where it does.
    leaders: Vec<Option<usize>>,
    /// Of each group that keeps step with one of a higher number: the pairs of their clients.
    pairs: Vec<Vec<Pair>>,
}

impl Shared {
    fn new(plan: &LoadPlan) -> Self {
        let (threads, kinds) = (plan.threads(), plan.workload.kinds().len());
        let mut first = 0;
        let members = plan.groups.iter().map(|group| {
            first += group.threads;
            first - group.threads..first
        });
        Self {
            stop: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            running: AtomicUsize::new(threads),
            failure: Mutex::new(None),
            start: Mutex::new(None),
            started: Condvar::new(),
            handles: (0..threads).map(|_| Handles::default()).collect(),
            courses: (0..threads).map(|_| Course::new(kinds)).collect(),
            limits: plan.groups.iter().map(|group| Limit::new(group.until, group.threads)).collect(),
            members: members.collect(),
            leaders: plan.groups.iter().map(Group::leader).collect(),
            pairs: plan.groups.iter().map(|group| (0..group.threads).map(|_| Pair::default()).collect()).collect(),
        }
    }

    /// The clock starts at `at`. A group that has no client on this node is over at once.
    fn begin(&self, at: Nanos) {
        self.limits.iter().for_each(|limit| limit.begin(at));
        let empty = self.members.iter().enumerate().filter(|(_, members)| members.is_empty());
        empty.for_each(|(number, _)| self.group_ended(number, at));
    }

    /// The pair of client `within` of group `number`, which keeps step with group `other`, and which half it is.
    fn pair(&self, number: usize, other: usize, within: usize) -> (&Pair, usize) {
        (&self.pairs[number.min(other)][within], usize::from(number > other))
    }

    /// A client of group `number` has ended; the last one ends the groups that follow it.
    fn client_ended(&self, number: usize) {
        if self.limits[number].client_ended() {
            self.group_ended(number, Monotonic.now());
        }
    }

    fn group_ended(&self, number: usize, at: Nanos) {
        let limits = self.leaders.iter().zip(&self.limits);
        limits.filter(|(leader, _)| **leader == Some(number)).for_each(|(_, limit)| limit.end(at));
    }

    fn fail(&self, error: Error) {
        // The first error is the cause; what others say afterwards is its consequence.
        lock(&self.failure).get_or_insert(error);
        self.end();
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that a thread about to wait cannot miss it.
        let _guard = lock(&self.start);
        self.started.notify_all();
    }

    /// Waits for the common start; `None` when the cycle is stopped before.
    fn wait_for_start(&self) -> Option<Nanos> {
        while carrier::carried() && !self.stop.load(Ordering::Relaxed) {
            // Other clients of this thread still connect. The start lies in the future when it is told.
            if let Some(start) = *lock(&self.start) {
                return Some(start);
            }
            // All clients look at the same times. If each looked at its own, the thread would hardly sleep.
            carrier::pause_until((Monotonic.now() / MILLISECOND + 1) * MILLISECOND);
        }
        let mut start = lock(&self.start);
        while start.is_none() && !self.stop.load(Ordering::Relaxed) {
            start = self.started.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        *start
    }
}

/// A cycle under way. Spawned, then ready, then started, then finished and joined.
pub struct Cycle {
    shared: Arc<Shared>,
    carriers: Vec<JoinHandle<Vec<(usize, ClientOutcome)>>>,
    collector: JoinHandle<Vec<(usize, Second)>>,
    trace: Option<TraceWriter>,
}

impl Cycle {
    /// Starts the threads; each opens its connections and then waits.
    pub fn spawn(plan: &LoadPlan) -> Result<Self> {
        plan.refuse()?;
        let trace = plan.trace.as_deref().map(TraceWriter::create).transpose()?;
        let shared = Arc::new(Shared::new(plan));
        let collector = collecting(&shared, plan.workload.kinds().len(), plan.last_second());
        let mut cycle = Self { carriers: Vec::new(), collector, shared, trace };
        for threads in plan.bundles() {
            let count = threads.len();
            match cycle.spawn_carrier(plan, threads) {
                Ok(thread) => cycle.carriers.push(thread),
                Err(error) => {
                    cycle.shared.fail(error);
                    cycle.shared.running.fetch_sub(count, Ordering::Release);
                }
            }
        }
        Ok(cycle)
    }

    fn spawn_carrier(&self, plan: &LoadPlan, threads: Vec<usize>) -> Result<JoinHandle<Vec<(usize, ClientOutcome)>>> {
        let recorders: Vec<Recorder> = threads
            .iter()
            .map(|&index| {
                let trace = self.trace.as_ref().map(|writer| writer.client(index as u64));
                let course = Arc::clone(&self.shared.courses[index]);
                let open_loop = !plan.groups[plan.seat(index).0].has_no_schedule();
                Recorder::new(plan.workload.kinds().len(), open_loop, course, trace)
            })
            .collect();
        let (plan, shared) = (plan.clone(), Arc::clone(&self.shared));
        let first = threads.first().copied().unwrap_or_default();
        let builder = std::thread::Builder::new().name(format!("client-{first}")).stack_size(STACK_BYTES);
        let spawned = builder.spawn(move || carry_clients(plan, shared, threads, recorders));
        spawned.map_err(|e| Error::with(ErrorKind::Setup, "start thread", format!("client {first}: {e}")))
    }

    /// Clients that are connected and wait for the start.
    pub fn ready(&self) -> usize {
        self.shared.ready.load(Ordering::Acquire)
    }

    /// Starts all clients at `at` on the monotonic clock.
    pub fn start(&self, at: Nanos) {
        self.shared.begin(at);
        *lock(&self.shared.start) = Some(at);
        self.shared.started.notify_all();
    }

    /// True when every client has ended.
    pub fn finished(&self) -> bool {
        self.shared.running.load(Ordering::Acquire) == 0
    }

    /// (committed, failed attempts) so far.
    pub fn totals(&self) -> (u64, u64) {
        let totals = self.shared.courses.iter().map(|course| course.totals());
        totals.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    }

    /// Asks the clients to end after the transaction they are in.
    pub fn stop(&self) {
        self.shared.end();
    }

    /// Ends what the clients are waiting for. With a `reason` the cycle has failed, for instance
    /// because the server does not answer any more; without one the user wants it.
    pub fn abandon(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.shared.fail(Error::with(ErrorKind::Disconnected, "load", reason));
        }
        self.stop();
        interrupt_all(&self.shared.handles);
    }

    /// Waits for all clients and gives what they did.
    pub fn join(self) -> Result<CycleOutcome> {
        let mut clients: Vec<_> = self.carriers.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect();
        clients.sort_by_key(|(index, _)| *index);
        let clients = clients.into_iter().map(|(_, client)| client).collect();
        self.shared.end();
        let seconds = self.collector.join().map_err(|_| Error::new(ErrorKind::Setup, "collect seconds"))?;
        let untraced = self.trace.map_or(Ok(0), TraceWriter::finish)?;
        let failure = lock(&self.shared.failure).take();
        Ok(CycleOutcome { clients, seconds, failure, untraced })
    }
}

/// Ends what all clients wait for, side by side: each end may wait for a server that does not answer,
/// and no client may go on with its transaction until those before it have been waited for.
fn interrupt_all(handles: &[Handles]) {
    std::thread::scope(|scope| {
        for client in handles {
            let end = || lock(&client.0).iter().flatten().for_each(|handle| handle.interrupt());
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            if builder.spawn_scoped(scope, end).is_err() {
                end(); // There is no thread to be had: end it here, one after another.
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Waits, as for a server that does not answer, until all have been asked to end.
    struct Together {
        asked: Arc<(Mutex<usize>, Condvar)>,
        all: usize,
        met: Arc<AtomicBool>,
    }

    impl Interrupt for Together {
        fn interrupt(&self) {
            let (asked, changed) = &*self.asked;
            let mut count = lock(asked);
            *count += 1;
            changed.notify_all();
            let waited = changed.wait_timeout_while(count, Duration::from_secs(10), |count| *count < self.all);
            if waited.is_ok_and(|(_, result)| result.timed_out()) {
                self.met.store(false, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn no_end_of_a_client_waits_for_that_of_another() {
        let (asked, met) = (Arc::default(), Arc::new(AtomicBool::new(true)));
        let handles: Vec<Handles> = (0..20).map(|_| Handles::default()).collect();
        for client in &handles {
            client.put(0, Some(Box::new(Together { asked: Arc::clone(&asked), all: 20, met: Arc::clone(&met) })));
        }
        interrupt_all(&handles);
        assert!(met.load(Ordering::Relaxed));
        assert_eq!(*lock(&asked.0), 20);
    }
}
