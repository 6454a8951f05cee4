//! What engines and workloads must be able to do.

pub mod engine;
pub mod error;
pub mod lexer;
pub mod progress;
pub mod sql;
pub mod stage;
pub mod value;
pub mod workload;
