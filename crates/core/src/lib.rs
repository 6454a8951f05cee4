//! dsbench-core: the contracts of engines and workloads, and the one loop that makes load.
//!
//! Read in this order: [`engine`] (what a database must do), [`workload`] (what a benchmark
//! must do), [`generator`] (the loop), [`recorder`] (what is kept of a transaction).

pub mod clock;
pub mod engine;
pub mod error;
pub mod random;
pub mod value;
pub mod workload;
