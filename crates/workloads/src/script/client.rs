//! One client: it draws the variables that are set before the first statement, and runs what follows them.
//!
//! A variable keeps its value from one transaction to the next, as in pgbench: only of scripts that set what they read
//! are the inputs a function of seed, client and number alone.

use std::sync::Arc;

use dsbench_core::clock::{Monotonic, Nanos};
use dsbench_core::engine::{Connection, Piped, Pipeline, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Value};
use dsbench_core::workload::{Bell, Client, ClientId, Drawn, End, KindId, Shape, StatementTime};
use dsbench_script::{Action, Memory, Random, Slot, Value as Held, Wrong};

use super::giving::Giving;
use super::piping::{pipeline, placed, Open};
use super::plan::{at, Bound, Plan, Word};
use super::sleeping::sleep;
use crate::tpcb::rows::fill;

/// Where the transaction drawn last goes on once its clock has started.
type Pending = std::result::Result<Option<usize>, (usize, Wrong)>;

pub(crate) struct ScriptClient {
    plan: Arc<Plan>,
    bound: Arc<[Bound]>,
    ids: Vec<StatementId>,
    id: u64,
    seed: u64,
    memory: Memory,
    /// The variables as they were drawn, for a script that changes them later: another attempt begins with these.
    drawn: Memory,
    script: usize,
    pending: Pending,
    attempted: bool,
    giving: Giving,
    rows: Rows,
    bell: Option<Arc<dyn Bell>>,
    timing: bool,
    /// Commands of the last attempt, where they are timed; it never grows beyond the longest script.
    timed: Vec<StatementTime>,
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
    pub(crate) fn new(plan: &Arc<Plan>, beside: &Arc<Beside>, scale: u32, who: ClientId, seed: u64) -> Self {
        let mut memory = plan.scripts.memory();
        let default_seed = Random::new(seed).bits() as i64;
        for (name, value) in [
            ("scale", i64::from(scale)),
            ("client_id", who.id as i64),
            ("random_seed", seed as i64),
            ("default_seed", default_seed),
        ] {
            memory.define(name, Held::Int(value));
        }
        let kinds = beside.roles.get(usize::from(who.role)).cloned().unwrap_or_default();
        let weight = kinds.iter().map(|kind| plan.scripts.scripts[usize::from(*kind)].weight).sum();
        Self {
            plan: Arc::clone(plan),
            bound: Arc::from([]),
            ids: Vec::new(),
            id: who.id,
            seed,
            drawn: memory.clone(),
            memory,
            script: 0,
            pending: Ok(None),
            attempted: false,
            giving: Giving::default(),
            rows: Rows::new(),
            bell: None,
            timing: false,
            timed: Vec::new(),
            sums: vec![0; beside.sums.len()],
            beside: Arc::clone(beside),
            role: (kinds, weight),
            letters: Vec::new(),
        }
    }

    /// Runs the commands from `next` on; gives whether the last transaction was rolled back by its own words.
    fn run(&mut self, conn: &mut dyn Connection, mut next: Option<usize>, open: &mut Open) -> Result<End> {
        let mut end = End::Commit;
        while let Some(number) = next {
            let began = if self.timing { Monotonic.now() } else { 0 };
            let done = self.command(conn, number, open, &mut end);
            if self.timing {
                self.note(number, began, done.is_err());
            }
            done?;
            let script = &self.plan.scripts.scripts[self.script];
            let tell = &mut |command, value| debug(self.script, command, value);
            let advanced = script.advance(number + 1, &mut self.memory, tell);
            next = advanced.map_err(|(number, wrong)| failed(script, number, &wrong))?;
        }
        let words = match *open {
            Open { transaction: false, pipeline: false } => return Ok(end),
            Open { pipeline: true, .. } => "end of script reached with pipeline open",
            Open { .. } => "end of script reached without completing the last transaction",
        };
        let script = &self.plan.scripts.scripts[self.script];
        let last = script.commands.len() - 1;
        Err(at(&script.name, script.commands[last].line, words))
    }

    /// Runs one command that needs the database or the clock.
    #[inline]
    fn command(&mut self, conn: &mut dyn Connection, number: usize, open: &mut Open, end: &mut End) -> Result<()> {
        let script = &self.plan.scripts.scripts[self.script];
        let store = match &script.commands[number].action {
            Action::Sleep(pause) => {
                return sleep(*pause, &self.memory, self.bell.as_deref())
                    .map_err(|wrong| failed(script, number, &wrong));
            }
            Action::Sql(_, store) => store,
            action => return pipeline(conn, action, open).map_err(|error| placed(script, number, error)),
        };
        if open.pipeline {
            return self.queue(conn, number, open, end);
        }
        for place in self.plan.places[self.script][number].clone() {
            let bound = &self.bound[place];
            match bound.word {
                // PostgreSQL only warns of a second BEGIN, and of an end without one.
                Word::Begin if open.transaction => {}
                Word::Begin => {
                    conn.begin()?;
                    open.transaction = true;
                }
                Word::Commit | Word::Rollback if !open.transaction => {}
                Word::Commit => {
                    // Whatever comes of it, nothing is left to roll back.
                    open.transaction = false;
                    conn.commit()?;
                    *end = End::Commit;
                }
                Word::Rollback => {
                    open.transaction = false;
                    conn.rollback()?;
                    *end = End::Rollback;
                }
                Word::Plain | Word::Opens => {
                    let values = self.giving.values(bound, &self.memory)?;
                    let id = self.ids.get(place).copied().unwrap_or(StatementId(u32::MAX));
                    if bound.columns.is_empty() {
                        conn.execute(id, values.as_slice())?;
                    } else {
                        conn.query(id, values.as_slice(), &mut self.rows)?;
                        let all = store.as_ref().is_some_and(|store| store.all);
                        keep(&self.rows, bound, all, &mut self.memory)
                            .map_err(|wrong| failed(script, number, &wrong))?;
                    }
                    open.transaction |= bound.word == Word::Opens;
                }
            }
        }
        Ok(())
    }

    /// Adds the statements of a command to the pipeline; their answers come with its end.
    fn queue(&mut self, conn: &mut dyn Connection, number: usize, open: &mut Open, end: &mut End) -> Result<()> {
        let script = &self.plan.scripts.scripts[self.script];
        for place in self.plan.places[self.script][number].clone() {
            let bound = &self.bound[place];
            let values = self.giving.values(bound, &self.memory)?;
            if !bound.columns.is_empty() {
                return Err(failed(script, number, &Wrong("\\gset is not allowed in pipeline mode".into())));
            }
            let what = match bound.word {
                Word::Begin if open.transaction => continue,
                Word::Commit | Word::Rollback if !open.transaction => continue,
                Word::Begin => Piped::Begin,
                Word::Commit => Piped::Commit,
                Word::Rollback => Piped::Rollback,
                Word::Plain | Word::Opens => {
                    let id = self.ids.get(place).copied().unwrap_or(StatementId(u32::MAX));
                    Piped::Statement(id, values.as_slice())
                }
            };
            match bound.word {
                Word::Begin | Word::Opens => open.transaction = true,
                Word::Commit | Word::Rollback => {
                    open.transaction = false;
                    *end = if bound.word == Word::Commit { End::Commit } else { End::Rollback };
                }
                Word::Plain => {}
            }
            conn.pipeline().map_or(Ok(()), |pipeline| pipeline.add(what)).map_err(|e| placed(script, number, e))?;
        }
        Ok(())
    }

    /// Notes the time of a command that began at `began`.
    fn note(&mut self, number: usize, began: Nanos, failed: bool) {
        if let Some(statement) = self.plan.numbers[self.script][number] {
            self.timed.push(StatementTime { statement, took: Monotonic.now() - began, failed });
        }
    }
}

fn failed(script: &dsbench_script::Script, number: usize, wrong: &Wrong) -> Error {
    at(&script.name, script.commands[number].line, &wrong.0)
}

/// What pgbench's function of that name prints.
#[cold]
fn debug(script: usize, command: usize, value: Held) {
    let mut text = Vec::new();
    value.write(&mut text);
    let text = String::from_utf8_lossy(&text);
    let name = if value == Held::Null { "" } else { value.type_name() };
    let shown = if value == Held::Null { "null".to_string() } else { format!("{name} {text}") };
    eprintln!("debug(script={script},command={}): {shown}", command + 1);
}

/// Keeps the last row in variables; without `all` there has to be one row.
fn keep(rows: &Rows, bound: &Bound, all: bool, memory: &mut Memory) -> std::result::Result<(), Wrong> {
    let count = rows.len();
    if all && count == 0 {
        return Ok(());
    }
    if !all && count != 1 {
        return Err(Wrong(format!("\\gset: expected one row, got {count}")));
    }
    for (column, slot) in bound.into.iter().enumerate() {
        let Some(slot) = *slot else { continue };
        match rows.get(count - 1, column).map_err(|error| Wrong(error.to_string()))? {
            Value::Int(value) => memory.set(slot, Held::Int(value)),
            Value::Float(value) => memory.set(slot, Held::Double(value)),
            Value::Text(text) => memory.set_text(slot, text),
            _ => memory.set(slot, Held::Null),
        }
    }
    Ok(())
}

impl Client for ScriptClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
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
            self.memory.set_text(*slot, fill(&mut self.letters, stream.next_u64()));
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

    fn committed(&mut self) {
        for ((kind, _, slot), sum) in self.beside.sums.iter().zip(&mut self.sums) {
            if let (true, (Some(Held::Int(added)), _)) =
                (usize::from(*kind) == self.script, self.memory.parameter(*slot))
            {
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
