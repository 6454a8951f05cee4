//! What a connection needs to know, gathered once: the URL, then the environment, then the defaults
//! of the mysql client.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dsbench_core::error::{Error, Result};

use super::PLACE;
use crate::net::socket::Address;
use crate::secret::Secret;
use crate::url::{one_host, Environment, Parts, Query};

/// The port of MariaDB and MySQL.
const PORT: u16 = 3306;

/// Where distributions put the unix socket.
const SOCKETS: &[&str] =
    &["/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// How much of TLS is asked for: the client's ssl-mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SslMode {
    /// Never.
    Disabled,
    /// When the server has it, and not over a unix socket.
    Preferred,
    /// Always, whoever the server is.
    Required,
    /// Always, with a certificate of a trusted authority.
    VerifyCa,
    /// Always, with a certificate of a trusted authority for this host name.
    VerifyIdentity,
}

/// What TLS needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TlsOptions {
    /// When TLS is used and what it checks.
    pub(super) mode: SslMode,
    /// File of the trusted authorities; `None` takes those of the operating system.
    pub(super) authorities: Option<PathBuf>,
    /// Client certificate and its key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// Everything that a connection to one target needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// Places to try, in order.
    pub(super) addresses: Vec<Address>,
    /// Host name, for the check of the server's certificate.
    pub(super) host: String,
    /// User name.
    pub(super) user: String,
    /// Password, where one was found.
    pub(super) password: Option<Secret>,
    /// Database of a session outside of dsbench's place.
    pub(super) database: Option<String>,
    /// Storage engine of the tables; `None` is the server's default.
    pub(super) storage_engine: Option<String>,
    /// Limit of connecting, login included; `None` waits for ever.
    pub(super) connect_timeout: Option<Duration>,
    /// Whether the server's RSA key is taken from the network unseen, to encrypt the password with.
    pub(super) allow_public_key_retrieval: bool,
    /// Whether the password goes as it is to a server whose certificate is not checked.
    pub(super) enable_cleartext_plugin: bool,
    /// TLS.
    pub(super) tls: TlsOptions,
    /// Names of parameters that other clients know, and that change nothing here.
    pub(super) passed_over: Vec<String>,
}

impl Options {
    /// Reads `url` in this `environment`: one for each host that it names, all the same but for where they are. Error
    /// `Configuration` when it makes no sense; no message repeats what stands before the question mark, which may hold a
    /// password.
    pub(super) fn resolve(url: &str, environment: Environment<'_>) -> Result<Vec<Self>> {
        let (head, query) = Query::split(url)?;
        let (head, others) = one_host(head);
        let first = Self::of_one(&head, query, !others.is_empty(), environment)?;
        let mut found = vec![first];
        for place in others {
            let parts = Parts::read(&format!("mysql://{place}"), &["mysql"], bad)?;
            let host = parts.host.ok_or_else(|| bad("one of its hosts has no name"))?;
            let addresses = addresses(&host, parts.port, None, environment)?;
            found.push(Self { addresses, host, ..found[0].clone() });
        }
        Ok(found)
    }

    /// Where it is, for messages.
    pub(super) fn server(&self) -> String {
        match &self.addresses[..] {
            [Address::Unix(path), ..] => path.display().to_string(),
            [first, ..] => first.to_string(),
            [] => self.host.clone(),
        }
    }

    fn of_one(head: &str, mut query: Query, several: bool, environment: Environment<'_>) -> Result<Self> {
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let parts = Parts::read(head, &["mysql", "mariadb"], bad)?;
        let host = parts.host.or_else(|| get("MYSQL_HOST")).unwrap_or_default();
        let socket = query.text("socket").map(PathBuf::from);
        if several && (socket.is_some() || host.is_empty()) {
            return Err(bad("of several hosts each has a name, or the path of its socket with %2F for each /"));
        }
        let seconds = query.number::<u32>("connect_timeout")?.unwrap_or(10);
        let retrieval = query.word("allow_public_key_retrieval", &["true", "false"])?;
        let retrieval = retrieval.or(query.word("allowPublicKeyRetrieval", &["true", "false"])?);
        let clear = query.word("enable_cleartext_plugin", &["true", "false"])?;
        let storage_engine = query.text("storage_engine");
        let tls = tls(&mut query)?;
        let passed_over = query.pass_over(PASSED_OVER);
        query.finish()?;
        let port = match parts.port {
            None => get("MYSQL_TCP_PORT").map(|text| text.parse().map_err(|_| bad("MYSQL_TCP_PORT is no port"))),
            port => port.map(Ok),
        };
        check_name("storage_engine", storage_engine.as_deref())?;
        let user = parts.user.or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| get(name)));
        Ok(Self {
            addresses: addresses(&host, port.transpose()?, socket, environment)?,
            user: user.ok_or_else(|| bad("it names no user"))?,
            password: parts.password.or_else(|| get("MYSQL_PWD")).map(Secret::new),
            // The place itself is not there yet when an administrative session makes it.
            database: parts.database.filter(|name| name != PLACE),
            storage_engine,
            connect_timeout: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            allow_public_key_retrieval: retrieval == Some("true"),
            enable_cleartext_plugin: clear == Some("true"),
            host: if host.is_empty() { "localhost".into() } else { host },
            tls,
            passed_over,
        })
    }
}

/// The places to try. As for the mysql client, localhost is the unix socket, unless a port is named.
fn addresses(
    host: &str,
    port: Option<u16>,
    socket: Option<PathBuf>,
    environment: Environment<'_>,
) -> Result<Vec<Address>> {
    if let Some(path) = socket {
        return Ok(vec![Address::Unix(path)]);
    }
    if host.starts_with('/') {
        return Ok(vec![Address::Unix(host.into())]);
    }
    let tcp = |host: &str| Address::Tcp(host.to_owned(), port.unwrap_or(PORT), None);
    match (host, port) {
        ("" | "localhost", None) => {
            let named = environment("MYSQL_UNIX_PORT").filter(|path| !path.is_empty());
            let usual = SOCKETS.iter().map(|path| (*path).to_owned());
            let found = named.into_iter().chain(usual).map(PathBuf::from).find(|path| is_socket(path));
            Ok(found.map(Address::Unix).into_iter().chain([tcp("localhost")]).collect())
        }
        ("", Some(_)) => Ok(vec![tcp("localhost")]),
        (host, _) => Ok(vec![tcp(host)]),
    }
}

fn is_socket(path: &Path) -> bool {
    cfg!(unix) && path.exists()
}

fn tls(query: &mut Query) -> Result<TlsOptions> {
    const MODES: [(&str, SslMode); 5] = [
        ("DISABLED", SslMode::Disabled),
        ("PREFERRED", SslMode::Preferred),
        ("REQUIRED", SslMode::Required),
        ("VERIFY_CA", SslMode::VerifyCa),
        ("VERIFY_IDENTITY", SslMode::VerifyIdentity),
    ];
    let mut named = None;
    for name in ["ssl_mode", "ssl-mode", "sslMode", "sslmode"] {
        let given = query.word(name, &MODES.map(|(name, _)| name))?;
        if named.is_some() && given.is_some() {
            return Err(bad("it names the mode of TLS twice"));
        }
        named = named.or(given);
    }
    let mut either = |name, other| query.text(name).or(query.text(other));
    let authorities = either("ssl_ca", "ssl-ca").map(PathBuf::from);
    let identity = match (either("ssl_cert", "ssl-cert"), either("ssl_key", "ssl-key")) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        _ => return Err(bad("ssl_cert and ssl_key belong together: give both")),
    };
    let mode = MODES.iter().find(|(name, _)| Some(*name) == named).map(|(_, mode)| *mode);
    // Naming an authority asks for the check, as with the mysql client.
    let default = if authorities.is_some() { SslMode::VerifyCa } else { SslMode::Preferred };
    let mode = match (mode, of_others(query)?) {
        (Some(own), others) => others.map_or(own, |others| own.max(others)),
        (None, Some(SslMode::Disabled)) => SslMode::Disabled,
        (None, others) => others.map_or(default, |others| default.max(others)),
    };
    Ok(TlsOptions { mode, authorities, identity })
}

/// The strictest mode that the words of other clients ask for.
fn of_others(query: &mut Query) -> Result<Option<SslMode>> {
    /// Connector/J's, Prisma's and Go's words, and what each of their values means.
    type Words = (&'static str, &'static [(&'static str, Option<SslMode>)]);
    const WORDS: &[Words] = &[
        ("useSSL", &[("true", Some(SslMode::Preferred)), ("false", Some(SslMode::Disabled))]),
        ("requireSSL", &[("true", Some(SslMode::Required)), ("false", None)]),
        ("verifyServerCertificate", &[("true", Some(SslMode::VerifyCa)), ("false", None)]),
        ("sslaccept", &[("strict", Some(SslMode::VerifyIdentity)), ("accept_invalid_certs", Some(SslMode::Required))]),
        (
            "tls",
            &[
                ("true", Some(SslMode::VerifyIdentity)),
                ("skip-verify", Some(SslMode::Required)),
                ("preferred", Some(SslMode::Preferred)),
                ("false", Some(SslMode::Disabled)),
            ],
        ),
    ];
    let mut strictest = None;
    for (name, values) in WORDS {
        let words: Vec<&'static str> = values.iter().map(|(word, _)| *word).collect();
        let Some(given) = query.word(name, &words)? else { continue };
        strictest = strictest.max(values.iter().find(|(word, _)| *word == given).and_then(|(_, mode)| *mode));
    }
    Ok(strictest)
}

/// Parameters of other clients that change nothing here.
const PASSED_OVER: &[&str] = &[
    // Connector/J.
    "autoReconnect",
    "cachePrepStmts",
    "characterEncoding",
    "connectTimeout",
    "prepStmtCacheSize",
    "rewriteBatchedStatements",
    "serverTimezone",
    "socketTimeout",
    "useServerPrepStmts",
    "useUnicode",
    "zeroDateTimeBehavior",
    // Go and Prisma.
    "charset",
    "collation",
    "connection_limit",
    "loc",
    "parseTime",
    "pool_timeout",
    "readTimeout",
    "timeout",
    "writeTimeout",
];

/// A name that goes into SQL as it is.
fn check_name(parameter: &str, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
            Err(bad(&format!("{parameter}={name} is no name: it takes letters, digits and _")))
        }
        _ => Ok(()),
    }
}

fn bad(what: &str) -> Error {
    Error::configuration(format!(
        "the target's URL cannot be used: {what}; it is mysql://user:password@host:port/database?name=value"
    ))
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
