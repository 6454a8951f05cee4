//! When the clients of a thread start their transactions.

use crate::clock::Nanos;
use crate::random::Stream;
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
}

/// The closed loop: a client starts its next transaction when the last one has ended.
#[derive(Debug, Clone, Copy)]
pub struct ClosedLoop;

impl Pacer for ClosedLoop {
    #[inline]
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        Some(Turn { seat: 0, due: None })
    }
}

/// The open loop at a constant rate: client k of K starts at (k + n·K)/rate seconds, n = 0, 1, 2 …,
/// so that the starts of all clients together are 1/rate apart.
#[derive(Debug, Clone)]
pub struct ConstantRate {
    client: u64,
    clients: u64,
    rate_per_s: f64,
    number: u64,
}

impl ConstantRate {
    /// Pacer of `client` (from 0) of `clients` that together start `rate_per_s`.
    pub fn new(client: u64, clients: u64, rate_per_s: f64) -> Self {
        Self { client, clients, rate_per_s, number: 0 }
    }
}

impl Pacer for ConstantRate {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        // Computed from the number, not added up: no error grows over a long run.
        let place = (self.client + self.number * self.clients) as f64;
        self.number += 1;
        Some(Turn { seat: 0, due: Some((place * 1e9 / self.rate_per_s).round() as Nanos) })
    }
}

/// The open loop with Poisson arrivals: exponential gaps of mean K/rate seconds per client; K such
/// streams together are a Poisson stream of the full rate.
#[derive(Debug, Clone)]
pub struct PoissonRate {
    stream: Stream,
    mean_ns: f64,
    at_ns: f64,
}

impl PoissonRate {
    /// Pacer of `client` of `clients` that together start `rate_per_s` on average.
    pub fn new(seed: u64, client: u64, clients: u64, rate_per_s: f64) -> Self {
        // Another key than that of the inputs: gaps and inputs must not go together.
        let stream = Stream::new(seed ^ 0x7061_6365, client, 0);
        Self { stream, mean_ns: clients as f64 / rate_per_s * 1e9, at_ns: 0.0 }
    }
}

impl Pacer for PoissonRate {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        self.at_ns += self.stream.exponential(self.mean_ns);
        Some(Turn { seat: 0, due: Some(self.at_ns as Nanos) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_starts_are_evenly_spread_over_clients() {
        let mut starts: Vec<Nanos> = (0..4)
            .flat_map(|client| {
                let mut pacer = ConstantRate::new(client, 4, 1000.0);
                (0..5).map(move |_| pacer.next_turn(None).unwrap().due.unwrap()).collect::<Vec<_>>()
            })
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, (0..20).map(|n| n * 1_000_000).collect::<Vec<_>>());
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut pacer = PoissonRate::new(1, 0, 2, 1000.0);
        let starts: Vec<f64> = (0..100_000).map(|_| pacer.next_turn(None).unwrap().due.unwrap() as f64).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 2e6 - 1.0).abs() < 0.02 && (deviation / mean - 1.0).abs() < 0.02, "{mean} {deviation}");
    }
}
