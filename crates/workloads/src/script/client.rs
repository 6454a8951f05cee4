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

/// Where the transaction drawn last goes on once its clock has started.
type Pending = std::result::Result<Option<usize>, (usize, Wrong)>;

pub(super) struct ScriptClient {
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
    /// The variable that builtin scripts add to the balances, and what their transactions added.
    delta: Option<Slot>,
    /// Numbers of the builtin scripts that write.
    writing: Arc<[KindId]>,
    sum: i64,
    bell: Option<Arc<dyn Bell>>,
    timing: bool,
    /// Commands of the last attempt, where they are timed; it never grows beyond the longest script.
    timed: Vec<StatementTime>,
}

impl ScriptClient {
    pub(super) fn new(plan: &Arc<Plan>, writing: &Arc<[KindId]>, scale: u32, who: ClientId, seed: u64) -> Self {
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
        let delta = plan.scripts.names().iter().position(|name| name == "delta").map(|slot| slot as Slot);
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
            delta,
            writing: Arc::clone(writing),
            sum: 0,
            bell: None,
            timing: false,
            timed: Vec::new(),
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
        if scripts.scripts.len() > 1 {
            self.script = scripts.pick(stream.below(scripts.weight()));
        }
        self.memory.random = Random::new(stream.next_u64());
        let script = self.script;
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
        if let (true, Some(slot)) = (self.writing.contains(&(self.script as KindId)), self.delta) {
            if let (Some(Held::Int(delta)), _) = self.memory.parameter(slot) {
                self.sum += delta;
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

    /// `delta`: sum of what builtin scripts added to balances.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        if self.writing.is_empty() {
            Vec::new()
        } else {
            vec![("delta", self.sum)]
        }
    }
}
