//! The rehearsal: a workload without a database, with every form of stage and group.
//!
//! It loads rows by count, has statements that are timed, lets clients that query, insert at a rate and delete
//! work at the same time, and checks in the middle and at the end. Only the engine `mock` plays it.

pub mod entry;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, Result};
use dsbench_core::stage::{Counted, GroupPlan, Pacing, Stage, Until, Whose, Work};
use dsbench_core::workload::{
    Client, ClientId, Condition, Drawn, End, Expected, KindId, Part, Progress, Shape, Workload,
};

use crate::entry::names_of;
use crate::Options;

const QUERY: KindId = 0;
const INSERT: KindId = 1;
const DELETE: KindId = 2;
/// Rows of one insert.
const ROWS: u64 = 100;
/// Rows that each client loads, by unit of scale.
const LOADED: u64 = 2000;
const LOADERS: u64 = 2;
/// Rows per second that come and go while others query.
const RATE: f64 = 1000.0;
const WORK: Statement<'static> = Statement { sql: "work", params: &[], columns: &[] };

struct Rehearsal {
    scale: u64,
}

fn open(options: &Options) -> Result<Box<dyn Workload>> {
    if options.dialect.keeps_data {
        let words = format!("--workload rehearsal: {} is a database", options.dialect.name);
        return Err(Error::configuration(words).remedy("name the target mock:"));
    }
    Ok(Box::new(Rehearsal { scale: options.scale.into() }))
}

fn group(name: &str, kind: KindId, clients: u64, pacing: Pacing, until: Option<Until>) -> GroupPlan {
    let (clients, pacing) = (Some(clients), Some(pacing));
    GroupPlan { name: name.into(), role: kind, kinds: vec![kind], clients, pacing, until, rows: ROWS, reads: false }
}

fn load(groups: Vec<GroupPlan>) -> Work {
    Work::Load { groups, repeated: false, cleaned: false }
}

impl Workload for Rehearsal {
    fn kinds(&self) -> &'static [&'static str] {
        const { &names_of(entry::KINDS) }
    }

    fn stages(&self) -> Vec<Stage> {
        let rows = Until::Count { counted: Counted::Rows, count: LOADED * self.scale, of: Whose::Each };
        let at_rate = Pacing::Constant(RATE / ROWS as f64, Whose::All);
        let queries = GroupPlan { role: QUERY, kinds: vec![QUERY], name: "query".into(), ..GroupPlan::all() };
        let beside = vec![
            queries,
            group("insert", INSERT, 1, at_rate, Some(Until::Group(0))),
            group("delete", DELETE, 1, at_rate, Some(Until::Group(0))),
        ];
        [
            ("build", Work::Build),
            ("load", load(vec![group("insert", INSERT, LOADERS, Pacing::Closed, Some(rows))])),
            ("index", Work::Statements { parts: 2 }),
            ("loaded", Work::Check),
            ("query", load(beside)),
            ("check", Work::Check),
            ("drop", Work::Drop),
        ]
        .map(|(name, work)| Stage::new(name, work))
        .into()
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&[WORK.sql])
    }

    fn work(&self, _name: &str, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(part.count.into());
        conn.script(&[WORK.sql])?;
        progress.advance(1)
    }

    /// Every insert brought its rows, and the load is whole.
    fn check(&self, _conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
        let Some(expected) = expected else { return Ok(Vec::new()) };
        let inserted = expected.sums.iter().find(|(name, _)| name == "inserted").map_or(0, |(_, sum)| *sum as u64);
        let inserts = expected.committed.get(usize::from(INSERT)).copied().unwrap_or_default();
        let least = LOADERS * LOADED * self.scale;
        Ok(vec![
            Condition::made(
                "rows = inserts x rows",
                inserted == inserts * ROWS,
                format!("{inserted}, {inserts} inserts of {ROWS}"),
            ),
            Condition::made("the load is whole", inserted >= least, format!("{inserted} of {least} rows at least")),
        ])
    }

    fn client(&self, who: ClientId, _seed: u64) -> Box<dyn Client> {
        Box::new(Player { kind: who.role, inserted: 0 })
    }
}

/// A client of one kind, whose transactions have no inputs.
struct Player {
    kind: KindId,
    inserted: i64,
}

impl Client for Player {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        conn.prepare(&WORK, when).map(|_| ())
    }

    fn draw(&mut self, _number: u64) -> Drawn {
        Drawn { kind: self.kind, shape: Shape::Single }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        conn.execute(StatementId(0), &[]).map(|_| End::Commit)
    }

    fn committed(&mut self) {
        self.inserted += self.rows() as i64 * i64::from(self.kind == INSERT);
    }

    fn rows(&self) -> u64 {
        if self.kind == QUERY {
            return 0;
        }
        ROWS
    }

    fn sums(&self) -> Vec<(&'static str, i64)> {
        vec![("inserted", self.inserted)]
    }

    fn describe(&self) -> String {
        entry::KINDS[usize::from(self.kind)].name.to_string()
    }
}
