//! A workload out of a file of the user: schema, rows, transactions in pgbench's script language, conditions.
//!
//! Python hands over the texts of the file and of those that it names (`python/dsbench/spec/files.py`); everything in
//! them is read here, where errors can say file, line and column.

mod check;
mod columns;
mod csv;
mod described;
pub mod entry;
mod expression;
mod moments;
mod reading;
mod rows;
mod table;
mod words;

use std::sync::Arc;

use dsbench_core::engine::{Connection, Dialect, Prepare};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::stage::{GroupPlan, Stage, Work};
use dsbench_core::value::Type;
use dsbench_core::workload::{
    Client, ClientId, Condition, Expected, KindId, Part, Population, Progress, StatementName, Workload,
};
use dsbench_script::{Scripts, Slot, Source};

use crate::script::client::{Beside, ScriptClient};
use crate::script::plan::Plan;
use crate::script::{all_kept, kept, told};
use crate::steps::nothing_kept;
use crate::Options;
use described::{Described, What};
use expression::{run, Step};
use rows::Rows;

/// Rows of one transaction of a bulk load.
const CHUNK: u64 = 500_000;
/// A table with fewer rows is written by one connection.
const FEW: u64 = 10_000;

struct FromFile {
    described: Described,
    dialect: &'static Dialect,
    kinds: &'static [&'static str],
    plan: Arc<Plan>,
    beside: Arc<Beside>,
}

/// Opens the workload. Errors: see [`crate::open`]; what is wrong with the file, with line and column.
fn open(options: &Options) -> Result<Box<dyn Workload>> {
    let described = Described::read(&options.settings, Some(options.dialect.name), options.scale)?;
    let kinds = all_kept(described.transactions.iter().map(|one| kept(&one.name)).collect());
    let mut defined = described.scope.defined.clone();
    defined.extend(described.texts.iter().map(|(name, _)| (name.clone(), "x".to_string())));
    let sources: Vec<Source> = described.transactions.iter().map(|one| one.source.clone()).collect();
    let scripts = Scripts::parse(&sources, &defined).map_err(told)?;
    let beside = Arc::new(beside(&described, &scripts)?);
    let plan = Arc::new(Plan::new(scripts, options.dialect, options.scale, false)?);
    Ok(Box::new(FromFile { described, dialect: options.dialect, kinds, plan, beside }))
}

fn beside(described: &Described, scripts: &Scripts) -> Result<Beside> {
    let slot = |name: &str| scripts.names().iter().position(|known| known == name).map(|slot| slot as Slot);
    let mut found = Beside { roles: vec![Vec::new(); described.groups.len()], ..Beside::default() };
    for (kind, one) in described.transactions.iter().enumerate() {
        let kind = kind as KindId;
        found.roles[one.group].push(kind);
        for name in &one.adds {
            let unset = || Error::configuration(format!("{}: no transaction sets :{name}, which it adds", one.place));
            found.sums.push((kind, kept(name), slot(name).ok_or_else(unset)?));
        }
        for (name, lengths) in &described.texts {
            let script = &scripts.scripts[usize::from(kind)];
            if let Some(slot) = slot(name).filter(|slot| script.statements().any(|part| part.slots.contains(slot))) {
                found.texts.push((kind, slot, *lengths));
            }
        }
    }
    Ok(found)
}

impl FromFile {
    fn schema(&self) -> &described::Schema {
        &self.described.schema
    }

    fn table_names(&self) -> Vec<&str> {
        self.schema().made.iter().map(|made| made.name.as_str()).collect()
    }

    /// One statement for each table, or one for all.
    fn maintenance(&self) -> Vec<String> {
        let names = self.table_names();
        match self.dialect.name {
            _ if names.is_empty() => Vec::new(),
            "postgres" => names.iter().map(|name| format!("VACUUM (ANALYZE) {name}")).collect(),
            "mysql" => vec![format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {}", names.join(", "))],
            "firebird" => vec!["SWEEP".into()],
            _ => vec!["PRAGMA optimize".into()],
        }
    }

    /// Fails, with an error of kind `Configuration`, where foreign keys are to be added and tables cannot have any.
    fn refuse_references(&self, conn: &mut dyn Connection) -> Result<()> {
        let Some(step) = self.schema().foreign_keys.first().filter(|_| self.dialect.name == "mysql") else {
            return Ok(());
        };
        let row = conn.fetch("SELECT @@default_storage_engine")?.rows.into_iter().next();
        let engine = row.and_then(|row| row.into_iter().next()).flatten().unwrap_or_default();
        match engine.as_str() {
            "InnoDB" => Ok(()),
            _ => Err(Error::configuration(format!(
                "{}: tables of {engine} have no foreign keys: use a target whose storage_engine is InnoDB, or a copy of \
                 the file without foreign_keys",
                step.place
            ))),
        }
    }

    fn steps(&self, statements: Vec<String>) -> Vec<Step> {
        let place = format!("{}, maintenance", self.described.name);
        statements.into_iter().map(|sql| Step { place: place.clone(), sql }).collect()
    }
}

impl Workload for FromFile {
    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.refuse_references(conn)?;
        run(&self.schema().tables, conn, None).map_err(|error| match error.kind {
            ErrorKind::Syntax | ErrorKind::Statement => error.by_user(),
            _ => error,
        })
    }

    fn rows(&self) -> u64 {
        self.described.tables.iter().map(|table| table.rows).sum()
    }

    fn populate(&self, conn: &mut dyn Connection, _how: Population, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(self.rows());
        for table in &self.described.tables {
            let share = match (table.rows < FEW, part.index) {
                (false, _) => part.range(table.rows),
                (true, 0) => 0..table.rows,
                (true, _) => continue,
            };
            let columns: Vec<(&str, Type)> =
                table.columns.iter().map(|one| (one.name.as_str(), one.stored(table.plain))).collect();
            for start in share.clone().step_by(CHUNK as usize) {
                let mut rows = Rows::new(table, start..share.end.min(start + CHUNK), progress);
                let load = conn.bulk().ok_or_else(|| Error::configuration("this engine has no bulk load"))?;
                load.load(&table.name, &columns, &mut rows).map_err(|error| {
                    let said = error.message.as_deref().unwrap_or(error.kind.name());
                    Error { message: Some(format!("table {}: {said}", table.name).into()), ..error }
                })?;
            }
        }
        Ok(())
    }

    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        match self.dialect.name {
            "postgres" => run(&self.steps(self.maintenance()), conn, None),
            _ => Ok(()),
        }
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        run(&self.schema().keys, conn, Some(progress))
    }

    /// SQLite looks at no foreign key while rows are loaded: whether all rows meet them is asked here.
    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        run(&self.schema().foreign_keys, conn, Some(progress))?;
        let faults = match self.dialect.name {
            "sqlite" => conn.fetch("PRAGMA foreign_key_check")?.rows,
            _ => Vec::new(),
        };
        let table = faults.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
        match faults.len() {
            0 => Ok(()),
            n => {
                let words = format!("{n} rows have no row to refer to, the first in table {table}");
                Err(Error::with(ErrorKind::Statement, "check foreign keys", words))
            }
        }
    }

    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match &self.schema().clean {
            Some(steps) => run(steps, conn, Some(progress)),
            None => run(&self.steps(self.maintenance()), conn, Some(progress)),
        }
    }

    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        match self.dialect.keeps_data {
            true => check::check(&self.described, self.dialect, self.kinds, conn, expected),
            false => Ok(nothing_kept()),
        }
    }

    fn rehearses(&self) -> bool {
        self.dialect.keeps_data
    }

    fn rehearse(&self, conn: &mut dyn Connection, when: Prepare, fresh: bool) -> Result<()> {
        let scale = self.described.scope.scale;
        let mut memory = ScriptClient::memory(&self.plan, scale, ClientId::alone(0), 1);
        if !fresh {
            return self.plan.rehearse(conn, when, &mut memory);
        }
        let own = |error: Error| match error.kind {
            ErrorKind::Syntax | ErrorKind::Statement | ErrorKind::Configuration => error.by_user(),
            _ => error,
        };
        let schema = self.schema();
        run(&schema.keys, conn, None).and_then(|()| run(&schema.foreign_keys, conn, None)).map_err(own)?;
        if let Some(steps) = &schema.clean {
            run(steps, conn, None).map_err(own)?;
        }
        self.plan.rehearse(conn, when, &mut memory)?;
        for condition in &self.described.conditions {
            if let What::Nothing(step) | What::Equals(step, _) = &condition.what {
                conn.fetch(&step.sql).map_err(|error| own(step.placed(error)))?;
            }
        }
        Ok(())
    }

    fn stages(&self) -> Vec<Stage> {
        let mut loads: Vec<(&str, Vec<GroupPlan>)> = Vec::new();
        for group in &self.described.groups {
            match loads.iter_mut().find(|(stage, _)| *stage == group.stage) {
                Some((_, groups)) => groups.push(group.plan.clone()),
                None => loads.push((&group.stage, vec![group.plan.clone()])),
            }
        }
        let load = |groups| Work::Load { groups, repeated: true, cleaned: true };
        let mut stages = vec![Stage::new("build", Work::Build)];
        stages.extend(loads.into_iter().map(|(name, groups)| Stage::new(name, load(groups))));
        stages.extend([Stage::new("check", Work::Check), Stage::new("drop", Work::Drop)]);
        stages
    }

    fn statements(&self) -> Vec<StatementName> {
        self.plan.statements()
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(ScriptClient::new(&self.plan, &self.beside, self.described.scope.scale, who, seed))
    }
}
