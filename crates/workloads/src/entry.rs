//! What a workload says of itself. Whatever is special about one stands here, once: the rest of dsbench reads it
//! and asks for no workload by name.

use dsbench_core::clock::Nanos;
use dsbench_core::engine::Dialect;
use dsbench_core::error::{Error, Result};
use dsbench_core::workload::{KindId, Pace, Workload};
use serde::Serialize;

pub use crate::kind::{names_of, Changed, Kind, Queued};
use crate::settings::{Setting, Settings, Values};
use crate::{Call, Options};

const SECOND: Nanos = 1_000_000_000;

/// How a workload is opened.
pub type Open = fn(&Options) -> Result<Box<dyn Workload>>;

/// The names of the kinds that there are under settings.
pub type NamesOf = fn(&Settings) -> Result<Vec<&'static str>>;

/// What a workload says of itself under settings that decide it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Said {
    /// What its figures are called: "TPC-B-like".
    pub label: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// What a scale of 1 is.
    pub unit: Unit,
    /// The figure by which runs are told apart.
    pub headline: Headline,
}

/// A workload as the registry knows it. [`Entry::plain`] is one that leaves everything special out.
#[derive(Debug)]
pub struct Entry {
    /// Its name, as `--workload` takes it.
    pub name: &'static str,
    /// What it is.
    pub said: Said,
    /// The same under settings that decide it, where they do.
    pub said_under: Option<fn(&Settings) -> Result<Said>>,
    /// The rules that a run is held against.
    pub meaning: Meaning,
    /// Its tables and rows.
    pub data: Data,
    /// What a run does of which nobody says otherwise.
    pub defaults: Defaults,
    /// Opens it, once the settings are checked.
    pub open: Open,
    /// Its settings.
    pub settings: &'static [Setting],
    /// What goes together with other options only.
    pub rules: &'static [Rule],
    /// Its kinds of transactions, by number.
    pub kinds: &'static [Kind],
    /// The names of its kinds under settings that decide which there are, where they do; of these nothing is asked.
    pub names_of: Option<NamesOf>,
    /// Transactions that reach another unit of scale, where there should be a certain share of them.
    pub remote: Option<Remote>,
}

/// What the figures of a workload stand for.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Meaning {
    /// The specification whose rules a run is held against, as texts name it: "TPC-B"; empty without one.
    pub specification: &'static str,
    /// What its figures are not; empty where that needs no saying.
    pub disclaimer: &'static str,
    /// The analysis of this workload alone, by its word (python/dsbench/stats/special.py); empty without one.
    pub analysis: &'static str,
    /// What a transaction consists of: workloads that are such a part, with how often it has them. Their rates bound its
    /// own from above. Empty where it is not taken apart.
    pub parts: &'static [(&'static str, u32)],
}

/// The tables of a workload.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Data {
    /// Bytes that a row takes on average once it has its keys, on the product that needs least and on the one that
    /// needs most; zeros where nobody has measured it.
    pub row_bytes: (u32, u32),
    /// Bytes of user data that its rows have, in words; empty where that is not said.
    pub row_data: &'static str,
    /// The setting that says how many rows each client adds to the database in stages of load, for each unit of scale;
    /// empty where none stay.
    #[serde(skip)]
    pub loading: &'static str,
    /// What that setting says; 0 in the registry.
    pub loaded_rows: u64,
    /// How the table is organised to which every transaction adds a row, in words; empty without one.
    pub history: &'static str,
    /// Whether every transaction changes the one row of its unit of scale, so that writers collide there.
    pub hot_row: bool,
    /// Whether its unit of scale is as small as the ladder of the index wants it.
    pub indexed: bool,
    /// The workload on whose tables it reads and which it leaves as they were made, so that a database that it kept can be
    /// that workload's next; empty without one.
    pub reads: &'static str,
    /// Whether a stored procedure can write its rows.
    pub fills_by_procedure: bool,
    /// Whether its load may run on tables that somebody else made.
    pub existing: bool,
}

/// What a run of a workload does when nobody says otherwise.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Defaults {
    /// How transactions are sent: procedures only where the engine has them.
    pub call: Call,
    /// Whether a transaction that a collision ended is run again.
    pub retries: bool,
    /// The level of isolation, as `--isolation` takes it; empty for that of most.
    pub isolation: &'static str,
    /// The ladder of a run of which neither size nor time is said.
    pub quick_scales: &'static [u32],
    /// What a run does in place of cycles of a demanded time; empty where it does those.
    pub course: &'static str,
    /// People at terminals for each unit of scale; `None` without people.
    pub terminals_per_unit: Option<u32>,
}

/// The unit of scale.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Unit {
    /// "branch"
    pub name: &'static str,
    /// What belongs to one.
    pub about: &'static str,
}

/// A value of a setting that means something together with another option of the run only.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Rule {
    /// Name of the setting.
    pub setting: &'static str,
    /// Its value.
    pub value: &'static str,
    /// The other option, by the name of the specification.
    pub option: &'static str,
    /// What that has to be.
    pub needs: &'static str,
    /// What is wrong without it.
    pub why: &'static str,
}

/// The figure by which runs are told apart.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Headline {
    /// "tps"
    pub label: &'static str,
    /// The kind that counts; `None`: all.
    pub kind: Option<&'static str>,
    /// Of how many seconds it is the number.
    pub per_s: u32,
    /// What it is, in words.
    pub about: &'static str,
}

/// All transactions per second.
pub const TPS: Headline = Headline { label: "tps", kind: None, per_s: 1, about: "committed transactions per second" };

/// Transactions that reach another unit of scale.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Remote {
    /// The clients' sum that counts them: the archive's column `remote`.
    pub sum: &'static str,
    /// What they did: "changed another branch's account".
    pub what: &'static str,
    /// The share (0-1) of all that the inputs give them.
    pub share: f64,
    /// The least share that a valid run shows.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// The setting and its value with which there are such transactions; `None`: always.
    #[serde(skip)]
    pub when: Option<(&'static str, &'static str)>,
}

impl Said {
    /// One whose figure is transactions per second.
    pub const fn tps(label: &'static str, about: &'static str, unit: Unit) -> Self {
        Self { label, about, unit, headline: TPS }
    }
}

impl Meaning {
    /// Figures that stand for themselves.
    pub const NONE: Self = Self { specification: "", disclaimer: "", analysis: "", parts: &[] };
}

impl Data {
    /// Tables of which nothing is said.
    pub const PLAIN: Self = Self {
        row_bytes: (0, 0),
        row_data: "",
        loading: "",
        loaded_rows: 0,
        history: "",
        hot_row: false,
        indexed: false,
        reads: "",
        fills_by_procedure: false,
        existing: false,
    };
}

impl Defaults {
    /// Those of a workload that names none.
    pub const PLAIN: Self = Self {
        call: Call::Statements,
        retries: false,
        isolation: "",
        quick_scales: &[1, 2, 5],
        course: "",
        terminals_per_unit: None,
    };
}

impl Entry {
    /// A workload with nothing special: sent by statements.
    pub const fn plain(name: &'static str, said: Said, open: Open, kinds: &'static [Kind]) -> Self {
        Self {
            name,
            said,
            said_under: None,
            meaning: Meaning::NONE,
            data: Data::PLAIN,
            defaults: Defaults::PLAIN,
            open,
            settings: &[],
            rules: &[],
            kinds,
            names_of: None,
            remote: None,
        }
    }

    /// How transactions are sent on a database of `dialect` when nobody says otherwise.
    pub fn default_call(&self, dialect: &Dialect) -> Call {
        match dialect.procedures {
            true => self.defaults.call,
            false => Call::Statements,
        }
    }

    /// Label, sentence, unit and headline under these settings.
    pub fn said(&self, settings: &Settings) -> Result<Said> {
        self.said_under.map_or(Ok(self.said), |said| said(settings))
    }

    /// Refuses, with errors of kind `Configuration`, settings that it does not declare and values out of range.
    pub fn check(&self, settings: &Settings) -> Result<()> {
        for (name, value) in settings.given() {
            let Some(setting) = self.settings.iter().find(|setting| setting.name == name) else {
                return Err(self.unknown(name, value));
            };
            setting.check(value, self.kinds)?;
        }
        self.names_of.map_or(Ok(()), |names| names(settings).map(|_| ()))
    }

    fn unknown(&self, name: &str, value: &str) -> Error {
        let known: Vec<&str> = self.settings.iter().map(|setting| setting.name).collect();
        let remedy = match known.is_empty() {
            true => "leave it out: this workload has no settings".to_string(),
            false => format!("use one of {}", known.join(", ")),
        };
        Error::configuration(format!("--set {name}={value}: the workload {} does not know it", self.name))
            .remedy(remedy)
    }

    /// What was given for a setting, else its default; empty for one that is not declared.
    pub fn value<'a>(&self, settings: &'a Settings, name: &str) -> &'a str {
        let default = || self.settings.iter().find(|setting| setting.name == name).map_or("", |found| found.default);
        settings.get(name).unwrap_or_else(default)
    }

    /// The cards of each kind in the deck that the settings ask for, where the workload deals from one; 0 for what
    /// [`Entry::check`] refuses.
    pub fn cards(&self, settings: &Settings) -> Option<Vec<u32>> {
        let deck = self.settings.iter().find(|setting| matches!(setting.values, Values::Cards { .. }))?;
        let cards = self.value(settings, deck.name).split(',');
        Some(cards.map(|count| count.trim().parse().unwrap_or_default()).collect())
    }

    /// Transactions that reach another unit of scale under these settings, where there are any.
    pub fn remote(&self, settings: &Settings) -> Option<&Remote> {
        let there = |remote: &&Remote| remote.when.is_none_or(|(name, value)| self.value(settings, name) == value);
        self.remote.as_ref().filter(there)
    }

    /// Seconds that 90% of the response times of a kind must not exceed, under these settings.
    pub fn limit_s(&self, kind: &Kind, settings: &Settings) -> Option<f64> {
        self.queued(kind, settings).map(|queued| queued.limit_s).or(kind.limit_s)
    }

    /// How long people take around a transaction of a kind, under these settings.
    pub fn pace(&self, kind: KindId, settings: &Settings) -> Option<Pace> {
        let kind = self.kinds.get(usize::from(kind))?;
        let (keying, think) = kind.keying_and_think_s?;
        Some(Pace {
            keying: Nanos::from(keying) * SECOND,
            mean_think: Nanos::from(think) * SECOND,
            waits: self.queued(kind, settings).is_none(),
        })
    }

    fn queued(&self, kind: &Kind, settings: &Settings) -> Option<Queued> {
        kind.queued.filter(|queued| self.value(settings, queued.setting) == queued.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::REGISTRY;

    #[test]
    fn every_entry_fits_together() {
        for entry in REGISTRY {
            let name = entry.name;
            let Said { label, about, unit, headline } = entry.said;
            assert!(!label.is_empty() && about.ends_with('.') && !entry.kinds.is_empty(), "{name}");
            assert!(!unit.name.is_empty() && !unit.about.is_empty(), "{name}: what a scale of 1 is");
            for setting in entry.settings {
                assert!(setting.check(setting.default, entry.kinds).is_ok(), "{name}: default of {}", setting.name);
                assert!(!setting.help.is_empty(), "{name}: {}", setting.name);
            }
            let takes = |setting: &str, value: &str| {
                let found = entry.settings.iter().find(|known| known.name == setting);
                found.is_some_and(|known| known.check(value, entry.kinds).is_ok())
            };
            let queued = entry.kinds.iter().filter_map(|kind| kind.queued);
            assert!(queued.into_iter().all(|queued| takes(queued.setting, queued.value)), "{name}");
            assert!(entry.rules.iter().all(|rule| takes(rule.setting, rule.value)), "{name}");
            let known = |part: &str| REGISTRY.iter().any(|other| other.name == part && other.meaning.parts.is_empty());
            assert!(entry.meaning.parts.iter().all(|(part, times)| known(part) && *times > 0), "{name}");
            let when = entry.remote.and_then(|remote| remote.when);
            assert!(when.is_none_or(|(setting, value)| takes(setting, value)), "{name}");
            let counted = headline.kind;
            assert!(counted.is_none_or(|of| entry.kinds.iter().any(|kind| kind.name == of)), "{name}");
            let paced = entry.kinds.iter().filter(|kind| kind.keying_and_think_s.is_some()).count();
            assert!(paced == if entry.defaults.terminals_per_unit.is_some() { entry.kinds.len() } else { 0 }, "{name}");
        }
    }

    #[test]
    fn what_a_workload_does_not_know_is_refused_with_a_remedy() {
        let refused = |workload: &str, name: &str, value: &str| {
            let entry = REGISTRY.iter().find(|entry| entry.name == workload).unwrap();
            entry.check(&Settings::new([(name.to_string(), value.to_string())])).err().map(|error| format!("{error:#}"))
        };
        let message = refused("rehearsal", "mix", "1").unwrap();
        assert!(
            message.contains("the workload rehearsal does not know it; leave it out: this workload has no settings"),
            "{message}"
        );
        assert!(refused("tpcc", "mixx", "1").unwrap().contains("use one of mix, affinity, delivery, foreign_keys"));
        assert!(refused("tpcc", "affinity", "no")
            .unwrap()
            .contains("--set affinity=no: this is none of its values; use on or off"));
        assert_eq!(refused("tpcc", "affinity", "off"), None);
    }
}
