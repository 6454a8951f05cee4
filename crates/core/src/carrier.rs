//! Carriers: a thread of the operating system that runs several clients of a cycle.
//!
//! A client waits for its server nearly all the time. With a thread each, every answer costs a switch
//! to another thread; a carrier finds the answers of several clients at once. Each client is a
//! coroutine: where it would wait for a socket, its carrier goes on with another, so that the load loop
//! and the drivers are written as if each client had a thread of its own.
//!
//! What a client does between two waits must be short, as the other clients of its carrier stand still
//! meanwhile. Only engines that wait in sockets alone are carried: see
//! [`Engine::waits_in_sockets`](crate::engine::Engine::waits_in_sockets).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::clock::{Clock, Monotonic, Nanos};

const MILLISECOND: Nanos = 1_000_000;

/// Most answers that are found at once.
const EVENTS: usize = 64;

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
#[derive(Debug, Clone, Copy)]
struct Watched {
    /// Which of the sockets that had this place it is: an event of an earlier one is not its own.
    generation: u32,
    /// The client that reads it.
    client: usize,
    /// Something came since it was last read empty.
    readable: bool,
    /// The other side has ended: whatever is read, there is the end to be read behind it.
    ended: bool,
}

struct Carrier {
    number: u64,
    epoll: OwnedFd,
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
/// ended; gives what they gave, in order. Errors: no memory for the stacks, no way to watch sockets.
pub fn carry<T: 'static>(bodies: Vec<Box<dyn FnOnce() -> T>>, stack_bytes: usize) -> io::Result<Vec<T>> {
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

/// Lets time pass for the client that runs; its carrier goes on with others.
pub fn pause(duration: Duration) {
    match Carrier::current() {
        Some(carrier) => carrier.suspend(Waiting {
            socket: None,
            until: Some(Monotonic.now().saturating_add(duration.as_nanos() as Nanos)),
        }),
        None => std::thread::sleep(duration),
    }
}

/// True when the caller is a client on a carrier: it must not block its thread.
#[inline]
pub fn carried() -> bool {
    !CURRENT.get().is_null()
}

/// A socket's place at the carrier of the client that reads it.
#[derive(Debug, Default)]
pub struct Watch(Cell<Option<(u64, usize, RawFd)>>);

impl Watch {
    /// Waits until there may be something to read; false when `until` has come before.
    ///
    /// Only for callers that are [`carried`]. What is read afterwards has to be reported to
    /// [`Watch::drained`].
    #[inline]
    pub fn readable(&self, socket: RawFd, until: Option<Nanos>) -> io::Result<bool> {
        let Some(carrier) = Carrier::current() else { return Ok(true) };
        let place = match self.0.get() {
            Some((number, place, _)) if number == carrier.number => place,
            _ => {
                let place = carrier.watch(socket)?;
                self.0.set(Some((carrier.number, place, socket)));
                place
            }
        };
        Ok(carrier.wait_for(place, until))
    }

    /// Tells that the socket was read empty: what comes from now on is news.
    #[inline]
    pub fn drained(&self) {
        if let (Some(carrier), Some((number, place, _))) = (Carrier::current(), self.0.get()) {
            if number == carrier.number {
                let watched = &mut carrier.watched.borrow_mut()[place];
                watched.readable = watched.ended;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A duplicate of the socket may live on elsewhere, so that closing it would not end the watch.
        if let (Some(carrier), Some((number, place, socket))) = (Carrier::current(), self.0.get()) {
            if number == carrier.number {
                carrier.unwatch(place, socket);
            }
        }
    }
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
        // SAFETY: no pointers are passed; the answer is checked.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            // SAFETY: a fresh descriptor that nobody else has.
            epoll: unsafe { OwnedFd::from_raw_fd(epoll) },
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
    fn wait_for(&self, place: usize, until: Option<Nanos>) -> bool {
        loop {
            if self.watched.borrow()[place].readable {
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
            watched.push(Watched { generation: 0, client: 0, readable: false, ended: false });
            watched.len() - 1
        });
        let generation = watched[place].generation.wrapping_add(1);
        watched[place] = Watched { generation, client: self.running.get(), readable: false, ended: false };
        let mut event = libc::epoll_event {
            // Told once for each arrival: nothing has to be asked for again.
            events: (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: (u64::from(generation) << 32) | place as u64,
        };
        // SAFETY: both descriptors are open, the event lives through the call.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &mut event) };
        match done {
            0 => Ok(place),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[cold]
    fn unwatch(&self, place: usize, socket: RawFd) {
        // SAFETY: both descriptors are open; no event is needed to end a watch. A failure would leave
        // a watch whose generation nobody has any more.
        unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_DEL, socket, ptr::null_mut()) };
        self.watched.borrow_mut()[place].generation += 1;
        self.free.borrow_mut().push(place);
    }

    /// Waits until at least one client can go on.
    fn wait_for_events(&self) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let timeout = self.timeout();
        // SAFETY: the array has room for as many events as it says.
        let count =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as libc::c_int, timeout) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        for event in &events[..count as usize] {
            self.arrived(event.u64, event.events);
        }
        if self.timed.get() > 0 {
            self.wake_those_in_time();
        }
        Ok(())
    }

    fn arrived(&self, data: u64, events: u32) {
        let (place, generation) = ((data & 0xffff_ffff) as usize, (data >> 32) as u32);
        let client = {
            let watched = &mut self.watched.borrow_mut()[place];
            if watched.generation != generation {
                return;
            }
            watched.readable = true;
            watched.ended |= events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0;
            watched.client
        };
        if self.waiting[client].get().socket == Some(place) {
            self.wake(client);
        }
    }

    /// Milliseconds until the first client whose time comes; -1 for none.
    fn timeout(&self) -> libc::c_int {
        if self.timed.get() == 0 {
            return -1;
        }
        let first = self.waiting.iter().filter_map(|waiting| waiting.get().until).min().unwrap_or(0);
        let left = first.saturating_sub(Monotonic.now());
        // The last part of a wait is slept to be on time: nobody's load runs while a client pauses.
        if left < MILLISECOND {
            std::thread::sleep(Duration::from_nanos(left));
        }
        (left / MILLISECOND).min(1000) as libc::c_int
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

#[cfg(test)]
#[path = "carrier_tests.rs"]
mod tests;
