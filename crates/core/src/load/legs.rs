//! The starts of an open loop: legs, one after another, each with a rate of its own. One that does not change is one leg.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::fill::Arrival;
use crate::pacer::{Ended, Pacer, Turn};
use crate::random::{mix, Stream};

mod missed;

/// Beyond any load: a client that has no further start sleeps until its end.
const NEVER: Nanos = Nanos::MAX / 2;
/// Of a leg that lasts as long as the load does.
const ENDLESS: Nanos = NEVER / 2;
/// Halvings of a leg that find a start within a nanosecond of an hour.
const HALVINGS: u32 = 60;

/// A stretch of the load: `Leg` in python/dsbench/spec/legs.py has these attributes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// How long it lasts.
    pub duration_ns: Nanos,
    /// Starts per second of all clients together, at its beginning.
    #[serde(rename = "first")]
    pub first_per_s: f64,
    /// At its end, to which the rate goes in a line; with a period the greatest.
    #[serde(rename = "last")]
    pub last_per_s: f64,
    /// Of a sine that begins at `first_per_s`, its lowest; 0 for a line.
    pub period_ns: Nanos,
    /// Clients that take part, by their numbers from 0; the others hold their connections. 0 for all.
    pub sessions: u64,
}

impl Leg {
    /// A rate that does not change.
    pub fn steady(rate_per_s: f64) -> Self {
        Self { duration_ns: ENDLESS, first_per_s: rate_per_s, last_per_s: rate_per_s, period_ns: 0, sessions: 0 }
    }

    /// Starts of all clients from its beginning until `at_s` seconds later: the integral of the rate.
    pub fn due(&self, at_s: f64) -> f64 {
        let (first, last) = (self.first_per_s, self.last_per_s);
        if self.period_ns == 0 {
            return first * at_s + (last - first) * at_s * at_s / (2.0 * self.seconds());
        }
        let turn = std::f64::consts::TAU / (self.period_ns as f64 / 1e9);
        (first + last) / 2.0 * at_s - (last - first) / 2.0 / turn * (turn * at_s).sin()
    }

    /// The second at which so many starts were due: the inverse of [`due`](Self::due), which only grows.
    fn when(&self, count: f64) -> f64 {
        let (first, last) = (self.first_per_s, self.last_per_s);
        if count <= 0.0 {
            return 0.0;
        }
        if self.period_ns == 0 {
            // The root of a quadratic equation, in the form that loses no digits where the rate is constant.
            let root = (first * first + 2.0 * (last - first) * count / self.seconds()).max(0.0).sqrt();
            return 2.0 * count / (first + root);
        }
        let (mut low, mut high) = (0.0, self.seconds());
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if self.due(middle) < count {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }

    fn seconds(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }
}

/// Starts per second over all of them.
pub fn mean_per_s(legs: &[Leg]) -> f64 {
    let (due, seconds) =
        legs.iter().fold((0.0, 0.0), |(due, all), leg| (due + leg.due(leg.seconds()), all + leg.seconds()));
    if seconds > 0.0 {
        due / seconds
    } else {
        0.0
    }
}

/// The starts that some clients share: whoever is free takes the next one, so that a start waits only while all of them
/// are busy. As many servers with one queue, not each with a queue before it.
///
/// Each leg begins anew. At constant intervals its starts fall to the nodes in turn; at random each node has a Poisson
/// stream of its share, which remembers nothing.
#[derive(Debug)]
pub struct Starts {
    legs: Vec<Leg>,
    arrival: Arrival,
    seed: u64,
    /// Numbers of the clients that share them.
    members: Range<u64>,
    /// Clients of all nodes together.
    clients: u64,
    /// Of each leg how far its starts were given: their number at constant intervals, else the bits of the number of
    /// starts of all nodes until the last one.
    given: Vec<AtomicU64>,
}

impl Starts {
    /// Of the clients `members`, of `clients` that make all of the rate together.
    pub fn new(legs: Vec<Leg>, seed: u64, members: Range<u64>, clients: u64, arrival: Arrival) -> Self {
        let given = legs.iter().map(|_| AtomicU64::new(0)).collect();
        // Another key than that of the inputs: gaps and inputs must not go together.
        Self { legs, arrival, seed: seed ^ 0x7061_6365, members, clients, given }
    }

    /// Clients of all nodes that make the starts of leg `number`, and those of them that share these; `None` where client
    /// `client` takes no part in it.
    fn parts(&self, number: usize, client: u64) -> Option<(u64, u64)> {
        let sessions = self.legs[number].sessions;
        let part = if sessions == 0 { self.clients } else { sessions.min(self.clients) };
        (client < part).then(|| (part, self.members.end.min(part) - self.members.start))
    }

    /// Starts of all clients in leg `number` before the next one that nobody has; `None` where client `client` takes no
    /// part in it.
    fn take(&self, number: usize, client: u64) -> Option<f64> {
        let parts = self.parts(number, client)?;
        let given = &self.given[number];
        if self.arrival == Arrival::Constant {
            return Some(self.place(parts, given.fetch_add(1, Ordering::Relaxed)));
        }
        let next = |bits| Some(self.after(number, parts, bits).to_bits());
        let (Ok(before) | Err(before)) = given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        Some(self.after(number, parts, before))
    }

    /// At constant intervals: starts of all clients before number `turn` of these.
    fn place(&self, (part, here): (u64, u64), turn: u64) -> f64 {
        (turn / here * part + self.members.start + turn % here) as f64
    }

    /// At random: the number of starts until the one that follows `bits`.
    ///
    /// The gap is a function of where it begins: so it needs no state beside that.
    fn after(&self, number: usize, (part, here): (u64, u64), bits: u64) -> f64 {
        let gap = self.stream(number, bits).exponential(part as f64 / here as f64);
        // A gap that is too small for a number of this size must not give the same start for ever.
        (f64::from_bits(bits) + gap).max(f64::from_bits(bits + 1))
    }

    fn stream(&self, number: usize, bits: u64) -> Stream {
        Stream::new(mix(self.seed ^ number as u64), self.members.start, bits)
    }

    /// When the start is due that comes after `place` others in leg `number`, which begins at `begins`; `None` beyond
    /// its end.
    fn due(&self, number: usize, begins: Nanos, place: f64) -> Option<Nanos> {
        let leg = &self.legs[number];
        (place < leg.due(leg.seconds())).then(|| begins + (leg.when(place) * 1e9).round() as Nanos)
    }
}

/// Gives a client its starts.
#[derive(Debug, Clone)]
pub struct Course {
    starts: Arc<Starts>,
    client: u64,
    /// Number of the leg, and when it begins.
    leg: usize,
    begins: Nanos,
}

impl Course {
    /// Of `client`, one of those that share `starts`.
    pub fn new(starts: Arc<Starts>, client: u64) -> Self {
        Self { starts, client, leg: 0, begins: 0 }
    }
}

impl Pacer for Course {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        while let Some(leg) = self.starts.legs.get(self.leg) {
            let place = self.starts.take(self.leg, self.client);
            if let Some(due) = place.and_then(|place| self.starts.due(self.leg, self.begins, place)) {
                return Some(Turn { seat: 0, due: Some(due) });
            }
            self.begins += leg.duration_ns;
            self.leg += 1;
        }
        Some(Turn { seat: 0, due: Some(NEVER) })
    }

    fn missed(&mut self, held: Turn, until: Nanos) -> u64 {
        let mut missed = u64::from(held.due.is_some_and(|due| due < until));
        while let Some(leg) = self.starts.legs.get(self.leg).filter(|_| self.begins < until) {
            missed += self.starts.leave(self.leg, self.client, self.begins, until);
            self.begins += leg.duration_ns;
            self.leg += 1;
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn line(seconds: u64, first_per_s: f64, last_per_s: f64) -> Leg {
        Leg { duration_ns: seconds * SECOND, first_per_s, last_per_s, period_ns: 0, sessions: 0 }
    }

    fn starts(legs: &[Leg], clients: u64, arrival: Arrival) -> Vec<(Nanos, u64)> {
        shared(legs, 0..clients, clients, arrival)
    }

    /// The starts of some of `clients`, each taken by another of them in turn.
    fn shared(legs: &[Leg], members: Range<u64>, clients: u64, arrival: Arrival) -> Vec<(Nanos, u64)> {
        let starts = Arc::new(Starts::new(legs.to_vec(), 7, members.clone(), clients, arrival));
        let mut courses: Vec<_> = members.map(|client| (Course::new(Arc::clone(&starts), client), client)).collect();
        let mut found = Vec::new();
        while !courses.is_empty() {
            courses.retain_mut(|(course, client)| {
                let due = course.next_turn(None).unwrap().due.unwrap();
                found.extend((due < NEVER).then_some((due, *client)));
                due < NEVER
            });
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn whoever_is_free_takes_the_next_start() {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let starts = Arc::new(Starts::new(vec![Leg::steady(100.0)], 3, 0..3, 3, arrival));
            let mut courses: Vec<_> = (0..3).map(|client| Course::new(Arc::clone(&starts), client)).collect();
            let order = [0, 0, 2, 0, 1, 2, 2, 2, 1, 0];
            let due: Vec<_> = order.map(|client: usize| courses[client].next_turn(None).unwrap().due.unwrap()).into();
            assert!(due.windows(2).all(|pair| pair[0] < pair[1]), "{arrival:?}: {due:?}");
            if arrival == Arrival::Constant {
                assert_eq!(due, (0..10).map(|n| n * SECOND / 100).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn clients_that_take_starts_at_the_same_time_have_each_of_them_once() {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let take = |threads: usize| {
                let starts = Arc::new(Starts::new(vec![Leg::steady(1000.0)], 3, 0..4, 4, arrival));
                let of = |client| {
                    let mut course = Course::new(Arc::clone(&starts), client);
                    std::iter::repeat_with(move || course.next_turn(None).unwrap().due.unwrap())
                        .take(20_000 / threads)
                        .collect::<Vec<_>>()
                };
                let mut found = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..threads as u64).map(|client| scope.spawn(move || of(client))).collect();
                    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
                });
                found.sort_unstable();
                found
            };
            assert_eq!(take(4), take(1), "{arrival:?}");
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let found: Vec<f64> = {
            let mut course =
                Course::new(Arc::new(Starts::new(vec![Leg::steady(1000.0)], 1, 0..1, 2, Arrival::Poisson)), 0);
            (0..100_000).map(|_| course.next_turn(None).unwrap().due.unwrap() as f64).collect()
        };
        let gaps: Vec<f64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 2e6 - 1.0).abs() < 0.02 && (deviation / mean - 1.0).abs() < 0.02, "{mean} {deviation}");
        let pairs = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((pairs / deviation.powi(2)).abs() < 0.02, "neighbours do not go together");
    }

    #[test]
    fn starts_go_on_where_numbers_are_too_large_for_a_gap() {
        let starts = Starts::new(vec![Leg::steady(1000.0)], 1, 0..1, 1, Arrival::Poisson);
        // Beside it gaps below 0.06 are nothing.
        starts.given[0].store(1e15_f64.to_bits(), Ordering::Relaxed);
        let places: Vec<f64> = (0..1000).map(|_| starts.take(0, 0).unwrap()).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn nodes_make_the_starts_together() {
        let legs = [line(2, 100.0, 100.0), Leg { sessions: 4, ..line(2, 100.0, 100.0) }];
        let of = |members| shared(&legs, members, 6, Arrival::Constant);
        let mut both = [of(0..3), of(3..6)].concat();
        both.sort_unstable();
        let due: Vec<Nanos> = both.iter().map(|(due, _)| *due).collect();
        assert_eq!(due, (0..400).map(|n| n * SECOND / 100).collect::<Vec<_>>());
        let random = shared(&[line(100, 100.0, 100.0)], 2..6, 6, Arrival::Poisson).len() as f64;
        assert!((random - 6667.0).abs() < 4.0 * 6667.0_f64.sqrt(), "two thirds of 10,000: {random}");
        assert_ne!(
            shared(&[line(1, 100.0, 100.0)], 0..3, 6, Arrival::Poisson)[0].0,
            shared(&[line(1, 100.0, 100.0)], 3..6, 6, Arrival::Poisson)[0].0
        );
    }

    #[test]
    fn constant_starts_stand_where_the_integral_of_the_rate_is_whole() {
        // 10/s for 1 s; a ramp from 0 to 8/s within 1 s, where n starts are due after sqrt(n / 4) s; nothing; 2/s.
        let legs = [line(1, 10.0, 10.0), line(1, 0.0, 8.0), line(1, 0.0, 0.0), line(1, 2.0, 2.0)];
        let found: Vec<Nanos> = starts(&legs, 3, Arrival::Constant).into_iter().map(|(due, _)| due).collect();
        let tenths = (0..10).map(|n| n * SECOND / 10);
        let ramp = (0..4).map(|n| SECOND + ((f64::from(n) / 4.0).sqrt() * 1e9).round() as Nanos);
        let last = [3 * SECOND, 7 * SECOND / 2];
        assert_eq!(found, tenths.chain(ramp).chain(last).collect::<Vec<_>>());
        assert!((mean_per_s(&legs) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_sine_begins_at_its_lowest_and_its_starts_are_due_at_whole_integrals() {
        let sine = Leg { last_per_s: 300.0, period_ns: 2 * SECOND, ..line(4, 100.0, 0.0) };
        assert!((sine.due(4.0) - 800.0).abs() < 1e-9, "the mean rate over whole periods is 200/s");
        // By hand: 200 t - 100/pi sin(pi t) at t = 0.5 is 100 - 31.83.
        assert!((sine.due(0.5) - 68.169_011).abs() < 1e-6);
        let found = starts(&[sine], 4, Arrival::Constant);
        assert_eq!(found.len(), 800);
        for (n, (due, _)) in found.iter().enumerate() {
            assert!((sine.due(*due as f64 / 1e9) - n as f64).abs() < 1e-5, "start {n} at {due}");
        }
        let within =
            |from: f64, to: f64| found.iter().filter(|(due, _)| (from..to).contains(&(*due as f64 / 1e9))).count();
        assert!(within(0.75, 1.25) > 2 * within(1.75, 2.25), "it rises to the middle of a period");
    }

    #[test]
    fn random_starts_are_as_many_as_a_poisson_stream_has_in_each_leg() {
        let legs = [line(20, 1000.0, 1000.0), line(20, 1000.0, 5000.0), line(20, 0.0, 0.0), line(20, 100.0, 100.0)];
        let found = starts(&legs, 8, Arrival::Poisson);
        for (leg, expected) in [20_000.0_f64, 60_000.0, 0.0, 2_000.0].into_iter().enumerate() {
            let (from, to) = (leg as u64 * 20 * SECOND, (leg as u64 + 1) * 20 * SECOND);
            let count = found.iter().filter(|(due, _)| (from..to).contains(due)).count() as f64;
            assert!((count - expected).abs() <= 4.0 * expected.sqrt(), "leg {leg}: {count} of {expected}");
        }
        // In the first half of the ramp 1000 t + 100 t^2 are due at 10 s: 20,000 of its 60,000.
        let half = found.iter().filter(|(due, _)| (20 * SECOND..30 * SECOND).contains(due)).count() as f64;
        assert!((half - 20_000.0).abs() < 4.0 * 20_000.0_f64.sqrt(), "{half}");
    }

    #[test]
    fn sessions_that_take_no_part_start_nothing_and_the_others_make_all_of_the_rate() {
        let legs = [line(2, 100.0, 100.0), Leg { sessions: 2, ..line(2, 100.0, 100.0) }, line(2, 100.0, 100.0)];
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let found = starts(&legs, 5, arrival);
            let idle = |(due, client): &(Nanos, u64)| (2 * SECOND..4 * SECOND).contains(due) && *client >= 2;
            assert!(!found.iter().any(idle));
            let within = found.iter().filter(|(due, _)| (2 * SECOND..4 * SECOND).contains(due)).count() as f64;
            assert!((within - 200.0).abs() < 4.0 * 200.0_f64.sqrt());
            assert!(found.iter().any(|(due, client)| *due >= 4 * SECOND && *client == 4));
        }
        let exact = starts(&legs, 5, Arrival::Constant);
        assert_eq!(exact.len(), 600);
        assert!(exact.windows(2).all(|w| w[1].0 - w[0].0 == SECOND / 100));
    }
}
