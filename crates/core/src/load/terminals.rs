//! Simulated people at terminals: they key in, wait for the answer, think, and key in again.
//!
//! A thread serves many of them. A heap holds when each will have keyed in its next transaction; the
//! earliest comes next, and when the thread is late for it, that wait is part of its response time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Nanos;
use crate::error::{Error, Result};
use crate::pacer::{Ended, Pacer, Turn};
use crate::random::Stream;
use crate::workload::{Client, KindId, Pace, Workload};

/// Longest time to think, in means: TPC-C, clause 5.2.5.4, lets it be cut there.
const LONGEST_THINK: f64 = 10.0;

/// Terminals enter as if they had been at work for up to this long: about as long as two rounds
/// through the deck of TPC-C, so that what they are in the middle of is as mixed as it is later.
const BEFORE: Nanos = 1_000_000_000_000;

/// Other streams than those of the inputs: times and inputs must not go together.
const THINKING: u64 = 0x7468_696e_6b21;
const ENTERING: u64 = 0x656e_7465_7221;

/// One terminal of a thread.
#[derive(Debug, Clone, Copy)]
struct Terminal {
    /// Number of its client among all clients.
    id: u64,
    /// Transactions that it has ended, those before the beginning included.
    done: u64,
}

/// Paces the terminals of one thread; see the module.
#[derive(Debug)]
pub struct Terminals {
    seed: u64,
    paces: Vec<Pace>,
    terminals: Vec<Terminal>,
    /// When each seat is due, in ns from the beginning of the load.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Terminals {
    /// A pacer for `workload` without terminals. Error of kind `Configuration` when the workload says
    /// nothing about the pace of its people.
    pub fn new(workload: &dyn Workload, seed: u64) -> Result<Self> {
        let kinds = 0..workload.kinds().len();
        let paces: Option<Vec<Pace>> = kinds.map(|kind| workload.pace(kind as KindId)).collect();
        let paces = paces.ok_or_else(|| {
            Error::configuration("--pace terminals: this workload has no keying and thinking times")
                .remedy("use --pace none")
        })?;
        Ok(Self { seed, paces, terminals: Vec::new(), due: BinaryHeap::new() })
    }

    /// Seats the next terminal, whose client has the number `id`; gives the number of the transaction
    /// in its stream that it begins with. It has been at work for a random time before, in which the
    /// database answered at once: so the load has its full mix and rate from the first second on.
    pub fn enter(&mut self, id: u64, client: &mut dyn Client) -> u64 {
        let begin = Stream::new(self.seed ^ ENTERING, id, 0).below(BEFORE);
        let mut terminal = Terminal { id, done: 0 };
        let mut kind = client.draw(0).kind;
        let mut due = self.paces[usize::from(kind)].keying;
        while due < begin {
            let thinking = self.think(terminal, kind);
            terminal.done += 1;
            kind = client.draw(terminal.done).kind;
            due += thinking + self.paces[usize::from(kind)].keying;
        }
        self.due.push(Reverse((due - begin, self.terminals.len())));
        self.terminals.push(terminal);
        terminal.done
    }

    /// Time to think after the transaction that `terminal` does now: −ln(1 − u) · mean, cut at ten means.
    fn think(&self, terminal: Terminal, kind: KindId) -> Nanos {
        let mean = self.paces[usize::from(kind)].mean_think as f64;
        let mut stream = Stream::new(self.seed ^ THINKING, terminal.id, terminal.done);
        stream.exponential(mean).min(LONGEST_THINK * mean) as Nanos
    }
}

impl Pacer for Terminals {
    fn next_turn(&mut self, before: Option<Ended>) -> Option<Turn> {
        if let Some(ended) = before {
            let thinking = self.think(self.terminals[ended.seat], ended.kind);
            // A person who only queues a request goes on as soon as it is keyed in. The heap takes requests in the
            // order in which they are due, like a queue; a later request of the same person is due later.
            let free = if self.paces[usize::from(ended.kind)].waits { ended.at } else { ended.due };
            let due = free + thinking + self.paces[usize::from(ended.next)].keying;
            self.terminals[ended.seat].done += 1;
            self.due.push(Reverse((due, ended.seat)));
        }
        let Reverse((due, seat)) = self.due.pop()?;
        Some(Turn { seat, due: Some(due) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Connection, Prepare};
    use crate::workload::{Drawn, End, Shape};

    const SECOND: Nanos = 1_000_000_000;
    const PACES: [Pace; 2] = [
        Pace { keying: 18 * SECOND, mean_think: 12 * SECOND, waits: true },
        Pace { keying: 2 * SECOND, mean_think: 5 * SECOND, waits: true },
    ];

    /// Kinds 0 and 1 in turn.
    struct Alternating(u64);

    impl Client for Alternating {
        fn prepare(&mut self, _conn: &mut dyn Connection, _when: Prepare) -> Result<()> {
            Ok(())
        }

        fn draw(&mut self, number: u64) -> Drawn {
            self.0 = number;
            Drawn { kind: (number % 2) as KindId, shape: Shape::Single }
        }

        fn execute(&mut self, _conn: &mut dyn Connection) -> Result<End> {
            Ok(End::Commit)
        }

        fn describe(&self) -> String {
            self.0.to_string()
        }
    }

    fn terminals(seed: u64) -> Terminals {
        Terminals { seed, paces: PACES.to_vec(), terminals: Vec::new(), due: BinaryHeap::new() }
    }

    /// Largest distance between the distribution of `values` and `cdf` (Kolmogorov and Smirnov).
    fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let gap = |(at, value): (usize, &f64)| {
            let share = cdf(*value);
            (share - at as f64 / count).abs().max((share - (at as f64 + 1.0) / count).abs())
        };
        values.iter().enumerate().map(gap).fold(0.0, f64::max)
    }

    #[test]
    fn times_to_think_are_exponential_and_cut_at_ten_means() {
        let pacer = terminals(3);
        let count = 200_000;
        let thinks = |kind| -> Vec<f64> {
            (0..count).map(|n| pacer.think(Terminal { id: n % 50, done: n / 50 }, kind) as f64).collect()
        };
        for (kind, mean) in [(0, 12e9), (1, 5e9)] {
            let drawn = thinks(kind);
            assert!(drawn.iter().all(|think| *think <= 10.0 * mean));
            let mean_drawn = drawn.iter().sum::<f64>() / count as f64;
            // Cut at ten means the mean is 1 - e^-10 of them; four standard deviations of it.
            let off = mean_drawn / (mean * (1.0 - (-10.0_f64).exp())) - 1.0;
            assert!(off.abs() < 4.0 / (count as f64).sqrt(), "kind {kind}: {off}");
            // 1.95/sqrt(n) is the 99.9% point of the distance.
            let cut = |think: f64| if think >= (10.0 * mean).floor() { 1.0 } else { 1.0 - (-think / mean).exp() };
            let far = distance(drawn, cut);
            assert!(far < 1.95 / (count as f64).sqrt(), "kind {kind}: {far}");
        }
        assert_ne!(thinks(0)[..9], thinks(0)[50..59], "another time after each transaction");
    }

    #[test]
    fn a_terminal_is_due_after_thinking_and_keying() {
        let mut pacer = terminals(3);
        let mut client = Alternating(0);
        let first = pacer.enter(7, &mut client);
        let turn = pacer.next_turn(None).unwrap();
        let (kind, next) = ((first % 2) as KindId, ((first + 1) % 2) as KindId);
        let think = pacer.think(Terminal { id: 7, done: first }, kind);
        let due = turn.due.unwrap();
        let at = due + 5 * SECOND;
        let keying = PACES[usize::from(next)].keying;
        let then = pacer.next_turn(Some(Ended { seat: 0, kind, next, due, at }));
        assert_eq!(then, Some(Turn { seat: 0, due: Some(at + think + keying) }));
        assert_eq!(pacer.next_turn(None), None, "no terminal is left");

        let mut pacer = terminals(3);
        pacer.paces[usize::from(kind)].waits = false;
        pacer.enter(7, &mut client);
        assert_eq!(pacer.next_turn(None), Some(turn));
        let then = pacer.next_turn(Some(Ended { seat: 0, kind, next, due, at }));
        assert_eq!(then.unwrap().due, Some(due + think + keying), "who queued it does not wait for its end");
    }

    #[test]
    fn the_earliest_comes_first_whoever_it_is() {
        let mut pacer = terminals(5);
        (0..20).for_each(|id| assert!(pacer.enter(id, &mut Alternating(0)) < 200));
        let turns: Vec<Turn> = (0..20).map(|_| pacer.next_turn(None).unwrap()).collect();
        assert!(turns.windows(2).all(|pair| pair[0].due <= pair[1].due));
        let mut seats: Vec<usize> = turns.iter().map(|turn| turn.seat).collect();
        seats.sort_unstable();
        assert_eq!(seats, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn terminals_enter_in_the_middle_of_their_work() {
        let mut pacer = terminals(11);
        // A pair of transactions takes 37 s; with 4000 terminals 216.2 are due in each second, within
        // four standard deviations of a Poisson count at most.
        (0..4000).for_each(|id| assert!(pacer.enter(id, &mut Alternating(0)) < 200));
        let mut due = [0_u32; 2];
        while let Some(at @ 0..=1_999_999_999) = pacer.next_turn(None).and_then(|turn| turn.due) {
            due[(at / SECOND) as usize] += 1;
        }
        assert!(due.iter().all(|count| (158..=275).contains(count)), "{due:?}");
    }
}
