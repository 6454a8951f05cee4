//! The PostgreSQL engine against real, private servers.
#![cfg(all(unix, feature = "postgres"))]

#[path = "postgres/allocations.rs"]
mod allocations;
#[path = "postgres/bulk.rs"]
mod bulk;
#[cfg(target_os = "linux")]
#[path = "postgres/carriers.rs"]
mod carriers;
#[path = "postgres/conformance.rs"]
mod conformance;
#[path = "common/counting.rs"]
mod counting;
#[path = "postgres/errors.rs"]
mod errors;
#[path = "postgres/fakes.rs"]
mod fakes;
#[cfg(target_os = "linux")]
#[path = "common/following.rs"]
mod following;
#[path = "postgres/login.rs"]
mod login;
#[path = "postgres/losses.rs"]
mod losses;
#[path = "postgres/place.rs"]
mod place;
#[cfg(target_os = "linux")]
#[path = "postgres/placement.rs"]
mod placement;
#[path = "common/pool.rs"]
mod pool;
#[cfg(target_os = "linux")]
#[path = "common/probe.rs"]
mod probe;
#[path = "postgres/server.rs"]
mod server;
#[path = "postgres/tls.rs"]
mod tls;
#[path = "postgres/values.rs"]
mod values;
