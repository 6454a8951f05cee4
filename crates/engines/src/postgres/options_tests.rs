use super::*;

use dsbench_core::error::ErrorKind;

fn resolve(url: &str, variables: &[(&str, &str)]) -> Result<Options> {
    Options::resolve(url, &|name| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned()))
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
fn nonsense_is_a_configuration_error() {
    for (url, part) in [
        ("postgresql://u@a,b/", "several hosts"),
        ("postgresql://u@a:1,2/", "several hosts"),
        ("postgresql://u@a:99999/", "port"),
        ("postgresql://u@a/?sslmode=full", "verify-full"),
        ("postgresql://u@a/?connect_timeout=soon", "connect_timeout"),
        ("postgresql://u@a/?hostaddr=here", "hostaddr"),
        ("postgresql://u@a/?gssencmode=require", "gssencmode"),
        ("postgresql://u@a/?channel_binding=yes", "channel_binding"),
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
