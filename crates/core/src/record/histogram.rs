//! Histograms of times that allocate nothing after their making.
//!
//! The layout is that of HdrHistogram with three significant digits: 2048 sub-buckets, the width of
//! a bucket doubling with every doubling of the value. A bucket is at most 1/1024 of its lowest
//! value wide, so its middle is within 0.05% of every value in it; values below 2048 ns are exact,
//! and so are minimum, maximum and sum. The range ends at 2^43 ns (2.4 h): longer times count in
//! the last bucket and still in the exact maximum.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Nanos;
use crate::record::zeroed::Zeroed;

const SUB_BITS: u32 = 11;
const SUB: u64 = 1 << SUB_BITS;
const HALF: usize = 1 << (SUB_BITS - 1);
const TOP_BITS: u32 = 43;
/// Number of buckets.
pub const BUCKETS: usize = SUB as usize + (TOP_BITS - SUB_BITS) as usize * HALF;

/// Index of the bucket that holds `value`.
#[inline]
pub fn bucket_of(value: Nanos) -> usize {
    let value = value.min((1 << TOP_BITS) - 1);
    if value < SUB {
        return value as usize;
    }
    // `shift` halves the value until it lies in the upper half of the sub-buckets.
    let shift = 64 - value.leading_zeros() - SUB_BITS;
    (value >> shift) as usize + shift as usize * HALF
}

/// Lowest and highest value of bucket `index`, both inclusive.
pub fn bounds(index: usize) -> (Nanos, Nanos) {
    if index < SUB as usize {
        return (index as Nanos, index as Nanos);
    }
    let shift = (index - SUB as usize) / HALF + 1;
    let low = ((index - shift * HALF) as Nanos) << shift;
    (low, low + (1 << shift) - 1)
}

/// Exact count, sum, least and greatest of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    count: u64,
    sum: u64,
    min: Nanos,
    max: Nanos,
}

impl Default for Span {
    fn default() -> Self {
        Self { count: 0, sum: 0, min: Nanos::MAX, max: 0 }
    }
}

impl Span {
    /// Takes one value in.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Smallest value; 0 when empty.
    pub fn min(&self) -> Nanos {
        if self.count == 0 {
            0
        } else {
            self.min
        }
    }

    /// Largest value; 0 when empty.
    pub fn max(&self) -> Nanos {
        self.max
    }
}

/// Counts of times by bucket, with exact count, sum, minimum and maximum.
///
/// One thread writes at a time, and others may read meanwhile: each number is loaded and stored, which costs no locked
/// bus cycle. What two threads write at once may be lost.
pub struct Histogram {
    counts: Zeroed,
    count: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

/// Adds to a number that nobody else writes to.
#[inline]
pub(crate) fn add(number: &AtomicU64, by: u64) {
    number.store(number.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl Default for Histogram {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self { counts: Zeroed::new(BUCKETS), count: zero(), sum: zero(), min: AtomicU64::new(Nanos::MAX), max: zero() }
    }
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        let copy = Self::default();
        copy.merge(self);
        copy
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values from {} to {} ns", self.count(), self.min(), self.max())
    }
}

impl Histogram {
    /// Counts one value; allocates nothing.
    #[inline]
    pub fn record(&self, value: Nanos) {
        add(&self.counts[bucket_of(value)], 1);
        add(&self.count, 1);
        add(&self.sum, value);
        self.reach(value, value);
    }

    #[inline]
    fn reach(&self, min: Nanos, max: Nanos) {
        // They seldom change: a load keeps the line as it is.
        if min < self.min.load(Ordering::Relaxed) {
            self.min.store(min, Ordering::Relaxed);
        }
        if max > self.max.load(Ordering::Relaxed) {
            self.max.store(max, Ordering::Relaxed);
        }
    }

    /// Adds the counts of `other`: merging is associative, and merged equals pooled.
    pub fn merge(&self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter().zip(other.counts.iter()) {
            let theirs = theirs.load(Ordering::Relaxed);
            // A page of the sum that has no counts is not written to.
            if theirs > 0 {
                add(mine, theirs);
            }
        }
        add(&self.count, other.count());
        add(&self.sum, other.sum());
        self.reach(other.min.load(Ordering::Relaxed), other.max());
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Sum of the values, exact.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    /// Smallest value, exact; 0 when empty.
    pub fn min(&self) -> Nanos {
        match self.count() {
            0 => 0,
            _ => self.min.load(Ordering::Relaxed),
        }
    }

    /// Largest value, exact; 0 when empty.
    pub fn max(&self) -> Nanos {
        self.max.load(Ordering::Relaxed)
    }

    /// Quantile `q` (0–1): middle of the bucket that holds the ⌈q·n⌉-th smallest value, kept
    /// within minimum and maximum. Within 0.05% of the true value; 0 when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        let all = self.count();
        let rank = ((q * all as f64).ceil() as u64).clamp(1, all.max(1));
        if rank == all {
            return self.max();
        }
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count.load(Ordering::Relaxed);
            if seen >= rank {
                let (low, high) = bounds(index);
                return (low + (high - low) / 2).clamp(self.min(), self.max());
            }
        }
        0
    }

    /// The buckets that are not empty: (lowest value, highest value, count), rising. The outermost
    /// are cut at the exact minimum and maximum.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(index, count)| {
            let (low, high) = bounds(index);
            // A value beyond the range counts in the last bucket, whose end then is the maximum.
            let high = if index + 1 == BUCKETS { self.max() } else { high.min(self.max()) };
            (low.max(self.min()), high, count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn buckets_tile_the_range_and_are_narrow() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (low, high) = bounds(index);
            assert_eq!(low, next, "bucket {index} starts where the last one ended");
            assert!((high - low) * 1024 <= low.max(1), "bucket {index} is too wide");
            assert_eq!((bucket_of(low), bucket_of(high)), (index, index));
            next = high + 1;
        }
        assert_eq!(next, 1 << TOP_BITS);
    }

    #[test]
    fn quantiles_are_within_a_tenth_of_a_percent_from_1_us_to_1_h() {
        let (low, high) = (1e3_f64, 3.6e12_f64);
        let mut values = Vec::new();
        let histogram = Histogram::default();
        for number in 0..200_000 {
            // Log-uniform: every magnitude is as likely as any other.
            let value = (low.ln() + Stream::new(3, 0, number).unit() * (high / low).ln()).exp() as Nanos;
            values.push(value);
            histogram.record(value);
        }
        values.sort_unstable();
        for q in [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.68, 0.87, 0.95, 0.99, 0.997, 0.9999, 1.0] {
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = values[rank - 1] as f64;
            let error = (histogram.quantile(q) as f64 - truth).abs() / truth;
            assert!(error <= 0.0005, "q {q}: {} against {truth}", histogram.quantile(q));
        }
        assert_eq!(histogram.max(), *values.last().unwrap());
        assert_eq!(histogram.min(), values[0]);
        assert_eq!(histogram.sum(), values.iter().sum::<u64>());
    }

    #[test]
    fn merged_equals_pooled() {
        let (a, b, pooled) = (Histogram::default(), Histogram::default(), Histogram::default());
        for number in 0..5000 {
            let value = Stream::new(9, 9, number).below(1 << 40);
            if number % 3 == 0 { &a } else { &b }.record(value);
            pooled.record(value);
        }
        a.merge(&b);
        assert!(a.buckets().eq(pooled.buckets()));
        assert_eq!((a.count(), a.sum(), a.min(), a.max()), (5000, pooled.sum(), pooled.min(), pooled.max()));
    }

    #[test]
    fn extremes_are_exact_and_beyond_the_range_nothing_is_lost() {
        let histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.min(), histogram.max()), (0, 0, 0));
        for value in [0, 5, 20_000_000_000_000] {
            histogram.record(value);
        }
        assert_eq!(
            (histogram.min(), histogram.max(), histogram.quantile(1.0)),
            (0, 20_000_000_000_000, 20_000_000_000_000)
        );
        assert_eq!(histogram.buckets().last().unwrap().1, 20_000_000_000_000);
        assert_eq!(histogram.buckets().map(|b| b.2).sum::<u64>(), 3);
    }
}
