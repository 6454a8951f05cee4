//! What is kept of transactions: counters, histograms, the course by second, the trace.

pub mod board;
pub mod course;
pub mod histogram;
pub mod pauses;
pub mod recorder;
pub mod trace;
mod zeroed;
