//! How long, and how often, dsbench tries to connect again to a server that is gone.

use crate::clock::Nanos;

const FIRST_PAUSE: Nanos = 20_000_000;
/// The longest pause between tries where nobody waits for the moment in which the server is back.
pub const LONGEST_PAUSE: Nanos = 500_000_000;

/// Pauses between tries to connect: 20 ms at first, each twice as long up to the longest, until patience is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    over: Nanos,
    pause: Nanos,
    longest: Nanos,
}

impl Patience {
    /// Patience that begins `now` and lasts for `patience`; no pause is longer than `longest`.
    pub(crate) fn new(now: Nanos, patience: Nanos, longest: Nanos) -> Self {
        Self { over: now.saturating_add(patience), pause: FIRST_PAUSE.min(longest), longest }
    }

    /// When to try again after a try that failed `now`; `None` when patience is over.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Nanos> {
        let pause = self.pause;
        self.pause = (pause * 2).min(self.longest);
        (now < self.over).then_some(now + pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn pauses_grow_and_patience_ends() {
        let mut patience = Patience::new(7, 1000 * MS, LONGEST_PAUSE);
        let pauses: Vec<Nanos> = (0..7).map_while(|_| patience.next(7)).map(|at| (at - 7) / MS).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 500, 500]);
        assert!(patience.next(1000 * MS + 6).is_some());
        assert_eq!(patience.next(1000 * MS + 7), None);
        let mut prompt = Patience::new(0, 1000 * MS, 10 * MS);
        let pauses: Vec<Nanos> = (0..3).map_while(|_| prompt.next(0)).map(|at| at / MS).collect();
        assert_eq!(pauses, [10, 10, 10]);
    }
}
