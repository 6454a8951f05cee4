//! What transactions saw of each other: [`play`] has clients append items to lists and read them, [`judge`] finds the
//! anomalies in what they noted, without a word of the server's.
//!
//! Each item is appended once, so that a list tells in which order its writers came, and what a reader of it saw and
//! missed. The method is that of Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
//! Observations", VLDB 14 (2020); the anomalies are Adya's, "Weak Consistency" (MIT, 1999). `graph` finds cycles,
//! `telling` puts one into words.

mod graph;
mod history;
pub mod judge;
pub mod play;
mod telling;

pub use history::{End, History, Op, Transaction};
pub use judge::{judge, Anomaly, Findings, Kind, Stale};
