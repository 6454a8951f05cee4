//! The MySQL engine against real, private servers.
#![cfg(all(unix, feature = "mysql"))]

#[path = "mysql/allocations.rs"]
mod allocations;
#[path = "mysql/bulk.rs"]
mod bulk;
#[path = "mysql/conformance.rs"]
mod conformance;
#[path = "common/counting.rs"]
mod counting;
#[path = "mysql/errors.rs"]
mod errors;
#[path = "mysql/fakes.rs"]
mod fakes;
#[cfg(target_os = "linux")]
#[path = "common/following.rs"]
mod following;
#[path = "mysql/impostor.rs"]
mod impostor;
#[path = "mysql/isolation.rs"]
mod isolation;
#[path = "mysql/login.rs"]
mod login;
#[path = "mysql/losses.rs"]
mod losses;
#[path = "mysql/place.rs"]
mod place;
#[cfg(target_os = "linux")]
#[path = "mysql/placement.rs"]
mod placement;
#[path = "common/pool.rs"]
mod pool;
#[cfg(target_os = "linux")]
#[path = "common/probe.rs"]
mod probe;
#[path = "mysql/procedures.rs"]
mod procedures;
#[path = "mysql/server.rs"]
mod server;
#[path = "mysql/tls.rs"]
mod tls;
#[path = "mysql/values.rs"]
mod values;
