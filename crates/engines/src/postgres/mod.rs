//! PostgreSQL, by a client of our own: a prepared statement is one send and one receive, out of and
//! into buffers that are kept. `url` and `options` say where; `socket`, `tls`, `auth`, `login` and
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

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Pooled, Session};
use dsbench_core::error::{ErrorKind, Result};

use self::connection::PostgresConnection;
use self::options::Options;
use self::sessions::{Found, Way};
use crate::net::tls::Tls;

/// Name of the schema that is dsbench's place.
const PLACE: &str = "dsbench";

const DIALECT: Dialect =
    Dialect { name: "postgres", procedures: true, embedded: false, single_writer: false, keeps_data: true };

/// Binds PostgreSQL to a target by libpq's rules: URL, PG* environment, .pgpass. Error
/// `Configuration` when they make no sense; nothing is connected yet.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    let options = Options::resolve(url, &|name| std::env::var(name).ok())?;
    let tls = tls::set_up(&options)?;
    Ok(Box::new(Postgres { options, tls, found: Found::default() }))
}

/// A PostgreSQL server at one target.
struct Postgres {
    options: Options,
    tls: Option<Tls>,
    /// How its sessions get their settings.
    found: Found,
}

impl Engine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let (opened, frame) = sessions::open(self, session, true)?;
        Ok(Box::new(PostgresConnection::new(opened, frame, session.in_place)))
    }

    fn reconnect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let (opened, frame) = sessions::open(self, session, false)?;
        Ok(Box::new(PostgresConnection::new(opened, frame, session.in_place)))
    }

    fn reconnect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.reconnect(Session { isolation, in_place: false })
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

    fn place(&self) -> &dyn Place {
        self
    }
}
