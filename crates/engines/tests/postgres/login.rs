//! Authentication over TCP: each method, good and bad passwords, password files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, ErrorKind};

use super::server::{Server, ADMIN};

const HBA: &str = "local all all trust\n\
    host all trusty 127.0.0.1/32 trust\n\
    host all plain 127.0.0.1/32 password\n\
    host all hashed 127.0.0.1/32 md5\n\
    host all scrammed 127.0.0.1/32 scram-sha-256\n\
    host all refused 127.0.0.1/32 reject\n";

fn server() -> Server {
    let server = Server::start_with(&[], HBA, |_| ());
    server
        .connect()
        .script(&[
            "CREATE ROLE trusty LOGIN",
            "CREATE ROLE refused LOGIN",
            "SET password_encryption = 'md5'",
            "CREATE ROLE hashed LOGIN PASSWORD 'pass:wörd/1'",
            "SET password_encryption = 'scram-sha-256'",
            "CREATE ROLE plain LOGIN PASSWORD 'pass:wörd/1'",
            "CREATE ROLE scrammed LOGIN PASSWORD 'pass:wörd/1'",
        ])
        .unwrap();
    server
}

fn connect(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>, Error> {
    dsbench_engines::postgres::open(&server.tcp(login, &format!("sslmode=disable&{parameters}")))
        .unwrap()
        .connect(ADMIN)
}

#[test]
fn every_method_asks_for_the_right_password() {
    let server = server();
    let user = |mut connection: Box<dyn Connection>| {
        connection.fetch("SELECT current_user").unwrap().rows[0][0].clone().unwrap()
    };
    assert_eq!(user(connect(&server, "trusty", "").unwrap()), "trusty");
    for name in ["plain", "hashed", "scrammed"] {
        let found = connect(&server, &format!("{name}:pass%3Aw%C3%B6rd%2F1"), "").unwrap();
        assert_eq!(user(found), name);
        let error = connect(&server, &format!("{name}:falsch"), "").err().unwrap();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "28P01"), "{error}");
        assert!(!error.to_string().contains("falsch"), "{error}");
        let error = connect(&server, name, "passfile=/nowhere").err().unwrap();
        assert!(error.kind == ErrorKind::Setup && error.to_string().contains("PGPASSWORD"), "{error}");
    }
    let error = connect(&server, "refused", "").err().unwrap();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "28000"));
    let error = connect(&server, "trusty", "channel_binding=require").err().unwrap();
    assert!(error.to_string().contains("channel_binding"), "{error}");
    let error = connect(&server, "scrammed:x", "channel_binding=require").err().unwrap();
    assert!(error.to_string().contains("channel_binding"), "{error}");
    let url = server.tcp("trusty", "sslmode=disable").replace("/postgres?", "/nothing?");
    let error = dsbench_engines::postgres::open(&url).unwrap().connect(ADMIN).err().unwrap();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "3D000"));
}

#[test]
fn a_password_file_that_only_its_owner_reads_is_used() {
    let server = server();
    let file = server.folder.join("passwords");
    fs::write(&file, format!("localhost:{}:*:scrammed:pass\\:wörd/1\n", server.port)).unwrap();
    let parameters = format!("passfile={}", file.display());
    for (mode, works) in [(0o600, true), (0o640, false), (0o604, false), (0o400, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(connect(&server, "scrammed", &parameters).is_ok(), works, "{mode:o}");
    }
}

#[test]
fn too_many_connections_come_with_a_remedy() {
    let server = Server::start_with(&["max_connections=4", "superuser_reserved_connections=0"], HBA, |_| ());
    server.connect().script(&["CREATE ROLE trusty LOGIN"]).unwrap();
    let mut kept = Vec::new();
    let error = loop {
        match connect(&server, "trusty", "") {
            Ok(connection) => kept.push(connection),
            Err(error) => break error,
        }
        assert!(kept.len() <= 4);
    };
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "53300"));
    assert!(error.to_string().contains("max_connections"), "{error}");
}
