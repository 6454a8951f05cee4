//! Authentication over TCP and the unix socket: each method, good and bad passwords.

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, ErrorKind};

use super::server::{Server, ADMIN};

const PASSWORD: &str = "pass:wörd/1";
const ENCODED: &str = "pass%3Aw%C3%B6rd%2F1";

fn over_tcp(server: &Server, login: &str, parameters: &str) -> Result<Box<dyn Connection>, Error> {
    dsbench_engines::mysql::open(&server.tcp(login, parameters)).unwrap().connect(ADMIN)
}

fn over_socket(server: &Server, login: &str) -> Result<Box<dyn Connection>, Error> {
    dsbench_engines::mysql::open(&server.url().replace("root@", &format!("{login}@"))).unwrap().connect(ADMIN)
}

fn user(mut connection: Box<dyn Connection>) -> String {
    let found = connection.fetch("SELECT CURRENT_USER()").unwrap().rows[0][0].clone().unwrap();
    found.split('@').next().unwrap().to_owned()
}

fn refused(found: Result<Box<dyn Connection>, Error>, code: &str) {
    let error = found.err().unwrap();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, code), "{error}");
    assert!(!error.to_string().contains("falsch") && !error.to_string().contains(PASSWORD), "{error}");
}

#[test]
fn every_method_of_mariadb_asks_for_the_right_password() {
    let server = Server::start_with(&["--plugin-load-add=auth_ed25519"], |_| ());
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
    refused(dsbench_engines::mysql::open(&url).unwrap().connect(ADMIN), "1044");
    let url = server.url().replace("/?", "/own?");
    let mut connection = dsbench_engines::mysql::open(&url).unwrap().connect(ADMIN).unwrap();
    assert_eq!(connection.fetch("SELECT DATABASE()").unwrap().rows, [[Some("own".to_owned())]]);
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn every_method_of_mysql_asks_for_the_right_password() {
    let server = Server::mysql(&[]);
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
        let checked = format!("ssl_mode=VERIFY_CA&ssl_ca={}/data/ca.pem", server.folder.display());
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
        assert!(error.to_string().contains("allow_public_key_retrieval"), "{error}");
    }
    for way in ["", "ssl_mode=REQUIRED", "allow_public_key_retrieval=true"] {
        let error = over_tcp(&server, &format!("hashed:{ENCODED}"), way).err().unwrap();
        assert!(error.to_string().contains("enable_cleartext_plugin"), "{way}: {error}");
    }
    // Once the server has seen the password, caching_sha2_password needs it no more.
    assert_eq!(user(over_tcp(&server, &format!("cached:{ENCODED}"), "").unwrap()), "cached");
    assert_eq!(user(over_tcp(&server, &format!("cached:{ENCODED}"), "ssl_mode=DISABLED").unwrap()), "cached");
}

#[test]
fn too_many_connections_come_with_a_remedy() {
    for server in Server::of_both(&["--max-connections=10"]) {
        server.connect().script(&["CREATE USER guest"]).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match over_tcp(&server, "guest", "") {
                Ok(connection) => kept.push(connection),
                Err(error) => break error,
            }
            assert!(kept.len() <= 11);
        };
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "1040"));
        assert!(error.to_string().contains("max_connections"), "{error}");
    }
}
