//! One client: it draws the variables that are set before the first statement, and runs what follows them.
//!
//! A variable keeps its value from one transaction to the next, as in pgbench: only of scripts that set what they read
//! are the inputs a function of seed, client and number alone.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Pipeline, Prepare, Statement, StatementId};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::Rows;
use dsbench_core::workload::{Bell, Client, ClientId, Drawn, End, Found, KindId, Shape, StatementTime};
use dsbench_script::{Memory, Random, Slot, Value as Held, Wrong};

use super::answers::Answers;
use super::bound::Bound;
use super::giving::Giving;
use super::piping::Open;
use super::plan::{Plan, Word};
use super::running::{debug, failed};
use crate::tpcb::rows::sign;

/// Where the transaction drawn last goes on once its clock has started.
type Pending = std::result::Result<Option<usize>, (usize, Wrong)>;

pub(crate) struct ScriptClient {
    pub(super) plan: Arc<Plan>,
    pub(super) bound: Arc<[Bound]>,
    pub(super) ids: Vec<StatementId>,
    /// Whether statements are sent as text with the values in it.
    pub(super) plain: bool,
    /// The text that is sent next, and what came for the last one.
    pub(super) text: Vec<u8>,
    pub(super) answers: Answers,
    /// Whether the last attempt ended by an error of its script, which ends this client.
    aborted: bool,
    id: u64,
    seed: u64,
    pub(super) memory: Memory,
    /// The variables as they were drawn, for a script that changes them later: another attempt begins with these.
    drawn: Memory,
    /// The variables before the first transaction, with its number, until the next is drawn.
    beginning: Option<(Option<u64>, Memory)>,
    pub(super) script: usize,
    pending: Pending,
    attempted: bool,
    pub(super) giving: Giving,
    pub(super) rows: Rows,
    pub(super) bell: Option<Arc<dyn Bell>>,
    pub(super) timing: bool,
    /// Commands of the last attempt, where they are timed; it never grows beyond the longest script.
    pub(super) timed: Vec<StatementTime>,
    /// What the statements found whose rows are counted.
    pub(super) found: Vec<Found>,
    beside: Arc<Beside>,
    /// What was added up, for each of the sums.
    sums: Vec<i64>,
    /// Kinds of transactions among which it picks, with the sum of their weights; none: all.
    role: (Vec<KindId>, u64),
    letters: Vec<u8>,
}

/// What a workload knows of its scripts beside their texts.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// What clients add up over committed transactions of a kind: name of the sum, variable.
    pub(crate) sums: Vec<(KindId, &'static str, Slot)>,
    /// The kinds of each role; empty: all are of one.
    pub(crate) roles: Vec<Vec<KindId>>,
    /// Variables that have other letters in each transaction of a kind, with their least and most lengths.
    pub(crate) texts: Vec<(KindId, Slot, (usize, usize))>,
}

impl ScriptClient {
    /// The variables with which a client begins.
    pub(crate) fn memory(plan: &Plan, scale: u32, who: ClientId, seed: u64) -> Memory {
        let mut memory = plan.scripts.memory();
        let default_seed = Random::new(seed).bits() as i64;
        for (name, value) in [
            ("scale", i64::from(scale)),
            ("client_id", (who.ahead + who.id) as i64),
            ("random_seed", seed as i64),
            ("default_seed", default_seed),
        ] {
            memory.define(name, Held::Int(value));
        }
        memory
    }

    pub(crate) fn new(plan: &Arc<Plan>, beside: &Arc<Beside>, scale: u32, who: ClientId, seed: u64) -> Self {
        let memory = Self::memory(plan, scale, who, seed);
        let kinds = beside.roles.get(usize::from(who.role)).cloned().unwrap_or_default();
        let weight = kinds.iter().map(|kind| plan.scripts.scripts[usize::from(*kind)].weight).sum();
        Self {
            plan: Arc::clone(plan),
            bound: Arc::from([]),
            ids: Vec::new(),
            plain: false,
            text: Vec::new(),
            answers: Answers::default(),
            aborted: false,
            id: who.id,
            seed,
            drawn: memory.clone(),
            beginning: Some((None, memory.clone())),
            memory,
            script: 0,
            pending: Ok(None),
            attempted: false,
            giving: Giving::default(),
            rows: Rows::new(),
            bell: None,
            timing: false,
            timed: Vec::new(),
            found: plan.finding.iter().map(|statement| Found { statement: *statement, ..Found::default() }).collect(),
            sums: vec![0; beside.sums.len()],
            beside: Arc::clone(beside),
            role: (kinds, weight),
            letters: Vec::new(),
        }
    }
}

impl ScriptClient {
    fn attempt(&mut self, conn: &mut dyn Connection) -> Result<End> {
        if std::mem::replace(&mut self.attempted, true) && self.plan.changing[self.script] {
            self.memory.restore(&self.drawn);
        }
        self.timed.clear();
        let next = match &self.pending {
            Ok(next) => *next,
            Err((number, wrong)) => return Err(failed(&self.plan.scripts.scripts[self.script], *number, wrong)),
        };
        let mut open = Open::default();
        let done = self.run(conn, next, &mut open);
        let Err(error) = &done else { return done };
        let lost = matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown);
        if !lost && open.pipeline {
            open.transaction = true;
            // The error that ended the script counts; this brings the connection in step.
            drop(conn.pipeline().map(Pipeline::discard));
        }
        if !lost && open.transaction {
            conn.rollback()?;
        }
        done
    }
}

impl Client for ScriptClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        self.plain = self.plan.sends_text(conn, when);
        if self.plain {
            // The server gets the text of each statement and finds out all types by itself.
            return self.plan.refuse_pipelines();
        }
        self.bound = self.plan.bound(conn)?;
        self.ids.clear();
        for bound in self.bound.iter() {
            let statement = Statement { sql: &bound.sql, params: &bound.params, columns: &bound.columns };
            self.ids.push(match bound.word {
                Word::Plain | Word::Opens => conn.prepare(&statement, when).map_err(|error| bound.placed(error))?,
                _ => StatementId(u32::MAX),
            });
        }
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        // The first one is drawn again once the statements are prepared, and not from what its first draw left.
        self.beginning = self.beginning.take().filter(|(first, _)| first.unwrap_or(number) == number);
        if let Some((first, memory)) = &mut self.beginning {
            *first = Some(number);
            self.memory.restore(memory);
        }
        let mut stream = Stream::new(self.seed, self.id, number);
        let scripts = &self.plan.scripts;
        self.script = match &self.role {
            (kinds, weight) if !kinds.is_empty() => scripts.pick_among(kinds, stream.below(*weight)),
            _ if scripts.scripts.len() > 1 => scripts.pick(stream.below(scripts.weight())),
            _ => 0,
        };
        self.memory.random = Random::new(stream.next_u64());
        let script = self.script;
        for (_, slot, (least, most)) in self.beside.texts.iter().filter(|text| usize::from(text.0) == script) {
            self.letters.resize(least + stream.below((most - least) as u64 + 1) as usize, 0);
            self.memory.set_text(*slot, sign(&mut self.letters, stream.next_u64()));
        }
        let tell = &mut |command, value| debug(script, command, value);
        self.pending = scripts.scripts[script].advance(0, &mut self.memory, tell);
        if self.plan.changing[script] {
            self.drawn.restore(&self.memory);
        }
        self.attempted = false;
        Drawn { kind: script as KindId, shape: Shape::Single }
    }

    /// The script itself says where its transactions begin and end.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let done = self.attempt(conn);
        self.aborted = matches!(&done, Err(error) if error.kind == ErrorKind::Configuration);
        done
    }

    /// An error in the script itself ends this client, as in pgbench.
    fn aborts(&self) -> bool {
        self.aborted
    }

    fn committed(&mut self) {
        for ((kind, _, slot), sum) in self.beside.sums.iter().zip(&mut self.sums) {
            if let (true, Some(Held::Int(added))) = (usize::from(*kind) == self.script, self.memory.number(*slot)) {
                *sum += added;
            }
        }
    }

    fn time_statements(&mut self) {
        self.timing = true;
        self.timed.reserve(self.plan.scripts.scripts.iter().map(|script| script.commands.len()).max().unwrap_or(0));
    }

    fn timed(&self) -> &[StatementTime] {
        &self.timed
    }

    fn found(&self) -> &[Found] {
        &self.found
    }

    fn heed(&mut self, bell: Arc<dyn Bell>) {
        self.bell = Some(bell);
    }

    fn describe(&self) -> String {
        let script = &self.plan.scripts.scripts[self.script];
        let names = self.plan.scripts.names().iter().enumerate();
        let values = names.filter_map(|(slot, name)| Some(format!(" {name}={}", self.memory.text(slot as Slot)?)));
        format!("{}{}", script.name, values.collect::<String>())
    }

    /// What transactions added, by the names of their variables: `delta` of builtin scripts.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        let mut all: Vec<(&'static str, i64)> = Vec::new();
        for ((_, name, _), sum) in self.beside.sums.iter().zip(&self.sums) {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => *all += sum,
                None => all.push((name, *sum)),
            }
        }
        all
    }
}
