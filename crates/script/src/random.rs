//! The generator of PostgreSQL's programs (xoroshiro128** by Blackman and Vigna, seeded by SplitMix64) and the
//! distributions that pgbench makes of it.

use std::f64::consts::PI;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random {
    s0: u64,
    s1: u64,
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of a seed.
    pub fn new(mut seed: u64) -> Self {
        let (s0, s1) = (split_mix(&mut seed), split_mix(&mut seed));
        match (s0, s1) {
            // All zeros would stay so.
            (0, 0) => Self { s0: 0x5851_f42d_4c95_7f2d, s1: 0x1405_7b7e_f767_814f },
            (s0, s1) => Self { s0, s1 },
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let mixed = self.s1 ^ self.s0;
        let value = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        value
    }

    /// Uniform in `0..=most`.
    #[inline]
    pub fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let unused = most.leading_zeros();
        loop {
            let value = self.bits() >> unused;
            if value <= most {
                return value;
            }
        }
    }

    /// Uniform in `[0, 1)` with 52 bits.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// Of the normal distribution with mean 0 and standard deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (u1, u2) = (1.0 - self.unit(), 1.0 - self.unit());
        (-2.0 * u1.ln()).sqrt() * (2.0 * PI * u2).sin()
    }

    /// Uniform in `low..=high`, whose difference fits 63 bits.
    #[inline]
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low + self.up_to((high - low) as u64) as i64
    }

    /// Exponential: the density at `high` is exp(-parameter) of that at `low`.
    pub(crate) fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        let part = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        share(low, high, part)
    }

    /// Normal, cut off at `parameter` standard deviations on either side.
    pub(crate) fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        loop {
            let deviation = self.normal();
            if (-parameter..parameter).contains(&deviation) {
                return share(low, high, (deviation + parameter) / (parameter * 2.0));
            }
        }
    }

    /// Zipfian with exponent `s` above 1 by rejection (Devroye, "Non-Uniform Random Variate Generation", 1986, p. 550).
    pub(crate) fn zipfian(&mut self, low: i64, high: i64, s: f64) -> i64 {
        let count = high - low + 1;
        if count <= 1 {
            return low;
        }
        let b = 2_f64.powf(s - 1.0);
        loop {
            let (u, v) = (self.unit(), self.unit());
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= count as f64 {
                return low + (x as i64 - 1);
            }
        }
    }

    /// One of `1..=count`, where number k is drawn in proportion to k^-s, for any exponent `s` above 0, by
    /// rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
    /// distributions", ACM TOMACS 6, 1996). It needs no table, however many there are.
    pub fn zipf(&mut self, count: u64, s: f64) -> u64 {
        let most = count.max(1) as f64;
        // The integral of x^-s from 1, and its inverse, exact also where s is 1.
        let integral = |x: f64| {
            let (log, t) = (x.ln(), (1.0 - s) * x.ln());
            log * if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 }
        };
        let inverse = |area: f64| {
            let t = (area * (1.0 - s)).max(-1.0);
            (area * if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 }).exp()
        };
        let (first, last) = (integral(1.5) - 1.0, integral(most + 0.5));
        let near = 2.0 - inverse(integral(2.5) - 2_f64.powf(-s));
        loop {
            let area = last + self.unit() * (first - last);
            let x = inverse(area);
            let k = (x + 0.5).floor().clamp(1.0, most);
            if k - x <= near || area >= integral(k + 0.5) - k.powf(-s) {
                return (k as u64).min(count.max(1));
            }
        }
    }
}

/// The integer at `part` (0 to below 1) of `low..=high`.
fn share(low: i64, high: i64, part: f64) -> i64 {
    low + ((high - low + 1) as f64 * part) as i64
}

/// A place of `value` in a permutation of `0..size` that `seed` picks; `size` is above 0.
///
/// Six rounds, each of a multiplication by an odd number, a mix of bits and a rotation within the lower and within the
/// upper half of the range, and of an offset: as pgbench documents its function, to the digit.
pub(crate) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::new(seed as u64);
    let size = size as u64;
    let mut place = value as u64 % size;
    let bits = 63 - size.leading_zeros();
    let mask = (1_u64 << bits) - 1;
    let turned = |place: u64, factor: u64, other: u64| {
        let mixed = (place.wrapping_mul(factor) ^ other) & mask;
        ((mixed << 1) & mask) | (mixed >> (bits - 1))
    };
    for _ in 0..6 {
        let (factor, other) = ((random.bits() & mask) | 1, random.bits() & mask);
        if place <= mask {
            place = turned(place, factor, other);
        }
        let (factor, other) = ((random.bits() & mask) | 1, random.bits() & mask);
        let from_end = size - 1 - place;
        if from_end <= mask {
            place = size - 1 - turned(from_end, factor, other);
        }
        place = (place + random.up_to(size - 1)) % size;
    }
    place as i64
}

/// FNV-1a of the eight bytes of `value`, the lowest first.
pub(crate) fn fnv1a(value: i64, seed: i64) -> i64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let mixed = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    value.to_le_bytes().iter().fold(BASIS ^ seed as u64, mixed) as i64
}

/// MurmurHash2 of 64 bits (Appleby) of the eight bytes of `value`.
pub(crate) fn murmur2(value: i64, seed: i64) -> i64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut k = (value as u64).wrapping_mul(FACTOR);
    k = (k ^ (k >> SHIFT)).wrapping_mul(FACTOR);
    let mut hash = ((seed as u64 ^ FACTOR.wrapping_mul(8)) ^ k).wrapping_mul(FACTOR);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(FACTOR);
    (hash ^ (hash >> SHIFT)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_has_the_shares_of_its_exponent() {
        for s in [0.5, 0.99, 1.0, 1.5] {
            let sum: f64 = (1..=50).map(|k| f64::from(k).powf(-s)).sum();
            let (mut random, mut counts, draws) = (Random::new(7), [0.0; 50], 200_000);
            (0..draws).for_each(|_| counts[random.zipf(50, s) as usize - 1] += 1.0);
            let wanted = |k: usize| f64::from(draws) * (k as f64 + 1.0).powf(-s) / sum;
            let chi: f64 =
                counts.iter().enumerate().map(|(k, n): (usize, &f64)| (n - wanted(k)).powi(2) / wanted(k)).sum();
            assert!(chi < 85.4, "exponent {s}: chi-square {chi}, of which 99.9% are below 85.4 with 49 degrees");
        }
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| (1..=10_000_000_000).contains(&random.zipf(10_000_000_000, 0.99))));
        assert_eq!(random.zipf(1, 0.99), 1);
    }
}
