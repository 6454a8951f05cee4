//! Carriers: a thread of the operating system that runs several clients of a cycle.
//!
//! A client waits for its server nearly all the time. With a thread each, every answer costs a switch
//! to another thread; a carrier finds the answers of several clients at once. Each client is a
//! coroutine: where it would wait for a socket, its carrier goes on with another, so that the load loop
//! and the drivers are written as if each client had its own thread.
//!
//! What a client does between two waits must be short, as the other clients of its carrier stand still
//! meanwhile. Only engines that wait in sockets alone are carried: see
//! [`Engine::waits_in_sockets`](crate::engine::Engine::waits_in_sockets).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use corosensei::Yielder;

use crate::clock::{Monotonic, Nanos};
use crate::placement::pin_once;
use epoll::{Epoll, Event};
pub use fleet::Fleet;
pub use watch::Watch;

mod epoll;
mod fleet;
mod watch;

thread_local! {
    /// The carrier of the client that runs on this thread now; null outside of any.
    static CURRENT: Cell<*const Carrier> = const { Cell::new(ptr::null()) };
}

/// What a client waits for; nothing when it is ready to go on.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    socket: Option<usize>,
    until: Option<Nanos>,
}

/// A socket that a carrier watches.
#[derive(Debug, Clone, Copy, Default)]
struct Watched {
    /// Counts the sockets that had this place, so that a late event of an earlier one is told apart.
    generation: u32,
    /// The client whose socket it is.
    client: usize,
    /// Nothing while the place is free.
    socket: Option<RawFd>,
    /// Something came since it was last read empty.
    readable: bool,
    /// Room to write has been reported since it was last asked for.
    writable: bool,
    /// The other side has closed: after the bytes that are left, a read returns the end.
    ended: bool,
}

struct Carrier {
    number: u64,
    epoll: Epoll,
    /// Its number among the carriers of its fleet, and the CPU of each of them.
    berth: usize,
    cpus: Arc<[Option<usize>]>,
    /// Where the client that runs wants to go on.
    departing: Cell<Option<usize>>,
    /// The client that runs.
    running: Cell<usize>,
    /// How each client gives the thread back; set while it has begun and not ended.
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
    waiting: Vec<Cell<Waiting>>,
    /// Clients that wait until some time.
    timed: Cell<usize>,
    watched: RefCell<Vec<Watched>>,
    free: RefCell<Vec<usize>>,
    /// Clients that can go on, each once.
    ready: RefCell<VecDeque<usize>>,
}

/// Runs every body as a coroutine of this thread, with a stack of `stack_bytes` each, until all have
/// ended; gives what they gave, in order. Errors: no memory for the stacks, no way to watch sockets; the
/// bodies are then dropped, and those that had begun are unwound.
///
/// # Panics
/// When called by a client that is itself carried: waiting here would block its carrier.
pub fn carry<T: 'static>(bodies: Vec<Box<dyn FnOnce() -> T>>, stack_bytes: usize) -> io::Result<Vec<T>> {
    let alone = Fleet::new(vec![None], bodies.len())?;
    let mut results = alone.carry(0, bodies.into_iter().enumerate().collect(), stack_bytes)?;
    results.sort_by_key(|(client, _)| *client);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The CPU on which the client that runs should go on, as its server's process is there: its thread is bound to its
/// CPU from now on, and where it is another the client moves to the carrier of that CPU. True when it went from
/// one CPU to another. Nothing happens where no carrier has it.
///
/// # Safety
/// Nothing that the client holds may be bound to the thread on which it runs: it may go on on another.
// Not inlined, as the address of what belongs to a thread must not be kept over it.
#[inline(never)]
pub unsafe fn go_on_at(cpu: usize) -> bool {
    let Some(carrier) = Carrier::current() else { return pin_once(cpu) };
    if carrier.cpus[carrier.berth] == Some(cpu) {
        pin_once(cpu);
        return false;
    }
    let berths = carrier.cpus.iter().enumerate().filter(|(_, at)| **at == Some(cpu));
    // Where several have it they share the clients.
    let Some((berth, _)) = berths.clone().nth(carrier.running.get() % berths.count().max(1)) else { return false };
    carrier.departing.set(Some(berth));
    // SAFETY: the client runs, so that its coroutine has begun and its yielder lives.
    unsafe { (*carrier.yielders[carrier.running.get()].get()).suspend(()) };
    // Here the thread is another one: `carrier` is no longer that of the client.
    true
}

/// Whether the client that runs can go on at `cpu`: a carrier has it, or the client has its thread to itself.
// Not inlined: see `carried`.
#[inline(never)]
pub fn goes_to(cpu: usize) -> bool {
    Carrier::current().is_none_or(|carrier| carrier.cpus.contains(&Some(cpu)))
}

/// Number of the carrier on which the client runs; nothing where it has its thread to itself.
// Not inlined: see `carried`.
#[inline(never)]
pub fn berth() -> Option<usize> {
    Carrier::current().map(|carrier| carrier.berth)
}

/// Pauses the client that runs; its carrier goes on with others.
pub fn pause(duration: Duration) {
    pause_until(Monotonic.now().saturating_add(duration.as_nanos() as Nanos));
}

/// Lets the client that runs wait until `at`; clients of a carrier that wait until the same time are
/// woken together.
pub fn pause_until(at: Nanos) {
    match Carrier::current() {
        Some(carrier) => carrier.suspend(Waiting { socket: None, until: Some(at) }),
        None => std::thread::sleep(Duration::from_nanos(at.saturating_sub(Monotonic.now()))),
    }
}

/// True when the caller is a client on a carrier: it must not block its thread.
// Not inlined, as the address of what belongs to a thread must not be kept while a client moves.
#[inline(never)]
pub fn carried() -> bool {
    !CURRENT.get().is_null()
}

/// Makes a carrier the current one of this thread for as long as it lives.
struct Entered;

impl Entered {
    fn new(carrier: &Carrier) -> Self {
        CURRENT.set(carrier);
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

impl Carrier {
    fn new(clients: usize, berth: usize, cpus: Arc<[Option<usize>]>) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            epoll: Epoll::new()?,
            berth,
            cpus,
            departing: Cell::new(None),
            running: Cell::new(0),
            yielders: (0..clients).map(|_| Cell::new(ptr::null())).collect(),
            waiting: (0..clients).map(|_| Cell::default()).collect(),
            timed: Cell::new(0),
            watched: RefCell::default(),
            free: RefCell::default(),
            ready: RefCell::default(),
        })
    }

    // Not inlined: see `carried`.
    #[inline(never)]
    fn current<'a>() -> Option<&'a Self> {
        // SAFETY: `Entered` keeps it set only while the carrier lives, and all that runs meanwhile on
        // this thread ends before, or leaves it by `go_on_at`.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Keeps how the client that begins gives its thread back.
    fn begun(yielder: &Yielder<(), ()>) {
        if let Some(carrier) = Self::current() {
            carrier.yielders[carrier.running.get()].set(ptr::from_ref(yielder));
        }
    }

    fn next_ready(&self) -> Option<usize> {
        self.ready.borrow_mut().pop_front()
    }

    /// Gives the thread to the other clients until one of the things waited for has come.
    fn suspend(&self, waiting: Waiting) {
        let client = self.running.get();
        self.waiting[client].set(waiting);
        self.timed.set(self.timed.get() + usize::from(waiting.until.is_some()));
        // SAFETY: the client runs, so that its coroutine has begun and its yielder lives.
        unsafe { (*self.yielders[client].get()).suspend(()) };
    }

    fn wake(&self, client: usize) {
        let waited = self.waiting[client].take();
        self.timed.set(self.timed.get() - usize::from(waited.until.is_some()));
        self.ready.borrow_mut().push_back(client);
    }

    #[inline]
    fn wait_for(&self, place: usize, until: Option<Nanos>, come: impl Fn(&Watched) -> bool) -> bool {
        loop {
            if come(&self.watched.borrow()[place]) {
                return true;
            }
            if until.is_some_and(|until| Monotonic.now() >= until) {
                return false;
            }
            self.suspend(Waiting { socket: Some(place), until });
        }
    }

    /// Watches `socket` for the client that runs; gives its place.
    #[cold]
    fn watch(&self, socket: RawFd) -> io::Result<usize> {
        let mut watched = self.watched.borrow_mut();
        let place = self.free.borrow_mut().pop().unwrap_or_else(|| {
            watched.push(Watched::default());
            watched.len() - 1
        });
        let generation = watched[place].generation.wrapping_add(1);
        let client = self.running.get();
        watched[place] = Watched { generation, client, socket: Some(socket), ..Watched::default() };
        let added = self.epoll.add(socket, watched[place].data(place));
        if added.is_err() {
            watched[place].socket = None;
            self.free.borrow_mut().push(place);
        }
        added.map(|()| place)
    }

    #[cold]
    fn unwatch(&self, place: usize, socket: RawFd) {
        // If this fails, the watch stays, but its generation is out of date and its events are ignored.
        let _ = self.epoll.remove(socket);
        let watched = &mut self.watched.borrow_mut()[place];
        watched.generation = watched.generation.wrapping_add(1);
        watched.socket = None;
        self.free.borrow_mut().push(place);
    }

    /// Forgets the sockets of a client that goes; they are watched again where it goes on.
    fn unwatch_all(&self, client: usize) {
        let of_client = |(place, watched): (usize, &Watched)| {
            let socket = watched.socket.filter(|_| watched.client == client)?;
            Some((place, socket))
        };
        let places: Vec<_> = self.watched.borrow().iter().enumerate().filter_map(of_client).collect();
        places.into_iter().for_each(|(place, socket)| self.unwatch(place, socket));
    }

    /// Forgets whether there is room to write; gives what the socket's events carry.
    fn reset_writable(&self, place: usize) -> u64 {
        let watched = &mut self.watched.borrow_mut()[place];
        watched.writable = false;
        watched.data(place)
    }

    /// Waits until at least one client can go on, or for nothing when a signal came.
    fn wait_for_events(&self) -> io::Result<()> {
        let first = match self.timed.get() {
            0 => None,
            _ => self.waiting.iter().filter_map(|waiting| waiting.get().until).min(),
        };
        self.epoll.wait(first, |event| self.arrived(event))?;
        if self.timed.get() > 0 {
            self.wake_those_in_time();
        }
        Ok(())
    }

    fn arrived(&self, event: Event) {
        let place = (event.data & 0xffff_ffff) as usize;
        let client = {
            let watched = &mut self.watched.borrow_mut()[place];
            if watched.data(place) != event.data {
                return;
            }
            watched.readable |= event.readable;
            watched.writable |= event.writable;
            watched.ended |= event.ended;
            watched.client
        };
        if self.waiting[client].get().socket == Some(place) {
            self.wake(client);
        }
    }

    fn wake_those_in_time(&self) {
        let now = Monotonic.now();
        for (client, waiting) in self.waiting.iter().enumerate() {
            if waiting.get().until.is_some_and(|until| until <= now) {
                self.wake(client);
            }
        }
    }
}

impl Watched {
    /// What the events of the socket at `place` carry.
    #[inline]
    fn data(&self, place: usize) -> u64 {
        (u64::from(self.generation) << 32) | place as u64
    }
}

#[cfg(test)]
#[path = "carrier_tests.rs"]
mod tests;
