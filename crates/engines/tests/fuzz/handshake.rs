//! TLS with a server that errs while it shakes hands, or after.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_core::error::Error;
use dsbench_core::random::Stream;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::mutator::{change, Framing};
use super::player::Player;
use super::session::PASSWORD;
use super::work;
use crate::folder::Folder;

/// Bytes of the client's request for TLS.
const REQUEST: usize = 36;

/// A MySQL that wants TLS. PostgreSQL's client shakes hands by the same code.
pub struct Handshake {
    configs: [Arc<ServerConfig>; 2],
    messages: Vec<Vec<u8>>,
    engine: Box<dyn Engine>,
    player: Player,
}

impl Handshake {
    /// One that is taken when nothing is changed.
    pub fn new(folder: &Folder) -> Self {
        let path = folder.0.join("tls");
        let url = format!("mysql://fuzz:{PASSWORD}@/?socket={}&ssl_mode=REQUIRED", path.display());
        let mut messages = Framing::Mysql.messages(include_bytes!("recorded/mysql80-native.bin"));
        // The request for TLS was one packet more.
        messages[1][3] += 1;
        let new = Self {
            configs: [&rustls::version::TLS12, &rustls::version::TLS13].map(config),
            messages,
            player: Player::at(&path),
            engine: dsbench_engines::open(&url).unwrap(),
        };
        for version in 0..2 {
            let errors = new.answered(version, usize::MAX, Stream::new(0, 0, 0));
            assert!(errors.is_empty(), "{errors:?}");
        }
        new
    }

    /// Changes what the server sends at one of its turns, after which it says no more.
    pub fn play(&self, random: &mut Stream) -> Vec<Error> {
        self.answered(random.below(2) as usize, random.below(3) as usize, random.clone())
    }

    fn answered(&self, version: usize, turn: usize, random: Stream) -> Vec<Error> {
        let connection = ServerConnection::new(Arc::clone(&self.configs[version])).unwrap();
        let messages = self.messages.clone();
        self.player.tell(move |stream| serve(stream, connection, &messages, turn, random));
        work::session(&*self.engine, Framing::Mysql)
    }
}

fn config(version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap())
}

fn serve(
    stream: &mut UnixStream,
    mut connection: ServerConnection,
    messages: &[Vec<u8>],
    wrong: usize,
    mut random: Stream,
) -> std::io::Result<()> {
    stream.write_all(&messages[0])?;
    stream.read_exact(&mut [0; REQUEST])?;
    for turn in 0.. {
        if !connection.is_handshaking() {
            connection.writer().write_all(&messages[1..].concat())?;
        }
        let last = !connection.is_handshaking();
        let mut bytes = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut bytes)?;
        }
        if turn == wrong {
            let mut parts = vec![bytes];
            change(&mut parts, Framing::Mysql, &mut random);
            return stream.write_all(&parts.concat());
        }
        stream.write_all(&bytes)?;
        if last {
            return Ok(());
        }
        if connection.read_tls(stream)? == 0 {
            return Ok(());
        }
        connection.process_new_packets().map_err(std::io::Error::other)?;
    }
    Ok(())
}
