//! The non-uniform random numbers of TPC-C (clause 2.1.6) and their constants.

use dsbench_core::random::Stream;

use super::sizes::Sizes;

/// The constant of last names with which a database is populated; it is stored with the database.
pub const C_LOAD: i64 = 173;

/// A of last names, of customers, of items.
const A_LAST: i64 = 255;
const A_CUSTOMER: i64 = 1023;
const A_ITEM: i64 = 8191;

/// A for `numbers` of which the specification has `full`, with `a` for these: a constant that goes with the size of
/// the range, and is one less than a power of two.
fn fitting(a: i64, numbers: u64, full: u64) -> i64 {
    let share = (a + 1) as u64 * numbers / full;
    share.next_power_of_two() as i64 - 1
}

/// Keeps the stream of the constants apart from those of clients.
const KEY: u64 = 0x6e75_7261_6e64;

/// NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) mod (y − x + 1)) + x.
pub fn nurand(stream: &mut Stream, a: i64, c: i64, x: i64, y: i64) -> i64 {
    (((stream.between(0, a) | stream.between(x, y)) + c) % (y - x + 1)) + x
}

/// Draws numbers of last names, customers and items out of as many as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranges {
    /// A of each, and the largest number, where last names begin at 0 and the others at 1.
    last: (i64, i64),
    customer: (i64, i64),
    item: (i64, i64),
}

impl Ranges {
    /// Those of `sizes`.
    pub fn new(sizes: &Sizes) -> Self {
        let full = Sizes::default();
        Self {
            last: (fitting(A_LAST, sizes.names, full.names), sizes.names as i64 - 1),
            customer: (fitting(A_CUSTOMER, sizes.customers, full.customers), sizes.customers as i64),
            item: (fitting(A_ITEM, sizes.items, full.items), sizes.items as i64),
        }
    }

    /// A last name of the population.
    pub fn loaded_last_name(&self, stream: &mut Stream) -> i64 {
        nurand(stream, self.last.0, C_LOAD, 0, self.last.1)
    }
}

/// Whether constants of last names may go together: their distance is 65 to 119, and neither 96 nor
/// 112 (clause 2.1.6.1).
pub fn fit(c_load: i64, c_run: i64) -> bool {
    let distance = (c_run - c_load).abs();
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

/// The constants C of a cycle: the same for all its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    last: i64,
    customer: i64,
    item: i64,
    ranges: Ranges,
}

impl Constants {
    /// Those of `seed`, on a database whose last names were made with `c_load`.
    pub fn new(seed: u64, c_load: i64, sizes: &Sizes) -> Self {
        let mut stream = Stream::new(seed, KEY, 0);
        let (customer, item) = (stream.between(0, A_CUSTOMER), stream.between(0, A_ITEM));
        // Whatever c_load is, one of the two sides has room: 55 numbers of 256 at least fit.
        let last = loop {
            let drawn = stream.between(0, A_LAST);
            if fit(c_load.clamp(0, A_LAST), drawn) {
                break drawn;
            }
        };
        Self { last, customer, item, ranges: Ranges::new(sizes) }
    }

    /// A last name: 0 to 999 by the specification's sizes.
    pub fn last_name(&self, stream: &mut Stream) -> i64 {
        nurand(stream, self.ranges.last.0, self.last, 0, self.ranges.last.1)
    }

    /// A customer of a district: 1 to 3000.
    pub fn customer(&self, stream: &mut Stream) -> i64 {
        nurand(stream, self.ranges.customer.0, self.customer, 1, self.ranges.customer.1)
    }

    /// An item: 1 to 100,000.
    pub fn item(&self, stream: &mut Stream) -> i64 {
        nurand(stream, self.ranges.item.0, self.item, 1, self.ranges.item.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of `counts` against `expected` shares of their sum.
    fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
        let total: f64 = counts.iter().sum();
        counts.iter().zip(expected).map(|(n, share)| (n - share * total).powi(2) / (share * total)).sum()
    }

    /// The exact distribution of random(0, 255) | random(0, 999), shifted by `c`.
    fn exact(c: i64) -> Vec<f64> {
        let mut shares = vec![0.0; 1000];
        for a in 0..256_i64 {
            for b in 0..1000_i64 {
                shares[(((a | b) + c) % 1000) as usize] += 1.0 / 256_000.0;
            }
        }
        shares
    }

    #[test]
    fn last_names_have_the_distribution_of_the_formula() {
        let constants = Constants::new(5, C_LOAD, &Sizes::default());
        let shares = exact(constants.last);
        let mut counts = vec![0.0; 1000];
        let mut stream = Stream::new(1, 2, 3);
        for _ in 0..2_000_000 {
            counts[constants.last_name(&mut stream) as usize] += 1.0;
        }
        // Only names that occur at least a few times in the draws; their number gives the freedom.
        let often: Vec<usize> = (0..1000).filter(|at| shares[*at] > 5e-6).collect();
        let pick = |of: &[f64]| often.iter().map(|at| of[*at]).collect::<Vec<f64>>();
        let freedom = often.len() as f64 - 1.0;
        let chi = chi_square(&pick(&counts), &pick(&shares));
        // Normal approximation of the 99.99% point.
        assert!(often.len() > 900 && chi < freedom + 3.9 * (2.0 * freedom).sqrt(), "{chi} of {freedom}");
        let uniform = chi_square(&counts, &[1e-3; 1000]);
        assert!(uniform > 100.0 * freedom, "far from uniform: {uniform}");
    }

    #[test]
    fn numbers_reach_their_ends_and_no_further() {
        let constants = Constants::new(9, C_LOAD, &Sizes::default());
        let mut stream = Stream::new(1, 1, 1);
        let (mut customers, mut items) = (vec![0_u32; 3001], (i64::MAX, 0));
        for _ in 0..2_000_000 {
            customers[constants.customer(&mut stream) as usize] += 1;
            let item = constants.item(&mut stream);
            items = (items.0.min(item), items.1.max(item));
        }
        // Some numbers are as rare as one in three millions.
        let reached = customers.iter().filter(|count| **count > 0).count();
        assert!(customers[0] == 0 && reached > 2900, "{reached}");
        assert!(items.0 >= 1 && items.0 < 20 && items.1 > 99_980 && items.1 <= 100_000, "{items:?}");
    }

    #[test]
    fn a_goes_with_the_size_of_the_range() {
        let of = |part| {
            let ranges = Ranges::new(&Sizes::part(part));
            [ranges.last, ranges.customer, ranges.item]
        };
        assert_eq!(of(1.0), [(255, 999), (1023, 3000), (8191, 100_000)], "clause 2.1.6");
        assert_eq!(of(0.02), [(7, 19), (31, 60), (255, 2000)]);
        let constants = Constants::new(9, C_LOAD, &Sizes::part(0.02));
        let mut stream = Stream::new(1, 1, 1);
        let mut seen = [(); 3].map(|()| std::collections::BTreeSet::new());
        for _ in 0..200_000 {
            seen[0].insert(constants.last_name(&mut stream));
            seen[1].insert(constants.customer(&mut stream));
            seen[2].insert(constants.item(&mut stream));
        }
        let ends = seen.map(|seen| (seen.first().copied(), seen.last().copied()));
        assert_eq!(ends, [(0, 19), (1, 60), (1, 2000)].map(|(low, high)| (Some(low), Some(high))));
    }

    #[test]
    fn the_constant_of_a_run_fits_that_of_the_load() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..1000 {
            for c_load in [0, C_LOAD, 255] {
                let constants = Constants::new(seed, c_load, &Sizes::default());
                assert!(fit(c_load, constants.last) && constants == Constants::new(seed, c_load, &Sizes::default()));
                seen.insert(constants.last);
            }
        }
        assert!(seen.len() > 100, "constants are drawn: {}", seen.len());
        assert!(fit(0, 65) && fit(119, 0) && !fit(0, 64) && !fit(0, 120) && !fit(0, 96) && !fit(112, 0));
    }
}
