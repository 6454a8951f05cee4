//! PostgreSQL, by a client of our own: a prepared statement is one send and one receive, out of and
//! into buffers that are kept. `url` and `options` say where; `socket`, `tls`, `auth` and `login`
//! open a session; `wire`, `input`, `reply`, `statement`, `types` and `text` speak the protocol (version 3.0);
//! `connection`, `simple`, `copy`, `pipeline` and `place` are what the loop calls.

mod auth;
mod connection;
mod copy;
mod describe;
mod input;
mod interrupt;
mod login;
mod numeric;
mod options;
mod passfile;
mod pipeline;
mod place;
mod placeholders;
mod reply;
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

use dsbench_core::engine::{Connection, Dialect, Engine, Place, Session};
use dsbench_core::error::{ErrorKind, Result};

use self::connection::PostgresConnection;
use self::options::Options;
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
    Ok(Box::new(Postgres { options, tls }))
}

/// A PostgreSQL server at one target.
struct Postgres {
    options: Options,
    tls: Option<Tls>,
}

impl Engine for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let session = login::open(&self.options, self.tls.as_ref(), session)?;
        Ok(Box::new(PostgresConnection::new(session)))
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
