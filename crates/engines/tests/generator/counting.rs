//! What counts as done, and what ends a group.

use dsbench_core::clock::Clock;
use dsbench_core::error::ErrorKind;
use dsbench_core::stage::{Counted, Until, Whose};
use dsbench_core::workload::{End, Shape};
use dsbench_engines::mock::{Action, When};

use crate::bed::{Trial, MS};

#[test]
fn a_transaction_that_ends_at_the_deadline_counts() {
    let found = Trial::new(MS, Shape::Single).run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.in_flight, tally.failed), (100, 0, 0));
    assert_eq!((tally.first_start, tally.last_end), (Some(0), 100 * MS));
    assert_eq!((tally.residence.sum(), tally.residence.min(), tally.residence.max()), (100 * MS, MS, MS));
    assert_eq!((found.client.committed, found.mock.counts().singles), (100, 100));
    assert_eq!(found.mock.counts().begins, 0, "a single call has no BEGIN on the wire");
}

#[test]
fn a_transaction_that_ends_later_is_in_flight_and_known_to_the_check() {
    let found = Trial::new(3 * MS, Shape::Single).run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.in_flight, tally.commits_after_window), (33, 1, 1));
    assert_eq!((tally.last_end, tally.residence.count()), (99 * MS, 33));
    assert_eq!(found.client.committed, 34, "the database holds the late one, too");
}

#[test]
fn a_block_begins_and_commits() {
    let found = Trial::new(MS, Shape::Block).run();
    let counts = found.mock.counts();
    // begin, statement, commit: 3 ms each; the 34th ends at 102 ms.
    assert_eq!(found.recorder.tallies()[0].committed, 33);
    assert_eq!((counts.begins, counts.commits, counts.executes), (34, 34, 34));
}

#[test]
fn a_rollback_on_purpose_is_done_and_not_failed() {
    let mut trial = Trial::new(MS, Shape::Block);
    trial.client.end = End::Rollback;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.rolled_back, tally.committed, tally.failed), (33, 0, 0));
    assert_eq!((found.mock.counts().rollbacks, found.client.committed), (34, 0));
}

#[test]
fn a_ramp_up_is_run_and_not_recorded_but_known_to_the_check() {
    let mut trial = Trial::new(3 * MS, Shape::Single).event(When::At(2), Action::Fail(ErrorKind::Conflict));
    trial.ramp_up = 10 * MS;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    // Ends at 3, 6 (failed) and 9 ms lie before the clock's start at 10 ms; that at 12 ms is the first to
    // count, though it began 1 ms before; the 36th ends at 108, and the 37th, at 111, is late.
    assert_eq!((tally.commits_before_window, tally.committed, tally.in_flight, tally.failed), (2, 33, 1, 0));
    assert_eq!((tally.first_start, tally.last_end), (Some(0), 98 * MS));
    assert_eq!(found.client.committed, 36, "the database holds them all");
}

#[test]
fn a_count_ends_a_group_when_so_many_are_done_whatever_fails() {
    for of in [Whose::Each, Whose::All] {
        let mut trial = Trial::new(MS, Shape::Single).event(When::Every(4), Action::Fail(ErrorKind::Serialization));
        trial.until = Some(Until::Count { counted: Counted::Transactions, count: 90, of });
        let found = trial.run();
        let tally = &found.recorder.tallies()[0];
        // Every fourth of 119 fails: 29; the last of the others ends after 119 ms.
        assert_eq!((tally.committed, tally.failed, tally.in_flight, found.clock.now()), (90, 29, 0, 119 * MS));
        assert_eq!((tally.rows, found.outcome.unwrap()), (900, 0));
    }
}

#[test]
fn a_count_of_rows_ends_a_group_with_the_transaction_that_reaches_it() {
    for of in [Whose::Each, Whose::All] {
        let mut trial = Trial::new(MS, Shape::Single);
        trial.until = Some(Until::Count { counted: Counted::Rows, count: 95, of });
        let found = trial.run();
        let tally = &found.recorder.tallies()[0];
        assert_eq!((tally.committed, tally.rows), (10, 100));
    }
}
