//! What is special about scripts.

use dsbench_core::error::Result;

use super::{names, settings::Asked};
use crate::entry::{Data, Entry, Kind, Said, Unit};
use crate::settings::{Setting, Settings, Values};

/// Its entry in the registry. Its kinds are the scripts: see [`Entry::names_of`].
pub static ENTRY: Entry = Entry {
    data: Data { row_bytes: (110, 220), existing: true, ..Data::PLAIN },
    settings: SETTINGS,
    names_of: Some(names_of),
    ..Entry::plain(
        "scripted",
        Said::tps(
            "SCRIPT",
            "Transactions in pgbench's script language, on pgbench's tables: its builtin scripts, or files.",
            Unit { name: "branch", about: "a branch of pgbench: 10 tellers and 100,000 accounts" },
        ),
        super::open,
        &[Kind::named("tpcb-like")],
    )
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "builtin",
        values: Values::Text("names by commas, each with @WEIGHT where it has one"),
        default: "tpcb-like",
        help: "builtin scripts of pgbench: tpcb-like, simple-update, select-only; --builtin says the same",
    },
    Setting {
        name: "scripts",
        values: Values::Text("texts that --script has read"),
        default: "",
        help: "scripts, which --script reads from files: the run and its archive keep their text",
    },
    Setting {
        name: "define",
        values: Values::Text("NAME=VALUE, one on each line"),
        default: "",
        help: "variables that scripts have from the beginning; --define says the same",
    },
    Setting {
        name: "tables",
        values: Values::Words(&["pgbench", "tpcb", "tpcc"]),
        default: "pgbench",
        help: "the tables that the scripts work on: pgbench's, or those of another workload at its scale",
    },
];

/// The names of the scripts, once each is read and found to be one.
fn names_of(settings: &Settings) -> Result<Vec<&'static str>> {
    names(&Asked::of(settings)?)
}
