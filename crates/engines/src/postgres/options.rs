//! What a connection needs to know, gathered once by libpq's rules: the URL, then the service file, then the PG*
//! environment, then the defaults. Left out of libpq's ways: GSS, and what is refused by name.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dsbench_core::error::{Error, Result};

use super::{passfile, service, url, user};
use crate::net::socket::Keepalive;
use crate::secret::Secret;
use crate::url::Environment;

/// How much of TLS is asked for: libpq's sslmode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Never.
    Disable,
    /// Only when the server refuses a plain connection.
    Allow,
    /// Unless the server refuses it.
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// Always, with a certificate of a trusted authority.
    VerifyCa,
    /// Always, with a certificate of a trusted authority for this host name.
    VerifyFull,
}

/// Whether the login is tied to the TLS connection it runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// When server and certificate allow it.
    Prefer,
    /// Always; a login without it fails.
    Require,
}

/// Which authorities are trusted to sign the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Those of the operating system.
    System,
    /// Those in this file, which must exist.
    File(PathBuf),
    /// None were named, and libpq's default file is absent; it would be here.
    Missing(PathBuf),
}

/// What TLS needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// When TLS is used and what it checks.
    pub mode: SslMode,
    /// Trusted authorities.
    pub roots: Roots,
    /// Client certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Tie of the login to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// Whether the handshake comes at once, without asking the server for it: sslnegotiation=direct.
    pub direct: bool,
    /// Files of lists of revoked certificates.
    pub revoked: Vec<PathBuf>,
}

/// Which sessions are wanted: libpq's target_session_attrs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// Any.
    Any,
    /// Those that take writes by default.
    ReadWrite,
    /// Those that take none.
    ReadOnly,
    /// Those of a server that is no copy.
    Primary,
    /// Those of a copy.
    Standby,
    /// Those of a copy, or any where there is none.
    PreferStandby,
}

/// Ways to log in that may be used: libpq's require_auth.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequiredAuth {
    /// Names of the ways; empty for all.
    names: Vec<&'static str>,
    /// Whether they are those that may not be used.
    forbidden: bool,
}

impl RequiredAuth {
    /// Whether the way of this name may be used.
    pub fn allows(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(&name) != self.forbidden
    }

    /// `md5,!none` and the like. Error `Configuration` for a way that there is not, or for both forms at once.
    fn read(text: &str) -> Result<Self> {
        let mut found = Self::default();
        for (at, word) in text.split(',').map(str::trim).enumerate() {
            let (forbidden, name) = word.strip_prefix('!').map_or((false, word), |name| (true, name));
            if at > 0 && forbidden != found.forbidden {
                return Err(Error::configuration(format!("require_auth is {text:?}: either all have a ! or none")));
            }
            found.forbidden = forbidden;
            let pairs: Vec<_> = WAYS_TO_LOG_IN.iter().map(|name| (*name, *name)).collect();
            found.names.push(choose("require_auth", &pairs, name)?);
        }
        Ok(found)
    }
}

/// Everything that a connection to one host of a target needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Host name, folder of the unix socket (starts with a slash), or empty for the default.
    pub host: String,
    /// Address to connect to instead of looking `host` up.
    pub address: Option<IpAddr>,
    /// Port number, also part of the unix socket's name.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password, where one was found.
    pub password: Option<Secret>,
    /// The password file that is not read, as others than its owner may read it.
    pub open_passfile: Option<PathBuf>,
    /// Database name.
    pub database: String,
    /// What the server shows as the client's name.
    pub application_name: String,
    /// Command-line options for the server's session.
    pub server_options: Option<String>,
    /// Limit of connecting, login included; `None` waits for ever.
    pub connect_timeout: Option<Duration>,
    /// Settings of the session that the environment asks for, by the server's names.
    pub session: Vec<(&'static str, String)>,
    /// Which sessions are wanted.
    pub attributes: Attributes,
    /// Which ways to log in may be used.
    pub required_auth: RequiredAuth,
    /// When a connection that nothing comes over is given up.
    pub keepalive: Keepalive,
    /// TLS.
    pub tls: TlsOptions,
}

/// What a target names: the hosts to try in order, and the parameters that mean nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// One at least; but for where they are, all are the same.
    pub hosts: Vec<Options>,
    /// Names of parameters that other clients know.
    pub passed_over: Vec<String>,
}

impl Options {
    /// Reads `url` in this `environment`. Error `Configuration` when it makes no sense.
    pub fn resolve(url: &str, environment: Environment<'_>) -> Result<Resolved> {
        let url::Parsed { mut settings, passed_over } = url::parse(url)?;
        service::add(&mut settings, environment)?;
        let source = Source { settings, environment };
        for (name, variable, harmless, remedy) in url::REFUSED {
            if source.get(name, variable).is_some_and(|value| !harmless.contains(&value.as_str())) {
                let given = if source.settings.contains_key(name) { *name } else { *variable };
                return Err(Error::configuration(format!("{given}: dsbench does not support it")).remedy(*remedy));
            }
        }
        let listed = |name, variable| -> Vec<String> {
            let text = source.get(name, variable).unwrap_or_default();
            text.split(',').map(|one| one.trim().to_owned()).collect()
        };
        let (hosts, addresses) = (listed("host", "PGHOST"), listed("hostaddr", "PGHOSTADDR"));
        let ports = listed("port", "PGPORT");
        let count = if hosts == [""] { addresses.len() } else { hosts.len() };
        for (what, given) in [("hostaddr", &addresses), ("port", &ports)] {
            if given.len() != count && given.len() != 1 {
                let words = format!("the target names {count} hosts, and {} of {what}", given.len());
                return Err(Error::configuration(words).remedy("give one for each host"));
            }
        }
        let one = |list: &[String], at: usize| list.get(at).or(list.last()).cloned().unwrap_or_default();
        let found: Result<_> =
            (0..count).map(|at| Self::at(&source, one(&hosts, at), &one(&addresses, at), &one(&ports, at))).collect();
        Ok(Resolved { hosts: found?, passed_over })
    }

    fn at(source: &Source<'_>, host: String, address: &str, port: &str) -> Result<Self> {
        let environment = source.environment;
        let port = if port.is_empty() { 5432 } else { number("port", port)? };
        let user = source.get("user", "PGUSER").or_else(|| user::name(environment)).ok_or_else(|| {
            Error::configuration("no user name is known").remedy("write one into the target: postgresql://user@…")
        })?;
        let database = source.get("dbname", "PGDATABASE").unwrap_or_else(|| user.clone());
        let named = if host.is_empty() { address } else { &host };
        let (password, open_passfile) = source.password(named, port, &database, &user);
        let address = (!address.is_empty()).then(|| {
            let bad = |_| Error::configuration(format!("hostaddr {address:?} is not an IP address"));
            address.parse().map_err(bad)
        });
        if source.get("gssencmode", "PGGSSENCMODE").as_deref() == Some("require") {
            return Err(
                Error::configuration("gssencmode=require: dsbench has no GSS encryption").remedy("use sslmode=require")
            );
        }
        let fallback = || source.settings.get("fallback_application_name").cloned();
        let session = SESSION.iter().filter_map(|(name, variable)| Some((*name, source.get("", variable)?))).collect();
        let attributes = source.get("target_session_attrs", "PGTARGETSESSIONATTRS");
        let required = source.get("require_auth", "PGREQUIREAUTH");
        Ok(Self {
            application_name: source
                .get("application_name", "PGAPPNAME")
                .or_else(fallback)
                .unwrap_or_else(|| "dsbench".into()),
            session,
            attributes: attributes
                .map_or(Ok(Attributes::Any), |name| choose("target_session_attrs", ATTRIBUTES, &name))?,
            required_auth: required.map_or(Ok(RequiredAuth::default()), |text| RequiredAuth::read(&text))?,
            keepalive: source.keepalive()?,
            server_options: source.get("options", "PGOPTIONS"),
            connect_timeout: source.connect_timeout()?,
            tls: source.tls()?,
            address: address.transpose()?,
            host,
            port,
            user,
            password: password.map(Secret::new),
            open_passfile,
            database,
        })
    }

    /// `host:port/database` for messages; no user, no password.
    pub fn place(&self) -> String {
        format!("{}/{}", self.server(), self.database)
    }

    /// Host and port for messages.
    pub fn server(&self) -> String {
        let host = if self.host.is_empty() { "the default socket" } else { &self.host };
        format!("{host}:{}", self.port)
    }
}

/// Where settings come from: the URL first, then the environment.
struct Source<'a> {
    settings: BTreeMap<&'static str, String>,
    environment: Environment<'a>,
}

impl Source<'_> {
    fn get(&self, name: &str, variable: &str) -> Option<String> {
        let given = self.settings.get(name).cloned();
        given.or_else(|| (self.environment)(variable)).filter(|value| !value.is_empty())
    }

    /// The password, or the file that would have to be private for one.
    fn password(&self, host: &str, port: u16, database: &str, user: &str) -> (Option<String>, Option<PathBuf>) {
        if let Some(password) = self.get("password", "PGPASSWORD") {
            return (Some(password), None);
        }
        let host = match host {
            "" | "/var/run/postgresql" | "/tmp" => "localhost",
            host => host,
        };
        let path = self.get("passfile", "PGPASSFILE").map(PathBuf::from).or_else(|| self.home(PASSFILE));
        let Some(path) = path else { return (None, None) };
        match passfile::is_open(&path) {
            true => (None, Some(path)),
            false => (passfile::password(&path, &passfile::Wanted { host, port, database, user }), None),
        }
    }

    /// A file in libpq's place below the home folder.
    fn home(&self, name: &str) -> Option<PathBuf> {
        let folder = (self.environment)(if cfg!(windows) { "APPDATA" } else { "HOME" })?;
        (!folder.is_empty()).then(|| Path::new(&folder).join(name))
    }

    fn connect_timeout(&self) -> Result<Option<Duration>> {
        let seconds = match self.get("connect_timeout", "PGCONNECT_TIMEOUT") {
            Some(text) => number::<u32>("connect_timeout", &text)?,
            None => 10,
        };
        Ok((seconds > 0).then(|| Duration::from_secs(seconds.into())))
    }

    fn keepalive(&self) -> Result<Keepalive> {
        let seconds = |name: &str| -> Result<Option<Duration>> {
            let text = self.settings.get(name);
            let found: Option<u32> = text.map(|text| number(name, text)).transpose()?;
            Ok(found.filter(|number| *number > 0).map(|number| Duration::from_secs(number.into())))
        };
        let text = |name: &str| self.settings.get(name).map(String::as_str);
        let milliseconds: Option<u32> = text("tcp_user_timeout").map(|t| number("tcp_user_timeout", t)).transpose()?;
        Ok(Keepalive {
            probes: text("keepalives") != Some("0"),
            idle: seconds("keepalives_idle")?,
            interval: seconds("keepalives_interval")?,
            count: text("keepalives_count").map(|t| number("keepalives_count", t)).transpose()?.filter(|n| *n > 0),
            unanswered: milliseconds.filter(|ms| *ms > 0).map(|ms| Duration::from_millis(ms.into())),
        })
    }

    fn tls(&self) -> Result<TlsOptions> {
        let default_roots = self.home(&format!("{SSL_FOLDER}/root.crt"));
        let roots = match self.get("sslrootcert", "PGSSLROOTCERT") {
            Some(name) if name == "system" => Roots::System,
            Some(name) => Roots::File(name.into()),
            None => match default_roots {
                Some(path) if path.exists() => Roots::File(path),
                path => Roots::Missing(path.unwrap_or_else(|| "~/.postgresql/root.crt".into())),
            },
        };
        let mode = match self.get("sslmode", "PGSSLMODE") {
            Some(name) => choose("sslmode", SSL_MODES, &name)?,
            None if roots == Roots::System => SslMode::VerifyFull,
            None => SslMode::Prefer,
        };
        if roots == Roots::System && mode != SslMode::VerifyFull {
            return Err(Error::configuration(
                "sslrootcert=system asks for sslmode=verify-full: anyone can get a certificate",
            ));
        }
        let binding = self.get("channel_binding", "PGCHANNELBINDING");
        let channel_binding =
            binding.map_or(Ok(ChannelBinding::Prefer), |n| choose("channel_binding", BINDINGS, &n))?;
        let negotiation = self.get("sslnegotiation", "PGSSLNEGOTIATION");
        let known = [("postgres", false), ("direct", true)];
        let direct = negotiation.map_or(Ok(false), |name| choose("sslnegotiation", &known, &name))?;
        if channel_binding == ChannelBinding::Require && mode == SslMode::Disable {
            return Err(Error::configuration("channel_binding=require needs TLS, and sslmode=disable forbids it")
                .remedy("use sslmode=require, or leave channel_binding out"));
        }
        if direct && mode < SslMode::Require {
            return Err(Error::configuration("sslnegotiation=direct asks for sslmode=require or a stricter one"));
        }
        Ok(TlsOptions { mode, roots, identity: self.identity()?, channel_binding, direct, revoked: self.revoked()? })
    }

    /// The lists of revoked certificates: those that are named, or libpq's default file where it exists.
    fn revoked(&self) -> Result<Vec<PathBuf>> {
        if let Some(file) = self.get("sslcrl", "PGSSLCRL") {
            return Ok(vec![file.into()]);
        }
        if let Some(folder) = self.get("sslcrldir", "PGSSLCRLDIR") {
            let bad = |e: std::io::Error| Error::configuration(format!("sslcrldir {folder}: {e}"));
            let entries = std::fs::read_dir(&folder).map_err(bad)?;
            return entries.map(|entry| Ok(entry.map_err(bad)?.path())).collect();
        }
        Ok(self.home(&format!("{SSL_FOLDER}/root.crl")).filter(|path| path.exists()).into_iter().collect())
    }

    /// The client certificate: what is named, or libpq's default files where they exist.
    fn identity(&self) -> Result<Option<(PathBuf, PathBuf)>> {
        let modes = [("disable", false), ("allow", true), ("require", true)];
        let mode = self.get("sslcertmode", "PGSSLCERTMODE");
        if !mode.map_or(Ok(true), |name| choose("sslcertmode", &modes, &name))? {
            return Ok(None);
        }
        let named = self.get("sslcert", "PGSSLCERT").map(PathBuf::from);
        let default = || self.home(&format!("{SSL_FOLDER}/postgresql.crt")).filter(|path| path.exists());
        let key = self.get("sslkey", "PGSSLKEY").map(PathBuf::from);
        let key = key.or_else(|| self.home(&format!("{SSL_FOLDER}/postgresql.key")));
        Ok(named.or_else(default).zip(key))
    }
}

const PASSFILE: &str = if cfg!(windows) { "postgresql/pgpass.conf" } else { ".pgpass" };
const SSL_FOLDER: &str = if cfg!(windows) { "postgresql" } else { ".postgresql" };

const SSL_MODES: &[(&str, SslMode)] = &[
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

const BINDINGS: &[(&str, ChannelBinding)] =
    &[("disable", ChannelBinding::Disable), ("prefer", ChannelBinding::Prefer), ("require", ChannelBinding::Require)];

const ATTRIBUTES: &[(&str, Attributes)] = &[
    ("any", Attributes::Any),
    ("read-write", Attributes::ReadWrite),
    ("read-only", Attributes::ReadOnly),
    ("primary", Attributes::Primary),
    ("standby", Attributes::Standby),
    ("prefer-standby", Attributes::PreferStandby),
];

const WAYS_TO_LOG_IN: &[&str] = &["password", "md5", "gss", "sspi", "scram-sha-256", "oauth", "none"];

/// Settings of sessions, by the variables in which libpq finds them.
const SESSION: &[(&str, &str)] = &[("timezone", "PGTZ"), ("geqo", "PGGEQO")];

fn choose<T: Copy>(setting: &str, known: &[(&str, T)], name: &str) -> Result<T> {
    known.iter().find(|(word, _)| *word == name).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        Error::configuration(format!("{setting} is {name:?}")).remedy(format!("use one of {}", words.join(", ")))
    })
}

fn number<T: std::str::FromStr>(setting: &str, text: &str) -> Result<T> {
    text.trim()
        .parse()
        .map_err(|_| Error::configuration(format!("{setting} is {text:?}, which is no number it may be")))
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
