//! The system's side of a carrier: epoll, and a timer in it.
//!
//! The time limit of `epoll_wait` counts whole milliseconds, so a kernel timer ends each wait instead: it is
//! exact to the microsecond, and answers that arrive in the last millisecond are still seen at once.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::clock::Nanos;

/// Most events that are found at once.
const EVENTS: usize = 64;

/// What the timer's events carry; no socket has it.
const TIMER: u64 = u64::MAX;

/// What the events of a bell carry.
const BELL: u64 = u64::MAX - 1;

/// Edge-triggered: each arrival is reported once, without asking again.
const ARRIVALS: libc::c_int = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;

/// What has happened at a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// What the socket was added with.
    pub(super) data: u64,
    /// Something can be read, or the end of the stream.
    pub(super) readable: bool,
    /// Something can be written, or writing would report an error.
    pub(super) writable: bool,
    /// The other side has ended.
    pub(super) ended: bool,
}

/// The watched sockets, and the timer that ends a wait.
pub(super) struct Epoll {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer ends or has ended.
    alarm: Cell<Nanos>,
}

impl Epoll {
    /// Watches nothing yet. Errors: no descriptors left.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed; the descriptors are fresh and owned here alone.
        let (epoll, timer) = unsafe {
            (
                owned(libc::epoll_create1(libc::EPOLL_CLOEXEC))?,
                owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK))?,
            )
        };
        let new = Self { epoll, timer, alarm: Cell::new(0) };
        new.control(libc::EPOLL_CTL_ADD, new.timer.as_raw_fd(), TIMER, libc::EPOLLIN | libc::EPOLLET)?;
        Ok(new)
    }

    /// Reports from now on what arrives at `socket`, with `data`.
    pub(super) fn add(&self, socket: RawFd, data: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, data, ARRIVALS)
    }

    /// Ends waits when `bell` rings.
    pub(super) fn add_bell(&self, bell: &Bell) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, bell.0.as_raw_fd(), BELL, libc::EPOLLIN | libc::EPOLLET)
    }

    /// Starts or stops to report also when something can be written. Such an event comes with every message that
    /// the other side takes, so they are asked for only while a client waits to write.
    pub(super) fn tell_writable(&self, socket: RawFd, data: u64, tell: bool) -> io::Result<()> {
        let writable = if tell { libc::EPOLLOUT } else { 0 };
        self.control(libc::EPOLL_CTL_MOD, socket, data, ARRIVALS | writable)
    }

    /// Stops reporting on `socket`.
    pub(super) fn remove(&self, socket: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, socket, 0, 0)
    }

    fn control(&self, what: libc::c_int, descriptor: RawFd, data: u64, events: libc::c_int) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: data };
        // SAFETY: the event lives through the call; a descriptor that is not open is an error.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, descriptor, &mut event) })
    }

    /// Waits for events and gives them to `each`; ends without one at `until` at the latest, or for a signal.
    pub(super) fn wait(&self, until: Option<Nanos>, mut each: impl FnMut(Event)) -> io::Result<()> {
        if let Some(until) = until.filter(|until| *until != self.alarm.get()) {
            self.set_alarm(until)?;
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        // SAFETY: the array has room for as many events as it says.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as libc::c_int, -1) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        for event in &events[..count as usize] {
            let (data, flags) = (event.u64, event.events as libc::c_int);
            let any = |of: libc::c_int| flags & of != 0;
            let broken = any(libc::EPOLLHUP | libc::EPOLLERR);
            let ended = broken || any(libc::EPOLLRDHUP);
            match data {
                // It need not be read: it is set anew for the next wait.
                TIMER => self.alarm.set(0),
                // It only has to wake the wait.
                BELL => {}
                data => {
                    each(Event {
                        data,
                        readable: ended || any(libc::EPOLLIN),
                        writable: broken || any(libc::EPOLLOUT),
                        ended,
                    });
                }
            }
        }
        Ok(())
    }

    fn set_alarm(&self, at: Nanos) -> io::Result<()> {
        // A time that is over ends the next wait at once; zero would switch the timer off.
        let at = at.max(1);
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at_time = libc::timespec { tv_sec: (at / 1_000_000_000) as _, tv_nsec: (at % 1_000_000_000) as _ };
        let new = libc::itimerspec { it_interval: never, it_value: at_time };
        // SAFETY: the new time lives through the call, the old one is not asked for.
        checked(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &new, ptr::null_mut())
        })?;
        self.alarm.set(at);
        Ok(())
    }
}

/// Ends the waits of a carrier from another thread.
pub(super) struct Bell(OwnedFd);

impl Bell {
    /// Errors: no descriptors left.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed; the descriptor is fresh and owned here alone.
        unsafe { owned(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }.map(Self)
    }

    /// Ends the wait under way, or the next one.
    pub(super) fn ring(&self) {
        // SAFETY: eight bytes are read from a number of as many. It fails only when it has rung 2^64 times.
        unsafe { libc::write(self.0.as_raw_fd(), ptr::from_ref(&1_u64).cast(), 8) };
    }
}

/// SAFETY: `descriptor` must be fresh or negative.
unsafe fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    checked(descriptor).map(|()| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn checked(answer: libc::c_int) -> io::Result<()> {
    match answer {
        ..=-1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
