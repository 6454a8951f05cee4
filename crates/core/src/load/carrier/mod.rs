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
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::clock::{Monotonic, Nanos};
use epoll::{Epoll, Event};
pub use watch::Watch;

mod epoll;
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
    assert!(!carried(), "a client carries no others");
    let carrier = Carrier::new(bodies.len())?;
    let mut clients = Vec::with_capacity(bodies.len());
    for (index, body) in bodies.into_iter().enumerate() {
        let place: *const Cell<_> = &carrier.yielders[index];
        let coroutine = Coroutine::with_stack(DefaultStack::new(stack_bytes)?, move |yielder, ()| {
            // SAFETY: the carrier outlives its coroutines, which end inside of this function.
            unsafe { (*place).set(ptr::from_ref(yielder)) };
            body()
        });
        clients.push(coroutine);
    }
    let mut results: Vec<Option<T>> = clients.iter().map(|_| None).collect();
    let _entered = Entered::new(&carrier);
    let mut left = clients.len();
    loop {
        while let Some(index) = carrier.next_ready() {
            carrier.running.set(index);
            if let CoroutineResult::Return(result) = clients[index].resume(()) {
                results[index] = Some(result);
                left -= 1;
            }
        }
        if left == 0 {
            return Ok(results.into_iter().flatten().collect());
        }
        carrier.wait_for_events()?;
    }
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
#[inline]
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
    fn new(clients: usize) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            epoll: Epoll::new()?,
            running: Cell::new(0),
            yielders: (0..clients).map(|_| Cell::new(ptr::null())).collect(),
            waiting: (0..clients).map(|_| Cell::default()).collect(),
            timed: Cell::new(0),
            watched: RefCell::default(),
            free: RefCell::default(),
            ready: RefCell::new((0..clients).collect()),
        })
    }

    #[inline]
    fn current<'a>() -> Option<&'a Self> {
        // SAFETY: `Entered` keeps it set only while the carrier lives, and all that runs meanwhile on
        // this thread ends before.
        unsafe { CURRENT.get().as_ref() }
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
        self.running.set(client);
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
        watched[place] = Watched { generation, client: self.running.get(), ..Watched::default() };
        let added = self.epoll.add(socket, watched[place].data(place));
        if added.is_err() {
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
        self.free.borrow_mut().push(place);
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
