//! What the clients of a run share: the scale factor, the texts, the refreshes, and what was answered.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use dsbench_core::engine::Dialect;
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::workload::{Answer, Evidence};
use tpchgen::text::TextPool;

use super::entry::ENTRY;
use super::parameters::Parameter;
use super::refreshes::{refresh, Refresh, MOST_SETS, REFRESHED};
use super::rows::{lines_of_orders, pool, Form};
use crate::sql::Sections;
use crate::Options;

const FILES: &[(&str, &str)] = sql_files!();

/// The stages of load, by run and test.
pub const STAGES: [&str; 4] = ["power1", "throughput1", "power2", "throughput2"];
/// The stage before them that asks the queries with their default parameters.
pub const QUALIFY: &str = "qualify";
/// The stage after them that asks each query when the server was just restarted, and again.
pub const COLD: &str = "cold";
/// How often that stage asks a query, one time after another: the first finds the server cold, the others hot.
pub const ASKS: u64 = 3;

/// Scale factors in hundredths from which on the next number of streams is asked for (clause 5.3.4), from 2 on.
const STREAMS: [u64; 10] = [100, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
const LARGEST: u64 = 10_000_000;

/// What a run works on.
#[derive(Debug)]
pub struct Market {
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// How it takes values.
    pub form: Form,
    /// Its texts.
    pub sql: Sections,
    /// The texts that the second engine reads.
    second: Sections,
    /// The scale factor.
    pub hundredths: u64,
    /// Streams of queries.
    pub streams: u64,
    /// Whether the throughput test is run, too.
    pub throughput: bool,
    /// How often the tests are run.
    pub runs: u64,
    /// After how long a query is ended; 0 for never.
    pub timeout: Duration,
    /// Whether answers are kept.
    pub checked: bool,
    /// Whether the queries are asked with their default parameters, too.
    pub published: bool,
    /// How often all queries are asked on a server that was just restarted.
    pub cold: u64,
    /// Cycles of that stage that have begun.
    pub cold_begun: AtomicU64,
    refreshes: OnceLock<Vec<Refresh>>,
    /// Refreshes that have begun to commit, and that are committed.
    pub begun: AtomicU64,
    /// See `begun`.
    pub done: AtomicU64,
    /// Whether nobody knows if a refresh took place.
    pub unknown: AtomicBool,
    /// Set of each refresh that is done, and whether it inserted, in order.
    pub log: Mutex<Vec<(u64, bool)>>,
    /// What was answered.
    pub answers: Mutex<Vec<Answer>>,
}

impl Market {
    /// Errors of kind `Configuration`: a scale factor that is no hundredth or out of range, or has no published answers,
    /// a dialect without SQL.
    pub fn new(options: &Options) -> Result<Self> {
        let value = |name| ENTRY.value(&options.settings, name);
        let size: f64 = value("size").trim().parse().unwrap_or(1.0);
        let of_one = (size * 100.0).round();
        if (size * 100.0 - of_one).abs() > 1e-6 {
            return Err(Error::configuration(format!("--set size={size}: use hundredths, such as 0.01 or 0.1")));
        }
        let hundredths = u64::from(options.scale) * of_one as u64;
        if hundredths == 0 || hundredths > LARGEST {
            return Err(Error::configuration(format!(
                "scale {} with size={size}: choose a scale factor from 0.01 to {}",
                options.scale,
                LARGEST / 100
            )));
        }
        let dialect = options.dialect;
        let sql = Sections::of(dialect, FILES)?;
        let timeout = Duration::from_secs_f64(value("timeout").trim().parse().unwrap_or_default());
        let published = value("answers") == "published";
        if published && hundredths != 100 {
            let factor = hundredths as f64 / 100.0;
            let words = format!("--set answers=published: the published answers are of scale factor 1, not {factor}");
            return Err(Error::configuration(words).remedy("leave it out"));
        }
        let streams = match value("streams").parse().unwrap_or(0) {
            0 => 2 + STREAMS.iter().skip(1).filter(|from| hundredths >= **from).count() as u64,
            streams => streams,
        };
        Ok(Self {
            dialect,
            form: Form::of(dialect.name),
            sql,
            second: Sections::of(&Dialect { name: "postgres", ..*dialect }, FILES)?,
            hundredths,
            streams,
            throughput: value("tests") != "power",
            runs: value("runs").parse().unwrap_or(2),
            timeout,
            checked: value("answers") != "unchecked",
            published,
            cold: value("cold").parse().unwrap_or(0),
            cold_begun: AtomicU64::new(0),
            refreshes: OnceLock::new(),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            unknown: AtomicBool::new(false),
            log: Mutex::default(),
            answers: Mutex::default(),
        })
    }

    /// Sets of refreshes of the whole run.
    fn sets(&self) -> u64 {
        (self.runs * (self.streams + 1)).min(MOST_SETS)
    }

    /// Makes the refreshes, unless they are made.
    pub fn refreshes_by(&self, pool: &TextPool) -> &[Refresh] {
        let all = || (1..=self.sets()).map(|set| refresh(set, self.hundredths, self.form, pool)).collect();
        self.refreshes.get_or_init(all)
    }

    /// Set `set` (from 1) of the refreshes.
    pub fn refresh(&self, set: u64) -> &Refresh {
        let all = self.refreshes.get().map_or_else(|| self.refreshes_by(&pool()), Vec::as_slice);
        &all[set as usize - 1]
    }

    /// Which set (from 1) is the first of a run: its power test takes that, its throughput test those that follow.
    pub fn first_set(&self, run: u64) -> u64 {
        run * (self.streams + 1) + 1
    }

    /// The text of a query with these parameters, for the database or (`second`) for the second engine.
    pub fn text(&self, query: usize, parameters: &[Parameter], second: bool) -> Result<String> {
        let sql = if second { &self.second } else { &self.sql };
        let mut text = sql.one(&format!("Q{query}"))?.to_string();
        for (name, value) in parameters {
            text = text.replace(name, value);
        }
        Ok(text)
    }

    /// By how many the refreshes have changed the numbers of orders and lines.
    pub fn changes(&self) -> (i64, i64) {
        let (mut orders, mut lines) = (0, 0);
        for (set, inserts) in lock(&self.log).iter() {
            let refresh = self.refresh(*set);
            match inserts {
                true => {
                    orders += refresh.orders.len() as i64;
                    lines += refresh.lines() as i64;
                }
                false => {
                    orders -= refresh.deleted.len() as i64;
                    lines -= self.loaded_lines(*set) as i64;
                }
            }
        }
        (orders, lines)
    }

    /// Lines that the orders have which set `set` deletes: they are the first of those loaded.
    fn loaded_lines(&self, set: u64) -> u64 {
        let each = (REFRESHED * self.hundredths) as usize;
        lines_of_orders().skip((set as usize - 1) * each).take(each).sum()
    }

    /// What was answered and refreshed so far.
    pub fn evidence(&self) -> Evidence {
        Evidence {
            answers: lock(&self.answers).clone(),
            refreshes: lock(&self.log).clone(),
            unknown: self.unknown.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Call, Settings};

    pub fn open(dialect: &'static str, scale: u32, settings: &[(&str, &str)]) -> Result<Market> {
        let known =
            Dialect { name: dialect, procedures: false, embedded: false, single_writer: false, keeps_data: true };
        let settings = Settings::new(settings.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let dialect = Box::leak(Box::new(known));
        Market::new(&Options { scale, dialect, call: Call::Statements, clients: 1, settings })
    }

    #[test]
    fn every_text_is_complete_in_every_dialect() {
        for dialect in ["postgres", "mysql", "firebird", "sqlite"] {
            let market = open(dialect, 1, &[("size", "0.01")]).unwrap();
            for query in 1..=super::super::parameters::QUERIES {
                let parameters = super::super::parameters::draw(1, 0, 0, query, 1, dialect == "sqlite");
                for second in [false, true] {
                    let text = market.text(query, &parameters, second).unwrap();
                    assert!(text.starts_with("SELECT") || text.starts_with("WITH"), "{text}");
                    assert!(!text.contains(['{', '}', '?']), "{dialect}: {text}");
                }
            }
            let all = ["tables", "indexes", "insert_line", "insert_order", "statistics", "stray_lines"];
            for sql in all.iter().flat_map(|section| market.sql.all(section)) {
                assert!(!sql.replace("{t}", "").contains('{'), "{dialect}: {sql}");
            }
        }
    }

    #[test]
    fn the_scale_factor_decides_the_streams() {
        let streams = |scale, size| open("postgres", scale, &[("size", size)]).unwrap().streams;
        assert_eq!([streams(1, "0.01"), streams(1, "1"), streams(10, "1"), streams(9, "1")], [2, 2, 3, 2]);
        assert_eq!([streams(299, "1"), streams(300, "1"), streams(100_000, "1")], [5, 6, 11]);
        assert_eq!(open("postgres", 1, &[("streams", "7")]).unwrap().streams, 7);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        let refused = |dialect, settings: &[(&str, &str)]| format!("{:#}", open(dialect, 1, settings).unwrap_err());
        assert!(refused("postgres", &[("size", "0.015")]).contains("use hundredths"));
        assert!(refused("sqlite", &[("size", "0.01"), ("answers", "published")]).contains("not 0.01; leave it out"));
        assert!(refused("oracle", &[]).contains("no SQL for oracle"));
    }
}
