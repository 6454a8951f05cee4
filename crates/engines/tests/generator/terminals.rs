//! People at terminals against a scripted engine on a fake clock: hours pass at once.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use dsbench_core::board::Board;
use dsbench_core::clock::{Clock, FakeClock, Nanos};
use dsbench_core::engine::{Connection, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::generator::{Conduct, Runner};
use dsbench_core::limit::Limit;
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::random::Stream;
use dsbench_core::recorder::Recorder;
use dsbench_core::seats::Seat;
use dsbench_core::stage::Until;
use dsbench_core::terminals::Terminals;
use dsbench_core::value::{Rows, Type};
use dsbench_core::workload::{Client, ClientId, Condition, Drawn, End, Expected, KindId, Pace, Shape, Workload};
use dsbench_engines::mock::{Mock, Script};

const SECOND: Nanos = 1_000_000_000;
const MINUTE: Nanos = 60 * SECOND;
const NEW_ORDER: usize = 0;
/// Cards in the deck, keying time, mean time to think (TPC-C, clauses 5.2.4 and 5.2.5).
const KINDS: [(usize, Nanos, Nanos); 5] = [(10, 18, 12), (10, 3, 12), (1, 2, 10), (1, 2, 5), (1, 2, 5)];
const DECK: usize = 23;

/// (client, kind, start) of every transaction, in the order in which they were run.
type Log = Arc<Mutex<Vec<(u64, KindId, Nanos)>>>;

/// A workload of five kinds, each a single statement.
struct Shop {
    clock: Arc<FakeClock>,
    log: Log,
}

struct Person {
    id: u64,
    seed: u64,
    kind: KindId,
    work: StatementId,
    clock: Arc<FakeClock>,
    log: Log,
}

impl Client for Person {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        conn.prepare(&Statement { sql: "other", params: &[], columns: &[] }, when)?;
        self.work = conn.prepare(&Statement { sql: "work", params: &[], columns: &[Type::Int32] }, when)?;
        let mut rows = Rows::new();
        conn.query(self.work, &[], &mut rows)?;
        rows.int(0, 0).map(|_| ())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let mut deck: Vec<KindId> =
            KINDS.iter().enumerate().flat_map(|(kind, (cards, ..))| vec![kind as KindId; *cards]).collect();
        let mut stream = Stream::new(self.seed, self.id, number / DECK as u64);
        (1..DECK).rev().for_each(|last| deck.swap(last, stream.below(last as u64 + 1) as usize));
        self.kind = deck[number as usize % DECK];
        Drawn { kind: self.kind, shape: Shape::Single }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        self.log.lock().unwrap().push((self.id, self.kind, self.clock.now()));
        assert_eq!(self.work, StatementId(1), "the number that the first terminal's client was given");
        conn.execute(self.work, &[]).map(|_| End::Commit)
    }

    fn describe(&self) -> String {
        self.kind.to_string()
    }
}

impl Workload for Shop {
    fn kinds(&self) -> &'static [&'static str] {
        &["new_order", "payment", "order_status", "delivery", "stock_level"]
    }

    fn pace(&self, kind: KindId) -> Option<Pace> {
        let (_, keying, think) = KINDS[usize::from(kind)];
        Some(Pace { keying: keying * SECOND, mean_think: think * SECOND, waits: true })
    }

    fn create(&self, _conn: &mut dyn Connection) -> Result<()> {
        Ok(())
    }

    fn check(&self, _conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        Ok(Vec::new())
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        let (clock, log) = (Arc::clone(&self.clock), Arc::clone(&self.log));
        Box::new(Person { id: who.id, seed, kind: 0, work: StatementId(9), clock, log })
    }
}

struct Found {
    missed: u64,
    recorder: Recorder,
    log: Vec<(u64, KindId, Nanos)>,
}

/// One thread with `count` terminals, whose transactions take `latency`.
fn run(count: u64, latency: Nanos, ramp_up: Nanos, duration: Nanos) -> Found {
    let clock = Arc::new(FakeClock::default());
    let mock = Mock::on_clock(Script { latency_ns: latency, ..Script::default() }, Arc::clone(&clock));
    let shop = Shop { clock: Arc::clone(&clock), log: Log::default() };
    let conduct = Conduct {
        session: Session { isolation: Isolation::RepeatableRead, in_place: false },
        prepare: Prepare::Once,
        connections: 3,
        tries: 1,
        reconnect: false,
        patience: 0,
        pause: LONGEST_PAUSE,
        bears: false,
        exit_on_abort: false,
    };
    let mut clients: Vec<_> = (0..count).map(|id| shop.client(ClientId::alone(id), 42)).collect();
    let mut pacer = Terminals::new(&shop, 42).unwrap();
    let seats = clients.iter_mut().enumerate().map(|(id, client)| {
        let first = pacer.enter(id as u64, client.as_mut());
        Seat::new(client.as_mut(), first)
    });
    let seats = seats.collect();
    let stop = AtomicBool::new(false);
    let mut recorder = Recorder::new(5, Board::new(5, true, 0), None);
    let mut runner = Runner::connect(&conduct, &mock, seats, clock.as_ref(), &stop, &()).unwrap();
    let (start, limit) = (clock.now() + ramp_up, Limit::new(Until::Time(duration), 1));
    limit.begin(start);
    let missed = runner.run(start, ramp_up, &limit, &mut pacer, &mut recorder).unwrap();
    drop(runner);
    let counts = mock.counts();
    assert_eq!((counts.connects, counts.prepares), (3, 6), "fifty terminals need no fifty connections");
    let log = std::mem::take(&mut *shop.log.lock().unwrap());
    Found { missed, recorder, log }
}

#[test]
fn ten_terminals_a_warehouse_stay_below_the_ceiling_and_come_near_it() {
    let found = run(50, 0, 0, 600 * MINUTE);
    let orders = |from: Nanos, to: Nanos| {
        found.log.iter().filter(|(_, kind, at)| *kind == 0 && (from..to).contains(at)).count() as f64
    };
    // By the deck: 10 New-Orders in 10·30 + 10·15 + 12 + 7 + 7 = 476 s: 12.605 a minute for ten terminals.
    let per_warehouse = orders(0, 600 * MINUTE) / 600.0 / 5.0;
    assert!((12.54..12.67).contains(&per_warehouse), "{per_warehouse}");
    assert!(per_warehouse < 12.86);
    // From the beginning: 5 · 12.605 · 20 = 1260 in 20 minutes, and no more after an hour.
    for from in [0, 60 * MINUTE] {
        let first = orders(from, from + 20 * MINUTE);
        assert!((1180.0..1340.0).contains(&first), "{first} from {from}");
    }
    assert_eq!(found.missed, 0);
}

#[test]
fn the_mix_is_that_of_the_deck() {
    let found = run(50, 0, 0, 600 * MINUTE);
    for (kind, (cards, ..)) in KINDS.iter().enumerate() {
        let share = found.recorder.tallies()[kind].committed as f64 / found.log.len() as f64;
        let wanted = *cards as f64 / DECK as f64;
        assert!((share / wanted - 1.0).abs() < 0.03, "kind {kind}: {share} for {wanted}");
    }
}

#[test]
fn every_terminal_keys_in_and_thinks_between_its_transactions() {
    let found = run(50, SECOND / 100, 0, 60 * MINUTE);
    let mut last: Vec<Option<(KindId, Nanos)>> = vec![None; 50];
    let mut pairs = 0;
    for (id, kind, at) in found.log {
        if let Some((before, then)) = last[id as usize].replace((kind, at)) {
            let (keying, mean) = (KINDS[usize::from(kind)].1 * SECOND, KINDS[usize::from(before)].2 * SECOND);
            let wait = at - then - SECOND / 100;
            // The thread may be late by the transactions of the other terminals.
            assert!(wait >= keying && wait <= keying + 10 * mean + SECOND / 2, "{id} {before} {kind} {wait}");
            pairs += 1;
        }
    }
    assert!(pairs > 7000, "{pairs}");
}

#[test]
fn the_wait_for_the_thread_is_part_of_the_response_time() {
    // 50 terminals want 2.4 transactions a second of 0.3 s each from one thread: they queue.
    let found = run(50, 3 * SECOND / 10, 0, 60 * MINUTE);
    for tally in found.recorder.tallies() {
        let response = tally.response.as_ref().unwrap();
        assert_eq!((tally.residence.min(), tally.residence.max()), (3 * SECOND / 10, 3 * SECOND / 10));
        assert!(response.max() > 6 * SECOND / 10 && response.sum() > tally.residence.sum());
    }
    // 1 s each is more than there is time for: the starts that were due at the end are missed.
    let overrun = run(50, SECOND, 0, 10 * MINUTE);
    assert!(overrun.missed > 0 && overrun.missed < 50, "{}", overrun.missed);
}

#[test]
fn a_ramp_up_goes_before_the_clock() {
    let found = run(50, 0, 10 * MINUTE, 10 * MINUTE);
    let tallies = found.recorder.tallies();
    let (counted, early) = (
        tallies.iter().map(|tally| tally.committed).sum::<u64>(),
        tallies.iter().map(|tally| tally.commits_before_window).sum::<u64>(),
    );
    assert_eq!(counted + early, found.log.len() as u64);
    assert!((counted as f64 / early as f64 - 1.0).abs() < 0.15, "{counted} {early}");
    assert!(tallies[NEW_ORDER].committed > 0);
}
