//! The carriers of a cycle, between which clients may move.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::epoll::Bell;
use super::{carried, Carrier, Entered};
use crate::locking::lock;
use crate::placement::pin_once;

/// A client to be run.
pub type Body<T> = Box<dyn FnOnce() -> T>;

/// Carriers with their CPUs, and the clients on their way between them.
pub struct Fleet<T> {
    cpus: Arc<[Option<usize>]>,
    berths: Vec<Berth<T>>,
    clients: usize,
    /// Clients that have not ended.
    left: AtomicUsize,
}

/// Where a carrier finds the clients that come to it.
struct Berth<T> {
    /// Nothing when the carrier has ended.
    arrivals: Mutex<Option<Vec<Passenger<T>>>>,
    bell: Bell,
}

struct Passenger<T> {
    client: usize,
    coroutine: Coroutine<(), (), T>,
    yielder: *const Yielder<(), ()>,
}

// SAFETY: a client moves by `go_on_at` alone, whose callers promise that nothing of it is bound to its thread.
unsafe impl<T> Send for Passenger<T> {}

/// A carrier's share of the clients that are left: on an error others must not wait for them.
struct Crew<'f, T: 'static> {
    fleet: &'f Fleet<T>,
    berth: usize,
    aboard: Cell<usize>,
}

impl<T: 'static> Fleet<T> {
    /// One carrier for each of `cpus`, a CPU where it is to have one, for `clients` clients in all, numbered from 0.
    /// Errors: no descriptors left.
    pub fn new(cpus: Vec<Option<usize>>, clients: usize) -> io::Result<Self> {
        let berth = |_| Ok(Berth { arrivals: Mutex::new(Some(Vec::new())), bell: Bell::new()? });
        let berths = cpus.iter().map(berth).collect::<io::Result<_>>()?;
        Ok(Self { cpus: cpus.into(), berths, clients, left: AtomicUsize::new(clients) })
    }

    /// How many carriers there are.
    pub fn berths(&self) -> usize {
        self.berths.len()
    }

    /// So many clients have ended, or will not come.
    pub fn leave(&self, count: usize) {
        if self.left.fetch_sub(count, Ordering::AcqRel) == count {
            self.berths.iter().for_each(|berth| berth.bell.ring());
        }
    }

    /// Runs this thread as carrier `berth`: first `bodies`, each with the number of its client, and whoever comes,
    /// until the clients of all carriers have ended. Gives what those gave that ended here. Errors and panics as
    /// those of [`super::carry`].
    pub fn carry(
        &self,
        berth: usize,
        bodies: Vec<(usize, Body<T>)>,
        stack_bytes: usize,
    ) -> io::Result<Vec<(usize, T)>> {
        assert!(!carried(), "a client carries no others");
        let crew = Crew { fleet: self, berth, aboard: Cell::new(bodies.len()) };
        let carrier = Carrier::new(self.clients, berth, Arc::clone(&self.cpus))?;
        carrier.epoll.add_bell(&self.berths[berth].bell)?;
        let mut aboard: Vec<Option<Coroutine<(), (), T>>> = (0..self.clients).map(|_| None).collect();
        for (client, body) in bodies {
            aboard[client] = Some(coroutine(body, stack_bytes)?);
            carrier.ready.borrow_mut().push_back(client);
        }
        let mut results = Vec::new();
        let _entered = Entered::new(&carrier);
        loop {
            while let Some(client) = carrier.next_ready() {
                carrier.running.set(client);
                let resumed = aboard[client].as_mut().map(|coroutine| coroutine.resume(()));
                if let Some(CoroutineResult::Return(result)) = resumed {
                    aboard[client] = None;
                    results.push((client, result));
                    crew.ended();
                } else if let Some(to) = carrier.departing.take() {
                    aboard[client] = self.hand_over(&carrier, &crew, aboard[client].take(), to);
                }
            }
            if self.left.load(Ordering::Acquire) == 0 {
                return Ok(results);
            }
            carrier.wait_for_events()?;
            for passenger in crew.arrivals() {
                self.cpus[berth].map(pin_once);
                carrier.yielders[passenger.client].set(passenger.yielder);
                carrier.ready.borrow_mut().push_back(passenger.client);
                aboard[passenger.client] = Some(passenger.coroutine);
            }
        }
    }

    /// Brings the client that runs to another carrier; gives it back where that one has ended.
    fn hand_over(
        &self,
        carrier: &Carrier,
        crew: &Crew<'_, T>,
        coroutine: Option<Coroutine<(), (), T>>,
        to: usize,
    ) -> Option<Coroutine<(), (), T>> {
        let (client, coroutine) = (carrier.running.get(), coroutine?);
        let mut arrivals = lock(&self.berths[to].arrivals);
        let Some(arrivals) = arrivals.as_mut() else {
            carrier.ready.borrow_mut().push_back(client);
            return Some(coroutine);
        };
        carrier.unwatch_all(client);
        crew.aboard.set(crew.aboard.get() - 1);
        arrivals.push(Passenger { client, coroutine, yielder: carrier.yielders[client].get() });
        self.berths[to].bell.ring();
        None
    }
}

fn coroutine<T: 'static>(body: Body<T>, stack_bytes: usize) -> io::Result<Coroutine<(), (), T>> {
    Ok(Coroutine::with_stack(DefaultStack::new(stack_bytes)?, move |yielder, ()| {
        Carrier::begun(yielder);
        body()
    }))
}

impl<T: 'static> Crew<'_, T> {
    fn ended(&self) {
        self.aboard.set(self.aboard.get() - 1);
        self.fleet.leave(1);
    }

    fn arrivals(&self) -> Vec<Passenger<T>> {
        let arrived = lock(&self.fleet.berths[self.berth].arrivals).as_mut().map(std::mem::take).unwrap_or_default();
        self.aboard.set(self.aboard.get() + arrived.len());
        arrived
    }
}

impl<T: 'static> Drop for Crew<'_, T> {
    fn drop(&mut self) {
        let stranded = lock(&self.fleet.berths[self.berth].arrivals).take().map_or(0, |those| those.len());
        match self.aboard.get() + stranded {
            0 => {}
            lost => self.fleet.leave(lost),
        }
    }
}
