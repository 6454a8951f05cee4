//! Random numbers as a function of (seed, client, number): a run can be repeated, split over
//! nodes, and asked for any of its transactions.

/// A small stream of random numbers (SplitMix64 by Steele, Lea and Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Stream(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: spreads every bit of `z` over all 64.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of transaction `number` of `client`.
    pub fn new(seed: u64, client: u64, number: u64) -> Self {
        let client_key = mix(mix(seed.wrapping_add(GOLDEN)) ^ client.wrapping_mul(GOLDEN));
        Self(mix(client_key ^ mix(number.wrapping_add(GOLDEN))))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in `0..bound`, without bias (Lemire, ACM TOMACS 2019). `bound` must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        match span.checked_add(1) {
            Some(bound) => low.wrapping_add(self.below(bound) as i64),
            None => self.next_u64() as i64,
        }
    }

    /// Uniform in `[0, 1)` with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential with this mean: −mean · ln(1 − u).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (-self.unit()).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_seed_client_and_number() {
        let first = |seed, client, number| Stream::new(seed, client, number).next_u64();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let others = [first(2, 2, 3), first(1, 3, 3), first(1, 2, 4), first(3, 2, 1), first(2, 1, 3)];
        assert!(others.iter().all(|v| *v != first(1, 2, 3)));
    }

    #[test]
    fn below_is_uniform() {
        // Chi-square with 9 degrees of freedom: 27.9 is the 99.9% point.
        let mut counts = [0_f64; 10];
        for number in 0..100_000 {
            counts[Stream::new(7, 0, number).below(10) as usize] += 1.0;
        }
        let chi: f64 = counts.iter().map(|c| (c - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 27.9, "chi-square {chi}");
    }

    #[test]
    fn between_reaches_both_ends() {
        let mut stream = Stream::new(1, 1, 1);
        let drawn: Vec<i64> = (0..1000).map(|_| stream.between(-2, 2)).collect();
        assert!((-2..=2).all(|v| drawn.contains(&v)) && drawn.iter().all(|v| (-2..=2).contains(v)));
        stream.between(i64::MIN, i64::MAX);
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Stream::new(5, 0, 0);
        let mean = (0..200_000).map(|_| stream.exponential(3.0)).sum::<f64>() / 200_000.0;
        assert!((mean - 3.0).abs() < 0.03, "mean {mean}, standard error 0.0067");
    }
}
