//! How long, and how often, dsbench tries to connect again to a server that is gone.

use crate::clock::Nanos;

const FIRST_PAUSE: Nanos = 20_000_000;
const LONGEST_PAUSE: Nanos = 500_000_000;

/// Pauses between tries to connect: 20 ms at first, each twice as long up to 500 ms, until patience is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    over: Nanos,
    pause: Nanos,
}

impl Patience {
    /// Patience that begins `now` and lasts for `patience`.
    pub(crate) fn new(now: Nanos, patience: Nanos) -> Self {
        Self { over: now.saturating_add(patience), pause: FIRST_PAUSE }
    }

    /// When to try again after a try that failed `now`; `None` when patience is over.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Nanos> {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        (now < self.over).then_some(now + pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn pauses_grow_and_patience_ends() {
        let mut patience = Patience::new(7, 1000 * MS);
        let pauses: Vec<Nanos> = (0..7).map_while(|_| patience.next(7)).map(|at| (at - 7) / MS).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 500, 500]);
        assert!(patience.next(1000 * MS + 6).is_some());
        assert_eq!(patience.next(1000 * MS + 7), None);
    }
}
