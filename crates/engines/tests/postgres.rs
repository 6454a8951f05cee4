//! The PostgreSQL engine against real, private servers.
#![cfg(all(unix, feature = "postgres"))]

#[path = "postgres/server.rs"]
mod server;
#[path = "postgres/values.rs"]
mod values;
