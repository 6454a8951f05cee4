//! The longest times of a client in which it finished no transaction: what an outage leaves in its record.

use crate::clock::Nanos;

/// Shorter ones are not looked at.
pub const LEAST: Nanos = 5_000_000;
/// Pauses of a client that are kept, beside the last one: the longest.
pub const KEPT: usize = 256;

/// A time without a transaction that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// End of the transaction before it, or the start of the cycle.
    pub from: Nanos,
    /// Since when it wanted to do the next one: its intended start, or that of the first that failed. `None`: it did not
    /// want any.
    pub wanted: Option<Nanos>,
    /// End of the transaction after it; `None` where none followed.
    pub to: Option<Nanos>,
}

/// Those of one client in one cycle. It allocates when it is made.
#[derive(Debug)]
pub struct Pauses {
    /// What is kept, in no order; without room for any where nobody asked.
    found: Vec<Pause>,
    since: Nanos,
    /// Intended start of the first transaction since that failed.
    wanted: Option<Nanos>,
    least: Nanos,
}

impl Pauses {
    /// Of a client whose pauses are `kept`, or not.
    pub fn new(kept: bool) -> Self {
        let (found, least) = if kept { (Vec::with_capacity(KEPT + 1), LEAST) } else { (Vec::new(), Nanos::MAX) };
        Self { found, since: 0, wanted: None, least }
    }

    /// The cycle begins at `start`.
    pub fn begin(&mut self, start: Nanos) {
        (self.since, self.wanted) = (start, None);
    }

    /// A transaction that was to begin at `intended` was done at `at`.
    #[inline]
    pub fn done(&mut self, intended: Nanos, at: Nanos) {
        if at.saturating_sub(self.since) >= self.least {
            self.keep(intended, at);
        }
        (self.since, self.wanted) = (at, None);
    }

    /// A transaction that was to begin at `intended` failed.
    #[inline]
    pub fn failed(&mut self, intended: Nanos) {
        self.wanted.get_or_insert(intended);
    }

    /// The client has ended and does no more: this last pause is kept whatever its length.
    pub fn end(&mut self) {
        if self.least < Nanos::MAX {
            let wanted = self.wanted.map(|at| at.max(self.since));
            self.found.push(Pause { from: self.since, wanted, to: None });
        }
    }

    /// Those that are kept.
    pub fn found(&self) -> &[Pause] {
        &self.found
    }

    /// Keeps it, in place of the shortest where there is no room.
    #[cold]
    fn keep(&mut self, intended: Nanos, at: Nanos) {
        let wanted = self.wanted.unwrap_or(intended).max(self.since);
        let pause = Pause { from: self.since, wanted: Some(wanted), to: Some(at) };
        if self.found.len() < KEPT {
            return self.found.push(pause);
        }
        let length = |pause: &Pause| pause.to.map_or(Nanos::MAX, |to| to - pause.from);
        if let Some(shortest) = self.found.iter_mut().min_by_key(|pause| length(pause)) {
            if length(shortest) < length(&pause) {
                *shortest = pause;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn pause(from: u64, wanted: Option<u64>, to: Option<u64>) -> Pause {
        Pause { from: from * MS, wanted: wanted.map(|at| at * MS), to: to.map(|at| at * MS) }
    }

    #[test]
    fn long_pauses_are_kept_with_what_was_wanted_in_them() {
        let mut pauses = Pauses::new(true);
        pauses.begin(100 * MS);
        for (intended, at) in [(100, 101), (101, 104), (107, 109), (109, 111)] {
            pauses.done(intended * MS, at * MS);
        }
        pauses.failed(112 * MS);
        pauses.failed(400 * MS);
        pauses.done(900 * MS, 1111 * MS);
        pauses.done(1000 * MS, 1120 * MS);
        pauses.end();
        assert_eq!(
            pauses.found(),
            [
                pause(104, Some(107), Some(109)),
                pause(111, Some(112), Some(1111)),
                // Late already: it was wanted since the last one ended.
                pause(1111, Some(1111), Some(1120)),
                pause(1120, None, None),
            ]
        );
        let mut gone = Pauses::new(true);
        gone.begin(MS);
        gone.failed(2 * MS);
        gone.end();
        assert_eq!(gone.found(), [pause(1, Some(2), None)]);
    }

    #[test]
    fn the_longest_are_kept_in_the_room_of_the_start() {
        let mut pauses = Pauses::new(true);
        let room = pauses.found.capacity();
        let mut at = 0;
        pauses.begin(at);
        for length in (10..400).chain([5, 1000]) {
            pauses.done(at, at + length * MS);
            at += length * MS;
        }
        pauses.end();
        let mut lengths: Vec<_> =
            pauses.found().iter().filter_map(|one| one.to.map(|to| (to - one.from) / MS)).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, (400 - (KEPT as u64 - 1)..400).chain([1000]).collect::<Vec<_>>());
        assert_eq!((pauses.found().len(), pauses.found.capacity()), (KEPT + 1, room), "nothing is allocated");
    }

    #[test]
    fn nobody_who_did_not_ask_has_pauses() {
        let mut pauses = Pauses::new(false);
        pauses.done(0, Nanos::MAX - 1);
        pauses.end();
        assert!(pauses.found().is_empty());
    }
}
