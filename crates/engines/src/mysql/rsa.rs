//! Encrypts a password for the server's RSA key: RSAES-OAEP with SHA-1 (RFC 8017, section 7.1.1),
//! which is all that the TLS library lacks for MySQL's logins.

use num_bigint::BigUint;
use ring::digest::{digest, SHA1_FOR_LEGACY_USE_ONLY, SHA1_OUTPUT_LEN};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::SubjectPublicKeyInfoDer;

use crate::net::der;

/// The public key of a server.
pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
    /// Bytes of the modulus.
    length: usize,
}

/// Most bytes of a modulus, a leading zero included: 16,384 bits.
const LONGEST_MODULUS: usize = 2049;
/// Most bytes of an exponent, a leading zero included: 64 bits.
const LONGEST_EXPONENT: usize = 9;

impl PublicKey {
    /// Reads a key in PEM form; `None` when there is none of RSA.
    pub(super) fn from_pem(pem: &[u8]) -> Option<Self> {
        let info = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
        Self::from_info(&info)
    }

    fn from_info(info: &[u8]) -> Option<Self> {
        let (modulus, exponent) = der::rsa_key(info)?;
        // As OpenSSL has it: greater numbers would only keep the client's CPU busy.
        if modulus.len() > LONGEST_MODULUS || exponent.len() > LONGEST_EXPONENT {
            return None;
        }
        Some(Self::new(BigUint::from_bytes_be(modulus), BigUint::from_bytes_be(exponent)))
    }

    fn new(modulus: BigUint, exponent: BigUint) -> Self {
        let length = modulus.bits().div_ceil(8) as usize;
        Self { modulus, exponent, length }
    }

    /// The message encrypted; `None` when it is too long for the key.
    pub(super) fn encrypt(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut seed = [0; SHA1_OUTPUT_LEN];
        SystemRandom::new().fill(&mut seed).ok()?;
        let mut padding = self.length.checked_sub(message.len() + 2 * SHA1_OUTPUT_LEN + 2)?;
        let mut data = digest(&SHA1_FOR_LEGACY_USE_ONLY, b"").as_ref().to_vec();
        padding += data.len();
        data.resize(padding, 0);
        data.push(1);
        data.extend_from_slice(message);
        mask(&mut data, &seed);
        mask(&mut seed, &data);
        let padded = [&[0], &seed[..], &data].concat();
        let encrypted = BigUint::from_bytes_be(&padded).modpow(&self.exponent, &self.modulus).to_bytes_be();
        let mut whole = vec![0; self.length - encrypted.len()];
        whole.extend_from_slice(&encrypted);
        Some(whole)
    }
}

/// XORs `data` with the mask that MGF1 makes of `seed` (RFC 8017, B.2.1).
fn mask(data: &mut [u8], seed: &[u8]) {
    for (counter, part) in data.chunks_mut(SHA1_OUTPUT_LEN).enumerate() {
        let block = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[seed, &(counter as u32).to_be_bytes()].concat());
        part.iter_mut().zip(block.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A key of 512 bits, made for this test: modulus and private exponent.
    const MODULUS: &[u8] = b"c7a037c90192dfb8bbc80fdeeb3df3db5a17497c4f9009b2b5e5d962cdb20985\
                             c2d639606c0914e2d2f10e342df5e703d2d9d3df699c1fda54cf8caa95cc40c7";
    const PRIVATE: &[u8] = b"9522a42a7e0b7d2a24d7cccb8c51675a2b8f142e53be571075063786b2075d46\
                             882e7c5ec65d3c2faff40a39175065dbf2c5e80b89ba1b11dbd640885bea7f11";

    fn number(digits: &[u8]) -> BigUint {
        BigUint::parse_bytes(digits, 16).unwrap()
    }

    #[test]
    fn what_is_encrypted_can_be_decrypted() {
        let key = PublicKey::new(number(MODULUS), BigUint::from(65_537_u32));
        for message in [&b""[..], b"x", b"geheim\0", &[0xff; 22]] {
            let encrypted = key.encrypt(message).unwrap();
            assert_eq!(encrypted.len(), 64);
            let plain = BigUint::from_bytes_be(&encrypted).modpow(&number(PRIVATE), &key.modulus).to_bytes_be();
            // The first byte is zero and left out.
            let (seed, data) = plain.split_at(plain.len() - 43);
            let mut padded = vec![0; SHA1_OUTPUT_LEN - seed.len()];
            padded.extend_from_slice(seed);
            let mut data = data.to_vec();
            mask(&mut padded, &data);
            mask(&mut data, &padded);
            let (label, rest) = data.split_at(SHA1_OUTPUT_LEN);
            assert_eq!(label, digest(&SHA1_FOR_LEGACY_USE_ONLY, b"").as_ref());
            let start = rest.iter().position(|byte| *byte == 1).unwrap();
            assert_eq!((&rest[start + 1..], rest[..start].iter().max().unwrap_or(&0)), (message, &0));
            assert_ne!(key.encrypt(message).unwrap(), encrypted, "no two are alike");
        }
        assert!(key.encrypt(&[1; 23]).is_none());
    }

    #[test]
    fn keys_that_would_take_minutes_are_refused() {
        let wrap = |tag: u8, parts: &[&[u8]]| {
            let content = parts.concat();
            [&[tag, 0x84], &(content.len() as u32).to_be_bytes()[..], &content].concat()
        };
        let info = |modulus: usize, exponent: usize| {
            let rsa = wrap(6, &[&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]]);
            let numbers = wrap(0x30, &[&wrap(2, &[&vec![0x7f; modulus]]), &wrap(2, &[&vec![0x7f; exponent]])]);
            wrap(0x30, &[&wrap(0x30, &[&rsa]), &wrap(3, &[&[0], &numbers])])
        };
        assert!(PublicKey::from_info(&info(256, 3)).is_some());
        assert!(PublicKey::from_info(&info(2049, 9)).is_some());
        assert!(PublicKey::from_info(&info(2050, 3)).is_none());
        assert!(PublicKey::from_info(&info(256, 10)).is_none());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for pem in [&b""[..], b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", b"\xff\0"] {
            assert!(PublicKey::from_pem(pem).is_none());
        }
    }
}
