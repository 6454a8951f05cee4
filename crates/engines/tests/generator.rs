//! The loop against a scripted engine on a fake clock: exact to the nanosecond, without sleeping.

#![cfg(feature = "mock")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use dsbench_core::clock::{Clock, FakeClock, Nanos};
use dsbench_core::course::Course;
use dsbench_core::engine::{Connection, Interrupt, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::generator::{Conduct, Interrupts, Runner};
use dsbench_core::limit::Limit;
use dsbench_core::pacer::{ClosedLoop, ConstantRate, Ended, Pacer, Turn};
use dsbench_core::recorder::Recorder;
use dsbench_core::seats::Seat;
use dsbench_core::stage::{Counted, Until, Whose};
use dsbench_core::workload::{Client, Drawn, End, Shape};
use dsbench_engines::mock::{Action, Calls, Mock, Script, When};

const MS: Nanos = 1_000_000;

/// One statement per transaction; remembers with which inputs it was run.
struct Probe {
    shape: Shape,
    end: End,
    drawn: u64,
    ran_with: Vec<u64>,
    committed: u64,
}

impl Probe {
    fn new(shape: Shape) -> Self {
        Self { shape, end: End::Commit, drawn: 0, ran_with: Vec::new(), committed: 0 }
    }
}

impl Client for Probe {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        conn.prepare(&Statement { sql: "work", params: &[], columns: &[] }, when).map(|_| ())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        self.drawn = number;
        Drawn { kind: 0, shape: self.shape }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        self.ran_with.push(self.drawn);
        conn.execute(StatementId(0), &[]).map(|_| self.end)
    }

    fn describe(&self) -> String {
        self.drawn.to_string()
    }

    fn committed(&mut self) {
        self.committed += 1;
    }

    fn rows(&self) -> u64 {
        10
    }
}

struct Trial {
    conduct: Conduct,
    script: Script,
    client: Probe,
    stop: AtomicBool,
    ramp_up: Nanos,
    duration: Nanos,
    /// Instead of the duration.
    until: Option<Until>,
}

struct Found {
    outcome: Result<u64>,
    recorder: Recorder,
    mock: Mock,
    client: Probe,
    clock: Arc<FakeClock>,
}

impl Trial {
    /// A closed loop of 100 ms in which every call takes `latency_ns`.
    fn new(latency_ns: Nanos, shape: Shape) -> Self {
        let session = Session { isolation: Isolation::RepeatableRead, in_place: false };
        let conduct = Conduct {
            session,
            prepare: Prepare::Once,
            connections: 1,
            retry: false,
            reconnect: false,
            patience: 500 * MS,
        };
        let script = Script { latency_ns, ..Script::default() };
        let (stop, ramp_up, duration) = (AtomicBool::new(false), 0, 100 * MS);
        Self { conduct, script, client: Probe::new(shape), stop, ramp_up, duration, until: None }
    }

    fn event(mut self, when: When, action: Action) -> Self {
        self.script.events.push((when, action));
        self
    }

    fn run(self) -> Found {
        self.paced(&mut ClosedLoop, false)
    }

    fn paced(mut self, pacer: &mut dyn Pacer, open_loop: bool) -> Found {
        let clock = Arc::new(FakeClock::default());
        let mock = Mock::on_clock(self.script, Arc::clone(&clock));
        let mut recorder = Recorder::new(1, open_loop, Course::new(1), None);
        let until = self.until.unwrap_or(Until::Time(self.duration));
        let seats = vec![Seat::new(&mut self.client, 0)];
        let connected = Runner::connect(&self.conduct, &mock, seats, clock.as_ref(), &self.stop, &());
        let outcome = connected.and_then(|mut runner| {
            let (start, limit) = (clock.now() + self.ramp_up, Limit::new(until, 1));
            limit.begin(start);
            runner.run(start, self.ramp_up, &limit, pacer, &mut recorder)
        });
        Found { outcome, recorder, mock, client: self.client, clock }
    }
}

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
    assert_eq!((tally.committed, tally.in_flight, tally.late_commits), (33, 1, 1));
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
    trial.conduct.retry = true;
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
    trial.conduct.retry = true;
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
    assert!(error.to_string().contains("the connection was lost"), "{error}");
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
    trial.conduct.retry = true;
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
    let mut recorder = Recorder::new(1, false, Course::new(1), None);
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
    assert!(error.to_string().contains("100 transactions in a row failed"), "{error}");
    assert_eq!(failing.clock.now(), 100 * MS);
}

#[test]
fn a_faulty_statement_ends_the_cycle_at_once() {
    let found = Trial::new(MS, Shape::Single).event(When::At(7), Action::Fail(ErrorKind::Syntax)).run();
    assert_eq!(found.outcome.unwrap_err().kind, ErrorKind::Syntax);
    assert_eq!(found.recorder.tallies()[0].committed, 6);
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
fn a_ramp_up_is_run_and_not_recorded_but_known_to_the_check() {
    let mut trial = Trial::new(3 * MS, Shape::Single).event(When::At(2), Action::Fail(ErrorKind::Conflict));
    trial.ramp_up = 10 * MS;
    let found = trial.run();
    let tally = &found.recorder.tallies()[0];
    // Ends at 3, 6 (failed) and 9 ms lie before the clock's start at 10 ms; that at 12 ms is the first to
    // count, though it began 1 ms before; the 36th ends at 108, and the 37th, at 111, is late.
    assert_eq!((tally.early_commits, tally.committed, tally.in_flight, tally.failed), (2, 33, 1, 0));
    assert_eq!((tally.first_start, tally.last_end), (Some(0), 98 * MS));
    assert_eq!(found.client.committed, 36, "the database holds them all");
}

/// What theory gives for arrivals every `gap`, a service time of `service`, and one service that is
/// longer by `stall`: each start waits for the end before (Lindley's recursion).
fn theory(count: u64, gap: Nanos, service: Nanos, stalled: u64, stall: Nanos) -> (Vec<Nanos>, Vec<Nanos>) {
    let (mut free, mut responses, mut services) = (0, Vec::new(), Vec::new());
    for n in 0..count {
        let intended = n * gap;
        let time = service + if n == stalled { stall } else { 0 };
        free = free.max(intended) + time;
        responses.push(free - intended);
        services.push(time);
    }
    (responses, services)
}

fn quantile(values: &[Nanos], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[((q * sorted.len() as f64).ceil() as usize).max(1) - 1] as f64
}

#[test]
fn the_open_loop_shows_a_stall_in_the_response_times_as_theory_gives_it() {
    let mut trial = Trial::new(MS, Shape::Single).event(When::At(100), Action::Stall(2000 * MS));
    trial.duration = 10_000 * MS;
    let found = trial.paced(&mut ConstantRate::new(0, 1, 100.0), true);
    let tally = &found.recorder.tallies()[0];
    assert_eq!((found.outcome.clone().unwrap(), tally.committed), (0, 1000));
    let (responses, services) = theory(1000, 10 * MS, MS, 99, 2000 * MS);
    let response = tally.response.as_ref().unwrap();
    assert_eq!((response.max(), response.sum()), (2001 * MS, responses.iter().sum::<u64>()));
    for q in [0.1, 0.5, 0.68, 0.87, 0.95, 0.99, 0.997, 0.999] {
        for (histogram, truth) in [(response, &responses), (&tally.residence, &services)] {
            let (seen, truth) = (histogram.quantile(q) as f64, quantile(truth, q));
            assert!((seen / truth - 1.0).abs() <= 0.0005, "q {q}: {seen} against {truth}");
        }
    }
}

#[test]
fn starts_that_were_due_and_not_made_are_missed() {
    let trial = Trial::new(3 * MS, Shape::Single);
    let found = trial.paced(&mut ConstantRate::new(0, 1, 1000.0), true);
    let tally = &found.recorder.tallies()[0];
    // 100 starts are due in 100 ms; a start every 3 ms is made, the 34th ends too late.
    let missed = found.outcome.unwrap();
    assert_eq!((tally.committed, tally.in_flight, missed), (33, 1, 66));
}

#[test]
fn errors_keep_their_code_and_one_example() {
    let mut recorder = Recorder::new(2, false, Course::new(2), None);
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

/// Starts at 0, 10 and 20 ms, and never again.
struct Three(u64);

impl Pacer for Three {
    fn next_turn(&mut self, _before: Option<Ended>) -> Option<Turn> {
        self.0 += 1;
        (self.0 <= 3).then(|| Turn { seat: 0, due: Some((self.0 - 1) * 10 * MS) })
    }
}

#[test]
fn a_pacer_that_has_no_next_turn_ends_its_client() {
    let found = Trial::new(MS, Shape::Single).paced(&mut Three(0), true);
    let tally = &found.recorder.tallies()[0];
    assert_eq!((tally.committed, tally.last_end, found.outcome.unwrap()), (3, 21 * MS, 0));
}
