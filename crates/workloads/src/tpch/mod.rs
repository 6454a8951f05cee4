//! TPC-H-like: decision support on a wholesale supplier. Rows are those of the crate `tpchgen`; docs/tpch.md says what the
//! stages are and what differs from the specification.

pub mod client;
pub mod entry;
pub mod market;
pub mod parameters;
pub mod refreshes;
pub mod rows;

use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::stage::{Counted, GroupPlan, Pacing, Stage, Until, Whose, Work};
use dsbench_core::workload::{Client, ClientId, Condition, Evidence, Expected, Part, Population, Progress, Workload};

use crate::entry::names_of;
use crate::steps::{answers_unchecked, nothing_kept, numbers, run, REPEAT, UNKNOWN_END};
use crate::Options;
use client::{TpchClient, Work as Task};
use market::{Market, ASKS, COLD, QUALIFY, STAGES};
use rows::{pool, Table};

struct Tpch {
    market: Arc<Market>,
}

fn open(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Tpch { market: Arc::new(Market::new(options)?) }))
}

/// Clients of a stage that each go through their list once.
fn group(name: &str, role: u8, kinds: std::ops::Range<u8>, clients: u64, count: u64) -> GroupPlan {
    let until = Some(Until::Count { counted: Counted::Attempts, count, of: Whose::Each });
    let (clients, pacing) = (Some(clients), Some(Pacing::Closed));
    GroupPlan { name: name.into(), role, kinds: kinds.collect(), clients, pacing, until, rows: 0, reads: false }
}

impl Tpch {
    fn tables(&self, section: &str, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(Table::ALL.len() as u64);
        for at in part.range(Table::ALL.len() as u64) {
            let table = Table::ALL[at as usize];
            let sql = self.market.sql.one(section)?.replace("{t}", table.name());
            progress.time(table.name(), 0, || conn.script(&[&sql]))?;
            progress.advance(1)?;
        }
        Ok(())
    }
}

impl Workload for Tpch {
    fn kinds(&self) -> &'static [&'static str] {
        const { &names_of(entry::KINDS) }
    }

    fn stages(&self) -> Vec<Stage> {
        let statements = |name| Stage::new(name, Work::Statements { parts: 1 });
        let mut stages = vec![Stage::new("build", Work::Build), statements("indexes"), statements("statistics")];
        let load = |name, groups| Stage::new(name, Work::Load { groups, repeated: false, cleaned: false });
        if self.market.published {
            stages.push(load(QUALIFY, vec![group("query", Task::Qualify as u8 * 2, 0..22, 1, 22)]));
        }
        let asked = STAGES.iter().enumerate().take(2 * self.market.runs as usize);
        for (at, name) in asked.filter(|(at, _)| at % 2 == 0 || self.market.throughput) {
            let role = |work: Task| work as u8 * 2 + (at / 2) as u8;
            let groups = match at % 2 {
                0 => vec![group("power", role(Task::Power), 0..24, 1, 24)],
                _ => {
                    let streams = self.market.streams;
                    vec![
                        group("query", role(Task::Queries), 0..22, streams, 22),
                        group("refresh", role(Task::Refreshes), 22..24, 1, 2 * streams),
                    ]
                }
            };
            stages.push(load(*name, groups));
        }
        if self.market.cold > 0 {
            let groups = vec![group("query", Task::Cold as u8 * 2, 0..22, 1, 1)];
            let cycles = self.market.cold * 22 * ASKS;
            stages.push(Stage::new(COLD, Work::Cold { groups, cycles, each: ASKS }));
        }
        stages.extend([Stage::new("check", Work::Check), Stage::new("drop", Work::Drop)]);
        stages
    }

    fn create(&self, conn: &mut dyn Connection) -> Result<()> {
        conn.script(&self.market.sql.script("tables"))
    }

    fn rows(&self) -> u64 {
        Table::ALL.into_iter().map(|table| table.rows(self.market.hundredths)).sum()
    }

    fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        if how == Population::Procedure {
            return Err(Error::configuration("population by procedure: tpch has none").remedy("use --population bulk"));
        }
        let (market, pool) = (&self.market, pool());
        if part.index == 0 {
            market.refreshes_by(&pool);
        }
        rows::load(conn, market.hundredths, market.form, part, &pool, progress)
    }

    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        run(&self.market.sql, conn, "primary_keys", progress)
    }

    fn work(&self, name: &str, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        match name {
            "indexes" => {
                let all = self.market.sql.all("indexes");
                progress.expect(all.len() as u64);
                for sql in all {
                    // "CREATE INDEX name ON …"
                    let index = sql.split_whitespace().nth(2).unwrap_or("index");
                    progress.time(index, 0, || conn.script(&[sql]))?;
                    progress.advance(1)?;
                }
                Ok(())
            }
            "statistics" => self.tables("statistics", conn, part, progress),
            other => Err(Error::configuration(format!("the workload has no statements for the stage {other}"))),
        }
    }

    /// As many orders and lines as were loaded and inserted less those deleted, no line without its order. What the
    /// queries answered is [`Workload::evidence`].
    fn check(&self, conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        let market = &self.market;
        if !market.dialect.keeps_data {
            return Ok(nothing_kept());
        }
        let mut conditions = Vec::new();
        let (orders, lines) = market.changes();
        for table in Table::ALL {
            let loaded = table.rows(market.hundredths) as i64;
            let wanted = match table {
                Table::Orders => loaded + orders,
                Table::LineItem => loaded + lines,
                _ => loaded,
            };
            let [found] = numbers(conn, &market.sql.one("count")?.replace("{t}", table.name()))?;
            let name = format!("rows of {}", table.name());
            let refreshed = matches!(table, Table::Orders | Table::LineItem);
            conditions.push(match found == wanted || !refreshed || !market.unknown.load(Ordering::SeqCst) {
                true => Condition::made(name, found == wanted, format!("{found}, expected {wanted}")),
                false => Condition::not_made(name, UNKNOWN_END, REPEAT),
            });
        }
        let [stray] = numbers(conn, market.sql.one("stray_lines")?)?;
        let name = "every line has its order".to_string();
        conditions.push(Condition::made(name, stray == 0, format!("{stray} lines have none")));
        if !market.checked {
            conditions.push(answers_unchecked());
        }
        Ok(conditions)
    }

    /// Which refreshes are done.
    fn alone(&self) -> bool {
        true
    }

    fn evidence(&self) -> Option<Evidence> {
        (self.market.checked && self.market.dialect.keeps_data).then(|| self.market.evidence())
    }

    fn export(&self, folder: &Path) -> Result<()> {
        let (pool, hundredths) = (pool(), self.market.hundredths);
        let file = |name: String| std::fs::File::create(folder.join(name)).map(BufWriter::new);
        let all = || {
            for table in Table::ALL {
                rows::write(table, hundredths, &pool, &mut file(table.name().into())?)?;
            }
            for set in self.market.evidence().refreshes.iter().filter(|(_, inserts)| *inserts).map(|(set, _)| set) {
                let (mut orders, mut lines) = (file(format!("orders.{set}"))?, file(format!("lineitem.{set}"))?);
                let mut deleted = file(format!("deleted.{set}"))?;
                refreshes::write_refresh(*set, hundredths, &pool, [&mut orders, &mut lines, &mut deleted])?;
            }
            Ok(())
        };
        all().map_err(|error: std::io::Error| {
            Error::with(ErrorKind::Setup, "write rows", format!("{}: {error}", folder.display()))
        })
    }

    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client> {
        Box::new(TpchClient::new(Arc::clone(&self.market), who, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_say_which_tests_there_are() {
        let stages = |settings: &[(&str, &str)]| {
            let settings = [&[("size", "0.01")], settings].concat();
            let tpch = Tpch { market: Arc::new(market::tests::open("sqlite", 1, &settings).unwrap()) };
            let load = |stage: &Stage| matches!(stage.work, Work::Load { .. });
            tpch.stages().into_iter().filter(load).map(|stage| stage.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(stages(&[]), STAGES);
        assert_eq!(stages(&[("runs", "1")]), ["power1", "throughput1"]);
        assert_eq!(stages(&[("tests", "power")]), ["power1", "power2"]);
        assert_eq!(stages(&[("tests", "power"), ("runs", "1")]), ["power1"]);
    }
}
