//! Groups that end by count and get nowhere: every attempt fails, and their clients try again for ever.

use std::sync::OnceLock;

use super::{interrupt_all, ClientOutcome, Group, LoadPlan, Shared};
use crate::error::{Error, ErrorKind};
use crate::stage::{Counted, Until};

/// Seconds for which a group that ends by count may go on without a transaction that is done.
pub const GIVE_UP_S: u64 = 600;

/// Since a transaction of a group was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stall {
    seconds: u64,
    failed: u64,
}

impl Stall {
    /// A second passes in which so many transactions were done, and so many attempts failed. One that was looked at `late`
    /// may be one in which this process stood still.
    fn pass(&mut self, done: u64, failed: u64, late: bool) {
        *self = match done {
            0 => Self { seconds: self.seconds + u64::from(!late), failed: self.failed + failed },
            _ => Self::default(),
        }
    }

    /// Whether it has lasted for `seconds`, and not because nothing is answered at all.
    fn is_over(self, seconds: u64) -> bool {
        self.seconds >= seconds && self.failed > 0
    }
}

/// The group that was given up, where one was.
pub(super) type GivenUp = OnceLock<(usize, Stall)>;

/// Of each group of a plan whose clients may try for ever.
pub(super) struct Stalls {
    of_groups: Vec<Option<Stall>>,
    give_up_s: u64,
}

impl Stalls {
    pub(super) fn new(plan: &LoadPlan) -> Self {
        let of = |group: &Group| match group.until {
            Until::Count { counted, .. } => counted != Counted::Attempts || group.conduct.tries == 0,
            Until::Time(_) | Until::Group(_) => false,
        };
        let of_groups = plan.groups.iter().map(|group| of(group).then(Stall::default)).collect();
        Self { of_groups, give_up_s: plan.give_up_s }
    }

    /// A second passes in which each group did so many transactions and had so many attempts fail. Ends the cycle where
    /// one gets nowhere.
    pub(super) fn pass(&mut self, groups: &[(u64, u64)], late: bool, shared: &Shared) {
        for (number, (stall, (done, failed))) in self.of_groups.iter_mut().zip(groups).enumerate() {
            let Some(stall) = stall.as_mut().filter(|_| !shared.limits[number].over()) else { continue };
            stall.pass(*done, *failed, late);
            if stall.is_over(self.give_up_s) {
                let _ = shared.given_up.set((number, *stall));
                shared.end();
                interrupt_all(&shared.handles);
            }
        }
    }
}

/// The error of a cycle of `groups` that was given up for `stall` of group `number`, with what its `clients` met most.
pub(super) fn error((number, stall): (usize, Stall), groups: &[String], clients: &[ClientOutcome]) -> Error {
    let of_group = clients.iter().filter(|client| client.group == number);
    let class = of_group.flat_map(|client| client.recorder.classes()).max_by_key(|class| class.count);
    let met = class.map_or(Error::new(ErrorKind::Statement, "load"), |class| Error {
        code: class.code,
        message: class.example.clone(),
        ..Error::new(class.kind, "load")
    });
    let Stall { seconds, failed } = stall;
    let of = if groups.len() > 1 { format!(" of {}", groups[number]) } else { String::new() };
    let words =
        format!("no transaction{of} succeeded for {seconds} s, in which {failed} attempts failed, most by: {met}");
    Error { code: met.code, ..Error::with(met.kind, "load", words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_without_a_success_are_a_stall() {
        let mut stall = Stall::default();
        (0..9).for_each(|_| stall.pass(0, 0, false));
        assert!(!stall.is_over(5), "nothing is answered: that is another error");
        stall.pass(0, 1, false);
        assert!(stall.is_over(10) && !stall.is_over(11));
        (0..9).for_each(|_| stall.pass(0, 3, true));
        assert_eq!(stall, Stall { seconds: 10, failed: 28 }, "no time passes while this process stands still");
        stall.pass(1, 1000, false);
        assert_eq!(stall, Stall::default());
    }
}
