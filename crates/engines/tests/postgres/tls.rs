//! TLS: what each sslmode takes and refuses, client certificates, channel binding, and the load path over it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use dsbench_core::engine::{Connection, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type, Value};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::server::{give_away, Server, ADMIN};

const HBA: &str = "local all all trust\n\
    hostssl all scrammed 127.0.0.1/32 scram-sha-256\n\
    hostssl all carded 127.0.0.1/32 cert\n\
    hostnossl all unsafe 127.0.0.1/32 trust\n\
    hostssl all safe 127.0.0.1/32 trust\n\
    host all admin 127.0.0.1/32 trust\n";

const SSL: &[&str] = &["ssl=on", "ssl_cert_file=../server.crt", "ssl_key_file=../server.key"];

/// Makes an authority in `folder`, by name.
fn authority(folder: &Path, name: &str) -> Issuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join(format!("{name}.crt")), params.self_signed(&key).unwrap().pem()).unwrap();
    Issuer::new(params, key)
}

/// Makes a certificate that `issuer` signs, or that signs itself.
fn certificate(
    folder: &Path,
    file: &str,
    mut params: CertificateParams,
    name: &str,
    issuer: Option<&Issuer<'_, KeyPair>>,
) {
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let made = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    fs::write(folder.join(format!("{file}.crt")), made.unwrap().pem()).unwrap();
    write_key(&folder.join(format!("{file}.key")), &key.serialize_pem());
}

fn write_key(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn names(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// A server whose certificate is for `host`, by an authority in `ca.crt`; another is in `other.crt`.
pub(super) fn server_for(host: &str) -> Server {
    let settings = [SSL, &["ssl_ca_file=../ca.crt"]].concat();
    let server = Server::start_with(&settings, HBA, |folder| {
        let ca = authority(folder, "ca");
        authority(folder, "other");
        certificate(folder, "server", names(&[host]), host, Some(&ca));
        certificate(folder, "client", names(&[]), "carded", Some(&ca));
    });
    server
        .connect()
        .script(&[
            "CREATE ROLE safe LOGIN",
            "CREATE ROLE unsafe LOGIN",
            "CREATE ROLE carded LOGIN",
            "CREATE ROLE scrammed LOGIN PASSWORD 'geheim'",
        ])
        .unwrap();
    server
}

fn connect(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>, Error> {
    // Parameters name files of the server's folder by a leading @.
    let parameters = parameters.replace('@', &format!("{}/", server.folder.display()));
    dsbench_engines::postgres::open(&server.tcp(login, &parameters))?.connect(ADMIN)
}

/// The TLS version that the server sees, or "plain".
fn version(mut connection: Box<dyn Connection>) -> String {
    let table = connection.fetch("SELECT coalesce(version, 'plain') FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    table.unwrap().rows[0][0].clone().unwrap()
}

#[test]
fn each_mode_takes_and_refuses_what_libpq_says() {
    let server = server_for("localhost");
    for (login, parameters, expected) in [
        ("admin", "sslmode=disable", Some("plain")),
        ("admin", "sslmode=allow", Some("plain")),
        ("safe", "sslmode=allow", Some("TLSv1.3")),
        ("admin", "", Some("TLSv1.3")),
        ("admin", "sslmode=prefer", Some("TLSv1.3")),
        ("unsafe", "sslmode=prefer", Some("plain")),
        ("admin", "sslmode=prefer&sslrootcert=@other.crt", Some("plain")),
        ("admin", "sslmode=require", Some("TLSv1.3")),
        ("unsafe", "sslmode=require", None),
        ("safe", "sslmode=disable", None),
        ("admin", "sslmode=require&sslrootcert=@ca.crt", Some("TLSv1.3")),
        ("admin", "sslmode=require&sslrootcert=@other.crt", None),
        ("admin", "sslmode=verify-ca&sslrootcert=@ca.crt", Some("TLSv1.3")),
        ("admin", "sslmode=verify-ca&sslrootcert=@other.crt", None),
        ("admin", "sslmode=verify-full&sslrootcert=@ca.crt", Some("TLSv1.3")),
        ("admin", "sslmode=verify-full&sslrootcert=@other.crt", None),
        ("admin", "sslrootcert=system", None),
    ] {
        let found = connect(&server, login, parameters);
        match (found, expected) {
            (Ok(connection), Some(expected)) => assert_eq!(version(connection), expected, "{login} {parameters}"),
            (Err(error), None) => assert_eq!(error.kind, ErrorKind::Setup, "{login} {parameters}: {error}"),
            (Ok(_), None) => panic!("{login} {parameters} was let in"),
            (Err(error), Some(_)) => panic!("{login} {parameters}: {error}"),
        }
    }
    let error = connect(&server, "admin", "sslmode=verify-ca&sslrootcert=@none.crt").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Configuration);
    assert_eq!(version(server.connect()), "plain", "a unix socket has no TLS");
}

#[test]
fn a_certificate_for_another_host_passes_only_where_names_do_not_count() {
    let server = server_for("elsewhere.example");
    assert!(connect(&server, "admin", "sslmode=verify-ca&sslrootcert=@ca.crt").is_ok());
    let error = connect(&server, "admin", "sslmode=verify-full&sslrootcert=@ca.crt").err().unwrap();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("subjectAltName"), "{error}");
}

#[test]
fn a_client_certificate_lets_in() {
    let server = server_for("localhost");
    let certificate = "sslmode=require&sslcert=@client.crt&sslkey=@client.key";
    let mut connection = connect(&server, "carded", certificate).unwrap();
    assert_eq!(connection.fetch("SELECT current_user").unwrap().rows, [[Some("carded".to_owned())]]);
    assert_eq!(connect(&server, "carded", "sslmode=require").err().unwrap().kind, ErrorKind::Setup);
    fs::set_permissions(server.folder.join("client.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = connect(&server, "carded", certificate).err().unwrap();
    assert!(error.kind == ErrorKind::Configuration && error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn a_login_can_be_tied_to_its_tls_connection() {
    let server = server_for("localhost");
    for binding in ["disable", "prefer", "require"] {
        let parameters = format!("sslmode=require&channel_binding={binding}");
        assert!(connect(&server, "scrammed:geheim", &parameters).is_ok(), "{binding}");
        assert_eq!(connect(&server, "scrammed:falsch", &parameters).err().unwrap().kind, ErrorKind::Setup);
    }
    assert!(connect(&server, "safe", "sslmode=require&channel_binding=require").is_err(), "trust is not tied");
}

#[test]
fn the_load_path_works_over_tls() {
    let server = server_for("localhost");
    let mut connection = connect(&server, "admin", "sslmode=require").unwrap();
    connection.script(&["CREATE TABLE t (a int, b text)"]).unwrap();
    struct Rows3(i64);
    impl dsbench_core::engine::RowSource for Rows3 {
        fn next_row(
            &mut self,
            emit: &mut dyn FnMut(&[Value<'_>]) -> dsbench_core::error::Result<()>,
        ) -> dsbench_core::error::Result<bool> {
            self.0 += 1;
            emit(&[Value::Int(self.0 % 50_000), Value::Text(&"x".repeat(100))])?;
            Ok(self.0 < 100_000)
        }
    }
    let columns = [("a", Type::Int32), ("b", Type::Text)];
    assert_eq!(connection.bulk().unwrap().load("t", &columns, &mut Rows3(0)).unwrap(), 100_000);
    let select = Statement {
        sql: "SELECT a, b FROM t WHERE a <= $1",
        params: &[Type::Int32],
        columns: &[Type::Int32, Type::Text],
    };
    let select = connection.prepare(&select, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    connection.query(select, &[Value::Int(10_000)], &mut rows).unwrap();
    assert_eq!(rows.len(), 20_002);
    connection.script(&["CREATE TABLE u (a int PRIMARY KEY, b text)"]).unwrap();
    let error = connection.bulk().unwrap().load("u", &columns, &mut Rows3(0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::DuplicateKey);
    connection.query(select, &[Value::Int(1)], &mut rows).unwrap();

    let interrupt = connection.interrupt().unwrap();
    interrupt.interrupt();
    let error = connection.query(select, &[Value::Int(1)], &mut rows).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown), "{error}");
}

#[test]
fn certificates_as_people_make_them_by_hand() {
    // Self-signed, an authority by default, and named as its own root: OpenSSL takes it.
    let openssl = |folder: &Path, args: &str| {
        let done = Command::new("openssl")
            .current_dir(folder)
            .args(args.split(' '))
            .output()
            .expect("these tests need openssl");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let own = Server::start_with(SSL, HBA, |folder| {
        openssl(
            folder,
            "req -new -x509 -days 2 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost \
            -newkey rsa:2048 -keyout server.key -out server.crt"
                .replace("            ", "")
                .as_str(),
        );
        write_key(&folder.join("server.key"), &fs::read_to_string(folder.join("server.key")).unwrap());
    });
    fs::copy(own.folder.join("server.crt"), own.folder.join("copy.crt")).unwrap();
    for parameters in
        ["sslmode=require", "sslmode=verify-ca&sslrootcert=@copy.crt", "sslmode=verify-full&sslrootcert=@copy.crt"]
    {
        assert!(connect(&own, "admin", parameters).is_ok(), "{parameters}");
    }

    // Version 1, as a bare "x509 -req" makes it: enough where nothing is checked.
    let bare = Server::start_with(SSL, HBA, |folder| {
        openssl(folder, "req -new -nodes -subj /CN=localhost -newkey rsa:2048 -keyout server.key -out server.csr");
        openssl(folder, "x509 -req -in server.csr -days 2 -signkey server.key -out server.crt");
        write_key(&folder.join("server.key"), &fs::read_to_string(folder.join("server.key")).unwrap());
    });
    assert_eq!(version(connect(&bare, "admin", "sslmode=require").unwrap()), "TLSv1.3");
    fs::copy(bare.folder.join("server.crt"), bare.folder.join("copy.crt")).unwrap();
    let error = connect(&bare, "admin", "sslmode=verify-full&sslrootcert=@copy.crt").err().unwrap();
    assert!(error.to_string().contains("version 3"), "{error}");
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let server = Server::start_with(SSL, HBA, |folder| {
        let mut params = names(&["localhost"]);
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        certificate(folder, "server", params, "localhost", None);
        give_away(folder);
    });
    fs::copy(server.folder.join("server.crt"), server.folder.join("copy.crt")).unwrap();
    assert!(connect(&server, "admin", "sslmode=require").is_ok());
    let error = connect(&server, "admin", "sslmode=verify-ca&sslrootcert=@copy.crt").err().unwrap();
    assert!(error.to_string().contains("renew"), "{error}");
}

#[test]
fn a_server_without_tls_is_taken_only_where_that_may_be() {
    let server = Server::start();
    for (mode, works) in
        [("disable", true), ("allow", true), ("prefer", true), ("require", false), ("verify-ca", false)]
    {
        fs::write(server.folder.join("ca.crt"), authority_text()).unwrap();
        let found = connect(
            &server,
            "admin",
            &format!("sslmode={mode}{}", if mode == "verify-ca" { "&sslrootcert=@ca.crt" } else { "" }),
        );
        assert_eq!(found.is_ok(), works, "{mode}");
    }
    let error = connect(&server, "admin", "sslmode=require").err().unwrap();
    assert!(error.to_string().contains("no TLS"), "{error}");
}

fn authority_text() -> String {
    rcgen::generate_simple_self_signed(vec!["ca".to_owned()]).unwrap().cert.pem()
}

#[test]
fn tls_1_2_works_too() {
    let settings = [SSL, &["ssl_max_protocol_version=TLSv1.2"]].concat();
    let server = Server::start_with(&settings, HBA, |folder| {
        certificate(folder, "server", names(&["localhost"]), "localhost", None)
    });
    assert_eq!(version(connect(&server, "admin", "sslmode=require").unwrap()), "TLSv1.2");
}
