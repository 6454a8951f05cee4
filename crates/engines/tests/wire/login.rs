//! Authentication over TCP and the unix socket: each method, good and bad passwords, password files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dsbench_core::engine::Connection;
use dsbench_core::error::{ErrorKind, Result};

use crate::server::{Product, Server, ADMIN};
use crate::{cell, Wire};

for_both!(too_many_connections_come_with_a_remedy);

const PASSWORD: &str = "pass:wörd/1";
const ENCODED: &str = "pass%3Aw%C3%B6rd%2F1";

fn over_tcp(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>> {
    dsbench_engines::open(&server.tcp(login, parameters)).unwrap().connect(ADMIN)
}

fn over_socket(server: &Server, login: &str) -> Result<Box<dyn Connection>> {
    dsbench_engines::open(&server.socket(login)).unwrap().connect(ADMIN)
}

fn user(mut connection: Box<dyn Connection>) -> String {
    let sql = "SELECT CURRENT_USER";
    cell(&mut *connection, sql).split('@').next().unwrap().to_owned()
}

fn refused(found: Result<Box<dyn Connection>>, code: &str) {
    let error = found.err().unwrap();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, code), "{error}");
    assert!(!format!("{error:#}").contains("falsch") && !format!("{error:#}").contains(PASSWORD), "{error}");
}

fn too_many_connections_come_with_a_remedy(wire: Wire) {
    let options =
        wire.either(&["max_connections=4", "superuser_reserved_connections=0"][..], &["--max-connections=10"]);
    for server in wire.servers(options) {
        server.connect().script(&[wire.either("CREATE ROLE guest LOGIN", "CREATE USER guest")]).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match over_tcp(&server, "guest", "") {
                Ok(connection) => kept.push(connection),
                Err(error) => break error,
            }
            assert!(kept.len() <= 11);
        };
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, wire.either("53300", "1040")));
        assert!(format!("{error:#}").contains("max_connections"), "{error}");
        drop(kept);
    }
}

const HBA: &str = "local all all trust\n\
    host all trusty 127.0.0.1/32 trust\n\
    host all plain 127.0.0.1/32 password\n\
    host all hashed 127.0.0.1/32 md5\n\
    host all scrammed 127.0.0.1/32 scram-sha-256\n\
    host all refused 127.0.0.1/32 reject\n";

fn postgres() -> Server {
    let hba = |folder: &std::path::Path| fs::write(folder.join("data/pg_hba.conf"), HBA).unwrap();
    let server = Server::start_with(&Product::Postgres, &[], hba);
    let with = |name: &str| format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'");
    server
        .connect()
        .script(&[
            "CREATE ROLE trusty LOGIN",
            "CREATE ROLE refused LOGIN",
            "SET password_encryption = 'md5'",
            &with("hashed"),
            "SET password_encryption = 'scram-sha-256'",
            &with("plain"),
            &with("scrammed"),
        ])
        .unwrap();
    server
}

#[test]
fn every_method_of_postgres_asks_for_the_right_password() {
    let server = postgres();
    let plain = |login: &str, parameters: &str| over_tcp(&server, login, &format!("sslmode=disable&{parameters}"));
    assert_eq!(user(plain("trusty", "").unwrap()), "trusty");
    for name in ["plain", "hashed", "scrammed"] {
        assert_eq!(user(plain(&format!("{name}:{ENCODED}"), "").unwrap()), name);
        refused(plain(&format!("{name}:falsch"), ""), "28P01");
        let error = plain(name, "passfile=/nowhere").err().unwrap();
        assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("PGPASSWORD"), "{error}");
    }
    refused(plain("refused", ""), "28000");
    for login in ["trusty", "scrammed:x"] {
        let url = server.tcp(login, "sslmode=disable&channel_binding=require");
        let error = dsbench_engines::open(&url).err().unwrap();
        assert!(format!("{error:#}").contains("channel_binding"), "{error}");
    }
    let url = server.tcp("trusty", "sslmode=disable").replace("/postgres?", "/nothing?");
    refused(dsbench_engines::open(&url).unwrap().connect(ADMIN), "3D000");
}

#[test]
fn a_password_file_of_postgres_that_only_its_owner_reads_is_used() {
    let server = postgres();
    let file = server.folder().join("passwords");
    fs::write(&file, format!("localhost:{}:*:scrammed:pass\\:wörd/1\n", server.port)).unwrap();
    let parameters = format!("sslmode=disable&passfile={}", file.display());
    for (mode, works) in [(0o600, true), (0o640, false), (0o604, false), (0o400, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(over_tcp(&server, "scrammed", &parameters).is_ok(), works, "{mode:o}");
    }
}

#[test]
fn every_method_of_mariadb_asks_for_the_right_password() {
    let server = Server::start(&Product::MariaDb, &["--plugin-load-add=auth_ed25519"]);
    let create =
        |name: &str, plugin: &str| format!("CREATE USER {name} IDENTIFIED VIA {plugin} USING PASSWORD('{PASSWORD}')");
    server
        .connect()
        .script(&[
            &create("native", "mysql_native_password"),
            &create("signed", "ed25519"),
            "CREATE USER open",
            "CREATE USER mysql IDENTIFIED VIA unix_socket",
            "CREATE USER blocked IDENTIFIED BY 'x' ACCOUNT LOCK",
            "CREATE DATABASE own",
        ])
        .unwrap();
    for name in ["native", "signed"] {
        assert_eq!(user(over_tcp(&server, &format!("{name}:{ENCODED}"), "").unwrap()), name);
        assert_eq!(user(over_socket(&server, &format!("{name}:{ENCODED}")).unwrap()), name);
        refused(over_tcp(&server, &format!("{name}:falsch"), ""), "1045");
        refused(over_tcp(&server, name, ""), "1045");
    }
    assert_eq!(user(over_tcp(&server, "open", "").unwrap()), "open");
    refused(over_tcp(&server, "open:falsch", ""), "1045");
    refused(over_tcp(&server, "unknown:falsch", ""), "1045");
    // Only the user of that name in the operating system is let in.
    refused(over_socket(&server, "mysql"), "1698");
    refused(over_tcp(&server, "blocked:x", ""), "4151");
    let url = server.tcp(&format!("native:{ENCODED}"), "").replace("/?", "/nothing?");
    refused(dsbench_engines::open(&url).unwrap().connect(ADMIN), "1044");
    let url = server.socket("root").replace("/?", "/own?");
    let mut connection = dsbench_engines::open(&url).unwrap().connect(ADMIN).unwrap();
    assert_eq!(cell(&mut *connection, "SELECT DATABASE()"), "own");
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn every_method_of_mysql_asks_for_the_right_password() {
    let server = Server::mysql();
    let create = |name: &str, plugin: &str| format!("CREATE USER {name} IDENTIFIED WITH {plugin} BY '{PASSWORD}'");
    let mut admin = server.connect();
    admin
        .script(&[
            &create("native", "mysql_native_password"),
            &create("cached", "caching_sha2_password"),
            &create("hashed", "sha256_password"),
            "CREATE USER open",
        ])
        .unwrap();
    assert_eq!(user(over_tcp(&server, "open", "").unwrap()), "open");
    for name in ["native", "cached", "hashed"] {
        let login = format!("{name}:{ENCODED}");
        // TLS; the unix socket; the server's key, which is asked for; and again, when it is known.
        let checked = format!("ssl_mode=VERIFY_CA&ssl_ca={}/data/ca.pem", server.folder().display());
        let unchecked = match name {
            "hashed" => ["ssl_mode=REQUIRED&enable_cleartext_plugin=true", "enable_cleartext_plugin=true"],
            _ => ["ssl_mode=REQUIRED", ""],
        };
        for way in [&checked, unchecked[0], "ssl_mode=DISABLED&allow_public_key_retrieval=true", unchecked[1]] {
            admin.script(&["FLUSH PRIVILEGES"]).unwrap();
            for _ in 0..2 {
                assert_eq!(user(over_tcp(&server, &login, way).unwrap()), name, "{way}");
            }
            refused(over_tcp(&server, &format!("{name}:falsch"), way), "1045");
        }
        admin.script(&["FLUSH PRIVILEGES"]).unwrap();
        assert_eq!(user(over_socket(&server, &login).unwrap()), name);
        refused(over_socket(&server, &format!("{name}:falsch")), "1045");
    }
    for name in ["cached", "hashed"] {
        admin.script(&["FLUSH PRIVILEGES"]).unwrap();
        let error = over_tcp(&server, &format!("{name}:{ENCODED}"), "ssl_mode=DISABLED").err().unwrap();
        assert!(format!("{error:#}").contains("allow_public_key_retrieval"), "{error}");
    }
    for way in ["", "ssl_mode=REQUIRED", "allow_public_key_retrieval=true"] {
        let error = over_tcp(&server, &format!("hashed:{ENCODED}"), way).err().unwrap();
        assert!(format!("{error:#}").contains("enable_cleartext_plugin"), "{way}: {error}");
    }
    // Once the server has seen the password, caching_sha2_password needs it no more.
    assert_eq!(user(over_tcp(&server, &format!("cached:{ENCODED}"), "").unwrap()), "cached");
    assert_eq!(user(over_tcp(&server, &format!("cached:{ENCODED}"), "ssl_mode=DISABLED").unwrap()), "cached");
}
