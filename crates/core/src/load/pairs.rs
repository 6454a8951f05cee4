//! Clients in pairs: one of each of two groups, neither of which gets far ahead of the other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::thread::Thread;
use std::time::Duration;

use crate::pacer::{Ended, Pacer, Turn};

/// Transactions by which a client may be ahead of its partner: enough that neither waits for every single one of the
/// other's, few enough that both groups have the same rate in every second.
pub const LEAD: u64 = 8;

/// Longest wait before looking for a request to stop.
const SLICE: Duration = Duration::from_millis(50);

/// One of the two clients.
#[derive(Debug, Default)]
struct Half {
    ended: AtomicU64,
    over: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Two clients that keep step. It takes no lock: a client that is too far ahead parks its thread, and its
/// partner wakes it.
#[derive(Debug, Default)]
pub struct Pair {
    halves: [Half; 2],
}

impl Pair {
    /// The client `half` (0 or 1) will start nothing more: its partner goes on alone.
    pub fn leave(&self, half: usize) {
        self.halves[half].over.store(true, Ordering::Release);
        self.wake(1 - half);
    }

    fn wake(&self, half: usize) {
        if let Some(thread) = self.halves[half].thread.get() {
            thread.unpark();
        }
    }

    fn ended(&self, half: usize) {
        self.halves[half].ended.fetch_add(1, Ordering::Release);
        self.wake(1 - half);
    }

    /// Waits until the client `half` is not too far ahead, or `stop` is set.
    fn wait(&self, half: usize, stop: &AtomicBool) {
        let (own, other) = (&self.halves[half], &self.halves[1 - half]);
        own.thread.get_or_init(std::thread::current);
        let mine = own.ended.load(Ordering::Relaxed);
        while mine >= other.ended.load(Ordering::Acquire) + LEAD
            && !other.over.load(Ordering::Acquire)
            && !stop.load(Ordering::Relaxed)
        {
            std::thread::park_timeout(SLICE);
        }
    }
}

/// Starts the transactions of one client of a pair.
pub struct InStep<'a> {
    pair: &'a Pair,
    half: usize,
    stop: &'a AtomicBool,
}

impl<'a> InStep<'a> {
    /// The client `half` (0 or 1) of `pair`; a set `stop` ends its waits.
    pub fn new(pair: &'a Pair, half: usize, stop: &'a AtomicBool) -> Self {
        Self { pair, half, stop }
    }
}

impl Pacer for InStep<'_> {
    fn next_turn(&mut self, before: Option<Ended>) -> Option<Turn> {
        if before.is_some() {
            self.pair.ended(self.half);
        }
        self.pair.wait(self.half, self.stop);
        Some(Turn { seat: 0, due: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: Option<Ended> = Some(Ended { seat: 0, kind: 0, next: 0, due: 0, at: 0 });

    #[test]
    fn neither_gets_far_ahead_until_the_other_has_left() {
        let (pair, stop, alone) = (Pair::default(), AtomicBool::new(false), AtomicBool::new(false));
        let done = [AtomicU64::new(0), AtomicU64::new(0)];
        let go = |half: usize, count: u64| {
            let mut pacer = InStep::new(&pair, half, &stop);
            pacer.next_turn(None).unwrap();
            for _ in 0..count {
                // Read before its partner's: a lead that is seen was there, or was greater.
                let (mine, other) = (done[half].load(Ordering::SeqCst), done[1 - half].load(Ordering::SeqCst));
                assert!(alone.load(Ordering::SeqCst) || mine <= other + LEAD, "{half}: {mine}, {other}");
                done[half].fetch_add(1, Ordering::SeqCst);
                pacer.next_turn(ENDED).unwrap();
            }
            alone.store(true, Ordering::SeqCst);
            pair.leave(half);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| go(0, 5000));
            scope.spawn(|| go(1, 2000));
        });
        assert_eq!(done.map(AtomicU64::into_inner), [5000, 2000]);
    }

    #[test]
    fn a_wish_to_stop_ends_the_wait_for_a_partner() {
        let (pair, stop) = (Pair::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut pacer = InStep::new(&pair, 1, &stop);
                for _ in 0..=LEAD {
                    pacer.next_turn(ENDED).unwrap();
                }
            });
            while pair.halves[1].ended.load(Ordering::Acquire) < LEAD {
                std::thread::yield_now();
            }
            assert!(!waiting.is_finished(), "its partner has done nothing yet");
            stop.store(true, Ordering::Relaxed);
            waiting.join().unwrap();
        });
    }
}
