//! The loop against a scripted engine, mostly on a fake clock: exact to the nanosecond, without sleeping.

#![cfg(feature = "mock")]

mod bed;
mod counting;
mod ends;
mod groups;
mod losses;
mod pacing;
mod terminals;
