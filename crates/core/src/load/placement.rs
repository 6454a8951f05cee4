//! Where clients run. A server's process that wakes a client on another CPU pays for it several times what
//! a short transaction costs, so clients can follow the process that works for them.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::carrier;
use crate::clock::Nanos;
use crate::engine::Connection;

/// On which CPUs the clients of a cycle run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Where the operating system puts them.
    #[default]
    Free,
    /// Each on the CPU of the server's process that works for it, where that is known. A run that tries which placement
    /// is faster chooses before its first cycle; a load outside of one follows.
    #[serde(alias = "try")]
    Follow,
    /// Threads of the operating system stay on a CPU each, in turn.
    Pinned,
}

/// What a client's placement was in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// Left to the operating system: why, where another one was wanted.
    Free(Option<&'static str>),
    /// It followed its server.
    Follow,
    /// Its thread stayed on a CPU.
    Pinned,
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free(None) => f.write_str("free"),
            Self::Free(Some(why)) => write!(f, "free: {why}"),
            Self::Follow => f.write_str("follow"),
            Self::Pinned => f.write_str("pinned"),
        }
    }
}

/// A client looks this often where its server is, at first.
const OFTEN: Nanos = 10_000_000;
/// And this often when it has been where it was for some time.
const SELDOM: Nanos = 160_000_000;
/// All clients together look so often: each look costs some microseconds, a tenth of the CPU time of 256 clients when it
/// was 1000.
const LOOKS_PER_SECOND: u64 = 250;
/// Looks in a row that find the client at its server before it looks half as often.
const CALM: u32 = 4;
/// The first looks of a client come soon, however many clients there are: the second one brings it to its server.
const SOON: u32 = 2;

/// Moves a client to the CPU on which the server's process that works for it has been twice in a row.
#[derive(Debug)]
pub struct Follower {
    /// CPUs that it may use.
    cpus: Arc<[usize]>,
    often: Nanos,
    every: Nanos,
    /// From the first looks to the next: clients are to look one after another.
    later: Nanos,
    seen: Option<usize>,
    calm: u32,
    looks: u32,
    placed: Placed,
    moves: u64,
}

impl Follower {
    /// For client `index` of `clients` on this machine, which may use `cpus`.
    pub fn new(index: usize, clients: usize, cpus: Arc<[usize]>, connection: &mut dyn Connection) -> Self {
        let often = OFTEN.max(clients as Nanos * (1_000_000_000 / LOOKS_PER_SECOND));
        // They look one after another.
        let share = |of: Nanos| of * (index as Nanos + 1) / clients.max(1) as Nanos;
        let (every, later) = (share(OFTEN), share(often).max(OFTEN));
        let mut new =
            Self { cpus, often, every, later, seen: None, calm: 0, looks: 0, placed: Placed::Follow, moves: 0 };
        if let Err(why) = connection.server_cpu().and_then(|cpu| new.within_reach(cpu)) {
            new.placed = Placed::Free(Some(why));
        }
        new
    }

    /// Time from one look to the next.
    pub fn every(&self) -> Nanos {
        self.every
    }

    /// Whether the client followed its server, and how often it moved to another CPU for that.
    pub fn placed(&self) -> (Placed, u64) {
        (self.placed, self.moves)
    }

    /// Looks, and goes there. Only between transactions.
    pub fn look(&mut self, connection: &mut dyn Connection) {
        let cpu = connection.server_cpu();
        let same = cpu.ok() == self.seen;
        self.seen = cpu.ok();
        self.calm = if same { self.calm + 1 } else { 0 };
        match cpu {
            // SAFETY: what a thread of load holds between transactions may be sent to another one: clients,
            // connections, pacers and recorders are `Send`, and no lock is held.
            Ok(cpu) if same && self.within_reach(cpu).is_ok() => unsafe {
                self.moves += u64::from(carrier::go_on_at(cpu));
                self.placed = Placed::Follow;
            },
            _ => {}
        }
        self.looks = self.looks.saturating_add(1);
        self.every = match self.calm {
            _ if self.looks < SOON => OFTEN,
            _ if self.looks == SOON => self.later,
            0 => self.often,
            calm if calm % CALM == 0 => (self.every * 2).min(SELDOM.max(self.often)),
            _ => self.every.max(self.often),
        };
    }

    fn within_reach(&self, cpu: usize) -> Result<(), &'static str> {
        if !self.cpus.contains(&cpu) {
            return Err("dsbench may not use the CPUs of the server");
        }
        if carrier::goes_to(cpu) {
            Ok(())
        } else {
            Err("fewer carriers than CPUs")
        }
    }
}

/// CPUs that this thread may use, in order; empty where the system does not tell.
pub fn cpus() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a zeroed set is an empty one, and the call writes no more than its size.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } == 0 {
            // SAFETY: the numbers lie in the set.
            return (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect();
        }
    }
    Vec::new()
}

thread_local! {
    /// The CPU to which this thread is bound.
    static PINNED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Binds this thread to a CPU, unless it is bound to it already; true when it ran on another one. Where the system
/// refuses it stays where it may be.
pub fn pin_once(cpu: usize) -> bool {
    if PINNED.replace(Some(cpu)) == Some(cpu) {
        return false;
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a zeroed set is an empty one; a number outside of it sets nothing. The first call takes nothing.
        unsafe {
            let before = libc::sched_getcpu();
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0 && before != cpu as libc::c_int
        }
    }
    #[cfg(not(target_os = "linux"))]
    false
}
