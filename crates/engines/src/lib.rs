//! The database engines of dsbench. Adding one: a file or folder here and its schemes in the registry;
//! ARCHITECTURE.md lists what else has to know it.

// With only one engine compiled in, some of the shared code is not used.
#![cfg_attr(
    not(all(feature = "firebird", feature = "mock", feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code)
)]

use dsbench_core::engine::Engine;
use dsbench_core::error::{Error, Result};

#[cfg(any(feature = "mysql", feature = "postgres"))]
mod datetime;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod decimal;
mod existing;
#[cfg(feature = "firebird")]
pub mod firebird;
mod misuse;
#[cfg(feature = "mock")]
pub mod mock;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod net;
mod place;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(test)]
mod samples;
mod secret;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod url;

/// The registry: URL schemes and how their engines are opened.
type Open = fn(&str) -> Result<Box<dyn Engine>>;
const REGISTRY: &[(&str, Open)] = &[
    #[cfg(feature = "postgres")]
    ("postgresql", postgres::open),
    #[cfg(feature = "postgres")]
    ("postgres", postgres::open),
    #[cfg(feature = "mysql")]
    ("mysql", mysql::open),
    #[cfg(feature = "mysql")]
    ("mariadb", mysql::open),
    #[cfg(feature = "firebird")]
    ("firebird", firebird::open),
    #[cfg(feature = "sqlite")]
    ("sqlite", sqlite::open),
    #[cfg(feature = "mock")]
    ("mock", mock::open),
];

/// The URL schemes that [`open`] knows.
pub fn schemes() -> Vec<&'static str> {
    REGISTRY.iter().map(|(scheme, _)| *scheme).collect()
}

/// The same for tables that somebody else made: see [`existing`].
pub fn open_existing(url: &str) -> Result<Box<dyn Engine>> {
    Ok(Box::new(existing::Existing::new(open(url)?)))
}

/// Binds an engine to a target URL; no connection is made yet. No error repeats what may be a password.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    match REGISTRY.iter().find(|(known, _)| *known == scheme) {
        // A file has no password, and its name may hold anything.
        Some(("sqlite", open)) => open(url),
        Some((_, open)) => url::check_authority(url).and_then(|()| open(url)),
        None => {
            let shown = if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) { scheme } else { "its beginning" };
            Err(Error::configuration(format!("no engine for {shown:?}"))
                .remedy(format!("begin the target with one of {}, or with private:", schemes().join(", "))))
        }
    }
}
