//! dsbench._core: the only crate that knows Python. It turns values into values and releases the
//! interpreter's lock around everything that waits; there is no other logic here.

mod admin;
mod asked;
mod bench;
mod calibrate;
mod claim;
mod conformance;
mod cycle;
mod driver;
mod entry;
mod error;
#[cfg(target_os = "linux")]
mod forgetful;
mod hearing;
mod histories;
mod ledger;
mod load;
mod prepared;
mod stage;
mod target;
mod task;

use dsbench_core::clock::Monotonic;
use dsbench_core::workload::State;
use pyo3::prelude::*;

/// Nanoseconds of the clock that cycles start by (CLOCK_MONOTONIC where there is one).
#[pyfunction]
fn now_ns() -> u64 {
    Monotonic.now()
}

/// Names of the workloads.
#[pyfunction]
fn workloads() -> Vec<&'static str> {
    dsbench_workloads::names()
}

/// URL schemes of the engines.
#[pyfunction]
fn schemes() -> Vec<&'static str> {
    dsbench_engines::schemes()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UNCOUNTED", dsbench_core::workload::UNCOUNTED)?;
    module.add("STATES", State::ALL.map(State::name))?;
    module.add("UNKNOWN_END", (dsbench_workloads::UNKNOWN_END, dsbench_workloads::REPEAT))?;
    module.add("CoreError", module.py().get_type::<error::CoreError>())?;
    module.add_class::<target::Target>()?;
    module.add_class::<bench::Bench>()?;
    module.add_class::<stage::Stage>()?;
    module.add_class::<load::CycleLoad>()?;
    module.add_class::<load::Group>()?;
    module.add_class::<prepared::Prepared>()?;
    module.add_class::<task::Task>()?;
    module.add_class::<cycle::Cycle>()?;
    module.add_class::<calibrate::NullServer>()?;
    module.add_class::<conformance::Conformance>()?;
    module.add_class::<ledger::Ledger>()?;
    module.add_class::<histories::Histories>()?;
    module.add_class::<histories::Judged>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<forgetful::Forgetful>()?;
    module.add_function(wrap_pyfunction!(conformance::families, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::schedules, module)?)?;
    module.add_function(wrap_pyfunction!(histories::anomalies, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::measuring, module)?)?;
    module.add_function(wrap_pyfunction!(now_ns, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(entry::workload_entry, module)?)?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(driver::by_format, module)?)?;
    module.add_function(wrap_pyfunction!(bench::draws, module)?)?;
    module.add_function(wrap_pyfunction!(cycle::buckets, module)?)?;
    Ok(())
}
