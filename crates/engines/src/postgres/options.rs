//! What a connection needs to know, gathered once by libpq's rules: the URL, then the PG*
//! environment, then the defaults. Left out of libpq's ways: several hosts, service files, GSS,
//! lists of revoked certificates.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dsbench_core::error::{Error, Result};

use super::{passfile, url, user};
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
}

/// Everything that a connection to one target needs.
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
    /// Database name.
    pub database: String,
    /// What the server shows as the client's name.
    pub application_name: String,
    /// Command-line options for the server's session.
    pub server_options: Option<String>,
    /// Limit of connecting, login included; `None` waits for ever.
    pub connect_timeout: Option<Duration>,
    /// TLS.
    pub tls: TlsOptions,
}

impl Options {
    /// Reads `url` in this `environment`. Error `Configuration` when it makes no sense.
    pub fn resolve(url: &str, environment: Environment<'_>) -> Result<Self> {
        let source = Source { settings: url::parse(url)?, environment };
        let host = source.get("host", "PGHOST").unwrap_or_default();
        let port = source.get("port", "PGPORT").unwrap_or_else(|| "5432".into());
        if host.contains(',') || port.contains(',') {
            return Err(Error::configuration("the target names several hosts").remedy("name the one to measure"));
        }
        let port = number("port", &port)?;
        let user = source.get("user", "PGUSER").or_else(|| user::name(environment)).ok_or_else(|| {
            Error::configuration("no user name is known").remedy("write one into the target: postgresql://user@…")
        })?;
        let database = source.get("dbname", "PGDATABASE").unwrap_or_else(|| user.clone());
        let password = source.password(&host, port, &database, &user).map(Secret::new);
        let address = source.get("hostaddr", "PGHOSTADDR").map(|text| {
            text.parse().map_err(|_| Error::configuration(format!("hostaddr {text:?} is not an IP address")))
        });
        if source.get("gssencmode", "PGGSSENCMODE").as_deref() == Some("require") {
            return Err(
                Error::configuration("gssencmode=require: dsbench has no GSS encryption").remedy("use sslmode=require")
            );
        }
        Ok(Self {
            application_name: source.get("application_name", "PGAPPNAME").unwrap_or_else(|| "dsbench".into()),
            server_options: source.get("options", "PGOPTIONS"),
            connect_timeout: source.connect_timeout()?,
            tls: source.tls()?,
            address: address.transpose()?,
            host,
            port,
            user,
            password,
            database,
        })
    }

    /// `host:port/database` for messages; no user, no password.
    pub fn place(&self) -> String {
        let host = if self.host.is_empty() { "the default socket" } else { &self.host };
        format!("{host}:{}/{}", self.port, self.database)
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

    fn password(&self, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        if let Some(password) = self.get("password", "PGPASSWORD") {
            return Some(password);
        }
        let host = match host {
            "" | "/var/run/postgresql" | "/tmp" => "localhost",
            host => host,
        };
        let path = self.get("passfile", "PGPASSFILE").map(PathBuf::from).or_else(|| self.home(PASSFILE))?;
        passfile::password(&path, &passfile::Wanted { host, port, database, user })
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
        Ok(TlsOptions { mode, roots, identity: self.identity(), channel_binding })
    }

    /// The client certificate: what is named, or libpq's default files where they exist.
    fn identity(&self) -> Option<(PathBuf, PathBuf)> {
        let named = self.get("sslcert", "PGSSLCERT").map(PathBuf::from);
        let certificate =
            named.or_else(|| self.home(&format!("{SSL_FOLDER}/postgresql.crt")).filter(|path| path.exists()))?;
        let key = self.get("sslkey", "PGSSLKEY").map(PathBuf::from);
        let key = key.or_else(|| self.home(&format!("{SSL_FOLDER}/postgresql.key")))?;
        Some((certificate, key))
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
