//! What a thread of the operating system does in a cycle: it runs its clients, each from its connections
//! to its end.

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::STACK_BYTES;
use super::{ClientOutcome, Group, LoadPlan, Pacing, Shared, SECOND};
#[cfg(target_os = "linux")]
use crate::carrier;
use crate::clock::{sleep_precisely, Monotonic, Nanos};
use crate::error::{Error, ErrorKind, Result};
use crate::fill::Arrival;
use crate::generator::Runner;
use crate::legs::{Course, Leg, Starts};
use crate::pacer::{ClosedLoop, Pacer};
use crate::pairs::InStep;
use crate::placement::{pin_once, Placed, Placement};
use crate::recorder::Recorder;
use crate::seats::Seat;
use crate::stage::Whose;
use crate::terminals::Terminals;
use crate::workload::{Bell, Client, ClientId};

/// Counts a client as ended, however it ends and even when it never began. Otherwise the cycle would wait
/// for it for ever.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}

/// A client to be run: what it did, with its number, or nothing when it panicked.
type Body = Box<dyn FnOnce() -> Option<(usize, ClientOutcome)>>;

/// CPU time (user, system).
type CpuTime = (Nanos, Nanos);

/// What happened on a thread of the operating system.
#[derive(Default)]
pub(super) struct Carried {
    /// Clients that ended on it, with their numbers.
    pub(super) clients: Vec<(usize, ClientOutcome)>,
    /// Its CPU time (user, system) from the start of the cycle to the end of its last client.
    pub(super) cpu_ns: CpuTime,
}

/// The clients of one thread of the operating system, with their recorders.
pub(super) type Crew = Vec<(usize, Recorder)>;

/// Runs one client on this thread, which it may block. With `cpu` it stays on that one.
pub(super) fn run_alone(plan: &LoadPlan, shared: &Arc<Shared>, client: Crew, cpu: Option<usize>) -> Carried {
    cpu.map(pin_once);
    let (mut bodies, mut done) = (bodies(plan, shared, client).collect::<Vec<_>>(), Vec::new());
    plan.engine.on_thread(&mut || done.extend(bodies.drain(..).map(|body| body())));
    tally(done)
}

/// The carriers of a cycle.
#[cfg(target_os = "linux")]
pub(super) type Fleet = carrier::Fleet<Option<(usize, ClientOutcome)>>;

/// Runs carrier `berth` of `fleet` with `crew` on this thread. With `cpu` it stays on that one.
#[cfg(target_os = "linux")]
pub(super) fn run_carrier(
    fleet: &Fleet,
    (berth, cpu): (usize, Option<usize>),
    plan: &LoadPlan,
    shared: &Arc<Shared>,
    crew: Crew,
) -> Carried {
    cpu.map(pin_once);
    // Clients are dealt out to the carriers in turn.
    let numbers = (berth..).step_by(fleet.berths());
    let bodies = numbers.zip(bodies(plan, shared, crew)).collect();
    match fleet.carry(berth, bodies, STACK_BYTES) {
        Ok(done) => tally(done.into_iter().map(|(_, done)| done).collect()),
        Err(error) => {
            shared.fail(Error::with(ErrorKind::Setup, "carry clients", error.to_string()));
            Carried::default()
        }
    }
}

/// They have the plan in common: a copy for each would not stay in the caches from one of its transactions to the next.
fn bodies<'a>(plan: &LoadPlan, shared: &'a Arc<Shared>, crew: Crew) -> impl Iterator<Item = Body> + 'a {
    let plan = Arc::new(plan.clone());
    crew.into_iter().map(move |(index, recorder)| {
        let (plan, ending) = (Arc::clone(&plan), Ending(Arc::clone(shared)));
        let body = move || {
            let shared = &ending.0;
            let run = AssertUnwindSafe(|| client_thread(&plan, shared, index, recorder));
            // The other clients of this thread end in order.
            let outcome =
                catch_unwind(run).map_err(|panic| said(panic.as_ref()).map(|words| shared.fail(defect(words))));
            outcome.ok().map(|outcome| (index, outcome))
        };
        Box::new(body) as Body
    })
}

fn tally(done: Vec<Option<(usize, ClientOutcome)>>) -> Carried {
    let (from, to) = (SPENT.get().0.unwrap_or_default(), SPENT.get().1.unwrap_or_else(thread_cpu));
    let clients = done.into_iter().flatten().collect();
    Carried { clients, cpu_ns: (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1)) }
}

/// What a panic says. (A client that is unwound because its carrier failed says nothing.)
fn said(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

/// The error of a cycle in which a thread of load panicked.
pub(super) fn defect(words: &str) -> Error {
    Error::with(ErrorKind::Setup, "client", format!("a thread of load panicked, a defect of dsbench: {words}"))
}

pub(super) fn defect_of(panic: &(dyn Any + Send)) -> Error {
    defect(said(panic).unwrap_or("it left no message"))
}

/// Divides the CPU time of carriers equally among the clients that they ran, as these move between them: each saw
/// that of all, from the same start.
pub(super) fn share_cpu(carriers: Vec<Carried>) -> Vec<(usize, ClientOutcome)> {
    let whole = carriers.iter().fold((0, 0), |sum, one| (sum.0 + one.cpu_ns.0, sum.1 + one.cpu_ns.1));
    let mut clients: Vec<_> = carriers.into_iter().flat_map(|one| one.clients).collect();
    let count = clients.len() as Nanos;
    // What does not divide is not lost: the first ones have a nanosecond more.
    let share = |nanos: Nanos, nth: usize| nanos / count + Nanos::from((nth as Nanos) < nanos % count);
    for (nth, (_, client)) in clients.iter_mut().enumerate() {
        client.cpu_ns = (share(whole.0, nth), share(whole.1, nth));
    }
    clients
}

thread_local! {
    /// CPU time (user, system) of this thread when its first client started, and when its last one ended.
    static SPENT: Cell<(Option<CpuTime>, Option<CpuTime>)> = const { Cell::new((None, None)) };
}

/// A client starts on this thread.
// Not inlined, as the client may end on another: the address of what belongs to a thread must not be kept.
#[inline(never)]
fn starts() {
    let (first, last) = SPENT.get();
    SPENT.set((first.or_else(|| Some(thread_cpu())), last));
}

/// A client ends on this thread.
#[inline(never)]
fn ends() {
    SPENT.set((SPENT.get().0, Some(thread_cpu())));
}

/// Thread `index` of all groups.
fn client_thread(plan: &LoadPlan, shared: &Arc<Shared>, index: usize, mut recorder: Recorder) -> ClientOutcome {
    sleep_precisely();
    let (number, within) = plan.seat(index);
    let group = &plan.groups[number];
    let seed = seed_of(plan.seed, number);
    let ahead = plan.groups[..number].iter().map(|group| group.clients).sum();
    let who = |id| ClientId { role: group.role, id, clients: group.clients, ahead };
    let mut clients: Vec<Box<dyn Client>> =
        group.clients_of(within).map(|id| plan.workload.client(who(id), seed)).collect();
    let bell: Arc<dyn Bell> = Arc::new(Over { shared: Arc::clone(shared), group: number });
    for client in &mut clients {
        client.heed(Arc::clone(&bell));
        if plan.statements {
            client.time_statements();
        }
    }
    let thread = Thread { plan, shared, index, number, within, seed };
    let done = thread.load(&mut clients, &mut recorder).unwrap_or_else(|error| {
        shared.fail(error);
        Done::default()
    });
    shared.handles[index].clear();
    if let Pacing::InStep(other) = group.pacing {
        let (pair, half) = shared.pair(number, other, within);
        pair.leave(half);
    }
    shared.client_ended(number);
    recorder.finish();
    let sums = clients.iter().flat_map(|client| client.sums()).collect();
    let found = clients.iter().flat_map(|client| client.found()).copied().collect();
    let (missed, (placed, moves)) = (done.missed, done.placed);
    ClientOutcome { group: number, recorder, missed, sums, found, placed, moves, cpu_ns: (0, 0) }
}

/// The end of a cycle for the clients of one group.
struct Over {
    shared: Arc<Shared>,
    group: usize,
}

impl Bell for Over {
    fn rung(&self) -> bool {
        let limit = &self.shared.limits[self.group];
        self.shared.stop.load(Ordering::Relaxed) || Monotonic.now() >= limit.deadline()
    }
}

/// Groups draw other inputs than each other; a group that is alone draws those of the cycle's seed.
fn seed_of(seed: u64, group: usize) -> u64 {
    seed ^ (group as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a client leaves beside its records: missed starts; how it was placed, and how often it moved.
struct Done {
    missed: u64,
    placed: (Placed, u64),
}

impl Default for Done {
    fn default() -> Self {
        Self { missed: 0, placed: (Placed::Free(None), 0) }
    }
}

/// The starts of the clients `members` of an open loop.
fn starts_of(group: &Group, seed: u64, members: Range<u64>) -> Starts {
    let (rate, whose, arrival) = match group.pacing {
        Pacing::Constant(rate, whose) => (rate, whose, Arrival::Constant),
        Pacing::Poisson(rate, whose) => (rate, whose, Arrival::Poisson),
        _ => (0.0, Whose::All, Arrival::Poisson),
    };
    let rate = if whose == Whose::Each { rate * group.clients as f64 } else { rate };
    let legs = if group.legs.is_empty() { vec![Leg::steady(rate)] } else { group.legs.clone() };
    Starts::new(legs, seed, members, group.clients, arrival)
}

/// Of each group of an open loop the starts that its clients on this node share.
pub(super) fn share_starts(plan: &LoadPlan) -> Vec<Option<Arc<Starts>>> {
    let of = |(number, group): (usize, &Group)| {
        let shared = matches!(group.pacing, Pacing::Constant(_, whose) | Pacing::Poisson(_, whose) if whose != Whose::Each)
            || !group.legs.is_empty();
        let members = group.first_client..group.first_client + group.threads as u64;
        shared.then(|| Arc::new(starts_of(group, seed_of(plan.seed, number), members)))
    };
    plan.groups.iter().enumerate().map(of).collect()
}

/// A thread of a group: its number among all of the cycle, that of its group, that within it.
struct Thread<'p> {
    plan: &'p LoadPlan,
    shared: &'p Shared,
    index: usize,
    number: usize,
    within: usize,
    seed: u64,
}

impl Thread<'_> {
    fn group(&self) -> &Group {
        &self.plan.groups[self.number]
    }

    /// Lets `runner` follow its server or stay, as the run wants it.
    fn place(&self, runner: &mut Runner<'_, Monotonic>) {
        let cpus = &self.shared.cpus;
        match self.plan.placement {
            Placement::Free => {}
            _ if cpus.is_empty() => runner.stay(Placed::Free(Some("this system binds no threads"))),
            Placement::Pinned => runner.stay(Placed::Pinned),
            Placement::Follow => match self.group().pacing {
                Pacing::Closed => runner.follow(self.index, self.plan.threads(), cpus),
                Pacing::InStep(_) => runner.stay(Placed::Free(Some("keeps step with another client"))),
                // Pinned, it could be woken late for a start.
                _ => runner.stay(Placed::Free(Some("starts at set times"))),
            },
        }
    }

    /// Connects, waits for the start and runs.
    fn load(&self, clients: &mut [Box<dyn Client>], recorder: &mut Recorder) -> Result<Done> {
        let (plan, shared, group) = (self.plan, self.shared, self.group());
        let (mut pacer, seats) = self.seated(clients)?;
        let handles = &shared.handles[self.index];
        shared.wait_to_connect(self.index);
        let engine = plan.engine_of(group);
        let mut runner = Runner::connect(&group.conduct, engine, seats, Monotonic, &shared.stop, handles)?;
        runner.note_hosts(plan.first_host(group));
        self.place(&mut runner);
        shared.ready.fetch_add(1, Ordering::Release);
        let Some(start) = shared.wait_for_start() else { return Ok(Done::default()) };
        starts();
        let limit = &shared.limits[self.number];
        let missed = match group.pacing {
            // Known when compiled, the closed loop asks nothing when to start.
            Pacing::Closed => runner.run(start, plan.ramp_up, limit, &mut ClosedLoop, recorder),
            _ => runner.run(start, plan.ramp_up, limit, pacer.as_mut(), recorder),
        };
        ends();
        if let Some(error) = runner.aborted() {
            shared.abort(error);
        }
        Ok(Done { missed: missed?, placed: runner.placed() })
    }

    /// The starts of client `id`: those that it shares with the others of this node, or of its own where each has a rate.
    fn course(&self, id: u64) -> Box<dyn Pacer> {
        let own = || Arc::new(starts_of(self.group(), self.seed, id..id + 1));
        let shared = self.shared.starts[self.number].as_ref();
        Box::new(Course::new(shared.map_or_else(own, Arc::clone), id))
    }

    /// The pacer of the thread and its seats, the first of each client's transactions drawn.
    fn seated<'a>(&'a self, clients: &'a mut [Box<dyn Client>]) -> Result<(Box<dyn Pacer + 'a>, Vec<Seat<'a>>)> {
        let group = self.group();
        let id = group.first_client + self.within as u64;
        let pacer: Box<dyn Pacer + 'a> = match group.pacing {
            Pacing::Closed => Box::new(ClosedLoop),
            Pacing::InStep(other) => {
                let (pair, half) = self.shared.pair(self.number, other, self.within);
                Box::new(InStep::new(pair, half, &self.shared.stop))
            }
            Pacing::Constant(..) | Pacing::Poisson(..) => self.course(id),
            Pacing::Terminals(_) => {
                let mut terminals = Terminals::new(self.plan.workload.as_ref(), self.seed)?;
                let seat = |(id, client): (u64, &'a mut Box<dyn Client>)| {
                    let first = terminals.enter(id, client.as_mut());
                    Seat::new(client.as_mut(), first)
                };
                let seats = group.clients_of(self.within).zip(clients).map(seat).collect();
                return Ok((Box::new(terminals), seats));
            }
        };
        Ok((pacer, clients.iter_mut().map(|client| Seat::new(client.as_mut(), 0)).collect()))
    }
}

/// CPU time of the calling thread: (user, system) in ns; zeros where the system cannot tell.
fn thread_cpu() -> CpuTime {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a zeroed rusage is valid, and the call only writes to it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } == 0 {
            let nanos = |t: libc::timeval| t.tv_sec as Nanos * SECOND + t.tv_usec as Nanos * 1000;
            return (nanos(usage.ru_utime), nanos(usage.ru_stime));
        }
    }
    (0, 0)
}
