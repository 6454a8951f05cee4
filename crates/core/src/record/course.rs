//! The course of a cycle, second by second, in flat memory.
//!
//! Each thread of the operating system writes the second under way into one of its four slots, whatever client it runs;
//! the collector empties a slot one second after its second has ended, by atomic exchange. So the load path takes no
//! lock, every transaction is counted exactly once, and memory does not grow with the duration.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::clock::Nanos;
use crate::histogram::add;
use crate::workload::KindId;

pub(crate) const SECOND: Nanos = 1_000_000_000;
const SLOTS: usize = 4;
// Coarse buckets: 16 per doubling from 128 ns to 2^43 ns; a quantile of one second is within 3%.
const SUB_BITS: u32 = 4;
const FLOOR_BITS: u32 = 7;
const COARSE: usize = (43 - FLOOR_BITS as usize) << SUB_BITS;

fn coarse_of(value: Nanos) -> usize {
    let value = value.clamp(1 << FLOOR_BITS, (1 << 43) - 1);
    let doubling = 63 - value.leading_zeros();
    let within = (value >> (doubling - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    ((doubling - FLOOR_BITS) as usize) << SUB_BITS | within as usize
}

fn coarse_middle(index: usize) -> Nanos {
    let doubling = (index >> SUB_BITS) as u32 + FLOOR_BITS;
    let width = 1_u64 << (doubling - SUB_BITS);
    (1 << doubling) + (index as u64 & ((1 << SUB_BITS) - 1)) * width + width / 2
}

/// Counts of times of one client, by coarse bucket.
#[derive(Debug)]
pub struct Coarse(Box<[u32]>);

impl Default for Coarse {
    fn default() -> Self {
        Self(vec![0; COARSE].into())
    }
}

impl Coarse {
    /// Counts one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.0[coarse_of(time)] += 1;
    }

    /// Quantile `q` (0–1), within 3%; 0 when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        quantile(self.0.iter().map(|count| u64::from(*count)), q)
    }
}

/// A transaction that lasted longer than a second. Times are points on the clock.
#[derive(Debug, Clone, Copy)]
pub struct Lasting {
    /// Its kind.
    pub kind: KindId,
    /// When it started.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
}

/// Parts of a second of which is kept whether a transaction was done in them.
pub const PARTS: usize = 100;
/// Half of them: those of one word.
const HALF: usize = PARTS / 2;
const PART: Nanos = SECOND / PARTS as Nanos;

#[derive(Debug)]
struct Slot {
    counts: [AtomicU32; COARSE],
    failed: AtomicU32,
    max: AtomicU64,
    /// A bit for each part of the second in which a transaction was done.
    busy: [AtomicU64; 2],
}

impl Slot {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let counts = [const { AtomicU32::new(0) }; COARSE];
        Self { counts, failed: AtomicU32::new(0), max: zero(), busy: [zero(), zero()] }
    }
}

/// One thread's share of the course, written by it and emptied by the collector.
#[derive(Debug)]
pub struct Course {
    slots: Box<[Slot]>,
    committed: AtomicU64,
    failed: AtomicU64,
}

impl Course {
    /// For clients whose workload has `kinds` kinds of transactions.
    pub fn new(kinds: usize) -> Self {
        let slots = (0..kinds * SLOTS).map(|_| Slot::new()).collect();
        Self { slots, committed: AtomicU64::new(0), failed: AtomicU64::new(0) }
    }

    fn slot(&self, kind: usize, second: u64) -> &Slot {
        &self.slots[kind * SLOTS + second as usize % SLOTS]
    }

    /// A transaction of `kind` ended `at` ns after the cycle's start: it was `committed`, or rolled back on purpose.
    #[inline]
    pub fn ended(&self, kind: KindId, at: Nanos, residence: Nanos, committed: bool) {
        let slot = self.slot(kind.into(), at / SECOND);
        slot.counts[coarse_of(residence)].fetch_add(1, Ordering::Relaxed);
        if residence > slot.max.load(Ordering::Relaxed) {
            slot.max.fetch_max(residence, Ordering::Relaxed);
        }
        let part = (at % SECOND / PART) as usize;
        let (word, bit) = (&slot.busy[part / HALF], 1 << (part % HALF));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        // Only this thread writes: a store is enough and costs no locked bus cycle.
        add(&self.committed, u64::from(committed));
    }

    /// An attempt of `kind` failed `at` ns after the cycle's start.
    #[inline]
    pub fn failed(&self, kind: KindId, at: Nanos) {
        self.slot(kind.into(), at / SECOND).failed.fetch_add(1, Ordering::Relaxed);
        add(&self.failed, 1);
    }

    /// (committed, failed attempts) so far, for the progress display.
    pub fn totals(&self) -> (u64, u64) {
        (self.committed.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}

/// What all clients did in one second, for one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Second {
    /// Second of the cycle, from 0.
    pub second: u32,
    /// Kind of the transactions.
    pub kind: KindId,
    /// Transactions done, those rolled back on purpose included.
    pub count: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Median residence time, within 3%.
    pub p50_ns: Nanos,
    /// 99% quantile of the residence times, within 3%.
    pub p99_ns: Nanos,
    /// Longest residence time, exact.
    pub max_ns: Nanos,
    /// A bit for each 1/100 of the second in which a transaction was done, those of its first half first.
    pub busy: [u64; 2],
    /// Transactions that were under way during all of it.
    pub under_way: u64,
    /// Age at its end, or at the end of the cycle, of the oldest of them.
    pub oldest_ns: Nanos,
}

impl Second {
    /// Takes in transactions that lasted, of a cycle that went from `start` to `end`, where they are of the same kind.
    pub fn lasted<'a>(&mut self, all: impl IntoIterator<Item = &'a Lasting>, start: Nanos, end: Nanos) {
        let from = start + Nanos::from(self.second) * SECOND;
        let to = (from + SECOND).min(end);
        let lasted = |one: &&Lasting| one.kind == self.kind && from < end && one.from <= from && one.to >= to;
        for one in all.into_iter().filter(lasted) {
            self.under_way += 1;
            self.oldest_ns = self.oldest_ns.max(to - one.from);
        }
    }
}

/// What was in slots: residence times by coarse bucket, failed attempts and the longest time.
pub struct Found {
    counts: [u64; COARSE],
    failed: u64,
    max: Nanos,
    busy: [u64; 2],
}

impl Default for Found {
    fn default() -> Self {
        Self { counts: [0; COARSE], failed: 0, max: 0, busy: [0; 2] }
    }
}

impl Found {
    fn empty(&mut self, slot: &Slot) {
        for (total, count) in self.counts.iter_mut().zip(&slot.counts) {
            // Reading first keeps the cache line shared where there is nothing to take.
            if count.load(Ordering::Relaxed) > 0 {
                *total += u64::from(count.swap(0, Ordering::Relaxed));
            }
        }
        self.failed += u64::from(slot.failed.swap(0, Ordering::Relaxed));
        self.max = self.max.max(slot.max.swap(0, Ordering::Relaxed));
        self.busy.iter_mut().zip(&slot.busy).for_each(|(mine, word)| *mine |= word.swap(0, Ordering::Relaxed));
    }

    /// Adds what others did.
    pub fn add(&mut self, other: &Found) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.failed += other.failed;
        self.max = self.max.max(other.max);
        self.busy.iter_mut().zip(other.busy).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// The same as figures of a second.
    pub fn second(&self, second: u32, kind: KindId) -> Second {
        let (count, failed) = (self.counts.iter().sum(), self.failed);
        let time = |q| quantile(self.counts.iter().copied(), q).min(self.max);
        let (p50_ns, p99_ns, max_ns, busy) = (time(0.5), time(0.99), self.max, self.busy);
        Second { second, kind, count, failed, p50_ns, p99_ns, max_ns, busy, under_way: 0, oldest_ns: 0 }
    }
}

/// Empties the slots of all threads for `second`, for one kind.
pub fn collect<'a>(courses: impl IntoIterator<Item = &'a Course>, kind: KindId, second: u32) -> Found {
    let mut found = Found::default();
    courses.into_iter().for_each(|course| found.empty(course.slot(kind.into(), second.into())));
    found
}

fn quantile(mut counts: impl Iterator<Item = u64> + Clone, q: f64) -> Nanos {
    let rank = (q * counts.clone().sum::<u64>() as f64).ceil() as u64;
    let mut seen = 0;
    let found = counts.position(|count| {
        seen += count;
        count > 0 && seen >= rank
    });
    found.map_or(0, coarse_middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_buckets_are_within_three_percent() {
        for value in (7..43).flat_map(|bits| [1_u64 << bits, (1 << bits) + (1 << bits) / 3, (2 << bits) - 1]) {
            let error = (coarse_middle(coarse_of(value)) as f64 / value as f64 - 1.0).abs();
            assert!(error <= 1.0 / 31.0, "{value}: {error}");
        }
    }

    #[test]
    fn a_second_is_collected_once_with_its_quantiles() {
        let courses = [Course::new(2), Course::new(2)];
        for n in 0..99 {
            courses[n % 2].ended(1, 2 * SECOND + n as u64, 1_000_000, true);
        }
        courses[0].ended(1, 3 * SECOND - 1, 50_000_000, false);
        courses[1].failed(1, 2 * SECOND);
        courses[0].ended(0, 2 * SECOND, 7, true);
        let mut found = collect(&courses, 1, 2);
        let second = found.second(2, 1);
        assert_eq!((second.count, second.failed, second.max_ns), (100, 1, 50_000_000));
        assert_eq!(second.busy, [1, 1 << 49], "the first and the last part of the second");
        assert!((second.p50_ns as f64 / 1e6 - 1.0).abs() < 0.04 && second.p99_ns < 1_100_000);
        assert_eq!(collect(&courses, 1, 2).second(2, 1).count, 0, "nothing is collected twice");
        found.add(&collect(&courses, 0, 2));
        let all = found.second(2, 0);
        assert_eq!((all.count, all.failed, all.max_ns, all.p50_ns), (101, 1, 50_000_000, second.p50_ns));
        assert_eq!(courses[0].totals(), (51, 0), "what was rolled back is no commit");
    }
}
