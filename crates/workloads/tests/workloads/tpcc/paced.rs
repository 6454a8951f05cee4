//! People at terminals: TPC-C's own, and faster ones on a database.

use std::sync::Arc;

use dsbench_core::clock::Nanos;
use dsbench_core::engine::{Connection, Engine};
use dsbench_core::error::Result;
use dsbench_core::pacer::{Ended, Pacer};
use dsbench_core::terminals::Terminals;
use dsbench_core::threads::Pacing;
use dsbench_core::workload::{
    Client, ClientId, Condition, Expected, KindId, Pace, Part, Population, Progress, Workload,
};
use dsbench_workloads::Call;

use super::small;
use crate::bed::{broken, build, cycle_of, open, open_with, Load};

/// A workload whose people are this many times as fast.
struct Faster(Box<dyn Workload>, Nanos);

impl Workload for Faster {
    fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    fn pace(&self, kind: KindId) -> Option<Pace> {
        let pace = self.0.pace(kind)?;
        Some(Pace { keying: pace.keying / self.1, mean_think: pace.mean_think / self.1, ..pace })
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.0.create(conn)
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        self.0.populate(conn, how, part, progress)
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.0.primary_keys(conn, progress)
    }

    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.0.foreign_keys(conn, progress)
    }

    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.0.clean(conn, progress)
    }

    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        self.0.check(conn, expected)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        self.0.client(who, seed)
    }
}

/// Ten terminals of one warehouse, served by one thread on two connections in turn: all kinds are
/// committed, each terminal counts for itself, and the database is what they say.
pub fn terminals_share_a_thread(engine: Arc<dyn Engine>, call: Call) {
    // Some 100 transactions a second.
    let workload: Arc<dyn Workload> = Arc::new(Faster(small(&*engine, call, 1, &[]), 200));
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let load = Load {
        threads: 1,
        connections: 2,
        pacing: Pacing::Terminals(10),
        ramp_up: 500_000_000,
        duration: 3_000_000_000,
    };
    let (outcome, expected) = cycle_of(engine, Arc::clone(&workload), load);
    let thread = &outcome.clients[0];
    assert_eq!(outcome.clients.len(), 1);
    let each: Vec<i64> = thread.sums.iter().filter(|(name, _)| *name == "new_orders").map(|(_, sum)| *sum).collect();
    assert!(each.len() == 10 && each.iter().all(|orders| *orders > 0), "{each:?}");
    let tallies = thread.recorder.tallies();
    assert!(tallies.iter().all(|tally| tally.committed > 0 && tally.failed == 0), "{tallies:?}");
    assert!(tallies.iter().map(|tally| tally.commits_before_window).sum::<u64>() > 0, "{tallies:?}");
    assert_eq!(broken(&*workload, &mut *conn, &expected), Vec::<String>::new(), "{expected:?}");
}

/// New-Orders in `seconds` of `terminals` of which nobody ever waits, without a database.
fn new_orders(workload: &dyn Workload, terminals: u64, seconds: Nanos) -> u64 {
    let mut pacer = Terminals::new(workload, 7).unwrap();
    let mut clients: Vec<_> = (0..terminals).map(|id| workload.client(ClientId::alone(id), 7)).collect();
    let mut numbers: Vec<u64> =
        clients.iter_mut().zip(0..).map(|(client, id)| pacer.enter(id, &mut **client)).collect();
    let (mut orders, mut turn, end) = (0, pacer.next_turn(None), seconds * 1_000_000_000);
    while let Some((seat, at)) = turn.and_then(|turn| Some((turn.seat, turn.due?))).filter(|(_, at)| *at < end) {
        let (client, number) = (&mut clients[seat], &mut numbers[seat]);
        let kind = client.draw(*number).kind;
        *number += 1;
        orders += u64::from(kind == 0);
        turn = pacer.next_turn(Some(Ended { seat, kind, next: client.draw(*number).kind, due: at, at }));
    }
    orders
}

/// Two hours of a hundred terminals, against 60 T n0 / sum of n_k (keying_k + think_k) worked out by hand:
/// a deck of 23 takes 476 s and has ten New-Orders, one of 100 takes 2099 s and has 45.
pub fn terminals_enter_as_many_as_their_times_allow(engine: &dyn Engine) {
    let standard = open(engine, "tpcc", Call::Statements, 10);
    let specified = open_with(engine, "tpcc", Call::Statements, 10, &[("mix", "45,43,4,4,4")]);
    for (workload, deck_s, cards) in [(standard, 476.0, 10.0), (specified, 2099.0, 45.0)] {
        let (found, expected) = (new_orders(&*workload, 100, 7200) as f64, 7200.0 * 100.0 * cards / deck_s);
        // Keying does not scatter, so that the count does less than a Poisson count.
        assert!((found - expected).abs() < 3.0 * expected.sqrt(), "{found} of {expected}");
    }
}
