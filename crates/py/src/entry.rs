//! What a workload says of itself, as JSON: python/dsbench/workloads.py has its records.

use std::collections::BTreeMap;

use dsbench_core::error::Error;
use dsbench_workloads::{find, Settings};
use pyo3::prelude::*;

use crate::error::raise;

/// What a workload says of itself under these settings. Fails for an unknown name, and for settings that it refuses.
#[pyfunction]
pub fn workload_entry(name: &str, settings: BTreeMap<String, String>) -> PyResult<String> {
    let described = find(name).and_then(|entry| entry.describe(&Settings::new(settings))).map_err(raise)?;
    serde_json::to_string(&described).map_err(|error| raise(Error::configuration(error.to_string())))
}
