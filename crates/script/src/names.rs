//! The variables of all scripts: their numbers, what sets them, and the error for one that nothing sets.

use crate::error::Error;
use crate::memory::Slot;

/// Variables that whoever runs the scripts sets: integers all of them.
pub(crate) const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// `; did you mean WORD?` for the word among `known` that differs from `word` by at most two letters; else nothing.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let most = if word.chars().count() < 5 { 1 } else { 2 };
    let far = known.into_iter().filter(|other| *other != word).map(|other| (distance(word, other), other));
    match far.filter(|(far, _)| *far <= most).min_by_key(|(far, _)| *far) {
        Some((_, other)) => format!("; did you mean {other}?"),
        None => String::new(),
    }
}

/// Letters to add, take away, change or swap to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (to, with) in other.iter().enumerate() {
            let changed = row[to] + usize::from(letter != with);
            let mut least = changed.min(row[to + 1] + 1).min(next[to] + 1);
            if at > 0 && to > 0 && *letter == other[to - 1] && one[at - 1] == *with {
                least = least.min(before[to - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

/// The variables of all scripts.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    /// Whether anything sets it; beside it the error for when nothing does.
    set: Vec<(bool, Option<Error>)>,
    pub(crate) prefixes: Vec<String>,
}

impl Names {
    pub(crate) fn slot(&mut self, name: &str) -> Slot {
        let at = self.names.iter().position(|found| found == name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.set.push((AUTOMATIC.contains(&name), None));
            self.names.len() - 1
        });
        Slot::try_from(at).unwrap_or(Slot::MAX)
    }

    pub(crate) fn set(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.set[usize::from(slot)].0 = true;
        slot
    }

    /// A variable that is read; `error` is what to say when nothing sets it.
    pub(crate) fn read(&mut self, name: &str, error: impl FnOnce() -> Error) -> Slot {
        let slot = self.slot(name);
        let set = &mut self.set[usize::from(slot)];
        if !set.0 && set.1.is_none() {
            set.1 = Some(error());
        }
        slot
    }

    /// The first variable that nothing sets, no result either, is an error.
    pub(crate) fn refuse_unset(&mut self) -> Result<(), Error> {
        for (name, (set, error)) in self.names.iter().zip(&mut self.set) {
            let of_result = self.prefixes.iter().any(|prefix| name.starts_with(prefix));
            if let (false, false, Some(mut error)) = (*set, of_result, error.take()) {
                let (name, set) = (name.clone(), |(_, (set, _)): &(_, &(bool, _))| *set);
                let known = self.names.iter().zip(&self.set).filter(set).map(|(known, _)| known.as_str());
                error.message += &meant(&name, known);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_known_is_named() {
        for (word, found) in [
            ("titel", "; did you mean title?"),
            ("copys", "; did you mean copies?"),
            ("x", ""),
            ("colour", ""),
            ("equal", "; did you mean equals?"),
        ] {
            assert_eq!(meant(word, ["title", "copies", "equals"]), found, "{word}");
        }
    }
}
