//! Cycles that could go on for ever, or end without a word: each ends with an error that says why.

use std::panic::panic_any;
use std::sync::Arc;

use dsbench_core::clock::Monotonic;
use dsbench_core::engine::{Connection, Dialect, Engine, Place, Prepare, Session};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::stage::{Counted, Whose};
use dsbench_core::threads::{Cycle, CycleOutcome, LoadPlan, Pacing, Until};
use dsbench_core::workload::{Client, ClientId, Condition, Drawn, End, Expected, Shape, Workload};
use dsbench_engines::mock::{Action, Mock, Script, When};

use crate::bed::MS;
use crate::groups::{group, plan};

fn run(plan: &LoadPlan) -> CycleOutcome {
    let cycle = Cycle::spawn(plan).unwrap();
    while cycle.ready() < plan.groups.iter().map(|group| group.threads).sum() && !cycle.finished() {
        std::thread::yield_now();
    }
    cycle.start(Monotonic.now() + MS);
    cycle.join().unwrap()
}

/// Each statement waits for a lock, and in vain.
fn locked() -> Arc<dyn Engine> {
    let events = vec![(When::Every(1), Action::Fail(ErrorKind::Conflict))];
    Arc::new(Mock::new(Script { latency_ns: 20 * MS, events, ..Script::default() }))
}

#[test]
fn a_count_that_nothing_brings_nearer_is_given_up() {
    for (tries, counted) in [(0, Counted::Transactions), (3, Counted::Rows), (0, Counted::Attempts)] {
        let until = Until::Count { counted, count: 1000, of: Whose::All };
        let mut all = group("all", 1, 3, Pacing::Closed, until);
        all.conduct.tries = tries;
        let outcome = run(&LoadPlan { engine: locked(), give_up_s: 1, ..plan(vec![all]) });
        let failure = outcome.failure.unwrap();
        let words = failure.to_string();
        assert_eq!(failure.kind, ErrorKind::Conflict, "{words}");
        assert!(words.contains("no transaction succeeded for 1 s, in which "), "{words}");
        assert!(words.contains(" attempts failed, most by: "), "{words}");
        assert_eq!(outcome.clients.len(), 3);
    }
}

#[test]
fn attempts_that_are_counted_end_their_group_though_all_fail() {
    let until = Until::Count { counted: Counted::Attempts, count: 150, of: Whose::All };
    let outcome =
        run(&LoadPlan { engine: locked(), give_up_s: 1, ..plan(vec![group("all", 1, 1, Pacing::Closed, until)]) });
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.clients[0].recorder.tallies()[1].failed, 150);
}

/// What a client does that is defective.
#[derive(Debug, Clone, Copy)]
enum Defect {
    Speaks,
    SaysNothing,
}

struct Defective(Defect);

struct Panics(Defect, u64);

impl Client for Panics {
    fn prepare(&mut self, _conn: &mut dyn Connection, _when: Prepare) -> Result<()> {
        Ok(())
    }

    fn draw(&mut self, _number: u64) -> Drawn {
        Drawn { kind: 0, shape: Shape::Single }
    }

    fn execute(&mut self, _conn: &mut dyn Connection) -> Result<End> {
        match self.0 {
            _ if self.1 != 1 => Ok(End::Commit),
            Defect::Speaks => panic!("on purpose"),
            Defect::SaysNothing => panic_any(7),
        }
    }

    fn describe(&self) -> String {
        String::new()
    }
}

impl Workload for Defective {
    fn kinds(&self) -> &'static [&'static str] {
        &["only"]
    }

    fn create(&self, _conn: &mut dyn Connection) -> Result<()> {
        Ok(())
    }

    fn check(&self, _conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        Ok(Vec::new())
    }

    fn client(&self, who: ClientId, _seed: u64) -> Box<dyn Client> {
        Box::new(Panics(self.0, who.id))
    }
}

#[test]
fn a_client_that_panics_fails_its_cycle_with_or_without_a_word() {
    for (defect, words) in [(Defect::Speaks, "on purpose"), (Defect::SaysNothing, "1 of 3 clients left nothing")] {
        let clients = vec![group("all", 0, 3, Pacing::Closed, Until::Time(50 * MS))];
        let outcome = run(&LoadPlan { workload: Arc::new(Defective(defect)), ..plan(clients) });
        assert_eq!(outcome.clients.len(), 2, "the others end in order");
        let said = outcome.failure.unwrap().to_string();
        assert!(said.contains("a thread of load panicked, a defect of dsbench: ") && said.contains(words), "{said}");
    }
}

/// An engine that panics outside of the clients of a thread.
#[derive(Debug)]
struct Thin(Mock);

impl Engine for Thin {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.0.connect(session)
    }

    fn place(&self) -> &dyn Place {
        self.0.place()
    }

    fn on_thread(&self, _body: &mut dyn FnMut()) {
        panic!("the ice is {}", "thin");
    }
}

#[test]
fn a_thread_that_panics_before_its_client_fails_the_cycle_with_its_message() {
    let clients = vec![group("all", 0, 1, Pacing::Closed, Until::Time(50 * MS))];
    let engine: Arc<dyn Engine> = Arc::new(Thin(Mock::new(Script::default())));
    let outcome = run(&LoadPlan { engine, ..plan(clients) });
    assert!(outcome.clients.is_empty());
    assert!(outcome.failure.unwrap().to_string().contains("a defect of dsbench: the ice is thin"));
}
