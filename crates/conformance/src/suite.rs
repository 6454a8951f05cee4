//! The order of things: the place first, then what needs its tables, in the end the loss of the server.

use std::sync::Arc;
use std::vec;

use dsbench_core::engine::Engine;
use dsbench_core::error::Result;

use crate::bed::Bed;
use crate::cases::{self, Case};
use crate::{expected, Product, Row, BROKEN};

/// The suite on one target: an iterator that runs a case at each step. Dropping it drops what it made.
pub struct Suite {
    bed: Bed,
    cases: vec::IntoIter<Case>,
    furnished: bool,
}

impl Suite {
    /// Makes a place at the target. Errors: `Setup` when one is there already, `Configuration` for an
    /// engine that keeps no data.
    pub fn new(engine: Arc<dyn Engine>) -> Result<Self> {
        let bed = Bed::new(engine)?;
        Ok(Self { bed, cases: cases::all().into_iter(), furnished: false })
    }

    /// Runs everything and gives, in words, what is not as documented; with `kill` the loss of the
    /// server as well. Errors are those of [`Suite::new`].
    pub fn failures(engine: Arc<dyn Engine>, kill: Option<&mut dyn FnMut()>) -> Result<Vec<String>> {
        let mut suite = Self::new(engine)?;
        let version = suite.tested().version.clone();
        let mut rows: Vec<Row> = suite.by_ref().collect();
        if let Some(kill) = kill {
            rows.extend(suite.lose_server(kill));
        }
        Ok(rows.iter().filter(|row| !row.passed()).map(|row| format!("{version}: {row}")).collect())
    }

    /// What is under test.
    pub fn tested(&self) -> &Product {
        &self.bed.product
    }

    /// Number of cases that are left.
    pub fn left(&self) -> usize {
        self.cases.len()
    }

    /// The cases that need a server which is killed while sessions work; `kill` does that at once, as a
    /// loss of power would. Nothing is tidied up, since the server is gone.
    pub fn lose_server(mut self, kill: impl FnOnce()) -> Vec<Row> {
        self.cases = Vec::new().into_iter();
        let found = self.furnish().and_then(|()| cases::loss_of_server(&self.bed, kill));
        let rows = match found {
            Ok(found) => found,
            Err(doubt) => vec![("the server is killed", Err(doubt))],
        };
        rows.into_iter().map(|(name, outcome)| self.row("losses", name, "", outcome)).collect()
    }

    fn furnish(&mut self) -> std::result::Result<(), crate::Doubt> {
        if !self.furnished {
            self.bed.furnish()?;
            self.furnished = true;
        }
        Ok(())
    }

    fn run(&mut self, case: &Case) -> std::result::Result<String, crate::Doubt> {
        if case.needs_tables {
            self.furnish()?;
        }
        (case.check)(&self.bed)
    }

    fn row(
        &self,
        group: &'static str,
        case: &'static str,
        variant: &'static str,
        outcome: std::result::Result<String, crate::Doubt>,
    ) -> Row {
        let expected = expected::of(&self.bed.product.family, group, case, variant);
        let (outcome, detail) = match outcome {
            Ok(outcome) => (outcome, String::new()),
            Err(doubt) => (BROKEN.to_string(), doubt.0),
        };
        Row { group, case, variant, outcome, expected: expected.to_string(), detail }
    }
}

impl Iterator for Suite {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let case = self.cases.next()?;
        let outcome = self.run(&case);
        Some(self.row(case.group, case.name, case.variant, outcome))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.cases.size_hint()
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        self.bed.clear();
    }
}
