//! What a thread of the operating system does in a cycle: it runs its clients, each from its connections
//! to its end.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::STACK_BYTES;
use super::{ClientOutcome, CyclePlan, Pacing, Shared, SECOND};
#[cfg(target_os = "linux")]
use crate::carrier;
use crate::clock::{sleep_precisely, Monotonic, Nanos};
use crate::error::{Error, ErrorKind, Result};
use crate::generator::Runner;
use crate::pacer::{ClosedLoop, ConstantRate, Pacer, PoissonRate};
use crate::recorder::Recorder;
use crate::seats::Seat;
use crate::terminals::Terminals;
use crate::workload::Client;

/// Counts a client as ended, however it ends and even when it never began, so that nobody waits for it
/// for ever.
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
    plan: CyclePlan,
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

/// Every client has a thread of its own.
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

fn client_thread(plan: &CyclePlan, shared: &Shared, index: usize, mut recorder: Recorder) -> ClientOutcome {
    sleep_precisely();
    let mut clients: Vec<Box<dyn Client>> =
        plan.clients_of(index).map(|id| plan.workload.client_among(id, plan.clients, plan.seed)).collect();
    let (missed, cpu_ns) = load(plan, shared, index, &mut clients, &mut recorder).unwrap_or_else(|error| {
        shared.fail(error);
        (0, (0, 0))
    });
    recorder.finish();
    let sums = clients.iter().flat_map(|client| client.sums()).collect();
    ClientOutcome { recorder, missed, sums, cpu_ns }
}

/// Connects, waits for the start and runs; gives the missed starts and the thread's CPU time.
fn load(
    plan: &CyclePlan,
    shared: &Shared,
    index: usize,
    clients: &mut [Box<dyn Client>],
    recorder: &mut Recorder,
) -> Result<(u64, (Nanos, Nanos))> {
    let (mut pacer, seats) = seated(plan, index, clients)?;
    let handles = &shared.handles[index];
    let mut runner = Runner::connect(&plan.conduct, plan.engine.as_ref(), seats, Monotonic, &shared.stop, handles)?;
    shared.ready.fetch_add(1, Ordering::Release);
    let Some(start) = shared.wait_for_start() else { return Ok((0, (0, 0))) };
    let before = thread_cpu();
    let missed = match plan.pacing {
        // Known when compiled, the closed loop asks nobody when to start.
        Pacing::Closed => runner.run(start, &mut ClosedLoop, recorder),
        _ => runner.run(start, pacer.as_mut(), recorder),
    };
    let after = thread_cpu();
    Ok((missed?, (after.0 - before.0, after.1 - before.1)))
}

/// The pacer of thread `index` and its seats, the first of each client's transactions drawn.
fn seated<'a>(
    plan: &CyclePlan,
    index: usize,
    clients: &'a mut [Box<dyn Client>],
) -> Result<(Box<dyn Pacer>, Vec<Seat<'a>>)> {
    let id = plan.first_client + index as u64;
    let pacer: Box<dyn Pacer> = match plan.pacing {
        Pacing::Closed => Box::new(ClosedLoop),
        Pacing::Constant(rate) => Box::new(ConstantRate::new(id, plan.clients, rate)),
        Pacing::Poisson(rate) => Box::new(PoissonRate::new(plan.seed, id, plan.clients, rate)),
        Pacing::Terminals(_) => {
            let mut terminals = Terminals::new(plan.workload.as_ref(), plan.seed)?;
            let ids = plan.clients_of(index);
            let seat = |(id, client): (u64, &'a mut Box<dyn Client>)| {
                let first = terminals.enter(id, client.as_mut());
                Seat::new(client.as_mut(), first)
            };
            let seats = ids.zip(clients).map(seat).collect();
            return Ok((Box::new(terminals), seats));
        }
    };
    Ok((pacer, clients.iter_mut().map(|client| Seat::new(client.as_mut(), 0)).collect()))
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
