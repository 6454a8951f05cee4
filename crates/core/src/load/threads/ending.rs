//! The end of a cycle: what clients wait for is ended, and their ledgers are closed.

use super::shared::Handles;
use super::{ClientOutcome, MILLISECOND, SECOND, STACK_BYTES};
use crate::clock::Nanos;
use crate::course::Second;
use crate::limit::Limit;
use crate::locking::lock;

/// How long clients may take to end by themselves after another one did, and in all.
const GRACE: Nanos = 500 * MILLISECOND;
const LONGEST_GRACE: Nanos = SECOND;

/// Closes the ledgers of all clients, whose groups have ended now, and tells the seconds of what lasted. A group without
/// a deadline ends with its last client.
pub(super) fn close(limits: &[Limit], start: Nanos, clients: &mut [ClientOutcome], seconds: &mut [(usize, Second)]) {
    for (number, limit) in limits.iter().enumerate() {
        let group = |client: &&mut ClientOutcome| client.group == number;
        let last = clients.iter_mut().filter(group).filter_map(|client| client.recorder.left_at()).max();
        let end = if limit.deadline() == Nanos::MAX { last.unwrap_or(start) } else { limit.deadline() };
        let mut lasting = Vec::new();
        for client in clients.iter_mut().filter(group) {
            client.recorder.close(end);
            lasting.extend_from_slice(client.recorder.lasting());
        }
        for (_, second) in seconds.iter_mut().filter(|(group, _)| *group == number && !lasting.is_empty()) {
            second.lasted(&lasting, start, end);
        }
    }
}

/// Clients that were asked to end.
pub(super) struct Leaving {
    asked: Nanos,
    left: usize,
    /// When the last one ended.
    ended: Nanos,
}

impl Leaving {
    pub(super) fn new(left: usize, now: Nanos) -> Self {
        Self { asked: now, left, ended: now }
    }

    /// Whether those that are `left` may take more time.
    pub(super) fn go_on(&mut self, left: usize, now: Nanos) -> bool {
        if left < self.left {
            (self.left, self.ended) = (left, now);
        }
        left > 0 && now < (self.ended + GRACE).min(self.asked + LONGEST_GRACE)
    }
}

/// Ends what all clients wait for that have not ended, side by side: each end may wait for a server that does not answer,
/// and no client may go on with its transaction until those before it have been waited for.
pub(super) fn interrupt_all(handles: &[Handles]) {
    std::thread::scope(|scope| {
        for client in handles.iter().filter(|client| !lock(&client.0).is_empty()) {
            let end = || lock(&client.0).iter().flatten().for_each(|handle| handle.interrupt());
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            if builder.spawn_scoped(scope, end).is_err() {
                end(); // There is no thread to be had: end it here, one after another.
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    use super::*;
    use crate::engine::Interrupt;
    use crate::generator::Interrupts;

    /// Waits, as for a server that does not answer, until all have been asked to end.
    struct Together {
        asked: Arc<(Mutex<usize>, Condvar)>,
        all: usize,
        met: Arc<AtomicBool>,
    }

    impl Interrupt for Together {
        fn interrupt(&self) {
            let (asked, changed) = &*self.asked;
            let mut count = lock(asked);
            *count += 1;
            changed.notify_all();
            let waited = changed.wait_timeout_while(count, Duration::from_secs(10), |count| *count < self.all);
            if waited.is_ok_and(|(_, result)| result.timed_out()) {
                self.met.store(false, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn clients_may_take_their_time_while_others_end_and_a_second_in_all() {
        let mut leaving = Leaving::new(3, 0);
        let looks = [(3, 400, true), (2, 499, true), (2, 998, true), (1, 999, true), (1, 1000, false)];
        for (left, at, goes_on) in looks {
            assert_eq!(leaving.go_on(left, at * MILLISECOND), goes_on, "{left} at {at} ms");
        }
        assert!(!Leaving::new(3, 0).go_on(3, GRACE), "nobody ends");
        assert!(!Leaving::new(3, 0).go_on(0, 1), "all have ended");
    }

    #[test]
    fn no_end_of_a_client_waits_for_that_of_another() {
        let (asked, met) = (Arc::default(), Arc::new(AtomicBool::new(true)));
        let handles: Vec<Handles> = (0..30).map(|_| Handles::default()).collect();
        // Ten have ended.
        for client in &handles[10..] {
            client.put(0, Some(Box::new(Together { asked: Arc::clone(&asked), all: 20, met: Arc::clone(&met) })));
        }
        interrupt_all(&handles);
        assert!(met.load(Ordering::Relaxed));
        assert_eq!(*lock(&asked.0), 20);
    }
}
