//! Transactions that the user wrote, in pgbench's script language; see the crate `dsbench-script` for the language.
//!
//! The scripts say themselves where transactions begin and end, so that the loop sends neither BEGIN nor COMMIT:
//! their words are put into the engine's own verbs, which costs a round trip less on PostgreSQL.

mod answers;
mod bound;
mod builtin;
pub(crate) mod client;
pub mod entry;
mod giving;
mod piping;
pub(crate) mod plan;
mod running;
pub(crate) mod settings;
mod sleeping;
mod tables;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use dsbench_core::engine::{Connection, Prepare};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::workload::{
    Client, ClientId, Condition, Expected, KindId, Part, Population, Progress, StatementName, Workload,
};
use dsbench_script::{Scripts, Slot};

use crate::steps;
use crate::steps::nothing_kept;
use crate::{Call, Options, Settings};
use client::{Beside, ScriptClient};
use plan::Plan;
use settings::Asked;
use tables::Tables;

/// The names of scripts stay: few are ever made, and each once.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

pub(crate) fn kept(name: &str) -> &'static str {
    let mut names = lock(&NAMES);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(name);
    name
}

/// The names of the scripts, once each was read. Errors: those of the first script that is none.
fn names(asked: &Asked) -> Result<Vec<&'static str>> {
    Ok(read(asked)?.scripts.iter().map(|script| kept(&script.name)).collect())
}

fn read(asked: &Asked) -> Result<Scripts> {
    Scripts::parse(&asked.sources, &asked.defined).map_err(told)
}

/// An error of a script in one line: messages hold no others.
pub(crate) fn told(error: dsbench_script::Error) -> Error {
    let column = error.column.map_or(String::new(), |column| format!(" at column {column}"));
    let text = error.text.map_or(String::new(), |text| format!(": {text}"));
    Error::configuration(format!("{}:{}: {}{column}{text}", error.source, error.line, error.message))
        .remedy("correct the script: see docs/scripts.md")
}

/// On which tables the scripts work.
enum On {
    Pgbench(Tables),
    Other(Box<dyn Workload>),
}

struct Script {
    on: On,
    keeps_data: bool,
    plan: Arc<Plan>,
    kinds: &'static [&'static str],
    builtins: usize,
    writing: Arc<[KindId]>,
    beside: Arc<Beside>,
    scale: u32,
}

/// Opens the workload. Errors: see [`crate::open`]; a script that is none, with its file and line.
fn open(options: &Options) -> Result<Box<dyn Workload>> {
    let asked = Asked::of(&options.settings)?;
    let scripts = read(&asked)?;
    let kinds: Vec<&'static str> = scripts.scripts.iter().map(|script| kept(&script.name)).collect();
    let tables = entry::ENTRY.value(&options.settings, "tables");
    let on = match tables {
        "pgbench" => On::Pgbench(Tables::new(options.scale, options.dialect)?),
        other => {
            if asked.builtins > 0 {
                let words = format!("--set tables={other}: builtin scripts need pgbench's tables");
                return Err(Error::configuration(words).remedy("name files by --script"));
            }
            let options = Options { settings: Settings::default(), call: Call::Statements, ..options.clone() };
            On::Other(crate::open(other, &options)?)
        }
    };
    let writing = writing(&kinds, asked.builtins);
    let slot = |name: &str| scripts.names().iter().position(|known| known == name).map(|slot| slot as Slot);
    let summed = ["delta", "aid", "tid", "bid"].into_iter().filter_map(|name| Some((name, slot(name)?)));
    let sums = summed.flat_map(|(name, slot)| writing.iter().map(move |kind| (*kind, name, slot))).collect();
    Ok(Box::new(Script {
        on,
        keeps_data: options.dialect.keeps_data,
        plan: Arc::new(Plan::new(scripts, options.dialect, options.scale, true)?),
        writing,
        beside: Arc::new(Beside { sums, ..Beside::default() }),
        kinds: all_kept(kinds),
        builtins: asked.builtins,
        scale: options.scale,
    }))
}

/// Lists of kinds stay as their names do.
pub(crate) fn all_kept(kinds: Vec<&'static str>) -> &'static [&'static str] {
    static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());
    let mut lists = lock(&LISTS);
    if let Some(known) = lists.get(kinds.as_slice()) {
        return known;
    }
    let kinds: &'static [&'static str] = Box::leak(kinds.into_boxed_slice());
    lists.insert(kinds);
    kinds
}

/// Numbers of the builtin scripts that write.
fn writing(kinds: &[&str], builtins: usize) -> Arc<[KindId]> {
    let kinds = (0..).zip(kinds).take(builtins);
    kinds.filter(|(_, name)| !name.starts_with("select-only")).map(|(kind, _)| kind).collect()
}

impl Workload for Script {
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        match &self.on {
            On::Pgbench(tables) => conn.script(&tables.sql.script("tables")),
            On::Other(workload) => workload.create(conn),
        }
    }

    fn rows(&self) -> u64 {
        match &self.on {
            On::Pgbench(tables) => tables.rows(),
            On::Other(workload) => workload.rows(),
        }
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        match &self.on {
            On::Pgbench(tables) => tables.populate(conn, part, progress),
            On::Other(workload) => workload.populate(conn, how, part, progress),
        }
    }

    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        match &self.on {
            On::Pgbench(tables) => conn.script(&tables.sql.script("settle")),
            On::Other(workload) => workload.settle(conn),
        }
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match &self.on {
            On::Pgbench(tables) => steps::run(&tables.sql, conn, "primary_keys", progress),
            On::Other(workload) => workload.primary_keys(conn, progress),
        }
    }

    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match &self.on {
            On::Pgbench(_) => Ok(()),
            On::Other(workload) => workload.foreign_keys(conn, progress),
        }
    }

    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match &self.on {
            On::Pgbench(tables) => steps::run(&tables.sql, conn, "clean", progress),
            On::Other(workload) => workload.clean(conn, progress),
        }
    }

    /// Of builtin scripts it is known what they leave; of others nothing is.
    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        if !self.keeps_data {
            return Ok(nothing_kept());
        }
        match &self.on {
            On::Pgbench(tables) if self.builtins == self.kinds.len() => {
                let of_tpcb = |kind: &&KindId| self.kinds[usize::from(**kind)].starts_with("tpcb-like");
                let tpcb = self.writing.iter().filter(of_tpcb).count();
                tables.check(conn, expected, &self.writing, tpcb)
            }
            _ => {
                let why = "scripts say what they do, not what has to hold afterwards";
                Ok(vec![Condition::not_made("conditions", why, "")])
            }
        }
    }

    fn rehearses(&self) -> bool {
        self.builtins < self.kinds.len()
    }

    fn rehearse(&self, conn: &mut dyn Connection, when: Prepare, _fresh: bool) -> Result<()> {
        self.plan.rehearse(conn, when, &mut ScriptClient::memory(&self.plan, self.scale, ClientId::alone(0), 1))
    }

    fn statements(&self) -> Vec<StatementName> {
        self.plan.statements()
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(ScriptClient::new(&self.plan, &self.beside, self.scale, who, seed))
    }
}
