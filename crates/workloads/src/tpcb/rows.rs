//! The rows of the bank's tables, made one by one without an allocation.
//!
//! A branch has 10 tellers and as many accounts n as the workload says: 100,000 in TPC-B (clause 4.2), 10,000 in TP1.
//! Teller t belongs to branch (t−1)/10 + 1, account a to branch (a−1)/n + 1. All balances are 0.

use dsbench_core::engine::RowSource;
use dsbench_core::error::Result;
use dsbench_core::random::mix;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::Progress;

use crate::steps::Counted;

/// Tellers of a branch.
pub const TELLERS: u64 = 10;
/// The longest filler there is.
const LONGEST: usize = 100;

/// A table that is populated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Branches.
    Branch,
    /// Tellers.
    Teller,
    /// Accounts.
    Account,
}

impl Table {
    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Teller => "teller",
            Self::Account => "account",
        }
    }

    /// Its columns, in the order in which [`Source`] gives them.
    pub fn columns(self) -> &'static [(&'static str, Type)] {
        const FILLER: (&str, Type) = ("filler", Type::Text);
        match self {
            Self::Branch => &[("bid", Type::Int32), ("bbalance", Type::Int64), FILLER],
            Self::Teller => &[("tid", Type::Int32), ("bid", Type::Int32), ("tbalance", Type::Int64), FILLER],
            Self::Account => &[("aid", Type::Int32), ("bid", Type::Int32), ("abalance", Type::Int64), FILLER],
        }
    }

    /// Rows for each branch, of which each has so many `accounts`.
    pub fn per_branch(self, accounts: u64) -> u64 {
        match self {
            Self::Branch => 1,
            Self::Teller => TELLERS,
            Self::Account => accounts,
        }
    }

    /// Bytes of filler that make a row's user data 100 bytes long. Where integers are stored in as
    /// many bytes as their values need (SQLite: a 0 in none), the filler alone has to do it.
    fn filler_bytes(self, compact_integers: bool) -> usize {
        match self {
            _ if compact_integers => LONGEST,
            Self::Branch => LONGEST - 4 - 8,
            Self::Teller | Self::Account => LONGEST - 4 - 4 - 8,
        }
    }
}

/// Rows number `next` to `end` (from 0, `end` excluded) of a table.
pub struct Source<'a> {
    table: Table,
    per_branch: u64,
    next: u64,
    end: u64,
    filler: [u8; LONGEST],
    filler_bytes: usize,
    counted: Counted<'a>,
}

impl<'a> Source<'a> {
    /// The rows of `range` of a bank whose branches have so many `accounts`; `progress` advances as they are taken.
    pub fn new(
        (table, accounts): (Table, u64),
        range: std::ops::Range<u64>,
        compact_integers: bool,
        progress: &'a Progress,
    ) -> Self {
        Self {
            table,
            per_branch: table.per_branch(accounts),
            next: range.start,
            end: range.end,
            filler: [0; LONGEST],
            filler_bytes: table.filler_bytes(compact_integers),
            counted: Counted::new(progress),
        }
    }
}

impl RowSource for Source<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            self.counted.end()?;
            return Ok(false);
        }
        let number = self.next;
        let text = fill(&mut self.filler[..self.filler_bytes], mix(number) ^ self.per_branch);
        let id = Value::Int(number as i64 + 1);
        let branch = Value::Int((number / self.per_branch) as i64 + 1);
        match self.table {
            Table::Branch => emit(&[id, Value::Int(0), Value::Text(text)])?,
            Table::Teller | Table::Account => emit(&[id, branch, Value::Int(0), Value::Text(text)])?,
        }
        self.next += 1;
        self.counted.rows(1)?;
        Ok(true)
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Two characters for each 12 bits: half of the look-ups, which are most of what a row costs to make.
static PAIRS: [[u8; 2]; 4096] = {
    let mut pairs = [[0; 2]; 4096];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at] = [ALPHABET[at & 63], ALPHABET[at >> 6]];
        at += 1;
    }
    pairs
};

/// Fills `buffer` with letters, digits, '-' and '_' drawn from `seed`: 6 random bits in each byte, no
/// two rows alike, so that no layer below stores less than it was given.
pub(crate) fn fill(buffer: &mut [u8], seed: u64) -> &str {
    for (at, ten) in buffer.chunks_mut(10).enumerate() {
        let mut bits = mix(seed.wrapping_add(at as u64));
        for two in ten.chunks_mut(2) {
            two.copy_from_slice(&PAIRS[(bits & 4095) as usize][..two.len()]);
            bits >>= 12;
        }
    }
    std::str::from_utf8(buffer).unwrap_or_default()
}

/// Letters at the beginning of a signed text that hold its seed.
const SEED: usize = 11;

/// Fills `buffer` as [`fill`] does, with letters that can be told from others: the first hold the seed of the rest.
pub(crate) fn sign(buffer: &mut [u8], seed: u64) -> &str {
    let (head, rest) = buffer.split_at_mut(SEED.min(buffer.len()));
    let mut bits = seed;
    for letter in head {
        *letter = ALPHABET[(bits & 63) as usize];
        bits >>= 6;
    }
    fill(rest, mix(seed ^ SEED as u64));
    std::str::from_utf8(buffer).unwrap_or_default()
}

/// Whether [`sign`] made these letters, as far as there are enough of them.
pub(crate) fn is_signed(text: &str) -> bool {
    let text = text.as_bytes();
    if text.len() < 2 * SEED {
        return true;
    }
    let number = |letter: &u8| ALPHABET.iter().position(|known| known == letter);
    let Some(numbers) = text[..SEED].iter().map(number).collect::<Option<Vec<usize>>>() else { return false };
    let seed = (0..).zip(numbers).fold(0, |seed, (at, number)| seed | (number as u64).wrapping_shl(6 * at));
    let mut wanted = vec![0; text.len()];
    sign(&mut wanted, seed).as_bytes() == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn signed_texts_are_told_from_others() {
        let mut buffer = [0; 100];
        for seed in (0..2000).map(mix).chain([0, u64::MAX]) {
            let text = sign(&mut buffer, seed).to_string();
            assert!(is_signed(&text), "{text}");
            assert!(!is_signed(&text[1..]) && !is_signed(&text.replace(&text[50..53], "abc")));
            assert!(!is_signed(fill(&mut buffer, seed)), "loaded texts are others");
        }
        assert!(is_signed("short") && !is_signed(&"x".repeat(60)) && !is_signed(&"é".repeat(30)));
    }

    fn rows(table: Table, range: std::ops::Range<u64>, compact: bool) -> Vec<String> {
        let progress = Progress::default();
        let mut source = Source::new((table, 100_000), range.clone(), compact, &progress);
        let mut seen = Vec::new();
        let mut emit = |row: &[Value<'_>]| {
            assert_eq!(row.len(), table.columns().len());
            seen.push(row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join("|"));
            Ok(())
        };
        while source.next_row(&mut emit).unwrap() {}
        assert_eq!(progress.read().0, range.end - range.start);
        seen
    }

    #[test]
    fn rows_belong_to_their_branches() {
        let tellers = rows(Table::Teller, 0..30, false);
        assert!(tellers[9].starts_with("Int(10)|Int(1)|Int(0)|") && tellers[10].starts_with("Int(11)|Int(2)|"));
        let accounts = rows(Table::Account, 99_999..100_001, false);
        assert!(accounts[0].starts_with("Int(100000)|Int(1)|") && accounts[1].starts_with("Int(100001)|Int(2)|"));
    }

    #[test]
    fn rows_have_a_hundred_bytes_and_differ() {
        for (table, fixed) in [(Table::Branch, 12), (Table::Teller, 16), (Table::Account, 16)] {
            assert_eq!(fixed + table.filler_bytes(false), 100);
            assert_eq!(table.filler_bytes(true), 100);
        }
        let mut buffer = [0; 84];
        let fillers: HashSet<String> = (0..10_000).map(|seed| fill(&mut buffer, mix(seed)).to_string()).collect();
        assert_eq!(fillers.len(), 10_000);
        assert!(fillers.iter().all(|text| text.len() == 84 && text.bytes().collect::<HashSet<u8>>().len() > 25));
    }

    #[test]
    fn parts_make_the_same_rows_as_the_whole() {
        let whole = rows(Table::Account, 0..10_000, true);
        let parts = [0..3333, 3333..3334, 3334..10_000].map(|range| rows(Table::Account, range, true));
        assert_eq!(parts.concat(), whole);
    }

    #[test]
    fn a_wish_to_stop_ends_the_rows() {
        let progress = Progress::default();
        progress.request_stop();
        let mut source = Source::new((Table::Account, 100_000), 0..100_000, true, &progress);
        let mut taken = 0;
        let error = loop {
            match source.next_row(&mut |_| Ok(())) {
                Ok(true) => taken += 1,
                Ok(false) => panic!("all rows were made"),
                Err(error) => break error,
            }
        };
        assert!(taken < 5000 && error.kind == dsbench_core::error::ErrorKind::Setup);
    }
}
