//! Several groups in one load stage: who makes load at the same time, and when each of them ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dsbench_core::clock::Monotonic;
use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Prepare, Session, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::generator::Conduct;
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::placement::Placement;
use dsbench_core::stage::{Counted, Whose};
use dsbench_core::threads::{Cycle, CycleOutcome, Group, LoadPlan, Pacing, Until, CONNECTING, GIVE_UP_S};
use dsbench_core::value::{Rows, Table, Value};
use dsbench_core::workload::{Client, ClientId, Condition, Drawn, End, Expected, Shape, Workload};
use dsbench_engines::mock::{Mock, Script};

const MS: u64 = 1_000_000;

/// Two kinds, one for each role; a transaction of role 1 works on 100 rows.
struct Shelf;

struct Worker {
    who: ClientId,
    seed: u64,
}

impl Client for Worker {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        conn.prepare(&Statement { sql: "work", params: &[], columns: &[] }, when).map(|_| ())
    }

    fn draw(&mut self, _number: u64) -> Drawn {
        Drawn { kind: self.who.role, shape: Shape::Single }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        conn.execute(StatementId(0), &[]).map(|_| End::Commit)
    }

    fn rows(&self) -> u64 {
        100 * u64::from(self.who.role)
    }

    fn sums(&self) -> Vec<(&'static str, i64)> {
        vec![("seeds", (self.seed % 1000) as i64), ("clients", self.who.clients as i64)]
    }

    fn describe(&self) -> String {
        String::new()
    }
}

impl Workload for Shelf {
    fn kinds(&self) -> &'static [&'static str] {
        &["query", "insert"]
    }

    fn create(&self, _conn: &mut dyn Connection) -> Result<()> {
        Ok(())
    }

    fn check(&self, _conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        Ok(Vec::new())
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(Worker { who, seed })
    }
}

pub fn group(name: &str, role: u8, threads: usize, pacing: Pacing, until: Until) -> Group {
    let conduct = Conduct {
        session: Session { isolation: Isolation::RepeatableRead, in_place: false },
        prepare: Prepare::Once,
        connections: 1,
        tries: 1,
        reconnect: false,
        patience: 0,
        pause: LONGEST_PAUSE,
        bears: false,
        exit_on_abort: false,
    };
    Group { name: name.into(), role, pacing, ..Group::closed(conduct, threads, until) }
}

pub fn plan(groups: Vec<Group>) -> LoadPlan {
    let engine: Arc<dyn Engine> = Arc::new(Mock::new(Script { latency_ns: MS / 10, ..Script::default() }));
    LoadPlan {
        engine,
        reading: None,
        workload: Arc::new(Shelf),
        groups,
        carriers: 0,
        placement: Placement::Free,
        ramp_up: 0,
        seed: 7,
        trace: None,
        statements: false,
        pauses: false,
        give_up_s: GIVE_UP_S,
    }
}

fn run(groups: Vec<Group>) -> CycleOutcome {
    of_plan(&plan(groups))
}

fn of_plan(plan: &LoadPlan) -> CycleOutcome {
    let threads: usize = plan.groups.iter().map(|group| group.threads).sum();
    let cycle = Cycle::spawn(plan).unwrap();
    while cycle.ready() < threads {
        std::thread::yield_now();
    }
    cycle.start(Monotonic.now() + MS);
    let outcome = cycle.join().unwrap();
    assert_eq!(outcome.failure, None);
    outcome
}

/// (committed, rows, last end, missed) of a group.
fn of_group(outcome: &CycleOutcome, number: usize) -> (u64, u64, u64, u64) {
    let clients = || outcome.clients.iter().filter(|client| client.group == number);
    let tallies = || clients().flat_map(|client| client.recorder.tallies());
    (
        tallies().map(|tally| tally.committed).sum(),
        tallies().map(|tally| tally.rows).sum(),
        tallies().map(|tally| tally.last_end).max().unwrap(),
        clients().map(|client| client.missed).sum(),
    )
}

/// Counts those that connect at the same time.
#[derive(Debug)]
struct Door {
    behind: Mock,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Engine for Door {
    fn dialect(&self) -> &'static Dialect {
        self.behind.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let connection = self.behind.connect(session);
        self.now.fetch_sub(1, Ordering::SeqCst);
        connection
    }

    fn place(&self) -> &dyn Place {
        self.behind.place()
    }
}

#[test]
fn many_clients_connect_some_at_a_time() {
    let behind = Mock::new(Script { connect_ns: 3 * MS, ..Script::default() });
    let door = Arc::new(Door { behind, now: AtomicUsize::new(0), most: AtomicUsize::new(0) });
    let clients = vec![
        group("a", 0, 200, Pacing::Closed, Until::Time(20 * MS)),
        group("b", 0, 300, Pacing::Closed, Until::Time(20 * MS)),
    ];
    let outcome = of_plan(&LoadPlan { engine: Arc::clone(&door) as Arc<dyn Engine>, ..plan(clients) });
    assert_eq!(outcome.clients.len(), 500);
    let most = door.most.load(Ordering::SeqCst);
    assert!((2..=CONNECTING).contains(&most), "{most} connected at a time");
}

/// Two servers of a name, which take turns to serve sessions.
#[derive(Debug)]
struct Pair {
    behind: Mock,
    name: &'static str,
    opened: AtomicUsize,
}

impl Pair {
    fn named(name: &'static str) -> Arc<dyn Engine> {
        let behind = Mock::new(Script { latency_ns: MS / 10, ..Script::default() });
        Arc::new(Self { behind, name, opened: AtomicUsize::new(0) })
    }
}

/// A session of the mock at one of the two.
struct At(Box<dyn Connection>, usize);

impl Connection for At {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        self.0.prepare(statement, when)
    }

    fn begin(&mut self) -> Result<()> {
        self.0.begin()
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.0.execute(id, params)
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.0.query(id, params, into)
    }

    fn commit(&mut self) -> Result<()> {
        self.0.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.0.rollback()
    }

    fn in_transaction(&mut self) -> bool {
        self.0.in_transaction()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.0.script(sql)
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.0.fetch(sql)
    }

    fn host(&self) -> usize {
        self.1
    }
}

impl Engine for Pair {
    fn dialect(&self) -> &'static Dialect {
        self.behind.dialect()
    }

    fn hosts(&self) -> Vec<String> {
        ["0", "1"].map(|number| format!("{} {number}", self.name)).into()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let number = self.opened.fetch_add(1, Ordering::SeqCst) % 2;
        Ok(Box::new(At(self.behind.connect(session)?, number)))
    }

    fn place(&self) -> &dyn Place {
        self.behind.place()
    }
}

#[test]
fn each_transaction_counts_for_the_server_that_had_it_and_readers_have_their_own() {
    let each = Until::Count { counted: Counted::Transactions, count: 20, of: Whose::Each };
    for (reads, reconnect) in [(false, false), (true, false), (true, true)] {
        let mut groups = vec![group("write", 0, 2, Pacing::Closed, each), group("read", 0, 2, Pacing::Closed, each)];
        groups[1].reads = reads;
        groups.iter_mut().for_each(|group| group.conduct.reconnect = reconnect);
        let (engine, reading) = (Pair::named("primary"), reads.then(|| Pair::named("standby")));
        let outcome = of_plan(&LoadPlan { engine, reading, ..plan(groups) });
        let own = if reads { 2 } else { 0 };
        let hosts = ["primary 0", "primary 1", "standby 0", "standby 1"];
        assert_eq!(outcome.hosts, hosts[..2 + own]);
        for number in 0..2 {
            let mut served = vec![0; outcome.hosts.len()];
            for client in outcome.clients.iter().filter(|client| client.group == number) {
                served.iter_mut().zip(client.recorder.served()).for_each(|(sum, one)| *sum += one);
            }
            assert_eq!(served.iter().sum::<u64>(), of_group(&outcome, number).0);
            let mine = &served[own * number..][..2];
            assert!(!reads || mine.iter().all(|commits| *commits > 0), "{served:?}");
            assert_eq!(mine.iter().sum::<u64>(), served.iter().sum(), "{served:?}");
        }
    }
}

#[test]
fn clients_whose_transactions_end_soon_are_not_ended_by_force() {
    let engine: Arc<dyn Engine> = Arc::new(Mock::new(Script { latency_ns: 20 * MS, ..Script::default() }));
    let clients = vec![group("all", 0, 20, Pacing::Closed, Until::Time(60_000 * MS))];
    let cycle = Cycle::spawn(&LoadPlan { engine, ..plan(clients) }).unwrap();
    while cycle.ready() < 20 {
        std::thread::yield_now();
    }
    cycle.start(Monotonic.now() + MS);
    while cycle.totals().0 < 20 {
        std::thread::yield_now();
    }
    cycle.abandon(None);
    let outcome = cycle.join().unwrap();
    assert_eq!(outcome.failure, None);
    let tallies = || outcome.clients.iter().flat_map(|client| client.recorder.tallies());
    assert_eq!(tallies().map(|tally| tally.failed + tally.unknown).sum::<u64>(), 0);
}

#[test]
fn groups_run_at_the_same_time_and_those_that_follow_end_with_their_leader() {
    let outcome = run(vec![
        group("query", 0, 3, Pacing::Closed, Until::Group(1)),
        group(
            "insert",
            1,
            2,
            Pacing::Constant(200.0, Whose::Each),
            Until::Count { counted: Counted::Rows, count: 4000, of: Whose::Each },
        ),
        group("paced", 0, 1, Pacing::Constant(100.0, Whose::All), Until::Group(1)),
    ]);
    let (queries, no_rows, queried_until, _) = of_group(&outcome, 0);
    let (inserts, rows, inserted_until, missed) = of_group(&outcome, 1);
    let (paced, _, paced_until, _) = of_group(&outcome, 2);
    assert_eq!((inserts, rows, missed, no_rows), (80, 8000, 0, 0));
    // 40 starts of each client at 200 a second: the last is due after 195 ms or more.
    assert!(inserted_until >= 195 * MS, "{inserted_until}");
    // What followers ended after their leader's end does not count. It may wait for a CPU before it says so.
    let slack = 5_000 * MS;
    assert!(queries > 0 && paced > 0 && paced <= 2 + paced_until / (10 * MS), "{queries} {paced}");
    assert!(queried_until <= inserted_until + slack && paced_until <= inserted_until + slack);
    let whole =
        |number| outcome.seconds.iter().filter(|(group, _)| *group == number).map(|(_, s)| s.count).sum::<u64>();
    assert_eq!([whole(0), whole(1), whole(2)], [queries, inserts, paced]);
    let open: Vec<bool> =
        outcome.clients.iter().map(|client| client.recorder.tallies()[0].response.is_some()).collect();
    assert_eq!(open, [false, false, false, true, true, true]);
    let seeds: Vec<i64> = outcome.clients.iter().map(|client| client.sums[0].1).collect();
    assert!(seeds[0] == 7 && seeds[0] == seeds[2] && seeds[3] != 7, "groups draw other inputs: {seeds:?}");
    let clients: Vec<i64> = outcome.clients.iter().map(|client| client.sums[1].1).collect();
    assert_eq!(clients, [3, 3, 3, 2, 2, 1], "each group numbers its clients for itself");
}

#[test]
fn who_follows_a_group_that_ends_by_time_counts_no_longer_than_it() {
    let slow: Arc<dyn Engine> = Arc::new(Mock::new(Script { latency_ns: 80 * MS, ..Script::default() }));
    let groups = vec![
        group("query", 0, 1, Pacing::Closed, Until::Time(100 * MS)),
        group("insert", 1, 2, Pacing::Constant(20.0, Whose::All), Until::Group(0)),
    ];
    // The last query ends at 160 ms, the second insert, due after 50 ms, at 130 ms.
    let outcome = of_plan(&LoadPlan { engine: slow, ..plan(groups) });
    let (inserts, _, inserted_until, _) = of_group(&outcome, 1);
    assert!(inserts <= 1 && inserted_until <= 100 * MS, "{inserts} {inserted_until}");
}

#[test]
fn a_count_of_all_clients_is_met_exactly() {
    let until = Until::Count { counted: Counted::Transactions, count: 1536, of: Whose::All };
    let outcome = run(vec![group("streams", 0, 8, Pacing::Closed, until)]);
    assert_eq!(of_group(&outcome, 0).0, 1536);
    assert_eq!(outcome.seconds.iter().map(|(_, second)| second.count).sum::<u64>(), 1536);
}

#[test]
fn a_stage_that_cannot_end_is_refused() {
    let leaderless = [
        vec![group("a", 0, 1, Pacing::Closed, Until::Group(0))],
        vec![group("a", 0, 1, Pacing::Closed, Until::Group(1)), group("b", 0, 1, Pacing::Closed, Until::Group(0))],
    ];
    for groups in leaderless {
        let error = Cycle::spawn(&plan(groups)).err().unwrap();
        assert!(format!("{error:#}").contains("has no end to itself"), "{error}");
    }
    let counted = Until::Count { counted: Counted::Rows, count: 1, of: Whose::All };
    let plan = LoadPlan { ramp_up: MS, ..plan(vec![group("a", 1, 1, Pacing::Closed, counted)]) };
    assert!(Cycle::spawn(&plan).err().unwrap().to_string().contains("--ramp-up"));
}
