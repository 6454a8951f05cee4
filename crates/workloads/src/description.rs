//! What a workload says of itself to those that know none by name: its entry under the settings of a run, as JSON.
//! python/dsbench/workloads.py has the same records, which a test compares.

use dsbench_core::error::Result;
use serde::Serialize;

use crate::entry::{Changed, Data, Defaults, Entry, Kind, Meaning, Remote, Rule, Said};
use crate::settings::{Setting, Settings, Values};

/// An entry under settings.
#[derive(Debug, Serialize)]
pub struct Description {
    name: &'static str,
    #[serde(flatten)]
    said: Said,
    meaning: Meaning,
    data: Data,
    defaults: Defaults,
    kinds: Vec<KindUnder>,
    settings: Vec<SettingInWords>,
    rules: &'static [Rule],
    remote: Option<Remote>,
}

/// A kind of transactions.
#[derive(Debug, Serialize)]
struct KindUnder {
    name: &'static str,
    least_share: Option<f64>,
    limit_s: Option<f64>,
    keying_s: Option<u32>,
    mean_think_s: Option<u32>,
    cards: Option<u32>,
    rows: &'static str,
    row_bytes: f64,
}

#[derive(Debug, Serialize)]
struct SettingInWords {
    name: &'static str,
    default: &'static str,
    takes: String,
    words: &'static [&'static str],
    help: &'static str,
}

impl Entry {
    /// What it says under these settings, which it refuses where they are none of its own.
    pub fn describe(&'static self, settings: &Settings) -> Result<Description> {
        self.check(settings)?;
        let loaded_rows = self.value(settings, self.data.loading).parse().unwrap_or_default();
        Ok(Description {
            name: self.name,
            said: self.said(settings)?,
            meaning: self.meaning,
            data: Data { loaded_rows, ..self.data },
            defaults: self.defaults,
            kinds: self.kinds_under(settings)?,
            settings: self.settings.iter().map(SettingInWords::of).collect(),
            rules: self.rules,
            remote: self.remote(settings).copied(),
        })
    }

    fn kinds_under(&self, settings: &Settings) -> Result<Vec<KindUnder>> {
        let named = self.names_of.map(|names| names(settings)).transpose()?;
        let named = named.map(|names| names.into_iter().map(Kind::named).collect::<Vec<_>>());
        let cards = self.cards(settings).unwrap_or_default();
        let described = |(number, kind): (usize, &Kind)| {
            let (rows, row_bytes) = match kind.rows {
                None => ("", 0.0),
                Some(Changed::Inserted(bytes)) => ("inserted", bytes),
                Some(Changed::Deleted) => ("deleted", 0.0),
            };
            KindUnder {
                name: kind.name,
                least_share: kind.least_share,
                limit_s: self.limit_s(kind, settings),
                keying_s: kind.keying_and_think_s.map(|(keying, _)| keying),
                mean_think_s: kind.keying_and_think_s.map(|(_, think)| think),
                cards: cards.get(number).copied(),
                rows,
                row_bytes,
            }
        };
        Ok(named.as_deref().unwrap_or(self.kinds).iter().enumerate().map(described).collect())
    }
}

impl SettingInWords {
    fn of(setting: &Setting) -> Self {
        let Setting { name, default, help, values } = *setting;
        let words = if let Values::Words(words) = values { words } else { &[] };
        Self { name, default, takes: values.text(), words, help }
    }
}
