//! A cycle: threads with their clients, all connected before the clock starts, one common start.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::board::Board;
use crate::carrier;
use crate::clock::{Clock, Monotonic, Nanos};
use crate::course::Second;
use crate::engine::Interrupt;
use crate::error::{Error, ErrorKind, Result};
use crate::generator::Interrupts;
use crate::legs::Starts;
use crate::limit::Limit;
use crate::locking::lock;
use crate::pairs::Pair;
use crate::placement::{self, Placed, Placement};
use crate::recorder::Recorder;
pub use crate::stage::{Pacing, Until};
use crate::trace::TraceWriter;
use clients::{defect, defect_of, run_alone, share_cpu, share_starts, Carried, Crew};
#[cfg(target_os = "linux")]
use clients::{run_carrier, Fleet};
use plan::Bundles;
pub use plan::{Group, LoadPlan};
use seconds::collecting;
pub use stalls::GIVE_UP_S;

mod clients;
mod plan;
mod seconds;
mod stalls;

/// Stack of a thread of load. Only touched pages take memory; TLS handshakes need some depth.
const STACK_BYTES: usize = 512 * 1024;
const SECOND: Nanos = 1_000_000_000;
const MILLISECOND: Nanos = 1_000_000;
/// How many clients connect at a time: with thousands at the door of a server, logins would wait for each other until
/// they time out.
pub const CONNECTING: usize = 64;
/// How long clients may take to end by themselves after another one did, and in all.
const GRACE: Nanos = 500 * MILLISECOND;
const LONGEST_GRACE: Nanos = SECOND;

/// What the clients of one thread did.
pub struct ClientOutcome {
    /// Number of its group.
    pub group: usize,
    /// Its counters.
    pub recorder: Recorder,
    /// Starts that were due and not made.
    pub missed: u64,
    /// Their sums over committed transactions; a name appears once for each client.
    pub sums: Vec<(&'static str, i64)>,
    /// Where it ran.
    pub placed: Placed,
    /// How often it moved to another CPU.
    pub moves: u64,
    /// CPU time of its thread during the cycle: (user, system); where carriers run several clients, an equal
    /// share of all carriers.
    pub cpu_ns: (Nanos, Nanos),
}

/// What a cycle left.
pub struct CycleOutcome {
    /// One entry per thread, in order.
    pub clients: Vec<ClientOutcome>,
    /// The times of each group over its clients, where it has any.
    pub times: Vec<Option<Arc<Board>>>,
    /// The course of each group, by second and kind.
    pub seconds: Vec<(usize, Second)>,
    /// The error that ended the cycle early, if any.
    pub failure: Option<Error>,
    /// Transactions that are missing in the trace, because it could not be written as fast as they came.
    pub untraced: u64,
}

#[derive(Default)]
struct Handles(Mutex<Vec<Option<Box<dyn Interrupt>>>>);

impl Handles {
    /// Forgets them: there is nothing to end any more.
    fn clear(&self) {
        lock(&self.0).clear();
    }
}

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
    /// Clients that their own errors ended, with the first of these.
    aborted: Mutex<(usize, Option<Error>)>,
    threads: usize,
    start: Mutex<Option<Nanos>>,
    started: Condvar,
    handles: Vec<Handles>,
    /// Of each group: where the threads that run its clients count.
    boards: Vec<Boards>,
    /// The seconds that were collected so far, each over all groups and kinds.
    seconds: Mutex<Vec<Second>>,
    /// Of each group.
    limits: Vec<Limit>,
    given_up: stalls::GivenUp,
    /// Groups that have no client on this node.
    empty: Vec<usize>,
    /// Number of the group that a group follows, where it does.
    leaders: Vec<Option<usize>>,
    /// Of each group that keeps step with one of a higher number: the pairs of their clients.
    pairs: Vec<Vec<Pair>>,
    /// Of each group of an open loop what its clients on this node share.
    starts: Vec<Option<Arc<Starts>>>,
    /// CPUs on which clients are placed; empty where they are not.
    cpus: Arc<[usize]>,
}

/// Where the clients of a group count, by thread of the operating system.
#[derive(Default)]
struct Boards {
    /// Of each carrier; nothing where none of its clients is carried.
    carried: Arc<[Arc<Board>]>,
    /// Of each client that has a thread to itself, with its index.
    alone: Vec<(usize, Arc<Board>)>,
}

impl Boards {
    fn all(&self) -> impl Iterator<Item = &Arc<Board>> {
        self.carried.iter().chain(self.alone.iter().map(|(_, board)| board))
    }

    /// All of them added up, once no client writes any more.
    fn sum(&self) -> Option<Arc<Board>> {
        let mut all = self.all();
        let first = all.next()?;
        all.for_each(|board| first.merge(board));
        Some(Arc::clone(first))
    }

    /// Of each group of `plan`.
    fn of(plan: &LoadPlan, bundles: &Bundles) -> Vec<Self> {
        let kinds = plan.workload.kinds().len();
        let statements = if plan.statements { plan.workload.statements().len() } else { 0 };
        let mut groups: Vec<Self> = Vec::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let board = || Board::new(kinds, !group.has_no_schedule(), statements);
            let of_group = |index: &&usize| plan.seat(**index).0 == number;
            let carried = bundles.shared.iter().flatten().any(|index| of_group(&index));
            let alone = bundles.single.iter().chain(&bundles.alone).filter(of_group);
            groups.push(Self {
                carried: bundles.shared.iter().filter(|_| carried).map(|_| board()).collect(),
                alone: alone.map(|index| (*index, board())).collect(),
            });
        }
        groups
    }
}

impl Shared {
    fn new(plan: &LoadPlan, bundles: &Bundles) -> Self {
        let threads = plan.threads();
        let empty = plan.groups.iter().enumerate().filter(|(_, group)| group.threads == 0);
        Self {
            stop: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            running: AtomicUsize::new(threads),
            failure: Mutex::new(None),
            aborted: Mutex::default(),
            threads,
            start: Mutex::new(None),
            started: Condvar::new(),
            handles: (0..threads).map(|_| Handles::default()).collect(),
            boards: Boards::of(plan, bundles),
            seconds: Mutex::default(),
            limits: plan.groups.iter().map(|group| Limit::new(group.until, group.threads)).collect(),
            given_up: stalls::GivenUp::new(),
            empty: empty.map(|(number, _)| number).collect(),
            leaders: plan.groups.iter().map(Group::leader).collect(),
            pairs: plan.groups.iter().map(|group| (0..group.threads).map(|_| Pair::default()).collect()).collect(),
            starts: share_starts(plan),
            cpus: if plan.placement == Placement::Free { Vec::new() } else { placement::cpus() }.into(),
        }
    }

    /// The clock starts at `at`. A group that has no client on this node is over at once.
    fn begin(&self, at: Nanos) {
        self.limits.iter().for_each(|limit| limit.begin(at));
        self.empty.iter().for_each(|number| self.group_ended(*number, at));
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

    /// A client was ended by its own error. Once there are no others the cycle has failed.
    fn abort(&self, error: Error) {
        let mut aborted = lock(&self.aborted);
        aborted.0 += 1;
        let first = aborted.1.get_or_insert(error).clone();
        if aborted.0 == self.threads {
            let said = first.message.as_deref().unwrap_or(first.kind.name());
            let words = match self.threads {
                1 => said.to_string(),
                all => format!("all {all} clients were aborted; the first one: {said}"),
            };
            self.fail(Error::with(first.kind, first.context, words).code(first.code.as_str().as_bytes()));
        }
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that a thread about to wait cannot miss it.
        let _guard = lock(&self.start);
        self.started.notify_all();
    }

    /// Waits until client `index` is one of the next ones that connect, or the cycle is stopped. A client looks the
    /// less often, the more are before it.
    fn wait_to_connect(&self, index: usize) {
        loop {
            let next = self.ready.load(Ordering::Acquire) + CONNECTING;
            if index < next || self.stop.load(Ordering::Relaxed) {
                return;
            }
            let pause = (1 + (index - next) / CONNECTING) as Nanos * MILLISECOND;
            Monotonic.sleep_until(Monotonic.now() + pause, &self.stop);
        }
    }

    /// Waits for the common start; `None` when the cycle is stopped before.
    fn wait_for_start(&self) -> Option<Nanos> {
        while carrier::carried() && !self.stop.load(Ordering::Relaxed) {
            // Other clients of this thread still connect. The start lies in the future when it is told.
            if let Some(start) = *lock(&self.start) {
                return Some(start);
            }
            // All clients look at the same times. If each looked at its own, the thread would hardly sleep. The more
            // they are, the longer before it the start is told, and the less often they have to look.
            let every = MILLISECOND * (1 + self.threads / CONNECTING) as Nanos;
            carrier::pause_until((Monotonic.now() / every + 1) * every);
        }
        let mut start = lock(&self.start);
        while start.is_none() && !self.stop.load(Ordering::Relaxed) {
            start = self.started.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        *start
    }
}

/// A thread of the operating system.
struct OsThread {
    handle: JoinHandle<Carried>,
    clients: usize,
    /// A carrier, whose clients may move to others.
    together: bool,
}

/// A cycle under way. Spawned, then ready, then started, then finished and joined.
pub struct Cycle {
    shared: Arc<Shared>,
    carriers: Vec<OsThread>,
    collector: JoinHandle<Vec<(usize, Second)>>,
    trace: Option<TraceWriter>,
    /// Names of the groups.
    groups: Vec<String>,
}

impl Cycle {
    /// Starts the threads; each opens its connections and then waits.
    pub fn spawn(plan: &LoadPlan) -> Result<Self> {
        plan.refuse()?;
        let plan = &plan.with_times();
        let trace = plan.trace.as_deref().map(TraceWriter::create).transpose()?;
        let bundles = plan.bundles();
        let shared = Arc::new(Shared::new(plan, &bundles));
        let groups = plan.groups.iter().map(|group| group.name.clone()).collect();
        let mut cycle = Self { carriers: Vec::new(), collector: collecting(&shared, plan), shared, trace, groups };
        if let Err(error) = cycle.spawn_all(plan, bundles) {
            cycle.shared.fail(error);
            // Clients that have no thread never end.
            let begun: usize = cycle.carriers.iter().map(|thread| thread.clients).sum();
            cycle.shared.running.fetch_sub(plan.threads() - begun, Ordering::Release);
        }
        Ok(cycle)
    }

    fn spawn_all(&mut self, plan: &LoadPlan, bundles: Bundles) -> Result<()> {
        let Bundles { shared, single, alone } = bundles;
        let cpus = Arc::clone(&self.shared.cpus);
        let cpu_of = |number: usize| (!cpus.is_empty()).then(|| cpus[number % cpus.len()]);
        let stay = |number: usize| cpu_of(number).filter(|_| plan.placement == Placement::Pinned);
        for (number, index) in single.into_iter().chain(alone).enumerate() {
            self.spawn_alone(plan, index, stay(number))?;
        }
        #[cfg(target_os = "linux")]
        if !shared.is_empty() {
            let clients = shared.iter().map(Vec::len).sum();
            // With fewer carriers than CPUs clients cannot go to each of them.
            let placed = plan.placement == Placement::Pinned || shared.len() >= cpus.len();
            let fleet = Fleet::new((0..shared.len()).map(|berth| cpu_of(berth).filter(|_| placed)).collect(), clients);
            let fleet = Arc::new(fleet.map_err(|e| Error::with(ErrorKind::Setup, "carry clients", e.to_string()))?);
            let mut waiting = clients;
            for (berth, threads) in shared.into_iter().enumerate() {
                let (of_thread, cpu, crew) = (Arc::clone(&fleet), stay(berth), threads.len());
                let run = move |plan: &LoadPlan, shared: &Arc<Shared>, crew| {
                    run_carrier(&of_thread, (berth, cpu), plan, shared, crew)
                };
                if let Err(error) = self.start_thread(plan, threads, Some(berth), run) {
                    // Those that run must not wait for clients that never come.
                    fleet.leave(waiting);
                    return Err(error);
                }
                waiting -= crew;
            }
        }
        Ok(())
    }

    fn spawn_alone(&mut self, plan: &LoadPlan, index: usize, cpu: Option<usize>) -> Result<()> {
        self.start_thread(plan, vec![index], None, move |plan, shared, client| run_alone(plan, shared, client, cpu))
    }

    fn start_thread(
        &mut self,
        plan: &LoadPlan,
        threads: Vec<usize>,
        berth: Option<usize>,
        run: impl FnOnce(&LoadPlan, &Arc<Shared>, Crew) -> Carried + Send + 'static,
    ) -> Result<()> {
        let (first, clients) = (threads[0], threads.len());
        let crew: Crew = threads.into_iter().map(|index| (index, self.recorder(plan, index, berth))).collect();
        let (plan, shared) = (plan.clone(), Arc::clone(&self.shared));
        let builder = std::thread::Builder::new().name(format!("client-{first}")).stack_size(STACK_BYTES);
        let spawned = builder.spawn(move || {
            let outside = catch_unwind(AssertUnwindSafe(|| run(&plan, &shared, crew)));
            outside.unwrap_or_else(|panic| {
                shared.fail(defect_of(panic.as_ref()));
                Carried::default()
            })
        });
        let handle =
            spawned.map_err(|e| Error::with(ErrorKind::Setup, "start thread", format!("client {first}: {e}")))?;
        self.carriers.push(OsThread { handle, clients, together: berth.is_some() });
        Ok(())
    }

    /// The recorder of client `index`, which begins at carrier `berth` or has a thread to itself.
    fn recorder(&self, plan: &LoadPlan, index: usize, berth: Option<usize>) -> Recorder {
        let trace = self.trace.as_ref().map(|writer| writer.client(index as u64));
        let number = plan.seat(index).0;
        let Boards { carried, alone } = &self.shared.boards[number];
        let board = match berth {
            Some(berth) => &carried[berth],
            None => &alone[alone.partition_point(|(other, _)| *other < index)].1,
        };
        Recorder::new(plan.workload.kinds().len(), Arc::clone(board), trace)
            .moving(carried)
            .responding(!plan.groups[number].legs.is_empty())
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
        let totals = self.shared.boards.iter().flat_map(Boards::all).map(|board| board.course.totals());
        totals.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    }

    /// The seconds from number `from` on that were collected so far, over all groups and kinds: a second is collected
    /// a second after its end.
    pub fn seconds(&self, from: usize) -> Vec<Second> {
        lock(&self.shared.seconds).iter().skip(from).copied().collect()
    }

    /// Asks the clients to end after the transaction they are in.
    pub fn stop(&self) {
        self.shared.end();
    }

    /// Ends what the clients are waiting for. With a `reason` the cycle has failed, for instance
    /// because the server does not answer any more; without one the user wants it, and those whose transactions end
    /// by themselves soon are left alone: an end by force takes a connection of its own for each.
    pub fn abandon(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.shared.fail(Error::with(ErrorKind::Disconnected, "load", reason));
        }
        self.stop();
        let left = || self.shared.running.load(Ordering::Acquire);
        let mut leaving = Leaving::new(left(), Monotonic.now());
        while reason.is_none() && leaving.go_on(left(), Monotonic.now()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        interrupt_all(&self.shared.handles);
    }

    /// Waits for all clients and gives what they did.
    pub fn join(self) -> Result<CycleOutcome> {
        let (mut carriers, mut clients) = (Vec::new(), Vec::new());
        for OsThread { handle, together, .. } in self.carriers {
            let carried = handle.join().unwrap_or_default();
            if together {
                carriers.push(carried);
            } else {
                clients.extend(share_cpu(vec![carried]));
            }
        }
        clients.extend(share_cpu(carriers));
        clients.sort_by_key(|(index, _)| *index);
        let mut clients: Vec<_> = clients.into_iter().map(|(_, client)| client).collect();
        if clients.len() < self.shared.threads {
            // What the others did is not what the cycle did.
            let lost = self.shared.threads - clients.len();
            self.shared.fail(defect(&format!("{lost} of {} clients left nothing", self.shared.threads)));
        }
        self.shared.end();
        let mut seconds = self.collector.join().map_err(|panic| defect_of(panic.as_ref()))?;
        if let Some(start) = *lock(&self.shared.start) {
            close(&self.shared.limits, start, &mut clients, &mut seconds);
        }
        let untraced = self.trace.map_or(Ok(0), TraceWriter::finish)?;
        let given_up = self.shared.given_up.get().map(|stall| stalls::error(*stall, &self.groups, &clients));
        let failure = lock(&self.shared.failure).take().or(given_up);
        let times = self.shared.boards.iter().map(Boards::sum).collect();
        Ok(CycleOutcome { clients, times, seconds, failure, untraced })
    }
}

/// Closes the ledgers of all clients, whose groups have ended now, and tells the seconds of what lasted. A group without
/// a deadline ends with its last client.
fn close(limits: &[Limit], start: Nanos, clients: &mut [ClientOutcome], seconds: &mut [(usize, Second)]) {
    for (number, limit) in limits.iter().enumerate() {
        let group = |client: &&mut ClientOutcome| client.group == number;
        let last = clients.iter_mut().filter(group).filter_map(|client| client.recorder.left_at()).max();
        let end = if limit.deadline() == Nanos::MAX { last.unwrap_or(start) } else { limit.deadline() };
        let mut lasting = Vec::new();
        for client in clients.iter_mut().filter(group) {
            client.recorder.close(end);
            lasting.extend_from_slice(client.recorder.lasting());
        }
        for (_, second) in seconds.iter_mut().filter(|(group, _)| *group == number && !lasting.is_empty()) {
            second.lasted(&lasting, start, end);
        }
    }
}

/// Clients that were asked to end.
struct Leaving {
    asked: Nanos,
    left: usize,
    /// When the last one ended.
    ended: Nanos,
}

impl Leaving {
    fn new(left: usize, now: Nanos) -> Self {
        Self { asked: now, left, ended: now }
    }

    /// Whether those that are `left` may take more time.
    fn go_on(&mut self, left: usize, now: Nanos) -> bool {
        if left < self.left {
            (self.left, self.ended) = (left, now);
        }
        left > 0 && now < (self.ended + GRACE).min(self.asked + LONGEST_GRACE)
    }
}

/// Ends what all clients wait for that have not ended, side by side: each end may wait for a server that does not answer,
/// and no client may go on with its transaction until those before it have been waited for.
fn interrupt_all(handles: &[Handles]) {
    std::thread::scope(|scope| {
        for client in handles.iter().filter(|client| !lock(&client.0).is_empty()) {
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
    fn clients_may_take_their_time_while_others_end_and_a_second_in_all() {
        let mut leaving = Leaving::new(3, 0);
        let looks = [(3, 400, true), (2, 499, true), (2, 998, true), (1, 999, true), (1, 1000, false)];
        for (left, at, goes_on) in looks {
            assert_eq!(leaving.go_on(left, at * MILLISECOND), goes_on, "{left} at {at} ms");
        }
        assert!(!Leaving::new(3, 0).go_on(3, GRACE), "nobody ends");
        assert!(!Leaving::new(3, 0).go_on(0, 1), "all have ended");
    }

    #[test]
    fn no_end_of_a_client_waits_for_that_of_another() {
        let (asked, met) = (Arc::default(), Arc::new(AtomicBool::new(true)));
        let handles: Vec<Handles> = (0..30).map(|_| Handles::default()).collect();
        // Ten have ended.
        for client in &handles[10..] {
            client.put(0, Some(Box::new(Together { asked: Arc::clone(&asked), all: 20, met: Arc::clone(&met) })));
        }
        interrupt_all(&handles);
        assert!(met.load(Ordering::Relaxed));
        assert_eq!(*lock(&asked.0), 20);
    }
}
