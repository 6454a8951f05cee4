//! The URL of a Firebird target and the settings in it.

use std::path::PathBuf;

use dsbench_core::engine::Isolation;
use dsbench_core::error::{Error, Result};

use crate::secret::Secret;
use crate::url::{Environment, Parts, Query};

/// How long a transaction waits for another's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Not at all.
    No,
    /// So many seconds. Firebird does not look for deadlocks meanwhile: both wait until the time is over.
    Seconds(u32),
    /// As long as it takes, or until the server finds a deadlock (`DeadlockTimeout`, 10 s).
    Forever,
}

impl Wait {
    fn read(text: &str) -> Result<Self> {
        match text {
            "no" => Ok(Self::No),
            "forever" => Ok(Self::Forever),
            _ => match text.parse() {
                Ok(seconds @ 1..) => Ok(Self::Seconds(seconds)),
                _ => Err(wrong(format!("wait={text}: give seconds, from 1 on, or one of the words no and forever"))),
            },
        }
    }
}

/// A database, and how every session with it is set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    /// What the library attaches to: `inet://host:port/path` or a path of this machine.
    pub database: String,
    /// True when the engine runs in this process, on a file of this machine.
    pub embedded: bool,
    /// User name; none leaves it to the library.
    pub user: Option<String>,
    /// Password, where one was found.
    pub password: Option<Secret>,
    /// SQL role of the sessions.
    pub role: Option<String>,
    /// Character set of the sessions and of the database that is created.
    pub charset: String,
    /// Bytes of a page of a new database.
    pub page_size: Option<u32>,
    /// Pages that the cache of a new database holds.
    pub page_buffers: Option<u32>,
    /// Transactions between automatic sweeps of a new database; 0 switches them off.
    pub sweep_interval: Option<u32>,
    /// Whether a new database is written through to the storage.
    pub forced_writes: bool,
    /// How long a transaction waits for another's lock, where that is said.
    pub wait: Option<Wait>,
    /// Whether the server keeps a log by which it undoes a transaction that is rolled back.
    pub auto_undo: bool,
    /// Limit of connecting, in seconds.
    pub connect_timeout_s: Option<u32>,
    /// Settings of the client library for these sessions, as lines of `firebird.conf`.
    pub config: String,
    /// The client library that is asked for.
    pub client_library: Option<PathBuf>,
}

impl Target {
    /// How long transactions of a level wait. At read committed it is Firebird's own default; a snapshot that waits for a
    /// change can only fail afterwards, so that it fails at once, as in the paper.
    pub(super) fn wait_at(&self, isolation: Isolation) -> Wait {
        self.wait.unwrap_or(match isolation {
            Isolation::ReadCommitted => Wait::Forever,
            Isolation::RepeatableRead | Isolation::Serializable => Wait::No,
        })
    }

    /// Reads `firebird://user:password@host:3050//abs/path.fdb`, `firebird://host/alias`,
    /// `firebird:///abs/path.fdb` and the parameters after `?`.
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self> {
        let (head, mut query) = Query::split(url)?;
        let parts = Parts::read(head, &["firebird"], unreadable)?;
        let path = parts.database.ok_or_else(|| unreadable("it names no database"))?;
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let embedded = parts.host.is_none() && parts.port.is_none();
        let config = config(&mut query, embedded)?;
        // An embedded engine asks for no login; as SYSDBA it may do everything in the file.
        let default = || embedded.then(|| "SYSDBA".to_string());
        let target = Self {
            embedded,
            user: parts.user.or_else(|| variable("ISC_USER")).or_else(default),
            password: parts.password.or_else(|| variable("ISC_PASSWORD")).map(Secret::new),
            role: query.text("role"),
            charset: query.text("charset").unwrap_or_else(|| "UTF8".into()).to_uppercase(),
            page_size: query.number("page_size")?,
            page_buffers: query.number("page_buffers")?,
            sweep_interval: query.number("sweep_interval")?,
            forced_writes: query.word("forced_writes", &["on", "off"])? != Some("off"),
            wait: query.text("wait").as_deref().map(Wait::read).transpose()?,
            auto_undo: query.word("auto_undo", &["on", "off"])? != Some("off"),
            connect_timeout_s: query.number("connect_timeout")?,
            client_library: query
                .text("client_library")
                .or_else(|| variable("FIREBIRD_CLIENT_LIBRARY"))
                .map(Into::into),
            config,
            database: match embedded {
                true => local(&path),
                false => format!("inet://{}/{path}", server(&parts.host.unwrap_or_default(), parts.port)),
            },
        };
        query.finish()?;
        target.check()
    }

    fn check(self) -> Result<Self> {
        if let Some(size) = self.page_size.filter(|size| !size.is_power_of_two() || !(4096..=32768).contains(size)) {
            return Err(wrong(format!("page_size={size}: it takes 4096, 8192, 16384 or (from version 4 on) 32768")));
        }
        if self.page_buffers.is_some_and(|pages| pages < 50) {
            return Err(wrong("page_buffers: at least 50 pages".into()));
        }
        let texts = [Some(&self.database), self.user.as_ref(), self.role.as_ref(), Some(&self.charset)];
        let secret = self.password.as_ref().map(Secret::reveal);
        if texts
            .into_iter()
            .flatten()
            .map(String::as_str)
            .chain(secret)
            .any(|text| text.contains('\0') || text.len() > 255)
        {
            return Err(wrong("a name, path or password is longer than 255 bytes or holds a zero byte".into()));
        }
        Ok(self)
    }
}

/// `host:port` as the client library takes it.
fn server(host: &str, port: Option<u16>) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    port.map_or(host.clone(), |port| format!("{host}:{port}"))
}

/// The absolute path of `firebird:///path`: the third slash belongs to it, unless a drive follows.
fn local(path: &str) -> String {
    let drive = path.as_bytes().get(1) == Some(&b':');
    if drive {
        return path.into();
    }
    format!("/{}", path.trim_start_matches('/'))
}

/// Lines for the client library. An embedded engine is the only provider of a local file: a server
/// that happens to run here must not answer instead.
fn config(query: &mut Query, embedded: bool) -> Result<String> {
    let mut lines: Vec<String> = Vec::new();
    if let Some(word) = query.word("wire_crypt", &["enabled", "required", "disabled"])? {
        lines.push(format!("WireCrypt = {word}"));
    }
    if let Some(word) = query.word("wire_compression", &["on", "off"])? {
        lines.push(format!("WireCompression = {}", word == "on"));
    }
    if embedded {
        lines.push("Providers = Engine14,Engine13,Engine12".into());
    }
    Ok(lines.join("\n"))
}

fn wrong(message: String) -> Error {
    Error::configuration(format!("the target's URL: {message}"))
}

/// Does not repeat the URL, which may hold a password.
fn unreadable(what: &str) -> Error {
    Error::configuration(format!(
        "the target's URL cannot be read: {what}; it is firebird://user:password@host:3050//path/file.fdb, \
         firebird://host/alias or, in this process, firebird:///path/file.fdb"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(url, &|_| None)
    }

    #[test]
    fn servers_and_files_are_told_apart() {
        for (url, database, embedded) in [
            ("firebird://host:3051//data/a%20b.fdb", "inet://host:3051//data/a b.fdb", false),
            ("firebird://host/alias", "inet://host/alias", false),
            ("firebird://[::1]:3050/alias", "inet://[::1]:3050/alias", false),
            ("firebird://host/C:/data/a.fdb", "inet://host/C:/data/a.fdb", false),
            ("firebird:///data/a.fdb", "/data/a.fdb", true),
            ("firebird:////data/a.fdb", "/data/a.fdb", true),
            ("firebird:///C:/data/a.fdb", "C:/data/a.fdb", true),
        ] {
            let target = parse(url).unwrap();
            assert_eq!((target.database.as_str(), target.embedded), (database, embedded), "{url}");
        }
    }

    #[test]
    fn the_login_comes_from_the_url_then_the_environment() {
        let environment = |name: &str| match name {
            "ISC_USER" => Some("env".to_string()),
            "ISC_PASSWORD" => Some("secret".to_string()),
            _ => None,
        };
        let login = |url: &str| {
            let target = Target::parse(url, &environment).unwrap();
            (target.user.unwrap(), target.password.map(|secret| secret.reveal().to_string()))
        };
        assert_eq!(login("firebird://me:p%40w@h/a"), ("me".into(), Some("p@w".into())));
        assert_eq!(login("firebird://h/a"), ("env".into(), Some("secret".into())));
        assert_eq!(parse("firebird:///a").unwrap().user.as_deref(), Some("SYSDBA"));
        assert_eq!(parse("firebird://h/a").unwrap().user, None);
    }

    #[test]
    fn the_defaults_write_through_and_do_not_wait() {
        let target = parse("firebird://h/a").unwrap();
        assert_eq!((target.charset.as_str(), target.forced_writes, target.wait), ("UTF8", true, None));
        assert!(target.auto_undo);
        assert_eq!((target.page_size, target.page_buffers, target.config.as_str()), (None, None, ""));
    }

    #[test]
    fn parameters_are_read_and_wrong_ones_refused() {
        let url = "firebird://h/a?charset=win1252&page_size=16384&page_buffers=2000&forced_writes=off&role=r&wait=3\
                   &wire_crypt=disabled&wire_compression=on&sweep_interval=0&connect_timeout=5&client_library=/x/libfbclient.so";
        let target = parse(url).unwrap();
        assert_eq!(
            (target.charset.as_str(), target.page_size, target.page_buffers),
            ("WIN1252", Some(16384), Some(2000))
        );
        assert_eq!(
            (target.forced_writes, target.wait, target.sweep_interval),
            (false, Some(Wait::Seconds(3)), Some(0))
        );
        assert_eq!(target.config, "WireCrypt = disabled\nWireCompression = true");
        assert_eq!(target.client_library, Some("/x/libfbclient.so".into()));
        for wrong in [
            "firebird:h/a",
            "firebird://host",
            "firebird://u:geheim@h/",
            "firebird://u:geheim@h/a?page_size=1024",
            "firebird://u:geheim@h/a?page_size=65536",
            "firebird://u:geheim@h/a?page_buffers=1",
            "firebird://u:geheim@h/a?wait=0",
            "firebird://u:geheim@h/a?wait=long",
            "firebird://u:geheim@h/a?wire_crypt=maybe",
            "firebird://u:geheim@h/a?auto_undo=no",
            "firebird://u:geheim@h/a?isolation=none",
            "firebird://u:geheim@h/a%00b",
        ] {
            let error = parse(wrong).unwrap_err();
            assert_eq!(error.kind, dsbench_core::error::ErrorKind::Configuration, "{wrong}: {error}");
            assert!(!format!("{error:#}").contains("geheim"), "{error}");
        }
        assert!(!format!("{:?}", parse("firebird://u:geheim@h/a").unwrap()).contains("geheim"));
    }
}
