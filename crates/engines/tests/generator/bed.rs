//! A trial of the loop: one client of the scripted engine on a fake clock, and what came of it.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use dsbench_core::board::Board;
use dsbench_core::clock::{Clock, FakeClock, Nanos};
use dsbench_core::engine::{Connection, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::generator::{Conduct, Runner};
use dsbench_core::limit::Limit;
use dsbench_core::pacer::{ClosedLoop, Pacer};
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::recorder::Recorder;
use dsbench_core::seats::Seat;
use dsbench_core::stage::Until;
use dsbench_core::workload::{Client, Drawn, End, Shape};
use dsbench_engines::mock::{Action, Mock, Script, When};

pub const MS: Nanos = 1_000_000;

/// One statement per transaction; remembers with which inputs it was run.
pub struct Probe {
    pub shape: Shape,
    pub end: End,
    /// Begins a transaction of its own and leaves it open.
    pub leaves_open: bool,
    pub drawn: u64,
    pub ran_with: Vec<u64>,
    pub committed: u64,
}

impl Probe {
    pub fn new(shape: Shape) -> Self {
        Self { shape, end: End::Commit, leaves_open: false, drawn: 0, ran_with: Vec::new(), committed: 0 }
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
        if self.leaves_open {
            conn.begin()?;
        }
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

pub struct Trial {
    pub conduct: Conduct,
    pub script: Script,
    pub client: Probe,
    pub stop: AtomicBool,
    pub ramp_up: Nanos,
    pub duration: Nanos,
    /// Instead of the duration.
    pub until: Option<Until>,
}

pub struct Found {
    pub outcome: Result<u64>,
    pub recorder: Recorder,
    pub mock: Mock,
    pub client: Probe,
    pub clock: Arc<FakeClock>,
}

impl Trial {
    /// A closed loop of 100 ms in which every call takes `latency_ns`.
    pub fn new(latency_ns: Nanos, shape: Shape) -> Self {
        let session = Session { isolation: Isolation::RepeatableRead, in_place: false };
        let conduct = Conduct {
            session,
            prepare: Prepare::Once,
            connections: 1,
            tries: 1,
            reconnect: false,
            patience: 500 * MS,
            pause: LONGEST_PAUSE,
            bears: false,
            exit_on_abort: false,
        };
        let script = Script { latency_ns, ..Script::default() };
        let (stop, ramp_up, duration) = (AtomicBool::new(false), 0, 100 * MS);
        Self { conduct, script, client: Probe::new(shape), stop, ramp_up, duration, until: None }
    }

    pub fn event(mut self, when: When, action: Action) -> Self {
        self.script.events.push((when, action));
        self
    }

    pub fn run(self) -> Found {
        self.paced(&mut ClosedLoop, false)
    }

    pub fn paced(mut self, pacer: &mut dyn Pacer, open_loop: bool) -> Found {
        let clock = Arc::new(FakeClock::default());
        let mock = Mock::on_clock(self.script, Arc::clone(&clock));
        let mut recorder = Recorder::new(1, Board::new(1, open_loop, 0), None).pausing(true);
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
