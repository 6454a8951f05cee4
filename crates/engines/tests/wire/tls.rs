//! TLS: what each mode takes and refuses, client certificates, channel binding, and the load path over it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use dsbench_core::engine::{Connection, Prepare, RowSource};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod, KeyPair,
    RevokedCertParams, SerialNumber,
};

use crate::server::{Server, ADMIN};
use crate::{cell, rows, Wire};

for_both!(
    each_mode_takes_and_refuses_what_the_product_s_own_client_does,
    a_certificate_for_another_host_passes_only_where_names_do_not_count,
    a_certificate_that_has_expired_is_refused_where_it_is_looked_at,
    a_server_without_tls_is_taken_only_where_that_may_be,
    tls_1_2_works_too,
    certificates_as_people_make_them_by_hand,
    the_load_path_works_over_tls,
);

const HBA: &str = "local all all trust\n\
    hostssl all scrammed 127.0.0.1/32 scram-sha-256\n\
    hostssl all carded 127.0.0.1/32 cert\n\
    hostnossl all unsafe 127.0.0.1/32 trust\n\
    hostssl all safe 127.0.0.1/32 trust\n\
    host all admin 127.0.0.1/32 trust\n";

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
fn certificate(folder: &Path, file: &str, name: &str, issuer: Option<&Issuer<'_, KeyPair>>, expired: bool) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    if expired {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let made = issuer.map_or_else(|| params.self_signed(&key), |issuer| params.signed_by(&key, issuer));
    fs::write(folder.join(format!("{file}.crt")), made.unwrap().pem()).unwrap();
    write_key(&folder.join(format!("{file}.key")), &key.serialize_pem());
}

fn write_key(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A server with the certificate that `prepare` puts into `server.crt`, and users. Files are named from the data folder.
fn server_with(wire: Wire, options: &[&str], prepare: impl FnOnce(&Path)) -> Server {
    let files = wire.either(
        ["ssl=on", "ssl_cert_file=../server.crt", "ssl_key_file=../server.key"],
        ["--ssl", "--ssl-cert=../server.crt", "--ssl-key=../server.key"],
    );
    let server = Server::start_with(&wire.product(), &[&files[..], options].concat(), |folder| {
        if wire == Wire::Postgres {
            fs::write(folder.join("data/pg_hba.conf"), HBA).unwrap();
        }
        prepare(folder);
    });
    let users = wire.either(
        [
            "CREATE ROLE safe LOGIN",
            "CREATE ROLE unsafe LOGIN",
            "CREATE ROLE carded LOGIN",
            "CREATE ROLE scrammed LOGIN PASSWORD 'geheim'",
        ],
        [
            "CREATE USER safe REQUIRE SSL",
            "CREATE USER free",
            "CREATE USER carded REQUIRE SUBJECT '/CN=carded'",
            "GRANT ALL ON test.* TO safe",
        ],
    );
    server.connect().script(&users).unwrap();
    server
}

/// A server whose certificate is for `host`, by an authority in `ca.crt`; another is in `other.crt`.
pub(super) fn server_for(wire: Wire, host: &str) -> Server {
    server_with(wire, &[wire.either("ssl_ca_file=../ca.crt", "--ssl-ca=../ca.crt")], |folder| {
        let ca = authority(folder, "ca");
        authority(folder, "other");
        certificate(folder, "server", host, Some(&ca), false);
        certificate(folder, "client", "carded", Some(&ca), false);
    })
}

fn connect(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>> {
    // Parameters name files of the server's folder by a leading @.
    let parameters = parameters.replace('@', &format!("{}/", server.folder().display()));
    dsbench_engines::open(&server.tcp(login, &parameters))?.connect(ADMIN)
}

/// The same by parameters for PostgreSQL, which are translated for MySQL.
fn safely(wire: Wire, server: &Server, parameters: &str) -> Result<Box<dyn Connection>> {
    let mysql = parameters
        .replace("sslmode=require", "ssl_mode=REQUIRED")
        .replace("sslmode=verify-ca", "ssl_mode=VERIFY_CA")
        .replace("sslmode=verify-full", "ssl_mode=VERIFY_IDENTITY")
        .replace("sslrootcert", "ssl_ca");
    connect(server, "safe", wire.either(parameters, &mysql))
}

/// The TLS version that the server sees; empty when there is none.
fn version(wire: Wire, mut connection: Box<dyn Connection>) -> String {
    match wire {
        Wire::Postgres => cell(&mut *connection, "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"),
        Wire::Mysql => rows(&mut *connection, "SHOW SESSION STATUS LIKE 'Ssl_version'")[0][1].clone().unwrap(),
    }
}

fn check(wire: Wire, server: &Server, login: &str, parameters: &str, expected: Option<&str>) {
    match (connect(server, login, parameters), expected) {
        (Ok(connection), Some(expected)) => assert_eq!(version(wire, connection), expected, "{login} {parameters}"),
        (Err(error), None) => assert_eq!(error.kind, ErrorKind::Setup, "{login} {parameters}: {error}"),
        (Ok(_), None) => panic!("{login} {parameters} was let in"),
        (Err(error), Some(_)) => panic!("{login} {parameters}: {error}"),
    }
}

const NEWEST: Option<&str> = Some("TLSv1.3");
const PLAIN: Option<&str> = Some("");

const MODES_OF_POSTGRES: &[(&str, &str, Option<&str>)] = &[
    ("admin", "sslmode=disable", PLAIN),
    ("admin", "sslmode=allow", PLAIN),
    ("safe", "sslmode=allow", NEWEST),
    ("admin", "", NEWEST),
    ("admin", "sslmode=prefer", NEWEST),
    ("unsafe", "sslmode=prefer", PLAIN),
    ("admin", "sslmode=prefer&sslrootcert=@other.crt", PLAIN),
    ("admin", "sslmode=require", NEWEST),
    ("unsafe", "sslmode=require", None),
    ("safe", "sslmode=disable", None),
    ("admin", "sslmode=require&sslrootcert=@ca.crt", NEWEST),
    ("admin", "sslmode=require&sslrootcert=@other.crt", None),
    ("admin", "sslmode=verify-ca&sslrootcert=@ca.crt", NEWEST),
    ("admin", "sslmode=verify-ca&sslrootcert=@other.crt", None),
    ("admin", "sslmode=verify-full&sslrootcert=@ca.crt", NEWEST),
    ("admin", "sslmode=verify-full&sslrootcert=@other.crt", None),
    ("admin", "sslrootcert=system", None),
    ("carded", "sslmode=require", None),
    ("carded", "sslmode=require&sslcert=@client.crt&sslkey=@client.key", NEWEST),
];

const MODES_OF_MYSQL: &[(&str, &str, Option<&str>)] = &[
    ("free", "ssl_mode=DISABLED", PLAIN),
    ("safe", "ssl_mode=DISABLED", None),
    ("free", "", NEWEST),
    ("safe", "ssl_mode=PREFERRED", NEWEST),
    ("safe", "ssl_mode=REQUIRED", NEWEST),
    ("safe", "ssl_ca=@ca.crt", NEWEST),
    ("safe", "ssl_ca=@other.crt", None),
    ("safe", "ssl_mode=REQUIRED&ssl_ca=@other.crt", NEWEST),
    ("safe", "ssl_mode=VERIFY_CA&ssl_ca=@ca.crt", NEWEST),
    ("safe", "ssl_mode=VERIFY_CA&ssl_ca=@other.crt", None),
    ("safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@ca.crt", NEWEST),
    ("safe", "ssl_mode=VERIFY_IDENTITY&ssl_ca=@other.crt", None),
    ("carded", "ssl_mode=REQUIRED", None),
    ("carded", "ssl_mode=REQUIRED&ssl_cert=@client.crt&ssl_key=@client.key", NEWEST),
];

fn each_mode_takes_and_refuses_what_the_product_s_own_client_does(wire: Wire) {
    let server = server_for(wire, "localhost");
    for (login, parameters, expected) in wire.either(MODES_OF_POSTGRES, MODES_OF_MYSQL) {
        check(wire, &server, login, parameters, *expected);
    }
    let error = safely(wire, &server, "sslmode=verify-ca&sslrootcert=@none.crt").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Configuration);
    assert_eq!(version(wire, server.connect()), "", "a unix socket needs no TLS");
    if wire == Wire::Mysql {
        let over_socket = dsbench_engines::open(&format!("{}&ssl_mode=REQUIRED", server.url())).unwrap();
        assert_eq!(version(wire, over_socket.connect(ADMIN).unwrap()), "TLSv1.3", "but can have it");
    }
}

fn a_certificate_for_another_host_passes_only_where_names_do_not_count(wire: Wire) {
    let server = server_for(wire, "elsewhere.example");
    assert!(safely(wire, &server, "sslmode=verify-ca&sslrootcert=@ca.crt").is_ok());
    let error = safely(wire, &server, "sslmode=verify-full&sslrootcert=@ca.crt").err().unwrap();
    assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("subjectAltName"), "{error}");
}

fn a_certificate_that_has_expired_is_refused_where_it_is_looked_at(wire: Wire) {
    // One that signed itself, and one of an authority.
    let root = wire.either("server", "ca");
    let server = server_with(wire, &[], |folder| {
        let ca = authority(folder, "ca");
        certificate(folder, "server", "localhost", (root == "ca").then_some(&ca), true);
    });
    assert!(safely(wire, &server, "sslmode=require").is_ok());
    let error = safely(wire, &server, &format!("sslmode=verify-ca&sslrootcert=@{root}.crt")).err().unwrap();
    assert!(format!("{error:#}").contains("renew"), "{error}");
}

fn a_server_without_tls_is_taken_only_where_that_may_be(wire: Wire) {
    let server = wire.server();
    authority(server.folder(), "ca");
    let user = wire.either("CREATE ROLE safe LOGIN", "CREATE USER safe");
    server.connect().script(&[user]).unwrap();
    for parameters in
        wire.either(&["sslmode=disable", "sslmode=allow", "sslmode=prefer"][..], &["ssl_mode=DISABLED", ""])
    {
        check(wire, &server, "safe", parameters, PLAIN);
    }
    for parameters in ["sslmode=require", "sslmode=verify-ca&sslrootcert=@ca.crt"] {
        let error = safely(wire, &server, parameters).err().unwrap();
        assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("no TLS"), "{error}");
    }
}

fn tls_1_2_works_too(wire: Wire) {
    let server =
        server_with(wire, &[wire.either("ssl_max_protocol_version=TLSv1.2", "--tls-version=TLSv1.2")], |folder| {
            let ca = authority(folder, "ca");
            certificate(folder, "server", "localhost", Some(&ca), false);
        });
    for parameters in ["sslmode=require", "sslmode=verify-full&sslrootcert=@ca.crt"] {
        assert_eq!(version(wire, safely(wire, &server, parameters).unwrap()), "TLSv1.2");
    }
}

/// Makes a certificate by these commands of OpenSSL.
fn by_hand(folder: &Path, commands: &[&str]) {
    for args in commands {
        let done = Command::new("openssl").current_dir(folder).args(args.split(' ')).output();
        let done = done.expect("these tests need openssl");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    write_key(&folder.join("server.key"), &fs::read_to_string(folder.join("server.key")).unwrap());
}

fn certificates_as_people_make_them_by_hand(wire: Wire) {
    // Self-signed, an authority by default, and named as its own root: OpenSSL takes it.
    let own = server_with(wire, &[], |folder| {
        by_hand(
            folder,
            &["req -new -x509 -days 2 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -newkey rsa:2048 \
               -keyout server.key -out server.crt"],
        );
    });
    for parameters in
        ["sslmode=require", "sslmode=verify-ca&sslrootcert=@server.crt", "sslmode=verify-full&sslrootcert=@server.crt"]
    {
        assert!(safely(wire, &own, parameters).is_ok(), "{parameters}");
    }

    // Version 1, as a bare "x509 -req" makes it: enough where nothing is checked.
    let bare = server_with(wire, &[], |folder| {
        let request = "req -new -nodes -subj /CN=localhost -newkey rsa:2048 -keyout server.key -out server.csr";
        by_hand(folder, &[request, "x509 -req -in server.csr -days 2 -signkey server.key -out server.crt"]);
    });
    assert_eq!(version(wire, safely(wire, &bare, "sslmode=require").unwrap()), "TLSv1.3");
    assert!(safely(wire, &bare, "sslmode=verify-full&sslrootcert=@server.crt").is_ok(), "and named as its own root");
    let signed = server_with(wire, &[wire.either("ssl_ca_file=../ca.crt", "--ssl-ca=../ca.crt")], |folder| {
        let own = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt";
        let request = "req -new -nodes -newkey rsa:2048 -subj /CN";
        let by = "-CA ca.crt -CAkey ca.key -CAcreateserial -days 2";
        by_hand(
            folder,
            &[
                own,
                &format!("{request}=localhost -keyout server.key -out server.csr"),
                &format!("x509 -req -in server.csr {by} -out server.crt"),
                &format!("{request}=carded -keyout client.key -out client.csr"),
                &format!("x509 -req -in client.csr {by} -out client.crt"),
            ],
        );
        write_key(&folder.join("client.key"), &fs::read_to_string(folder.join("client.key")).unwrap());
        authority(folder, "other");
    });
    for (root, good) in [("ca", true), ("other", false)] {
        let parameters = format!("sslmode=verify-full&sslrootcert=@{root}.crt");
        assert_eq!(safely(wire, &signed, &parameters).is_ok(), good, "{parameters}");
    }
    let card = wire.either(
        "sslmode=require&sslcert=@client.crt&sslkey=@client.key",
        "ssl_mode=REQUIRED&ssl_cert=@client.crt&ssl_key=@client.key",
    );
    check(wire, &signed, "carded", card, NEWEST);
}

#[test]
fn a_certificate_that_was_revoked_is_refused_where_a_list_is_named() {
    let server = server_with(Wire::Postgres, &[], |folder| {
        let ca = authority(folder, "ca");
        for (list, serial) in [("revoked", 1_u64), ("others", 2)] {
            let revoked = RevokedCertParams {
                serial_number: SerialNumber::from(serial),
                revocation_time: rcgen::date_time_ymd(2020, 1, 1),
                reason_code: None,
                invalidity_date: None,
            };
            let params = CertificateRevocationListParams {
                this_update: rcgen::date_time_ymd(2020, 1, 1),
                next_update: rcgen::date_time_ymd(2120, 1, 1),
                crl_number: SerialNumber::from(1),
                issuing_distribution_point: None,
                revoked_certs: vec![revoked],
                key_identifier_method: KeyIdMethod::Sha256,
            };
            fs::write(folder.join(format!("{list}.crl")), params.signed_by(&ca).unwrap().pem().unwrap()).unwrap();
        }
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from(1));
        let key = KeyPair::generate().unwrap();
        fs::write(folder.join("server.crt"), params.signed_by(&key, &ca).unwrap().pem()).unwrap();
        write_key(&folder.join("server.key"), &key.serialize_pem());
    });
    for mode in ["verify-ca", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert=@ca.crt&sslcrl=");
        assert!(safely(Wire::Postgres, &server, &format!("{parameters}@others.crl")).is_ok());
        let error = safely(Wire::Postgres, &server, &format!("{parameters}@revoked.crl")).err().unwrap();
        assert!(format!("{error:#}").contains("revoked"), "{error:#}");
    }
    let error = safely(Wire::Postgres, &server, "sslmode=verify-ca&sslrootcert=@ca.crt&sslcrl=@ca.crt").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Configuration);
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

fn the_load_path_works_over_tls(wire: Wire) {
    let server = server_for(wire, "localhost");
    let login = wire.either("admin", "safe");
    let mut connection = connect(&server, login, wire.either("sslmode=require", "ssl_mode=REQUIRED")).unwrap();
    connection.script(wire.either(&[], &["USE test"])).unwrap();
    connection.script(&["CREATE TABLE t (a int, b text)", "CREATE TABLE u (a int PRIMARY KEY, b text)"]).unwrap();
    let columns = [("a", Type::Int32), ("b", Type::Text)];
    assert_eq!(connection.bulk().unwrap().load("t", &columns, &mut Many(0)).unwrap(), 100_000);
    let (sql, both) = ("SELECT a, b FROM t WHERE a <= ?", [Type::Int32, Type::Text]);
    let select = wire.prepare(&mut *connection, sql, &[Type::Int32], &both, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    connection.query(select, &[Value::Int(10_000)], &mut rows).unwrap();
    assert_eq!(rows.len(), 20_002);
    let error = connection.bulk().unwrap().load("u", &columns, &mut Many(0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::DuplicateKey);
    connection.query(select, &[Value::Int(1)], &mut rows).unwrap();

    let interrupt = connection.interrupt().unwrap();
    interrupt.interrupt();
    let error = connection.query(select, &[Value::Int(1)], &mut rows).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown), "{error}");
}

#[test]
fn a_key_of_postgres_that_others_may_read_is_refused() {
    let server = server_for(Wire::Postgres, "localhost");
    let certificate = "sslmode=require&sslcert=@client.crt&sslkey=@client.key";
    let mut connection = connect(&server, "carded", certificate).unwrap();
    assert_eq!(cell(&mut *connection, "SELECT current_user"), "carded");
    fs::set_permissions(server.folder().join("client.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = connect(&server, "carded", certificate).err().unwrap();
    assert!(error.kind == ErrorKind::Configuration && format!("{error:#}").contains("chmod 600"), "{error}");
}

#[test]
fn a_login_to_postgres_can_be_tied_to_its_tls_connection() {
    let server = server_for(Wire::Postgres, "localhost");
    for binding in ["disable", "prefer", "require"] {
        let parameters = format!("sslmode=require&channel_binding={binding}");
        assert!(connect(&server, "scrammed:geheim", &parameters).is_ok(), "{binding}");
        assert_eq!(connect(&server, "scrammed:falsch", &parameters).err().unwrap().kind, ErrorKind::Setup);
    }
    assert!(connect(&server, "safe", "sslmode=require&channel_binding=require").is_err(), "trust is not tied");
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn certificates_as_mysql_makes_them() {
    let server = Server::mysql();
    server.connect().script(&["CREATE USER free", "CREATE USER safe REQUIRE SSL"]).unwrap();
    check(Wire::Mysql, &server, "free", "", NEWEST);
    check(Wire::Mysql, &server, "safe", "ssl_mode=VERIFY_CA&ssl_ca=@data/ca.pem", NEWEST);
}
