//! Recorded sessions, and how they are played to a client with changes.

use std::os::unix::net::UnixStream;

use dsbench_core::engine::Engine;
use dsbench_core::error::Error;
use dsbench_core::random::Stream;
use ring::{hmac, pbkdf2};

use super::mutator::{change, Framing};
use super::player::{self, Player};
use super::work;
use crate::folder::Folder;

/// The password of the recorded sessions, of no use elsewhere.
pub const PASSWORD: &str = "only-for-fuzzing";

/// A session that a server had with the client.
pub struct Session {
    /// Product and login.
    pub name: String,
    framing: Framing,
    messages: Vec<Vec<u8>>,
    engine: Box<dyn Engine>,
    player: Player,
}

/// Name, protocol, parameters of the URL, what the server said.
type Recorded = (&'static str, Framing, &'static str, &'static [u8]);

macro_rules! recorded {
    ($($name:literal $framing:ident $parameters:literal),* $(,)?) => {
        &[$(($name, Framing::$framing, $parameters, include_bytes!(concat!("recorded/", $name, ".bin")))),*]
    };
}

const RECORDED: &[Recorded] = recorded![
    "postgresql15-scram" Postgres "",
    "postgresql15-md5" Postgres "",
    "postgresql18-trust" Postgres "",
    "mariadb-native" Mysql "",
    "mariadb-ed25519" Mysql "",
    "mysql80-native" Mysql "",
    "mysql80-sha2" Mysql "allow_public_key_retrieval=true",
    "mysql80-clear" Mysql "",
];

/// How many there are.
pub const COUNT: u64 = RECORDED.len() as u64;

/// All sessions, each of which is taken as it was recorded.
pub fn all(folder: &Folder) -> Vec<Session> {
    let sessions: Vec<Session> = RECORDED.iter().zip(1..).map(|(recorded, port)| of(folder, recorded, port)).collect();
    for session in &sessions {
        let errors = session.answered(session.messages.clone(), usize::MAX);
        assert!(errors.is_empty(), "{}: {errors:?}", session.name);
    }
    sessions
}

fn of(folder: &Folder, (name, framing, parameters, bytes): &Recorded, port: u16) -> Session {
    let mut messages = framing.messages(bytes);
    if name.ends_with("scram") {
        for (at, text) in [(1, server_first(PLACEHOLDER)), (2, format!("v={}", "V".repeat(44)))] {
            messages[at].splice(9.., text.into_bytes());
            let length = messages[at].len() as u32 - 1;
            messages[at][1..5].copy_from_slice(&length.to_be_bytes());
        }
    }
    let (path, url) = match framing {
        Framing::Postgres => {
            let url =
                format!("postgresql://fuzz:{PASSWORD}@/fuzz?host={}&port={port}&{parameters}", folder.0.display());
            (folder.0.join(format!(".s.PGSQL.{port}")), url)
        }
        Framing::Mysql => {
            let path = folder.0.join(port.to_string());
            let url = format!("mysql://fuzz:{PASSWORD}@/?socket={}&ssl_mode=DISABLED&{parameters}", path.display());
            (path, url)
        }
    };
    Session {
        name: (*name).to_string(),
        framing: *framing,
        messages,
        player: Player::at(&path),
        engine: dsbench_engines::open(&url).unwrap(),
    }
}

impl Session {
    /// Plays it with changes; gives the client's errors.
    pub fn play(&self, random: &mut Stream) -> Vec<Error> {
        let mut messages = self.messages.clone();
        let first = change(&mut messages, self.framing, random);
        self.answered(messages, first)
    }

    /// What becomes of a client to which a server says this, all but the beginning of which was recorded.
    fn answered(&self, messages: Vec<Vec<u8>>, first: usize) -> Vec<Error> {
        let scram = self.name.ends_with("scram");
        self.player.tell(move |stream| match scram {
            true => with_scram(stream, messages, first),
            false => player::send(stream, &messages),
        });
        work::session(&*self.engine, self.framing)
    }
}

/// What stands for the client's nonce in the server's first SCRAM message.
const PLACEHOLDER: &str = "NNNNNNNNNNNNNNNNNNNNNNNN";
const SALT: &[u8] = b"dsbench-fuzz";
const ROUNDS: u32 = 16;

fn server_first(nonce: &str) -> String {
    format!("r={nonce}of-the-server,s={},i={ROUNDS}", base64(SALT))
}

/// Sends messages of which the second and the third depend on what the client says, as long as it is their turn:
/// a client that got something else before may never say it.
fn with_scram(stream: &mut UnixStream, mut messages: Vec<Vec<u8>>, first: usize) -> std::io::Result<()> {
    if first < 1 {
        return player::send(stream, &messages);
    }
    player::take(stream)?;
    player::send(stream, &messages[..1])?;
    let said = player::take(stream)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let nonce = said.rsplit_once("r=").map_or("", |(_, nonce)| nonce);
    replace(&mut messages[1..], PLACEHOLDER, nonce);
    if first < 2 {
        return player::send(stream, &messages[1..]);
    }
    player::send(stream, &messages[1..2])?;
    player::take(stream)?;
    let server = server_first(nonce);
    let combined = server.split(',').next().unwrap_or_default();
    let signed = format!("n=,r={nonce},{server},c=biws,{combined}");
    replace(&mut messages[2..], &"V".repeat(44), &signature(&signed));
    player::send(stream, &messages[2..])
}

fn replace(messages: &mut [Vec<u8>], from: &str, to: &str) {
    for message in messages.iter_mut().take(2) {
        if let Some(at) = message.windows(from.len()).position(|part| part == from.as_bytes()) {
            message.splice(at..at + from.len(), to.bytes());
        }
    }
}

/// The server's proof that it knows the password (RFC 5802, section 3).
fn signature(signed: &str) -> String {
    let rounds = ROUNDS.try_into().unwrap();
    let mut salted = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, SALT, PASSWORD.as_bytes(), &mut salted);
    let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &salted), b"Server Key");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), signed.as_bytes());
    base64(signature.as_ref())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let word = part.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= part.len() { char::from(letter) } else { '=' });
        }
    }
    out
}
