use super::*;
use dsbench_core::error::ErrorKind;

fn resolve(url: &str) -> Result<Options> {
    alone(url, &|name| (name == "USER").then(|| "me".to_owned()))
}

fn alone(url: &str, environment: Environment<'_>) -> Result<Options> {
    let mut found = Options::resolve(url, environment)?;
    assert_eq!(found.len(), 1, "{url}");
    Ok(found.remove(0))
}

fn tcp(host: &str, port: u16) -> Vec<Address> {
    vec![Address::Tcp(host.into(), port, None)]
}

#[test]
fn every_part_is_found_and_decoded() {
    let url = "mysql://me%40home:p%3A%2fw@db.example:3307/bench?ssl_mode=verify_identity&ssl_ca=/a%20b.pem\
               &ssl_cert=c&ssl_key=k&storage_engine=RocksDB&connect_timeout=3&allow_public_key_retrieval=true";
    let options = resolve(url).unwrap();
    assert_eq!((options.user.as_str(), options.host.as_str()), ("me@home", "db.example"));
    assert_eq!(options.password.as_ref().map(Secret::reveal), Some("p:/w"));
    assert_eq!(options.addresses, tcp("db.example", 3307));
    assert_eq!(options.database.as_deref(), Some("bench"));
    assert_eq!(options.storage_engine.as_deref(), Some("RocksDB"));
    assert_eq!(options.connect_timeout, Some(Duration::from_secs(3)));
    assert!(options.allow_public_key_retrieval);
    assert_eq!(options.tls.mode, SslMode::VerifyIdentity);
    assert_eq!(options.tls.authorities.as_deref(), Some(Path::new("/a b.pem")));
    assert_eq!(options.tls.identity, Some(("c".into(), "k".into())));
    assert!(!format!("{options:?}").contains("p:/w"));
}

#[test]
fn what_is_left_out_is_what_the_client_takes() {
    let options = resolve("mariadb://db.example").unwrap();
    assert_eq!((options.user.as_str(), &options.password, &options.database), ("me", &None, &None));
    assert_eq!(options.addresses, tcp("db.example", 3306));
    assert_eq!(options.tls.mode, SslMode::Preferred);
    assert_eq!(options.connect_timeout, Some(Duration::from_secs(10)));
    assert!(!options.allow_public_key_retrieval && !options.enable_cleartext_plugin);
    assert!(resolve("mysql://h?enable_cleartext_plugin=true").unwrap().enable_cleartext_plugin);
    assert_eq!(resolve("mysql://h?ssl_ca=x").unwrap().tls.mode, SslMode::VerifyCa);
    assert_eq!(resolve("mysql://h?connect_timeout=0").unwrap().connect_timeout, None);
    assert_eq!(resolve("mysql://h/dsbench").unwrap().database, None, "the place may not be there yet");
}

#[test]
fn words_of_other_clients_mean_what_they_mean_there() {
    for (words, mode) in [
        ("ssl-mode=REQUIRED", SslMode::Required),
        ("sslMode=VERIFY_CA", SslMode::VerifyCa),
        ("useSSL=false", SslMode::Disabled),
        ("useSSL=true&requireSSL=true&serverTimezone=UTC", SslMode::Required),
        ("sslaccept=strict", SslMode::VerifyIdentity),
        ("tls=skip-verify&parseTime=true", SslMode::Required),
        ("ssl_mode=REQUIRED&verifyServerCertificate=true", SslMode::VerifyCa),
    ] {
        assert_eq!(resolve(&format!("mysql://h?{words}")).unwrap().tls.mode, mode, "{words}");
    }
    assert_eq!(resolve("mysql://h?charset=utf8mb4&parseTime=true").unwrap().passed_over, ["charset", "parseTime"]);
    assert!(resolve("mysql://h?tls=custom").is_err());
    assert!(resolve("mysql://h?ssl_mode=PREFERRED&sslMode=VERIFY_IDENTITY").is_err());
    assert_eq!(resolve("mysql://h?ssl_ca=ca.pem&useSSL=true").unwrap().tls.mode, SslMode::VerifyCa);
}

#[test]
fn host_and_port_may_come_from_the_environment() {
    let environment = |name: &str| match name {
        "MYSQL_HOST" => Some("db.example".to_owned()),
        "MYSQL_TCP_PORT" => Some("3310".to_owned()),
        _ => None,
    };
    assert_eq!(alone("mysql://u@", &environment).unwrap().addresses, tcp("db.example", 3310));
    assert_eq!(alone("mysql://u@h:1", &environment).unwrap().addresses, tcp("h", 1));
}

#[test]
fn a_socket_a_port_and_localhost_say_where() {
    assert_eq!(resolve("mysql://u@/?socket=/tmp/s.sock").unwrap().addresses, [Address::Unix("/tmp/s.sock".into())]);
    assert_eq!(resolve("mysql://u@localhost:3307/").unwrap().addresses, tcp("localhost", 3307));
    assert_eq!(resolve("mysql://u@:3307/").unwrap().addresses, tcp("localhost", 3307));
    assert_eq!(resolve("mysql://u@[::1]:3307/").unwrap().addresses, tcp("::1", 3307));
    assert_eq!(resolve("mysql://u@[::1]/").unwrap().addresses, tcp("::1", 3306));
    assert_eq!(resolve("mysql://u@localhost/").unwrap().addresses.last(), tcp("localhost", 3306).first());
    let environment = |name: &str| (name == "MYSQL_UNIX_PORT").then(|| "/".to_owned());
    let found = alone("mysql://u@localhost", &environment).unwrap().addresses;
    assert_eq!(found[0], Address::Unix("/".into()), "anything that is there is tried");
}

#[test]
fn several_hosts_differ_in_their_place_only() {
    let url = "mysql://u:p@a:1,[::1],%2Ftmp%2Fs.sock/db?ssl_mode=REQUIRED";
    let found = Options::resolve(url, &|_| None).unwrap();
    let places: Vec<_> = found.iter().map(|one| one.addresses.clone()).collect();
    assert_eq!(places, [tcp("a", 1), tcp("::1", 3306), vec![Address::Unix("/tmp/s.sock".into())]]);
    assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["a", "::1", "/tmp/s.sock"]);
    assert!(found.iter().all(|one| one.user == "u" && one.tls.mode == SslMode::Required && one.password.is_some()));
    for wrong in ["mysql://u:geheim@a,/db", "mysql://u:geheim@,a/", "mysql://u:geheim@a,b/?socket=/s"] {
        let error = format!("{:#}", Options::resolve(wrong, &|_| None).unwrap_err());
        assert!(error.contains("hosts") && !error.contains("geheim"), "{wrong}: {error}");
    }
}

#[test]
fn the_password_may_come_from_the_environment() {
    let environment = |name: &str| (name == "MYSQL_PWD").then(|| "secret".to_owned());
    let password = |url| alone(url, &environment).unwrap().password.map(|p| p.reveal().to_owned());
    assert_eq!(password("mysql://u@h").as_deref(), Some("secret"));
    assert_eq!(password("mysql://u:other@h").as_deref(), Some("other"));
    assert!(alone("mysql://h", &environment).is_err(), "there is no user");
}

#[test]
fn bad_urls_are_refused_without_repeating_them() {
    for url in [
        "postgresql://u:geheim@h/",
        "mysql://u:geheim%@h/",
        "mysql://u:geheim%zz@h/",
        "mysql://u:geheim%00@h/",
        "mysql://u:geheim@[::1/",
        "mysql://u:geheim@[::1]3306/",
        "mysql://u:geheim@h:port/",
        "mysql://u:geheim@h:70000/",
        "mysql://u:geheim@h/?sokcet=x",
        "mysql://u:geheim@h/?socket",
        "mysql://u:geheim@h/?ssl_mode=maybe",
        "mysql://u:geheim@h/?ssl_cert=x",
        "mysql://u:geheim@h/?connect_timeout=soon",
        "mysql://u:geheim@h/?storage_engine=a;b",
        "mysql://u:geheim@h/?allow_public_key_retrieval=1",
    ] {
        let error = resolve(url).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration, "{url}");
        assert!(!format!("{error:#}").contains("geheim"), "{error}");
    }
    assert!(resolve("mysql://h/?sokcet=x").unwrap_err().to_string().contains("\"sokcet\""));
}
