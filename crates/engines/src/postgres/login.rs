//! Opens a session: socket, TLS, startup, authentication. All of it within one deadline, and with
//! no round trip that the protocol does not force.

use std::io;
use std::time::Instant;

use dsbench_core::error::{Error, ErrorKind, Result};

use super::auth::Authentication;
use super::input::Input;
use super::interrupt::Cancel;
use super::options::{Attributes, Options, SslMode};
use super::reply::{Complaint, Fields};
use super::socket::addresses;
use super::wire::{Wire, IDLE};
use super::{simple, tls, Host};
use crate::net::socket::{self, Address};
use crate::net::tls::Tls;
use crate::net::transport::Transport;

/// A fresh session and what cancels its statements.
pub struct LoggedIn {
    /// The connection.
    pub wire: Wire,
    /// Where and with which key its statements are cancelled.
    pub cancel: Cancel,
    /// Number of its host in the target.
    pub host: usize,
}

/// Why an attempt failed.
enum Failure {
    /// What the user gets to see.
    Final(Error),
    /// The server refused the session before it was open; with or without TLS it might accept it.
    Refused(Error),
    /// No server answers there, or one that is not as it is wanted.
    Absent(Error),
}

/// Logs in at the first host that gives a session as it is wanted.
///
/// The session is asked for with `settings`. The time limit stays for what is read on it until it is lifted.
pub fn open(hosts: &[Host], settings: &[(&str, &str)]) -> Result<LoggedIn> {
    let mut failed = Vec::new();
    let wanted = hosts.first().map_or(Attributes::Any, |host| host.options.attributes);
    let passes = match wanted {
        Attributes::PreferStandby => vec![Attributes::Standby, Attributes::Any],
        wanted => vec![wanted],
    };
    for attributes in passes {
        failed.clear();
        for (at, host) in hosts.iter().enumerate() {
            let opened = open_at(&host.options, host.tls.as_ref(), settings);
            match opened.and_then(|session| fit(session, attributes, host)) {
                Ok(found) => return Ok(LoggedIn { host: at, ..found }),
                Err(Failure::Absent(error)) => failed.push(error),
                Err(Failure::Final(error) | Failure::Refused(error)) if error.code.as_str() == NOT_NOW => {
                    failed.push(error)
                }
                Err(Failure::Final(error) | Failure::Refused(error)) => return Err(error),
            }
        }
    }
    let words: Vec<String> = failed.iter().map(Error::to_string).collect();
    let first = failed.into_iter().next();
    let first = first.unwrap_or_else(|| Error::with(ErrorKind::Setup, "connect", "the target names no host"));
    Err(match words.len() {
        0 | 1 => first,
        _ => first.wrapped("", words.join("; ")),
    })
}

/// A session of a server that plays another part than `attributes` want is an error.
fn fit(mut session: LoggedIn, attributes: Attributes, host: &Host) -> Attempted {
    if matches!(attributes, Attributes::Any | Attributes::PreferStandby) {
        return Ok(session);
    }
    let found = simple::fetch(&mut session.wire, ROLE).map_err(|error| {
        let words = format!("{}: {error}", host.options.place());
        Failure::Final(error.wrapped("connect", words))
    })?;
    let cells: Vec<String> = found.rows.into_iter().flatten().map(Option::unwrap_or_default).collect();
    let (copy, read_only) = match &cells[..] {
        [copy, read_only] => (copy == "t", read_only == "on"),
        _ => (false, false),
    };
    let fits = match attributes {
        Attributes::ReadWrite => !copy && !read_only,
        Attributes::ReadOnly => copy || read_only,
        Attributes::Primary => !copy,
        Attributes::Standby => copy,
        Attributes::Any | Attributes::PreferStandby => true,
    };
    if fits {
        return Ok(session);
    }
    let what = match (copy, read_only) {
        (true, _) => "this server is a copy (hot standby)",
        (_, true) => "its sessions take no writes (default_transaction_read_only)",
        _ => "this server is a primary that takes writes",
    };
    let words = format!("{}: {what}, which target_session_attrs excludes", host.options.place());
    let error = Error::with(ErrorKind::Setup, "connect", words);
    Err(Failure::Absent(error.remedy("name another host, or change target_session_attrs")))
}

/// Whether the server is a copy, and whether its sessions refuse writes.
const ROLE: &str = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only')";
/// cannot_connect_now: the server starts up or goes down.
const NOT_NOW: &str = "57P03";

fn open_at(options: &Options, tls: Option<&Tls>, settings: &[(&str, &str)]) -> Attempted {
    let deadline = options.connect_timeout.map(|limit| Instant::now() + limit);
    let mut absent = None;
    for address in addresses(options) {
        match (Attempt { options, tls, settings, address: &address, deadline }).in_any_mode() {
            Ok(found) => return Ok(found),
            Err(Failure::Absent(error)) => {
                absent.get_or_insert(error);
            }
            failed => return failed,
        }
    }
    let nowhere = || Error::with(ErrorKind::Setup, "connect", "there is no place to connect to");
    Err(Failure::Absent(absent.unwrap_or_else(nowhere)))
}

/// A login at one place.
struct Attempt<'a> {
    options: &'a Options,
    tls: Option<&'a Tls>,
    settings: &'a [(&'a str, &'a str)],
    address: &'a Address,
    deadline: Option<Instant>,
}

type Attempted = std::result::Result<LoggedIn, Failure>;

impl Attempt<'_> {
    /// Plain or with TLS, as sslmode says.
    fn in_any_mode(&self) -> Attempted {
        // TLS is for networks: sslmode says nothing about a unix socket, as in libpq.
        let mode = if matches!(self.address, Address::Unix(_)) { SslMode::Disable } else { self.options.tls.mode };
        match mode {
            SslMode::Disable => self.once(false),
            // Of two refusals the first is the one of the way that was preferred.
            SslMode::Allow => self.once(false).or_else(|first| self.other_way(first, true)),
            SslMode::Prefer => self.once(true).or_else(|first| self.other_way(first, false)),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => self.once(true),
        }
    }

    fn other_way(&self, first: Failure, with_tls: bool) -> Attempted {
        match first {
            Failure::Refused(error) => self.once(with_tls).map_err(|_| Failure::Final(error)),
            first => Err(first),
        }
    }

    fn once(&self, with_tls: bool) -> Attempted {
        let (options, address) = (self.options, self.address);
        let gone = |error: io::Error| Failure::Absent(absent(address, &error));
        let channel = socket::connect(address, self.deadline).map_err(gone)?;
        if matches!(address, Address::Tcp(..)) {
            options.keepalive.set(channel.socket()).map_err(gone)?;
        }
        let mut transport = Transport::Plain(channel);
        if with_tls {
            transport = match tls::start(transport, self.tls, options).map_err(Failure::Refused)? {
                tls::Started::Encrypted(transport) => transport,
                tls::Started::Declined(transport) if options.tls.mode <= SslMode::Prefer => transport,
                tls::Started::Declined(_) => {
                    let error = Error::with(ErrorKind::Setup, "connect", format!("{address}: the server has no TLS"));
                    return Err(Failure::Final(error.remedy("turn ssl on there, or use sslmode=disable")));
                }
            };
        }
        self.log_in(transport)
    }

    /// Startup and authentication, up to the first ReadyForQuery.
    fn log_in(&self, mut transport: Transport) -> Attempted {
        let (options, address) = (self.options, self.address);
        let broken =
            |error: io::Error| Failure::Final(Error::with(ErrorKind::Setup, "connect", format!("{address}: {error}")));
        transport.send(&startup(options, self.settings)).map_err(broken)?;
        let mut input = Input::new();
        let mut authentication = Authentication::new(options, &transport);
        let mut cancel = Cancel::new(address.clone());
        let mut welcome = false;
        loop {
            let (tag, body) = input.next(&mut transport).map_err(broken)?;
            match tag {
                b'R' => {
                    if let Some(answer) = authentication.answer(body).map_err(Failure::Final)? {
                        transport.send(&answer).map_err(broken)?;
                    } else if authentication.is_done() {
                        welcome = true;
                        input.login_done();
                    }
                }
                b'K' => {
                    let mut fields = Fields(body);
                    let (process, key) = (fields.int32().map_err(broken)?, fields.int32().map_err(broken)?);
                    cancel.set_key(process, key);
                }
                b'E' => {
                    let complaint = Complaint::read(body);
                    let message = format!("{}: {}", options.place(), complaint.words());
                    let error = complaint.error_of_kind(ErrorKind::Setup, "connect").wrapped("connect", message);
                    return Err(if welcome { Failure::Final(error) } else { Failure::Refused(error) });
                }
                b'Z' if welcome => break,
                b'S' | b'N' | b'A' => {}
                b'v' => {}
                other => {
                    let what = format!("a message of type {:?} during the login", char::from(other));
                    return Err(broken(super::input::garbage(&what)));
                }
            }
        }
        Ok(LoggedIn { wire: Wire::new(transport, input, IDLE), cancel, host: 0 })
    }
}

/// The startup message. It carries the settings of the session, so that none needs a round trip.
fn startup(options: &Options, settings: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0, 0, 3, 0, 0];
    let mut setting = |name: &str, value: &str| {
        for text in [name, value] {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
    };
    setting("user", &options.user);
    setting("database", &options.database);
    setting("application_name", &options.application_name);
    setting("client_encoding", "UTF8");
    setting("DateStyle", "ISO");
    for (name, value) in
        options.session.iter().map(|(name, value)| (*name, value.as_str())).chain(settings.iter().copied())
    {
        setting(name, value);
    }
    if let Some(server_options) = &options.server_options {
        setting("options", server_options);
    }
    out.push(0);
    let length = (out.len() as u32).to_be_bytes();
    out[..4].copy_from_slice(&length);
    out
}

/// The error of a place where no server answers.
fn absent(address: &Address, error: &io::Error) -> Error {
    Error::with(ErrorKind::Setup, "connect", format!("{address}: {error}"))
        .remedy("start the server, or name its host and port in the target")
}
