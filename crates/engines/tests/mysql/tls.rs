//! TLS: what each ssl_mode takes and refuses, client certificates, and the load path over it.

use std::fs;
use std::path::Path;
use std::process::Command;

use dsbench_core::engine::{Connection, Prepare, RowSource, Statement};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::server::{Server, ADMIN};

/// Makes an authority in `folder`, by name.
fn authority(folder: &Path, name: &str) -> Issuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join(format!("{name}.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
    Issuer::new(params, key)
}

/// Makes a certificate for `host` that `issuer` signs.
fn certificate(folder: &Path, file: &str, host: &str, issuer: &Issuer<'_, KeyPair>, expired: bool) {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, host);
    if expired {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join(format!("{file}.pem")), params.signed_by(&key, issuer).unwrap().pem()).unwrap();
    fs::write(folder.join(format!("{file}-key.pem")), key.serialize_pem()).unwrap();
}

/// A server whose certificate is for `host`, by an authority in `ca.pem`; another is in `other.pem`.
fn server_for(host: &str, expired: bool, options: &[&str]) -> Server {
    // Files are named from the data folder.
    let files = ["--ssl-ca=../ca.pem", "--ssl-cert=../server.pem", "--ssl-key=../server-key.pem"];
    let server = Server::start_with(&[&files[..], options].concat(), |folder| {
        let ca = authority(folder, "ca");
        authority(folder, "other");
        certificate(folder, "server", host, &ca, expired);
        certificate(folder, "client", "client", &ca, false);
    });
    server
        .connect()
        .script(&[
            "CREATE USER safe REQUIRE SSL",
            "CREATE USER carded REQUIRE SUBJECT '/CN=client'",
            "CREATE USER free",
        ])
        .unwrap();
    server
}

fn connect(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>> {
    // Parameters name files of the server's folder by a leading @.
    let parameters = parameters.replace('@', &format!("{}/", server.folder.display()));
    dsbench_engines::mysql::open(&server.tcp(login, &parameters))?.connect(ADMIN)
}

/// The TLS version that the server sees; empty when there is none.
fn version(mut connection: Box<dyn Connection>) -> String {
    connection.fetch("SHOW SESSION STATUS LIKE 'Ssl_version'").unwrap().rows[0][1].clone().unwrap()
}

fn check(server: &Server, login: &str, parameters: &str, expected: Option<&str>) {
    match (connect(server, login, parameters), expected) {
        (Ok(connection), Some(expected)) => assert_eq!(version(connection), expected, "{login} {parameters}"),
        (Err(error), None) => assert_eq!(error.kind, ErrorKind::Setup, "{login} {parameters}: {error}"),
        (Ok(_), None) => panic!("{login} {parameters} was let in"),
        (Err(error), Some(_)) => panic!("{login} {parameters}: {error}"),
    }
}

const NEWEST: Option<&str> = Some("TLSv1.3");

#[test]
fn each_mode_takes_and_refuses_what_the_client_of_mysql_does() {
    let server = server_for("localhost", false, &[]);
    for (login, parameters, expected) in [
        ("free", "ssl_mode=DISABLED", Some("")),
        ("safe", "ssl_mode=DISABLED", None),
        ("free", "", NEWEST),
        ("safe", "ssl_mode=PREFERRED", NEWEST),
        ("safe", "ssl_mode=REQUIRED", NEWEST),
        ("safe", "ssl_ca=@ca.pem", NEWEST),
        ("safe", "ssl_ca=@other.pem", None),
        ("safe", "ssl_mode=REQUIRED&ssl_ca=@other.pem", NEWEST),
        ("safe", "ssl_mode=VERIFY_CA&ssl_ca=@ca.pem", NEWEST),
        ("safe", "ssl_mode=VERIFY_CA&ssl_ca=@other.pem", None),
        ("safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@ca.pem", NEWEST),
        ("safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@other.pem", None),
        ("carded", "ssl_mode=REQUIRED", None),
        ("carded", "ssl_mode=REQUIRED&ssl_cert=@client.pem&ssl_key=@client-key.pem", NEWEST),
    ] {
        check(&server, login, parameters, expected);
    }
    let error = connect(&server, "safe", "ssl_mode=VERIFY_CA&ssl_ca=@none.pem").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Configuration);
    assert_eq!(version(server.connect()), "", "a unix socket needs no TLS");
    let over_socket = |mode: &str| dsbench_engines::mysql::open(&format!("{}&ssl_mode={mode}", server.url()));
    assert_eq!(version(over_socket("REQUIRED").unwrap().connect(ADMIN).unwrap()), "TLSv1.3", "but can have it");
}

#[test]
fn a_certificate_for_another_host_passes_only_where_names_do_not_count() {
    let server = server_for("elsewhere.example", false, &[]);
    check(&server, "safe", "ssl_mode=VERIFY_CA&ssl_ca=@ca.pem", NEWEST);
    let error = connect(&server, "safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@ca.pem").err().unwrap();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("subjectAltName"), "{error}");
}

#[test]
fn a_certificate_that_has_expired_is_refused_where_it_is_looked_at() {
    let server = server_for("localhost", true, &[]);
    check(&server, "safe", "ssl_mode=REQUIRED", NEWEST);
    let error = connect(&server, "safe", "ssl_mode=VERIFY_CA&ssl_ca=@ca.pem").err().unwrap();
    assert!(error.to_string().contains("renew"), "{error}");
}

#[test]
fn a_server_without_tls_is_taken_only_where_that_may_be() {
    let server = Server::start();
    server.connect().script(&["CREATE USER free"]).unwrap();
    check(&server, "free", "", Some(""));
    let error = connect(&server, "free", "ssl_mode=REQUIRED").err().unwrap();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("no TLS"), "{error}");
}

#[test]
fn tls_1_2_works_too() {
    let server = server_for("localhost", false, &["--tls-version=TLSv1.2"]);
    check(&server, "safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@ca.pem", Some("TLSv1.2"));
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn certificates_as_mysql_makes_them() {
    let server = Server::mysql(&[]);
    server.connect().script(&["CREATE USER free", "CREATE USER safe REQUIRE SSL"]).unwrap();
    check(&server, "free", "", NEWEST);
    check(&server, "safe", "ssl_mode=VERIFY_CA&ssl_ca=@data/ca.pem", NEWEST);
}

#[test]
fn certificates_as_people_make_them() {
    // Version 1, as a bare "x509 -req" makes it: enough where nothing is checked.
    let options = ["--ssl-cert=../server.pem", "--ssl-key=../server-key.pem"];
    let server = Server::start_with(&options, |folder| {
        for args in [
            "req -new -nodes -subj /CN=localhost -newkey rsa:2048 -keyout server-key.pem -out server.csr",
            "x509 -req -in server.csr -days 2 -signkey server-key.pem -out server.pem",
        ] {
            let done = Command::new("openssl").current_dir(folder).args(args.split(' ')).output();
            let done = done.expect("these tests need openssl");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    });
    server.connect().script(&["CREATE USER safe REQUIRE SSL"]).unwrap();
    check(&server, "safe", "ssl_mode=REQUIRED", NEWEST);
}

/// A hundred thousand rows.
struct Many(i64);

impl RowSource for Many {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        self.0 += 1;
        emit(&[Value::Int(self.0 % 50_000), Value::Text(&"x".repeat(100))])?;
        Ok(self.0 < 100_000)
    }
}

#[test]
fn the_load_path_works_over_tls() {
    let server = server_for("localhost", false, &[]);
    server.connect().script(&["CREATE DATABASE test", "GRANT ALL ON test.* TO safe"]).unwrap();
    let mut connection = connect(&server, "safe", "ssl_mode=REQUIRED").unwrap();
    connection.script(&["USE test", "CREATE TABLE t (a int, b text)"]).unwrap();
    let columns = [("a", Type::Int32), ("b", Type::Text)];
    assert_eq!(connection.bulk().unwrap().load("t", &columns, &mut Many(0)).unwrap(), 100_000);
    let select = Statement {
        sql: "SELECT a, b FROM t WHERE a <= ?",
        params: &[Type::Int32],
        columns: &[Type::Int32, Type::Text],
    };
    let select = connection.prepare(&select, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    connection.query(select, &[Value::Int(10_000)], &mut rows).unwrap();
    assert_eq!(rows.len(), 20_002);
    connection.script(&["CREATE TABLE u (a int PRIMARY KEY, b text)"]).unwrap();
    let error = connection.bulk().unwrap().load("u", &columns, &mut Many(0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::DuplicateKey);
    connection.query(select, &[Value::Int(1)], &mut rows).unwrap();

    let interrupt = connection.interrupt().unwrap();
    interrupt.interrupt();
    let error: Error = connection.query(select, &[Value::Int(1)], &mut rows).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown), "{error}");
}
