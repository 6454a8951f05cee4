//! When the clients of a group have done enough: shared by the clients of a group on one node.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::clock::Nanos;
use crate::recorder::Outcome;
use crate::stage::{Counted, Until, Whose};

/// The end of a group, as its clients see it. It costs the load path a relaxed load for a group that ends by
/// time, and one atomic operation a transaction where all clients share a count.
#[derive(Debug)]
pub struct Limit {
    until: Until,
    /// End of what counts, on the clock; the far future while it is not known.
    deadline: AtomicU64,
    /// Of a count that all clients share: transactions that may still begin, or rows that are missing.
    left: AtomicU64,
    /// Clients that have not ended.
    working: AtomicUsize,
    /// Clients of this node, and how many of them were given their share.
    clients: u64,
    given: AtomicU64,
}

impl Limit {
    /// The limit of a group that has `clients` clients on this node.
    pub fn new(until: Until, clients: usize) -> Self {
        let left = match until {
            Until::Count { of: Whose::All, count, .. } => count,
            _ => 0,
        };
        let (deadline, working) = (AtomicU64::new(Nanos::MAX), AtomicUsize::new(clients));
        let given = AtomicU64::new(0);
        Self { until, deadline, left: AtomicU64::new(left), working, clients: clients as u64, given }
    }

    /// The stage's clock starts at `start`.
    pub fn begin(&self, start: Nanos) {
        if let Until::Time(duration) = self.until {
            self.deadline.store(start.saturating_add(duration), Ordering::Relaxed);
        }
    }

    /// What ends later does not count.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.deadline.load(Ordering::Relaxed)
    }

    /// Whether the deadline may yet move.
    #[inline]
    pub fn open(&self) -> bool {
        !matches!(self.until, Until::Time(_))
    }

    /// Ends the group at `at`, if it has not ended: the group that it follows is over.
    pub fn end(&self, at: Nanos) {
        self.deadline.fetch_min(at, Ordering::Relaxed);
    }

    /// A client has ended; true for the last one.
    pub fn client_ended(&self) -> bool {
        self.working.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether all clients have ended.
    pub fn over(&self) -> bool {
        self.working.load(Ordering::Acquire) == 0
    }

    /// The share of one client; even shares of a count that does not divide are one more for those that ask first.
    pub fn quota(&self) -> Quota<'_> {
        let share = match self.until {
            Until::Count { count, of: Whose::Share, .. } => {
                let clients = self.clients.max(1);
                count / clients + u64::from(self.given.fetch_add(1, Ordering::Relaxed) < count % clients)
            }
            Until::Count { count, .. } => count,
            _ => 0,
        };
        Quota { limit: self, share, done: 0 }
    }
}

/// What one client may still do.
#[derive(Debug)]
pub struct Quota<'a> {
    limit: &'a Limit,
    share: u64,
    done: u64,
}

impl Quota<'_> {
    /// Whether the client may begin another transaction. A count of all clients is kept exactly: who may begin
    /// holds the place of one transaction until [`Self::ended`].
    #[inline]
    pub fn may_begin(&mut self) -> bool {
        let Until::Count { counted, of, .. } = self.limit.until else { return true };
        let left = &self.limit.left;
        match (of, counted) {
            (Whose::Each | Whose::Share, _) => self.done < self.share,
            (Whose::All, Counted::Rows) => left.load(Ordering::Relaxed) > 0,
            (Whose::All, _) => {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |places| places.checked_sub(1)).is_ok()
            }
        }
    }

    /// The transaction that began last has ended so, with so many `rows`. One that was not done does not
    /// count, unless attempts do: its client tries another.
    #[inline]
    pub fn ended(&mut self, outcome: Outcome, rows: u64) {
        let Until::Count { counted, of, .. } = self.limit.until else { return };
        let left = &self.limit.left;
        let done = match outcome {
            Outcome::Committed | Outcome::RolledBack => true,
            Outcome::Failed | Outcome::Unknown => counted == Counted::Attempts,
        };
        match (of, counted) {
            (Whose::Each | Whose::Share, Counted::Rows) => self.done += rows,
            (Whose::Each | Whose::Share, _) => self.done += u64::from(done),
            (Whose::All, Counted::Rows) => {
                // Others may have brought the last rows meanwhile: together they may write more, never fewer.
                let rest = |missing: u64| Some(missing.saturating_sub(rows));
                let _ = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
            }
            (Whose::All, _) if !done => drop(left.fetch_add(1, Ordering::Relaxed)),
            (Whose::All, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counted: Counted, count: u64, of: Whose) -> Limit {
        Limit::new(Until::Count { counted, count, of }, 2)
    }

    /// Transactions of `rows` rows that each of two clients may do in turn; every third one fails.
    fn done(limit: &Limit, rows: u64) -> (u64, u64) {
        let mut clients = [limit.quota(), limit.quota()];
        let mut found = [0, 0];
        for number in 0..1000_usize {
            let at = number % 2;
            if clients[at].may_begin() {
                let failed = number % 3 == 2;
                let outcome = if failed { Outcome::Failed } else { Outcome::Committed };
                clients[at].ended(outcome, if failed { 0 } else { rows });
                found[at] += u64::from(!failed);
            }
        }
        (found[0], found[1])
    }

    #[test]
    fn a_count_is_met_exactly_whatever_fails() {
        assert_eq!(done(&counted(Counted::Transactions, 40, Whose::Each), 1), (40, 40));
        let (first, second) = done(&counted(Counted::Transactions, 41, Whose::All), 1);
        assert_eq!(first + second, 41);
        assert_eq!(done(&counted(Counted::Rows, 100, Whose::Each), 10), (10, 10));
        assert_eq!(done(&counted(Counted::Rows, 95, Whose::Each), 10), (10, 10), "the last one goes beyond");
        let (first, second) = done(&counted(Counted::Rows, 100, Whose::All), 10);
        assert_eq!(first + second, 10);
        let (first, second) = done(&counted(Counted::Transactions, 41, Whose::Share), 1);
        assert_eq!((first, second), (21, 20), "even shares, and no other client does what one leaves");
    }

    #[test]
    fn time_ends_a_group_at_its_deadline_and_a_follower_when_it_is_told() {
        let timed = Limit::new(Until::Time(100), 1);
        timed.begin(7);
        assert_eq!((timed.deadline(), timed.open(), timed.quota().may_begin()), (107, false, true));
        let follower = Limit::new(Until::Group(0), 2);
        follower.begin(7);
        assert_eq!((follower.deadline(), follower.open()), (Nanos::MAX, true));
        follower.end(50);
        follower.end(60);
        assert_eq!(follower.deadline(), 50, "the first end counts");
        assert_eq!([follower.client_ended(), follower.client_ended()], [false, true]);
    }
}
