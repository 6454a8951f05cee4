//! The loop against a scripted engine on a fake clock: exact to the nanosecond, without sleeping.

#![cfg(feature = "mock")]

mod bed;
mod counting;
mod losses;
mod pacing;
