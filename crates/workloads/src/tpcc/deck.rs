//! The deck from which a client takes its transactions (clause 5.2.4.2): as many cards of each kind as
//! the mix says, shuffled anew for each pass.

use dsbench_core::error::{Error, Result};
use dsbench_core::random::Stream;
use dsbench_core::workload::KindId;

/// Number of kinds.
pub const KINDS: usize = 5;

/// The most cards of a deck.
const MOST_CARDS: u32 = 10_000;

/// Keeps the stream that shuffles apart from that of the inputs.
const KEY: u64 = 0x6465_636b;

/// Cards of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix([u32; KINDS]);

impl Default for Mix {
    /// 10 New-Order, 10 Payment, and one of each other kind.
    fn default() -> Self {
        Self([10, 10, 1, 1, 1])
    }
}

impl Mix {
    /// Reads five numbers of cards, separated by commas. Errors of kind `Configuration`.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |what: &str| {
            Err(Error::configuration(format!(
                "--set mix={text}: {what}; give the cards of New-Order, Payment, Order-Status, Delivery and Stock-Level, \
                 like mix=10,10,1,1,1"
            )))
        };
        let numbers: std::result::Result<Vec<u32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        let Ok(numbers) = numbers else { return refused("these are not whole numbers") };
        let Ok(cards) = <[u32; KINDS]>::try_from(numbers) else { return refused("these are not five numbers") };
        match cards.iter().try_fold(0_u32, |sum, cards| sum.checked_add(*cards)) {
            Some(0) => refused("the deck has no card"),
            Some(sum) if sum <= MOST_CARDS => Ok(Self(cards)),
            _ => refused(&format!("the deck has more than {MOST_CARDS} cards")),
        }
    }
}

/// The cards of one pass of one client.
#[derive(Debug)]
pub struct Deck {
    cards: Vec<KindId>,
    fresh: Vec<KindId>,
    /// The pass that lies in `cards`.
    pass: Option<u64>,
}

impl Deck {
    /// A deck of this mix.
    pub fn new(mix: Mix) -> Self {
        let of = |(kind, count): (usize, &u32)| std::iter::repeat_n(kind as KindId, *count as usize);
        let fresh: Vec<KindId> = mix.0.iter().enumerate().flat_map(of).collect();
        Self { cards: fresh.clone(), fresh, pass: None }
    }

    /// The kind of transaction `number` of a client: a function of these alone.
    pub fn card(&mut self, seed: u64, client: u64, number: u64) -> KindId {
        let (pass, at) = (number / self.fresh.len() as u64, (number % self.fresh.len() as u64) as usize);
        if self.pass != Some(pass) {
            self.shuffle(Stream::new(seed ^ KEY, client, pass));
            self.pass = Some(pass);
        }
        self.cards[at]
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, mut stream: Stream) {
        self.cards.copy_from_slice(&self.fresh);
        for last in (1..self.cards.len()).rev() {
            self.cards.swap(last, stream.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(seed: u64, client: u64, count: u64) -> Vec<Vec<KindId>> {
        let mut deck = Deck::new(Mix::default());
        (0..count).map(|pass| (0..23).map(|at| deck.card(seed, client, pass * 23 + at)).collect()).collect()
    }

    #[test]
    fn each_pass_has_all_cards_in_an_order_of_its_own() {
        let first = passes(1, 2, 200);
        for pass in &first {
            let count = |kind| pass.iter().filter(|card| **card == kind).count();
            assert_eq!([0, 1, 2, 3, 4].map(count), [10, 10, 1, 1, 1]);
        }
        let distinct: std::collections::BTreeSet<&Vec<KindId>> = first.iter().collect();
        assert_eq!(distinct.len(), 200, "shuffled anew");
        assert!(passes(1, 3, 1) != first[..1] && passes(2, 2, 1) != first[..1] && passes(1, 2, 200) == first);
    }

    #[test]
    fn every_place_is_as_likely_for_every_card() {
        let mut places = [0_f64; 23];
        for pass in passes(3, 0, 23_000) {
            places[pass.iter().position(|card| *card == 3).unwrap()] += 1.0;
        }
        let chi: f64 = places.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 48.3, "99.9 % point with 22 degrees of freedom: {chi}");
    }

    #[test]
    fn cards_do_not_depend_on_what_was_drawn_before() {
        let mut deck = Deck::new(Mix::default());
        let forward: Vec<KindId> = (0..100).map(|number| deck.card(1, 1, number)).collect();
        let backward: Vec<KindId> = (0..100).rev().map(|number| deck.card(1, 1, number)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
    }

    #[test]
    fn a_mix_is_five_numbers() {
        assert_eq!(Mix::parse(" 45, 43,4,4 ,4").unwrap(), Mix([45, 43, 4, 4, 4]));
        for (text, why) in [
            ("1,2,3,4", "not five"),
            ("1,2,3,4,5,6", "not five"),
            ("1,2,x,4,5", "not whole"),
            ("0,0,0,0,0", "no card"),
            ("10000,1,0,0,0", "more than 10000"),
            ("4294967295,1,0,0,0", "more than 10000"),
        ] {
            let error = Mix::parse(text).unwrap_err();
            assert!(error.to_string().contains(why) && error.to_string().contains("mix=10,10,1,1,1"), "{error}");
        }
        let mut only = Deck::new(Mix::parse("0,0,0,0,3").unwrap());
        assert!((0..10).all(|number| only.card(1, 1, number) == 4));
    }
}
