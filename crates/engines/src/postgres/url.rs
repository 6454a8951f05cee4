//! Takes a `postgresql://` URL apart by libpq's rules, into named settings. Nothing is looked up
//! and nothing is judged here but the grammar: [`super::options`] does that.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

use crate::url::{Parts, Query};

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

/// The settings of `url`: a parameter overrides what stands before the question mark, and one that is empty counts as
/// not given, as in libpq. Error `Configuration` for a bad grammar or an unknown parameter; no message repeats the URL,
/// since it may hold a password.
pub fn parse(url: &str) -> Result<BTreeMap<&'static str, String>> {
    let (head, mut query) = Query::split_last(url)?;
    let parts = Parts::read(head, &["postgresql", "postgres"], bad)?;
    let named = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", parts.host),
        ("port", parts.port.map(|port| port.to_string())),
        ("dbname", parts.database),
        // JDBC's spelling, which libpq takes too.
        ("sslmode", query.word("ssl", &["true"])?.map(|_| "require".to_owned())),
    ];
    let mut settings: BTreeMap<_, _> = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    for name in KNOWN {
        if let Some(value) = query.text(name) {
            settings.insert(name, value);
        }
    }
    query.finish()?;
    settings.retain(|_, value| !value.is_empty());
    Ok(settings)
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
            assert!(!format!("{error:#}").contains("geheim"), "{error}");
        }
        assert!(parse("postgresql://h/?hots=x").unwrap_err().to_string().contains("\"hots\""));
    }
}
