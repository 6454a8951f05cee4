//! CH-benCHmark (Cole et al. 2011): the transactions of TPC-C and streams of 22 analytic queries, each alone and both at
//! the same time on one database. docs/ch.md says what the stages are and what differs from the publication.

pub mod client;
pub mod entry;
pub mod rows;

use std::path::Path;
use std::sync::{Arc, Mutex};

use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::stage::{Counted, GroupPlan, Pacing, Stage, Until, Whose, Work};
use dsbench_core::workload::{
    Answer, Client, ClientId, Condition, Evidence, Expected, KindId, Part, Population, Progress, Shape, Workload,
};

use crate::entry::names_of;
use crate::sql::Sections;
use crate::steps;
use crate::tpcc::company::Company;
use crate::tpcc::sizes::Sizes;
use crate::tpcc::{deck, entry as tpcc};
use crate::Options;
use client::{Analyst, Texts};
use entry::{ENTRY, QUERIES};
use rows::Added;

const FILES: &[(&str, &str)] = sql_files!();

/// The stage in which the queries are asked alone, on the rows as they were loaded.
const ALONE: &str = "queries";

/// Groups of clients, by their roles.
const TRANSACTIONS: u8 = 0;
const ANALYTICS: u8 = 1;

struct Ch {
    tpcc: Box<dyn Workload>,
    options: Options,
    sql: Sections,
    texts: Arc<Texts>,
    /// The texts of the queries for the second engine.
    second: Vec<String>,
    streams: u64,
    sets: u64,
    checked: bool,
    answers: Mutex<Vec<Answer>>,
}

fn open(options: &Options) -> Result<Box<dyn Workload>> {
    let value = |name| ENTRY.value(&options.settings, name);
    let number = |name| value(name).parse().unwrap_or(1);
    let dialect = options.dialect;
    let texts = |sql: &Sections| -> Result<Vec<String>> {
        (1..=QUERIES).map(|query| sql.one(&format!("Q{query}")).map(str::to_string)).collect()
    };
    let sql = Sections::of(dialect, FILES)?;
    // What Firebird gives outside a transaction of the client is read by one of another level of isolation.
    let shape = if dialect.name == "firebird" { Shape::ReadBlock } else { Shape::Single };
    Ok(Box::new(Ch {
        tpcc: (tpcc::ENTRY.open)(options)?,
        options: options.clone(),
        texts: Arc::new(Texts { all: texts(&sql)?, shape }),
        second: texts(&Sections::of(&Dialect { name: "postgres", ..*dialect }, FILES)?)?,
        sql,
        streams: number("streams"),
        sets: number("sets"),
        checked: value("answers") == "checked" && dialect.keeps_data,
        answers: Mutex::default(),
    }))
}

impl Ch {
    /// Clients that make transactions, until the duration or a group ends them.
    fn transactions(until: Option<Until>) -> GroupPlan {
        let kinds = (0..deck::KINDS as KindId).collect();
        let name = "transactions".into();
        GroupPlan { name, role: TRANSACTIONS, kinds, clients: None, pacing: None, until, rows: 0, reads: false }
    }

    fn analytics(&self) -> GroupPlan {
        let kinds = (deck::KINDS..deck::KINDS + QUERIES).map(|kind| kind as KindId).collect();
        let count = self.sets * QUERIES as u64;
        GroupPlan {
            name: "analytics".into(),
            role: ANALYTICS,
            kinds,
            clients: Some(self.streams),
            pacing: Some(Pacing::Closed),
            until: Some(Until::Count { counted: Counted::Transactions, count, of: Whose::Each }),
            rows: 0,
            reads: true,
        }
    }

    /// Asks each query once, while nobody else works.
    fn ask(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        progress.expect(QUERIES as u64);
        progress.time("statistics", 0, || self.clean(conn, &Progress::default()))?;
        lock(&self.answers).clear();
        for (query, text) in self.texts.all.iter().enumerate() {
            let kind = (deck::KINDS + query) as KindId;
            let given = progress.time(self.kinds()[usize::from(kind)], 0, || conn.fetch(text))?;
            let (text, rows) = (self.second[query].clone(), given.rows);
            let answer =
                Answer { stage: ALONE, stream: 0, kind, text, rows, states: (0, 0), failed: "", published: "" };
            if self.checked {
                lock(&self.answers).push(answer);
            }
            progress.advance(1)?;
        }
        Ok(())
    }
}

impl Workload for Ch {
    fn kinds(&self) -> &'static [&'static str] {
        const { &names_of(entry::KINDS) }
    }

    fn stages(&self) -> Vec<Stage> {
        let load = |name, groups| Stage::new(name, Work::Load { groups, repeated: true, cleaned: true });
        vec![
            Stage::new("build", Work::Build),
            Stage::new(ALONE, Work::Statements { parts: 1 }),
            load("analytics", vec![self.analytics()]),
            load("transactions", vec![Self::transactions(None)]),
            load("both", vec![Self::transactions(Some(Until::Group(1))), self.analytics()]),
            Stage::new("check", Work::Check),
            Stage::new("drop", Work::Drop),
        ]
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.tpcc.create(conn)?;
        conn.script(&self.sql.script("tables"))
    }

    fn rows(&self) -> u64 {
        self.tpcc.rows() + Added::ALL.into_iter().map(Added::rows).sum::<u64>()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        self.tpcc.populate(conn, how, part, progress)?;
        match part.index {
            0 => rows::load(conn, progress),
            _ => Ok(()),
        }
    }

    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        self.tpcc.settle(conn)
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.tpcc.primary_keys(conn, progress)?;
        conn.script(&self.sql.script("primary_keys"))
    }

    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.tpcc.foreign_keys(conn, progress)
    }

    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.tpcc.clean(conn, progress)?;
        steps::run(&self.sql, conn, "clean", progress)
    }

    fn work(&self, name: &str, conn: &mut dyn Connection, _part: Part, progress: &Progress) -> Result<()> {
        match name {
            ALONE => self.ask(conn, progress),
            other => Err(Error::configuration(format!("the workload has no statements for the stage {other}"))),
        }
    }

    /// The conditions of TPC-C, and the rows of the three tables that nobody changes.
    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        let mut conditions = self.tpcc.check(conn, expected)?;
        if self.options.dialect.keeps_data {
            let found: [i64; 3] = steps::numbers(conn, self.sql.one("counts")?)?;
            conditions.extend(Added::ALL.into_iter().zip(found).map(|(table, found)| {
                let detail = format!("found {found}, loaded {}", table.rows());
                Condition::made(format!("{} rows", table.name()), found == table.rows() as i64, detail)
            }));
            if !self.checked {
                conditions.push(steps::answers_unchecked());
            }
        }
        Ok(conditions)
    }

    fn evidence(&self) -> Option<Evidence> {
        let answers = || Evidence { answers: lock(&self.answers).clone(), ..Evidence::default() };
        self.checked.then(answers)
    }

    fn export(&self, folder: &Path) -> Result<()> {
        let Options { scale, dialect, settings, .. } = &self.options;
        rows::export(&Company::new(*scale, Sizes::of(settings), dialect, true)?, folder)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        match who.role {
            ANALYTICS => Box::new(Analyst::new(Arc::clone(&self.texts), who)),
            _ => self.tpcc.client(who, seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_complete_in_every_dialect() {
        for name in ["postgres", "mysql", "firebird", "sqlite", "mock"] {
            let dialect = Dialect { name, procedures: false, embedded: false, single_writer: false, keeps_data: true };
            let sql = Sections::of(&dialect, FILES).unwrap();
            for section in (1..=QUERIES).map(|query| format!("Q{query}")).chain(["tables".into(), "clean".into()]) {
                for text in sql.all(&section) {
                    assert!(!text.contains(['{', '}', '?']), "{name}: {text}");
                }
            }
        }
    }
}
