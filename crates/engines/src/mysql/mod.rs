//! MariaDB and MySQL, by a client of our own: a prepared statement is one send and one receive, out
//! of and into buffers that are kept. `options` says where; `greeting`, `auth` and `login` open
//! a session; `packet`, `fields`, `answer`, `reply` and `wire` speak the protocol (version 10);
//! `statement` and `binary` are prepared statements, `text` those that are not;
//! `connection`, `bulk` and `place` are what the loop calls.
//!
//! The isolation is the server's: InnoDB's REPEATABLE READ reads from a snapshot but writes to the
//! newest rows, so that updates computed by the client can be lost, unless MariaDB's
//! innodb_snapshot_isolation refuses them (error 1020, kind `Serialization`).

mod answer;
mod auth;
mod binary;
mod bulk;
mod codes;
mod connection;
mod fields;
mod greeting;
mod interrupt;
mod keys;
mod login;
mod options;
mod packet;
mod place;
mod reply;
mod rows;
mod size;
mod statement;
mod take;
mod text;
mod types;
mod wire;

use dsbench_core::engine::{Connection, Dialect, Engine, Place, Session};
use dsbench_core::error::{ErrorKind, Result};

use self::connection::MysqlConnection;
use self::login::{Host, Reach};
use self::options::Options;

/// Name of the database that is dsbench's place.
const PLACE: &str = "dsbench";

const DIALECT: Dialect =
    Dialect { name: "mysql", procedures: true, embedded: false, single_writer: false, keeps_data: true };

/// Binds MariaDB or MySQL to a target: `mysql://user:password@host:port/database?name=value`, with
/// these parameters; the password may be in MYSQL_PWD instead.
///
/// | parameter | meaning |
/// |---|---|
/// | `socket` | path of the server's unix socket, in place of host and port |
/// | `ssl_mode`, `ssl-mode`, `sslMode` | DISABLED, PREFERRED (default), REQUIRED, VERIFY_CA, VERIFY_IDENTITY |
/// | `ssl_ca`, `ssl_cert`, `ssl_key` | PEM files: trusted authorities, the client's certificate and its key |
/// | `storage_engine` | storage engine of the tables: InnoDB, RocksDB; default is the server's |
/// | `connect_timeout` | seconds that connecting may take; 0 waits for ever, default 10 |
/// | `allow_public_key_retrieval` | true: take the server's RSA key unseen to encrypt the password with |
/// | `enable_cleartext_plugin` | true: send the password as it is over TLS without a check of the certificate |
///
/// mysql_clear_password and sha256_password, which show the password to the server, are answered over a
/// unix socket and over TLS with a certificate that is checked (`ssl_ca`, VERIFY_CA, VERIFY_IDENTITY);
/// elsewhere by leave of the parameters above only. caching_sha2_password shows it over any TLS to a
/// server that has not seen it since its start, as with other clients: only a checked certificate keeps
/// it from an impostor.
///
/// What other clients call TLS is taken as they mean it (`useSSL`, `requireSSL`, `sslaccept`, `tls`); what means nothing
/// here is passed over by name.
///
/// Of several hosts, `mysql://user@db1:3306,db2/`, each session takes the first that answers and has read_only off. In
/// place of a name a host may be the path of a unix socket, with %2F for each slash.
///
/// Error `Configuration` when the target makes no sense; nothing is connected yet.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    let options = Options::resolve(url, &|name| std::env::var(name).ok())?;
    let hosts: Result<_> = options.into_iter().map(Host::new).collect();
    Ok(Box::new(Mysql { reach: hosts? }))
}

/// A server at one target.
struct Mysql {
    /// Tried in order, by every session.
    reach: Reach,
}

impl Engine for Mysql {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        Ok(Box::new(MysqlConnection::new(login::open(&self.reach, session)?)))
    }

    fn hosts(&self) -> Vec<String> {
        self.reach.iter().map(|host| host.options.server()).collect()
    }

    fn passed_over(&self) -> &[String] {
        &self.reach[0].options.passed_over
    }

    fn waits_in_sockets(&self) -> bool {
        true
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        code.parse().map_or(ErrorKind::Statement, codes::kind)
    }

    fn is_read_only(&self, code: &str) -> bool {
        codes::READ_ONLY.contains(&code)
    }

    fn place(&self) -> &dyn Place {
        self
    }
}
