//! PostgreSQL, by a client of our own: a prepared statement is one send and one receive, out of and
//! into buffers that are kept. `url`, `service` and `options` say where; `socket`, `tls`, `auth`, `login` and
//! `sessions` open a session; `wire`, `input`, `reply`, `known`, `statement`, `types` and `text` speak the protocol (version
//! 3.0); `connection`, `simple`, `copy`, `pipeline` and `place` are what the loop calls.

mod auth;
mod connection;
mod copy;
mod describe;
mod input;
mod interrupt;
mod known;
mod login;
mod numeric;
mod options;
mod passfile;
mod pipeline;
mod place;
mod reply;
mod service;
mod sessions;
mod simple;
mod socket;
mod sqlstate;
mod statement;
mod text;
mod tls;
mod types;
mod url;
mod user;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Pooled, Session};
use dsbench_core::error::{ErrorKind, Result};

use self::connection::PostgresConnection;
use self::options::Options;
use self::sessions::{Found, Prove, Way};
use crate::net::tls::Tls;

/// Name of the schema that is dsbench's place.
const PLACE: &str = "dsbench";

const DIALECT: Dialect =
    Dialect { name: "postgres", procedures: true, embedded: false, single_writer: false, keeps_data: true };

/// Binds PostgreSQL to a target by libpq's rules: URL, PG* environment, .pgpass. Error
/// `Configuration` when they make no sense; nothing is connected yet.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    let resolved = Options::resolve(url, &|name| std::env::var(name).ok())?;
    let host = |options| Ok(Host { tls: tls::set_up(&options)?, options });
    let hosts: Result<_> = resolved.hosts.into_iter().map(host).collect();
    Ok(Box::new(Postgres {
        hosts: hosts?,
        passed_over: resolved.passed_over,
        found: Found::default(),
        unproved: AtomicBool::new(false),
    }))
}

/// A host that a target names.
pub struct Host {
    options: Options,
    tls: Option<Tls>,
}

/// A PostgreSQL server at one target.
struct Postgres {
    /// Tried in order, by every session.
    hosts: Vec<Host>,
    /// Parameters of the target that change nothing here.
    passed_over: Vec<String>,
    /// How its sessions get their settings.
    found: Found,
    /// Whether it did not understand what a session was asked.
    unproved: AtomicBool,
}

impl Postgres {
    fn open(&self, session: Session, prove: Prove) -> Result<Box<dyn Connection>> {
        let (opened, frame) = sessions::open(self, session, prove)?;
        Ok(Box::new(PostgresConnection::new(opened, frame, session.in_place)))
    }

    /// The target for messages.
    fn place(&self) -> String {
        self.hosts.iter().map(|host| host.options.place()).collect::<Vec<_>>().join(", ")
    }
}

impl Engine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.options.server()).collect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.open(session, Prove::Always)
    }

    fn connect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.open(Session { isolation, in_place: false }, Prove::Leniently)
    }

    fn reconnect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.open(session, Prove::Not)
    }

    fn reconnect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.reconnect(Session { isolation, in_place: false })
    }

    fn is_unproved(&self) -> bool {
        self.unproved.load(Ordering::Relaxed)
    }

    fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    fn pooled(&self) -> Option<Pooled> {
        match self.found.way()? {
            Way::Login => None,
            Way::Set => Some(Pooled::Sessions),
            Way::Transaction => Some(Pooled::Transactions),
        }
    }

    fn waits_in_sockets(&self) -> bool {
        true
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        sqlstate::kind(code.as_bytes())
    }

    fn is_read_only(&self, code: &str) -> bool {
        code == sqlstate::READ_ONLY
    }

    fn place(&self) -> &dyn Place {
        self
    }
}
