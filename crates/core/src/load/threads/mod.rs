//! A cycle: threads with their clients, all connected before the clock starts, one common start.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::board::Board;
use crate::clock::{Monotonic, Nanos};
use crate::course::Second;
use crate::error::{Error, ErrorKind, Result};
use crate::locking::lock;
use crate::placement::{Placed, Placement};
use crate::recorder::Recorder;
pub use crate::stage::{Pacing, Until};
use crate::trace::TraceWriter;
use crate::workload::Found;
use clients::{defect, defect_of, run_alone, share_cpu, Carried, Crew};
#[cfg(target_os = "linux")]
use clients::{run_carrier, Fleet};
use ending::{close, interrupt_all, Leaving};
use plan::Bundles;
pub use plan::{Group, LoadPlan};
use seconds::collecting;
use shared::{Boards, Shared};
pub use stalls::GIVE_UP_S;

mod clients;
mod ending;
mod plan;
mod seconds;
mod shared;
mod stalls;

/// Stack of a thread of load. Only touched pages take memory; TLS handshakes need some depth.
const STACK_BYTES: usize = 512 * 1024;
const SECOND: Nanos = 1_000_000_000;
const MILLISECOND: Nanos = 1_000_000;
/// How many clients connect at a time: with thousands at the door of a server, logins would wait for each other until
/// they time out.
pub const CONNECTING: usize = 64;

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
    /// What their statements found; a statement appears once for each client.
    pub found: Vec<Found>,
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
    pub dropped_trace_rows: u64,
    /// The servers that sessions may be of, as [`Recorder::served`] counts them.
    pub hosts: Vec<String>,
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
    hosts: Vec<String>,
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
        let (hosts, collector) = (plan.hosts(), collecting(&shared, plan));
        let mut cycle = Self { carriers: Vec::new(), collector, shared, trace, groups, hosts };
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
            .responding(board.is_open())
            .pausing(plan.pauses)
            .served_by(self.hosts.len())
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
        let dropped_trace_rows = self.trace.map_or(Ok(0), TraceWriter::finish)?;
        let given_up = self.shared.given_up.get().map(|stall| stalls::error(*stall, &self.groups, &clients));
        let failure = lock(&self.shared.failure).take().or(given_up);
        let times = self.shared.boards.iter().map(Boards::sum).collect();
        Ok(CycleOutcome { clients, times, seconds, failure, dropped_trace_rows, hosts: self.hosts })
    }
}
