//! Methods of login: what the client answers to the server's random bytes.

use dsbench_core::error::{Error, ErrorKind, Result};
use ed25519_dalek::hazmat::{raw_sign, ExpandedSecretKey};
use ed25519_dalek::{Digest, Sha512, VerifyingKey};
use getrandom::{rand_core::UnwrapErr, SysRng};
use ring::digest::{digest, Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use rustls::pki_types::{pem::PemObject, SubjectPublicKeyInfoDer};
use sha1::Sha1;

/// A method of login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// mysql_native_password: SHA-1.
    Native,
    /// caching_sha2_password: SHA-256; the password itself when the server does not know it yet.
    CachingSha2,
    /// sha256_password: always the password itself.
    Sha256,
    /// client_ed25519 of MariaDB: a signature.
    Ed25519,
    /// mysql_clear_password: the password itself, for servers that check it elsewhere.
    Clear,
}

const METHODS: &[(&str, Method)] = &[
    ("mysql_native_password", Method::Native),
    ("caching_sha2_password", Method::CachingSha2),
    ("sha256_password", Method::Sha256),
    ("client_ed25519", Method::Ed25519),
    ("mysql_clear_password", Method::Clear),
];

impl Method {
    /// The method of this name, where dsbench has it.
    pub(super) fn of(name: &str) -> Option<Self> {
        METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// The fast answer of caching_sha2_password was right: the server's next packet is about the login itself.
const KNOWN: &[u8] = &[3];
/// caching_sha2_password needs the password itself.
const UNKNOWN: &[u8] = &[4];

/// One login by one method.
pub(super) struct Authentication<'a> {
    /// The method.
    pub(super) method: Method,
    /// Empty when there is none.
    pub(super) password: &'a str,
    /// The server's random bytes.
    pub(super) challenge: Vec<u8>,
    /// The connection is one of TLS.
    pub(super) encrypted: bool,
    /// The server's certificate was checked, or the user rules an impostor out. Without either, TLS keeps third
    /// parties out, but not an impostor that answers in the server's place.
    pub(super) trusted: bool,
    /// The connection is a unix socket, which others can neither read nor change. Servers take it for
    /// private, except with sha256_password.
    pub(super) local: bool,
    /// The server's key may be asked for over a connection that others may change.
    pub(super) may_ask_for_key: bool,
}

impl Authentication<'_> {
    /// The first answer. Error `Setup` when the method would show the password to others.
    pub(super) fn first(&self) -> Result<Vec<u8>> {
        let password = self.password.as_bytes();
        match self.method {
            Method::Native | Method::CachingSha2 if password.is_empty() => Ok(Vec::new()),
            Method::Native => {
                Ok(scramble(&SHA1_FOR_LEGACY_USE_ONLY, password, |twice| [&self.challenge, twice].concat()))
            }
            Method::CachingSha2 => Ok(scramble(&SHA256, password, |twice| [twice, &self.challenge].concat())),
            Method::Sha256 if password.is_empty() => Ok(vec![0]),
            Method::Sha256 | Method::Clear if self.encrypted && (self.trusted || self.local) => Ok(self.zero_ended()),
            // Over TLS no server gives its key, which would be an impostor's as well.
            Method::Sha256 | Method::Clear if self.encrypted => Err(self.unchecked()),
            // Asks for the key.
            Method::Sha256 if self.trusts_key() => Ok(vec![1]),
            Method::Clear if self.local => Ok(self.zero_ended()),
            Method::Sha256 => {
                Err(self.exposed("use ssl_mode=VERIFY_CA, a unix socket, or allow_public_key_retrieval=true"))
            }
            Method::Clear => Err(self.exposed("use ssl_mode=VERIFY_CA or a unix socket")),
            Method::Ed25519 => Ok(sign(password, &self.challenge)),
        }
    }

    /// The answer to what the server says further on; `None` when it only has to be waited for.
    pub(super) fn more(&self, said: &[u8]) -> Result<Option<Vec<u8>>> {
        match (self.method, said) {
            (Method::CachingSha2, KNOWN) => Ok(None),
            // As every client does: over TLS the server takes nothing else, and after each of its starts it asks.
            (Method::CachingSha2, UNKNOWN) if self.encrypted || self.local => Ok(Some(self.zero_ended())),
            // Asks for the key.
            (Method::CachingSha2, UNKNOWN) if self.trusts_key() => Ok(Some(vec![2])),
            (Method::CachingSha2, UNKNOWN) => {
                Err(self.exposed("use ssl_mode=REQUIRED, a unix socket, or allow_public_key_retrieval=true"))
            }
            (Method::CachingSha2 | Method::Sha256, pem) if self.trusts_key() => self.encrypted(pem).map(Some),
            _ => Err(refused(format!("{}: the server said what the method does not know", self.method.name()))),
        }
    }

    fn trusts_key(&self) -> bool {
        self.local || self.may_ask_for_key
    }

    /// The password encrypted with the server's key; mixed with the random bytes, so that the
    /// packet is of no use in another login.
    fn encrypted(&self, pem: &[u8]) -> Result<Vec<u8>> {
        let key = public_key(pem).ok_or_else(|| refused("the server's public key cannot be read".into()))?;
        let mut message = self.zero_ended();
        message.iter_mut().zip(self.challenge.iter().cycle()).for_each(|(byte, random)| *byte ^= random);
        key.encrypt(&mut UnwrapErr(SysRng), Oaep::<Sha1>::new(), &message)
            .map_err(|_| refused("the password is too long for the server's public key".into()))
    }

    fn zero_ended(&self) -> Vec<u8> {
        let mut bytes = self.password.as_bytes().to_vec();
        bytes.push(0);
        bytes
    }

    fn unchecked(&self) -> Error {
        refused(format!(
            "{} would send the password to a server whose certificate is not checked",
            self.method.name()
        ))
        .remedy(
            "name its authority by ssl_ca=FILE, use a unix socket, or write enable_cleartext_plugin=true if no impostor \
             can take its place",
        )
    }

    fn exposed(&self, remedy: &'static str) -> Error {
        refused(format!("{} would send the password where others can read it", self.method.name())).remedy(remedy)
    }
}

/// hash(password) XOR hash(what `join` makes of hash(hash(password)) and the random bytes).
fn scramble(hash: &'static Algorithm, password: &[u8], join: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let once = digest(hash, password);
    let twice = digest(hash, once.as_ref());
    let mixed = digest(hash, &join(twice.as_ref()));
    once.as_ref().iter().zip(mixed.as_ref()).map(|(a, b)| a ^ b).collect()
}

/// The server's RSA key of 1,024 to 8,192 bits: greater numbers would only keep the client's CPU busy.
fn public_key(pem: &[u8]) -> Option<RsaPublicKey> {
    let info = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    RsaPublicKey::from_public_key_der(&info).ok()
}

/// A signature with the key made of the password, which may have any length here.
fn sign(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&hash);
    raw_sign::<Sha512>(&key, challenge, &VerifyingKey::from(&key)).to_bytes().to_vec()
}

fn refused(message: String) -> Error {
    Error::with(ErrorKind::Setup, "connect", message)
}

#[cfg(test)]
#[path = "auth_tests.rs"]
mod tests;
