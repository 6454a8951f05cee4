//! What stands before the question mark of a URL like `scheme://user:password@host:port/database`.

use dsbench_core::error::{Error, Result};

use crate::query::decode;

/// The parts, decoded; what is empty counts as not given.
#[derive(Debug)]
pub(crate) struct Parts {
    /// User name.
    pub(crate) user: Option<String>,
    /// Password.
    pub(crate) password: Option<String>,
    /// Host name or address.
    pub(crate) host: Option<String>,
    /// Port.
    pub(crate) port: Option<u16>,
    /// Database.
    pub(crate) database: Option<String>,
}

impl Parts {
    /// Takes apart what follows the `//`. Error `Configuration`, made by `bad`; no message repeats a part, as it
    /// may be of a password.
    pub(crate) fn of(rest: &str, bad: fn(&str) -> Error) -> Result<Self> {
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = split_port(place).map_err(bad)?;
        if host.contains(',') || port.contains(',') {
            return Err(bad("it names several hosts; dsbench measures one"));
        }
        let port = match port {
            "" => None,
            digits => Some(digits.parse().map_err(|_| bad("the port is no number it may be"))?),
        };
        Ok(Self {
            user: part("the user", user)?,
            password: part("the password", password)?,
            host: part("the host", host)?,
            port,
            database: part("the database", database)?,
        })
    }
}

fn part(what: &str, text: &str) -> Result<Option<String>> {
    Ok(Some(decode(what, text)?).filter(|decoded| !decoded.is_empty()))
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets.
fn split_port(place: &str) -> std::result::Result<(&str, &str), &'static str> {
    match place.strip_prefix('[').map(|rest| rest.split_once(']')) {
        None => Ok(place.split_once(':').unwrap_or((place, ""))),
        Some(Some((host, ""))) => Ok((host, "")),
        Some(Some((host, after))) => {
            after.strip_prefix(':').map(|port| (host, port)).ok_or("only :port may follow an IPv6 address")
        }
        Some(None) => Err("a bracket of an IPv6 address is not closed"),
    }
}
