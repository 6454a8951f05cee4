//! dsbench-core: the contracts of engines and workloads, and the one loop that makes load.
//!
//! Read in this order: [`engine`] (what a database must do), [`workload`] (what a benchmark must do),
//! [`stage`] (what happens on one database, one thing after another), [`generator`] (the loop),
//! [`recorder`] (what is kept of a transaction). [`fill`] fills in the plan of a stage with what a run asks for; [`lexer`]
//! cuts SQL into tokens for all who look into it.

pub mod clock;
pub mod contract;
pub mod load;
pub mod locking;
pub mod random;
pub mod record;

pub use contract::{engine, error, lexer, sql, stage, value, workload};
pub use load::{
    calibrate, carrier, fill, generator, legs, limit, pacer, pairs, patience, placement, seats, terminals, threads,
};
pub use record::{board, course, histogram, pauses, recorder, trace};
