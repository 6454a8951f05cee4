//! Histograms of times that allocate nothing after their making.
//!
//! The layout is that of HdrHistogram with three significant digits: 2048 sub-buckets, the width of
//! a bucket doubling with every doubling of the value. A bucket is at most 1/1024 of its lowest
//! value wide, so its middle is within 0.05 % of every value in it; values below 2048 ns are exact,
//! and so are minimum, maximum and sum. The range ends at 2^43 ns (2.4 h): longer times count in
//! the last bucket and still in the exact maximum.

use std::fmt;

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

/// Counts of times by bucket, with exact count, sum, minimum and maximum.
pub struct Histogram {
    counts: Zeroed,
    count: u64,
    sum: u64,
    min: Nanos,
    max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Zeroed::new(BUCKETS), count: 0, sum: 0, min: Nanos::MAX, max: 0 }
    }
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.merge(self);
        copy
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values from {} to {} ns", self.count, self.min(), self.max)
    }
}

impl Histogram {
    /// Counts one value; allocates nothing.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.counts[bucket_of(value)] += 1;
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the counts of `other`: merging is associative, and merged equals pooled.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            // A page of the sum that has no counts is not written to.
            if *theirs > 0 {
                *mine += theirs;
            }
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values, exact.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Smallest value, exact; 0 when empty.
    pub fn min(&self) -> Nanos {
        if self.count == 0 {
            0
        } else {
            self.min
        }
    }

    /// Largest value, exact; 0 when empty.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// Quantile `q` (0–1): middle of the bucket that holds the ⌈q·n⌉-th smallest value, kept
    /// within minimum and maximum. Within 0.05 % of the true value; 0 when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        if rank == self.count {
            return self.max;
        }
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let (low, high) = bounds(index);
                return (low + (high - low) / 2).clamp(self.min(), self.max);
            }
        }
        0
    }

    /// The buckets that are not empty: (lowest value, highest value, count), rising. The outermost
    /// are cut at the exact minimum and maximum.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| {
            let (low, high) = bounds(index);
            // A value beyond the range counts in the last bucket, whose end then is the maximum.
            let high = if index + 1 == BUCKETS { self.max } else { high.min(self.max) };
            (low.max(self.min), high, *count)
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
        let mut histogram = Histogram::default();
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
        let (mut a, mut b, mut pooled) = (Histogram::default(), Histogram::default(), Histogram::default());
        for number in 0..5000 {
            let value = Stream::new(9, 9, number).below(1 << 40);
            if number % 3 == 0 { &mut a } else { &mut b }.record(value);
            pooled.record(value);
        }
        a.merge(&b);
        assert!(a.buckets().eq(pooled.buckets()));
        assert_eq!((a.count(), a.sum(), a.min(), a.max()), (5000, pooled.sum(), pooled.min(), pooled.max()));
    }

    #[test]
    fn extremes_are_exact_and_beyond_the_range_nothing_is_lost() {
        let mut histogram = Histogram::default();
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
