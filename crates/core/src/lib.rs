//! dsbench-core: the contracts of engines and workloads, and the one loop that makes load.
//!
//! Read in this order: [`engine`] (what a database must do), [`workload`] (what a benchmark
//! must do), [`generator`] (the loop), [`recorder`] (what is kept of a transaction).

pub mod calibrate;
#[cfg(target_os = "linux")]
pub mod carrier;
#[cfg(not(target_os = "linux"))]
#[path = "carrier_none.rs"]
pub mod carrier;
pub mod clock;
pub mod course;
pub mod engine;
pub mod error;
pub mod generator;
pub mod histogram;
pub mod pacer;
mod patience;
pub mod random;
pub mod recorder;
pub mod seats;
pub mod sql;
pub mod terminals;
pub mod threads;
pub mod trace;
pub mod value;
pub mod workload;
