//! What is kept of a transaction. Recording allocates nothing and takes no lock.

use std::sync::Arc;

use crate::board::Board;
use crate::clock::Nanos;
use crate::course::{Coarse, Lasting, SECOND};
use crate::engine::Messages;
use crate::error::{Code, Error, ErrorKind};
use crate::histogram::Span;
use crate::pauses::{Pause, Pauses};
use crate::trace::{Trace, TraceRecord};
use crate::workload::{KindId, StatementTime};

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back on purpose: done, not failed.
    RolledBack,
    /// Failed and given up.
    Failed,
    /// The connection was lost in commit, so that the end is unknown.
    Unknown,
}

/// One transaction. Times are points on the clock.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Kind of the transaction.
    pub kind: KindId,
    /// When it should have started; equals `started` in the closed loop.
    pub intended: Nanos,
    /// Start of the first attempt.
    pub started: Nanos,
    /// End of the last attempt.
    pub ended: Nanos,
    /// Of `failed`, those after which the transaction was tried again.
    pub retries: u32,
    /// Rows that it worked on, as the workload counts them.
    pub rows: u64,
    /// What all its attempts exchanged with the server.
    pub messages: Messages,
    /// How it ended.
    pub outcome: Outcome,
}

/// Counters of one kind. Times in ns; their histograms are on the [`Board`] of the thread. What a committed transaction
/// changes comes first, in two lines of the cache.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Tally {
    /// M_inj: committed, and ended within the demanded duration.
    pub committed: u64,
    /// Rows that these worked on, as the workload counts them.
    pub rows: u64,
    /// Exchanged with the server by the transactions that ended within the duration, failed ones included.
    pub messages: Messages,
    /// Residence times r_injm of the counted: first attempt's start to the end.
    pub residence: Span,
    /// End of the last counted transaction, from the cycle's start.
    pub last_end: Nanos,
    /// Start of the first counted transaction, from the cycle's start.
    pub first_start: Option<Nanos>,
    /// Response times of the counted, from the intended start; kept in the open loop only.
    pub response: Option<Span>,
    /// Rolled back on purpose within the duration.
    pub rolled_back: u64,
    /// E_inj: attempts that failed within the duration, those retried later included.
    pub failed: u64,
    /// Of `failed`, those after which the transaction was tried again.
    pub retries: u64,
    /// Connection lost in commit.
    pub unknown: u64,
    /// Transactions that ended after the duration, whatever their outcome: not counted elsewhere.
    pub in_flight: u64,
    /// Those of `in_flight` that were committed, so that the database holds them.
    pub commits_after_window: u64,
    /// Committed before the duration began, in the ramp-up: not counted elsewhere, but in the database.
    pub commits_before_window: u64,
    /// Times of the transactions that ended within the duration and did not succeed.
    pub failed_ns: u64,
    /// Of `residence` and `failed_ns`: what lies before the duration, and what was spent opening connections.
    apart_ns: u64,
    /// Time within the duration of those in flight, without that of `connecting_ns`.
    pub in_flight_ns: u64,
    /// Whole time of the longest one in flight, from its intended start to its end.
    pub in_flight_max: Nanos,
    /// Time within the duration in which its transactions opened connections.
    pub connecting_ns: u64,
}

impl Tally {
    /// Time within the duration of the transactions that ended in it, without that of `connecting_ns`.
    pub fn ended_ns(&self) -> u64 {
        self.residence.sum() + self.failed_ns - self.apart_ns
    }
}

/// Failed attempts of one class: kind of transaction, kind of error and native code.
#[derive(Debug, Clone)]
pub struct ErrorClass {
    /// What failed.
    pub transaction: KindId,
    /// dsbench's kind.
    pub kind: ErrorKind,
    /// The engine's own code.
    pub code: Code,
    /// Failed attempts within the duration.
    pub count: u64,
    /// The first message of the class, where there was one.
    pub example: Option<Box<str>>,
}

/// Classes of a client at most, and those for which it has room from the start: the first error of each is kept with its
/// words, which allocates.
const CLASSES: usize = 64;
const CLASSES_AT_FIRST: usize = 4;

/// Records the transactions of one client in one cycle.
#[derive(Debug)]
pub struct Recorder {
    start: Nanos,
    end: Nanos,
    tallies: Vec<Tally>,
    classes: Vec<ErrorClass>,
    board: Arc<Board>,
    /// Those of the carriers between which the client may move.
    boards: Arc<[Arc<Board>]>,
    trace: Option<Trace>,
    /// Whether the course has response times.
    responds: bool,
    ledger: Ledger,
    pauses: Pauses,
    /// Commits within the duration by host, where there are several.
    served: Vec<u64>,
    /// The host that serves the client now.
    host: usize,
}

/// Where the time of a client went that is in no transaction, and how long its transactions took. Each nanosecond of
/// the duration is in a transaction that ended, in one in flight, waiting, connecting, or the loop's own.
#[derive(Debug)]
struct Ledger {
    /// Within the duration, for a turn or with nothing left to do.
    waiting: Nanos,
    /// In which the transaction under way opened connections, within the duration.
    connecting: Nanos,
    /// When the client had ended.
    left: Option<Nanos>,
    /// Times of the transactions that were counted or in flight, by coarse bucket.
    times: Coarse,
    /// Transactions that lasted longer than a second.
    lasting: Vec<Lasting>,
}

/// Lasting transactions of a client for which it has room from the start: more of them have taken many seconds.
const LASTING_AT_FIRST: usize = 16;

impl Recorder {
    /// For a workload with `kinds` kinds and a client that begins on the thread that has `board`.
    pub fn new(kinds: usize, board: Arc<Board>, trace: Option<Trace>) -> Self {
        let tally = || Tally { response: board.is_open().then(Span::default), ..Tally::default() };
        let tallies = (0..kinds).map(|_| tally()).collect();
        let (classes, boards) = (Vec::with_capacity(CLASSES_AT_FIRST), Arc::default());
        let (times, lasting) = (Coarse::default(), Vec::with_capacity(LASTING_AT_FIRST));
        let ledger = Ledger { waiting: 0, connecting: 0, left: None, times, lasting };
        let pauses = Pauses::new(false);
        let (responds, served) = (false, Vec::new());
        Self { start: 0, end: 0, tallies, classes, board, boards, trace, responds, ledger, pauses, served, host: 0 }
    }

    /// The same; where `responds` the seconds of its course have response times, from the intended start.
    pub fn responding(self, responds: bool) -> Self {
        Self { responds, ..self }
    }

    /// The same; the longest times between two transactions that were done are `kept`, or not.
    pub fn pausing(self, kept: bool) -> Self {
        Self { pauses: Pauses::new(kept), ..self }
    }

    /// The same, of a client whose sessions may be of so many hosts.
    pub fn served_by(self, hosts: usize) -> Self {
        Self { served: vec![0; hosts], ..self }
    }

    /// Which host serves the transactions that follow.
    #[inline]
    pub fn at_host(&mut self, host: usize) {
        self.host = host;
    }

    /// Committed transactions of each host within the window; empty where there is no choice.
    pub fn served(&self) -> &[u64] {
        &self.served
    }

    /// The same, of a client that may move between carriers with these boards.
    pub fn moving(self, boards: &Arc<[Arc<Board>]>) -> Self {
        Self { boards: Arc::clone(boards), ..self }
    }

    /// The client goes on at this carrier.
    pub fn go_on_at(&mut self, berth: usize) {
        if let Some(board) = self.boards.get(berth) {
            self.board = Arc::clone(board);
        }
    }

    /// Whether it keeps times of statements.
    #[inline]
    pub fn times_statements(&self) -> bool {
        !self.board.statements().is_empty()
    }

    /// Records the statements of an attempt that ended at `at`; `again`: it failed, and another one follows.
    pub fn statements(&mut self, timed: &[StatementTime], at: Nanos, again: bool) {
        if at < self.start || at > self.end {
            return;
        }
        for one in timed {
            if let Some(tally) = self.board.statements().get(usize::from(one.statement)) {
                tally.record(one.failed, again, one.took);
            }
        }
    }

    /// Sets the interval in which transactions count: `[start, end]`.
    pub fn window(&mut self, start: Nanos, end: Nanos) {
        (self.start, self.end) = (start, end);
        self.pauses.begin(start);
    }

    /// Moves the end of that interval, which was not known before.
    #[inline]
    pub fn ends(&mut self, end: Nanos) {
        self.end = end;
    }

    /// What of the time between `from` and `to` lies within the window.
    #[inline]
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        to.min(self.end).saturating_sub(from.max(self.start))
    }

    /// The client waited for a turn.
    #[inline]
    pub fn waited(&mut self, from: Nanos, to: Nanos) {
        self.ledger.waiting += self.within(from, to);
    }

    /// A connection was opened, or tried to be, in the transaction of `kind` that is under way.
    #[inline]
    pub fn connected(&mut self, kind: KindId, from: Nanos, to: Nanos) {
        let within = self.within(from, to);
        self.ledger.connecting += within;
        self.tallies[usize::from(kind)].connecting_ns += within;
    }

    /// The client ended at `at`, and waits for the others.
    pub fn left(&mut self, at: Nanos) {
        self.ledger.left = Some(at);
        self.pauses.end();
    }

    /// When the client ended.
    pub fn left_at(&self) -> Option<Nanos> {
        self.ledger.left
    }

    /// The window ended at `end`, now that it is known for all.
    pub fn close(&mut self, end: Nanos) {
        self.end = end;
        if let Some(left) = self.ledger.left {
            self.waited(left, end);
        }
    }

    /// Length of the window.
    pub fn span(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// Time within the window in which the client waited for a turn, or had nothing left to do.
    pub fn waiting(&self) -> Nanos {
        self.ledger.waiting
    }

    /// 99% quantile of the times of its transactions, those in flight included, within 3%; 0 without any.
    pub fn p99(&self) -> Nanos {
        self.ledger.times.quantile(0.99)
    }

    /// Transactions that lasted longer than a second, within the window or in flight at its end.
    pub fn lasting(&self) -> &[Lasting] {
        &self.ledger.lasting
    }

    /// Its longest times between two transactions that were done, from the start of the window.
    pub fn pauses(&self) -> impl Iterator<Item = Pause> + '_ {
        let since = |at: Nanos| at.saturating_sub(self.start);
        let found = self.pauses.found().iter();
        found.map(move |one| Pause { from: since(one.from), wanted: one.wanted.map(since), to: one.to.map(since) })
    }

    /// Records how a transaction ended. A transaction that ended after the window is in flight.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        let connecting = std::mem::take(&mut self.ledger.connecting);
        let within = self.within(sample.started, sample.ended).saturating_sub(connecting);
        let tally = &mut self.tallies[usize::from(sample.kind)];
        if sample.outcome == Outcome::Unknown {
            tally.unknown += 1;
        }
        if sample.ended < self.start {
            tally.commits_before_window += u64::from(sample.outcome == Outcome::Committed);
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.push(TraceRecord::of(sample, self.start));
        }
        let residence = sample.ended - sample.started;
        if residence > SECOND {
            self.ledger.lasting.push(Lasting { kind: sample.kind, from: sample.started, to: sample.ended });
        }
        match sample.outcome {
            Outcome::Committed | Outcome::RolledBack => self.pauses.done(sample.intended, sample.ended),
            Outcome::Failed | Outcome::Unknown => self.pauses.failed(sample.intended),
        }
        if sample.ended > self.end {
            tally.in_flight += 1;
            tally.commits_after_window += u64::from(sample.outcome == Outcome::Committed);
            tally.in_flight_ns += within;
            tally.in_flight_max = tally.in_flight_max.max(sample.ended - sample.intended);
            self.ledger.times.record(residence);
            return;
        }
        tally.apart_ns += residence - within;
        tally.messages.sent += sample.messages.sent;
        tally.messages.received += sample.messages.received;
        match sample.outcome {
            Outcome::Committed => {
                tally.committed += 1;
                tally.rows += sample.rows;
                if let Some(commits) = self.served.get_mut(self.host) {
                    *commits += 1;
                }
            }
            Outcome::RolledBack => tally.rolled_back += 1,
            Outcome::Failed | Outcome::Unknown => {
                tally.failed_ns += residence;
                self.board.failed(usize::from(sample.kind)).record(residence);
                return;
            }
        }
        self.ledger.times.record(residence);
        // After a ramp-up the first ones have started before the duration.
        tally.first_start.get_or_insert(sample.started.saturating_sub(self.start));
        let ended = sample.ended - self.start;
        tally.last_end = ended;
        let kind = usize::from(sample.kind);
        tally.residence.record(residence);
        self.board.residence(kind).record(residence);
        let response = sample.ended - sample.intended;
        if let (Some(histogram), Some(span)) = (self.board.response(kind), &mut tally.response) {
            span.record(response);
            histogram.record(response);
        }
        // An end exactly at the deadline belongs to the last second.
        let committed = sample.outcome == Outcome::Committed;
        let shown = if self.responds { response } else { residence };
        self.board.course.ended(sample.kind, ended.min(self.end - self.start - 1), shown, committed);
    }

    /// Records an attempt that failed at `at`, whether it will be retried or not.
    pub fn attempt_failed(&mut self, kind: KindId, error: &Error, at: Nanos) {
        if at < self.start || at > self.end {
            return;
        }
        self.tallies[usize::from(kind)].failed += 1;
        self.board.course.failed(kind, at.min(self.end - 1) - self.start);
        let full = self.classes.len() >= CLASSES;
        let same = |class: &&mut ErrorClass| {
            (class.transaction, class.kind) == (kind, error.kind) && (full || class.code == error.code)
        };
        let known = self.classes.iter_mut().find(same);
        match known {
            Some(class) => class.count += 1,
            // The table holds 64 classes; beyond, an error joins the first one of its kinds.
            None => self.classes.push(ErrorClass {
                transaction: kind,
                kind: error.kind,
                code: error.code,
                count: 1,
                example: error.message.clone(),
            }),
        }
    }

    /// Records that an attempt that failed at `at` is repeated: in the same window as the failure itself.
    #[inline]
    pub fn retried(&mut self, kind: KindId, at: Nanos) {
        if at >= self.start && at <= self.end {
            self.tallies[usize::from(kind)].retries += 1;
        }
    }

    /// The counters of each kind.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Failed attempts by class.
    pub fn classes(&self) -> &[ErrorClass] {
        &self.classes
    }

    /// Where its times are kept.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Hands over what is left of the trace.
    pub fn finish(&mut self) {
        if let Some(trace) = self.trace.take() {
            trace.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_of_a_load_that_changes_has_response_times() {
        for (responds, expected) in [(false, 1_000_000), (true, 31_000_000)] {
            let board = Board::new(1, true, 0);
            let mut recorder = Recorder::new(1, Arc::clone(&board), None).responding(responds);
            recorder.window(0, 1_000_000_000);
            let (intended, started, ended) = (10_000_000, 40_000_000, 41_000_000);
            let (retries, rows, messages) = (0, 0, Messages::default());
            let outcome = Outcome::Committed;
            recorder.record(&Sample { kind: 0, intended, started, ended, retries, rows, messages, outcome });
            let second = crate::course::collect([&board.course], 0, 0).second(0, 0);
            assert_eq!((second.count, second.max_ns), (1, expected));
        }
    }

    #[test]
    fn retries_count_in_the_window_of_failures_and_the_first_start_is_that_of_a_counted_transaction() {
        let mut recorder = Recorder::new(1, Board::new(1, false, 0), None);
        recorder.window(1000, 2000);
        for at in [500, 1500, 2500] {
            recorder.attempt_failed(0, &Error::new(ErrorKind::Deadlock, "commit"), at);
            recorder.retried(0, at);
        }
        let ended = |started, ended, outcome| Sample {
            kind: 0,
            intended: started,
            started,
            ended,
            retries: 2,
            rows: 0,
            messages: Messages { sent: 3, received: 2 },
            outcome,
        };
        recorder.record(&ended(500, 900, Outcome::Committed));
        recorder.record(&ended(1100, 1200, Outcome::Failed));
        recorder.record(&ended(1300, 1600, Outcome::Committed));
        recorder.record(&ended(1700, 2100, Outcome::Committed));
        let tally = &recorder.tallies()[0];
        assert_eq!((tally.failed, tally.retries, tally.first_start), (1, 1, Some(300)));
        assert_eq!(tally.messages, Messages { sent: 6, received: 4 });
    }

    #[test]
    fn every_nanosecond_of_the_window_is_ended_in_flight_waiting_connecting_or_the_loops_own() {
        let board = Board::new(1, false, 0);
        let mut recorder = Recorder::new(1, Arc::clone(&board), None);
        recorder.window(1000, 6000);
        let (retries, rows, messages) = (0, 0, Messages::default());
        let sample = |started, ended, outcome| Sample {
            kind: 0,
            intended: started,
            started,
            ended,
            retries,
            rows,
            messages,
            outcome,
        };
        // 300 of it before the window.
        recorder.record(&sample(700, 1200, Outcome::Committed));
        recorder.waited(1200, 1500);
        // A connection is lost, and opened again from 1600 to 2400.
        recorder.connected(0, 1600, 2400);
        recorder.record(&sample(1500, 2400, Outcome::Unknown));
        // 10 between two transactions are the loop's own.
        recorder.record(&sample(2410, 5000, Outcome::RolledBack));
        // In flight, with a connection that is opened beyond the end.
        recorder.connected(0, 5900, 6100);
        recorder.record(&sample(5000, 9000, Outcome::Committed));
        recorder.left(9000);
        recorder.close(6000);
        let tally = &recorder.tallies()[0];
        assert_eq!((tally.ended_ns(), tally.in_flight_ns), (200 + 100 + 2590, 900));
        assert_eq!((tally.connecting_ns, recorder.waiting(), recorder.span()), (900, 300, 5000));
        assert_eq!((tally.in_flight, tally.in_flight_max, tally.failed_ns), (1, 4000, 900));
        let own = recorder.span() - tally.ended_ns() - tally.in_flight_ns - tally.connecting_ns - recorder.waiting();
        assert_eq!(own, 10);
        assert_eq!((board.failed(0).count(), board.failed(0).max()), (1, 900));
        let p99 = recorder.p99() as f64;
        assert!((p99 / 4000.0 - 1.0).abs() < 0.04, "what is in flight is in it: {p99}");
    }

    #[test]
    fn who_ends_before_the_others_waits_for_them() {
        let mut recorder = Recorder::new(1, Board::new(1, false, 0), None);
        recorder.window(1000, Nanos::MAX);
        recorder.left(4000);
        recorder.close(6000);
        assert_eq!((recorder.waiting(), recorder.span()), (2000, 5000));
    }

    #[test]
    fn what_lasts_is_under_way_in_each_whole_second_of_it() {
        let mut recorder = Recorder::new(1, Board::new(1, false, 0), None);
        let start = 7 * SECOND;
        recorder.window(start, start + 5 * SECOND + SECOND / 2);
        let (started, ended) = (start + 2_600_000_000, start + 7_100_000_000);
        let (intended, retries, rows, messages) = (started, 0, 0, Messages::default());
        recorder.record(&Sample {
            kind: 0,
            intended,
            started,
            ended,
            retries,
            rows,
            messages,
            outcome: Outcome::Committed,
        });
        let seconds = (0..7).map(|number| {
            let mut second = crate::course::Found::default().second(number, 0);
            second.lasted(recorder.lasting(), start, start + 5 * SECOND + SECOND / 2);
            (second.under_way, second.oldest_ns / 1_000_000)
        });
        assert_eq!(seconds.collect::<Vec<_>>(), [(0, 0), (0, 0), (0, 0), (1, 1400), (1, 2400), (1, 2900), (0, 0)]);
    }

    #[test]
    fn a_client_that_moves_counts_on_the_board_of_its_thread() {
        let boards: Arc<[Arc<Board>]> = [Board::new(1, false, 0), Board::new(1, false, 0)].into();
        let mut recorder = Recorder::new(1, Arc::clone(&boards[0]), None).moving(&boards);
        recorder.window(0, 1000);
        let (retries, rows, messages, outcome) = (0, 0, Messages::default(), Outcome::Committed);
        for (ended, berth) in [(100, 1), (250, 1), (300, 0)] {
            let started = ended - 50;
            recorder.record(&Sample { kind: 0, intended: started, started, ended, retries, rows, messages, outcome });
            recorder.go_on_at(berth);
        }
        assert_eq!(boards.iter().map(|board| board.residence(0).count()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((recorder.tallies()[0].residence.count(), recorder.tallies()[0].residence.sum()), (3, 150));
        boards[0].merge(&boards[1]);
        assert_eq!((boards[0].residence(0).count(), boards[0].residence(0).max()), (3, 50));
    }
}
