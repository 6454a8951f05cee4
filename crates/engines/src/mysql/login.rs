//! Opens a session: socket, greeting, TLS, authentication, settings. All of it within one deadline,
//! and with one round trip more than the protocol forces: the one that sets the session up.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsbench_core::engine::{Isolation, Session};
use dsbench_core::error::{Error, ErrorKind, Result};

use super::auth::{Authentication, Method};
use super::fields::{garbage, Fields};
use super::greeting::{self, capability, Greeting, Login};
use super::interrupt::Killer;
use super::options::{Options, SslMode};
use super::packet::{self, Input};
use super::reply::{Complaint, END, ERROR, OK};
use super::take::TableRows;
use super::wire::Wire;
use super::PLACE;
use crate::net::socket::{self, Address};
use crate::net::tls::{self, Check, Tls, Wishes};
use crate::net::transport::Transport;
use crate::secret::Secret;

/// First byte of what a method of login says further on.
const MORE: u8 = 0x01;

/// The server's code for a wrong password.
const ACCESS_DENIED: &str = "1045";

/// How the servers of a target are reached, made once for all connections; one at least.
pub(super) type Reach = Arc<[Host]>;

/// How one of them is reached.
pub(super) struct Host {
    /// Where it is, and who we are.
    pub(super) options: Options,
    tls: Option<Tls>,
}

impl Host {
    /// Reads the certificates that `options` name. Error `Configuration` when one cannot be used.
    pub(super) fn new(options: Options) -> Result<Self> {
        let check = match options.tls.mode {
            SslMode::Disabled => return Ok(Self { options, tls: None }),
            SslMode::Preferred | SslMode::Required => Check::Nothing,
            SslMode::VerifyCa => Check::Authority,
            SslMode::VerifyIdentity => Check::Name,
        };
        let (authorities, identity) = (options.tls.authorities.as_deref(), options.tls.identity.as_ref());
        let tls =
            Tls::new(&Wishes { check, authorities, identity, host: &options.host, revoked: &[], protocol: None })?;
        Ok(Self { tls: Some(tls), options })
    }
}

/// A fresh session and what ends it.
pub(super) struct LoggedIn {
    /// The connection.
    pub(super) wire: Wire,
    /// How its session is ended on the server.
    pub(super) killer: Killer,
    /// Most bytes of a packet that the server takes.
    pub(super) largest_packet: usize,
    /// Number of its host in the target.
    pub(super) host: usize,
}

/// Logs in at the host that answers; of several at the first that takes writes.
pub(super) fn open(reach: &Reach, session: Session) -> Result<LoggedIn> {
    let mut failed: Vec<Error> = Vec::new();
    for (at, host) in reach.iter().enumerate() {
        match open_at(reach, at, session, host.options.connect_timeout, reach.len() > 1) {
            Ok(mut opened) => {
                let lifted = opened.wire.transport.lift_deadline();
                lifted.map_err(|e| Error::with(ErrorKind::Setup, "connect", e.to_string()))?;
                return Ok(opened);
            }
            Err(error) if reach.len() > 1 && PASSING.contains(&error.code.as_str()) => failed.push(error),
            Err(error) => return Err(error),
        }
    }
    let words: Vec<String> = failed.iter().map(Error::to_string).collect();
    let first = failed.into_iter().next().unwrap_or_else(|| setup("the target names no host".into()));
    Err(if words.len() > 1 { first.wrapped("", words.join("; ")) } else { first })
}

/// Codes of errors after which another host is tried: none came, ER_SERVER_SHUTDOWN, and ER_UNKNOWN_COM_ERROR, which a
/// node of Galera has while it belongs to no cluster.
const PASSING: &[&str] = &["", "1053", "1047"];

/// Logs in at one of the hosts, where it `writes` at one that takes writes; the time limit stays for all that is read on
/// the session.
pub(super) fn open_at(
    reach: &Reach,
    at: usize,
    session: Session,
    limit: Option<Duration>,
    writes: bool,
) -> Result<LoggedIn> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    let mut absent = None;
    for address in &reach[at].options.addresses {
        match socket::connect(address, deadline) {
            Ok(channel) => return Opening::new(reach, at, session, address, Transport::Plain(channel)).run(writes),
            Err(error) => {
                absent.get_or_insert_with(|| {
                    let remedy = "start the server, or name its host and port, or its socket, in the target";
                    setup(format!("{address}: {error}")).remedy(remedy)
                });
            }
        }
    }
    Err(absent.unwrap_or_else(|| setup("there is no place to connect to".into())))
}

/// A session on its way.
struct Opening<'a> {
    reach: &'a Reach,
    at: usize,
    host: &'a Host,
    session: Session,
    address: &'a Address,
    transport: Transport,
    input: Input,
    output: Vec<u8>,
    /// Number of our next packet.
    number: u8,
}

impl<'a> Opening<'a> {
    fn new(reach: &'a Reach, at: usize, session: Session, address: &'a Address, transport: Transport) -> Self {
        let host = &reach[at];
        Self { reach, at, host, session, address, transport, input: Input::new(), output: Vec::new(), number: 0 }
    }

    fn run(mut self, writes: bool) -> Result<LoggedIn> {
        let greeting = self.greeting()?;
        let encrypted = self.wants_tls(&greeting)?;
        let database = if self.session.in_place { Some(PLACE) } else { self.host.options.database.as_deref() };
        let agreed = greeting.agreed(encrypted, database.is_some());
        if encrypted {
            self = self.encrypt(agreed)?;
        }
        self.authenticate(&greeting, agreed, database)?;
        self.input.login_done();
        let mut wire = Wire::new(self.transport, self.input, agreed & capability::CACHE_METADATA != 0);
        if writes && is_read_only(&mut wire)? {
            let remedy = "name the host that takes writes, or set its read_only off";
            return Err(setup(format!("{}: this server takes no writes (read_only)", self.address)).remedy(remedy));
        }
        let largest_packet = set_up(&mut wire, &self.host.options, self.session)?;
        Ok(LoggedIn {
            wire,
            largest_packet,
            host: self.at,
            killer: Killer { reach: Arc::clone(self.reach), at: self.at, session: greeting.session },
        })
    }

    fn broken(&self, error: &io::Error) -> Error {
        // A MySQL speaks first, and a PostgreSQL waits to be spoken to.
        if self.number == 0 && error.kind() == io::ErrorKind::TimedOut {
            return setup(format!(
                "{}: something answers there, but it does not greet as MySQL and MariaDB do ({error}); \
                 name the port of one of them, or the right product: postgresql://…",
                self.address
            ));
        }
        setup(format!("{}: {error}", self.address))
    }

    fn complaint(&self, rest: &[u8]) -> Error {
        match Complaint::read(rest) {
            Ok(complaint) => complaint.error_of_kind(ErrorKind::Setup, "connect"),
            Err(error) => self.broken(&error),
        }
    }

    /// The next packet, copied: what is said during a login is short and seldom.
    fn receive(&mut self) -> Result<Vec<u8>> {
        self.input.expect(self.number);
        let content = self.input.next(&mut self.transport).map(<[u8]>::to_vec);
        let content = content.map_err(|error| self.broken(&error))?;
        self.number = self.input.number();
        match content.as_slice() {
            [ERROR, rest @ ..] => Err(self.complaint(rest)),
            [] => Err(self.broken(&garbage("an empty packet during the login"))),
            _ => Ok(content),
        }
    }

    /// Sends the packet in `output`.
    fn send(&mut self) -> Result<()> {
        self.number = packet::close(&mut self.output, self.number);
        let sent = self.transport.send(&self.output);
        sent.map_err(|error| self.broken(&error))
    }

    fn send_answer(&mut self, answer: &[u8]) -> Result<()> {
        packet::open(&mut self.output);
        self.output.extend_from_slice(answer);
        self.send()
    }

    fn greeting(&mut self) -> Result<Greeting> {
        let content = self.receive()?;
        Greeting::read(&content).map_err(|error| self.broken(&error))
    }

    fn is_socket(&self) -> bool {
        matches!(self.address, Address::Unix(_))
    }

    fn wants_tls(&self, greeting: &Greeting) -> Result<bool> {
        let offered = greeting.capabilities & capability::SSL != 0;
        match self.host.options.tls.mode {
            SslMode::Disabled => Ok(false),
            // Like the mysql client: a unix socket is private without TLS.
            SslMode::Preferred => Ok(offered && !self.is_socket()),
            _ if offered => Ok(true),
            _ => Err(setup(format!("{}: the server has no TLS", self.address))
                .remedy("set it up there, or use ssl_mode=DISABLED")),
        }
    }

    fn encrypt(mut self, agreed: u64) -> Result<Self> {
        greeting::ask(&mut self.output, agreed);
        self.send()?;
        let failed = |error: io::Error, address: &Address| {
            let remedy = tls::remedy(&error, "ssl_ca=", "ssl_mode=VERIFY_CA").map(Into::into);
            Error { remedy, ..setup(format!("{address}: TLS: {error}")) }
        };
        // Bytes that came before the handshake were not sent by the owner of the certificate.
        if self.input.has_more() {
            return Err(failed(garbage("more than its greeting"), self.address));
        }
        self.transport = match (self.transport, &self.host.tls) {
            (Transport::Plain(channel), Some(tls)) => {
                tls.handshake(channel).map_err(|error| failed(error, self.address))?
            }
            (transport, _) => transport,
        };
        Ok(self)
    }

    fn authenticate(&mut self, greeting: &Greeting, agreed: u64, database: Option<&str>) -> Result<()> {
        // For a method that we do not know the server asks to change to the one of the user.
        let mut login = self.login(Method::of(&greeting.method).unwrap_or(Method::Native), &greeting.challenge);
        // A default method that would show the password may not be the user's at all.
        let (answer, mut withheld) =
            login.first().map_or_else(|error| (Vec::new(), Some(error)), |answer| (answer, None));
        let first = Login { user: &self.host.options.user, database, method: login.method.name(), answer };
        greeting::answer(&mut self.output, agreed, &first);
        self.send()?;
        loop {
            let content = self.receive().map_err(|error| match &withheld {
                Some(why) if error.code.as_str() == ACCESS_DENIED => why.clone(),
                _ => error,
            })?;
            let answer = match content.as_slice() {
                [OK, ..] => return Ok(()),
                [MORE, said @ ..] => login.more(said)?,
                [END, change @ ..] => {
                    (login, withheld) = (self.change(change)?, None);
                    Some(login.first()?)
                }
                _ => return Err(self.broken(&garbage("an unknown packet during the login"))),
            };
            if let Some(answer) = answer {
                self.send_answer(&answer)?;
            }
        }
    }

    fn login(&self, method: Method, challenge: &[u8]) -> Authentication<'a> {
        Authentication {
            method,
            password: self.host.options.password.as_ref().map_or("", Secret::reveal),
            challenge: challenge.to_vec(),
            encrypted: matches!(self.transport, Transport::Tls(_)),
            trusted: self.host.options.tls.mode >= SslMode::VerifyCa || self.host.options.enable_cleartext_plugin,
            local: self.is_socket(),
            may_ask_for_key: self.host.options.allow_public_key_retrieval,
        }
    }

    /// The server wants another method of login.
    fn change(&self, change: &[u8]) -> Result<Authentication<'a>> {
        let mut fields = Fields(change);
        let name = fields.zero_ended().map_err(|_| setup("the server wants a login of MySQL 4".into()))?;
        let name = String::from_utf8_lossy(name);
        let method = Method::of(&name).ok_or_else(|| {
            setup(format!("{}: dsbench has no login by {name}", self.address)).remedy("give the user one by password")
        })?;
        Ok(self.login(method, fields.0.strip_suffix(&[0]).unwrap_or(fields.0)))
    }
}

/// Sets isolation, sql_mode, time zone and storage engine, and asks whether that is in force, in one round trip: a proxy
/// may change or drop what it passes on. Gives the size of the largest packet that the server takes.
fn set_up(wire: &mut Wire, options: &Options, session: Session) -> Result<usize> {
    let engine = options.storage_engine.as_deref();
    let isolation = match session.isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable if engine.is_some_and(|name| name.eq_ignore_ascii_case("rocksdb")) => {
            return Err(Error::configuration("MyRocks has no SERIALIZABLE").remedy("use --isolation repeatable-read"));
        }
        Isolation::Serializable => "SERIALIZABLE",
    };
    let engine = engine.map(|name| format!(", default_storage_engine={name}")).unwrap_or_default();
    let sql = format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL {isolation};SET autocommit=1, \
         sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone='+00:00'{engine};\
         SELECT {LEVEL}, @@autocommit, @@time_zone, DATABASE(), @@max_allowed_packet"
    );
    let mut found = TableRows::default();
    let done = wire.text(&sql, "connect", ErrorKind::Setup, &mut found);
    done.map_err(|error| Error { kind: ErrorKind::Setup, ..error })?;
    let found: Vec<String> = found.table.rows.into_iter().flatten().map(Option::unwrap_or_default).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    match found[..] {
        [level, "1", "+00:00", database, packet]
            if level == isolation.replace(' ', "-") && (!session.in_place || database == PLACE) =>
        {
            Ok(packet.parse().unwrap_or(SMALLEST_PACKET))
        }
        _ => Err(setup(format!(
            "sessions do not have what dsbench asks for (isolation {isolation}, autocommit 1, time zone +00:00{}) but \
             {found:?}: something between changes them",
            if session.in_place { ", database dsbench" } else { "" }
        ))
        .remedy("name the server itself as the target")),
    }
}

/// Whether a server takes no writes, but from its administrators.
fn is_read_only(wire: &mut Wire) -> Result<bool> {
    let mut found = TableRows::default();
    let done = wire.text("SELECT @@global.read_only", "connect", ErrorKind::Setup, &mut found);
    done.map_err(|error| Error { kind: ErrorKind::Setup, ..error })?;
    Ok(found.table.rows.into_iter().flatten().flatten().next().is_none_or(|said| said != "0" && said != "OFF"))
}

/// The least max_allowed_packet of a server.
const SMALLEST_PACKET: usize = 1024;

/// The isolation of a session: each product takes the other's name of it for a comment.
const LEVEL: &str = "/*M! @@tx_isolation *//*!50720 @@transaction_isolation */";

fn setup(message: String) -> Error {
    Error::with(ErrorKind::Setup, "connect", message)
}
