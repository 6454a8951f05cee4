//! What a workload says of itself, as plain values: see python/dsbench/workloads.py, which names them.

use std::collections::BTreeMap;

use dsbench_workloads::entry::{Changed, Entry, Headline, Kind, Remote, Rule};
use dsbench_workloads::settings::{Setting, Values};
use dsbench_workloads::{find, Call, Settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// What a workload says of itself under these settings. Fails for an unknown name, and for settings that it refuses.
#[pyfunction]
pub fn workload_entry(py: Python<'_>, name: &str, settings: BTreeMap<String, String>) -> PyResult<Py<PyDict>> {
    let settings = Settings::new(settings);
    let entry = find(name).and_then(|entry| entry.check(&settings).map(|()| entry)).map_err(raise)?;
    let said = entry.said(&settings).map_err(raise)?;
    let dict = texts(
        py,
        &[
            ("name", entry.name),
            ("label", said.label),
            ("about", said.about),
            ("specification", entry.specification),
            ("disclaimer", entry.disclaimer),
            ("reads", entry.reads),
            ("analysis", entry.analysis),
            ("isolation", entry.isolation),
            ("call", if entry.call == Call::Procedure { "procedure" } else { "statements" }),
        ],
    )?;
    dict.set_item("retries", entry.retries)?;
    dict.set_item("fills_by_procedure", entry.fills_by_procedure)?;
    dict.set_item("existing", entry.existing)?;
    dict.set_item("row_bytes", entry.row_bytes)?;
    let loaded = match entry.loaded_rows {
        "" => 0,
        setting => entry.value(&settings, setting).parse::<u64>().unwrap_or_default(),
    };
    dict.set_item("loaded_rows", loaded)?;
    dict.set_item("row_data", entry.row_data)?;
    dict.set_item("history", entry.history)?;
    dict.set_item("quick_scales", entry.quick_scales.to_vec())?;
    dict.set_item("course", entry.course)?;
    dict.set_item("hot_row", entry.hot_row)?;
    dict.set_item("indexed", entry.indexed)?;
    dict.set_item("terminals_per_unit", entry.terminals_per_unit)?;
    dict.set_item("unit", texts(py, &[("name", said.unit.name), ("about", said.unit.about)])?)?;
    dict.set_item("kinds", kinds(py, entry, &settings)?)?;
    let of_settings = entry.settings.iter().map(|one| setting(py, one)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("settings", of_settings)?;
    let rules = entry.rules.iter().map(|one| rule(py, one)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("rules", rules)?;
    dict.set_item("parts", entry.parts.to_vec())?;
    dict.set_item("headline", headline(py, &said.headline)?)?;
    dict.set_item("remote", entry.remote(&settings).map(|one| remote(py, one)).transpose()?)?;
    Ok(dict.unbind())
}

fn texts<'py>(py: Python<'py>, values: &[(&str, &str)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

fn kinds<'py>(py: Python<'py>, entry: &Entry, settings: &Settings) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let named: Option<Vec<Kind>> = match entry.names_of {
        Some(names) => Some(names(settings).map_err(raise)?.into_iter().map(Kind::named).collect()),
        None => None,
    };
    let all = named.as_deref().unwrap_or(entry.kinds);
    let cards = entry.cards(settings);
    let described = all.iter().enumerate().map(|(number, kind)| {
        let (rows, bytes) = match kind.rows {
            None => ("", 0.0),
            Some(Changed::Inserted(bytes)) => ("inserted", bytes),
            Some(Changed::Deleted) => ("deleted", 0.0),
        };
        let dict = texts(py, &[("name", kind.name), ("rows", rows)])?;
        dict.set_item("row_bytes", bytes)?;
        dict.set_item("least_share", kind.least_share)?;
        dict.set_item("limit_s", entry.limit_s(kind, settings))?;
        dict.set_item("keying_s", kind.keying_and_think_s.map(|(keying, _)| keying))?;
        dict.set_item("mean_think_s", kind.keying_and_think_s.map(|(_, think)| think))?;
        dict.set_item("cards", cards.as_ref().and_then(|cards| cards.get(number)))?;
        Ok(dict)
    });
    described.collect()
}

fn setting<'py>(py: Python<'py>, setting: &Setting) -> PyResult<Bound<'py, PyDict>> {
    let dict = texts(py, &[("name", setting.name), ("default", setting.default), ("help", setting.help)])?;
    dict.set_item("takes", setting.values.text())?;
    let words = if let Values::Words(words) = setting.values { words } else { &[] };
    dict.set_item("words", words)?;
    Ok(dict)
}

fn rule<'py>(py: Python<'py>, rule: &Rule) -> PyResult<Bound<'py, PyDict>> {
    let Rule { setting, value, option, needs, why } = *rule;
    texts(py, &[("setting", setting), ("value", value), ("option", option), ("needs", needs), ("why", why)])
}

fn headline<'py>(py: Python<'py>, headline: &Headline) -> PyResult<Bound<'py, PyDict>> {
    let dict = texts(py, &[("label", headline.label), ("about", headline.about)])?;
    dict.set_item("kind", headline.kind)?;
    dict.set_item("per_s", headline.per_s)?;
    Ok(dict)
}

fn remote<'py>(py: Python<'py>, remote: &Remote) -> PyResult<Bound<'py, PyDict>> {
    let dict = texts(py, &[("sum", remote.sum), ("what", remote.what)])?;
    dict.set_item("share", remote.share)?;
    dict.set_item("least", remote.window.0)?;
    dict.set_item("most", remote.window.1)?;
    Ok(dict)
}
