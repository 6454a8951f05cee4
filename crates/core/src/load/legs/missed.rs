//! The starts of an open loop that nobody makes: a server that is far behind leaves billions of them. They are counted
//! without drawing each one.

use std::f64::consts::TAU;
use std::sync::atomic::Ordering;

use super::Starts;
use crate::clock::Nanos;
use crate::fill::Arrival;
use crate::random::Stream;

/// Random starts that are drawn one after another at most, to be exact. The number of more than these is drawn.
const DRAWN: f64 = 10_000.0;

impl Starts {
    /// How many starts of leg `number`, which begins at `begins`, are due before `until` and were given to nobody. They
    /// count as given from now on, so that each is told once, whichever of the clients is asked first.
    pub(super) fn leave(&self, number: usize, client: u64, begins: Nanos, until: Nanos) -> u64 {
        let Some(parts) = self.parts(number, client) else { return 0 };
        let given = &self.given[number];
        let is_due = |place| self.due(number, begins, place).is_some_and(|due| due < until);
        if self.arrival == Arrival::Constant {
            let end = first_without(given.load(Ordering::Relaxed), |turn| is_due(self.place(parts, turn)));
            return end.saturating_sub(given.fetch_max(end, Ordering::Relaxed));
        }
        let leg = &self.legs[number];
        let end = leg.due(((until - begins) as f64 / 1e9).min(leg.seconds()));
        // Numbers that are not negative have the order of their bits.
        let mut bits = given.fetch_max(end.to_bits(), Ordering::Relaxed);
        let expected = (end - f64::from_bits(bits)) * parts.1 as f64 / parts.0 as f64;
        if expected > DRAWN {
            return about(expected, &mut self.stream(number, bits));
        }
        let mut count = 0;
        while f64::from_bits(bits) < end {
            let place = self.after(number, parts, bits);
            count += u64::from(is_due(place));
            bits = place.to_bits();
        }
        count
    }
}

/// The first number from `from` on for which `holds` is false, which it is for all after it.
fn first_without(from: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut step) = (from, 1);
    // `low` is the first of which nothing is known.
    while holds(low.saturating_add(step - 1)) {
        low = low.saturating_add(step);
        step = step.saturating_mul(2);
    }
    let mut high = low.saturating_add(step - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    high
}

/// A Poisson number of this mean, which is large: then it is normal (Box and Muller, Ann. Math. Stat. 1958).
fn about(mean: f64, stream: &mut Stream) -> u64 {
    let far = stream.exponential(2.0).sqrt() * (TAU * stream.unit()).cos();
    (mean + mean.sqrt() * far).round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::legs::{Course, Leg};
    use crate::pacer::{Pacer, Turn};

    const MS: Nanos = 1_000_000;

    fn line(ms: u64, first_per_s: f64, last_per_s: f64) -> Leg {
        Leg { duration_ns: ms * MS, first_per_s, last_per_s, period_ns: 0, sessions: 0 }
    }

    /// A course for each of four clients of six, after `made` starts were taken in turn.
    fn courses(legs: &[Leg], seed: u64, arrival: Arrival, made: usize) -> (Vec<Course>, Vec<Turn>) {
        let starts = Arc::new(Starts::new(legs.to_vec(), seed, 1..5, 6, arrival));
        let mut courses: Vec<_> = (1..5).map(|client| Course::new(Arc::clone(&starts), client)).collect();
        let mut held = vec![Turn { seat: 0, due: None }; 4];
        (0..made.max(4)).for_each(|n| held[n % 4] = courses[n % 4].next_turn(None).unwrap());
        (courses, held)
    }

    /// As the missed starts are defined: each is drawn.
    fn drawn(course: &mut Course, held: Turn, until: Nanos) -> u64 {
        let late = |turn: &Turn| turn.due.is_some_and(|due| due < until);
        std::iter::successors(Some(held), |_| course.next_turn(None)).take_while(late).count() as u64
    }

    #[test]
    fn they_are_as_many_as_those_that_are_drawn_one_after_another() {
        let sine = Leg { last_per_s: 9000.0, period_ns: 700 * MS, ..line(2000, 400.0, 0.0) };
        let courses_of: [&[Leg]; 5] = [
            &[line(1000, 1000.0, 1000.0), line(500, 0.0, 0.0), line(1000, 0.0, 3000.0), line(1000, 3000.0, 7.0)],
            &[line(300, 20.0, 20.0), sine, line(300, 20.0, 20.0)],
            &[Leg { sessions: 2, ..line(800, 900.0, 900.0) }, Leg { sessions: 1, ..sine }, line(500, 5.0, 5.0)],
            &[Leg::steady(1234.5)],
            &[line(100, 0.0, 0.0)],
        ];
        for (which, legs) in courses_of.into_iter().enumerate() {
            for arrival in [Arrival::Constant, Arrival::Poisson] {
                for (made, until) in [(4, 1), (4, 2500 * MS), (50, 800 * MS), (700, 1_234_567_891), (4, 9000 * MS)] {
                    let (mut by_count, held) = courses(legs, 5, arrival, made);
                    let (mut by_draw, same) = courses(legs, 5, arrival, made);
                    assert_eq!(held, same);
                    let counted: u64 = by_count.iter_mut().zip(&held).map(|(c, h)| c.missed(*h, until)).sum();
                    let expected: u64 = by_draw.iter_mut().zip(&held).map(|(c, h)| drawn(c, *h, until)).sum();
                    assert_eq!(counted, expected, "legs {which}, {arrival:?}, {made} made, until {until}");
                    let again: u64 = by_count.iter_mut().map(|c| c.missed(Turn { seat: 0, due: None }, until)).sum();
                    assert_eq!(again, 0, "each is told once");
                }
            }
        }
    }

    #[test]
    fn many_random_ones_have_the_mean_and_the_variance_of_those_that_are_drawn() {
        // 40,000 starts in 2 s, two thirds of them here: sum and spread over 200 seeds.
        let legs = [line(2000, 10_000.0, 30_000.0)];
        let rest = |seed| {
            let (mut courses, held) = courses(&legs, seed, Arrival::Poisson, 4);
            courses.iter_mut().zip(&held).map(|(course, held)| course.missed(*held, 2000 * MS)).sum::<u64>() as f64
        };
        let found: Vec<f64> = (0..200).map(rest).collect();
        let (mean, count) = (40_000.0 * 4.0 / 6.0, found.len() as f64);
        let seen = found.iter().sum::<f64>() / count;
        assert!((seen - mean).abs() < 4.0 * (mean / count).sqrt(), "mean {seen} for {mean}");
        let variance = found.iter().map(|one| (one - seen).powi(2)).sum::<f64>() / (count - 1.0);
        assert!((variance / mean - 1.0).abs() < 4.0 * (2.0 / count).sqrt(), "variance {variance} for {mean}");
    }

    #[test]
    fn a_thousand_billion_take_no_longer_than_a_few() {
        let legs = [line(500, 1e12, 1e12), Leg { last_per_s: 4e12, period_ns: 100 * MS, ..line(500, 0.0, 0.0) }];
        let all = 1.5e12 * 4.0 / 6.0;
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let (mut courses, held) = courses(&legs, 5, arrival, 4);
            let missed: u64 = courses.iter_mut().zip(&held).map(|(c, h)| c.missed(*h, 2000 * MS)).sum();
            assert!((missed as f64 / all - 1.0).abs() < 1e-5, "{arrival:?}: {missed}");
        }
    }

    #[test]
    fn the_first_number_is_found_from_wherever_the_search_begins() {
        for end in [0, 1, 2, 3, 7, 8, 9, 1000, 1 << 40] {
            for from in [0, 1, 5, 8, 999].into_iter().filter(|from| *from <= end) {
                assert_eq!(first_without(from, |n| n < end), end, "from {from}");
            }
        }
        assert_eq!(first_without(9, |_| false), 9);
    }
}
