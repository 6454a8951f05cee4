//! Last names of three syllables (clause 4.3.2.3).

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// All 1000 last names, by number.
#[derive(Debug)]
pub struct Names(Vec<String>);

impl Default for Names {
    fn default() -> Self {
        let name = |number: usize| [number / 100, number / 10 % 10, number % 10].map(|at| SYLLABLES[at]).concat();
        Self((0..1000).map(name).collect())
    }
}

impl Names {
    /// The name of a number from 0 to 999.
    pub fn of(&self, number: i64) -> &str {
        &self.0[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        let names = Names::default();
        // 371 is the specification's own example.
        assert_eq!((names.of(371), names.of(40), names.of(0)), ("PRICALLYOUGHT", "BARPRESBAR", "BARBARBAR"));
        let distinct: std::collections::BTreeSet<&String> = names.0.iter().collect();
        assert_eq!((distinct.len(), names.0.iter().map(String::len).max()), (1000, Some(15)));
    }
}
