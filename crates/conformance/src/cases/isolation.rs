//! The schedules, at each level of isolation.

use std::time::Duration;

use dsbench_core::engine::Isolation;
use dsbench_core::error::ErrorKind;

use super::Case;
use crate::bed::Bed;
use crate::players::{play, Played};
use crate::schedule::{Schedule, SCHEDULES};
use crate::{expected, Doubt};

/// Levels, by the names of `--isolation`.
pub const LEVELS: [(&str, Isolation); 3] = [
    ("read-committed", Isolation::ReadCommitted),
    ("repeatable-read", Isolation::RepeatableRead),
    ("serializable", Isolation::Serializable),
];

/// How long a statement may take before it waits. A wait that is not documented is tried again with
/// more: on a busy machine a statement takes its time. (Servers may give up waiting after a second.)
const PATIENCE_MS: [u64; 3] = [250, 500, 900];

pub fn cases() -> Vec<Case> {
    let every = SCHEDULES.iter().flat_map(|schedule| LEVELS.map(|(level, isolation)| (schedule, level, isolation)));
    every
        .map(|(schedule, level, isolation)| {
            Case::new("isolation", schedule.name, level, move |bed| meet(bed, schedule, level, isolation))
        })
        .collect()
}

fn meet(bed: &Bed, schedule: &Schedule, level: &str, isolation: Isolation) -> Result<String, Doubt> {
    // A level that the product does not have is refused before anything happens.
    match bed.session(isolation) {
        Err(error) if error.kind == ErrorKind::Configuration => return Ok("refused".into()),
        other => drop(other?),
    }
    let expected = expected::of(&bed.product.family, "isolation", schedule.name, level);
    let mut found = String::new();
    for patience in PATIENCE_MS.map(Duration::from_millis) {
        let played = play(bed, schedule, isolation, patience)?;
        found = outcome(schedule, &played)?;
        let wait_too_many = found.starts_with("waits") && !expected.starts_with("waits");
        if !wait_too_many {
            break;
        }
    }
    Ok(found)
}

/// The words of docs/engines.md: "waits, allowed", "aborts (serialization)", "conflicts (busy)" …
fn outcome(schedule: &Schedule, played: &Played) -> Result<String, Doubt> {
    let mut words = Vec::new();
    if played.sessions.iter().any(|session| session.waited) {
        words.push("waits".to_string());
    }
    if played.stuck {
        words.push("stuck".into());
    }
    for error in played.sessions.iter().filter_map(|session| session.error.as_ref()) {
        words.push(match error.kind {
            ErrorKind::Serialization | ErrorKind::Deadlock => format!("aborts ({})", error.kind.name()),
            ErrorKind::Conflict | ErrorKind::Busy => format!("conflicts ({})", error.kind.name()),
            _ => return Err(error.clone().into()),
        });
        // It is made on the load path, where nothing is allocated.
        if error.message.is_some() {
            return Err(Doubt(format!("an error that may be retried has words: {error}")));
        }
    }
    let ended = played.sessions.iter().any(|session| session.error.is_some());
    match (schedule.seen)(played) {
        true => words.push("allowed".into()),
        false if !ended => words.push("prevented".into()),
        false => {}
    }
    Ok(words.join(", "))
}
