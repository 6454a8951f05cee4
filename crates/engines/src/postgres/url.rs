//! Takes a `postgresql://` URL apart by libpq's rules, into named settings. Nothing is looked up
//! and nothing is judged here but the grammar: [`super::options`] does that.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

use crate::net::url::Parts;
use crate::query::decode;

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
    let (head, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = ["postgresql://", "postgres://"].iter().find_map(|scheme| head.strip_prefix(scheme));
    let parts = Parts::of(rest.ok_or_else(|| bad("it must start with postgresql://"))?, bad)?;
    let port = parts.port.map(|port| port.to_string());
    let named = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", parts.host),
        ("port", port),
        ("dbname", parts.database),
    ];
    let mut settings: BTreeMap<_, _> = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        parameter(&mut settings, pair)?;
    }
    Ok(settings)
}

/// One `name=value` of the query part; it overrides what stands before the question mark. An empty value counts
/// as not given, as in libpq.
fn parameter(settings: &mut BTreeMap<&'static str, String>, pair: &str) -> Result<()> {
    let (name, value) = pair.split_once('=').ok_or_else(|| bad("each parameter after ? is name=value"))?;
    let name = decode("the name of a parameter", name)?;
    // JDBC's spelling, which libpq takes too.
    let (name, value) = if (&*name, value) == ("ssl", "true") { ("sslmode", "require") } else { (&*name, value) };
    let Some(known) = KNOWN.iter().find(|known| **known == name) else {
        return Err(Error::configuration(format!(
            "the target's URL has the unknown parameter {name:?}; known are {}",
            KNOWN.join(", ")
        )));
    };
    settings.remove(known);
    if !value.is_empty() {
        settings.insert(known, decode(&format!("the parameter {name}"), value)?);
    }
    Ok(())
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
