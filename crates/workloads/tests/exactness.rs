//! A run of any length counts every transaction, allocates nothing for it and does not grow.

#[path = "../../engines/tests/common/counting.rs"]
mod counting;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsbench_core::board::Board;
use dsbench_core::clock::{Clock, FakeClock, Monotonic, Nanos};
use dsbench_core::engine::{Engine, Isolation, Prepare, Session};
use dsbench_core::error::ErrorKind;
use dsbench_core::generator::{Conduct, Runner};
use dsbench_core::limit::Limit;
use dsbench_core::pacer::ClosedLoop;
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::placement::Placement;
use dsbench_core::recorder::Recorder;
use dsbench_core::seats::Seat;
use dsbench_core::threads::{Cycle, Group, LoadPlan, Until, GIVE_UP_S};
use dsbench_core::workload::{ClientId, Workload};
use dsbench_engines::mock::{Action, Mock, Script, When};
use dsbench_workloads::{open, Call, Options, Settings};

use counting::allocations;

/// One test at a time: the size of the process is everybody's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn workload(name: &str, mock: &Mock) -> Box<dyn Workload> {
    open(
        name,
        &Options {
            scale: 10,
            dialect: mock.dialect(),
            call: Call::Statements,
            clients: 1,
            settings: Settings::default(),
        },
    )
    .unwrap()
}

fn conduct() -> Conduct {
    Conduct {
        session: Session { isolation: Isolation::RepeatableRead, in_place: false },
        prepare: Prepare::Once,
        connections: 3,
        tries: 0,
        reconnect: false,
        patience: 0,
        pause: LONGEST_PAUSE,
        bears: false,
        exit_on_abort: false,
    }
}

/// Runs `name` on a fake clock that every call moves on by `latency_ns`, from the start of a cycle of
/// `duration` to its end, and gives what `watched` says about that and the recorder.
fn run<T>(
    name: &str,
    script: Script,
    duration: Nanos,
    warm_up: bool,
    watched: impl FnOnce(&mut dyn FnMut()) -> T,
) -> (T, Recorder) {
    let clock = Arc::new(FakeClock::default());
    let mock = Mock::on_clock(script, Arc::clone(&clock));
    let mut client = workload(name, &mock).client(ClientId::alone(0), 7);
    let (conduct, stop) = (conduct(), AtomicBool::new(false));
    let mut recorder = Recorder::new(1, Board::new(1, true, 0), None);
    let seats = vec![Seat::new(client.as_mut(), 0)];
    let mut runner = Runner::connect(&conduct, &mock, seats, clock.as_ref(), &stop, &()).unwrap();
    let limit = |start| {
        let limit = Limit::new(Until::Time(duration), 1);
        limit.begin(start);
        limit
    };
    if warm_up {
        let limit = limit(clock.now());
        let mut unused = Recorder::new(1, Board::new(1, true, 0), None);
        runner.run(clock.now(), 0, &limit, &mut ClosedLoop, &mut unused).unwrap();
    }
    let said = watched(&mut || {
        runner.run(clock.now(), 0, &limit(clock.now()), &mut ClosedLoop, &mut recorder).unwrap();
    });
    (said, recorder)
}

#[test]
fn a_transaction_allocates_nothing_nor_does_one_that_fails() {
    let _alone = alone();
    for (name, calls) in [("select", 1), ("tpcb", 7), ("insert", 1), ("scripted", 7)] {
        let collide = (When::Every(7), Action::Fail(ErrorKind::Serialization));
        let script = Script { latency_ns: 100, events: vec![collide], ..Script::default() };
        let (count, recorder) = run(name, script, 10_000_000, true, |go| allocations(go));
        let tally = &recorder.tallies()[0];
        assert_eq!(count, 0, "{name}");
        let (committed, failed) = (tally.committed, tally.failed);
        assert!(committed > 20_000 / calls && failed > 1000, "{name}: {committed}, {failed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ten_million_transactions_take_no_memory() {
    let _alone = alone();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    // 100 ns each for 1 s: the last one ends exactly at the deadline and counts.
    let script = Script { latency_ns: 100, ..Script::default() };
    let (grown, recorder) = run("select", script, 1_000_000_000, false, |go| {
        let before = resident();
        go();
        resident().saturating_sub(before)
    });
    assert_eq!(recorder.tallies()[0].committed, 10_000_000);
    assert!(grown < 5 << 20, "{grown} bytes");
}

#[test]
fn what_64_threads_count_is_what_the_database_holds() {
    let _alone = alone();
    let mock = Mock::new(Script::default());
    let plan = LoadPlan {
        engine: Arc::new(mock.clone()),
        reading: None,
        workload: workload("tpcb", &mock).into(),
        groups: vec![Group::closed(conduct(), 64, Until::Time(300_000_000))],
        carriers: 0,
        placement: Placement::Free,
        ramp_up: 0,
        seed: 5,
        trace: None,
        statements: false,
        pauses: false,
        give_up_s: GIVE_UP_S,
    };
    let cycle = Cycle::spawn(&plan).unwrap();
    while cycle.ready() < 64 {
        std::thread::yield_now();
    }
    cycle.start(Monotonic.now() + 10_000_000);
    let outcome = cycle.join().unwrap();
    let tallies = || outcome.clients.iter().map(|client| &client.recorder.tallies()[0]);
    let committed: u64 = tallies().map(|tally| tally.committed).sum();
    let late: u64 = tallies().map(|tally| tally.commits_after_window).sum();
    assert!(outcome.failure.is_none() && committed > 0);
    assert_eq!(committed + late, mock.counts().transactions());
    assert_eq!(committed, outcome.seconds.iter().map(|(_, second)| second.count).sum::<u64>());
    assert_eq!(committed, tallies().map(|tally| tally.residence.count()).sum::<u64>());
}
