//! The variables of all scripts: their numbers, what sets them, and the error for one that nothing sets.

use crate::error::Error;
use crate::memory::Slot;

/// Variables that whoever runs the scripts sets: integers all of them.
pub(crate) const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

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

    /// Whether a command or a definition sets it.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.names.iter().zip(&self.set).any(|(found, (set, _))| found == name && *set)
    }

    /// The first variable that nothing sets, no result either, is an error.
    pub(crate) fn refuse_unset(&mut self) -> Result<(), Error> {
        for (name, (set, error)) in self.names.iter().zip(&mut self.set) {
            let of_result = self.prefixes.iter().any(|prefix| name.starts_with(prefix));
            if let (false, false, Some(error)) = (*set, of_result, error.take()) {
                return Err(error);
            }
        }
        Ok(())
    }
}
