//! The Insert Benchmark: a load in key order, secondary indexes, inserts with as many deletes, then queries beside
//! them at three rates. The stages, their connections, rows and rates are the published ones; docs/insert.md says them
//! and what differs.

pub mod check;
pub mod client;
pub mod entry;
pub mod query;
pub mod rows;
pub mod settle;
pub mod tables;

use std::sync::Arc;

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, Result};
use dsbench_core::stage::{Counted, GroupPlan, Pacing, Stage, Until, Whose, Work};
use dsbench_core::workload::{Client, ClientId, Condition, Expected, KindId, Part, Progress, Workload};

use crate::entry::names_of;
use crate::Options;
use client::{Deleter, Inserter};
use query::Reader;
use tables::{texts, Tables};

const INSERT: KindId = 0;
const DELETE: KindId = 1;
const RANGE: KindId = 2;
const POINT: KindId = 3;

/// What clients do, by the number of their role: the kind and the rows of a transaction.
const ROLES: [(KindId, u64); 7] =
    [(INSERT, 100), (INSERT, 50), (INSERT, 5), (DELETE, 50), (DELETE, 5), (RANGE, 0), (POINT, 0)];

/// Rows per second that come, and that go, for each client beside its queries.
const RATES: [u64; 3] = [100, 500, 1000];
/// Rows of a transaction beside the queries.
const BESIDE: u64 = 50;

struct InsertBenchmark {
    tables: Arc<Tables>,
}

fn open(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(InsertBenchmark { tables: Arc::new(Tables::new(options)?) }))
}

/// A group of as many clients as the run asks for.
fn group(kind: KindId, rows: u64, pacing: Option<Pacing>, until: Option<Until>) -> GroupPlan {
    let role = ROLES.iter().position(|role| *role == (kind, rows)).unwrap_or_default() as u8;
    let name = match kind {
        INSERT | DELETE => entry::KINDS[usize::from(kind)].name,
        _ => "query",
    };
    let reads = matches!(kind, RANGE | POINT);
    GroupPlan { name: name.into(), role, kinds: vec![kind], clients: None, pacing, until, rows, reads }
}

fn load(name: &str, groups: Vec<GroupPlan>) -> Stage {
    Stage::new(name, Work::Load { groups, repeated: false, cleaned: false })
}

/// Each client inserts `rows` rows, so many in a transaction, and deletes as many on a second connection.
fn written(name: &str, rows: u64, each: u64) -> Stage {
    let until = |counted, count| Some(Until::Count { counted, count, of: Whose::Each });
    let insert = group(INSERT, each, Some(Pacing::InStep(1)), until(Counted::Rows, rows));
    let delete = group(DELETE, each, Some(Pacing::InStep(0)), until(Counted::Transactions, rows / each));
    load(name, vec![insert, delete])
}

/// Queries of one kind beside inserts and deletes at a rate.
fn queried(name: &str, kind: KindId, rate: u64) -> Stage {
    let pacing = Some(Pacing::Constant(rate as f64 / BESIDE as f64, Whose::Each));
    let beside = |kind| group(kind, BESIDE, pacing, Some(Until::Group(0)));
    load(name, vec![group(kind, 0, None, None), beside(INSERT), beside(DELETE)])
}

impl InsertBenchmark {
    fn indexes(&self, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        let each = self.tables.rows[0] * if self.tables.shared { self.tables.clients } else { 1 };
        progress.expect(each * self.tables.count() as u64);
        for table in part.range(self.tables.count() as u64) {
            let section = match settle::storage(&self.tables, conn)?.as_str() {
                "rocksdb" if self.tables.family => "indexes_family",
                "rocksdb" => "indexes_rocksdb",
                _ => "indexes",
            };
            let indexes = self.tables.all(section, table as usize);
            progress.time("indexes", each, || conn.script(&texts(&indexes)))?;
            progress.advance(each)?;
        }
        Ok(())
    }
}

impl Workload for InsertBenchmark {
    fn kinds(&self) -> &'static [&'static str] {
        const { &names_of(entry::KINDS) }
    }

    fn stages(&self) -> Vec<Stage> {
        let [first, large, small] = self.tables.rows;
        let rows = Until::Count { counted: Counted::Rows, count: first, of: Whose::Each };
        // One connection makes the indexes of each table; of all where only one may write, and on Firebird, whose
        // changes to the schema wait for each other.
        let alone = self.tables.dialect.single_writer || self.tables.dialect.name == "firebird";
        let parts = if alone { 1 } else { self.tables.count() as u32 };
        let mut stages = vec![
            Stage::new("build", Work::Build),
            load("l.i0", vec![group(INSERT, 100, Some(Pacing::Closed), Some(rows))]),
            Stage::new("l.i0.check", Work::Check),
            Stage::new("l.x", Work::Statements { parts }),
            written("l.i1", large, 50),
            written("l.i2", small, 5),
            Stage::new("l.i2.check", Work::Check),
            Stage::new("settle", Work::Statements { parts: 1 }),
        ];
        for rate in RATES.into_iter().filter(|rate| self.tables.rate.is_none_or(|only| only == *rate)) {
            stages.push(queried(&format!("qr{rate}"), RANGE, rate));
            stages.push(queried(&format!("qp{rate}"), POINT, rate));
        }
        stages.extend([Stage::new("check", Work::Check), Stage::new("drop", Work::Drop)]);
        stages
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        self.tables.refuse_gaps(conn)?;
        for table in 0..self.tables.count() {
            for section in ["table", "after_table"] {
                conn.script(&texts(&self.tables.all(section, table)))?;
            }
        }
        self.tables.refuse_family(conn)
    }

    fn work(&self, name: &str, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        match name {
            "l.x" => self.indexes(conn, part, progress),
            "settle" => settle::settle(&self.tables, conn, progress),
            other => Err(Error::configuration(format!("the workload has no statements for the stage {other}"))),
        }
    }

    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        check::check(&self.tables, conn, expected)
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        let (kind, rows) = ROLES[usize::from(who.role) % ROLES.len()];
        let tables = Arc::clone(&self.tables);
        match kind {
            INSERT => Box::new(Inserter::new(tables, who.id, seed, rows as usize)),
            DELETE => Box::new(Deleter::new(tables, who.id, rows)),
            _ => Box::new(Reader::new(tables, who.id, seed, kind)),
        }
    }
}
