//! An open loop whose demanded rate changes: legs, one after another, each with a rate of its own.

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::fill::Arrival;
use crate::pacer::{Ended, Pacer, Turn};
use crate::random::Stream;

/// Beyond any load: a client that has no further start sleeps until its end.
const NEVER: Nanos = Nanos::MAX / 2;
/// Halvings of a leg that find a start within a nanosecond of an hour.
const HALVINGS: u32 = 60;

/// A stretch of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// How long it lasts.
    pub duration_ns: Nanos,
    /// Starts per second of all clients together, at its beginning.
    pub first_per_s: f64,
    /// At its end, to which the rate goes in a line; with a period the greatest.
    pub last_per_s: f64,
    /// Of a sine that begins at `first_per_s`, its lowest; 0 for a line.
    pub period_ns: Nanos,
    /// Clients that take part, by their numbers from 0; the others hold their connections. 0 for all.
    pub sessions: u64,
}

impl Leg {
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

/// Gives the starts of one client. Each leg begins anew: at constant intervals its start n falls to client n modulo those
/// that take part; at random each of them has a Poisson stream of its share, which remembers nothing.
#[derive(Debug, Clone)]
pub struct Course<'a> {
    legs: &'a [Leg],
    client: u64,
    clients: u64,
    /// Of random starts.
    stream: Option<Stream>,
    /// Of the leg.
    begins: Nanos,
    /// Starts of all clients until the client's next one.
    place: Option<f64>,
}

impl<'a> Course<'a> {
    /// Of `client` (from 0) of `clients`.
    pub fn new(legs: &'a [Leg], seed: u64, client: u64, clients: u64, arrival: Arrival) -> Self {
        // Another key than that of the inputs, as for a constant rate.
        let stream = (arrival == Arrival::Poisson).then(|| Stream::new(seed ^ 0x7061_6365, client, 0));
        Self { legs, client, clients, stream, begins: 0, place: None }
    }

    /// The next place within a leg that has room for `most` starts.
    fn place(&mut self, leg: &Leg, most: f64) -> Option<f64> {
        let part = if leg.sessions == 0 { self.clients } else { leg.sessions.min(self.clients) };
        if self.client >= part {
            return None;
        }
        let place = match (&mut self.stream, self.place) {
            (None, None) => self.client as f64,
            (None, Some(place)) => place + part as f64,
            (Some(stream), place) => place.unwrap_or(0.0) + stream.exponential(part as f64),
        };
        (place < most).then_some(place)
    }
}

impl Pacer for Course<'_> {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        while let Some((leg, later)) = self.legs.split_first() {
            self.place = self.place(leg, leg.due(leg.seconds()));
            if let Some(place) = self.place {
                let due = self.begins + (leg.when(place) * 1e9).round() as Nanos;
                return Some(Turn { seat: 0, due: Some(due) });
            }
            self.begins += leg.duration_ns;
            self.legs = later;
        }
        Some(Turn { seat: 0, due: Some(NEVER) })
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
        let of = |client| {
            let mut course = Course::new(legs, 7, client, clients, arrival);
            std::iter::from_fn(move || course.next_turn(None).unwrap().due.filter(|due| *due < NEVER))
                .map(move |due| (due, client))
        };
        let mut found: Vec<_> = (0..clients).flat_map(of).collect();
        found.sort_unstable();
        found
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
        let gaps: Vec<f64> = found.windows(2).take(19_000).map(|w| (w[1].0 - w[0].0) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((deviation / mean - 1.0).abs() < 0.03, "gaps of an exponential: {deviation} {mean}");
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
