//! What measuring itself costs on this machine: reading the clock, recording a transaction, being
//! woken on time. These bound what a figure can mean; none of it is subtracted from one.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use crate::board::Board;
use crate::clock::{sleep_precisely, Clock, Monotonic, Nanos};
use crate::engine::Messages;
use crate::histogram::Histogram;
use crate::random::Stream;
use crate::recorder::{Outcome, Recorder, Sample};

/// Cost and resolution of a clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockCost {
    /// Mean time of one reading in ns.
    pub read_ns: f64,
    /// Smallest step between two readings that differ, in ns. Where reading takes longer than the
    /// clock's own step, it is the time of a reading.
    pub resolution_ns: Nanos,
}

/// Reads `clock` `reads` times in a row (at least twice).
pub fn clock_cost(clock: &impl Clock, reads: u32) -> ClockCost {
    let first = clock.now();
    let (mut last, mut step) = (first, Nanos::MAX);
    for _ in 1..reads.max(2) {
        let now = clock.now();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    let resolution_ns = if step == Nanos::MAX { 0 } else { step };
    ClockCost { read_ns: (last - first) as f64 / f64::from(reads.max(2) - 1), resolution_ns }
}

/// Mean time in ns that recording one committed transaction takes, over `transactions` (at least
/// one) with times as they spread over two magnitudes. Reading the clock is not part of it.
pub fn recording_ns(clock: &impl Clock, transactions: u32) -> f64 {
    const TIMES: usize = 1 << 12;
    let times: Vec<Nanos> =
        (0..TIMES).map(|n| (Stream::new(1, 0, n as u64).exponential(0.9) * 1e5) as Nanos + 10_000).collect();
    let count = transactions.max(1);
    let mut recorder = Recorder::new(1, Board::new(1, false, 0), None);
    recorder.window(0, Nanos::MAX);
    let began = clock.now();
    let mut started = 0;
    for number in 0..count {
        let ended = started + times[number as usize % TIMES];
        let outcome = Outcome::Committed;
        recorder.record(black_box(&Sample {
            kind: 0,
            intended: started,
            started,
            ended,
            retries: 0,
            rows: 0,
            messages: Messages { sent: 1, received: 1 },
            outcome,
        }));
        started = ended;
    }
    (clock.now() - began) as f64 / f64::from(count)
}

/// By how much `wakes` timed sleeps of `pause` ns came late, on a thread set up as a client's is.
/// Late wakes delay the starts of an open loop; the closed loop never sleeps.
pub fn wake_lateness(wakes: u32, pause: Nanos) -> Histogram {
    let measure = move || {
        sleep_precisely();
        let stop = AtomicBool::new(false);
        let lateness = Histogram::default();
        for _ in 0..wakes {
            let at = Monotonic.now() + pause;
            Monotonic.sleep_until(at, &stop);
            lateness.record(Monotonic.now().saturating_sub(at));
        }
        lateness
    };
    // A thread that cannot be had leaves nothing to report.
    std::thread::Builder::new().spawn(measure).ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Moves on by 7 ns with every second reading.
    #[derive(Default)]
    struct Halting(Cell<Nanos>);

    impl Clock for Halting {
        fn now(&self) -> Nanos {
            self.0.set(self.0.get() + 1);
            self.0.get() / 2 * 7
        }

        fn sleep_until(&self, _at: Nanos, _stop: &AtomicBool) {}
    }

    #[test]
    fn the_cost_of_a_clock_is_its_mean_and_its_smallest_step() {
        let cost = clock_cost(&Halting::default(), 201);
        assert_eq!(cost, ClockCost { read_ns: 3.5, resolution_ns: 7 });
    }

    #[test]
    fn a_clock_that_stands_has_no_resolution() {
        let cost = clock_cost(&crate::clock::FakeClock::default(), 100);
        assert_eq!(cost, ClockCost { read_ns: 0.0, resolution_ns: 0 });
    }

    #[test]
    fn recording_is_timed_by_the_clock_alone() {
        // Two readings around the loop: one step of the halting clock, spread over all transactions.
        assert_eq!(recording_ns(&Halting::default(), 7), 1.0);
        assert_eq!(recording_ns(&crate::clock::FakeClock::default(), 0), 0.0);
    }

    #[test]
    fn every_wake_is_counted() {
        assert_eq!(wake_lateness(5, 1000).count(), 5);
    }
}
