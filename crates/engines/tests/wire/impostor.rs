//! In MySQL's protocol: somebody with a certificate of their own answers in the server's place and asks for the password.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use dsbench_core::error::ErrorKind;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::fakes::{greeting, packet, DONE};
use crate::server::ADMIN;

const PASSWORD: &str = "geheim";

/// A server with a certificate that it signed itself.
struct Impostor {
    listener: TcpListener,
    config: Arc<ServerConfig>,
    /// The certificate, for who trusts it.
    pem: String,
}

impl Impostor {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { listener, config: Arc::new(config), pem: made.cert.pem() }
    }

    /// Asks one client for its password by `method` and gives all that it says after its name.
    fn ask(&self, method: &str, proposed: &str) -> Vec<u8> {
        let mut stream = self.listener.accept().unwrap().0;
        let mut greeting = greeting(proposed);
        // A server that has TLS.
        greeting[31] |= 0x08;
        stream.write_all(&greeting).unwrap();
        // The wish for TLS: a packet of 32 bytes, before anything is encrypted.
        stream.read_exact(&mut [0; 36]).unwrap();
        let connection = ServerConnection::new(self.config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let mut said = take(&mut stream);
        // The client may leave at any time.
        let _ = stream.write_all(&packet(3, &[b"\xfe", method.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat()));
        let answer = take(&mut stream);
        let _ = stream.write_all(&packet(answer.get(3).map_or(5, |number| number + 1), DONE));
        said.extend(answer);
        said
    }
}

/// What one packet says; empty when the client has gone.
fn take(stream: &mut StreamOwned<ServerConnection, TcpStream>) -> Vec<u8> {
    let mut content = vec![0; 4096];
    let length = stream.read(&mut content).unwrap_or(0);
    content.truncate(length);
    content
}

/// Whether the impostor gets the password, and what the client says of it.
fn asked(parameters: &str, method: &str, proposed: &str) -> (bool, String) {
    let impostor = Impostor::new();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("impostor-{}.pem", std::process::id()));
    fs::write(&file, &impostor.pem).unwrap();
    let port = impostor.listener.local_addr().unwrap().port();
    let parameters = parameters.replace("FILE", &file.display().to_string());
    let (seen, error) = thread::scope(|scope| {
        let server = scope.spawn(|| impostor.ask(method, proposed));
        let url = format!("mysql://u:{PASSWORD}@127.0.0.1:{port}/?{parameters}");
        let error = dsbench_engines::open(&url).unwrap().connect(ADMIN).err().unwrap();
        (server.join().unwrap(), error)
    });
    fs::remove_file(&file).unwrap();
    assert_eq!(error.kind, ErrorKind::Setup, "{error}");
    (seen.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()), format!("{error:#}"))
}

#[test]
fn a_password_in_the_clear_needs_a_checked_certificate_or_a_word_of_the_user() {
    for method in ["mysql_clear_password", "sha256_password"] {
        for proposed in ["caching_sha2_password", method] {
            for unchecked in ["", "ssl_mode=PREFERRED", "ssl_mode=REQUIRED&allow_public_key_retrieval=true"] {
                let (got, words) = asked(unchecked, method, proposed);
                assert!(!got, "{unchecked}: {method} gave the password away");
                assert!(words.contains("ssl_ca=") && words.contains("enable_cleartext_plugin=true"), "{words}");
                assert!(!words.contains(PASSWORD), "{words}");
            }
            for given in ["enable_cleartext_plugin=true", "ssl_ca=FILE"] {
                assert!(asked(given, method, proposed).0, "{given}: the impostor of this test is none");
            }
        }
    }
}
