//! What a thread of the operating system does in a cycle: it runs its clients, each from its connections
//! to its end.

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
use crate::generator::Runner;
use crate::pacer::{ClosedLoop, ConstantRate, Pacer, PoissonRate};
use crate::pairs::InStep;
use crate::recorder::Recorder;
use crate::seats::Seat;
use crate::stage::Whose;
use crate::terminals::Terminals;
use crate::workload::{Client, ClientId};

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

/// Runs `threads` of the plan on this thread of the operating system.
pub(super) fn carry_clients(
    plan: LoadPlan,
    shared: Arc<Shared>,
    threads: Vec<usize>,
    recorders: Vec<Recorder>,
) -> Vec<(usize, ClientOutcome)> {
    let bodies = threads.into_iter().zip(recorders).map(|(index, recorder)| -> Body {
        let (plan, ending) = (plan.clone(), Ending(Arc::clone(&shared)));
        Box::new(move || {
            let shared = &*ending.0;
            let run = AssertUnwindSafe(|| client_thread(&plan, shared, index, recorder));
            // The other clients of this thread end in order.
            let outcome = catch_unwind(run).map_err(|panic| defect(panic.as_ref()).map(|error| shared.fail(error)));
            outcome.ok().map(|outcome| (index, outcome))
        })
    });
    let outcomes = run_together(bodies.collect()).unwrap_or_else(|error| {
        shared.fail(Error::with(ErrorKind::Setup, "carry clients", error.to_string()));
        Vec::new()
    });
    share_cpu(outcomes.into_iter().flatten().collect())
}

#[cfg(target_os = "linux")]
fn run_together(mut bodies: Vec<Body>) -> std::io::Result<Vec<Option<(usize, ClientOutcome)>>> {
    match bodies.len() {
        // A client that is alone may block its thread.
        1 => Ok(bodies.drain(..).map(|body| body()).collect()),
        _ => carrier::carry(bodies, STACK_BYTES),
    }
}

/// Every client has its own thread.
#[cfg(not(target_os = "linux"))]
fn run_together(bodies: Vec<Body>) -> std::io::Result<Vec<Option<(usize, ClientOutcome)>>> {
    Ok(bodies.into_iter().map(|body| body()).collect())
}

/// What a client says that panicked. (One that is unwound because its carrier failed says nothing.)
fn defect(panic: &(dyn std::any::Any + Send)) -> Option<Error> {
    let text = panic.downcast_ref::<&str>().copied();
    let words = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))?;
    Some(Error::with(ErrorKind::Setup, "client", format!("a client panicked, a defect of dsbench: {words}")))
}

/// Divides the CPU time of a thread equally among the clients that it ran: each saw that of all, from
/// the same start to its own end.
fn share_cpu(mut clients: Vec<(usize, ClientOutcome)>) -> Vec<(usize, ClientOutcome)> {
    let whole = clients.iter().map(|(_, client)| client.cpu_ns).max_by_key(|(user, system)| user + system);
    let (user, system) = whole.unwrap_or_default();
    let count = clients.len() as Nanos;
    // What does not divide is not lost: the first ones have a nanosecond more.
    let share = |nanos: Nanos, nth: usize| nanos / count + Nanos::from((nth as Nanos) < nanos % count);
    for (nth, (_, client)) in clients.iter_mut().enumerate() {
        client.cpu_ns = (share(user, nth), share(system, nth));
    }
    clients
}

/// Thread `index` of all groups.
fn client_thread(plan: &LoadPlan, shared: &Shared, index: usize, mut recorder: Recorder) -> ClientOutcome {
    sleep_precisely();
    let (number, within) = plan.seat(index);
    let group = &plan.groups[number];
    let seed = seed_of(plan.seed, number);
    let who = |id| ClientId { role: group.role, id, clients: group.clients };
    let mut clients: Vec<Box<dyn Client>> =
        group.clients_of(within).map(|id| plan.workload.client(who(id), seed)).collect();
    let thread = Thread { plan, shared, index, number, within, seed };
    let (missed, cpu_ns) = thread.load(&mut clients, &mut recorder).unwrap_or_else(|error| {
        shared.fail(error);
        (0, (0, 0))
    });
    if let Pacing::InStep(other) = group.pacing {
        let (pair, half) = shared.pair(number, other, within);
        pair.leave(half);
    }
    shared.client_ended(number);
    recorder.finish();
    let sums = clients.iter().flat_map(|client| client.sums()).collect();
    ClientOutcome { group: number, recorder, missed, sums, cpu_ns }
}

/// Groups draw other inputs than each other; a group that is alone draws those of the cycle's seed.
fn seed_of(seed: u64, group: usize) -> u64 {
    seed ^ (group as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
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

    /// Connects, waits for the start and runs; gives the missed starts and the thread's CPU time.
    fn load(&self, clients: &mut [Box<dyn Client>], recorder: &mut Recorder) -> Result<(u64, (Nanos, Nanos))> {
        let (plan, shared, group) = (self.plan, self.shared, self.group());
        let (mut pacer, seats) = self.seated(clients)?;
        let handles = &shared.handles[self.index];
        let mut runner =
            Runner::connect(&group.conduct, plan.engine.as_ref(), seats, Monotonic, &shared.stop, handles)?;
        shared.ready.fetch_add(1, Ordering::Release);
        let Some(start) = shared.wait_for_start() else { return Ok((0, (0, 0))) };
        let before = thread_cpu();
        let limit = &shared.limits[self.number];
        let missed = match group.pacing {
            // Known when compiled, the closed loop asks nothing when to start.
            Pacing::Closed => runner.run(start, plan.ramp_up, limit, &mut ClosedLoop, recorder),
            _ => runner.run(start, plan.ramp_up, limit, pacer.as_mut(), recorder),
        };
        let after = thread_cpu();
        Ok((missed?, (after.0 - before.0, after.1 - before.1)))
    }

    /// The pacer of the thread and its seats, the first of each client's transactions drawn.
    fn seated<'a>(&'a self, clients: &'a mut [Box<dyn Client>]) -> Result<(Box<dyn Pacer + 'a>, Vec<Seat<'a>>)> {
        let group = self.group();
        let id = group.first_client + self.within as u64;
        let of_all = |rate: f64, of: Whose| if of == Whose::Each { rate * group.clients as f64 } else { rate };
        let pacer: Box<dyn Pacer + 'a> = match group.pacing {
            Pacing::Closed => Box::new(ClosedLoop),
            Pacing::InStep(other) => {
                let (pair, half) = self.shared.pair(self.number, other, self.within);
                Box::new(InStep::new(pair, half, &self.shared.stop))
            }
            Pacing::Constant(rate, of) => Box::new(ConstantRate::new(id, group.clients, of_all(rate, of))),
            Pacing::Poisson(rate, of) => Box::new(PoissonRate::new(self.seed, id, group.clients, of_all(rate, of))),
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
fn thread_cpu() -> (Nanos, Nanos) {
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
