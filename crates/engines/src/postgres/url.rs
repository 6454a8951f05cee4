//! Takes a `postgresql://` URL apart by libpq's rules, into named settings. Nothing is looked up
//! and nothing is judged here but the grammar: [`super::options`] does that.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

use crate::url::{one_host, Parts, Query};

/// Settings that a URL may carry, by libpq's names.
pub const KNOWN: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssencmode",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "passfile",
    "password",
    "port",
    "require_auth",
    "service",
    "servicefile",
    "sslcert",
    "sslcertmode",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Parameters that are refused, with their variables, the values that change nothing, and what to do.
pub const REFUSED: &[(&str, &str, &[&str], &str)] = &[
    ("load_balance_hosts", "PGLOADBALANCEHOSTS", &["disable"], "omit it: the first host that fits is measured"),
    ("requirepeer", "PGREQUIREPEER", &[], "omit it, or connect over TCP with sslmode=verify-full"),
    ("replication", "", &["false"], "omit it: sessions of replication take no statements"),
    ("sslpassword", "", &[], "name a key that is not encrypted, with a mode of 0600"),
    ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", &["TLSv1.3"], "omit it: the newest that both have is used"),
    (
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        &["TLSv1", "TLSv1.1", "TLSv1.2"],
        "omit it: TLS 1.2 is the oldest that is used; set ssl_min_protocol_version of the server",
    ),
    ("schema", "", &["public"], "omit it; ALTER ROLE … SET search_path does the same"),
    ("currentSchema", "", &["public"], "omit it; ALTER ROLE … SET search_path does the same"),
    ("targetServerType", "", &["any"], "use target_session_attrs"),
];

/// Parameters that change nothing here: of libpq, what dsbench has its own way for; of other clients, what consoles put
/// into the URLs that they show.
pub const PASSED_OVER: &[&str] = &[
    // libpq.
    "client_encoding",
    "gssdelegation",
    "gsslib",
    "krbsrvname",
    "sslcompression",
    "sslsni",
    // Prisma.
    "connection_limit",
    "pgbouncer",
    "pool_timeout",
    "socket_timeout",
    "statement_cache_size",
    // JDBC.
    "ApplicationName",
    "binaryTransfer",
    "connectTimeout",
    "defaultRowFetchSize",
    "loginTimeout",
    "prepareThreshold",
    "reWriteBatchedInserts",
    "socketTimeout",
    "stringtype",
    "tcpKeepAlive",
    // Others.
    "pool_max_conns",
    "pool_mode",
    "prepared_statement_cache_size",
    "uselibpqcompat",
];

/// What a URL says.
#[derive(Debug)]
pub struct Parsed {
    /// Settings by libpq's names.
    pub settings: BTreeMap<&'static str, String>,
    /// Names of parameters that change nothing here.
    pub passed_over: Vec<String>,
}

/// The settings of `url`: a parameter overrides what stands before the question mark, and one that is empty counts as
/// not given, as in libpq. Error `Configuration` for a bad grammar or an unknown parameter; no message repeats the URL,
/// since it may hold a password.
pub fn parse(url: &str) -> Result<Parsed> {
    let (head, mut query) = Query::split_last(url)?;
    let (head, others) = one_host(head);
    let parts = Parts::read(&head, &["postgresql", "postgres"], bad)?;
    let port = |port: Option<u16>| port.map_or(String::new(), |port| port.to_string());
    let (mut hosts, mut ports) = (parts.host.unwrap_or_default(), port(parts.port));
    for place in others {
        let other = Parts::read(&format!("postgresql://{place}"), &["postgresql"], bad)?;
        hosts = format!("{hosts},{}", other.host.unwrap_or_default());
        ports = format!("{ports},{}", port(other.port));
    }
    let named = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", Some(hosts)),
        ("port", Some(ports)),
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
    for (name, ..) in REFUSED {
        if let Some(value) = query.unoffered(name) {
            settings.insert(name, value);
        }
    }
    let passed_over = query.pass_over(PASSED_OVER);
    query.finish()?;
    settings.retain(|_, value| !value.is_empty());
    Ok(Parsed { settings, passed_over })
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
        parse(url).unwrap().settings.into_iter().collect()
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
    fn several_hosts_have_ports_of_their_own() {
        let expected = [("dbname", "db"), ("host", "a,b,::1"), ("password", "p,w"), ("port", "1,,2"), ("user", "u")];
        let expected: Vec<_> = expected.map(|(name, value)| (name, value.to_owned())).into();
        assert_eq!(settings("postgresql://u:p,w@a:1,b,[::1]:2/db"), expected);
        assert_eq!(settings("postgresql://a,b"), [("host", "a,b".into()), ("port", ",".into())]);
    }

    #[test]
    fn words_of_other_clients_are_passed_over_by_name() {
        let found = parse("postgresql://h/db?pgbouncer=true&sslmode=require&connection_limit=5").unwrap();
        assert_eq!(found.passed_over, ["connection_limit", "pgbouncer"]);
        assert_eq!(found.settings["sslmode"], "require");
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
