//! The deck from which a client takes its transactions (clause 5.2.4.2): as many cards of each kind as
//! the mix says, shuffled anew for each pass.

use dsbench_core::random::Stream;
use dsbench_core::workload::KindId;

use super::entry::ENTRY;
use crate::Settings;

/// Number of kinds.
pub const KINDS: usize = 5;

/// Keeps the stream that shuffles apart from that of the inputs.
const KEY: u64 = 0x6465_636b;

/// Cards of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix([u32; KINDS]);

impl Mix {
    /// The mix that the checked settings ask for.
    pub fn of(settings: &Settings) -> Self {
        let cards = ENTRY.cards(settings).unwrap_or_default();
        Self(std::array::from_fn(|kind| cards.get(kind).copied().unwrap_or_default()))
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
        let mut deck = Deck::new(Mix::of(&Settings::default()));
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
        assert!(chi < 48.3, "99.9% point with 22 degrees of freedom: {chi}");
    }

    #[test]
    fn cards_do_not_depend_on_what_was_drawn_before() {
        let mut deck = Deck::new(Mix::of(&Settings::default()));
        let forward: Vec<KindId> = (0..100).map(|number| deck.card(1, 1, number)).collect();
        let backward: Vec<KindId> = (0..100).rev().map(|number| deck.card(1, 1, number)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
    }

    #[test]
    fn the_mix_is_a_setting() {
        let of = |mix: &str| Mix::of(&Settings::new([("mix".to_string(), mix.to_string())]));
        assert_eq!(
            (of(" 45, 43,4,4 ,4"), Mix::of(&Settings::default())),
            (Mix([45, 43, 4, 4, 4]), Mix([10, 10, 1, 1, 1]))
        );
        let mut only = Deck::new(of("0,0,0,0,3"));
        assert!((0..10).all(|number| only.card(1, 1, number) == 4));
    }
}
