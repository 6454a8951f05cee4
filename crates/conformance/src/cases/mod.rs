//! The cases, a file for each group.

mod bulk;
mod errors;
mod isolation;
mod losses;
mod places;
mod statements;
mod types;

use dsbench_core::engine::Prepare;

use crate::bed::Bed;
use crate::{Doubt, HOLDS};

pub use losses::of_server as loss_of_server;

/// Gives the outcome in words.
pub type Check = Box<dyn Fn(&Bed) -> Result<String, Doubt> + Send>;

/// One case.
pub struct Case {
    pub group: &'static str,
    pub name: &'static str,
    pub variant: &'static str,
    /// False for what makes and drops the place itself.
    pub needs_tables: bool,
    pub check: Check,
}

impl Case {
    /// A case on the suite's tables.
    fn new(
        group: &'static str,
        name: &'static str,
        variant: &'static str,
        check: impl Fn(&Bed) -> Result<String, Doubt> + Send + 'static,
    ) -> Self {
        Self { group, name, variant, needs_tables: true, check: Box::new(check) }
    }

    /// One that holds or does not.
    fn plain(group: &'static str, name: &'static str, check: fn(&Bed) -> Result<(), Doubt>) -> Self {
        Self::new(group, name, "", move |bed| check(bed).map(|()| HOLDS.into()))
    }

    /// The same for both ways of sending statements.
    fn both_ways(
        group: &'static str,
        name: &'static str,
        check: fn(&Bed, Prepare) -> Result<(), Doubt>,
    ) -> impl Iterator<Item = Self> {
        WAYS.into_iter().map(move |(variant, when)| {
            Self::new(group, name, variant, move |bed| check(bed, when).map(|()| HOLDS.into()))
        })
    }
}

/// How a statement reaches the server, in words.
const WAYS: [(&str, Prepare); 2] = [("prepared", Prepare::Once), ("direct", Prepare::Never)];

/// Every case, those first that need no tables.
pub fn all() -> Vec<Case> {
    let mut cases = places::cases();
    cases.extend(types::cases());
    cases.extend(statements::cases());
    cases.extend(errors::cases());
    cases.extend(bulk::cases());
    cases.extend(losses::cases());
    cases.extend(isolation::cases());
    cases
}
