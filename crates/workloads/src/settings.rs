//! Settings of one workload alone, as text: `--set name=value`.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

use crate::entry::Kind;

/// A setting as the workload declares it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub values: Values,
    /// The value when nobody says otherwise.
    pub default: &'static str,
    /// What it does, in a sentence without a full stop.
    pub help: &'static str,
}

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number, both ends included.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A part of the whole, which is 1.
    Part {
        /// The least.
        least: f64,
    },
    /// Any number between these.
    Number {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// Any text; what it is for, in words.
    Text(&'static str),
    /// Cards of each kind in a deck, by commas: whole numbers, one card at least in all of them.
    Cards {
        /// The most cards of a deck.
        most: u32,
    },
}

impl Setting {
    /// Refuses a value that it does not take, with an error of kind `Configuration`; `kinds` are the workload's.
    pub fn check(&self, value: &str, kinds: &[Kind]) -> Result<()> {
        const WRONG: &str = "this is none of its values";
        let problem = match self.values {
            Values::Words(words) => {
                (!words.contains(&value)).then(|| (WRONG.into(), format!("use {}", words.join(" or "))))
            }
            Values::Text(_) => None,
            Values::Whole { least, most } => {
                let fits = value.parse().is_ok_and(|number: u64| (least..=most).contains(&number));
                (!fits).then(|| (WRONG.into(), format!("use a whole number from {least} to {most}")))
            }
            Values::Part { least } => {
                let fits = value.trim().parse().is_ok_and(|part: f64| (least..=1.0).contains(&part));
                (!fits).then(|| (WRONG.into(), format!("use a part of the whole, {least} to 1")))
            }
            Values::Number { least, most } => {
                let fits = value.trim().parse().is_ok_and(|number: f64| (least..=most).contains(&number));
                (!fits).then(|| (WRONG.into(), format!("use a number from {least} to {most}")))
            }
            Values::Cards { most } => bad_deck(value, kinds.len(), most).map(|why| {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
                (why, format!("give the cards of {}, like {}={}", names.join(", "), self.name, self.default))
            }),
        };
        let refused = |(problem, remedy): (String, String)| {
            Error::configuration(format!("--set {}={value}: {problem}", self.name)).remedy(remedy)
        };
        problem.map_or(Ok(()), |problem| Err(refused(problem)))
    }
}

impl Values {
    /// What it takes, in words.
    pub fn text(&self) -> String {
        match self {
            Self::Words(words) => words.join(" or "),
            Self::Text(what) => (*what).to_string(),
            Self::Whole { least, most } => format!("{least} to {most}"),
            Self::Number { least, most } => format!("{least} to {most}"),
            Self::Part { least } => format!("{least} to 1"),
            Self::Cards { most } => format!("a number for each kind, by commas, {most} cards at most"),
        }
    }
}

/// Why `text` is no deck for so many kinds.
fn bad_deck(text: &str, kinds: usize, most: u32) -> Option<String> {
    let numbers: std::result::Result<Vec<u32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    let Ok(numbers) = numbers else { return Some("these are not whole numbers".to_string()) };
    let sum = numbers.iter().try_fold(0_u32, |sum, cards| sum.checked_add(*cards)).filter(|sum| *sum <= most);
    match sum {
        _ if numbers.len() != kinds => Some(format!("these are not {kinds} numbers")),
        Some(0) => Some("the deck has no card".to_string()),
        None => Some(format!("the deck has more than {most} cards")),
        Some(_) => None,
    }
}

/// Settings by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Takes names with their values.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// The value of a setting, where it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names with their values, as far as they were given.
    pub fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[Kind] = &[Kind::named("buy"), Kind::named("sell"), Kind::named("look")];

    fn refused(values: Values, value: &str) -> Option<String> {
        let setting = Setting { name: "s", values, default: "5,5,1", help: "" };
        setting.check(value, KINDS).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn a_word_is_one_of_a_few() {
        let words = Values::Words(&["on", "off"]);
        assert_eq!(refused(words, "off"), None);
        assert!(refused(words, "no").unwrap().contains("--set s=no: this is none of its values; use on or off"));
    }

    #[test]
    fn a_number_lies_within_its_range() {
        let whole = Values::Whole { least: 2, most: 10 };
        assert_eq!((refused(whole, "2"), refused(whole, "10")), (None, None));
        for wrong in ["1", "11", "-2", "x", ""] {
            assert!(refused(whole, wrong).unwrap().contains("use a whole number from 2 to 10"), "{wrong}");
        }
    }

    #[test]
    fn a_deck_has_a_number_for_each_kind() {
        let part = Values::Part { least: 0.01 };
        for fits in ["0.01", " 0.5", "1"] {
            assert_eq!(refused(part, fits), None);
        }
        for text in ["0", "0.009", "1.01", "-1", "NaN", "inf", "small", ""] {
            assert_eq!(
                refused(part, text).unwrap(),
                format!("--set s={text}: this is none of its values; use a part of the whole, 0.01 to 1")
            );
        }
        let number = Values::Number { least: 0.0, most: 60.0 };
        assert_eq!((refused(number, "0.01"), refused(number, "60")), (None, None));
        assert!(["-1", "61", "NaN", "soon"].iter().all(|text| refused(number, text).unwrap().contains("0 to 60")));
        let cards = Values::Cards { most: 10_000 };
        assert_eq!((refused(cards, " 45, 43 ,4"), refused(cards, "0,0,3")), (None, None));
        for (text, why) in [
            ("1,2", "not 3 numbers"),
            ("1,2,3,4", "not 3 numbers"),
            ("1,x,3", "not whole"),
            ("0,0,0", "no card"),
            ("10000,1,0", "more than 10000"),
            ("4294967295,1,0", "more than 10000"),
        ] {
            let message = refused(cards, text).unwrap();
            assert!(message.contains(why) && message.contains("of buy, sell, look, like s=5,5,1"), "{message}");
        }
    }
}
