//! Takes a `postgresql://` URL apart by libpq's rules, into named settings. Nothing is looked up
//! and nothing is judged here but the grammar: [`super::options`] does that.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

/// Settings that a URL may carry, by libpq's names.
pub const KNOWN: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "hostaddr",
    "options",
    "passfile",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// The settings of `url`. Error `Configuration` for a bad grammar or an unknown parameter; no
/// message repeats the URL, since it may hold a password.
pub fn parse(url: &str) -> Result<BTreeMap<&'static str, String>> {
    let rest = url
        .strip_prefix("postgresql://")
        .or_else(|| url.strip_prefix("postgres://"))
        .ok_or_else(|| bad("it must start with postgresql://"))?;
    let mut settings = BTreeMap::new();
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, place) = authority.rsplit_once('@').map_or((None, authority), |(login, place)| (Some(login), place));
    if let Some(login) = login {
        let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        put(&mut settings, "user", user)?;
        put(&mut settings, "password", password.unwrap_or(""))?;
    }
    let (host, port) = split_port(place)?;
    put(&mut settings, "host", host)?;
    // Not repeated, as it may be a password whose host is missing. Several hosts are refused later.
    if !port.is_empty() && !port.contains(',') && port.parse::<u16>().is_err() {
        return Err(bad("the port is no number it may be"));
    }
    put(&mut settings, "port", port)?;
    put(&mut settings, "dbname", database)?;
    for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        parameter(&mut settings, pair)?;
    }
    Ok(settings)
}

/// One `name=value` of the query part; it overrides what stands before the question mark.
fn parameter(settings: &mut BTreeMap<&'static str, String>, pair: &str) -> Result<()> {
    let (name, value) = pair.split_once('=').ok_or_else(|| bad("each parameter after ? is name=value"))?;
    let name = decode("parameter name", name)?;
    // JDBC's spelling, which libpq takes too.
    if name == "ssl" && value == "true" {
        return put(settings, "sslmode", "require");
    }
    let Some(known) = KNOWN.iter().find(|known| **known == name) else {
        return Err(Error::configuration(format!(
            "the target's URL has the unknown parameter {name:?}; known are {}",
            KNOWN.join(", ")
        )));
    };
    settings.remove(known);
    put(settings, known, value)
}

/// Keeps a decoded value; an empty one counts as not given, as in libpq.
fn put(settings: &mut BTreeMap<&'static str, String>, name: &'static str, value: &str) -> Result<()> {
    if !value.is_empty() {
        settings.insert(name, decode(name, value)?);
    }
    Ok(())
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets.
fn split_port(place: &str) -> Result<(&str, &str)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(|| bad("a bracket of an IPv6 address is not closed"))?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, port)),
            None if after.is_empty() => Ok((host, "")),
            None => Err(bad("only :port may follow an IPv6 address")),
        };
    }
    Ok(place.split_once(':').unwrap_or((place, "")))
}

/// Undoes percent encoding. A plus sign stays a plus sign, as in libpq.
fn decode(name: &str, text: &str) -> Result<String> {
    let wrong = || bad(&format!("{name} has a percent sign without two hexadecimal digits (write %25 for %)"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(wrong);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(bad(&format!("{name} is not UTF-8 text without zero bytes"))),
    }
}

fn bad(what: &str) -> Error {
    Error::configuration(format!(
        "the target's URL cannot be read: {what}; it is postgresql://user:password@host:port/database?name=value"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Vec<(&'static str, String)> {
        parse(url).unwrap().into_iter().collect()
    }

    #[test]
    fn every_part_is_found_and_decoded() {
        let found = settings("postgresql://me%40home:p%3A%2fw@db.example:5433/bench%20one?sslmode=require&host=/tmp/s");
        let expected = [
            ("dbname", "bench one"),
            ("host", "/tmp/s"),
            ("password", "p:/w"),
            ("port", "5433"),
            ("sslmode", "require"),
            ("user", "me@home"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn parts_may_be_missing() {
        assert_eq!(settings("postgresql://"), []);
        assert_eq!(settings("postgres://user@/db"), [("dbname", "db".into()), ("user", "user".into())]);
        assert_eq!(settings("postgresql://[::1]:6000/"), [("host", "::1".into()), ("port", "6000".into())]);
        assert_eq!(settings("postgresql://h?ssl=true"), [("host", "h".into()), ("sslmode", "require".into())]);
        assert_eq!(settings("postgresql://%2Ftmp%2Fs/"), [("host", "/tmp/s".into())]);
    }

    #[test]
    fn bad_urls_are_refused_without_repeating_them() {
        for url in [
            "mysql://u:geheim@h/",
            "postgresql://u:geheim%@h/",
            "postgresql://u:geheim%zz@h/",
            "postgresql://u:geheim%00@h/",
            "postgresql://u:geheim@[::1/",
            "postgresql://u:geheim@h/?host",
            "postgresql://u:geheim@h/?hots=x",
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.kind, dsbench_core::error::ErrorKind::Configuration, "{url}");
            assert!(!error.to_string().contains("geheim"), "{error}");
        }
        assert!(parse("postgresql://h/?hots=x").unwrap_err().to_string().contains("\"hots\""));
    }
}
