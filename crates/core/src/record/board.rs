//! What the clients of one thread of the operating system count together.
//!
//! Times are kept by thread, and not by client: a thousand clients would each touch other buckets in other pages, so that
//! no cache held them, and take some 50 KiB each. What is told by client is in its [`Recorder`](crate::recorder::Recorder).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::clock::Nanos;
use crate::course::Course;
use crate::histogram::{add, Histogram};

/// Histograms and course of the clients of a group that one thread of the operating system runs. That thread alone writes,
/// one client at a time; no other thread's numbers lie in the same cache lines, which some processors fetch in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Board {
    /// By second and kind.
    pub course: Course,
    residence: Box<[Histogram]>,
    response: Box<[Histogram]>,
    failed: Box<[Histogram]>,
    statements: Box<[StatementTally]>,
}

/// What is kept of one statement, where statements are timed.
#[derive(Debug, Default, Clone)]
pub struct StatementTally {
    /// Times of its executions without an error, in ns.
    pub times: Histogram,
    failed: Count,
    retried: Count,
}

#[derive(Debug, Default)]
struct Count(AtomicU64);

impl Clone for Count {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get()))
    }
}

impl Count {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl StatementTally {
    /// How often it ended its transaction.
    pub fn failed(&self) -> u64 {
        self.failed.get()
    }

    /// How often it failed in an attempt after which another one came.
    pub fn retried(&self) -> u64 {
        self.retried.get()
    }

    /// One execution more: it failed, or took `took`; `again`: its attempt failed, and another one follows.
    pub(crate) fn record(&self, failed: bool, again: bool, took: Nanos) {
        match (failed, again) {
            (false, _) => self.times.record(took),
            (true, true) => add(&self.retried.0, 1),
            (true, false) => add(&self.failed.0, 1),
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&self, other: &Self) {
        self.times.merge(&other.times);
        add(&self.failed.0, other.failed());
        add(&self.retried.0, other.retried());
    }
}

impl Board {
    /// For a workload with `kinds` kinds; `open_loop` keeps response times too; times of so many `statements` are kept.
    pub fn new(kinds: usize, open_loop: bool, statements: usize) -> Arc<Self> {
        let histograms = |count: usize| (0..count).map(|_| Histogram::default()).collect();
        Arc::new(Self {
            course: Course::new(kinds),
            residence: histograms(kinds),
            response: histograms(if open_loop { kinds } else { 0 }),
            failed: histograms(kinds),
            statements: (0..statements).map(|_| StatementTally::default()).collect(),
        })
    }

    /// Residence times r_injm of the counted of a kind: first attempt's start to the end.
    #[inline]
    pub fn residence(&self, kind: usize) -> &Histogram {
        &self.residence[kind]
    }

    /// Response times of the counted of a kind, from the intended start; kept in the open loop only.
    #[inline]
    pub fn response(&self, kind: usize) -> Option<&Histogram> {
        self.response.get(kind)
    }

    /// Times of the transactions of a kind that ended within the duration and did not succeed.
    #[inline]
    pub fn failed(&self, kind: usize) -> &Histogram {
        &self.failed[kind]
    }

    /// Whether response times are kept.
    pub fn is_open(&self) -> bool {
        !self.response.is_empty()
    }

    /// What was kept of each statement; empty unless statements are timed.
    #[inline]
    pub fn statements(&self) -> &[StatementTally] {
        &self.statements
    }

    /// Adds the histograms and statements of `other`, of the same group: its course is collected by second.
    pub fn merge(&self, other: &Self) {
        self.residence.iter().zip(&other.residence).for_each(|(mine, theirs)| mine.merge(theirs));
        self.response.iter().zip(&other.response).for_each(|(mine, theirs)| mine.merge(theirs));
        self.failed.iter().zip(&other.failed).for_each(|(mine, theirs)| mine.merge(theirs));
        self.statements.iter().zip(&other.statements).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}
