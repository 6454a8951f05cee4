//! Making load: the loop, its clients, when they start and end, and the threads that carry them.

pub mod calibrate;
#[cfg(target_os = "linux")]
pub mod carrier;
#[cfg(not(target_os = "linux"))]
#[path = "carrier/none.rs"]
pub mod carrier;
pub mod fill;
pub mod generator;
pub mod legs;
pub mod limit;
pub mod pacer;
pub mod pairs;
pub mod patience;
pub mod placement;
pub mod seats;
mod sleeping;
pub mod terminals;
pub mod threads;
