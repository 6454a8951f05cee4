//! When transactions are due: the open loop, and pacers that have no next turn.

use std::sync::Arc;

use dsbench_core::clock::Nanos;
use dsbench_core::fill::Arrival;
use dsbench_core::legs::{Course, Leg, Starts};
use dsbench_core::pacer::{Ended, Pacer, Turn};
use dsbench_core::workload::Shape;
use dsbench_engines::mock::{Action, When};

use crate::bed::{Trial, MS};

/// What theory gives for arrivals every `gap`, a service time of `service`, and one service that is
/// longer by `stall`: each start waits for the end before (Lindley's recursion).
fn theory(count: u64, gap: Nanos, service: Nanos, stalled: u64, stall: Nanos) -> (Vec<Nanos>, Vec<Nanos>) {
    let (mut free, mut responses, mut services) = (0, Vec::new(), Vec::new());
    for n in 0..count {
        let intended = n * gap;
        let time = service + if n == stalled { stall } else { 0 };
        free = free.max(intended) + time;
        responses.push(free - intended);
        services.push(time);
    }
    (responses, services)
}

/// The only client of a group that starts `rate_per_s`.
fn evenly(rate_per_s: f64) -> Course {
    Course::new(Arc::new(Starts::new(vec![Leg::steady(rate_per_s)], 1, 0..1, 1, Arrival::Constant)), 0)
}

fn quantile(values: &[Nanos], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[((q * sorted.len() as f64).ceil() as usize).max(1) - 1] as f64
}

#[test]
fn the_open_loop_shows_a_stall_in_the_response_times_as_theory_gives_it() {
    let mut trial = Trial::new(MS, Shape::Single).event(When::At(100), Action::Stall(2000 * MS));
    trial.duration = 10_000 * MS;
    let found = trial.paced(&mut evenly(100.0), true);
    let tally = &found.recorder.tallies()[0];
    assert_eq!((found.outcome.clone().unwrap(), tally.committed), (0, 1000));
    let (responses, services) = theory(1000, 10 * MS, MS, 99, 2000 * MS);
    let response = tally.response.as_ref().unwrap();
    assert_eq!((response.max(), response.sum()), (2001 * MS, responses.iter().sum::<u64>()));
    for q in [0.1, 0.5, 0.68, 0.87, 0.95, 0.99, 0.997, 0.999] {
        let board = found.recorder.board();
        for (histogram, truth) in [(board.response(0).unwrap(), &responses), (board.residence(0), &services)] {
            let (seen, truth) = (histogram.quantile(q) as f64, quantile(truth, q));
            assert!((seen / truth - 1.0).abs() <= 0.0005, "q {q}: {seen} against {truth}");
        }
    }
}

#[test]
fn starts_that_were_due_and_not_made_are_missed() {
    let trial = Trial::new(3 * MS, Shape::Single);
    let found = trial.paced(&mut evenly(1000.0), true);
    let tally = &found.recorder.tallies()[0];
    // 100 starts are due in 100 ms; a start every 3 ms is made, the 34th ends too late.
    let missed = found.outcome.unwrap();
    assert_eq!((tally.committed, tally.in_flight, missed), (33, 1, 66));
}

#[test]
fn a_server_that_is_hopelessly_behind_has_its_missed_starts_counted_at_once() {
    let found = Trial::new(3 * MS, Shape::Single).paced(&mut evenly(1e12), true);
    // A thousand starts fall to each nanosecond, rounded to the nearest: the last 500 to the end of the 100 ms.
    assert_eq!(found.outcome.unwrap(), 100_000_000_000 - 500 - 34);
}

/// Starts at 0, 10 and 20 ms, and never again.
struct Three(u64);

impl Pacer for Three {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        self.0 += 1;
        (self.0 <= 3).then(|| Turn { seat: 0, due: Some((self.0 - 1) * 10 * MS) })
    }
}

#[test]
fn a_pacer_that_has_no_next_turn_ends_its_client() {
    let found = Trial::new(MS, Shape::Single).paced(&mut Three(0), true);
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.last_end, found.outcome.unwrap()), (3, 21 * MS, 0));
}
