use super::*;

use dsbench_core::error::ErrorKind;

fn resolve_all(url: &str, variables: &[(&str, &str)]) -> Result<Resolved> {
    Options::resolve(url, &|name| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned()))
}

fn resolve(url: &str, variables: &[(&str, &str)]) -> Result<Options> {
    resolve_all(url, variables).map(|found| found.hosts.into_iter().next().unwrap())
}

#[test]
fn the_url_goes_before_the_environment_and_that_before_the_default() {
    let variables = [
        ("PGHOST", "/run/x"),
        ("PGPORT", "6000"),
        ("PGUSER", "eve"),
        ("PGPASSWORD", "geheim"),
        ("PGDATABASE", "there"),
        ("PGSSLMODE", "require"),
        ("PGOPTIONS", "-c work_mem=1MB"),
        ("PGCONNECT_TIMEOUT", "3"),
    ];
    let found = resolve("postgresql://adam@h:6001/here?sslmode=disable", &variables).unwrap();
    assert_eq!((found.host.as_str(), found.port, found.user.as_str()), ("h", 6001, "adam"));
    assert_eq!((found.database.as_str(), found.tls.mode), ("here", SslMode::Disable));
    assert_eq!(found.password.unwrap().reveal(), "geheim");

    let found = resolve("postgresql://", &variables).unwrap();
    assert_eq!((found.host.as_str(), found.port, found.user.as_str()), ("/run/x", 6000, "eve"));
    assert_eq!((found.database.as_str(), found.tls.mode), ("there", SslMode::Require));
    assert_eq!(found.server_options.as_deref(), Some("-c work_mem=1MB"));
    assert_eq!(found.connect_timeout, Some(Duration::from_secs(3)));

    let found = resolve("postgresql://only@", &[]).unwrap();
    assert_eq!((found.host.as_str(), found.port, found.database.as_str()), ("", 5432, "only"));
    assert_eq!((found.tls.mode, found.connect_timeout), (SslMode::Prefer, Some(Duration::from_secs(10))));
    assert_eq!(found.application_name, "dsbench");
}

#[test]
fn nothing_that_is_formatted_shows_the_password() {
    let found = resolve("postgresql://me:geheim@h/db", &[]).unwrap();
    let shown = format!("{found:?} {found:#?} {}", found.place());
    assert!(shown.contains("hidden") && !shown.contains("geheim"), "{shown}");
}

#[test]
fn system_roots_ask_for_the_full_check() {
    let found = resolve("postgresql://u@h/?sslrootcert=system", &[]).unwrap();
    assert_eq!((found.tls.mode, found.tls.roots), (SslMode::VerifyFull, Roots::System));
    assert!(resolve("postgresql://u@h/?sslrootcert=system&sslmode=require", &[]).is_err());
    let found =
        resolve("postgresql://u@h/?sslrootcert=/c/root.crt", &[("PGSSLCERT", "/c/me.crt"), ("HOME", "/nowhere")]);
    let tls = found.unwrap().tls;
    assert_eq!(tls.roots, Roots::File("/c/root.crt".into()));
    assert_eq!(tls.identity, Some(("/c/me.crt".into(), "/nowhere/.postgresql/postgresql.key".into())));
}

#[test]
fn each_of_several_hosts_has_its_port_and_its_password() {
    let found = resolve_all("postgresql://u:p@a:1,b,%2Ftmp%2Fs:3/db?target_session_attrs=read-write", &[]).unwrap();
    let places: Vec<String> = found.hosts.iter().map(Options::place).collect();
    assert_eq!(places, ["a:1/db", "b:5432/db", "/tmp/s:3/db"]);
    assert!(found.hosts.iter().all(|host| host.attributes == Attributes::ReadWrite && host.password.is_some()));
    let found = resolve_all("postgresql://u@/db?host=a,b&port=7", &[]).unwrap();
    assert_eq!(found.hosts.iter().map(|host| host.port).collect::<Vec<_>>(), [7, 7]);
}

#[test]
fn what_libpq_reads_of_the_environment_is_read_or_refused_by_name() {
    let found =
        resolve("postgresql://u@h", &[("PGTARGETSESSIONATTRS", "standby"), ("PGTZ", "Asia/Kathmandu")]).unwrap();
    assert_eq!(found.attributes, Attributes::Standby);
    assert_eq!(found.session, [("timezone", "Asia/Kathmandu".to_owned())]);
    let found = resolve("postgresql://u@h", &[("PGREQUIREAUTH", "!none,!md5")]).unwrap().required_auth;
    assert!(found.allows("scram-sha-256") && !found.allows("none") && !found.allows("md5"));
    let found = resolve("postgresql://u@h?require_auth=password", &[]).unwrap().required_auth;
    assert!(found.allows("password") && !found.allows("none"));
    let error = resolve("postgresql://u@h", &[("PGREQUIREPEER", "postgres")]).unwrap_err();
    assert!(error.to_string().starts_with("PGREQUIREPEER"), "{error}");
}

#[test]
fn a_silent_connection_is_given_up_as_asked() {
    let found = resolve("postgresql://u@h?keepalives_idle=5&keepalives_count=3&tcp_user_timeout=7000", &[]).unwrap();
    let expected = Keepalive {
        probes: true,
        idle: Some(Duration::from_secs(5)),
        interval: None,
        count: Some(3),
        unanswered: Some(Duration::from_secs(7)),
    };
    assert_eq!(found.keepalive, expected);
    assert!(!resolve("postgresql://u@h?keepalives=0", &[]).unwrap().keepalive.probes);
}

#[test]
fn nonsense_is_a_configuration_error() {
    for (url, part) in [
        ("postgresql://u@/?host=a,b&port=1,2,3", "one for each host"),
        ("postgresql://u@/?host=a,b&hostaddr=127.0.0.1,::1,::2", "one for each host"),
        ("postgresql://u@a/?load_balance_hosts=random", "the first host that fits"),
        ("postgresql://u@a/?target_session_attrs=writable", "prefer-standby"),
        ("postgresql://u@a/?require_auth=md5,!none", "either all"),
        ("postgresql://u@a/?require_auth=scram", "scram-sha-256"),
        ("postgresql://u@a/?sslnegotiation=direct", "sslmode=require"),
        ("postgresql://u@a/?keepalives_idle=long", "keepalives_idle"),
        ("postgresql://u@a/?service=none", "is defined in none of"),
        ("postgresql://u@a:99999/", "port"),
        ("postgresql://u@a/?sslmode=full", "verify-full"),
        ("postgresql://u@a/?connect_timeout=soon", "connect_timeout"),
        ("postgresql://u@a/?hostaddr=here", "hostaddr"),
        ("postgresql://u@a/?gssencmode=require", "gssencmode"),
        ("postgresql://u@a/?channel_binding=yes", "channel_binding"),
        ("postgresql://u@a/?channel_binding=require&sslmode=disable", "needs TLS"),
    ] {
        let error = resolve(url, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration, "{url}");
        assert!(format!("{error:#}").contains(part), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn the_password_file_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let home = std::env::temp_dir().join(format!("dsbench-home-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let file = home.join(".pgpass");
    std::fs::write(&file, "localhost:5432:db:me:socket\nh:*:db:me:network\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let variables = [("HOME", home.to_str().unwrap())];
    let password = |url: &str, variables: &[(&str, &str)]| {
        resolve(url, variables).unwrap().password.map(|secret| secret.reveal().to_owned())
    };
    assert_eq!(password("postgresql://me@/db", &variables).as_deref(), Some("socket"));
    assert_eq!(password("postgresql://me@h:7/db", &variables).as_deref(), Some("network"));
    assert_eq!(password("postgresql://you@h:7/db", &variables), None);
    assert_eq!(password("postgresql://me:own@h:7/db", &variables).as_deref(), Some("own"));
    let named = [("PGPASSFILE", file.to_str().unwrap())];
    assert_eq!(password("postgresql://me@h/db", &named).as_deref(), Some("network"));
    std::fs::remove_dir_all(&home).unwrap();
}
