//! What is special about workloads out of files: the file says it.

use dsbench_core::error::Result;

use super::described::Described;
use crate::entry::{Defaults, Entry, Headline, Kind, Said, Unit, TPS};
use crate::script::kept;
use crate::settings::{Setting, Settings, Values};

/// Its entry in the registry. What the file says counts before it: see [`Entry::said`].
pub static ENTRY: Entry = Entry {
    defaults: Defaults { quick_scales: &[1], ..Defaults::PLAIN },
    settings: SETTINGS,
    names_of: Some(names_of),
    said_under: Some(said),
    ..Entry::plain(
        "workload-file",
        Said::tps(
            "workload file",
            "Tables, rows, transactions and conditions out of a TOML file: --workload FILE.toml, or one that ships.",
            Unit { name: "unit", about: "as many rows as the file says" },
        ),
        super::open,
        &[Kind::named("add")],
    )
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "file",
        values: Values::Text("the texts that --workload FILE.toml has read"),
        default: "",
        help: "the file and those that it names: the run and its archive keep their text",
    },
    Setting {
        name: "define",
        values: Values::Text("NAME=VALUE, one on each line"),
        default: "",
        help: "variables in place of those in the file's [define]; --define says the same",
    },
];

fn names_of(settings: &Settings) -> Result<Vec<&'static str>> {
    Ok(Described::read(settings, None, 1)?.transactions.iter().map(|one| kept(&one.name)).collect())
}

fn said(settings: &Settings) -> Result<Said> {
    let described = Described::read(settings, None, 1)?;
    let of = |text: &str, other: &'static str| if text.is_empty() { other } else { kept(text) };
    let headline = described.headline.map_or(TPS, |headline| Headline {
        label: kept(&headline.label),
        kind: headline.kind.as_deref().map(kept),
        per_s: headline.per_s,
        about: match &headline.kind {
            Some(kind) => kept(&format!("committed transactions {kind} in {} s", headline.per_s)),
            None => kept(&format!("committed transactions in {} s", headline.per_s)),
        },
    });
    let unit = Unit { name: ENTRY.said.unit.name, about: of(&described.unit, ENTRY.said.unit.about) };
    Ok(Said { label: kept(&described.name), about: of(&described.about, ENTRY.said.about), unit, headline })
}
