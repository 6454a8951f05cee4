//! A cycle: threads with their clients, all connected before the clock starts, one common start.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::sleeping::SLICE;
use crate::carrier;
use crate::clock::{Clock, Monotonic, Nanos};
use crate::course::{collect, Course, Second};
use crate::engine::{Engine, Interrupt};
use crate::error::{Error, ErrorKind, Result};
use crate::generator::{Conduct, Interrupts};
use crate::limit::Limit;
use crate::locking::lock;
use crate::recorder::Recorder;
pub use crate::stage::{Pacing, Until};
use crate::trace::TraceWriter;
use crate::workload::{KindId, Workload};
use clients::carry_clients;

mod clients;

/// Stack of a thread of load. Only touched pages take memory; TLS handshakes need some depth.
const STACK_BYTES: usize = 512 * 1024;
const SECOND: Nanos = 1_000_000_000;
const MILLISECOND: Nanos = 1_000_000;

/// Clients that do the same: of a load stage, on this node.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name within the stage.
    pub name: String,
    /// Which kind of client it has.
    pub role: u8,
    /// How they run.
    pub conduct: Conduct,
    /// J: threads of this node, which may have none. Each serves one client, or the terminals that fall to it.
    pub threads: usize,
    /// Number of this node's first client among those of the group.
    pub first_client: u64,
    /// Clients of the group on all nodes together; with terminals, those of all nodes.
    pub clients: u64,
    /// When transactions start.
    pub pacing: Pacing,
    /// When the group has done enough; a count of all is that of this node.
    pub until: Until,
}

impl Group {
    /// So many clients of one kind, all on this node, in a closed loop.
    pub fn closed(conduct: Conduct, threads: usize, until: Until) -> Self {
        let (name, clients) = ("all".into(), threads as u64);
        Self { name, role: 0, conduct, threads, first_client: 0, clients, pacing: Pacing::Closed, until }
    }

    /// Numbers of the clients of thread `index` of the group, among those of all nodes.
    fn clients_of(&self, index: usize) -> impl Iterator<Item = u64> {
        let of_node = match self.pacing {
            Pacing::Terminals(terminals) => terminals,
            _ => self.threads as u64,
        };
        let first = self.first_client;
        (index as u64..of_node).step_by(self.threads).map(move |client| first + client)
    }

    /// Number of the group that it follows, if it does.
    fn leader(&self) -> Option<usize> {
        match self.until {
            Until::Group(other) => Some(other),
            _ => None,
        }
    }

    /// Starts of an open loop have to be met to the microsecond, and connecting blocks: such clients have threads
    /// of the operating system of their own.
    fn carried(&self, engine: &dyn Engine) -> bool {
        cfg!(target_os = "linux")
            && engine.waits_in_sockets()
            && self.pacing == Pacing::Closed
            && !self.conduct.reconnect
    }
}

/// Everything that makes a cycle: one repetition of a load stage.
#[derive(Clone)]
pub struct LoadPlan {
    /// The database.
    pub engine: Arc<dyn Engine>,
    /// What is run.
    pub workload: Arc<dyn Workload>,
    /// The groups that make load at the same time.
    pub groups: Vec<Group>,
    /// Threads of the operating system that carry the clients of this node, see [`crate::carrier`]; 0 for as
    /// many as there are CPUs. Where a client cannot be carried it has one to itself.
    pub carriers: usize,
    /// Load that is run before the cycle's clock starts, and not recorded.
    pub ramp_up: Nanos,
    /// Seed of this cycle's inputs.
    pub seed: u64,
    /// Where to write the full trace, if at all.
    pub trace: Option<PathBuf>,
}

impl LoadPlan {
    /// Which groups and ends go together. Errors of kind `Configuration`.
    fn refuse(&self) -> Result<()> {
        for group in &self.groups {
            let ends = |other: usize| self.groups.get(other).is_some_and(|other| other.leader().is_none());
            let led = group.leader().map(ends);
            if led == Some(false) {
                let words = format!("group {} ends with a group that has no end to itself", group.name);
                return Err(Error::configuration(words));
            }
            if self.ramp_up > 0 && matches!(group.until, Until::Count { .. }) {
                let words = format!("group {} ends by count: leave --ramp-up out", group.name);
                return Err(Error::configuration(words));
            }
        }
        Ok(())
    }

    /// Threads of all groups.
    fn threads(&self) -> usize {
        self.groups.iter().map(|group| group.threads).sum()
    }

    /// (number of the group, number within the group) of thread `index` of all.
    fn seat(&self, mut index: usize) -> (usize, usize) {
        for (number, group) in self.groups.iter().enumerate() {
            if index < group.threads {
                return (number, index);
            }
            index -= group.threads;
        }
        unreachable!("as many threads as the groups have")
    }

    /// Which threads share a thread of the operating system.
    fn bundles(&self) -> Vec<Vec<usize>> {
        let carried = |index: &usize| self.groups[self.seat(*index).0].carried(self.engine.as_ref());
        let (together, alone): (Vec<usize>, Vec<usize>) = (0..self.threads()).partition(carried);
        let most = match self.carriers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            carriers => carriers,
        };
        let carriers = most.min(together.len()).max(1);
        let share = |carrier: usize| together.iter().skip(carrier).step_by(carriers).copied().collect::<Vec<_>>();
        let shared = (0..carriers).map(share).filter(|threads| !threads.is_empty());
        shared.chain(alone.into_iter().map(|thread| vec![thread])).collect()
    }

    /// Threads of the operating system that the cycle will have for its clients.
    pub fn carriers(&self) -> usize {
        self.bundles().len()
    }

    /// Second of the last end that counts; `None` where it is not known before.
    fn last_second(&self) -> Option<u64> {
        let seconds = self.groups.iter().map(|group| match group.until {
            Until::Time(duration) => Some(duration.saturating_sub(1) / SECOND),
            _ => None,
        });
        seconds.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}

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
        }
    }

    /// The clock starts at `at`. A group that has no client on this node is over at once.
    fn begin(&self, at: Nanos) {
        self.limits.iter().for_each(|limit| limit.begin(at));
        let empty = self.members.iter().enumerate().filter(|(_, members)| members.is_empty());
        empty.for_each(|(number, _)| self.group_ended(number, at));
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
        let collector = spawn_collector(&shared, plan.workload.kinds().len(), plan.last_second());
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
                let open_loop = plan.groups[plan.seat(index).0].pacing != Pacing::Closed;
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

fn spawn_collector(shared: &Arc<Shared>, kinds: usize, last: Option<u64>) -> JoinHandle<Vec<(usize, Second)>> {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let Some(start) = shared.wait_for_start() else { return Vec::new() };
        let mut seconds = Vec::new();
        for second in 0.. {
            // A slot is emptied a second after its second ended; by then no client is late.
            wait_for_second(&shared, start, second, last);
            let under_way = last.map_or(shared.running.load(Ordering::Acquire) > 0, |last| second < last);
            if under_way && !shared.stop.load(Ordering::Relaxed) {
                drain(&shared, kinds, second, &mut seconds);
                continue;
            }
            // The end: whatever is left, once no client writes any more.
            while shared.running.load(Ordering::Acquire) > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let last = last.unwrap_or_else(|| Monotonic.now().saturating_sub(start + 1) / SECOND);
            (second..=last.min(second + 3)).for_each(|rest| drain(&shared, kinds, rest, &mut seconds));
            break;
        }
        seconds
    })
}

/// Waits until the slots of `second` can be emptied. A stage whose end is not known may be over before.
fn wait_for_second(shared: &Shared, start: Nanos, second: u64, last: Option<u64>) {
    let at = start + (second + 2) * SECOND;
    while last.is_none() && shared.running.load(Ordering::Acquire) > 0 && Monotonic.now() + SLICE < at {
        Monotonic.sleep_until(Monotonic.now() + SLICE, &shared.stop);
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
    }
    if last.is_some() || shared.running.load(Ordering::Acquire) > 0 {
        Monotonic.sleep_until(at, &shared.stop);
    }
}

fn drain(shared: &Shared, kinds: usize, second: u64, into: &mut Vec<(usize, Second)>) {
    for (group, members) in shared.members.iter().enumerate() {
        let courses = &shared.courses[members.clone()];
        into.extend((0..kinds).map(|kind| (group, collect(courses, kind as KindId, second as u32))));
    }
}

#[cfg(test)]
mod tests {
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
