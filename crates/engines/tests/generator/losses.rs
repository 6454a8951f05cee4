//! Collisions, lost connections and commits, servers that are gone, wishes to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use dsbench_core::board::Board;
use dsbench_core::clock::{Clock, FakeClock, Nanos};
use dsbench_core::engine::Interrupt;
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::generator::{Interrupts, Runner};
use dsbench_core::limit::Limit;
use dsbench_core::pacer::ClosedLoop;
use dsbench_core::pauses::Pause;
use dsbench_core::recorder::Recorder;
use dsbench_core::seats::Seat;
use dsbench_core::stage::Until;
use dsbench_core::workload::Shape;
use dsbench_engines::mock::{Action, Calls, Mock, Script, When};

use crate::bed::{Trial, MS};

#[test]
fn without_retry_a_collision_fails_and_the_next_inputs_follow() {
    let found = Trial::new(MS, Shape::Single).event(When::Every(4), Action::Fail(ErrorKind::Serialization)).run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.failed, tally.retries), (75, 25, 0));
    assert_eq!(tally.failed_ns, 25 * MS);
    assert_eq!(found.client.ran_with, (0..100).collect::<Vec<_>>());
    let class = &found.recorder.classes()[0];
    assert_eq!((class.kind, class.count, found.recorder.classes().len()), (ErrorKind::Serialization, 25, 1));
}

#[test]
fn a_retry_repeats_the_same_inputs_and_counts_into_the_residence_time() {
    let mut trial = Trial::new(MS, Shape::Block).event(When::Every(2), Action::Fail(ErrorKind::Deadlock));
    trial.conduct.tries = 0;
    trial.duration = 16 * MS;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    // Transaction 0: begin, statement, commit: 3 ms. From then on: begin, failing statement, rollback,
    // begin, statement, commit: 6 ms, as every second statement fails. 3 + 6 + 6 = 15; the next is late.
    assert_eq!(&found.client.ran_with[..5], [0, 1, 1, 2, 2]);
    assert_eq!((tally.committed, tally.failed, tally.retries, tally.in_flight), (3, 2, 2, 1));
    assert_eq!((tally.residence.max(), tally.residence.sum()), (6 * MS, 15 * MS));
}

#[test]
fn a_retry_ends_with_the_cycle() {
    let mut trial = Trial::new(MS, Shape::Single).event(When::Every(1), Action::Fail(ErrorKind::Conflict));
    trial.conduct.tries = 0;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((found.outcome, tally.committed, tally.failed), (Ok(0), 0, 100));
}

#[test]
fn reconnect_opens_a_connection_for_each_transaction_inside_its_residence_time() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.reconnect = true;
    trial.script.connect_ns = 4 * MS;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.residence.min()), (20, 5 * MS));
    assert_eq!(found.mock.counts().connects, 21, "one before the start shows that the server is there");
}

#[test]
fn a_transaction_whose_connection_is_refused_fails_once_and_the_next_waits() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.reconnect = true;
    trial.duration = 1000 * MS;
    trial.script.down.push(10 * MS..300 * MS);
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    // Refused at 10, 30, 70, 150 and, after a pause of 160 ms, no more at 310 ms.
    assert_eq!((found.outcome, tally.failed, tally.committed), (Ok(0), 4, 10 + 690));
    assert_eq!(tally.failed_ns, 300 * MS, "the time that a client waits is lost to it");
    let class = &found.recorder.classes()[0];
    assert_eq!((class.kind, class.count), (ErrorKind::Setup, 4));
}

#[test]
fn a_server_that_refuses_all_connections_ends_the_cycle_after_the_patience() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.reconnect = true;
    trial.duration = 10_000 * MS;
    trial.script.down.push(10 * MS..Nanos::MAX);
    let found = trial.run();
    let error = found.outcome.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected);
    assert!(format!("{error:#}").contains("the connection was lost"), "{error}");
    // Refused at 10, 30, 70, 150, 310 and, patience of 500 ms being over at 510, at 630 ms.
    assert_eq!((found.recorder.tallies()[0].failed, found.clock.now()), (6, 630 * MS));
}

#[test]
fn a_server_that_was_back_is_given_new_patience() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.reconnect = true;
    trial.duration = 300 * MS;
    trial.conduct.patience = 100 * MS;
    trial.script.down = vec![10 * MS..60 * MS, 150 * MS..230 * MS];
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    // Refused at 10 and 30 ms and back at 70; refused at 150, 170 and 210 ms and back at 290.
    assert_eq!((found.outcome, tally.failed, tally.committed), (Ok(0), 5, 10 + 80 + 10));
}

#[test]
fn who_waits_for_the_server_is_back_within_its_pause_and_the_outage_is_kept() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.reconnect = true;
    trial.duration = 100 * MS;
    trial.conduct.pause = 10 * MS;
    trial.script.down.push(10 * MS..60 * MS);
    let found = trial.run();
    // Refused at 10, 20, 30, 40 and 50 ms; the first transaction after it takes 1 ms.
    assert_eq!((found.outcome, found.recorder.tallies()[0].failed), (Ok(0), 5));
    let outage = Pause { from: 10 * MS, wanted: Some(10 * MS), to: Some(61 * MS) };
    let last = Pause { from: 100 * MS, wanted: None, to: None };
    assert_eq!(found.recorder.pauses().collect::<Vec<_>>(), [outage, last]);
}

#[test]
fn connections_are_used_round_robin() {
    let mut trial = Trial::new(MS, Shape::Single).event(When::At(5), Action::Fail(ErrorKind::Disconnected));
    trial.conduct.connections = 3;
    let found = trial.run();
    // Only the connection that broke, the second in turn, is opened again.
    assert_eq!((found.mock.counts().connects, found.recorder.tallies()[0].unknown), (4, 0));
}

#[test]
fn a_lost_connection_is_a_failure_and_the_client_goes_on() {
    let found = Trial::new(MS, Shape::Block).event(When::At(10), Action::Fail(ErrorKind::Disconnected)).run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((found.outcome.is_ok(), tally.failed, tally.unknown), (true, 1, 0));
    assert_eq!(found.mock.counts().connects, 2);
}

#[test]
fn a_connection_lost_in_commit_is_unknown_and_never_retried() {
    let mut trial = Trial::new(MS, Shape::Block).event(When::At(10), Action::Fail(ErrorKind::Disconnected));
    trial.script.calls = Calls::Commits;
    trial.conduct.tries = 0;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.unknown, tally.retries), (1, 0));
    assert_eq!(found.client.ran_with.windows(2).filter(|w| w[0] == w[1]).count(), 0);
}

/// A commit that fails with the server, which is gone from then on.
fn lost_in_commit(server_fails: When) -> Trial {
    let mut trial = Trial::new(MS, Shape::Block).event(server_fails, Action::Fail(ErrorKind::Disconnected));
    trial.script.calls = Calls::Commits;
    trial.script.down.push(MS..Nanos::MAX);
    trial
}

#[test]
fn a_commit_lost_with_its_server_is_unknown_once() {
    let found = lost_in_commit(When::At(10)).run();
    let tally = &found.recorder.tallies()[0];
    assert_eq!(found.outcome.unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!((tally.committed, tally.unknown, tally.failed), (9, 1, 1));
    assert_eq!(found.client.committed, 9, "the database may hold one more");
}

/// A server that others have given up while this thread's transactions run.
struct Given<'a>(&'a FakeClock, &'a AtomicBool);

impl Clock for Given<'_> {
    fn now(&self) -> Nanos {
        self.0.now()
    }

    /// The first pause is the one before the connection is tried again.
    fn sleep_until(&self, at: Nanos, stop: &AtomicBool) {
        self.1.store(self.0.now() > 0, Ordering::Relaxed);
        self.0.sleep_until(at, stop);
    }
}

#[test]
fn a_commit_lost_is_unknown_when_another_client_ends_the_cycle_meanwhile() {
    let mut trial = lost_in_commit(When::At(10));
    let clock = Arc::new(FakeClock::default());
    let mock = Mock::on_clock(trial.script, Arc::clone(&clock));
    let mut recorder = Recorder::new(1, Board::new(1, false, 0), None);
    let seats = vec![Seat::new(&mut trial.client, 0)];
    let given = Given(&clock, &trial.stop);
    let mut runner = Runner::connect(&trial.conduct, &mock, seats, given, &trial.stop, &()).unwrap();
    runner.run(0, 0, &Limit::new(Until::Group(0), 1), &mut ClosedLoop, &mut recorder).unwrap_err();
    assert!(trial.stop.load(Ordering::Relaxed));
    assert_eq!((recorder.tallies()[0].committed, recorder.tallies()[0].unknown), (9, 1));
}

#[test]
fn the_last_of_too_many_lost_commits_is_unknown_like_the_others() {
    let mut trial = lost_in_commit(When::Every(1));
    trial.script.down.clear();
    trial.duration = 1000 * MS;
    let found = trial.run();
    assert!(found.outcome.unwrap_err().to_string().contains("100 transactions in a row failed"));
    assert_eq!((found.recorder.tallies()[0].unknown, found.recorder.tallies()[0].failed), (100, 100));
}

#[test]
fn a_server_that_is_gone_ends_the_cycle_after_the_patience() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.script.connect_failures = u64::MAX;
    let refused = trial.run();
    assert_eq!(refused.outcome.unwrap_err().kind, ErrorKind::Setup, "a refused first connection is an error of set-up");
    let failing = Trial::new(MS, Shape::Single).event(When::Every(1), Action::Fail(ErrorKind::Statement)).run();
    let error = failing.outcome.unwrap_err();
    assert!(format!("{error:#}").contains("100 transactions in a row failed"), "{error}");
    assert_eq!(failing.clock.now(), 100 * MS);
}

#[test]
fn a_faulty_statement_ends_the_cycle_at_once() {
    let found = Trial::new(MS, Shape::Single).event(When::At(7), Action::Fail(ErrorKind::Syntax)).run();
    assert_eq!(found.outcome.unwrap_err().kind, ErrorKind::Syntax);
    assert_eq!(found.recorder.tallies()[0].committed, 6);
}

#[test]
fn what_the_database_holds_open_at_the_end_is_not_committed_and_ends_the_cycle() {
    for failing in [When::At(1_000), When::At(2)] {
        let mut trial = Trial::new(MS, Shape::Single).event(failing, Action::Fail(ErrorKind::Serialization));
        trial.client.leaves_open = true;
        let found = trial.run();
        let error = found.outcome.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(format!("{error:#}").contains("a transaction is still open"), "{error}");
        let tally = &found.recorder.tallies()[0];
        assert_eq!((tally.committed, tally.failed, found.client.committed), (0, 1, 0));
        assert_eq!(found.mock.counts().rollbacks, 1);
    }
}

#[test]
fn a_wish_to_stop_is_heard_before_connecting() {
    let trial = Trial::new(MS, Shape::Single);
    trial.stop.store(true, Ordering::Relaxed);
    let found = trial.run();
    assert_eq!(found.outcome.unwrap_err().context, "stopped");
    assert_eq!(found.mock.counts().connects, 0, "no wait for a server that is not needed");
}

/// Asks for the end as soon as a connection is open.
struct Impatient<'a>(&'a AtomicBool);

impl Interrupts for Impatient<'_> {
    fn put(&self, _index: usize, _handle: Option<Box<dyn Interrupt>>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_wish_to_stop_is_heard_while_connecting() {
    let mut trial = Trial::new(MS, Shape::Single);
    trial.conduct.connections = 3;
    let (clock, mock) = (FakeClock::default(), Mock::new(Script::default()));
    let (seats, impatient) = (vec![Seat::new(&mut trial.client, 0)], Impatient(&trial.stop));
    let connected = Runner::connect(&trial.conduct, &mock, seats, &clock, &trial.stop, &impatient);
    assert_eq!(connected.err().unwrap().context, "stopped");
    assert_eq!(mock.counts().connects, 1);
}

#[test]
fn errors_keep_their_code_and_one_example() {
    let mut recorder = Recorder::new(2, Board::new(2, false, 0), None);
    recorder.window(0, 10);
    for _ in 0..3 {
        recorder.attempt_failed(0, &Error::with(ErrorKind::Statement, "execute", "disk full").code(b"53100"), 5);
    }
    recorder.attempt_failed(0, &Error::new(ErrorKind::Statement, "execute").code(b"22003"), 5);
    recorder.attempt_failed(0, &Error::new(ErrorKind::Statement, "execute").code(b"22003"), 11);
    recorder.attempt_failed(1, &Error::new(ErrorKind::Statement, "execute").code(b"53100"), 5);
    let classes = recorder.classes().iter();
    let found: Vec<_> = classes.map(|c| (c.transaction, c.code.as_str().to_owned(), c.count)).collect();
    let expected = [(0, "53100", 3), (0, "22003", 1), (1, "53100", 1)].map(|(of, code, n)| (of, code.to_owned(), n));
    assert_eq!(found, expected, "what fails after the end does not count, each kind of transaction does for itself");
    assert_eq!(recorder.classes()[0].example.as_deref(), Some("disk full"));
}
