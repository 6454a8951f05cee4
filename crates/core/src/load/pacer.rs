//! When the clients of a thread start their transactions.

use crate::clock::Nanos;
use crate::workload::KindId;

/// Which seat of a thread starts next, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the seat, from 0.
    pub seat: usize,
    /// Intended start in ns from the beginning of the load; `None`: at once.
    pub due: Option<Nanos>,
}

/// A transaction that has ended at a seat, and what the seat will do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Number of the seat.
    pub seat: usize,
    /// Kind of the transaction.
    pub kind: KindId,
    /// Kind of the seat's next one, which is drawn already.
    pub next: KindId,
    /// When it should have started, in ns from the beginning of the load.
    pub due: Nanos,
    /// When it ended, likewise.
    pub at: Nanos,
}

/// Gives the starts of the clients of one thread, one after another.
pub trait Pacer: Send {
    /// The next start, after `before` has ended; without it a start that follows none: the first of
    /// all, or one that will not be made because the time is over. `None`: there is no next one.
    fn next_turn(&mut self, before: Option<Ended>) -> Option<Turn>;

    /// Whether a client may have to wait for its next start.
    #[inline]
    fn waits(&self) -> bool {
        true
    }

    /// How many starts, `held` among them, were due before `until` ns and will not be made, as the time is over. This
    /// draws them one after another: where they may be many, they have to be counted in another way.
    fn missed(&mut self, held: Turn, until: Nanos) -> u64 {
        let (mut missed, mut next) = (0, Some(held));
        while next.is_some_and(|turn| turn.due.is_some_and(|due| due < until)) {
            missed += 1;
            next = self.next_turn(None);
        }
        missed
    }
}

/// The closed loop: a client starts its next transaction when the last one has ended.
#[derive(Debug, Clone, Copy)]
pub struct ClosedLoop;

impl Pacer for ClosedLoop {
    #[inline]
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        Some(Turn { seat: 0, due: None })
    }

    #[inline]
    fn waits(&self) -> bool {
        false
    }
}
