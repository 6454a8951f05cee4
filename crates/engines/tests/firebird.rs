//! The Firebird engine against real databases: of private servers, and of the engine in this process.
//!
//! They need Debian's firebird3.0-server and firebird3.0-utils. With FIREBIRD_TEST_LIBRARY (path of a
//! libfbclient with its engine, version 4 or 5) everything that needs no server runs on that one.
#![cfg(all(target_os = "linux", feature = "firebird"))]

#[path = "firebird/bed.rs"]
mod bed;
#[path = "firebird/bulk.rs"]
mod bulk;
#[path = "firebird/conformance.rs"]
mod conformance;
#[path = "common/folder.rs"]
mod folder;
#[path = "firebird/isolation.rs"]
mod isolation;
#[path = "firebird/loss.rs"]
mod loss;
#[path = "firebird/place.rs"]
mod place;
#[path = "common/pool.rs"]
mod pool;
#[path = "firebird/server.rs"]
mod server;
#[path = "firebird/sessions.rs"]
mod sessions;
#[path = "firebird/values.rs"]
mod values;
