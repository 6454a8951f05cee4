//! The text out of which comments are cut: 300 MiB of sentences, by the grammar of the TPC's generator.
//!
//! [`TextPool::new`] of `tpchgen` makes them one after another, in one thread. Here they are made by several, each from
//! a sentence on of which the random numbers are known ([`STARTS`]), and each word is one copy of sixteen bytes. The text is
//! the same, byte by byte, which a test holds against that of `tpchgen`.

use std::mem::{align_of, size_of};
use std::sync::Mutex;
use std::thread;

use dsbench_core::locking::lock;
use tpchgen::distribution::{Distribution, Distributions};
use tpchgen::text::TextPool;

/// Its bytes.
const TEXT: usize = 300 * 1024 * 1024;
/// Bytes that a sentence has at most, and the rest of the copy of its last word.
const LONGEST: usize = 512;
/// Random numbers are x(n + 1) = `FACTOR` · x(n) modulo `MODULUS` (`speed_seed.c` of the TPC's generator).
const FACTOR: u64 = 16_807;
/// 2^31 − 1, a prime.
const MODULUS: u64 = 2_147_483_647;
/// Where parts of the text begin, and the random number before each: the first sentence from every sixteenth on.
const STARTS: [(usize, u64); 16] = [
    (0, 933_588_178),
    (19_660_810, 563_391_851),
    (39_321_619, 374_858_592),
    (58_982_448, 1_037_153_816),
    (78_643_223, 123_793_686),
    (98_304_011, 181_171_974),
    (117_964_817, 1_062_410_537),
    (137_625_648, 652_432_975),
    (157_286_442, 400_078_567),
    (176_947_229, 46_453_828),
    (196_608_019, 1_105_413_057),
    (216_268_868, 1_956_087_994),
    (235_929_648, 1_407_925_218),
    (255_590_452, 1_660_456_561),
    (275_251_227, 42_055_684),
    (294_912_013, 2_013_011_059),
];

/// The text for the generators of rows.
pub fn pool() -> TextPool {
    // A `TextPool` holds its bytes and nothing else, but takes them from no one: the version of the crate is pinned, the
    // sizes are compared when this is compiled, and a test reads the whole text.
    const { assert!(size_of::<TextPool>() == size_of::<Vec<u8>>() && align_of::<TextPool>() == align_of::<Vec<u8>>()) };
    // SAFETY: of the two types, one has a single field, which is of the other; as both have one size, it begins where they
    // do. Its bytes are ASCII, as `TextPool::text` expects.
    unsafe { std::mem::transmute::<Vec<u8>, TextPool>(text()) }
}

/// The text itself, made by as many threads as there are CPUs for.
fn text() -> Vec<u8> {
    let grammar = Grammar::new();
    let mut text = vec![0; TEXT];
    let mut parts = Vec::with_capacity(STARTS.len());
    let mut rest = text.as_mut_slice();
    for (at, (start, before)) in STARTS.iter().enumerate() {
        let end = STARTS.get(at + 1).map_or(TEXT, |(next, _)| *next);
        let (part, more) = rest.split_at_mut(end - start);
        parts.push((*before, part));
        rest = more;
    }
    let parts = Mutex::new(parts);
    let next = || lock(&parts).pop();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(STARTS.len()) {
            scope.spawn(|| {
                while let Some((before, part)) = next() {
                    grammar.fill(part, Draws(before));
                }
            });
        }
    });
    text
}

/// Random numbers, by the one before.
struct Draws(u64);

impl Draws {
    /// One of `list`, each as likely. `tpchgen` divides in floating point numbers: as the modulus is a prime, quotients are
    /// too far from whole numbers for that to make a difference.
    #[inline]
    fn one<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        self.0 = self.0 * FACTOR % MODULUS;
        &list[(self.0 * list.len() as u64 / MODULUS) as usize]
    }
}

/// A word, what stands behind it, and in the last byte how many these are.
type Word = [u8; 16];

fn word(text: &str, behind: &str) -> Word {
    let text = [text, behind].concat();
    assert!(text.len() < size_of::<Word>(), "{text:?} is too long for a word");
    let mut word = Word::default();
    word[..text.len()].copy_from_slice(text.as_bytes());
    word[15] = text.len() as u8;
    word
}

/// Writes a word at `at`; gives where the next one goes.
#[inline]
fn put(out: &mut [u8], at: usize, word: &Word) -> usize {
    out[at..at + 16].copy_from_slice(word);
    at + usize::from(word[15])
}

/// Every value as often as its weight says.
fn weighted<T>(list: &Distribution, of: impl Fn(&str) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for at in 0..list.size() {
        while all.len() < list.get_weight(at) as usize {
            all.push(of(list.get_value(at)));
        }
    }
    all
}

/// A part of a sentence.
#[derive(Debug, Clone, Copy)]
enum Step {
    Nouns,
    Verbs,
    Preposition,
    End,
}

/// A list of words.
#[derive(Debug, Clone, Copy)]
enum List {
    Adjectives,
    /// Adjectives with a comma.
    Enumerated,
    Adverbs,
    Nouns,
    Verbs,
    Auxiliaries,
}

/// The grammar; every list has each of its values as often as its weight says.
struct Grammar {
    sentences: Vec<Vec<Step>>,
    nouns: Vec<Vec<List>>,
    verbs: Vec<Vec<List>>,
    /// By [`List`].
    words: [Vec<Word>; 6],
    prepositions: Vec<Word>,
    the: Word,
    ends: Vec<Word>,
}

impl Grammar {
    fn new() -> Self {
        let lists = Distributions::static_default();
        let spaced = |list: &Distribution| weighted(list, |text| word(text, " "));
        let phrase = |text: &str| {
            let mut phrase: Vec<List> = Vec::new();
            for byte in text.bytes() {
                match byte {
                    b'J' => phrase.push(List::Adjectives),
                    b'D' => phrase.push(List::Adverbs),
                    b'N' => phrase.push(List::Nouns),
                    b'V' => phrase.push(List::Verbs),
                    b'X' => phrase.push(List::Auxiliaries),
                    b',' => {
                        phrase.pop();
                        phrase.push(List::Enumerated);
                    }
                    _ => {}
                }
            }
            phrase
        };
        let sentence = |text: &str| {
            let steps = text.split_whitespace().map(|one| match one {
                "N" => Step::Nouns,
                "V" => Step::Verbs,
                "P" => Step::Preposition,
                _ => Step::End,
            });
            steps.collect()
        };
        Self {
            sentences: weighted(lists.grammar(), sentence),
            nouns: weighted(lists.noun_phrase(), phrase),
            verbs: weighted(lists.verb_phrase(), phrase),
            words: [
                spaced(lists.adjectives()),
                weighted(lists.adjectives(), |text| word(text, ", ")),
                spaced(lists.adverbs()),
                spaced(lists.nouns()),
                spaced(lists.verbs()),
                spaced(lists.auxiliaries()),
            ],
            prepositions: spaced(lists.prepositions()),
            the: word("the", " "),
            ends: spaced(lists.terminators()),
        }
    }

    /// Writes a sentence at `at`, where there is room for [`LONGEST`] bytes; gives where the next one goes.
    fn sentence(&self, out: &mut [u8], mut at: usize, draws: &mut Draws) -> usize {
        for step in draws.one(&self.sentences) {
            match step {
                Step::Nouns => at = self.phrase(&self.nouns, out, at, draws),
                Step::Verbs => at = self.phrase(&self.verbs, out, at, draws),
                Step::Preposition => {
                    at = put(out, at, draws.one(&self.prepositions));
                    at = put(out, at, &self.the);
                    at = self.phrase(&self.nouns, out, at, draws);
                }
                // In place of the space behind the last word.
                Step::End => at = put(out, at - 1, draws.one(&self.ends)),
            }
        }
        at
    }

    #[inline]
    fn phrase(&self, phrases: &[Vec<List>], out: &mut [u8], mut at: usize, draws: &mut Draws) -> usize {
        for list in draws.one(phrases) {
            at = put(out, at, draws.one(&self.words[*list as usize]));
        }
        at
    }

    /// Fills `out` with sentences; the last one is cut off.
    fn fill(&self, out: &mut [u8], mut draws: Draws) {
        let mut at = 0;
        while at + LONGEST <= out.len() {
            at = self.sentence(out, at, &mut draws);
        }
        let mut last = [0; LONGEST];
        while at < out.len() {
            let count = self.sentence(&mut last, 0, &mut draws).min(out.len() - at);
            out[at..at + count].copy_from_slice(&last[..count]);
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_tpchgen() {
        let theirs = TextPool::new(TEXT as i32, Distributions::static_default());
        assert!(pool().text(0, TEXT as i32) == theirs.text(0, TEXT as i32));
    }

    #[test]
    fn parts_begin_where_their_sentences_do() {
        let grammar = Grammar::new();
        let (mut sentence, mut draws, mut at) = ([0; LONGEST], Draws(STARTS[0].1), 0);
        let (mut found, mut longest) = (Vec::new(), 0);
        while at < TEXT {
            if at >= found.len() * TEXT / STARTS.len() {
                found.push((at, draws.0));
            }
            let count = grammar.sentence(&mut sentence, 0, &mut draws);
            longest = longest.max(count);
            at += count;
        }
        assert_eq!(found, STARTS);
        assert!(longest + size_of::<Word>() <= LONGEST);
    }

    #[test]
    fn words_have_their_length_with_them() {
        let long = word("should have to", " ");
        let mut out = [0; 32];
        assert_eq!(put(&mut out, 3, &long), 18);
        assert_eq!(&out[3..18], b"should have to ");
        assert_eq!(Draws(1).one(&[0; 7]), &0);
        // 16807 · 16807 = 282,475,249; of seven, 282475249 · 7 / 2147483647 = 0.92, of eight 1.05.
        assert_eq!((Draws(16_807).one(&[0, 1, 2, 3, 4, 5, 6]), Draws(16_807).one(&[0, 1, 2, 3, 4, 5, 6, 7])), (&0, &1));
    }
}
